"""The `translate` command: text in, translations on standard output, all else on standard error.

Parses arguments, calls the library and prints. Heavy imports wait until there is something to
translate, so that `--help` and errors in arguments are answered at once.
"""

import argparse
import atexit
import contextlib
import dataclasses
import gc
import itertools
import json
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import transformer
from transformer.checkpoint import locate
from transformer.command import (
    CheckFailed,
    Progress,
    error_notes,
    from_arguments,
    handle_signals,
    open_binary_output,
    open_line_output,
    os_errors_as_user_errors,
    run_command,
    warn,
)
from transformer.config import DecodeConfig, Direction, ServeConfig, UserError
from transformer.files import is_standard_input, read_bytes, read_lines, remove_empty_folders
from transformer.flags import DESCRIPTIONS, build_parser, completion_parser, join_words
from transformer.text.glossary import Glossary

if TYPE_CHECKING:
    from transformer.documents.folder import Job
    from transformer.translation.directions import Directions
    from transformer.translation.translator import Translation


PICTURES = (".png", ".svg", ".html")
SAMPLE = 2**16  # bytes of a file from which its language is recognised


def _open_lines(
    args: argparse.Namespace, path: Path | None, ends: deque[str] | None = None
) -> tuple[Iterator[str], str]:
    """Return lines, of `args.text`, `path` or standard input; and a sample, a file's first bytes.

    Lines come without their ends, which are appended to `ends`; texts have none, and "" as sample.
    """
    if args.text:
        return iter(args.text), ""
    name = str(path or "standard input")
    with os_errors_as_user_errors(f"read {name}"):
        # Not sys.stdin: Python cannot exit while a thread waits for a line of it.
        file = open(path or 0, "rb", closefd=path is not None)  # noqa: SIM115
        is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        sample = os.pread(file.fileno(), SAMPLE, 0) if is_file else b""
    lines = read_lines(file, name, args.errors, args.encoding or "", ends, sample)
    return lines, sample.decode(errors="ignore")


def format_translation(translation: "Translation", as_json: bool, n_best: int) -> Iterator[str]:
    """Yield a JSON object or a line; with n_best > 1, a line of rank, score, text a candidate."""
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


def _check_arguments(args: argparse.Namespace) -> None:
    """Raise UserError for wrong combinations of arguments, before torch is imported."""
    if args.text and args.input:
        raise UserError("expected texts or --input, got both")
    if args.resume and not args.output:
        raise UserError("expected --output with --resume: the file or folder to continue")
    if args.resume and ((args.n_best > 1 and not args.json) or args.explain or args.attention):
        raise UserError("expected one line a text with --resume: without --n-best and --explain")
    for name in ("json", "glossary"):
        if getattr(args, name) and (args.explain or args.attention):
            raise UserError(f"expected --{name}, or --explain and --attention, got both")
    if args.attention and args.attention.suffix not in PICTURES:
        raise UserError(f"expected {', '.join(PICTURES)} for --attention, got {args.attention}")
    try:
        "".join(args.text).encode()
    except UnicodeEncodeError as error:
        raise UserError(f"expected UTF-8 text in the arguments: {error}") from error
    if args.input:
        with os_errors_as_user_errors(f"read {args.input}"):
            args.input.stat()
    if args.output:
        with os_errors_as_user_errors(f"write {args.output}"):
            args.output.resolve().parent.stat()
        if not (args.text or args.input) and is_standard_input(args.output):
            raise UserError(f"expected --output elsewhere: {args.output} is what is read")


def _resolve_inputs(args: argparse.Namespace, is_literal: bool) -> list[Path]:
    """Return the files, --input or arguments unless `is_literal`; [] for texts; both: UserError."""
    for name in ("input", "output"):
        if getattr(args, name) in (Path("-"), Path(f"/dev/std{name[:-3]}")):
            setattr(args, name, None)  # the standard stream, whatever file it is
    is_path = os.path.exists if args.output else os.path.isfile  # a folder needs a place
    files = [] if is_literal else [text for text in args.text if is_path(text)]
    if files and len(files) < len(args.text):
        raise UserError(f"expected texts or files, got both: {files[0]} is a file (--text: a text)")
    if files:
        warn(f"translate: {files[0]} is a file and translated as one (--text: the words)")
        args.text = []
    for text in () if is_literal else args.text:
        _warn_if_path(text)
    args.text = [*join_words(args.text), *args.literal_texts]
    _check_arguments(args)
    return [*map(Path, files)] or ([args.input] if args.input else [])


def _warn_if_path(text: str) -> None:
    """Warn of a text that is also a folder, or looks like the name of a missing file."""
    if os.path.isdir(text):
        warn(f"translate: {text} is a folder too: -i {text} -o FOLDER translates its files")
    elif re.fullmatch(r"\S+\.[A-Za-z]{2,5}", text):
        from transformer.documents.formats import FORMATS

        if Path(text).suffix.lower() in FORMATS:
            warn(f"translate: there is no file {text}: translated as a text")


