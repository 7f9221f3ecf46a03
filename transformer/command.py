"""What all commands share: flags derived from config classes, exit codes, signals, output."""

import argparse
import contextlib
import dataclasses
import errno
import io
import os
import signal
import sys
import time
import traceback
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from transformer.config import UserError, choices
from transformer.files import atomic_write, lock_file

T = TypeVar("T")
TRACEBACK_VARIABLE = "TRANSFORMER_TRACEBACK"  # if set, a defect prints its traceback
STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
SIGNAL_PAUSE = 1.0  # seconds
EXIT_DEFECT = 70  # exit code, as in sysexits.h
_WRITE_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and whose descriptions keep their lines."""

    def __init__(self, **options: Any) -> None:
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        if spec and spec.name.startswith("scripts."):  # as Python does from 3.14 on
            options.setdefault("prog", f"python -m {spec.name.removesuffix('.__main__')}")
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        """Print the error on one line, with a hint at --help, and exit with code 2."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Exit after flushing standard output."""
        if sys.stdout:
            sys.stdout.flush()
        super().exit(status, message)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print a message; unlike argparse, do not ignore an error while writing it."""
        (file or sys.stderr).write(message)


def _number_or_auto(kind: Callable[[Any], Any]) -> Callable[[str], Any]:
    """Return a converter of numbers that reads `auto` as 0, which leaves the choice open."""

    def number(text: str) -> Any:
        return kind(0 if text == "auto" else text)

    number.__name__ = f"{getattr(kind, '__name__', 'number')} or auto"
    return number


def _add_flag(group: Any, field: "dataclasses.Field[Any]", hint: Any, default: Any) -> None:
    flag, is_open = "--" + field.name.replace("_", "-"), field.metadata.get("auto")
    help, options = field.metadata["help"].replace("%", "%%"), dict[str, Any]()
    if hint is bool:
        options["action"] = argparse.BooleanOptionalAction
    elif typing.get_origin(hint) is tuple:
        names = field.metadata["metavar"]
        options |= {"nargs": len(names) if isinstance(names, tuple) else "+", "metavar": names}
    else:
        allowed = choices(hint) or None
        kind = str if allowed else hint
        options |= {"type": _number_or_auto(kind) if is_open else kind, "choices": allowed}
        if default is not None:
            help += f" (default: {'auto' if is_open and not default else default})"
    hidden = argparse.SUPPRESS if group.title == argparse.SUPPRESS else help
    group.add_argument(flag, default=default, help=hidden, **options)


def add_arguments(
    parser: argparse.ArgumentParser,
    cls: type[Any],
    *,
    skip: tuple[str, ...] = (),
    from_preset: bool = False,
    hidden: bool = False,
) -> None:
    """Add one flag for each field of a config class, with the help and the default of the field.

    `skip` names fields without a flag. `from_preset` leaves the defaults open, for
    `from_arguments` to take them from a preset. `hidden` flags are not shown by --help.
    """
    title = (cls.__doc__ or "").strip().splitlines()[0].rstrip(".")
    title = argparse.SUPPRESS if hidden else title[:1].lower() + title[1:]
    group = parser.add_argument_group(title)
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if field.name not in skip:
            default = None if from_preset else field.default
            _add_flag(group, field, hints[field.name], default)


def from_arguments(cls: type[T], namespace: argparse.Namespace, base: T | None = None) -> T:
    """Build a config or request from flags; UserError for an invalid one.

    A flag that was not given (None) has the value of `base`, or else the field's default.
    """
    names = (field.name for field in dataclasses.fields(typing.cast(Any, cls)))
    values = {
        name: tuple(value) if isinstance(value, list) else value
        for name in names
        if (value := getattr(namespace, name, None)) is not None
    }
    try:
        return dataclasses.replace(typing.cast(Any, base), **values) if base else cls(**values)
    except ValueError as error:
        raise UserError(str(error).removeprefix(f"{cls.__name__}: ")) from error


class CheckFailed(Exception):
    """Raised by a command whose check failed; the exit code is 1."""


@contextlib.contextmanager
def handle_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt while the block runs, as Ctrl-C does.

    Its only argument is the number of the signal. Further signals within a second of the first
    one are ignored, so that they do not disturb its handling.
    """
    last = -SIGNAL_PAUSE

    def stop(number: int, frame: object) -> None:
        nonlocal last
        if time.monotonic() - last > SIGNAL_PAUSE:
            last = time.monotonic()
            raise KeyboardInterrupt(number)

    before = {
        number: signal.getsignal(number) for number in signal.Signals if number.name in STOP_SIGNALS
    }
    for number, handler in before.items():
        if handler in (signal.SIG_DFL, signal.default_int_handler):  # and not ignored, as by nohup
            with contextlib.suppress(ValueError):  # a thread sets none
                signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            with contextlib.suppress(ValueError):
                signal.signal(number, handler)


