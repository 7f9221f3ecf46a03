"""The `translate` command: text in, translations on standard output, all else on standard error.

Parses, calls, prints and sets the exit code. Heavy imports wait until there is something to
translate, so that `--help` and mistakes answer at once.
"""

import argparse
import atexit
import contextlib
import dataclasses
import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from transformer.config import (
    COMPUTE_TYPE_HELP,
    ComputeType,
    DecodeConfig,
    UserError,
    add_arguments,
    choices,
    from_arguments,
)
from transformer.folder import find, read_config

if TYPE_CHECKING:
    from transformer.translate import Translation, Translator

PACKAGE = Path(__file__).resolve().parent
LANGUAGES = ("es", "en")
PICTURES = (".png", ".svg", ".html")


def guarded(work: Callable[[], object], name: str) -> int:
    """Runs a command: its exit code is 2 after one line for what a person can mend.

    A reader that has gone (a closed pipe) ends it quietly with 141, Ctrl-C with 130.
    """
    try:
        work()
        sys.stdout.flush()
    except UserError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
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


def parser() -> argparse.ArgumentParser:
    """The flags of `translate`; those of the search come from DecodeConfig."""
    flags = argparse.ArgumentParser(
        prog="translate",
        description="Translates between Spanish and English, offline: the arguments, a file, or "
        "standard input, line by line.",
    )
    add = flags.add_argument
    add("text", nargs="*", help="texts to translate; without any, standard input is read")
    add("--input", type=Path, help="a UTF-8 file to translate line by line")
    add("--output", type=Path, help="the file to write, one line for each line")
    add("--from", dest="src_lang", choices=LANGUAGES, help="source language")
    add("--to", dest="tgt_lang", choices=LANGUAGES, help="target language (default: en)")
    add("--model", help="checkpoint folder (default: checkpoints/FROM-TO)")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default: auto)")
    add("--compute-type", choices=choices(ComputeType), default="auto", help=COMPUTE_TYPE_HELP)
    add("--json", action="store_true", help="a JSON object a line: translation, score, tokens")
    add("--explain", action="store_true", help="print how each sentence was decoded, step by step")
    add("--attention", type=Path, metavar="FILE", help="draw the alignment: .png, .svg or .html")
    add_arguments(flags, DecodeConfig, skip=("scores",))
    return flags


def direction(src_lang: str | None, tgt_lang: str | None) -> tuple[str, str]:
    """The languages asked for; the one not named is the other one; es to en without any."""
    other = dict(zip(LANGUAGES, reversed(LANGUAGES), strict=True))
    tgt_lang = tgt_lang or (other[src_lang] if src_lang else "en")
    src_lang = src_lang or other[tgt_lang]
    if src_lang == tgt_lang:
        raise UserError(f"expected two languages, got --from {src_lang} --to {tgt_lang}")
    return src_lang, tgt_lang


def default_model(langs: tuple[str, str]) -> Path:
    """The model that comes with the project, from the installed package or the repository."""
    name = "-".join(langs)
    places = (PACKAGE / "checkpoints" / name, PACKAGE.parent / "checkpoints" / name)
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise UserError(
            f"expected a model for {name} in {places[-1]}, there is none: train one with "
            f"scripts/train.py --from {langs[0]} --to {langs[1]}, and name it with --model"
        )
    return found


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


