"""The `translate` command: text in, translations on standard output, all else on standard error.

Parses, calls, prints and sets the exit code. Heavy imports wait until there is something to
translate, so that `--help` and mistakes answer at once.
"""

import argparse
import atexit
import contextlib
import dataclasses
import gc
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from transformer.checkpoint.locate import default_model, direction, models
from transformer.command import (
    Errors,
    Failed,
    able_to,
    add_arguments,
    from_arguments,
    read_lines,
    run_command,
    unlost,
)
from transformer.config import (
    COMPUTE_TYPE_HELP,
    ComputeType,
    DecodeConfig,
    Direction,
    ServeConfig,
    UserError,
    choices,
)
from transformer.text.language import LANGUAGES

if TYPE_CHECKING:
    from transformer.translation.directions import Directions
    from transformer.translation.translator import Translation


PICTURES = (".png", ".svg", ".html")
GUARD_HELP = (
    "keep placeholders, addresses, tags and emoji, lower capitals, retry faulty translations and "
    "warn of what is still wrong; --no-guard: the plain search (default: --guard)"
)


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
    add("--resume", action="store_true", help="go on behind what OUTPUT.part has")
    add(
        "--errors",
        choices=choices(Errors),
        default="strict",
        help="bytes that are not UTF-8: end with their line, become \ufffd, or are left out "
        "(default: strict)",
    )
    add("--from", dest="src_lang", choices=LANGUAGES, help="source language (default: recognised)")
    add("--to", dest="tgt_lang", choices=LANGUAGES, help="target language (default: the other one)")
    add("--model", help="checkpoint folder (default: checkpoints/FROM-TO)")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default: auto)")
    add("--compute-type", choices=choices(ComputeType), default="auto", help=COMPUTE_TYPE_HELP)
    add("--guard", action=argparse.BooleanOptionalAction, default=True, help=GUARD_HELP)
    add(
        "--selftest",
        action="store_true",
        help="translate the model's golden sentences; exit "
        "code 1 if they differ from those of its release",
    )
    add(
        "--json",
        action="store_true",
        help="a JSON object a line: translation, score, tokens, languages, warnings",
    )
    add("--serve", action="store_true", help="answer over HTTP: the LibreTranslate API and a page")
    add("--new-api-key", type=Path, metavar="FILE", help="print a new key, add its hash to FILE")
    add("--explain", action="store_true", help="print how each sentence was decoded, step by step")
    add("--attention", type=Path, metavar="FILE", help="draw the alignment: .png, .svg or .html")
    add_arguments(flags, DecodeConfig, skip=("scores",))
    add_arguments(flags, ServeConfig)
    return flags


def _texts(args: argparse.Namespace) -> Iterable[str]:
    if args.text:
        return args.text
    name = str(args.input or "standard input")
    with able_to(f"read {name}"):
        # Not sys.stdin: Python cannot exit while a thread waits for a line of it.
        file = open(args.input or 0, "rb", closefd=args.input is not None)  # noqa: SIM115
    return read_lines(file, name, args.errors)


@contextlib.contextmanager
def _printer(args: argparse.Namespace) -> Iterator[tuple[Callable[[str], None], int]]:
    """Where lines go, standard output or a file, and how many are there already."""
    if not args.output:
        if sys.stdout is None:
            raise UserError("cannot write standard output: it is closed")
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        yield lambda line: print(line, flush=True), 0
    elif args.output.exists() and not args.output.is_file():  # a pipe or /dev/null
        with (
            able_to(f"write {args.output}"),
            args.output.open("w", encoding="utf-8", newline="\n", buffering=1) as file,
        ):
            yield lambda line: print(line, file=file), 0
    else:
        with unlost(args.output.resolve(), resume=args.resume) as writer:
            yield writer


def output_lines(translation: "Translation", as_json: bool, n_best: int) -> Iterator[str]:
    """The output lines of a translation: one; as many as candidates where more are asked for."""
    if as_json:
        candidates = [
            {"translation": c.text, "score": round(c.score, 4), "tokens": c.tokens}
            for c in translation.candidates
        ]
        more = {"n_best": candidates} if n_best > 1 else {}
        record = {"source": translation.source, **candidates[0], **more}
        record["langs"], record["warnings"] = translation.langs, translation.warnings
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
    if args.resume and not args.output:
        raise UserError("expected --output with --resume: what is to go on?")
    if args.resume and ((args.n_best > 1 and not args.json) or args.explain or args.attention):
        raise UserError("expected one line a text with --resume: without --n-best and --explain")
    if args.json and (args.explain or args.attention):
        raise UserError("expected --json, or --explain and --attention, got both")
    if args.attention and args.attention.suffix not in PICTURES:
        raise UserError(f"expected {', '.join(PICTURES)} for --attention, got {args.attention}")
    try:
        "".join(args.text).encode()
    except UnicodeEncodeError as error:
        raise UserError(f"expected UTF-8 text in the arguments: {error}") from error
    if args.input:
        with able_to(f"read {args.input}"):
            args.input.stat()
    if args.output:
        with able_to(f"write {args.output}"):
            args.output.resolve().parent.stat()


