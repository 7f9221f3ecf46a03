"""Writes the tables of `transformer/text/tables` anew, from corpora as train.py takes them.

python data/tables.py trigrams data/train.tsv     by which a language is recognised
python data/tables.py accents CORPUS...           Spanish words whose accents can be put back
python data/tables.py spelling CORPUS...          words of both languages, to tell slips by
"""

import argparse
import lzma
from collections.abc import Sequence
from pathlib import Path

from transformer.corpus.readers import read_pairs
from transformer.text import language, spelling


def write(path: Path, lines: Sequence[str]) -> None:
    """A table of one entry a line."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def trigrams(spanish: Sequence[str], english: Sequence[str]) -> list[str]:
    """A run of three characters and its worth on each line."""
    return [f"{run}\t{worth}" for run, worth in language.count(spanish, english).items()]


def packed(texts: Sequence[str]) -> bytes:
    """The frequent and the rare words of a language, compressed."""
    lists = "\n".join(" ".join(words) for words in spelling.count(texts))
    return lzma.compress(lists.encode(), preset=9 | lzma.PRESET_EXTREME)


def main(argv: Sequence[str] | None = None) -> None:
    """Counts both sides of the corpora and writes the table that is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=("trigrams", "accents", "spelling"))
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    args = parser.parse_args(argv)
    pairs = [pair for spec in args.corpora for pair in read_pairs(spec, "es", "en")]
    spanish, english = zip(*pairs, strict=True)
    if args.table == "trigrams":
        write(language.TABLE, trigrams(spanish, english))
    elif args.table == "accents":
        write(spelling.ACCENTS, spelling.count_accents(spanish))
    else:
        for lang, texts in (("es", spanish), ("en", english)):
            spelling.table(lang).write_bytes(packed(texts))


if __name__ == "__main__":
    main()