def _select_models(args: argparse.Namespace) -> dict[Direction, str | Path]:
    """Return the models to use by direction; UserError if there is none for --from and --to."""
    if not (args.model or args.src_lang or args.tgt_lang):
        return locate.model_folders()  # the language of each text decides
    langs = locate.infer_direction(args.src_lang, args.tgt_lang)
    model = args.model or locate.default_model(langs)
    served = locate.model_folders(model)
    chosen = [
        (s, t) for s, t in served if args.src_lang in (s, None) and args.tgt_lang in (t, None)
    ]
    if not chosen:
        there = " and ".join(" to ".join(pair) for pair in served)
        raise UserError(f"expected a model for {'-'.join(langs)}, but {model} translates {there}")
    return dict.fromkeys(chosen, model)


def _open_models(args: argparse.Namespace, folders: dict[Direction, str | Path]) -> "Directions":
    """Open the models in these folders; an invalid glossary is a UserError at once."""
    glossary = Glossary.read(args.glossary) if args.glossary else None
    if glossary and not args.guard:
        raise UserError("expected --guard with --glossary: the guard inserts the terms")
    with _pause_garbage_collection():
        from transformer.translation.directions import Directions
    return Directions(folders, args.device, args.compute_type, guard=args.guard, glossary=glossary)


@contextlib.contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Pause garbage collection during an import, which makes that faster.

    Its objects live to the end: some 370 searches for garbage, and one at exit, find nothing.
    """
    atexit.register(gc.freeze)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _selftest(args: argparse.Namespace) -> None:
    """Print a line for each check of each model; raise CheckFailed if any fails."""
    folders, results = _select_models(args), list[bool]()
    with _pause_garbage_collection():
        from transformer.evaluation import selftest
    for langs, folder in folders.items():
        for check in selftest.run(folder, args.device, args.compute_type, langs):
            mark = "ok" if check.passed else "WRONG"
            print(f"{'-'.join(langs)}  {check.name}: {mark}: {check.detail}", flush=True)
            results.append(check.passed)
    if not all(results):
        n_failed = f"{results.count(False)} of {len(results)} checks failed"
        raise CheckFailed(f"{n_failed}: not the released model, or this machine computes wrongly")


def _serve(args: argparse.Namespace) -> None:
    """Serve over HTTP until SIGTERM or Ctrl-C."""
    limits, decode = from_arguments(ServeConfig, args), from_arguments(DecodeConfig, args)
    folders = _select_models(args)
    try:
        from transformer.serving import app as server
    except ImportError as error:
        raise UserError(f"to serve, install the extra `serve`: {error}") from error
    app = server.application(_open_models(args, folders), decode, limits)
    server.serve(app, limits, lambda url: print(f"translate: {url}", file=sys.stderr, flush=True))


def _explain_texts(args: argparse.Namespace, opened: "Directions", decode: DecodeConfig) -> None:
    """Write what `trace.explain` yields for texts, with its picture, in the first's direction."""
    from transformer.explain.trace import explain

    texts = list(_open_lines(args, args.input)[0])
    translator = opened.unguarded(opened.most_common_direction(texts[:1]))
    with open_line_output(args.output, resume=False, by="") as (write, *_):
        for line in explain(translator, texts, args.attention, args.explain, decode):
            write(line)


def _translate_lines(
    args: argparse.Namespace, opened: "Directions", decode: DecodeConfig,
    source: Path | None, target: Path | None, progress: Progress,
) -> None:  # fmt: skip
    """Translate what `_open_lines` reads to `target`, a file in one language unless --per-line."""
    ends = deque[str]()
    lines, sample = _open_lines(args, source, ends)
    langs = None
    if sample and not args.per_line:
        langs = opened.most_common_direction(sample.splitlines())
    by = "--resume" if args.json or decode.n_best == 1 else ""
    with open_line_output(target, resume=args.resume, by=by) as (write, n_done, last):
        if progress.is_shown and source:
            with source.open("rb") as file:
                progress.start(sum(1 for _ in file), n_done)
        passed, before = opened.skip_lines(lines, n_done)
        stream = opened.stream(itertools.chain(passed, lines), decode, langs, before=before)
        for _ in range(n_done - len(passed)):
            ends.popleft()
        for number, translation in enumerate(stream, n_done + 1 - len(passed)):
            made = format_translation(translation, args.json, decode.n_best)
            end = ends.popleft() if ends else "\n"
            if args.json or decode.n_best > 1 or not (end or source):
                end = "\n"
            if number == n_done:  # of the earlier run
                if [last] != [*made]:
                    progress.write(
                        f"translate: line {n_done} would now be translated differently: are input, "
                        f"model and options the same as before? If not, remove {target}.part"
                    )
                continue
            for line in made:
                write(line, end)
            progress.update()
            if translation.warnings:
                where = f"{source}, line {number}" if args.input and args.input.is_dir() else number
                progress.write(f"translate: {where}: {'; '.join(translation.warnings)}")


