"""scripts/release.py: a compact copy, or the mean of several checkpoints, with its self-test."""

import importlib
import shutil
import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from transformer import checkpoint

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
release = importlib.import_module("release")


def test_of_several_checkpoints_the_mean_is_released(
    random_checkpoint: Path, tmp_path: Path
) -> None:
    opened = checkpoint.load(random_checkpoint)
    moved = {name: t + 0.5 for name, t in opened.model.state_dict().items()}
    langs = opened.src_lang, opened.tgt_lang
    checkpoint.save(tmp_path / "b", moved, opened.model.config, opened.tokenizer, langs, "# B\n")
    sources = [str(random_checkpoint), str(tmp_path / "b")]
    assert release.main([*sources, str(tmp_path / "mean")]) == 0
    found = checkpoint.load_weights(tmp_path / "mean")
    assert {t.dtype for t in found.values()} == {torch.float16}
    for name, tensor in opened.model.state_dict().items():
        assert_close(found[name].float(), tensor + 0.25, rtol=1e-3, atol=1e-3)
    assert (tmp_path / "mean" / "README.md").read_text() == "# B\n"
    assert (tmp_path / "mean" / "selftest.json").is_file()


def test_checkpoints_of_different_models_have_no_mean(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    shutil.copytree(random_checkpoint, other)
    weights = {"embedding.weight": torch.zeros(3, 2)}
    checkpoint._save_tensors(other / checkpoint.WEIGHTS, weights)
    assert release.main([str(other), str(random_checkpoint), str(tmp_path / "mean")]) == 2
    assert "expected checkpoints of one model" in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()
