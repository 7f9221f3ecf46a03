"""scripts/release.py: a compact copy, or the mean of several checkpoints, with its self-test."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from scripts import release
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.tensors import open_checkpoint
from transformer.config import ModelConfig, UserError
from transformer.evaluation import selftest
from transformer.model import Transformer

ROOT = Path(__file__).resolve().parents[2]


def test_of_several_checkpoints_the_mean_is_released(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = checkpoint.load(random_checkpoint)
    moved = {name: t + 0.5 for name, t in opened.model.state_dict().items()}
    same = opened.model.config, opened.tokenizer, opened.directions
    checkpoint.save(tmp_path / "b", moved, *same, "# B\n")
    sources = [str(random_checkpoint), str(tmp_path / "b")]
    assert release.main([*sources, str(tmp_path / "mean")]) == 0
    assert f"{tmp_path / 'mean'}: the mean of 2 checkpoints, " in capsys.readouterr().out
    found = checkpoint.load_weights(tmp_path / "mean")
    assert {t.dtype for t in found.values()} == {torch.float16}
    for name, tensor in opened.model.state_dict().items():
        assert_close(found[name].float(), tensor + 0.25, rtol=1e-3, atol=1e-3)
    assert (tmp_path / "mean" / "README.md").read_text() == "# B\n"
    assert (tmp_path / "mean" / "selftest.json").is_file()


def test_a_model_of_both_directions_is_released_as_int8(
    both_checkpoint: Path, tmp_path: Path
) -> None:
    opened, both = checkpoint.load(both_checkpoint), (("es", "en"), ("en", "es"))
    paths = [str(both_checkpoint), *(str(tmp_path / name) for name in ("small", "again"))]
    assert release.main(["--storage", "int8", *paths[:2]]) == 0
    assert checkpoint.load(paths[1]).directions == both
    stored, again = (
        dict(open_checkpoint(tmp_path / name).stored_weights())
        for name in ("small", "again")
        if name == "small" or release.main(["--storage", "int8", *paths[1:]]) == 0
    )
    for name, tensor in opened.model.state_dict().items():
        is_map = tensor.dim() == 2 and name != "embedding.weight"
        assert stored[name].dtype == ("I8" if is_map else "F16")
        assert (stored[name].values == again[name].values).all()  # a release of it is the same
    for langs in both:
        checks = list(selftest.run(paths[1], "cpu", "float32", langs))
        assert [check.passed for check in checks] == [True] * 4
    values = json.loads((tmp_path / "small" / "selftest.json").read_text(encoding="utf-8"))
    assert list(values) == ["es-en", "en-es"]
    assert values["en-es"]["golden"][0][0] == "Good morning."


def test_a_smaller_model_grows_to_the_shape_of_the_last_one(tmp_path: Path) -> None:
    tokenizer = checkpoint.load("es-en").tokenizer
    shape: dict[str, Any] = {"n_heads": 2, "d_model": 8, "d_ff": 16, "n_decoder_layers": 1}
    paths = []
    for depth in (1, 2):
        config = ModelConfig(
            vocab_size=tokenizer.vocab_size, n_encoder_layers=depth, norm="pre", **shape
        )
        torch.manual_seed(depth)
        weights = Transformer(config).state_dict()
        paths.append(tmp_path / str(depth))
        checkpoint.save(paths[-1], weights, config, tokenizer, [("es", "en")], "# Of two\n")
    last = checkpoint.load(paths[1])
    found = checkpoint.average_weights(release.matching_weights(paths, last))
    small = checkpoint.load_weights(paths[0])
    for name, tensor in last.model.state_dict().items():
        if name in small:
            assert_close(found[name].float(), (tensor + small[name]) / 2)
    added = "encoder.1.feed_forward.contract.weight"  # zero in the small one as it grows
    assert_close(found[added].float(), last.model.state_dict()[added] / 2)
    with pytest.raises(UserError, match=r"no larger than the last.*n-encoder-layers"):
        checkpoint.average_weights(release.matching_weights(paths[::-1], checkpoint.load(paths[0])))


def test_models_of_different_vocabularies_have_no_mean(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main(["es-en", str(random_checkpoint), str(tmp_path / "mean")]) == 2
    assert "expected checkpoints of one vocabulary" in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()
