"""The folder of a checkpoint, all but its tensors: file names, description, whole or not at all.

    config.json          format number, model configuration, languages
    model.safetensors    the weights to translate with
    tokenizer.model      the SentencePiece vocabulary
    README.md            the model card: how it was trained
    selftest.json        what a released model must translate as it did then
    training.safetensors, training.json     only where training can go on from it

Stands apart from `checkpoint` so that a wrong folder is told of before torch is imported.
Knows no tensor and no vocabulary.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transformer.config import FORMAT, FORMAT_BOTH, Direction, ModelConfig, UserError

CONFIG, WEIGHTS, VOCABULARY, CARD = (
    "config.json",
    "model.safetensors",
    "tokenizer.model",
    "README.md",
)
SELFTEST = "selftest.json"
STATE, STATE_VALUES = "training.safetensors", "training.json"


def _sync(path: Path) -> None:
    """Waits until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Gives a temporary file name and renames it to `path` once the block ends well."""
    temporary = path.with_name(f".{path.name}.tmp")
    yield temporary
    _sync(temporary)
    os.replace(temporary, path)


def write_text(path: Path, text: str) -> None:
    """Writes a whole file or nothing."""
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _previous(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def existing(folder: Path) -> Path | None:
    """The complete folder of that name: itself, or its predecessor after a crash, or None."""
    if folder.is_dir():
        return folder
    return _previous(folder) if _previous(folder).is_dir() else None


@contextlib.contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Gives a temporary folder that takes the name `folder` once the block ends well.

    At every moment one complete folder exists, under its name or (for an instant) as the
    hidden predecessor that `existing` finds.
    """
    temporary, previous = folder.with_name(f".{folder.name}.tmp"), _previous(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if temporary.exists():
        shutil.rmtree(temporary)
    temporary.mkdir()
    yield temporary
    for path in [*temporary.rglob("*"), temporary]:
        _sync(path)
    if folder.exists():
        if previous.exists():
            shutil.rmtree(previous)
        os.rename(folder, previous)
    os.rename(temporary, folder)
    _sync(folder.parent)
    if previous.exists():
        shutil.rmtree(previous)


def read_json(path: Path) -> dict[str, Any]:
    """The object that a JSON file of a checkpoint holds; anything else is a UserError."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"expected JSON in {path}: {error}. Is the checkpoint complete?") from error
    if not isinstance(values, dict):
        raise UserError(f"expected a JSON object in {path}, got {type(values).__name__}")
    return values


def find(folder: str | Path) -> Path:
    """The checkpoint that a path names: itself, or the best one of a training run."""
    path = Path(folder)
    for candidate in (path, path / "best", path / "last"):
        found = existing(candidate)
        if found is not None and (found / CONFIG).is_file():
            return found
    what = "a folder without config.json" if path.is_dir() else "no such folder"
    raise UserError(
        f"expected a checkpoint folder, got {str(path)!r}: {what}. "
        "Train one with scripts/train.py, or name one with --model"
    )


def described(directions: Sequence[Direction]) -> dict[str, Any]:
    """What a configuration says of the directions that a checkpoint serves."""
    if len(directions) > 1:
        return {"format": FORMAT_BOTH, "directions": [list(pair) for pair in directions]}
    ((src_lang, tgt_lang),) = directions
    return {"format": FORMAT, "src_lang": src_lang, "tgt_lang": tgt_lang}


def read_config(folder: Path) -> tuple[ModelConfig, tuple[Direction, ...]]:
    """The model and the directions (source, target) of a checkpoint; a defect is a UserError."""
    values = read_json(folder / CONFIG)
    if values.get("format") not in (FORMAT, FORMAT_BOTH):
        raise UserError(
            f"expected checkpoint format {FORMAT} in {folder} (or {FORMAT_BOTH}, of several "
            f"directions), got {values.get('format')!r}: it was written by another version of this "
            "program"
        )
    try:
        config = ModelConfig.from_json(values["model"])
        if values["format"] == FORMAT:
            return config, ((str(values["src_lang"]), str(values["tgt_lang"])),)
        pairs = [(str(src), str(tgt)) for src, tgt in values["directions"]]
        if len(pairs) < 2:
            raise ValueError(f"two directions or more, not {pairs}")
        return config, tuple(pairs)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"expected a model configuration in {folder / CONFIG}: {error}") from error
