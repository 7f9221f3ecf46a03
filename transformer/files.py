"""Atomic writes and locks of files and folders, and lines of text in a recognised encoding."""

import codecs
import contextlib
import errno
import io
import logging
import os
import platform
import re
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

from transformer.config import UserError

logger = logging.getLogger(__name__)

Errors = Literal["strict", "replace", "skip"]
_HANDLERS = {"strict": "strict", "replace": "replace", "skip": "ignore"}
LOCK_FILE = ".lock"
MAX_RETRIES = 50  # looks for a folder that is being replaced, before a crash is assumed
MAX_BYTES = 64 * 2**20  # larger than any file that is read as a whole


def _fsync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading; OSError for anything else, such as an endless pipe."""
    if path.exists() and not path.is_file():
        raise OSError(f"expected a file in {path}, got a folder, a pipe or a device")
    return path.open("rb")


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Read a regular file; OSError if it is none or has more bytes than the limit."""
    with open_regular(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(f"expected at most {limit:,} bytes in {path}, got more")
    return content


# Characters that Spanish and English text in Windows-1252 has, and those that it hardly ever has
# but other encodings read as Windows-1252 do: control characters, damaged UTF-8, DOS, the Mac.
_PLAUSIBLE = re.compile("[áéíóúüñÁÉÍÓÚÜÑ¿¡ªº«»‘’“”–—…•€£©®°·\xa0]")
_IMPLAUSIBLE = re.compile(
    "[\x01-\x08\x0b\x0e-\x19\x1c-\x1f\x7f‚ƒ„†‡ˆ‰Š‹ŒŽ˜š›œžŸ¢¤¥¦¨¬¯¶¸ÂÃÐÞðþ]|â€|(?<=[a-z])\xa0(?=[\\s.,;])"
    "|(?<=[A-Za-z])[¡¿£§«ª°²³´µ¹º»](?=[a-z])|(?<=[a-z])[À-Þ]"
)
_LETTER = re.compile("[A-Za-z]")
SAMPLE_BYTES = 2**16  # bytes


def is_windows_1252(content: bytes) -> bool:
    """Return whether bytes are not UTF-8 but Spanish or English in Windows-1252 (or Latin-1).

    Decides by the bytes around the first one that is not UTF-8. Where other characters of UTF-8
    stand before that one, the text is damaged UTF-8 instead.
    """
    try:
        content.decode()
        return False
    except UnicodeDecodeError as error:
        if not content[: error.start].isascii() or 0 in content[:SAMPLE_BYTES]:
            return False
        sample = content[max(0, error.start - SAMPLE_BYTES) :][: 2 * SAMPLE_BYTES]
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        return False
    n_strange = len(_IMPLAUSIBLE.findall(text))
    n_western = len(_PLAUSIBLE.findall(text)) - n_strange
    n_others = sum(c > "\x7f" for c in text) - n_western
    return 4 * n_strange <= max(0, n_western) and 4 * n_others <= len(_LETTER.findall(text))


def encoding_name(name: str) -> str:
    """Return Python's name of a text encoding; UserError if unknown or not based on ASCII."""
    try:
        if "\n".encode(name) == b"\n":
            return codecs.lookup(name).name
    except (LookupError, UnicodeError):
        pass
    raise UserError(f"expected an encoding of text such as latin-1 or cp850, got {name!r}")


def read_lines(
    file: IO[bytes], name: str, errors: Errors = "strict", encoding: str = "",
    ends: deque[str] | None = None, sample: bytes = b"",
) -> Iterator[str]:  # fmt: skip
    """Yield the lines of a file without their line ends, which are appended to `ends`.

    Without an `encoding`, lines are UTF-8, or Windows-1252 if the first line that is not UTF-8,
    together with a `sample` of the file, looks like that. Bytes that cannot be decoded raise a
    UserError with the line number, are replaced by U+FFFD, or are skipped, by `errors`. Closes
    the file at its end.
    """
    kind, handler = encoding or "utf-8", _HANDLERS[errors]
    may_be_other = errors == "strict" and not encoding
    try:
        with file:
            for number, raw in enumerate(file, 1):
                try:
                    line = raw.decode(kind, handler)
                    may_be_other = may_be_other and line.isascii()
                except UnicodeDecodeError as error:
                    if not (may_be_other and is_windows_1252(sample + raw)):
                        raise UserError(
                            f"{name}, line {number}: expected {kind.upper()} text: {error}; "
                            "--encoding names another, --errors replace or skip leaves bytes out"
                        ) from error
                    kind = "cp1252"
                    line = raw.decode(kind)
                    logger.warning("%s, line %d: no UTF-8: read as Windows-1252", name, number)
                text = line.removesuffix("\n").removesuffix("\r")
                if ends is not None:
                    ends.append(line[len(text) :])
                yield text
    except OSError as error:
        raise UserError(f"cannot read {name}: {error.strerror or error}") from error


def is_standard_input(path: Path) -> bool:
    """Return whether standard input is this file (`< path`): writing to it would destroy it."""
    try:
        return path.is_file() and os.path.samestat(path.stat(), os.fstat(0))
    except OSError:  # it is closed
        return False


def _remove(path: Path) -> None:
    """Remove a file or folder if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def lock_file(file: IO[Any], path: Path, target: Path) -> None:
    """Lock `file`, open at `path`, until closed; UserError if another process writes `target`."""
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = os.path.samestat(path.stat(), os.fstat(file.fileno()))  # else just renamed
        except OSError as error:  # a disk may know no locks
            is_ours = not isinstance(error, BlockingIOError | FileNotFoundError)
        if not is_ours:
            raise UserError(f"{target} is being written by another process: wait, or name another")


@contextlib.contextmanager
def _write_errors_as_user_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"cannot write {path}: {reason}; what was there is intact") from error


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Write a file atomically: to a temporary file first, renamed to `path` when the block ends.

    If the block fails, the temporary file is removed and the old file stays. An OSError becomes
    a UserError.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with _write_errors_as_user_errors(path):
        if os.path.lexists(temporary) and not temporary.is_file():
            _remove(temporary)
        with temporary.open("ab") as file:
            lock_file(file, temporary, path)
            try:
                file.truncate(0)
                yield file
                file.flush()
                os.fsync(file.fileno())
                if sys.platform == "win32":
                    file.close()
                os.replace(temporary, path)
            finally:
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, in UTF-8; UserError if that fails."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def append_text(path: Path, text: str) -> None:
    """Append text to a file, all of it or nothing; UserError if that fails."""
    with _write_errors_as_user_errors(path), path.open("ab", buffering=0) as file:
        end = file.tell()
        content = text.encode("utf-8")
        try:
            if file.write(content) != len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            file.truncate(end)
            raise


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Create a folder if need be and lock it for this process while the block runs.

    Raises UserError naming the process that holds the lock, or if the folder cannot be written. The
    system releases the lock when the process ends, even by kill -9. A folder that is still empty
    afterwards is removed.
    """
    path = folder / LOCK_FILE
    with _write_errors_as_user_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)
    with file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                mine = os.fstat(file.fileno())
                if not os.path.samestat(path.stat(), mine):  # its holder has just removed it
                    raise OSError("the lock is gone")
            except OSError as error:
                file.seek(0)
                holder = file.read(200).decode(errors="replace").strip() or "another process"
                raise UserError(
                    f"expected {folder} to be free, but it is in use by {holder}: "
                    "wait, end that one, or name another folder"
                ) from error
        with contextlib.suppress(OSError):  # on a full disk it has no name
            file.truncate(0)
            file.write(f"process {os.getpid()} of {platform.node()} since {time.ctime()}".encode())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
                folder.rmdir()  # unless something is in it