def run_command(work: Callable[[], object], name: str) -> int:
    """Run `work`, return an exit code; an error prints one line, NAME: MESSAGE, on standard error.

    0: done; 1: a check failed; 2: an error that the user can fix; 70: a defect of the program,
    with a traceback if TRANSFORMER_TRACEBACK is set; 130: Ctrl-C; 141: the reader of standard
    output has closed it.
    """
    if sys.stderr is None:  # closed; print() would take standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        work()
        if sys.stdout:
            sys.stdout.flush()
    except BaseException as error:
        outcome = _message_and_exit_code(error)
        if outcome is None:
            raise
        if os.environ.get(TRACEBACK_VARIABLE) and not isinstance(error, UserError | CheckFailed):
            traceback.print_exc()
        message, code = outcome
        lines = (line for text in (message, *error_notes(error)) for line in text.splitlines())
        with contextlib.suppress(OSError):  # standard error may be full too
            print(f"{name}: {'; '.join(lines)}", file=sys.stderr, flush=True)
        _discard_unwritten(sys.stdout)
        return code
    return 0


def error_notes(error: BaseException) -> list[str]:
    """Return the notes that `add_note` attached to an error."""
    return getattr(error, "__notes__", [])


def _message_and_exit_code(error: BaseException) -> tuple[str, int] | None:
    """Return the line about any exception, defects too, and the exit code; None for SystemExit."""
    match error:
        case UserError():
            return str(error), 2
        case CheckFailed():
            return str(error), 1
        case BrokenPipeError():
            return "stopped: the reader of the output has closed it", 128 + signal.SIGPIPE
        case KeyboardInterrupt():
            return "stopped", 128 + (error.args or (signal.SIGINT,))[0]
        case MemoryError():
            return "not enough memory: end other programs, or translate less at a time", 2
        case OSError(filename=None, errno=number) if number in _WRITE_ERRNOS:
            return f"cannot write standard output: {error.strerror}", 2
        case ModuleNotFoundError() if error.name and not error.name.startswith("transformer"):
            return f"the library {error.name} is not installed: install it with pip", 2
        case Exception():
            first = next(iter(str(error).splitlines()), "")
            return (
                f"defect: {type(error).__name__}: {first} ({TRACEBACK_VARIABLE}=1 shows the place)",
                EXIT_DEFECT,
            )
    return None


