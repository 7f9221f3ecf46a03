"""Text in one language as pairs whose other side a machine wrote.

    python -m scripts.corpus.back_translate --text news.es.txt --lang es --to en \\
        --command "apertium -u -f line spa-eng" --output made
    python -m scripts.corpus.back_translate --text mono/es --lang es --to en \\
        --model checkpoints/both --glossary rare-es.tsv --output made
    python -m scripts.corpus.back_translate --text mono/es --lang es --to en --copy 20 --output made

What people wrote is the target, the translation its source, marked `<bt>`: training puts that
tag before it and never learns to write it (Sennrich et al. 2016a; Caswell et al. 2019). `--copy N`
takes every Nth text as its own source, marked `<copy>` (Currey et al. 2017). `--glossary` takes the
texts that hold one of its terms, at most `--per-term` of each in a file, and has the model
translate the term as the glossary does (`rare_terms.py` makes one); where it does not, the text is
its own source.

One file comes out for each file that goes in: `bt-es-NAME.tsv`, `bt-terms-es-NAME.tsv` or
`copy-es-NAME.tsv`. The same command goes on where a stopped one left off, and passes over what is
finished.
"""

import argparse
import itertools
import os
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from transformer.command import Parser, add_arguments, from_arguments, resumable_output, run_command
from transformer.config import BACK_TRANSLATED, COPIED, DecodeConfig, UserError
from transformer.corpus.cleaning import normalize
from transformer.corpus.readers import TEXT_SUFFIXES, read_texts
from transformer.flags import add_device_arguments
from transformer.text.glossary import Glossary, TermMatcher
from transformer.translation.guard import GuardedTranslator
from transformer.translation.translator import Translator

CHUNK = 2000  # lines between two places where a stopped command can go on
LineMap = Callable[[Sequence[str]], list[str]]  # lines to as many lines


def command_translator(command: str) -> LineMap:
    """Return what translates by a command that reads lines and writes as many, else UserError."""

    def translate(lines: Sequence[str]) -> list[str]:
        text = "\n".join(lines) + "\n"
        try:
            done = subprocess.run(
                shlex.split(command), input=text, capture_output=True, encoding="utf-8"
            )
        except OSError as error:
            raise UserError(f"expected a command that runs, got {command!r}: {error}") from error
        out = done.stdout.removesuffix("\n").split("\n")
        if done.returncode or len(out) != len(lines):
            raise UserError(
                f"expected {len(lines)} lines from {command!r}; got {len(out)} and exit code "
                f"{done.returncode}: {done.stderr.strip()[-200:]}"
            )
        return out

    return translate


def model_translator(args: argparse.Namespace, glossary: Glossary | None) -> LineMap:
    """Return what translates by a model of ours; "" where it does not write a glossary's term."""
    langs = args.lang, args.to
    plain = Translator.load(args.model, args.device, args.compute_type, langs=langs)
    translator = GuardedTranslator(plain, glossary) if glossary else plain
    decode = from_arguments(DecodeConfig, args)

    def translate(lines: Sequence[str]) -> list[str]:
        results = translator.stream(lines, decode)
        return ["" if any("term" in w for w in r.warnings) else r.text for r in results]

    return translate


def find_files(paths: Sequence[str], suffixes: tuple[str, ...]) -> list[str]:
    """Return the paths, each folder replaced by the files with these suffixes below it."""
    files: list[str] = []
    for path in paths:
        inside = sorted(str(p) for p in Path(path).rglob("*") if p.name.endswith(suffixes))
        if not inside and Path(path).is_dir():
            raise UserError(f"expected files ({', '.join(suffixes)}) in {path}, got none")
        files += inside or [path]
    return files


def texts_with_terms(texts: Iterable[str], terms: TermMatcher, per_term: int) -> Iterator[str]:
    """Yield the texts with a term that fewer than `per_term` of them had before."""
    n_texts: Counter[str] = Counter()
    for text in texts:
        found = {span.target for span in terms.find(text)}
        if any(n_texts[term] < per_term for term in found):
            n_texts.update(found)
            yield text


def write_rows(
    output: Path, header: str, texts: Iterable[str], rows: Callable[[list[str]], list[str]],
    jobs: int = 1,
) -> int:  # fmt: skip
    """Write `rows` of the texts behind the rows that the file has; return their number.

    `rows` makes as many rows of a chunk as it has texts; `jobs` chunks are made side by side.
    """
    with resumable_output(output, resume=True, by="the same command") as (write, n_lines, _):
        n_rows = max(0, n_lines - 1)
        rest = itertools.islice(texts, n_rows, None)
        chunks = iter(lambda: list(itertools.islice(rest, CHUNK)), [])
        if not n_lines:
            write(header)
        with ThreadPoolExecutor(jobs) as pool:
            while batch := list(itertools.islice(chunks, jobs)):
                for row in itertools.chain.from_iterable(pool.map(rows, batch)):
                    write(row)
                    n_rows += 1
    return n_rows


def back_translate(args: argparse.Namespace) -> None:
    """Write a file for each file of text, and print how many pairs it has."""
    translate: LineMap | None = None
    glossary = Glossary.read(args.glossary) if args.glossary else None
    if args.command:
        translate = command_translator(args.command)
    elif args.model:
        translate = model_translator(args, glossary)
    args.output.mkdir(parents=True, exist_ok=True)

    def rows(texts: list[str]) -> list[str]:
        sources = map(normalize, translate(texts)) if translate else [""] * len(texts)
        return [
            f"{text}\t{BACK_TRANSLATED} {source}" if source else f"{text}\t{COPIED} {text}"
            for text, source in zip(texts, sources, strict=True)
        ]

    for path in map(Path, find_files(args.text, TEXT_SUFFIXES)):
        stem = path.name.removesuffix(".gz").rpartition(".")[0]
        kind = "bt-terms" if glossary else "bt" if translate else "copy"
        output = args.output / f"{kind}-{args.lang}-{stem}.tsv"
        if output.exists():
            continue
        texts: Iterator[str] = map(normalize, read_texts(path))
        texts = itertools.islice(texts, 0, None, args.copy or 1)
        if glossary:
            texts = texts_with_terms(texts, glossary.matcher((args.lang, args.to)), args.per_term)
        jobs, header = args.jobs if args.command else 1, f"{args.lang}\t{args.to}"
        print(f"{output}: {write_rows(output, header, texts, rows, jobs):,} pairs", flush=True)


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--text", required=True, nargs="+", metavar="PLACE", help="files of text, or folders")
    add("--lang", required=True, help="language of the text")
    add("--to", required=True, help="language of the other side")
    how = flags.add_mutually_exclusive_group(required=True)
    how.add_argument("--command", help="translates: reads lines, writes as many")
    how.add_argument("--model", metavar="CHECKPOINT", help="translates: a model of ours")
    how.add_argument("--copy", type=int, default=0, metavar="N", help="copy every Nth text")
    add("--glossary", metavar="FILE", help="with --model: terms that the translations are to use")
    add("--per-term", type=int, default=10, metavar="N", help="texts of a term (default: 10)")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="commands side by side")
    add("--output", required=True, type=Path, metavar="FOLDER", help="of the pairs")
    add_device_arguments(flags)
    add_arguments(flags, DecodeConfig)
    args = flags.parse_args(argv)
    if args.glossary and not args.model:
        flags.error("--glossary: expected --model too, which is to write its terms")
    return run_command(lambda: back_translate(args), "back_translate")


if __name__ == "__main__":
    raise SystemExit(main())
