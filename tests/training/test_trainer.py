"""Training: stopped at any step and gone on exactly, one process or two, and what it keeps."""

import dataclasses
import itertools
import json
import logging
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate.state import AcceleratorState, GradientState
from torch.testing import assert_close

from scripts import train
from transformer import plots
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.locate import read_metrics
from transformer.config import NOISE_PRESETS, ModelConfig, TrainConfig, UserError
from transformer.corpus.augmentation import resampled
from transformer.corpus.batching import Chunks, TokenPairs
from transformer.corpus.prepare import PreparedCorpus
from transformer.text.tokenizer import Tokenizer
from transformer.training import runtime
from transformer.training.optimizer import learning_rate
from transformer.training.run import Ending, check_same_run
from transformer.training.trainer import Trainer
from transformer.training.validation import Validation

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "train.py"
LANGS = ("es", "en")
SIZES = {"d_model": 16, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 32}
MODEL = {**SIZES, "vocab_size": 350, "max_len": 64, "dropout": 0.1}
SETTINGS = {
    "batch_tokens": 640, "accumulate": 2, "warmup": 4, "sample_alpha": 0.2, "ema": 0.9, "seed": 3,
    "log_every": 1, "eval_every": 100, "save_every": 5, "average": 0, "eval_pairs": 0,
    "precision": "float32",
}  # fmt: skip
N_PAIRS, N_STEPS = 100, 14
Start = Callable[..., Trainer]
Pairs = list[tuple[str, str]]


def forget_accelerator() -> None:
    """Lets the next Accelerator choose its precision anew."""
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


