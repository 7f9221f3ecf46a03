"""Fine-tuning: what is held out and mixed in, the mean that is taken, the card, a second start."""

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from scripts import train
from tests.processes import tsv
from tests.training.runs import Pairs
from transformer.checkpoint import weights
from transformer.checkpoint.locate import find_checkpoint
from transformer.config import TrainConfig, UserError
from transformer.training import fine_tune
from transformer.training.fine_tune import interpolate
from transformer.training.train import training_limit
from transformer.training.validation import Validation

pytestmark = pytest.mark.usefixtures("one_cpu_thread")
UNIT = '<tu><tuv xml:lang="es"><seg>{}</seg></tuv><tuv xml:lang="en"><seg>{}</seg></tuv></tu>'


@pytest.fixture
def flags(tmp_path: Path, phrases: Pairs, random_checkpoint: Path) -> list[str]:
    """A small model that was not trained, own text in a translation memory, general text."""
    own = "".join(UNIT.format(*pair) for pair in phrases[:60])
    (tmp_path / "mine.tmx").write_text(f'<tmx version="1.4"><body>{own}</body></tmx>')
    mix, dev = tsv(tmp_path / "mix.tsv", phrases[60:180]), tsv(tmp_path / "dev.tsv", phrases[-9:])
    given = {"fine-tune": random_checkpoint, "train": tmp_path / "mine.tmx", "mix": mix,
             "general-dev": dev, "output": tmp_path / "run", "cache": tmp_path / "cache",
             "workers": 1, "max-epochs": 3, "learning-rate": 0.01}  # fmt: skip
    return [f"--{name}={value}" for name, value in given.items()]


