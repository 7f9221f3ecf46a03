"""The table of compute types: what is the same counts as the same, what is not does not."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from scripts.benchmark import compute_types as script
from tests.processes import ROOT, tsv
from transformer.decoding.decoder import Decoder
from transformer.decoding.search import BatchDecoder
from transformer.translation.translator import Translator


def table(printed: str) -> dict[str, list[str]]:
    """The columns after the name, by the name of what decoded."""
    cells = [
        [c.strip() for c in row.split("|")[2:-1]] for row in printed.splitlines() if "|" in row
    ]
    return {row[0]: row[1:] for row in cells[2:]}


def test_every_type_has_its_row_and_float32_the_tokens_of_the_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    flags = ["--model", str(ROOT / "checkpoints/es-en"), "--test", str(ROOT / "data/test.tsv")]
    assert script.main([*flags, "--limit", "12"]) == 0
    printed = capsys.readouterr().out
    found = table(printed)
    assert {"plain model", "plain model, bfloat16"} <= found.keys()
    assert ("int8" in found) != ("skipped: the native decoder" in printed)
    if "float32" in found:
        assert found["float32"] == [found["plain model"][0], "+0.00", "12 of 12"]


def test_an_engine_that_says_something_else_is_seen(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    random_checkpoint: Path,
    tmp_path: Path,
) -> None:
    other = Translator.load(random_checkpoint, "cpu", "float32").model
    with torch.no_grad():
        other.embedding.weight.neg_()

    def decoders(plain: Translator) -> dict[str, Callable[[], Decoder]]:
        return {
            "plain model": lambda: BatchDecoder(plain.model),
            "float32": lambda: BatchDecoder(other),
        }

    monkeypatch.setattr(script, "decoders", decoders)
    pairs = tsv(tmp_path / "pairs.tsv", [("hola", "hi"), ("adiós", "bye")])
    assert script.main(["--model", str(random_checkpoint), "--test", str(pairs)]) == 0
    found = table(capsys.readouterr().out)
    assert found["plain model"][-1] == "2 of 2"
    assert found["float32"][-1] == "0 of 2"
