"""--batch-tokens auto: the budget fits, is large or fast enough, and is kept by a run."""

import argparse
import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate.state import AcceleratorState, GradientState

from transformer import fit, launch
from transformer.batching import Chunks, TokenPairs
from transformer.config import ModelConfig, TrainConfig, UserError
from transformer.corpus import Prepared
from transformer.fit import Range, Trial
from transformer.objective import LossModel
from transformer.tokenizer import Tokenizer

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
MODEL = ModelConfig(
    d_model=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, d_ff=32, vocab_size=350,
    max_len=64,
)  # fmt: skip
CONFIG = TrainConfig(precision="float32", accumulate=2)
GIB = 2**30


def forget_accelerator() -> None:
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


@pytest.fixture(autouse=True)
def _one_cpu_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    forget_accelerator()
    yield
    forget_accelerator()


class FakeTrial:
    """Fits up to a limit, is as fast as told, and notes what was tried."""

    def __init__(self, limit: int, speed: Callable[[int], float] = float) -> None:
        self.limit, self._speed = limit, speed
        self.tried: list[int] = []

    def fits(self, budget: int) -> bool:
        self.tried.append(budget)
        return budget <= self.limit

    def speed(self, budget: int) -> float:
        return self._speed(budget)


@pytest.mark.parametrize("limit", [1024, 1500, 4096, 70_000, 99_999])
def test_on_a_gpu_the_largest_that_fits_is_taken_less_a_margin(limit: int) -> None:
    trial = FakeTrial(limit)
    found = fit.largest(trial, Range(1024, 2**19))
    assert found % fit.UNIT == 0
    assert max(1024, 0.9 * limit * 15 / 16 - 2 * fit.UNIT) <= found <= max(1024, 0.9 * limit)
    assert len(trial.tried) < 20


def test_where_all_fits_the_upper_limit_needs_no_margin() -> None:
    assert fit.largest(FakeTrial(10**9), Range(1024, 50_176)) == 50_176


def test_where_nothing_fits_there_is_none() -> None:
    assert fit.largest(FakeTrial(1000), Range(1024, 2**19)) == 0
    assert fit.fastest(FakeTrial(1000), Range(1024, 2**15)) == 0


def test_on_a_cpu_the_smallest_that_is_about_as_fast_as_the_best_is_taken() -> None:
    def speed(size: int) -> float:
        return min(size, 4000) + size / 1000

    trial = FakeTrial(10**9, speed)
    assert fit.fastest(trial, Range(1024, 2**15)) == 4096
    assert trial.tried == [1024, 2048, 4096, 8192, 16384]  # two that are no faster end it


def test_on_a_cpu_speed_beyond_the_memory_does_not_count() -> None:
    assert fit.fastest(FakeTrial(5000), Range(1024, 2**15)) == 4096
    assert fit.fastest(FakeTrial(10**9), Range(1024, 3072)) == 3072
    assert fit.fastest(FakeTrial(10**9), Range(1024, 1024)) == 1024


def lengths(*pairs: tuple[int, int]) -> tuple[Any, Any]:
    src, tgt = zip(*pairs, strict=True)
    return np.array(src), np.array(tgt)