def _discard_unwritten(stream: Any) -> None:
    """Flush a stream, or drop what it cannot write: Python would complain again at its exit."""
    try:
        if stream:
            stream.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def os_errors_as_user_errors(do: str) -> Iterator[None]:
    """Turn an OSError in the block, but BrokenPipeError, into a UserError: "cannot {do}: why"."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        # A library that cleans up after an OSError may raise ValueError for its own closed files.
        cause = error if isinstance(error, OSError) else error.__context__
        if not isinstance(cause, OSError):
            raise
        raise UserError(f"cannot {do}: {cause.strerror or cause}") from error


def _standard_output() -> Any:
    if sys.stdout is None:
        raise UserError("cannot write standard output: it is closed")
    return sys.stdout


LineOutput = tuple[Callable[..., None], int, str]


@contextlib.contextmanager
def open_line_output(
    target: Path | None, *, resume: bool, by: str = "--resume"
) -> Iterator[LineOutput]:
    """Open standard output or a file to write lines to; an OSError becomes a UserError.

    Yields (write, n_lines, last): write(line, end="\\n"), the number of lines that an earlier run
    has left, and their last or "". With `resume` it is continued; `by` is the option for that, in
    messages; empty if there is none.
    """
    if target is None:
        _standard_output().reconfigure(encoding="utf-8", newline="\n")
        with os_errors_as_user_errors("write standard output"):
            yield lambda line, end="\n": print(line, end=end, flush=True), 0, ""
    elif target.exists() and not target.is_file():  # a pipe or /dev/null
        with (
            os_errors_as_user_errors(f"write {target}"),
            target.open("w", encoding="utf-8", newline="\n", buffering=1) as file,
        ):
            yield lambda line, end="\n": print(line, end=end, file=file), 0, ""
    else:
        with resumable_output(target.resolve(), resume=resume, by=by) as writer:
            yield writer


@contextlib.contextmanager
def open_binary_output(target: Path | None) -> Iterator[Callable[[bytes], object]]:
    """Open standard output, a pipe, or a file (atomically); yield `write`; UserError on OSError."""
    if target is None:
        with os_errors_as_user_errors("write standard output"):
            yield _standard_output().buffer.write
            sys.stdout.flush()
    elif target.exists() and not target.is_file():
        with os_errors_as_user_errors(f"write {target}"):
            yield target.write_bytes
    else:
        with os_errors_as_user_errors(f"write {target}"):
            target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target.resolve()) as file:
            yield file.write


@contextlib.contextmanager
def resumable_output(target: Path, *, resume: bool, by: str = "--resume") -> Iterator[LineOutput]:
    """Write lines to NAME.part, renamed to `target` when the block ends.

    Yields (write, n_lines, last) as `open_line_output`. If the block fails, NAME.part stays and the
    error gets a note about it. With `resume`, lines are appended after its last complete line;
    UserError if only `target` exists, and without `resume` if NAME.part does. `by` is the option
    that resumes, for these messages; empty if there is none.
    """
    part, can = target.with_name(f"{target.name}.part"), f"write {target}"
    if resume and target.exists() and not part.exists():
        raise UserError(f"nothing to resume: {target} is complete, and there is no {part}")
    with os_errors_as_user_errors(can):
        part.parent.mkdir(parents=True, exist_ok=True)
        raw = part.open("a+b")
        try:
            lock_file(raw, part, target)
            if part.stat().st_size and not resume:
                how = f"use {by} to continue, or remove it" if by else "remove it"
                raise UserError(f"{part} holds lines of an earlier run: {how}")
            n_lines, last = _truncate_partial_line(raw)
        except BaseException:
            raw.close()
            raise
        # Write each line immediately, so that kill -9 does not lose it.
        file = io.TextIOWrapper(raw, "utf-8", newline="\n", line_buffering=True)

    def write(line: str, end: str = "\n") -> None:
        with os_errors_as_user_errors(can):
            file.write(f"{line}{end}")

    try:
        yield write, n_lines, last
        with os_errors_as_user_errors(can):
            os.fsync(file.fileno())
            file.close()
            os.replace(part, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            file.close()
        if part.exists() and part.stat().st_size:
            how = f", use {by} to continue" if by else ""
            error.add_note(f"the finished lines are in {part}{how}")
        else:
            part.unlink(missing_ok=True)
        raise


def _truncate_partial_line(file: IO[bytes]) -> tuple[int, str]:
    """Truncate a file after its last line feed; return the number of lines and the last line."""
    n_lines = end = file.seek(0)
    last = b""
    for line in file:
        if line.endswith(b"\n"):
            n_lines, end, last = n_lines + 1, end + len(line), line
    file.truncate(end)
    file.seek(end)
    return n_lines, last[:-1].removesuffix(b"\r").decode(errors="replace")


def warn(message: str, write: Callable[..., object] = print) -> None:
    """Print one line by `write(message, file=sys.stderr)`; ignore an error while writing it."""
    with contextlib.suppress(OSError):
        write(" ".join(message.splitlines()), file=sys.stderr)


class Progress:
    """Bars of lines, and of several files, on standard error if `is_shown` and it is a terminal."""

    def __init__(self, n_files: int, *, is_shown: bool) -> None:
        self._bars: list[Any] = []
        self.is_shown = is_shown and sys.stderr.isatty()
        if self.is_shown and n_files > 1:
            self._add(n_files, "files", " files")

    def _add(self, total: int, name: str, unit: str) -> None:
        from tqdm import tqdm  # where it is needed: it would delay the start

        self._bars.append(tqdm(total=total, desc=name, unit=unit, dynamic_ncols=True, leave=None))

    @contextlib.contextmanager
    def track_file(self, name: str) -> Iterator[None]:
        n_bars, self._name = len(self._bars), name
        try:
            yield
        finally:
            while len(self._bars) > n_bars:
                self._bars.pop().close()
        self.skip_file()

    def start(self, n_lines: int, n_done: int = 0) -> None:
        if self.is_shown:
            self._add(n_lines, self._name, " lines")
            self._bars[-1].update(n_done)

    def update(self, n_lines: int = 1) -> None:
        if self.is_shown:
            self._bars[-1].update(n_lines)

    def write(self, message: str) -> None:
        """Print a line on standard error, above the bars."""
        warn(message, self._bars[0].write if self._bars else print)

    def skip_file(self) -> None:
        """Count a file as done."""
        for bar in self._bars:
            bar.update()

    def close(self) -> None:
        while self._bars:
            self._bars.pop().close()
