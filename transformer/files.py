"""Files and folders that appear whole or not at all, whatever happens while they are written."""

import contextlib
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

SMALL = 64 * 2**20  # bytes: more than any file has that is read as a whole


def _sync(path: Path) -> None:
    """Waits until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: Path) -> io.BufferedReader:
    """Opens a file to read; OSError where it is none, as a pipe that nobody ends."""
    if path.exists() and not path.is_file():
        raise OSError(f"expected a file in {path}, got a folder, a pipe or a device")
    return path.open("rb")


def read_bytes(path: Path, limit: int = SMALL) -> bytes:
    """The content of a file; OSError where it is none or has more bytes than the limit."""
    with open_regular(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(f"expected at most {limit:,} bytes in {path}, got more")
    return content


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