def _folders(args: argparse.Namespace) -> dict[Direction, str | Path]:
    """The models to choose among, by their languages; UserError if they are not those asked."""
    named = args.src_lang or args.tgt_lang
    if not args.model and not named:
        return models()  # the language of each text decides
    langs = direction(args.src_lang, args.tgt_lang)
    model = args.model or default_model(langs)
    served = models(model)
    asked = [
        pair for pair in served if (args.src_lang or pair[0], args.tgt_lang or pair[1]) == pair
    ]
    if not asked:
        there = " and ".join(" to ".join(pair) for pair in served)
        raise UserError(f"expected a model for {'-'.join(langs)}, but {model} translates {there}")
    return dict.fromkeys(asked, model)


def _open(args: argparse.Namespace, folders: dict[Direction, str | Path]) -> "Directions":
    """The models in these folders, ready to translate."""
    with _importing():
        from transformer.translation.directions import load
    named = args.model or args.src_lang or args.tgt_lang
    model = next(iter(folders.values())) if named else None
    opened = load(model, device=args.device, compute_type=args.compute_type, guard=args.guard)
    return opened.only(folders)


@contextlib.contextmanager
def _importing() -> Iterator[None]:
    """Around the import of the library, once there is something to do: torch takes a second.

    Nearly all that an import makes stays to the end. So the garbage collector, which would look
    through it some 370 times, rests meanwhile, and at the exit it leaves all to the system.
    """
    atexit.register(gc.freeze)
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _selftest(args: argparse.Namespace) -> None:
    """Prints a line for each check of each model; Failed tells how many do not hold."""
    folders, n_wrong = _folders(args), 0
    with _importing():
        from transformer.evaluation import selftest
    for langs, folder in folders.items():
        for check in selftest.run(folder, args.device, args.compute_type, langs):
            mark = "ok" if check.holds else "WRONG"
            print(f"{'-'.join(langs)}  {check.name}: {mark}: {check.seen}", flush=True)
            n_wrong += not check.holds
    if n_wrong:
        number = "1 check does" if n_wrong == 1 else f"{n_wrong} checks do"
        raise Failed(f"{number} not hold: the model is not what was released, or this machine errs")


def _serve(args: argparse.Namespace) -> None:
    """Answers over HTTP until SIGTERM or Ctrl-C; UserError where something is missing."""
    limits, decode = from_arguments(ServeConfig, args), from_arguments(DecodeConfig, args)
    folders = _folders(args)
    try:
        from transformer.serving import app as server
    except ImportError as error:
        raise UserError(f"to serve, install the extra `serve`: {error}") from error
    app = server.application(_open(args, folders), decode, limits)
    server.serve(app, limits, lambda url: print(f"translate: {url}", file=sys.stderr, flush=True))


def _explain(args: argparse.Namespace, opened: "Directions", decode: DecodeConfig) -> None:
    """Prints how the texts were translated, and draws the alignment; with one model for all."""
    from transformer.explain.render import explained

    texts = list(_texts(args))
    (langs,) = opened.recognised(texts[:1]) or [opened.available[0]]
    translator = opened.plain(langs)
    with _printer(args) as (write, _):
        for line in explained(translator, texts, args.attention, args.explain, decode):
            write(line)


def run(args: argparse.Namespace) -> None:
    """Translates what the arguments name; raises UserError for what a person can mend."""
    if args.new_api_key:
        from transformer.serving.access import new_key

        return print(new_key(args.new_api_key, args.per_minute))
    if args.serve:
        return _serve(args)
    if args.selftest:
        return _selftest(args)
    _check(args)
    decode = from_arguments(DecodeConfig, args)
    if not args.json:
        decode = dataclasses.replace(decode, scores=False)  # of greedy search; nothing shows them
    folders = _folders(args)
    opened = _open(args, folders)
    if args.explain or args.attention:
        return _explain(args, opened, decode)
    if len(folders) == 1:
        opened.translator(*folders)  # a defect shows before anything is written
    with _printer(args) as (write, n_done):
        lines = iter(_texts(args))
        before = opened.passed(itertools.islice(lines, n_done))
        stream = opened.stream(lines, decode, before=before)
        for number, translation in enumerate(stream, n_done + 1):
            for line in output_lines(translation, args.json, decode.n_best):
                write(line)
            if translation.warnings:
                print(f"translate: {number}: {'; '.join(translation.warnings)}", file=sys.stderr)


def main(argv: list[str] | None = None) -> int:
    """The `translate` command; returns its exit code."""
    args = parser().parse_args(argv)
    return run_command(lambda: run(args), "translate")
