"""What all commands share: flags made of settings, exit codes, and lines read from a file."""

import argparse
import contextlib
import dataclasses
import os
import signal
import sys
import typing
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar

from transformer.config import UserError, choices

T = TypeVar("T")


def _add_flag(group: Any, name: str, hint: Any, default: Any, help: str) -> None:
    flag = "--" + name.replace("_", "-")
    help = help.replace("%", "%%")
    if hint is bool:
        group.add_argument(flag, action=argparse.BooleanOptionalAction, default=default, help=help)
        return
    shown = f"{help} (default: {default})" if default is not None else help
    allowed = choices(hint) or None
    kind: Callable[[str], Any] = str if allowed else hint
    group.add_argument(flag, type=kind, choices=allowed, default=default, help=shown)


def add_arguments(
    parser: argparse.ArgumentParser,
    cls: type[Any],
    *,
    skip: tuple[str, ...] = (),
    from_preset: bool = False,
) -> None:
    """Adds one flag for each field of a config class, with its help and its default.

    `from_preset` leaves the defaults open, to be taken from a preset by `from_arguments`.
    """
    group = parser.add_argument_group(cls.__name__, (cls.__doc__ or "").strip().splitlines()[0])
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if field.name not in skip:
            default = None if from_preset else field.default
            _add_flag(group, field.name, hints[field.name], default, field.metadata["help"])


def from_arguments(cls: type[T], namespace: argparse.Namespace, base: T | None = None) -> T:
    """Builds a config of the parsed flags; one that is None or absent stays as in `base`.

    A broken rule is a UserError.
    """
    fields = dataclasses.fields(typing.cast(Any, cls))
    given = {f.name: getattr(namespace, f.name, None) for f in fields}
    values = {name: value for name, value in given.items() if value is not None}
    before = {f.name: getattr(base, f.name) for f in fields} if base is not None else {}
    try:
        return cls(**(before | values))
    except ValueError as error:
        raise UserError(str(error)) from error


class Failed(Exception):
    """A check has been made and does not hold: exit code 1."""


def run_command(work: Callable[[], object], name: str) -> int:
    """Runs a command: its exit code is 2 after one line for what a person can mend.

    A reader that has gone (a closed pipe) ends it quietly with 141, Ctrl-C with 130.
    """
    try:
        work()
        sys.stdout.flush()
    except UserError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except Failed as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Python would complain once more when it closes standard output.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"{name}: stopped: the reader of the output has closed it", file=sys.stderr)
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        print(f"{name}: stopped", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


def read_lines(file: IO[bytes], name: str) -> Iterator[str]:
    """Lines of UTF-8 without their line feed; other bytes are a UserError with the line.

    Closes the file at its end.
    """
    with file:
        for number, raw in enumerate(file, 1):
            try:
                yield raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
            except UnicodeDecodeError as error:
                raise UserError(f"{name}, line {number}: expected UTF-8 text: {error}") from error