@contextlib.contextmanager
def _able_to(do: str) -> Iterator[None]:
    """An error of the operating system means that this cannot be done: a UserError."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot {do}: {error.strerror}") from error


def _texts(args: argparse.Namespace) -> Iterable[str]:
    if args.text:
        return args.text
    name = str(args.input or "standard input")
    with _able_to(f"read {name}"):
        # Not sys.stdin: Python cannot exit while a thread waits for a line of it.
        file = open(args.input or 0, "rb", closefd=args.input is not None)  # noqa: SIM115
    return read_lines(file, name)


@contextlib.contextmanager
def _printer(args: argparse.Namespace) -> Iterator[Callable[[str], None]]:
    """Where lines go: standard output at once, or a file that appears when it is complete."""
    if not args.output:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        yield lambda line: print(line, flush=True)
        return
    special = args.output.exists() and not args.output.is_file()  # a pipe or /dev/null
    target = args.output if special else args.output.resolve()
    written = target if special else target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with _able_to(f"write {args.output}"):
            with written.open("w", encoding="utf-8", newline="\n") as file:
                yield lambda line: print(line, file=file)
            if not special:
                os.replace(written, target)
    finally:
        if not special:
            written.unlink(missing_ok=True)


def shown(translation: "Translation", as_json: bool, n_best: int) -> Iterator[str]:
    """The output lines of a translation: one; as many as candidates where more are asked for."""
    if as_json:
        candidates = [
            {"translation": c.text, "score": round(c.score, 4), "tokens": c.tokens}
            for c in translation.candidates
        ]
        more = {"n_best": candidates} if n_best > 1 else {}
        record = {"source": translation.source, **candidates[0], **more}
        yield json.dumps(record, ensure_ascii=False)
    elif n_best > 1:
        for rank, c in enumerate(translation.candidates, 1):
            yield f"{rank}\t{c.score:.4f}\t{c.text}"
    else:
        yield translation.text


def _check(args: argparse.Namespace) -> None:
    """Raises a UserError for each mistake in texts and files that shows before torch is there."""
    if args.text and args.input:
        raise UserError("expected texts or --input, got both")
    if args.json and (args.explain or args.attention):
        raise UserError("expected --json, or --explain and --attention, got both")
    if args.attention and args.attention.suffix not in PICTURES:
        raise UserError(f"expected {', '.join(PICTURES)} for --attention, got {args.attention}")
    try:
        "".join(args.text).encode()
    except UnicodeEncodeError as error:
        raise UserError(f"expected UTF-8 text in the arguments: {error}") from error
    if args.input:
        with _able_to(f"read {args.input}"):
            args.input.stat()
    if args.output:
        with _able_to(f"write {args.output}"):
            args.output.resolve().parent.stat()


def _model_for(args: argparse.Namespace) -> str | Path:
    """The checkpoint folder to translate with; UserError unless it is for the languages asked."""
    langs = direction(args.src_lang, args.tgt_lang)
    folder = args.model or default_model(langs)
    _, (src_lang, tgt_lang) = read_config(find(folder))
    if (args.src_lang or src_lang, args.tgt_lang or tgt_lang) != (src_lang, tgt_lang):
        raise UserError(
            f"expected a model for {'-'.join(langs)}, but {folder} translates "
            f"{src_lang} to {tgt_lang}"
        )
    return folder


def _translator() -> "type[Translator]":
    """Imports the library, once there is something to translate: torch takes a second.

    Nearly all that an import makes stays to the end. So the garbage collector, which would look
    through it some 370 times, rests meanwhile, and at the exit it leaves all to the system.
    """
    atexit.register(gc.freeze)
    collecting = gc.isenabled()
    gc.disable()
    try:
        from transformer.translate import Translator
    finally:
        if collecting:
            gc.enable()
    return Translator


def run(args: argparse.Namespace) -> None:
    """Translates what the arguments name; raises UserError for what a person can mend."""
    _check(args)
    decode = from_arguments(DecodeConfig, args)
    if not args.json:
        decode = dataclasses.replace(decode, scores=False)  # of greedy search; nothing shows them
    folder = _model_for(args)
    translator = _translator().load(folder, args.device, args.compute_type)
    if args.explain or args.attention:
        from transformer.explain import explained

        with _printer(args) as write:
            for line in explained(translator, _texts(args), args.attention, args.explain, decode):
                write(line)
        return
    with _printer(args) as write:
        for translation in translator.stream(_texts(args), decode):
            for line in shown(translation, args.json, decode.n_best):
                write(line)


def main(argv: list[str] | None = None) -> int:
    """The `translate` command; returns its exit code."""
    args = parser().parse_args(argv)
    return guarded(lambda: run(args), "translate")
