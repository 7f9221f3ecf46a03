"""What only a GPU can show; skipped where there is none."""

import warnings
from pathlib import Path

import pytest
import torch

from tests.training.runs import MODEL, Pairs, Start
from transformer.checkpoint.locate import read_metrics
from transformer.text.tokenizer import Tokenizer
from transformer.training.loader import Step
from transformer.translation.translator import Translator

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
PLAIN = {**MODEL, "dropout": 0.0}


def losses(folder: Path) -> list[float]:
    return [record["loss"] for record in read_metrics(folder) if record["event"] == "train"]


def n_target(step: Step) -> int:
    return sum(batch.n_target for batch, _ in step)


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_no_step_waits_for_the_device(start: Start, tmp_path: Path, optimizer: str) -> None:
    trainer = start(tmp_path, max_steps=9, optimizer=optimizer, precision="bfloat16")
    steps = trainer._steps()
    first, second = next(steps), next(steps)
    trainer.forward_backward(first, n_target(first))
    trainer.optimizer_step()  # makes the optimiser's state
    torch.cuda.synchronize()
    with warnings.catch_warnings(action="ignore"):  # that this mode does not see everything
        torch.cuda.set_sync_debug_mode("error")
    try:
        trainer.forward_backward(second, n_target(second))
        trainer.optimizer_step()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_the_losses_are_those_of_a_cpu(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path / "gpu", max_steps=6, model=PLAIN).run()
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    start(tmp_path / "cpu", max_steps=6, model=PLAIN).run()
    assert losses(tmp_path / "gpu") == pytest.approx(losses(tmp_path / "cpu"), rel=1e-3)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_goes_on_as_if_it_had_never_stopped(
    start: Start, tmp_path: Path, workers: int
) -> None:
    start(tmp_path / "whole", max_steps=8, loader_workers=0).run()
    for steps in (3, 8):
        start(tmp_path / "parts", max_steps=steps, loader_workers=workers).run()
    assert losses(tmp_path / "parts") == pytest.approx(losses(tmp_path / "whole"), rel=1e-3)
    assert read_metrics(tmp_path / "parts")[-1]["share_of_peak"] > 0


def test_compiled_layers_train_as_the_plain_ones(start: Start, tmp_path: Path) -> None:
    for name in ("plain", "compiled"):
        start(tmp_path / name, max_steps=6, model=PLAIN, compile=name == "compiled").run()
    assert losses(tmp_path / "compiled") == pytest.approx(losses(tmp_path / "plain"), rel=1e-3)


def test_translations_are_those_of_a_cpu(
    start: Start, tmp_path: Path, phrases: Pairs, phrase_tokenizer: Tokenizer
) -> None:
    trainer = start(tmp_path, max_steps=150, model={**PLAIN, "norm": "pre"}, optimizer="muon")
    trainer.run()
    sources = [src for src, _ in phrases[:40]]
    translations = {}
    for device in ("cuda", "cpu"):
        model = trainer.averaged.to(device)
        translator = Translator.from_model(model, phrase_tokenizer, ("es", "en"), "float32")
        translations[device] = [result.text for result in translator.translate(sources)]
    equal = sum(a == b for a, b in zip(translations["cuda"], translations["cpu"], strict=True))
    assert equal >= 38  # a tie may fall either way