def remove_empty_folders(folder: Path) -> None:
    """Remove a folder and all folders in it, except those that hold a file."""
    for path in sorted([folder, *folder.rglob("*")], reverse=True):
        with contextlib.suppress(OSError):
            path.rmdir()


def _backup_path(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def latest_version(folder: Path) -> Path | None:
    """Return the folder, or its backup if a crash left only that; None if there is neither.

    Waits for a folder that another process is replacing by `atomic_folder` at the moment.
    """
    for _ in range(MAX_RETRIES):
        if os.path.lexists(folder) or not _backup_path(folder).is_dir():
            return folder if os.path.lexists(folder) else None
        time.sleep(0.01)
    return _backup_path(folder)


@contextlib.contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Write a folder atomically: yield a temporary one, renamed to `folder` when the block ends.

    A complete folder exists at every moment, under its name or (for an instant) as the hidden
    backup that `latest_version` finds. If the block fails, the temporary folder is removed. An
    OSError becomes a UserError.
    """
    temporary, previous = folder.with_name(f".{folder.name}.tmp"), _backup_path(folder)
    with _write_errors_as_user_errors(folder):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(folder) and not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            _remove(temporary)
            temporary.mkdir()
            yield temporary
            for path in [*temporary.rglob("*"), temporary]:
                _fsync(path)
            if folder.exists():
                _remove(previous)
                os.rename(folder, previous)
            os.rename(temporary, folder)
            _fsync(folder.parent)
            _remove(previous)
        finally:
            with contextlib.suppress(OSError):
                _remove(temporary)
