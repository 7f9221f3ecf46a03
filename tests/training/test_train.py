"""A whole training: where a run begins, what it refuses, killed, launched and started again."""

import contextlib
import itertools
import json
import logging
import os
import random
import re
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from scripts import train
from tests.processes import ROOT, python, tsv
from tests.training.runs import (
    SCRIPT,
    averaged_gradients,
    command,
    start_process,
    state,
    wait_for_records,
)
from transformer import plots
from transformer.checkpoint import locate
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.locate import read_metrics
from transformer.config import NOISE_PRESETS, UserError
from transformer.corpus.readers import read_pairs
from transformer.training import reporting

pytestmark = pytest.mark.usefixtures("one_cpu_thread")
Script = Callable[[Sequence[object]], int]


@pytest.fixture
def init(corpus: Path, random_checkpoint: Path, tmp_path: Path) -> Callable[..., int]:
    """Trains a checkpoint for one step so small that its weights all but stay."""
    flags = ["--train", corpus / "phrases.tsv", "--cache", corpus / "cache", "--max-steps", 1,
             "--output", tmp_path / "run", "--init", random_checkpoint, "--warmup", 4000,
             "--lr-scale", 0.001, "--workers", 1]  # fmt: skip
    return lambda *more: train.main([*map(str, flags), *more])


def test_a_run_begins_with_the_weights_and_the_vocabulary_of_a_checkpoint(
    init: Callable[..., int], random_checkpoint: Path, tmp_path: Path
) -> None:
    assert init("--dropout", "0.3") == 0
    before, after = checkpoint.load(random_checkpoint), checkpoint.load(tmp_path / "run" / "best")
    assert after.tokenizer.model == before.tokenizer.model
    assert after.model.config.dropout == 0.3
    old, new = before.model.state_dict(), after.model.state_dict()
    assert all(torch.allclose(new[name], old[name], atol=1e-5) for name in old)
    assert any(not torch.equal(new[name], old[name]) for name in old)


def test_a_run_begins_with_a_checkpoint_made_larger(
    init: Callable[..., int], random_checkpoint: Path, tmp_path: Path
) -> None:
    assert init("--d-ff", "64", "--n-decoder-layers", "3") == 0
    before, after = (checkpoint.load(f).model for f in (random_checkpoint, tmp_path / "run/best"))
    assert (after.config.d_ff, after.config.n_decoder_layers) == (64, 3)
    src = torch.arange(4, 16).view(2, 6)
    assert_close(after(src, src), before(src, src), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--preset", "tiny"], "expected --init without --preset"),
        (["--d-ff", "8"], "expected --d-ff of at least"),
        (["--activation", "gelu"], "expected the shape of --init"),
    ],
)
def test_another_shape_than_that_of_the_checkpoint_is_refused(
    init: Callable[..., int], more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(*more) == 2
    assert message in capsys.readouterr().err


# Whether it learns


@pytest.fixture
def script() -> Script:
    """scripts/train.py without the start of a process."""
    return lambda flags: train.main([str(flag) for flag in flags])


def test_a_run_learns_a_small_language_with_the_settings_that_it_chooses(
    script: Script, phrases: Sequence[tuple[str, str]], tmp_path: Path
) -> None:
    """Sentences of known words in new combinations come out right: BLEU 100 is a perfect score."""
    parts = {"train": phrases[:764], "dev": phrases[764:814], "test": phrases[814:]}
    flags = {part: tsv(tmp_path / f"{part}.tsv", pairs) for part, pairs in parts.items()} | {
        "d-model": 64, "n-heads": 4, "n-encoder-layers": 2, "n-decoder-layers": 2, "d-ff": 128,
        "norm": "pre", "vocab-size": 350, "max-len": 64, "dropout": 0.1, "max-steps": 250,
        "eval-every": 125, "precision": "float32", "ema": 0.98, "workers": 1, "seed": 1,
        "output": tmp_path / "run", "cache": tmp_path / "cache",
    }  # fmt: skip
    assert script([word for name, value in flags.items() for word in (f"--{name}", value)]) == 0
    report = json.loads((tmp_path / "run/best/evaluation/test/report.json").read_text("utf-8"))
    (test_set,) = report["sets"]
    bleu = next(score["value"] for score in test_set["scores"] if score["metric"] == "BLEU")
    assert bleu > 60, "training does not learn"  # it is 89; another processor rounds otherwise


# The script, in processes of its own


def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    script: Script, corpus: Path, tmp_path: Path
) -> None:
    flags = {"max_steps": 100, "warmup": 50}
    assert script(command(corpus, tmp_path / "straight", **flags)) == 0
    killed, log = tmp_path / "killed", tmp_path / "log"
    moments = sorted(random.sample(range(5, 70), 2))
    for sent, moment in zip((signal.SIGKILL, signal.SIGTERM), moments, strict=True):
        n_before = len(read_metrics(killed))  # one more: it is this process that trains
        process = start_process(command(corpus, killed, **flags), log)
        wait_for_records(process, killed, max(moment, n_before + 1))
        time.sleep(random.random() / 100)
        os.kill(process.pid or 0, sent)
        process.join()
        stopped = 128 + sent if sent == signal.SIGTERM else -sent
        assert process.exitcode == stopped, log.read_text()
    assert "stopped by SIGTERM, at step" in log.read_text()
    assert script(command(corpus, killed, **flags)) == 0
    assert state(killed) == state(tmp_path / "straight"), f"killed after {moments} records"
    assert [record["step"] for record in read_metrics(killed)] == list(range(1, 101))


