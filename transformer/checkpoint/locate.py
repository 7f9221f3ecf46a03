"""Checkpoint folders: where they are, which files they hold, and how the small ones are read.

    config.json          format number, model configuration, languages
    model.safetensors    the weights to translate with
    tokenizer.model      the SentencePiece vocabulary
    README.md            the model card: how it was trained
    selftest.json        translations that a released model must reproduce
    training.safetensors, training.json     only where training can resume from it
    SHA256SUMS           checksums of these files, in the format of `sha256sum --check`

The folder of a training run holds such folders and metrics.jsonl, one JSON object a report.

This module does not import torch, so that a wrong or missing folder is reported at once.
"""

import functools
import hashlib
import json
import logging
import mmap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from transformer.config import FORMAT, FORMAT_BOTH, Direction, ModelConfig, UserError
from transformer.files import latest_version, open_regular, read_bytes
from transformer.text.language import LANGUAGES, language_code

T = TypeVar("T")
P = ParamSpec("P")
CONFIG, WEIGHTS, VOCABULARY = "config.json", "model.safetensors", "tokenizer.model"
TRAINING_STATE, TRAINING_VALUES = "training.safetensors", "training.json"
MODEL_CARD, SELFTEST = "README.md", "selftest.json"
METRICS, CHECKSUMS = "metrics.jsonl", "SHA256SUMS"
# Not the card, which people may edit.
CHECKSUMMED = (CONFIG, WEIGHTS, VOCABULARY, TRAINING_VALUES, TRAINING_STATE)
MAX_METRICS_BYTES = 2**30  # bytes
PACKAGE = Path(__file__).resolve().parent.parent
logger = logging.getLogger(__name__)
DIRECTIONS: tuple[Direction, ...] = (("es", "en"), ("en", "es"))
BOTH = "both"  # the folder of one released model for all of them


def checksum_lines(folder: Path, names: Iterable[str]) -> str:
    """Return the SHA-256 of files of a folder as `sha256sum` prints it; OSError if unreadable."""
    lines = []
    for name in names:
        with open_regular(folder / name) as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    return "".join(lines)


def write_checksums(folder: Path, names: Iterable[str] = CHECKSUMMED) -> None:
    """Write SHA256SUMS into a folder, for those of the named files that exist."""
    text = checksum_lines(folder, (name for name in names if (folder / name).exists()))
    (folder / CHECKSUMS).write_text(text, encoding="utf-8", newline="\n")


def verify_checksum(path: Path, content: bytes | mmap.mmap) -> None:
    """Raise UserError unless SHA256SUMS beside a file lists the sum of its `content`.

    A file that is not in CHECKSUMMED passes unseen.
    """
    if path.name not in CHECKSUMMED:
        return
    listed = path.with_name(CHECKSUMS)
    repair = (
        "fetch the checkpoint again. If you trust its files, in its folder: "
        f"sha256sum *.json *.model *.safetensors > {CHECKSUMS}"
    )
    try:
        lines = read_bytes(listed).decode("ascii").splitlines()
        checksums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    except (OSError, ValueError) as error:
        raise UserError(f"expected SHA-256 checksums in {listed}: {error}; {repair}") from error
    if checksums.get(path.name) != hashlib.sha256(content).hexdigest():
        raise UserError(
            f"expected {path} as it was saved, but its SHA-256 is not the one in {CHECKSUMS}. "
            f"The file is damaged, cut short or changed: {repair}"
        )


def retry_if_replaced(read: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Path, P], T]:
    """Decorate a reader of a checkpoint file: retry after an error if training replaced the folder.

    An OSError or UserError is raised once the folder stays the same.
    """

    @functools.wraps(read)
    def wrapper(path: Path, /, *args: P.args, **kwargs: P.kwargs) -> T:
        before = _folder_identity(path.parent)
        try:
            return read(path, *args, **kwargs)
        except (OSError, UserError):
            if _folder_identity(path.parent) == before:
                raise
        return wrapper(path, *args, **kwargs)

    return wrapper


def _folder_identity(folder: Path) -> tuple[int, int] | None:
    """Return numbers that change when another folder takes this name; None without a folder."""
    try:
        status = (latest_version(folder) or folder).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