def _translate_file(
    args: argparse.Namespace, opened: "Directions", decode: DecodeConfig, job: "Job",
    progress: Progress,
) -> None:  # fmt: skip
    """Translate a job's file: a document as a whole, any other by lines; UserError on failure."""
    from transformer.documents import folder, passages

    per_line = args.per_line or args.json or decode.n_best > 1
    if not job.is_document or (job.is_text and per_line):
        return _translate_lines(args, opened, decode, job.source, job.target, progress)
    if args.json or decode.n_best > 1:
        raise UserError("expected lines of text for --json and --n-best")
    columns = tuple(filter(None, (args.columns or "").split(",")))
    options = passages.Options(columns=columns, encoding=args.encoding or "")
    with open_binary_output(job.target) as write:
        with os_errors_as_user_errors(f"translate {job.source}"):
            content, warnings = folder.translate_document(
                job, opened, decode, options, progress.start, progress.update
            )
        write(content)
    for line in warnings:
        progress.write(f"translate: {job.source}: {line}")


def _translate_files(
    args: argparse.Namespace, opened: "Directions", decode: DecodeConfig, jobs: list["Job"],
    skipped: list[Path],
) -> None:  # fmt: skip
    """Translate files; one that fails is reported, as are those `skipped`; then a UserError."""
    failed: list[str] = []
    with contextlib.closing(Progress(len(jobs), is_shown=args.output is not None)) as progress:
        for path in skipped:
            progress.write(f"translate: {path}: skipped: unknown format")
        for job in jobs:
            if len(jobs) > 1 and args.resume and job.target and job.target.exists():
                progress.skip_file()
                continue
            action = f"translate {job.source}"
            try:
                with progress.track_file(job.source.name), os_errors_as_user_errors(action):
                    _translate_file(args, opened, decode, job, progress)
            except UserError as error:
                if str(job.source) not in str(error) and "cannot write" not in str(error):
                    error.args = (f"{job.source}: {error}",)
                if len(jobs) == 1:
                    raise
                failed.append(str(job.source))
                progress.write(f"translate: {'; '.join([str(error), *error_notes(error)])}")
    if failed:
        raise UserError(f"{len(failed)} of {len(jobs)} files could not be translated: {failed[0]}")


def _print_versions() -> None:
    print(f"transformer-es-en {transformer.__version__}")
    for langs, folder in locate.model_folders().items():
        checksums = read_bytes(locate.find_checkpoint(folder) / locate.CHECKSUMS).decode()
        found = re.search(r"^(\w{12})\w+  model", checksums, re.M)
        print(f"{'-'.join(langs)} {found[1] if found else ''}  {folder}")


def _complete(shell: str) -> None:
    try:
        import shtab
    except ImportError as error:
        raise UserError(f"for completion, install the extra `completion`: {error}") from error
    whole = completion_parser()
    for action in whole._actions:
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(whole, shell))


def run(args: argparse.Namespace, is_literal: bool = False) -> None:
    """Run the command that the arguments name; UserError for what the user can fix.

    `is_literal`: arguments are texts even if files of these names exist.
    """
    if "completion" in args:
        return _complete(args.completion)
    if getattr(args, "version", False):
        return _print_versions()
    if args.selftest:
        return _selftest(args)
    if args.new_api_key:
        from transformer.serving.authorization import new_api_key

        return print(new_api_key(args.new_api_key, args.per_minute))
    if args.serve:
        return _serve(args)
    sources = _resolve_inputs(args, is_literal)
    decode = from_arguments(DecodeConfig, args)
    if not args.json:
        decode = dataclasses.replace(decode, scores=False)  # of greedy search; nothing shows them
    folders = _select_models(args)
    is_explained = args.explain or args.attention
    if sources and not is_explained:
        from transformer.documents.folder import plan_jobs

        planned = plan_jobs(sources, args.output, args.format)
    opened = _open_models(args, folders)
    if is_explained:
        return _explain_texts(args, opened, decode)
    if len(folders) == 1:
        opened.translator(*folders)  # a defect shows before anything is written
    if sources:
        is_new = args.output and not args.output.exists()
        try:
            return _translate_files(args, opened, decode, *planned)
        except BaseException:
            if is_new:
                remove_empty_folders(args.output)
            raise
    _translate_lines(args, opened, decode, None, args.output, Progress(1, is_shown=False))


def main(argv: list[str] | None = None) -> int:
    """Run the `translate` command; return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    command = words[0] if words and words[0] and words[0] in DESCRIPTIONS else ""
    given = words[1:] if command else words
    with handle_signals():
        return run_command(
            lambda: run(build_parser(command).parse_args(given), "--" in given),
            f"translate {command}".rstrip(),
        )
