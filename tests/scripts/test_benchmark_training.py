"""The training benchmark: every trainer learns, ours is compared, the missing are skipped."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from scripts.benchmark import driver, training
from scripts.benchmark.driver import Run
from scripts.benchmark.training import Settings, Trainer
from transformer.config import ModelConfig

SHAPE = {
    "d_model": 16, "n_heads": 2, "d_ff": 32, "n_encoder_layers": 1, "n_decoder_layers": 1,
    "vocab_size": 60, "max_len": 80,
}  # fmt: skip
SIZES = [f"--{name.replace('_', '-')}={value}" for name, value in SHAPE.items()]
FEW = ["--batch-tokens=400", "--rounds=2", "--steps=2", "--threads=1", "--precision=float32"]


def test_one_command_measures_and_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "ProcessPoolExecutor", lambda n, _: ThreadPoolExecutor(n))
    assert training.main([*SIZES, *FEW, "--trainers", "this project"]) == 0
    output = capsys.readouterr()
    assert "\n| this project |" in output.out, output.err
    assert output.err.count("  round ") == 2


@pytest.mark.parametrize("name", ["this project", "torch.nn.Transformer"])
def test_every_trainer_learns(name: str) -> None:
    config = ModelConfig(**SHAPE, dropout=0.0)  # type: ignore[arg-type]
    settings = Settings(
        config=config, batch_tokens=400, steps=2, rounds=1, threads=1, bfloat16=False
    )
    trainer = Trainer(name, settings)
    batches = trainer.batches[0]
    before = float(trainer.loss(batches[0]).detach())
    turns = [trainer.run_round(0) for _ in range(40)]
    assert float(trainer.loss(batches[0]).detach()) < 0.99 * before
    n_tokens = sum(int((batch.tgt_out > 0).sum()) for batch in batches)
    assert sum(map(len, turns[0].outputs)) == n_tokens


def test_what_is_not_installed_is_skipped_with_a_word() -> None:
    ours = [Run([[5] * 100], (seconds,), 5.0) for seconds in (1, 2, 4)]
    theirs = [Run([[5] * 100], (6,), 5.0)] * 3
    text = training.tables({"this project": ours, "torch.nn.Transformer": theirs}, {"x": "why"})
    assert text.splitlines()[-3].split() == ["|", "this", "project", "|", "3.00", "|"]
    assert "Skipped x: why." in text


def test_numbers_that_leave_nothing_to_measure_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert training.main(["--rounds", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err