@retry_if_replaced
def read_verified(path: Path) -> bytes:
    """Read a small file of a checkpoint; OSError if unreadable, UserError for a wrong checksum."""
    content = read_bytes(path)
    verify_checksum(path, content)
    return content


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a checkpoint file; UserError if unreadable, changed or no object."""
    try:
        values = json.loads(read_verified(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"expected JSON in {path}: {error}. Is the file complete?") from error
    if not isinstance(values, dict):
        raise UserError(f"expected a JSON object in {path}, got {type(values).__name__}")
    return values


def find_checkpoint(folder: str | Path) -> Path:
    """Return the checkpoint that a path names: the folder itself, or the best one of a run in it.

    The name of a released model (both, es-en, checkpoints/es-en) works in any working directory.
    Raises UserError where there is no checkpoint.
    """
    path = Path(folder)
    candidates = [path, path / "best", path / "last"]
    if _is_released_name(path):
        candidates += [place / name for place in checkpoint_roots() for name in (path.name, BOTH)]
    for candidate in (path for path in candidates for _ in range(2)):
        checkpoint = latest_version(candidate)  # twice: it may be replaced in between
        if checkpoint is not None and (checkpoint / CONFIG).is_file():
            return checkpoint
    what = "a folder without config.json" if path.is_dir() else "no such folder"
    raise UserError(
        f"expected a checkpoint folder, got {str(path)!r}: {what}. "
        "Train one with scripts/train.py, or name another"
    )


def _is_released_name(path: Path) -> bool:
    """Return whether a path is the name of a released model and does not exist as a path."""
    names = (BOTH, *map("-".join, DIRECTIONS))
    homes = (Path(), Path("checkpoints"), *checkpoint_roots())
    return path.name in names and path.parent in homes and not path.exists()


def requested_directions(
    model: str | Path, directions: Sequence[Direction]
) -> tuple[Direction, ...]:
    """Return the one of `directions` that a model is named for (`es-en`), or else all of them."""
    path = Path(model)
    named = [
        langs for langs in directions if "-".join(langs) == path.name and _is_released_name(path)
    ]
    return tuple(named or directions)


def resolve_direction(
    model: str | Path, directions: Sequence[Direction], langs: Direction | None = None
) -> Direction:
    """Return `langs` or the first of `requested_directions`; UserError if not in `directions`."""
    langs = langs or requested_directions(model, directions)[0]
    if langs not in directions:
        there = ", ".join("-".join(pair) for pair in directions)
        raise UserError(f"expected a model for {'-'.join(langs)}, but {model} is for {there}")
    return langs


def describe_directions(directions: Sequence[Direction]) -> dict[str, Any]:
    """Return {"format", "src_lang", "tgt_lang"}, or {"format", "directions": [[src, tgt], ...]}."""
    if len(directions) > 1:
        return {"format": FORMAT_BOTH, "directions": [list(pair) for pair in directions]}
    ((src_lang, tgt_lang),) = directions
    return {"format": FORMAT, "src_lang": src_lang, "tgt_lang": tgt_lang}


def read_config(folder: Path) -> tuple[ModelConfig, tuple[Direction, ...]]:
    """Read the model configuration and the directions (source, target); UserError if invalid."""
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


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the records of a run, none if it has no file of them; UserError if it is unreadable.

    A line that is no record, as one cut by a crash, is skipped.
    """
    path = folder / METRICS
    if not path.exists():
        return []
    try:
        lines = read_bytes(path, MAX_METRICS_BYTES).split(b"\n")
    except OSError as error:
        raise UserError(f"expected records of a run in {path}: {error}") from error
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line or b"null")
        except (ValueError, RecursionError):
            record = {}
        step = record.get("step") if isinstance(record, dict) else None
        if type(step) is int and 0 <= step < 2**63:
            records.append(record)
        elif line:
            logger.warning("%s, line %d: skipped, it is not a record of a step", path, number)
    return records


def infer_direction(src_lang: str | None, tgt_lang: str | None) -> Direction:
    """Complete a direction: a language that is not given is the other one; es to en if neither is.

    Raises UserError if both are the same.
    """
    src_lang, tgt_lang = (lang and language_code(lang) for lang in (src_lang, tgt_lang))
    other = dict(zip(LANGUAGES, reversed(LANGUAGES), strict=True))
    tgt_lang = tgt_lang or (other[src_lang] if src_lang else "en")
    src_lang = src_lang or other[tgt_lang]
    if src_lang == tgt_lang:
        raise UserError(f"expected two languages, got --from {src_lang} --to {tgt_lang}")
    return src_lang, tgt_lang


def checkpoint_roots() -> tuple[Path, ...]:
    """Return the folders that hold released models: of the package, then of the repository."""
    return PACKAGE / "released", PACKAGE.parent / "checkpoints"


def find_released(langs: Direction) -> Path | None:
    """Return the folder es-en (for es, en), or else `both`, of the first root with one; or None."""
    names = "-".join(langs), BOTH
    folders = (place / name for place in checkpoint_roots() for name in names)
    return next((folder for folder in folders if latest_version(folder)), None)


def default_model(langs: Direction) -> Path:
    """Return the folder of the released model for a direction; UserError if there is none."""
    folder = find_released(langs)
    if folder is None:
        name = "-".join(langs)
        raise UserError(
            f"expected a model for {name} in {checkpoint_roots()[-1] / name}, there is none: "
            f"train one with scripts/train.py --from {langs[0]} --to {langs[1]}, "
            "and name its folder"
        )
    return folder


def model_folders(model: str | Path | None = None) -> dict[Direction, str | Path]:
    """Map each direction to its model: of one checkpoint, or all released; UserError if none."""
    if model is not None:
        _, directions = read_config(find_checkpoint(model))
        return dict.fromkeys(requested_directions(model, directions), model)
    folders = {langs: folder for langs in DIRECTIONS if (folder := find_released(langs))}
    return {**folders} or {DIRECTIONS[0]: default_model(DIRECTIONS[0])}
