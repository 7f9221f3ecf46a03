"""Training stopped at any step and gone on exactly; a loss that is not finite is never saved."""

import json
import math
import random
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.runs import (
    MODEL,
    N_PAIRS,
    N_STEPS,
    SETTINGS,
    Interrupting,
    Pairs,
    Start,
    prepare_pairs,
    state,
)
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.locate import read_metrics, write_checksums
from transformer.config import NOISE_PRESETS, UserError
from transformer.corpus.prepared import PreparedCorpus
from transformer.text.tokenizer import Tokenizer
from transformer.training.optimizer import learning_rate
from transformer.training.run import StopReason
from transformer.training.trainer import Trainer

pytestmark = pytest.mark.usefixtures("one_cpu_thread")


@pytest.fixture(scope="module")
def border_and_state(
    one_cpu_thread: None, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, dict[str, Any]]:
    """The steps of an epoch, and the state after a run that was never stopped."""
    folder = tmp_path_factory.mktemp("straight")
    trainer = start(folder, max_steps=N_STEPS)
    assert trainer.run() is StopReason.STEPS
    border = trainer.steps_per_epoch
    assert 1 < border < N_STEPS / 2, "the run should pass the border of an epoch twice"
    return border, state(folder)


@pytest.fixture
def straight(border_and_state: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    """The state after a run that was never stopped."""
    return border_and_state[1]


Interrupts = Callable[..., PreparedCorpus]


@pytest.fixture
def interrupting(phrases: Pairs, phrase_tokenizer: Tokenizer) -> Interrupts:
    """Makes a corpus that sends signals when a pair is read for the n-th time."""

    def make(at: int, *signals: signal.Signals) -> PreparedCorpus:
        kind = partial(Interrupting, at=at, signals=signals)
        return prepare_pairs(phrases[:N_PAIRS], phrase_tokenizer, kind)

    return make


@pytest.mark.parametrize("stops", ["1", "border-1", "border", "border+1", "2 7 12"])
def test_a_run_stopped_at_a_step_ends_as_if_it_had_not_stopped(
    start: Start, tmp_path: Path, border_and_state: tuple[int, dict[str, Any]], stops: str
) -> None:
    border, straight = border_and_state
    words = stops.replace("border+1", str(border + 1)).replace("border-1", str(border - 1))
    for stop in [*map(int, words.replace("border", str(border)).split()), N_STEPS]:
        torch.manual_seed(stop)  # no random state may count
        start(tmp_path / "stopped", max_steps=stop).run()
    assert state(tmp_path / "stopped") == straight


def test_a_run_with_noise_that_was_stopped_ends_as_if_it_had_not(
    start: Start, tmp_path: Path
) -> None:
    on = {**dict.fromkeys(NOISE_PRESETS["robust"], 0.2), "sample_alpha": 0.0}
    start(tmp_path / "noisy", max_steps=6, **on).run()
    for stop in (2, 5, 6):
        random.seed(stop)  # no random state may count
        start(tmp_path / "resumed", max_steps=stop, **on).run()
    assert state(tmp_path / "resumed") == state(tmp_path / "noisy")
    start(tmp_path / "clean", max_steps=6, sample_alpha=0.0).run()
    assert state(tmp_path / "clean") != state(tmp_path / "noisy")


def test_a_run_with_muon_cools_down_as_if_it_had_not_been_stopped(
    start: Start, tmp_path: Path
) -> None:
    """When the last steps begin need not be known before: a run is stopped and told so."""
    muon = start(tmp_path / "muon", max_steps=6, cooldown=3, optimizer="muon", lr_scale=0.5)
    muon.run()
    for limits in ({"max_steps": 2}, {"max_steps": 6, "cooldown": 3}):
        start(tmp_path / "resumed", optimizer="muon", lr_scale=0.5, **limits).run()
    assert state(tmp_path / "resumed") == state(tmp_path / "muon")
    rates = [record["lr"] for record in read_metrics(tmp_path / "muon")]
    assert rates == [learning_rate(step, 16, muon.config) for step in range(1, 7)]
    start(tmp_path / "adam", max_steps=6, cooldown=3, lr_scale=0.5).run()
    assert state(tmp_path / "adam") != state(tmp_path / "muon")


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_training_after_a_save(
    start: Start, tmp_path: Path, straight: dict[str, Any], sent: signal.Signals,
    interrupting: Interrupts,
) -> None:  # fmt: skip
    before = signal.getsignal(sent)
    data = interrupting(2 * N_PAIRS - 20, sent)
    interrupted = start(tmp_path / "stopped", data=data, max_steps=N_STEPS)
    assert interrupted.run() is StopReason.SIGNAL
    assert signal.getsignal(sent) is before
    assert state(tmp_path / "stopped")["step"] == interrupted.state.step < N_STEPS
    assert not interrupted.state.finished
    start(tmp_path / "stopped", max_steps=N_STEPS).run()
    assert state(tmp_path / "stopped") == straight


def test_a_second_signal_does_what_it_always_did(
    start: Start, tmp_path: Path, straight: dict[str, Any], interrupting: Interrupts
) -> None:
    data = interrupting(2 * N_PAIRS - 20, signal.SIGINT, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path / "stopped", data=data, max_steps=N_STEPS).run()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert state(tmp_path / "stopped")["step"] == SETTINGS["save_every"]
    start(tmp_path / "stopped", max_steps=N_STEPS).run()
    assert state(tmp_path / "stopped") == straight


def test_the_time_of_training_adds_up_over_all_starts(start: Start, tmp_path: Path) -> None:
    start(tmp_path, max_steps=2).run()
    path = tmp_path / "last" / "training.json"
    values = json.loads(path.read_text()) | {"seconds": 1000.0}
    path.write_text(json.dumps(values))
    write_checksums(tmp_path / "last")
    trainer = start(tmp_path, max_steps=3)
    trainer.run()
    assert 1000 < trainer.state.seconds < 1100


def test_records_of_steps_that_are_done_again_are_dropped(start: Start, tmp_path: Path) -> None:
    start(tmp_path, max_steps=5).run()
    metrics = tmp_path / "metrics.jsonl"
    kept = metrics.read_text()
    metrics.write_text(kept + '{"event": "train", "step": 6, "loss": 9.0}\n{"event": "tr')
    trainer = start(tmp_path, max_steps=7)
    assert metrics.read_text() == kept
    trainer.run()
    assert [record["step"] for record in read_metrics(tmp_path)] == list(range(1, 8))


def test_a_loss_that_is_not_finite_leaves_the_last_checkpoint_as_it_was(
    start: Start, tmp_path: Path
) -> None:
    start(tmp_path, max_steps=5).run()
    before = state(tmp_path)
    with pytest.raises(UserError, match=r"expected a finite loss.*lower --lr-scale"):
        start(tmp_path, max_steps=50, lr_scale=9e18).run()
    assert state(tmp_path) == before
    checkpoint.load(tmp_path / "last")
    trainer = start(tmp_path, max_steps=6)
    trainer.run()
    assert trainer.state.step == 6
    assert math.isfinite(read_metrics(tmp_path)[-1]["loss"])


def test_a_signal_does_not_save_weights_of_a_loss_that_is_not_finite(
    start: Start, tmp_path: Path, interrupting: Interrupts
) -> None:
    start(tmp_path, max_steps=5).run()
    before = state(tmp_path)
    data = interrupting(2 * N_PAIRS, signal.SIGTERM)
    rare = {"log_every": 100, "save_every": 100, "max_steps": 50}
    with pytest.raises(UserError, match="expected a finite loss"):
        start(tmp_path, data=data, lr_scale=9e18, **rare).run()
    assert state(tmp_path) == before


def test_a_full_disk_is_one_line_and_the_run_ends_as_if_it_had_not_been(
    start: Start, straight: dict[str, Any], small_disk: Path, fill: Callable[[Path], Path]
) -> None:
    folder = small_disk / "run"
    start(folder, max_steps=5).run()
    before, files = state(folder), sorted(small_disk.rglob("*"))
    filler = fill(small_disk)
    with pytest.raises(UserError, match=r"^cannot write .*No space left on device"):
        start(folder, max_steps=N_STEPS).run()
    filler.unlink()
    assert state(folder) == before
    assert sorted(small_disk.rglob("*")) == files
    filler = fill(small_disk)
    room = checkpoint.load_weights(folder / "last")["embedding.weight"].nbytes
    filler.write_bytes(bytes(filler.stat().st_size - 4 * room))  # for records and half a save
    with pytest.raises(
        UserError, match=r"^cannot write .*/last: .*No space left on device.*intact"
    ):
        start(folder, max_steps=N_STEPS).run()
    filler.unlink()
    assert state(folder) == before
    start(folder, max_steps=N_STEPS).run()
    assert state(folder) == straight


def test_a_disk_without_room_for_a_checkpoint_shows_before_the_first_step(
    start: Start, straight: dict[str, Any], small_disk: Path, fill: Callable[[Path], Path]
) -> None:
    filler = fill(small_disk)
    with pytest.raises(UserError, match=r"^cannot write .*/last: "):
        start(small_disk / "run", max_steps=N_STEPS).run()
    filler.unlink()
    start(small_disk / "run", max_steps=N_STEPS).run()
    assert state(small_disk / "run") == straight


def test_a_run_killed_before_its_first_save_but_one_begins_again(
    start: Start, straight: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint of step 0 stands for none: steps/ of later steps may be there."""
    save, settings = Trainer._save_last, {"eval_every": 2, "average": 3, "save_every": 100}

    def save_once(trainer: Trainer) -> None:
        if trainer.state.step:
            raise KeyboardInterrupt
        save(trainer)

    monkeypatch.setattr(Trainer, "_save_last", save_once)
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path, max_steps=5, **settings).run()
    monkeypatch.setattr(Trainer, "_save_last", save)
    assert {path.name for path in tmp_path.iterdir()} >= {"last", "steps"}
    trainer = start(tmp_path, max_steps=N_STEPS, **settings)
    assert (trainer.state.step, trainer.state.best) == (0, None)
    trainer.run()
    assert state(tmp_path) == straight


def test_moments_that_are_not_finite_are_refused(start: Start, tmp_path: Path) -> None:
    start(tmp_path, max_steps=2).run()
    path = tmp_path / "last" / "training.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + np.float32(np.nan).tobytes())
    write_checksums(tmp_path / "last")
    with pytest.raises(UserError, match=r"finite weights in .*/training\.safetensors, got NaN"):
        start(tmp_path)


def test_a_copy_of_the_last_checkpoint_is_gone_on_from_with_its_moments(
    start: Start, straight: dict[str, Any], tmp_path: Path
) -> None:
    start(tmp_path / "first", max_steps=7).run()
    shutil.copytree(tmp_path / "first" / "last", tmp_path / "copy")
    trainer = start(tmp_path / "second", max_steps=N_STEPS, resume_from=tmp_path / "copy")
    assert trainer.state.best is None, "the best one lies elsewhere"
    trainer.run()
    assert state(tmp_path / "second") == straight
    assert (tmp_path / "second" / "best").is_dir()


def test_other_folders_beside_those_kept_do_not_count(start: Start, tmp_path: Path) -> None:
    start(tmp_path, max_steps=2).run()
    for name in ("step-", "step-old", "step-00000001.bak"):
        (tmp_path / "steps" / name).mkdir(parents=True)
    assert start(tmp_path).folder.step_checkpoints(2) == []


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("training.safetensors", "flip"),
        ("training.safetensors", "gone"),
        ("training.json", "cut"),
        ("model.safetensors", "gone"),
        ("config.json", "gone"),
        ("tokenizer.model", "flip"),
        ("", "gone"),  # the whole folder
    ],
)
def test_a_broken_last_checkpoint_offers_the_newest_that_is_whole(
    name: str, damage: str, start: Start, tmp_path: Path
) -> None:
    start(tmp_path, max_steps=6, eval_every=2, average=5).run()
    path = tmp_path / "last" / name
    if damage == "gone":
        path.unlink() if name else shutil.rmtree(path)
    else:
        whole = path.read_bytes()
        path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:] if damage == "flip" else whole[:-1])
    for step, broken in ((6, []), (4, [tmp_path / "steps/step-00000006", tmp_path / "best"])):
        for folder in broken:
            (folder / "model.safetensors").write_bytes(b"nonsense")
        offered = tmp_path / "steps" / f"step-{step:08}"
        line = rf"\(go on with --resume-from {offered}, the newest whole one, of step {step}\)$"
        with pytest.raises(UserError, match=line) as refused:
            start(tmp_path, max_steps=7)
        assert str(tmp_path / "last") in str(refused.value)
        assert "\n" not in str(refused.value)
    trainer = start(tmp_path, max_steps=7, resume_from=offered)
    assert trainer.state.step == 4
    assert [record["step"] for record in read_metrics(tmp_path)] == [1, 2, 3, 4]
    loaded = checkpoint.load(offered).model.state_dict()
    assert all(torch.equal(t, loaded[name]) for name, t in trainer.model.state_dict().items())
    trainer.run()
    assert state(tmp_path)["step"] == 7
    start(tmp_path, max_steps=8).run()  # its last checkpoint is whole again
    assert state(tmp_path)["step"] == 8


def test_a_run_without_any_whole_checkpoint_says_so(start: Start, tmp_path: Path) -> None:
    start(tmp_path, max_steps=2).run()
    (tmp_path / "last" / "training.json").write_text("{}")
    shutil.rmtree(tmp_path / "best")
    with pytest.raises(
        UserError, match=r"\(no other checkpoint of .* is whole: name another --outp"
    ):
        start(tmp_path)


def test_a_checkpoint_of_another_model_or_corpus_is_not_gone_on_from(
    start: Start, tmp_path: Path, phrases: Pairs, phrase_tokenizer: Tokenizer
) -> None:
    start(tmp_path / "a", max_steps=4).run()
    with pytest.raises(UserError, match=r"the model and the vocabulary of this run in .*/a/last"):
        start(tmp_path / "b", model=MODEL | {"d_ff": 16}, resume_from=tmp_path / "a/last")
    few = prepare_pairs(phrases[:10], phrase_tokenizer)
    trainer = start(tmp_path / "b", data=few, resume_from=tmp_path / "a/last")
    with pytest.raises(UserError, match=r"expected a place within the . steps of an epoch"):
        trainer.run()


def test_a_run_resumes_without_the_training_values_of_its_best_checkpoint(
    start: Start, straight: dict[str, Any], tmp_path: Path
) -> None:
    start(tmp_path / "old", max_steps=7).run()
    for path in (tmp_path / "old" / "best").glob("training.json"):
        path.unlink()
    start(tmp_path / "old", max_steps=N_STEPS).run()
    assert state(tmp_path / "old") == straight


def test_records_of_a_run_that_never_saved_are_not_doubled(start: Start, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"event": "train", "step": 1, "loss": 9.0}\n{"eve')
    start(tmp_path, max_steps=2).run()
    records = read_metrics(tmp_path)
    assert [record["step"] for record in records] == [1, 2]
    assert records[0]["loss"] != 9.0
