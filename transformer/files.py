"""Files and folders that appear whole or not at all, whatever happens while they are written."""

import contextlib
import errno
import io
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from transformer.config import UserError

LOCK = ".lock"
PATIENCE = 50  # times that a folder without its name is looked at, before it is told a crash
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


def _remove(path: Path) -> None:
    """Takes away whatever has that name, if anything."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def keep(file: IO[Any], path: Path, target: Path) -> None:
    """Keeps an open file until it is closed; a UserError where another process makes `target`."""
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
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """Gives a file to write, which takes the name `path` once the block ends well.

    What cannot be written is a UserError; nothing of it is left, and what was there stays.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        if os.path.lexists(temporary) and not temporary.is_file():
            _remove(temporary)
        with temporary.open("ab") as file:
            keep(file, temporary, path)
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
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot write {path}: {error.strerror or error}; what was there is intact")


def write_text(path: Path, text: str) -> None:
    """Writes a whole file or nothing."""
    with replaced(path) as file:
        file.write(text.encode("utf-8"))


def append_text(path: Path, text: str) -> None:
    """Adds to a file, all or nothing; what cannot be written is a UserError."""
    try:
        with path.open("ab", buffering=0) as file:
            end = file.tell()
            content = text.encode("utf-8")
            try:
                if file.write(content) != len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                file.truncate(end)
                raise
    except OSError as error:
        raise _cannot_write(path, error) from error


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps a folder, which is made, for this process; a UserError names who has it already.

    The system gives it free when the process ends, however it does. A folder that stays empty
    goes again.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)
    except OSError as error:
        raise _cannot_write(folder, error) from error
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


def remove_empty(folder: Path) -> None:
    """Removes a folder and those in it, as far as no file is in them."""
    for path in sorted([folder, *folder.rglob("*")], reverse=True):
        with contextlib.suppress(OSError):
            path.rmdir()


def _previous(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def existing(folder: Path) -> Path | None:
    """The complete folder of that name, or what else has it, or its predecessor after a crash.

    None where there is none of them; one that is just being replaced is waited for.
    """
    for _ in range(PATIENCE):
        if os.path.lexists(folder) or not _previous(folder).is_dir():
            return folder if os.path.lexists(folder) else None
        time.sleep(0.01)
    return _previous(folder)


@contextlib.contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Gives a temporary folder that takes the name `folder` once the block ends well.

    At every moment one complete folder exists, under its name or (for an instant) as the
    hidden predecessor that `existing` finds. What cannot be written is a UserError, and nothing
    of it is left.
    """
    temporary, previous = folder.with_name(f".{folder.name}.tmp"), _previous(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(folder) and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        _remove(temporary)
        temporary.mkdir()
        yield temporary
        for path in [*temporary.rglob("*"), temporary]:
            _sync(path)
        if folder.exists():
            _remove(previous)
            os.rename(folder, previous)
        os.rename(temporary, folder)
        _sync(folder.parent)
        _remove(previous)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    finally:
        with contextlib.suppress(OSError):
            _remove(temporary)
