"""Trials of settings: each is trained and scored once, all stand in one table."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

import trials
from trials import RESULT, Result

SHAPE = ["--d-model", "16", "--n-heads", "2", "--n-encoder-layers", "1", "--n-decoder-layers", "1",
         "--d-ff", "32", "--max-len", "32", "--vocab-size", "300", "--workers", "1"]  # fmt: skip


def test_trials_are_trained_scored_and_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    pairs = [f"el gato {i} come pan\tthe cat {i} eats bread\n" for i in range(60)]
    for name, some in (("train", pairs[:50]), ("dev", pairs[50:])):
        (tmp_path / f"{name}.tsv").write_text("es\ten\n" + "".join(some))
    output, cache = tmp_path / "trials", str(tmp_path / "cache")
    common = ["--train", str(tmp_path / "train.tsv"), "--cache", cache, *SHAPE]
    given = ["--minutes", "0.005", "--output", str(output), "--dev", str(tmp_path / "dev.tsv")]
    assert trials.main([*given, "--trial=", "--trial=--norm post", "--", *common]) == 0
    plain, post = (
        json.loads((output / name / RESULT).read_text()) for name in ("as-it-is", "norm-post")
    )
    assert plain["parameters"] == post["parameters"] + 64  # the stacks of pre-norm end in a norm
    assert plain["steps"] > 0
    assert 0 < plain["loss"] < 10
    assert plain["bleu"].keys() == {"dev"}
    assert plain["sentences_per_second"] > 0
    printed = capfd.readouterr().out
    assert "| `--norm post` |" in printed
    assert "| as it is " in printed

    monkeypatch.setattr(trials, "TRAIN", Path("gone.py"))  # what is done is not repeated
    assert trials.main([*given, "--trial=", "--", *common]) == 0
    assert trials.main([*given, "--trial=--norm pre", "--", *common]) == 2
    assert "expected '--norm pre' to train for 0.005 minutes" in capfd.readouterr().err


def test_the_best_mean_comes_first(tmp_path: Path) -> None:
    for name, bleu in (("a", 10.0), ("b", 20.0), ("c", 15.0)):
        values = [name, 1.0, 5, 3, 4.5, {"dev": bleu, "news": 1.0}, 9.5]
        row = dict(zip(Result.__slots__, values, strict=True))
        (tmp_path / name).mkdir()
        (tmp_path / name / RESULT).write_text(json.dumps(row))
    found = trials.results(tmp_path)
    assert [one.trial for one in found] == ["b", "c", "a"]
    assert [line.split(" | ")[-3].strip() for line in trials.rows(found).splitlines()[2:]] == [
        "20.0", "15.0", "10.0"]  # fmt: skip