@pytest.fixture(autouse=True)
def _one_cpu_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same arithmetic here and in the processes that are started with it.

    And Ctrl-C as at a terminal: in the background a shell starts programs with SIGINT ignored.
    """
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    forget_accelerator()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    forget_accelerator()
    torch.set_num_threads(threads)


def chunks(rows: Sequence[Sequence[int]]) -> Chunks:
    """The layout of an Arrow column."""
    return [(np.cumsum([0, *map(len, rows)]), np.concatenate([np.array(row) for row in rows]))]


def prepare_pairs(
    pairs: Pairs, tokenizer: Tokenizer, kind: Callable[..., TokenPairs] = TokenPairs
) -> PreparedCorpus:
    """A corpus that lies in memory."""
    src, tgt = (tokenizer.encode_all(side) for side in zip(*pairs, strict=True))
    return PreparedCorpus(
        pairs=kind(chunks(src), chunks(tgt)),
        sizes=((len(pairs), 1.0),),
        tokenizer=tokenizer,
        report={"sources": [{"spec": "phrases.tsv", "counts": {"kept": len(pairs)}}]},
    )


class Interrupting(TokenPairs):
    """Sends signals to this process when a pair is read for the n-th time."""

    def __init__(self, *sides: Chunks, at: int, signals: Sequence[signal.Signals]) -> None:
        super().__init__(*sides)
        self.left, self.signals = at, signals

    def __getitem__(self, index: int) -> tuple[list[int], list[int]]:
        self.left -= 1
        if self.left == 0:
            for number in self.signals:
                signal.raise_signal(number)
        return super().__getitem__(index)


@pytest.fixture
def start(phrases: Pairs, phrase_tokenizer: Tokenizer) -> Start:
    """Builds a run of a folder, gone on from what lies there; settings can be replaced."""

    def make(
        folder: Path,
        *,
        data: PreparedCorpus | None = None,
        dev: Sequence[tuple[str, str]] = (),
        model: Mapping[str, Any] = MODEL,
        **changes: Any,
    ) -> Trainer:
        forget_accelerator()
        config = TrainConfig(**{**SETTINGS, **changes})
        data = data or prepare_pairs(phrases[:N_PAIRS], phrase_tokenizer)
        accelerator = runtime.make_accelerator(config, folder)
        trainer = Trainer(folder, ModelConfig(**model), config, data, dev, [LANGS], accelerator)
        trainer.resume()
        return trainer

    return make


def state(folder: Path) -> dict[str, Any]:
    """All that decides how a run goes on: weights, moments, average, place."""
    last = folder / "last"
    place = json.loads((last / "training.json").read_text())
    files = {name: (last / name).read_bytes() for name in (checkpoint.WEIGHTS, checkpoint.STATE)}
    return files | {name: place[name] for name in ("step", "epoch", "position")}


def trained_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """Weights under training and moments, by name."""
    return checkpoint.load_training(folder / "last")[0]


def averaged_gradients(folder: Path) -> dict[str, torch.Tensor]:
    """Adam's first moments: unlike the weights they do not blow up a gradient that is nearly 0.

    Such are those of the keys' biases: they shift all scores of a query, to no effect.
    """
    return {name: t for name, t in trained_tensors(folder).items() if name.startswith("exp_avg.")}


# Stopping and going on


@pytest.fixture
def straight(start: Start, tmp_path: Path) -> dict[str, Any]:
    """The state after a run that was never stopped, and the number of steps of its epochs."""
    trainer = start(tmp_path / "straight", max_steps=N_STEPS)
    assert trainer.run() is Ending.STEPS
    assert 1 < trainer.turns < N_STEPS / 2, "the run should pass the border of an epoch twice"
    return state(tmp_path / "straight") | {"turns": trainer.turns}


@pytest.mark.parametrize("stops", ["1", "border-1", "border", "border+1", "2 7 12"])
def test_a_run_stopped_at_a_step_ends_as_if_it_had_not_stopped(
    start: Start, tmp_path: Path, straight: dict[str, Any], stops: str
) -> None:
    turns = straight.pop("turns")
    words = stops.replace("border+1", str(turns + 1)).replace("border-1", str(turns - 1))
    for stop in [*map(int, words.replace("border", str(turns)).split()), N_STEPS]:
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
    phrases: Pairs, phrase_tokenizer: Tokenizer,
) -> None:  # fmt: skip
    def kind(*sides: Chunks) -> TokenPairs:
        return Interrupting(*sides, at=2 * N_PAIRS - 20, signals=[sent])

    before = signal.getsignal(sent)
    data = prepare_pairs(phrases[:N_PAIRS], phrase_tokenizer, kind)
    interrupted = start(tmp_path / "stopped", data=data, max_steps=N_STEPS)
    assert interrupted.run() is Ending.STOPPED
    assert signal.getsignal(sent) is before
    assert state(tmp_path / "stopped")["step"] == interrupted.state.step < N_STEPS
    assert not interrupted.state.finished
    start(tmp_path / "stopped", max_steps=N_STEPS).run()
    assert state(tmp_path / "stopped") == state(tmp_path / "straight")


def test_a_second_signal_does_what_it_always_did(
    start: Start, tmp_path: Path, straight: dict[str, Any], phrases: Pairs,
    phrase_tokenizer: Tokenizer,
) -> None:  # fmt: skip
    def kind(*sides: Chunks) -> TokenPairs:
        return Interrupting(*sides, at=2 * N_PAIRS - 20, signals=[signal.SIGINT] * 2)

    data = prepare_pairs(phrases[:N_PAIRS], phrase_tokenizer, kind)
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path / "stopped", data=data, max_steps=N_STEPS).run()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert state(tmp_path / "stopped")["step"] == SETTINGS["save_every"]
    start(tmp_path / "stopped", max_steps=N_STEPS).run()
    assert state(tmp_path / "stopped") == state(tmp_path / "straight")


def test_the_time_of_training_adds_up_over_all_starts(start: Start, tmp_path: Path) -> None:
    start(tmp_path, max_steps=2).run()
    path = tmp_path / "last" / "training.json"
    values = json.loads(path.read_text()) | {"seconds": 1000.0}
    path.write_text(json.dumps(values))
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


# The limits


def test_passes_over_the_data_are_a_limit(start: Start, tmp_path: Path) -> None:
    trainer = start(tmp_path, max_epochs=2)
    assert trainer.run() is Ending.EPOCHS
    assert (trainer.state.epoch, trainer.state.position) == (2, 0)
    assert trainer.state.step == 2 * trainer.turns
    assert read_metrics(tmp_path)[-1]["epoch"] == 2


def test_minutes_are_a_limit(start: Start, tmp_path: Path) -> None:
    trainer = start(tmp_path, max_minutes=1e-9)
    assert trainer.run() is Ending.MINUTES
    assert trainer.state.step == 1


def test_training_ends_when_no_score_gets_better(
    start: Start, tmp_path: Path, phrases: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([3.0, 2.0, 2.5, 2.2, 1.0])  # the last one is of the average
    monkeypatch.setattr(Validation, "scores", lambda *_: {"loss": next(losses)})
    more = {"dev": phrases[-2:], "eval_every": 1, "patience": 2, "average": 2, "max_steps": 50}
    trainer = start(tmp_path, **more)
    assert trainer.run() is Ending.PATIENCE
    assert trainer.state.step == 4
    assert trainer.state.best == -1.0
    again = start(tmp_path, **more)  # the better average does not set it going again
    assert again.run() is Ending.PATIENCE
    assert again.state.step == 4


def test_a_budget_below_the_longest_pair_is_an_error(start: Start, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected pairs within the budget.*--batch-tokens"):
        start(tmp_path, batch_tokens=8, max_steps=1).run()


# The arithmetic of a step


def test_four_micro_batches_make_the_step_of_one_batch(start: Start, tmp_path: Path) -> None:
    model = {**MODEL, "dropout": 0.0}
    same = {"sample_alpha": 0.0, "batch_tokens": 10_000, "model": model, "max_steps": 3, "clip": 0}
    start(tmp_path / "1", accumulate=1, **same).run()
    start(tmp_path / "4", accumulate=4, **same).run()
    one, four = (read_metrics(tmp_path / n) for n in ("1", "4"))
    assert [record["epoch"] for record in one] == [1, 2, 3]  # all pairs in each step
    assert [r["loss"] for r in four] == pytest.approx([r["loss"] for r in one], rel=1e-5)
    moments = [averaged_gradients(tmp_path / n) for n in ("4", "1")]
    assert_close(*moments, rtol=1e-3, atol=1e-6)


def test_the_learning_rate_is_that_of_the_paper(start: Start, tmp_path: Path) -> None:
    trainer = start(tmp_path, max_steps=6, lr_scale=0.5)
    trainer.run()
    rates = [record["lr"] for record in read_metrics(tmp_path)]
    assert rates == [learning_rate(step, 16, trainer.config) for step in range(1, 7)]
    assert max(rates) == rates[3] == pytest.approx(0.5 * 16**-0.5 * 4**-0.5)


def test_the_moving_average_follows_its_formula(start: Start, tmp_path: Path) -> None:
    trainer = start(tmp_path, max_steps=1, ema=0.2)
    expected = {name: p.clone() for name, p in trainer.averaged.state_dict().items()}
    for step in (1, 2, 3):
        start(tmp_path, max_steps=step, ema=0.2).run()
        tensors = trained_tensors(tmp_path)
        decay = min(0.2, step / (step + 9))  # 0.1, 0.1818, 0.2
        for name, value in expected.items():
            value.mul_(decay).add_((1 - decay) * tensors[f"weights.{name}"])
    assert_close(checkpoint.load_weights(tmp_path / "last"), expected)


def test_without_a_moving_average_the_weights_themselves_are_saved(
    start: Start, tmp_path: Path
) -> None:
    start(tmp_path, max_steps=3, ema=0.0).run()
    tensors = trained_tensors(tmp_path)
    for name, weight in checkpoint.load_weights(tmp_path / "last").items():
        assert torch.equal(weight, tensors[f"weights.{name}"])


def test_bfloat16_trains_on_a_cpu_close_to_float32(start: Start, tmp_path: Path) -> None:
    for precision in ("float32", "bfloat16"):
        start(tmp_path / precision, precision=precision, max_steps=3).run()
        card = (tmp_path / precision / "last" / "README.md").read_text()
        assert f"| precision | {precision} |" in card
    wide, narrow = ([r["loss"] for r in read_metrics(tmp_path / p)] for p in
                    ("float32", "bfloat16"))  # fmt: skip
    assert narrow == pytest.approx(wide, rel=0.01)
    assert narrow != wide
    assert all(t.dtype == torch.float32 for t in trained_tensors(tmp_path / "bfloat16").values())


@pytest.mark.parametrize(("found", "precision"), [("amx_bf16", "bf16"), ("avx2", "no")])
def test_auto_takes_bfloat16_only_where_the_processor_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str, precision: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {found: True})
    assert runtime.has_fast_bfloat16(torch.device("cpu")) == (precision == "bf16")
    assert not runtime.has_fast_bfloat16(torch.device("meta"))
    accelerator = runtime.make_accelerator(TrainConfig(precision="auto"), tmp_path)
    assert accelerator.mixed_precision == precision


def test_subword_sampling_keeps_a_text_within_the_model(phrase_tokenizer: Tokenizer) -> None:
    ids = phrase_tokenizer.encode("La niña quiere dos manzanas.")
    rng = random.Random(1)
    drawn = [resampled(ids, phrase_tokenizer, 0.1, 64, rng) for _ in range(20)]
    assert len({tuple(new) for new in drawn}) > 1
    assert all(phrase_tokenizer.decode(new) == phrase_tokenizer.decode(ids) for new in drawn)
    assert resampled(ids, phrase_tokenizer, 0.1, 3, rng) == ids


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # those of its own use
def test_a_compiled_model_trains_as_the_plain_one(start: Start, tmp_path: Path) -> None:
    same = {"max_steps": 3, "model": {**MODEL, "dropout": 0.0}}
    for name in ("plain", "compiled"):
        start(tmp_path / name, compile=name == "compiled", **same).run()
    plain, compiled = ([r["loss"] for r in read_metrics(tmp_path / n)] for n in
                       ("plain", "compiled"))  # fmt: skip
    assert compiled == pytest.approx(plain, rel=1e-4)


# A loss that is not finite


def test_a_loss_that_is_not_finite_leaves_the_last_checkpoint_as_it_was(
    start: Start, tmp_path: Path
) -> None:
    start(tmp_path, max_steps=5).run()
    before = state(tmp_path)
    with pytest.raises(UserError, match=r"expected a finite loss.*lower --lr-scale"):
        start(tmp_path, max_steps=50, lr_scale=1e38).run()
    assert state(tmp_path) == before
    checkpoint.load(tmp_path / "last")
    trainer = start(tmp_path, max_steps=6)
    trainer.run()
    assert trainer.state.step == 6
    assert math.isfinite(read_metrics(tmp_path)[-1]["loss"])


def test_a_signal_does_not_save_weights_of_a_loss_that_is_not_finite(
    start: Start, tmp_path: Path, phrases: Pairs, phrase_tokenizer: Tokenizer
) -> None:
    def kind(*sides: Chunks) -> TokenPairs:
        return Interrupting(*sides, at=2 * N_PAIRS, signals=[signal.SIGTERM])

    start(tmp_path, max_steps=5).run()
    before = state(tmp_path)
    data = prepare_pairs(phrases[:N_PAIRS], phrase_tokenizer, kind)
    rare = {"log_every": 100, "save_every": 100, "max_steps": 50}
    with pytest.raises(UserError, match="expected a finite loss"):
        start(tmp_path, data=data, lr_scale=1e38, **rare).run()
    assert state(tmp_path) == before


# What is kept


def scored(trainer: Trainer, folder: Path) -> float:
    """The development loss of a checkpoint."""
    return trainer.validation.loss(checkpoint.load(folder).model)


def test_the_best_and_the_last_weights_are_kept_and_an_average_is_tried(
    start: Start, tmp_path: Path, phrases: Pairs
) -> None:
    more = {"eval_every": 3, "max_steps": 10, "average": 2, "ema": 0.5}
    trainer = start(tmp_path, dev=phrases[-12:], **more)
    trainer.run()
    tried = [record for record in read_metrics(tmp_path) if record["event"] != "train"]
    assert [(record["event"], record["step"]) for record in tried] == [
        ("validation", 3), ("validation", 6), ("validation", 9), ("validation", 10),
        ("average of 2", 10),
    ]  # fmt: skip
    kept = sorted((tmp_path / "steps").iterdir())
    assert [path.name for path in kept] == ["step-00000006", "step-00000009"]
    mean = checkpoint.load(tmp_path / "last").model
    mean.load_state_dict(checkpoint.average(kept))
    assert trainer.validation.loss(mean) == pytest.approx(tried[-1]["loss"])
    assert scored(trainer, tmp_path / "last") == pytest.approx(tried[-2]["loss"])
    best = min(tried, key=lambda record: record["loss"])
    assert scored(trainer, tmp_path / "best") == pytest.approx(best["loss"])
    assert trainer.state.best == -best["loss"]
    assert trainer.state.best_step == best["step"]
    assert f"| optimiser steps | {best['step']} |" in (tmp_path / "best/README.md").read_text()


def test_the_validation_score_is_bleu_where_pairs_are_translated(
    start: Start, tmp_path: Path, phrases: Pairs
) -> None:
    trainer = start(tmp_path, dev=phrases[-6:], eval_every=2, eval_pairs=3, max_steps=2)
    trainer.run()
    (record,) = [record for record in read_metrics(tmp_path) if record["event"] == "validation"]
    assert record["loss"] > 0
    assert trainer.state.best == record["bleu"] >= 0


def test_development_pairs_that_are_all_too_long_are_an_error(start: Start, tmp_path: Path) -> None:
    trainer = start(tmp_path, dev=[("no " * 70, "no")], max_steps=1)
    with pytest.raises(UserError, match="fewer than max_len = 64 pieces a side, got none among 1"):
        trainer.run()


def test_without_development_pairs_the_last_weights_are_the_best(
    start: Start, tmp_path: Path
) -> None:
    trainer = start(tmp_path, max_steps=3)
    trainer.run()
    assert trainer.state.best is None
    weights = [(tmp_path / name / checkpoint.WEIGHTS).read_bytes() for name in ("best", "last")]
    assert weights[0] == weights[1]


def test_other_settings_for_a_run_are_an_error_that_names_them(tmp_path: Path) -> None:
    settings = dataclasses.asdict(TrainConfig())
    check_same_run(tmp_path / "run", settings)
    check_same_run(tmp_path / "run", settings | {"max_steps": 7, "log_every": 3, "patience": 1})
    with pytest.raises(UserError, match="seed was 1 and is 2; warmup was 4000 and is 5"):
        check_same_run(tmp_path / "run", settings | {"warmup": 5, "seed": 2})


def test_tracking_without_tensorboard_is_an_error(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "is_tensorboard_available", lambda: False)
    with pytest.raises(UserError, match=r"expected TensorBoard.*pip install"):
        start(tmp_path, track=True)


# The script, in processes of its own


@pytest.fixture
def script() -> Iterator["Script"]:
    """scripts/train.py without the start of a process."""
    level = logging.getLogger().level
    yield lambda flags: train.main([str(flag) for flag in flags])
    logging.getLogger().setLevel(level)


Script = Callable[[Sequence[object]], int]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, phrases: Pairs) -> Path:
    """A folder with a training and a development set; the token cache comes to lie beside them."""
    folder = tmp_path_factory.mktemp("corpus")
    for name, pairs in (("phrases", phrases[:N_PAIRS]), ("dev", phrases[-4:])):
        lines = ["es\ten", *(f"{src}\t{tgt}" for src, tgt in pairs)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def command(corpus: Path, output: Path, **changes: object) -> list[str]:
    """The flags of a small run."""
    values = {**MODEL, **SETTINGS, "train": corpus / "phrases.tsv", "cache": corpus / "cache",
              "output": output, **changes}  # fmt: skip
    flags = ((f"--{name.replace('_', '-')}", str(value)) for name, value in values.items())
    return list(itertools.chain(*flags))


def wait_for_records(process: "subprocess.Popen[str]", folder: Path, number: int) -> None:
    """Until a run has reported so often; fails when it ends before."""
    path = folder / "metrics.jsonl"
    while not path.is_file() or path.read_bytes().count(b"\n") < number:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.002)


def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    script: Script, corpus: Path, tmp_path: Path
) -> None:
    flags = {"max_steps": 200, "warmup": 50}
    assert script(command(corpus, tmp_path / "straight", **flags)) == 0
    killed = tmp_path / "killed"
    moments = sorted(random.sample(range(5, 120), 3))
    for sent, moment in zip([signal.SIGKILL] * 2 + [signal.SIGTERM], moments, strict=True):
        process = subprocess.Popen(
            [sys.executable, SCRIPT, *command(corpus, killed, **flags)],
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for_records(process, killed, moment)
        time.sleep(random.random() / 100)
        process.send_signal(sent)
        errors = process.communicate()[1]
        assert process.returncode == (0 if sent == signal.SIGTERM else -sent), errors
    assert "stopped by SIGTERM, at step" in errors
    assert script(command(corpus, killed, **flags)) == 0
    assert state(killed) == state(tmp_path / "straight"), f"killed after {moments} records"
    assert [record["step"] for record in read_metrics(killed)] == list(range(1, 201))


def test_two_processes_train_as_one_with_twice_the_micro_batches(
    script: Script, corpus: Path, tmp_path: Path
) -> None:
    flags = {"max_steps": 20, "warmup": 400}
    assert script(command(corpus, tmp_path / "one", accumulate=2, **flags)) == 0
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--cpu"]
    two = command(corpus, tmp_path / "two", accumulate=1, **flags)
    done = subprocess.run(
        [*launcher, "--num_processes", "2", str(SCRIPT), *two],
        capture_output=True,
        text=True,
        check=False,
    )
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
    held_out = tmp_path / "test.tsv"  # pairs that are no longer trained on
    lines = (corpus / "phrases.tsv").read_text(encoding="utf-8").splitlines()[:20]
    held_out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert script([*command(corpus, tmp_path, max_steps=2), "--test", held_out]) == 2
    assert "pairs kept was [100] and is [81]" in capsys.readouterr().err


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
    assert {k: v for k, v in noted.items() if k.startswith("noise")} == {
        **NOISE_PRESETS["robust"],
        "noise_caps": 0.1,
    }


def test_a_run_needs_a_limit(
    script: Script, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script(command(corpus, tmp_path)) == 2
    assert "expected a limit: --max-steps" in capsys.readouterr().err


def test_without_the_plots_a_run_has_no_curves(
    script: Script, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(records: object) -> str:
        raise UserError("expected matplotlib")

    monkeypatch.setattr(plots, "curves", missing)
    assert script(command(corpus, tmp_path, max_steps=1)) == 0
    assert not (tmp_path / "curves.svg").exists()
    assert os.listdir(tmp_path / "best")


def test_a_tracked_run_writes_curves_for_tensorboard(
    script: Script, corpus: Path, tmp_path: Path
) -> None:
    pytest.importorskip("tensorboard", reason="the extra `tracking` is not installed")
    assert script([*command(corpus, tmp_path, max_steps=2), "--track"]) == 0
    assert list(tmp_path.rglob("events.out.tfevents.*"))
