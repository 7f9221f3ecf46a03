"""The training loop: its limits, the arithmetic of a step, and what it keeps."""

import itertools
import logging
import random
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from tests.training.runs import MODEL, Pairs, Start, averaged_gradients, trained_tensors
from transformer.checkpoint import locate
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.locate import read_metrics
from transformer.config import TrainConfig, UserError
from transformer.corpus.augmentation import resample
from transformer.text.tokenizer import Tokenizer
from transformer.training import runtime
from transformer.training.optimizer import learning_rate
from transformer.training.run import StopReason
from transformer.training.trainer import Trainer
from transformer.training.validation import Validation, example_rows

pytestmark = pytest.mark.usefixtures("one_cpu_thread")


# The limits


def test_passes_over_the_data_are_a_limit(start: Start, tmp_path: Path) -> None:
    trainer = start(tmp_path, max_epochs=2)
    assert trainer.run() is StopReason.EPOCHS
    assert (trainer.state.epoch, trainer.state.position) == (2, 0)
    assert trainer.state.step == 2 * trainer.steps_per_epoch
    assert read_metrics(tmp_path)[-1]["epoch"] == 2


def test_minutes_are_a_limit(start: Start, tmp_path: Path) -> None:
    trainer = start(tmp_path, max_minutes=1e-9)
    assert trainer.run() is StopReason.MINUTES
    assert trainer.state.step == 1


def test_training_ends_when_no_score_gets_better(
    start: Start, tmp_path: Path, phrases: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([3.0, 2.0, 2.5, 2.2, 1.0])  # the last one is of the average
    monkeypatch.setattr(Validation, "scores", lambda *_: {"loss": next(losses)})
    more = {"dev": phrases[-2:], "eval_every": 1, "patience": 2, "average": 2, "max_steps": 50}
    trainer = start(tmp_path, **more)
    assert trainer.run() is StopReason.PATIENCE
    assert trainer.state.step == 4
    assert trainer.state.best == -1.0
    again = start(tmp_path, **more)  # the better average does not set it going again
    assert again.run() is StopReason.PATIENCE
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
    drawn = [resample(ids, phrase_tokenizer, 0.1, 64, rng) for _ in range(20)]
    assert len({tuple(new) for new in drawn}) > 1
    assert all(phrase_tokenizer.decode(new) == phrase_tokenizer.decode(ids) for new in drawn)
    assert resample(ids, phrase_tokenizer, 0.1, 3, rng) == ids


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # those of its own use
def test_a_compiled_model_trains_as_the_plain_one(start: Start, tmp_path: Path) -> None:
    same = {"max_steps": 3, "model": {**MODEL, "dropout": 0.0}}
    for name in ("plain", "compiled"):
        start(tmp_path / name, compile=name == "compiled", **same).run()
    plain, compiled = ([r["loss"] for r in read_metrics(tmp_path / n)] for n in
                       ("plain", "compiled"))  # fmt: skip
    assert compiled == pytest.approx(plain, rel=1e-4)


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
    mean.load_state_dict(checkpoint.average_weights(map(checkpoint.load_weights, kept)))
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


def test_three_fixed_sentences_show_what_the_model_says_at_each_validation(
    start: Start, tmp_path: Path, phrases: Pairs, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    trainer = start(tmp_path, dev=phrases[-40:], eval_every=1, eval_pairs=40, max_steps=2)
    trainer.run()
    shown = [message.lstrip() for message in caplog.messages if " -> " in message]
    sources = [line.partition(" -> ")[0] for line in shown]
    assert len(shown) == 6
    assert sources[:3] == sources[3:]
    assert len({*sources}) == 3
    assert {*sources} <= {src for src, _ in phrases[-40:]}
    assert [line.partition(" -> ")[2] for line in shown[3:]] == [
        text for _, text in trainer.validation.examples
    ]


@pytest.mark.parametrize(("n", "rows"), [(1, [0]), (2, [0]), (8, [1, 2, 3]), (300, [37, 75, 112])])
def test_the_sentences_shown_are_of_the_shorter_half(n: int, rows: list[int]) -> None:
    assert example_rows(["x" * i for i in range(n)]) == rows


def test_a_line_comes_after_the_first_step_and_every_ten_seconds(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count(step=0.5)  # each look at the clock is half a second later
    monkeypatch.setattr("transformer.training.trainer.time.monotonic", lambda: next(ticks))
    start(tmp_path, log_every=0, save_every=1000, max_steps=90).run()
    records = [record for record in read_metrics(tmp_path) if record["event"] == "train"]
    assert records[0]["step"] == 1
    gaps = [b["seconds"] - a["seconds"] for a, b in itertools.pairwise(records[:-1])]
    assert len(gaps) >= 2
    assert all(10 <= gap < 14 for gap in gaps), gaps
    assert records[-1]["step"] == 90


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
    weights = [(tmp_path / name / locate.WEIGHTS).read_bytes() for name in ("best", "last")]
    assert weights[0] == weights[1]


def test_tracking_without_tensorboard_is_an_error(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "is_tensorboard_available", lambda: False)
    with pytest.raises(UserError, match=r"expected TensorBoard.*pip install"):
        start(tmp_path, track=True)