def test_the_range_begins_with_the_longest_pair_and_leaves_an_epoch_its_steps() -> None:
    pairs = lengths((300, 400), (5, 5))  # 355 tokens on average
    assert fit.range_of(pairs, 10**6, 2**15, 1) == Range(1024, 2**15)
    wide = fit.range_of(pairs, 10_000, 2**19, 4)
    assert wide == Range(1024, 355 * 10_000 // 400 // fit.UNIT * fit.UNIT)
    assert fit.range_of(pairs, 100, 2**19, 1) == Range(768, 768)  # the pair itself must fit
    assert fit.range_of(lengths((2000, 1)), 10**6, 2**15, 1).least == 2048


def chunks(rows: Sequence[Sequence[int]]) -> Chunks:
    return [(np.cumsum([0, *map(len, rows)]), np.concatenate([np.array(row) for row in rows]))]


@pytest.fixture
def data(phrases: list[tuple[str, str]], phrase_tokenizer: Tokenizer) -> Prepared:
    src, tgt = (phrase_tokenizer.encode_all(s) for s in zip(*phrases[:200], strict=True))
    pairs = TokenPairs(chunks(src), chunks(tgt))
    return Prepared(pairs, ((200, 100.0),), phrase_tokenizer, {})


@pytest.fixture
def accelerator(tmp_path: Path) -> launch.Accelerator:
    return launch.make_accelerator(CONFIG, tmp_path)


@pytest.mark.parametrize("kind", ["longest", "source", "target", "usual"])
def test_trial_batches_fill_the_budget_with_the_pairs_they_are_named_for(
    data: Prepared, accelerator: launch.Accelerator, kind: str
) -> None:
    src, tgt = data.pairs.lengths
    rows = Trial(MODEL, CONFIG, data, accelerator).rows(kind, 500)
    cost = len(rows) * (src[rows].max() + tgt[rows].max())
    assert 400 < cost <= 500
    assert len(set(rows.tolist())) == len(rows)
    first = {"longest": (src + tgt).max(), "source": src.max(), "target": tgt.max()}
    of_row = {"longest": src + tgt, "source": src, "target": tgt}
    assert kind == "usual" or of_row[kind][rows[0]] == first[kind]


def test_a_trial_step_changes_no_weight(data: Prepared, accelerator: launch.Accelerator) -> None:
    trial = Trial(MODEL, CONFIG, data, accelerator)
    before = {name: t.clone() for name, t in trial.loss_model.state_dict().items()}
    assert trial.step(trial.rows("usual", 300), 300) > 0
    after = trial.loss_model.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert trial.speed(300) > 0


def fake_memory(monkeypatch: pytest.MonkeyPatch, free: float) -> list[int]:
    """A machine where each token of a batch takes a MiB; notes the largest batch that was run."""
    seen = [0]
    forward = LossModel.forward

    def run(self: Any, src: Any, tgt_in: Any, tgt_out: Any) -> Any:
        seen[0] = max(seen[0], src.numel() + tgt_in.numel())
        return forward(self, src, tgt_in, tgt_out)

    monkeypatch.setattr(LossModel, "forward", run)
    monkeypatch.setattr(fit, "resident_memory", lambda: seen[0] * 2**20)
    monkeypatch.setattr(fit, "available_memory", lambda: int(free))
    return seen


def test_a_cpu_is_never_asked_for_more_than_its_share(
    data: Prepared, accelerator: launch.Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = fake_memory(monkeypatch, 4 * GIB)
    monkeypatch.setattr(Trial, "speed", lambda self, budget: float(budget))
    found = fit.choose(MODEL, CONFIG, data, accelerator)
    assert found == 2048  # of 0.7 x 4096
    assert seen[0] <= 0.7 * 4096  # the next was not even tried


def test_a_machine_without_memory_is_a_user_error(
    data: Prepared, accelerator: launch.Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_memory(monkeypatch, 0.1 * GIB)
    with pytest.raises(UserError, match=r"expected memory for one step.*--preset"):
        fit.choose(MODEL, CONFIG, data, accelerator)


def test_a_device_that_runs_out_of_memory_is_asked_for_less(
    data: Prepared, accelerator: launch.Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = LossModel.forward

    def refuse(self: Any, src: Any, tgt_in: Any, tgt_out: Any) -> Any:
        if src.numel() + tgt_in.numel() > 1500:
            raise torch.OutOfMemoryError("too much")
        return forward(self, src, tgt_in, tgt_out)

    monkeypatch.setattr(LossModel, "forward", refuse)
    trial = Trial(MODEL, CONFIG, data, accelerator)
    found = fit.largest(trial, Range(512, 2**14))
    assert 1024 <= found <= 1500
    assert trial.fits(found)
    assert not trial.fits(1792)


def test_a_run_keeps_what_it_began_with(
    data: Prepared, accelerator: launch.Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "Trial", None)
    assert fit.choose(MODEL, CONFIG, data, accelerator, noted=3584) == 3584


def test_the_processes_agree_on_the_smallest(
    data: Prepared, accelerator: launch.Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gather(mine: torch.Tensor) -> torch.Tensor:
        return torch.cat([mine, torch.tensor([1792 if mine[0] else 0])])

    monkeypatch.setattr(accelerator, "gather", gather)
    monkeypatch.setattr(fit, "_try", lambda *given: 2048)
    assert fit.choose(MODEL, CONFIG, data, accelerator) == 1792
    assert fit.choose(MODEL, CONFIG, data, accelerator, noted=4096) == 4096


def test_the_flag_takes_a_number_or_auto(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    fit.add_flag(parser)
    assert parser.parse_args([]).batch_tokens == TrainConfig().batch_tokens
    assert parser.parse_args(["--batch-tokens", "17"]).batch_tokens == 17
    assert parser.parse_args(["--batch-tokens", "auto"]).batch_tokens is None
    with pytest.raises(SystemExit):
        parser.parse_args(["--batch-tokens", "many"])
    assert "--batch-tokens: invalid" in capsys.readouterr().err


def test_memory_of_this_machine_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert 2**20 < launch.resident_memory() < 2**40
    assert 0 < launch.available_memory() < 2**45


def test_a_stopped_run_goes_on_with_the_number_that_was_found(
    phrases: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    train = importlib.import_module("train")
    corpus, output = tmp_path / "train.tsv", tmp_path / "run"
    lines = "".join(f"{src}\t{tgt}\n" for src, tgt in phrases[:100])
    corpus.write_text(f"es\ten\n{lines}", encoding="utf-8")
    shape = "--d-model 16 --n-heads 2 --n-encoder-layers 1 --n-decoder-layers 1 --d-ff 32"
    sizes = "--vocab-size 350 --max-len 64 --save-every 1 --workers 1 --batch-tokens auto"
    paths = ["--train", str(corpus), "--output", str(output), "--cache", str(tmp_path / "cache")]

    def run(n_steps: int) -> int:
        forget_accelerator()
        return int(
            train.main([*shape.split(), *sizes.split(), *paths, "--max-steps", str(n_steps)])
        )

    assert run(1) == 0
    noted = json.loads((output / "run.json").read_text(encoding="utf-8"))["batch_tokens"]
    assert noted % fit.UNIT == 0
    monkeypatch.setattr(fit, "_try", lambda *given: 2 * noted)
    assert run(2) == 0
    assert json.loads((output / "last" / "training.json").read_text())["step"] == 2
