"""A whole training: where a run begins, and what it refuses."""

from pathlib import Path

import pytest
import torch

from scripts import train
from transformer.checkpoint import weights
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

PAIRS = [(f"el gato {i} come pan", f"the cat {i} eats bread") for i in range(60)]
CONFIG = {"d_model": 16, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 32,
          "max_len": 32, "norm": "pre"}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A small corpus, and a checkpoint of a small model that was not trained on it."""
    corpus = tmp_path / "train.tsv"
    corpus.write_text("es\ten\n" + "".join(f"{s}\t{t}\n" for s, t in PAIRS), encoding="utf-8")
    tokenizer = Tokenizer.train([text for pair in PAIRS for text in pair], 300)
    torch.manual_seed(7)
    model = Transformer(ModelConfig(**CONFIG, vocab_size=tokenizer.vocab_size))  # type: ignore[arg-type]
    before = tmp_path / "before"
    weights.save(before, model.state_dict(), model.config, tokenizer, ("es", "en"), "a card\n")
    return {"corpus": corpus, "before": before, "output": tmp_path / "run", "cache": tmp_path / "c"}


@pytest.fixture(autouse=True)
def _one_cpu_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")


def arguments(files: dict[str, Path], *more: str) -> list[str]:
    """A run of one step so small that the weights all but stay."""
    given = ["--train", files["corpus"], "--cache", files["cache"], "--output", files["output"]]
    return [*map(str, given), "--init", str(files["before"]), "--max-steps", "1", "--warmup",
            "4000", "--lr-scale", "0.001", "--workers", "1", *more]  # fmt: skip


def test_a_run_begins_with_the_weights_and_the_vocabulary_of_a_checkpoint(
    files: dict[str, Path],
) -> None:
    assert train.main(arguments(files, "--dropout", "0.3")) == 0
    before = weights.load(files["before"])
    after = weights.load(files["output"] / "best")
    assert after.tokenizer.model == before.tokenizer.model
    assert after.model.config.dropout == 0.3
    old, new = before.model.state_dict(), after.model.state_dict()
    assert all(torch.allclose(new[name], old[name], atol=1e-5) for name in old)
    assert any(not torch.equal(new[name], old[name]) for name in old)


def test_a_run_begins_with_a_checkpoint_made_larger(files: dict[str, Path]) -> None:
    assert train.main(arguments(files, "--d-ff", "64", "--n-decoder-layers", "3")) == 0
    before = weights.load(files["before"]).model
    after = weights.load(files["output"] / "best").model
    assert (after.config.d_ff, after.config.n_decoder_layers) == (64, 3)
    src = torch.arange(4, 16).view(2, 6)
    torch.testing.assert_close(after(src, src), before(src, src), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--preset", "tiny"], "expected --init without --preset"),
        (["--d-ff", "8"], "expected --d-ff of at least"),
        (["--activation", "gelu"], "expected the shape of --init"),
    ],
)
def test_another_shape_than_that_of_the_checkpoint_is_refused(
    files: dict[str, Path],
    more: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert train.main(arguments(files, *more)) == 2
    assert said in capsys.readouterr().err
