"""A checkpoint is a folder: weights, configuration, tokeniser and a card, written all or nothing.

    config.json          format number, model configuration, languages
    model.safetensors    the weights to translate with
    tokenizer.model      the SentencePiece vocabulary
    README.md            the model card: how it was trained
    training.safetensors, training.json     only where training can go on from it

No pickle is read or written. Knows nothing of training itself.
"""

import contextlib
import dataclasses
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from transformer.config import FORMAT, ModelConfig, UserError
from transformer.model import Transformer
from transformer.tokenizer import Tokenizer

CONFIG, WEIGHTS, VOCABULARY, CARD = (
    "config.json",
    "model.safetensors",
    "tokenizer.model",
    "README.md",
)
STATE, STATE_VALUES = "training.safetensors", "training.json"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A model that is ready to use, with what it needs to read and write text."""

    model: Transformer
    tokenizer: Tokenizer
    src_lang: str
    tgt_lang: str
    folder: Path


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


def save(
    folder: Path,
    weights: Mapping[str, Tensor],
    config: ModelConfig,
    tokenizer: Tokenizer,
    languages: tuple[str, str],
    card: str,
    training: tuple[Mapping[str, Tensor], Mapping[str, Any]] | None = None,
) -> None:
    """Writes a checkpoint; `training` is what `load_training` gives back, tensors and values."""
    described = {
        "format": FORMAT,
        "model": dataclasses.asdict(config),
        "src_lang": languages[0],
        "tgt_lang": languages[1],
    }
    with replaced_folder(folder) as new:
        (new / CONFIG).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
        (new / VOCABULARY).write_bytes(tokenizer.model)
        (new / CARD).write_text(card, encoding="utf-8")
        _save_tensors(new / WEIGHTS, weights)
        if training is not None:
            _save_tensors(new / STATE, training[0])
            text = json.dumps(dict(training[1]), indent=2) + "\n"
            (new / STATE_VALUES).write_text(text, encoding="utf-8")


def _save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    safetensors.torch.save_file(ready, path)


def _load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise UserError(f"expected weights in {path}: {error}. Is the file complete?") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"expected JSON in {path}: {error}. Is the checkpoint complete?") from error
    if not isinstance(values, dict):
        raise UserError(f"expected a JSON object in {path}, got {type(values).__name__}")
    return values


def _find(folder: str | Path) -> Path:
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


def _read_config(folder: Path) -> tuple[ModelConfig, tuple[str, str]]:
    described = _read_json(folder / CONFIG)
    if described.get("format") != FORMAT:
        raise UserError(
            f"expected checkpoint format {FORMAT} in {folder}, got {described.get('format')!r}: "
            "it was written by another version of this program"
        )
    try:
        config = ModelConfig.from_json(described["model"])
        return config, (str(described["src_lang"]), str(described["tgt_lang"]))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"expected a model configuration in {folder / CONFIG}: {error}") from error


def read_vocabulary(path: Path) -> Tokenizer:
    """Reads a SentencePiece model file; a missing or foreign one is a UserError."""
    try:
        return Tokenizer.load(path)
    except (OSError, ValueError) as error:
        raise UserError(f"expected a tokeniser in {path}: {error}") from error


def load(folder: str | Path, device: str | torch.device = "cpu") -> Checkpoint:
    """Reads a checkpoint, in evaluation mode and float32; a defect of the folder is a UserError."""
    path = _find(folder)
    config, languages = _read_config(path)
    tokenizer = read_vocabulary(path / VOCABULARY)
    if tokenizer.vocab_size != config.vocab_size:
        raise UserError(
            f"expected {config.vocab_size} pieces in {path / VOCABULARY}, "
            f"got {tokenizer.vocab_size}: tokeniser and model are not of one training"
        )
    with torch.device("meta"):
        model = Transformer(config)
    model.positions = type(model.positions)(config.max_len, config.d_model)
    weights = {name: t.float() for name, t in _load_tensors(path / WEIGHTS).items()}
    try:
        model.load_state_dict(weights, assign=True)
    except RuntimeError as error:
        raise UserError(
            f"expected the weights of {path / CONFIG} in {path / WEIGHTS}: {error}"
        ) from error
    return Checkpoint(
        model=model.to(device).eval(),
        tokenizer=tokenizer,
        src_lang=languages[0],
        tgt_lang=languages[1],
        folder=path,
    )


def load_weights(folder: str | Path) -> dict[str, Tensor]:
    """Only the weights of a checkpoint, by parameter name."""
    return _load_tensors(_find(folder) / WEIGHTS)


def load_training(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What training goes on from: tensors and values as they were given to `save`."""
    path = _find(folder)
    return _load_tensors(path / STATE), _read_json(path / STATE_VALUES)


def average(folders: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights of some checkpoints, summed in float64.

    Raises ValueError for none, or for checkpoints of different models.
    """
    if not folders:
        raise ValueError("expected at least one checkpoint to average, got none")
    total = {name: t.double() for name, t in load_weights(folders[0]).items()}
    for folder in folders[1:]:
        weights = load_weights(folder)
        if {n: t.shape for n, t in weights.items()} != {n: t.shape for n, t in total.items()}:
            raise ValueError(f"expected checkpoints of one model; {folder} is another's")
        for name, tensor in weights.items():
            total[name] += tensor
    return {name: (tensor / len(folders)).float() for name, tensor in total.items()}