def test_a_second_training_in_the_folder_names_the_first_and_leaves_it_alone(
    script: Script, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    flags = {"max_steps": 100_000, "log_every": 1, "save_every": 100_000}
    first = start_process(command(corpus, run, **flags), tmp_path / "log")
    try:
        wait_for_records(first, run, 3)
        assert script(command(corpus, run, **flags)) == 2
        line = capsys.readouterr().err
        assert f"expected {run} to be free, but it is in use by process {first.pid} " in line
        assert line.count("\n") == 1
        wait_for_records(first, run, len(read_metrics(run)) + 2)
        assert first.is_alive()
    finally:
        first.kill()
        first.join()
    steps = [record["step"] for record in read_metrics(run)]
    assert steps == list(range(1, len(steps) + 1))
    assert script(command(corpus, run, max_steps=2)) == 0


def test_a_run_whose_last_checkpoint_is_broken_goes_on_from_the_one_it_names(
    script: Script, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = {"average": 3, "eval_every": 2, "save_every": 4}
    assert script(command(corpus, tmp_path, max_steps=5, **flags)) == 0
    (tmp_path / "last" / locate.TRAINING_STATE).write_bytes(b"nonsense")
    capsys.readouterr()
    assert script(command(corpus, tmp_path, max_steps=8, **flags)) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    (named,) = re.findall(r"go on with (--resume-from) (\S+),", line)
    assert script([*command(corpus, tmp_path, max_steps=8, **flags), *named]) == 0
    assert state(tmp_path)["step"] == 8
    assert [r["step"] for r in read_metrics(tmp_path) if r["event"] == "train"] == list(range(1, 9))


def test_two_processes_train_as_one_with_twice_the_micro_batches(
    script: Script, corpus: Path, tmp_path: Path
) -> None:
    flags = {"max_steps": 20, "warmup": 400}
    assert script(command(corpus, tmp_path / "one", accumulate=2, **flags)) == 0
    launcher = ("-m", "accelerate.commands.launch", "--cpu", "--num_processes", 2)
    done = python(*launcher, SCRIPT, *command(corpus, tmp_path / "two", accumulate=1, **flags))
    assert done.returncode == 0, done.stderr
    assert "2 x cpu" in done.stderr
    card = (tmp_path / "two" / "last" / "README.md").read_text()
    assert "| processes and device | 2 x cpu |" in card
    losses = [[r["loss"] for r in read_metrics(tmp_path / name)] for name in ("one", "two")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    moments = [averaged_gradients(tmp_path / name) for name in ("one", "two")]
    assert_close(*moments, rtol=1e-3, atol=1e-6)
    weights = [checkpoint.load_weights(tmp_path / name) for name in ("one", "two")]
    assert_close(*weights, rtol=1e-3, atol=1e-4)


def test_a_finished_run_started_again_changes_nothing(
    script: Script, corpus: Path, tmp_path: Path
) -> None:
    def files() -> dict[str, bytes]:
        found = (path for path in tmp_path.rglob("*") if path.is_file())
        return {str(path.relative_to(tmp_path)): path.read_bytes() for path in found}

    flags = command(corpus, tmp_path, max_steps=3, eval_every=1, average=2,
                    dev=corpus / "dev.tsv")  # fmt: skip
    assert script(flags) == 0
    before = files()
    assert {"run.json", "metrics.jsonl", "curves.svg"} <= set(before)
    assert script(flags) == 0
    assert files() == before


def test_the_same_command_with_other_settings_or_another_corpus_is_refused(
    script: Script, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script(command(corpus, tmp_path, max_steps=1)) == 0
    assert script(command(corpus, tmp_path, max_steps=2, log_every=2)) == 0
    capsys.readouterr()
    assert script(command(corpus, tmp_path, max_steps=2, warmup=5)) == 2
    assert "warmup was 4 and is 5" in capsys.readouterr().err
    pairs = read_pairs(str(corpus / "phrases.tsv"), "es", "en")
    held_out = tsv(tmp_path / "test.tsv", itertools.islice(pairs, 19))  # no longer trained on
    assert script([*command(corpus, tmp_path, max_steps=2), "--test", held_out]) == 2
    assert "pairs kept was [100] and is [81]" in capsys.readouterr().err
    (tmp_path / "run.json").unlink()
    assert script(command(corpus, tmp_path, max_steps=2)) == 2
    assert "run.json, the settings that the run was begun with" in capsys.readouterr().err


def test_noise_is_a_setting_of_the_run_once_it_is_on(
    script: Script, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = command(corpus, tmp_path / "off", max_steps=1)
    assert script(flags) == 0
    noted = json.loads((tmp_path / "off" / "run.json").read_text())
    assert not [name for name in noted if name.startswith("noise")], "older runs can go on"
    assert script([*flags, "--noise", "none", "--noise-caps", "0"]) == 0
    capsys.readouterr()
    assert script([*flags, "--noise-caps", "0.1"]) == 2
    assert "noise_caps was None and is 0.1" in capsys.readouterr().err
    flags = command(corpus, tmp_path / "on", max_steps=1)
    assert script([*flags, "--noise", "robust", "--noise-caps", "0.1"]) == 0
    noted = json.loads((tmp_path / "on" / "run.json").read_text())
    rates = {name: value for name, value in noted.items() if name.startswith("noise")}
    assert rates == {**NOISE_PRESETS["robust"], "noise_caps": 0.1}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "expected a limit: --max-steps"),
        (["--max-steps", "1", "--to", "es"], "two languages, got --from and --to es"),
        (["--max-steps", "1", "--mix", "a.tsv"], "expected --fine-tune with --mix"),
        (["--max-steps", "1", "--train", "hub:"], "expected a hub data set hub:NAME:CONFIG"),
        (["--max-steps", "1", "--test", "empty.tsv"], "expected sentence pairs in empty.tsv, got"),
        (["--max-steps", "1", "--columns", "es", "es"], "two different columns, not es es"),
    ],
)
def test_a_command_that_asks_for_no_run_is_refused(
    script: Script, corpus: Path, tmp_path: Path, more: list[str], message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "empty.tsv").write_text("es\ten\n")
    with contextlib.chdir(tmp_path):
        assert script([*command(corpus, tmp_path / "run"), *more]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_sets_that_are_named_stand_for_those_of_the_project() -> None:
    args = train._arguments(["--dev", "mine.tsv"])
    assert args.dev == ["mine.tsv"]
    names = [Path(args.train[0]).name, Path(args.test[0]).name, args.output.name]
    assert names == ["beginner-train.tsv", "beginner-test.tsv", "first-es-en"]


def test_the_whole_corpus_brings_its_sets_and_a_limit() -> None:
    whole = ROOT / "data" / "train.tsv"
    args = train._arguments(["--train", os.path.relpath(whole)])
    assert [Path(args.dev[0]), Path(args.test[0])] == [whole.with_name("dev.tsv"),
                                                       whole.with_name("test.tsv")]  # fmt: skip
    assert (args.max_minutes, args.output.name) == (30.0, "run-train-es-en")
    args = train._arguments(["--train", str(whole), "--max-steps", "9", "--test", "mine.tsv"])
    assert (args.max_minutes, args.test) == (0.0, ["mine.tsv"])
    args = train._arguments(["--train", str(whole), "more.tsv"])
    assert (args.max_minutes, args.dev, args.test) == (0.0, [], [])


def test_a_run_that_is_stopped_says_so_by_its_exit_code(
    script: Script, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    plain = reporting.progress_line

    def interrupt(*given: Any) -> str:
        signal.raise_signal(signal.SIGINT)
        return plain(*given)

    monkeypatch.setattr(reporting, "progress_line", interrupt)
    assert script(command(corpus, tmp_path, max_steps=2)) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "train: stopped"
    monkeypatch.setattr(reporting, "progress_line", plain)
    assert script(command(corpus, tmp_path, max_steps=2)) == 0


SWAPPED = [(f"the white house {i}", f"la casa blanca de la señora {i}") for i in range(60)]


def test_swapped_columns_stop_a_run_until_they_are_to_be_exchanged(
    script: Script, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.INFO)
    right = tsv(tmp_path / "right.tsv", [pair[::-1] for pair in SWAPPED])
    swapped = tsv(tmp_path / "swapped.tsv", SWAPPED)
    flags = {"vocab_size": 300, "max_steps": 2, "dev": corpus / "dev.tsv"}
    assert script(command(corpus, tmp_path / "run", train=swapped, **flags)) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"train: expected 'es' and 'en' in {swapped}, got columns that read ")
    assert "like English and Spanish" in message
    assert "--swap" in message
    assert not (tmp_path / "run" / "run.json").exists()
    assert script([*command(corpus, tmp_path / "run", train=swapped, **flags), "--swap"]) == 0
    assert f"{swapped}: its columns read like English and Spanish and are exchanged" in caplog.text
    assert script(command(corpus, tmp_path / "same", train=right, **flags)) == 0
    assert state(tmp_path / "run") == state(tmp_path / "same")


def test_the_command_that_translates_with_the_model_is_told(
    script: Script, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.INFO)
    with contextlib.chdir(tmp_path):
        flags = command(corpus, tmp_path / "my run", max_steps=2, dev=corpus / "dev.tsv")
        assert script([*flags, "--test", str(corpus / "dev.tsv")]) == 0
    message = "translate with it: translate --model 'my run' \"¿Dónde está la estación?\""
    assert caplog.messages[-1] == message
    assert f"kept in {tmp_path / 'my run' / 'best'}: the weights of step 2" in caplog.text
    *_, bleu, report = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"BLEU [\d.]+ \[-?[\d.]+, [\d.]+\] on 4 lines of dev", bleu)
    assert report == "report: my run/best/evaluation/dev/report.html"


def test_without_the_plots_a_run_has_no_curves(
    script: Script, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(records: object) -> str:
        raise UserError("expected matplotlib")

    monkeypatch.setattr(plots, "curves", missing)
    assert script(command(corpus, tmp_path, max_steps=1)) == 0
    assert not (tmp_path / "curves.svg").exists()
    assert os.listdir(tmp_path / "best")


@pytest.mark.parametrize("flags", [["--track"], ["--report-to", "tensorboard"]])
def test_a_tracked_run_writes_curves_for_tensorboard(
    script: Script, corpus: Path, tmp_path: Path, flags: list[str]
) -> None:
    """Under the names that other trainers give them, those of the validation apart."""
    pytest.importorskip("tensorboard", reason="the extra `tracking` is not installed")
    given = command(corpus, tmp_path, max_steps=2, eval_every=2, dev=corpus / "dev.tsv")
    assert script([*given, *flags]) == 0
    (events,) = tmp_path.rglob("events.out.tfevents.*")
    assert all(tag in events.read_bytes() for tag in (b"train/loss", b"train/lr", b"eval/loss"))
