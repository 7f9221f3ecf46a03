"""The folder of a checkpoint without its tensors: read without torch, written whole or not."""

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from transformer.checkpoint.locate import (
    CHECKSUMMED,
    CHECKSUMS,
    CONFIG,
    WEIGHTS,
    find_checkpoint,
    infer_direction,
    read_config,
    write_checksums,
)
from transformer.checkpoint.weights import load, load_training, save
from transformer.config import UserError
from transformer.files import write_text
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

ROOT = Path(__file__).resolve().parents[2]


def test_a_folder_is_described_without_its_tensors(random_checkpoint: Path, tmp_path: Path) -> None:
    opened = load(random_checkpoint)
    config = (random_checkpoint / CONFIG).read_text(encoding="utf-8")
    write_text(tmp_path / CONFIG, config)
    write_checksums(tmp_path)
    assert not (tmp_path / WEIGHTS).exists()
    assert find_checkpoint(str(tmp_path)) == tmp_path
    assert read_config(tmp_path) == (opened.model.config, opened.directions)


def test_the_predecessor_stands_in_after_a_crash(tmp_path: Path) -> None:
    (tmp_path / ".model.old").mkdir()
    (tmp_path / ".model.old" / CONFIG).touch()
    assert find_checkpoint(tmp_path / "model") == tmp_path / ".model.old"


def test_a_configuration_without_languages_is_an_error(
    random_checkpoint: Path, tmp_path: Path
) -> None:
    described = json.loads((random_checkpoint / CONFIG).read_text(encoding="utf-8"))
    del described["src_lang"]
    write_text(tmp_path / CONFIG, json.dumps(described))
    write_checksums(tmp_path)
    with pytest.raises(UserError, match=r"expected a model configuration in .*: 'src_lang'"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("src_lang", "tgt_lang", "expected"),
    [
        (None, None, ("es", "en")),
        ("es", None, ("es", "en")),
        ("en", None, ("en", "es")),
        (None, "es", ("en", "es")),
        ("en", "es", ("en", "es")),
    ],
)
def test_the_language_that_is_not_named_is_the_other_one(
    src_lang: str | None, tgt_lang: str | None, expected: tuple[str, str]
) -> None:
    assert infer_direction(src_lang, tgt_lang) == expected


@pytest.fixture
def folder(
    make_model: Callable[..., Transformer], phrase_tokenizer: Tokenizer, tmp_path: Path
) -> Path:
    """A checkpoint to translate with and to go on from."""
    model = make_model(vocab_size=phrase_tokenizer.vocab_size)
    training = {"exp_avg.a": torch.randn(3, 5)}, {"step": 7}
    arguments = (model.config, phrase_tokenizer, [("es", "en")], "# Card\n", training)
    save(tmp_path / "model", model.state_dict(), *arguments)
    return tmp_path / "model"


def read_all(folder: Path) -> None:
    load(folder)
    load_training(folder)


@pytest.mark.parametrize("name", CHECKSUMMED)
def test_a_flipped_bit_is_refused_by_one_line(name: str, folder: Path) -> None:
    read_all(folder)
    path, chance = folder / name, random.Random(11)
    whole = path.read_bytes()
    for place in (0, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(30))):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(UserError) as refused:
            read_all(folder)
        line = str(refused.value)
        assert str(path) in line
        assert "\n" not in line


def test_a_file_cut_short_or_of_another_checkpoint_is_refused(
    folder: Path, phrases: list[tuple[str, str]]
) -> None:
    path = folder / "tokenizer.model"
    for content in (path.read_bytes()[:-1], Tokenizer.train((s for s, _ in phrases), 350).model):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"tokenizer\.model as it was saved, but its SHA-256"):
            load(folder)


@pytest.mark.parametrize("content", ["", "nonsense\n", "\xff", "0  model.safetensors\n"])
def test_damaged_sums_are_refused(content: str, folder: Path) -> None:
    (folder / CHECKSUMS).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=CHECKSUMS):
        load(folder)


def test_a_file_changed_by_hand_is_refused_until_its_checksum_is_written_anew(folder: Path) -> None:
    (folder / "README.md").write_text("# Mended\n")
    read_all(folder)
    path = folder / "config.json"
    path.write_text(path.read_text() + "\n")
    with pytest.raises(UserError, match=f"damaged, cut short or changed: .*> {CHECKSUMS}"):
        load(folder)
    write_checksums(folder)
    read_all(folder)


def test_a_checkpoint_without_checksums_is_refused_with_the_command_that_writes_them(
    folder: Path,
) -> None:
    (folder / CHECKSUMS).unlink()
    with pytest.raises(UserError, match=r"checksums in .*: .*No such file.* > SHA256SUMS") as error:
        load(folder)
    command = str(error.value).rpartition("in its folder: ")[2]
    subprocess.run(command, shell=True, cwd=folder, check=True)
    read_all(folder)


@pytest.mark.parametrize("model", ["both", ""])
def test_the_sums_are_those_of_the_usual_command(model: str, folder: Path) -> None:
    command = shutil.which("sha256sum")
    if command is None:
        pytest.skip("this system has no sha256sum")
    place = ROOT / "checkpoints" / model if model else folder
    done = subprocess.run(
        [command, "--check", "--strict", CHECKSUMS], cwd=place, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    names = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert names == [name for name in CHECKSUMMED if (place / name).exists()]