def test_a_model_goes_on_with_own_text_says_what_that_changed_and_does_it_once(
    flags: list[str], tmp_path: Path, random_checkpoint: Path, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    caplog.set_level(logging.INFO)
    assert train.main(flags) == 0
    run = tmp_path / "run"
    noted = json.loads((run / "run.json").read_text())
    assert noted["train"] == [str(tmp_path / "mine.tmx"), f"{tmp_path / 'mix.tsv'}@0.5"]
    assert noted["pairs kept"] == [54, 120]  # a tenth of the own ones is held out
    held_out = (run / "held-out.tsv").read_text().splitlines()
    assert len(held_out) == 7
    assert noted["dev"] == [str(run / "held-out.tsv")]
    assert (noted["optimizer"], noted["schedule"], noted["dropout"]) == ("adam", "wsd", 0.1)
    outcome = json.loads((run / "fine-tuning.json").read_text())
    assert outcome["before"].keys() == outcome["after"].keys() == {"own", "general"}
    start, end = (weights.load_weights(folder) for folder in (random_checkpoint, run / "last"))
    best = weights.load_weights(find_checkpoint(run))
    assert find_checkpoint(run) == run / "best"
    for name, tensor in interpolate(start, end, outcome["share"]).items():
        assert torch.equal(best[name], tensor)
    card = (run / "best" / "README.md").read_text()
    for name in ("own", "general"):
        row = f"| {name} | {outcome['before'][name]:.1f} | {outcome['after'][name]:.1f} |"
        assert row in card
    assert "BLEU before and after: own" in caplog.text
    assert "fine-tuning: 3 epochs, however long they take" in caplog.text
    done = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    monkeypatch.setattr(fine_tune, "interpolate", None)  # it would need that
    assert train.main(flags) == 0
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == done


def test_a_model_of_both_directions_is_tuned_and_reported_in_both(
    flags: list[str], tmp_path: Path, phrases: Pairs, both_checkpoint: Path,
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.INFO)
    test = tsv(tmp_path / "test.tsv", phrases[-20:-9])
    test.write_text(test.read_text().replace("es\ten", "source\ttarget", 1))
    more = [f"--fine-tune={both_checkpoint}", "--max-steps=1", f"--test={test}"]
    assert train.main([*flags, *more]) == 0
    run = tmp_path / "run"
    assert weights.load(run / "best").directions == (("es", "en"), ("en", "es"))
    assert json.loads((run / "run.json").read_text())["pairs kept"] == [54, 120] * 2
    line = next(line for line in caplog.messages if line.startswith("BLEU before and after"))
    for name in ("own es-en", "own en-es", "general es-en", "general en-es"):
        assert f"{name} 0." in line or f"{name} 1" in line
    printed = capsys.readouterr().out
    for side, lang in enumerate(("es-en", "en-es")):
        assert f"on 11 lines of test, {lang}" in printed
        sources = (run / "best" / "evaluation" / lang / "test.src").read_text().splitlines()
        assert sources == [pair[side] for pair in phrases[-20:-9]]
    assert "sacrebleu" not in {record.name for record in caplog.records}


def test_the_time_limit_holds_for_preparing_and_measuring_too(
    flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.INFO)
    run, measure = tmp_path / "run", Validation.bleu_scores

    def slow(*args: Any) -> dict[str, float]:
        time.sleep(0.7)
        return measure(*args)

    monkeypatch.setattr(Validation, "bleu_scores", slow)
    minutes = ["--max-epochs=0", "--max-minutes=0.1", "--average=0"]
    assert train.main([*flags, *minutes]) == 0
    assert "fine-tuning: at most about 0.1 minutes in all" in caplog.messages[0]
    reserved = json.loads((run / "fine-tuning.json").read_text())["reserved_seconds"]
    assert reserved > 9 * 0.7  # own and general text at the start, seven more at the end
    trained = json.loads((run / "last" / "training.json").read_text())["seconds"]
    limit = training_limit(TrainConfig(max_minutes=0.1), reserved).max_minutes
    assert limit in (0.02, 0.03)  # a quarter
    assert "0.1 minutes are too few on this machine now: it will take about" in caplog.text
    assert trained < 60 * 0.1
    assert f"within {limit:g} minutes" in caplog.text or f"reached {limit:g} minutes" in caplog.text


@pytest.mark.parametrize(
    ("minutes", "reserved", "left"), [(3, 60, 2.0), (3, 170, 0.75), (0, 60, 0.0), (0.01, 9, 0.01)]
)
def test_training_has_the_rest_of_the_time_limit_and_a_quarter_at_least(
    minutes: float, reserved: float, left: float
) -> None:
    assert training_limit(TrainConfig(max_minutes=minutes), reserved).max_minutes == left


@pytest.mark.parametrize(
    ("own", "share"),
    [((26, 31, 36, 38, 39), 0.5), ((26, 36, 36, 38, 39), 0.25), ((26, 25, 25, 20, 30), 1.0),
     ((26, 25, 24, 25, 20), 0.25)],
)  # fmt: skip
def test_no_more_of_the_new_weights_is_taken_than_most_of_the_gain_needs(
    own: tuple[float, ...], share: float
) -> None:
    tried = dict(zip((0.0, *fine_tune.SHARES), ({"own": bleu} for bleu in own), strict=True))
    assert fine_tune.choose_share(tried) == share


def test_weights_between_two_models_are_their_weighted_mean() -> None:
    start, end = {"a": torch.tensor([0.0, 4.0])}, {"a": torch.tensor([4.0, 0.0])}
    assert interpolate(start, end, 0.25)["a"].tolist() == [1.0, 3.0]
    assert interpolate(start, end, 1.0)["a"].tolist() == [4.0, 0.0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--init", "x"], "expected --fine-tune without --init"),
        (["--both"], "expected --fine-tune without --both"),
        (["--to", "es"], "expected --from es --to en, as the model"),
        (["--train", "bad.tsv"], "line 2: expected 2 columns, got 1; --skip-bad skips"),
    ],
)
def test_what_does_not_go_with_fine_tuning_is_refused(
    flags: list[str], more: list[str], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("bad.tsv").write_text("es\ten\nhola\n")
    assert train.main([*flags, *more]) == 2
    assert message in capsys.readouterr().err


def test_fine_tuning_needs_own_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert train.main(["--fine-tune", "checkpoints/es-en"]) == 2
    assert "expected own text for --fine-tune" in capsys.readouterr().err


def test_own_text_of_a_few_pairs_is_refused(
    flags: list[str], tmp_path: Path, phrases: Pairs
) -> None:
    few = tsv(tmp_path / "few.tsv", phrases[:19])
    with pytest.raises(UserError, match="expected at least 20 pairs of own text, got 19"):
        train.run(train._arguments([*flags, "--train", str(few)]))
