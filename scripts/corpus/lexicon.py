"""A dictionary as training pairs: its entries, alone and several in a line.

    python -m scripts.corpus.lexicon --entries words.tsv --output lexicon-words.tsv

A line of the dictionary is a word, a tab, and its translation. Alone, an entry teaches a
translation out of context; a line of several, as a list in a sentence ("gato, perro y casa"),
teaches to keep many in order. Which stand together is drawn from `--seed`.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from transformer.command import Parser, run_command
from transformer.config import SentencePair, UserError
from transformer.corpus.cleaning import normalize
from transformer.corpus.readers import iter_lines, tsv_path, write_tsv

AND = {"es": "y", "en": "and", "fr": "et", "de": "und", "it": "e", "pt": "e"}
LIST_LENGTHS = (3, 7)  # entries of a list, from and to


def read_entries(path: Path) -> Iterator[SentencePair]:
    """Yield the entries of a dictionary; a line without its two columns is a UserError."""
    for number, line in enumerate(iter_lines(path), 1):
        cells = [normalize(cell) for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise UserError(f"{path}, line {number}: expected a word, a tab, its translation")
        yield cells[0], cells[1]


def join_list(words: Sequence[str], lang: str) -> str:
    """Join words to a list within a sentence."""
    last = f" {AND[lang]} " if lang in AND else ", "
    return ", ".join(words[:-1]) + last + words[-1] + "."


def pairs(
    entries: list[SentencePair], langs: tuple[str, str], n_lists: int, rng: random.Random
) -> Iterator[SentencePair]:
    """Yield every entry, then the lists."""
    yield from entries
    for _ in range(n_lists if len(entries) >= LIST_LENGTHS[0] else 0):
        drawn = rng.sample(entries, min(len(entries), rng.randint(*LIST_LENGTHS)))
        src, tgt = zip(*drawn, strict=True)
        yield join_list(src, langs[0]), join_list(tgt, langs[1])


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--entries", required=True, nargs="+", type=Path, metavar="FILE", help="dictionaries")
    add("--from", dest="src_lang", default="es", help="of the first column (default: es)")
    add("--to", dest="tgt_lang", default="en", help="of the second column (default: en)")
    add("--lists", type=int, default=0, metavar="N", help="lines of several entries (default: 0)")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    add("--output", required=True, type=tsv_path, metavar="FILE.tsv", help="the file to write")
    args = flags.parse_args(argv)

    def write() -> None:
        langs = args.src_lang, args.tgt_lang
        entries = [entry for path in args.entries for entry in read_entries(path)]
        write_tsv(args.output, langs, pairs(entries, langs, args.lists, random.Random(args.seed)))

    return run_command(write, "lexicon")


if __name__ == "__main__":
    sys.exit(main())
