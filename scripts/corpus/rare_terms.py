"""A glossary of nouns that parallel text hardly shows, for `back_translate.py --glossary`.

    python -m scripts.corpus.rare_terms --text mono/es --lang es --to en --parallel parallel \\
        --entries lexicon/wiktionary.tsv lexicon/freedict.tsv --output rare-es.tsv

Taken is a word of the text in one language that the parallel text shows fewer than `--fewer-than`
times and of which `--agree` dictionaries or more give the same single word, more than give any
other. Each stands in the glossary with its plural; a word whose plural, or whose translation's,
is in no list of the language's words is no noun and is left out. Dictionary-based augmentation:
Peng et al. 2020.
"""

import argparse
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from scripts.corpus.back_translate import find_files
from transformer.command import Parser, run_command
from transformer.config import SentencePair, UserError
from transformer.corpus.cleaning import normalize
from transformer.corpus.readers import TEXT_SUFFIXES, iter_lines, read_pairs, read_texts, write_tsv
from transformer.text import spelling

PAIR_ENDINGS = (".tsv", ".parquet", ".gz")
MIN_LETTERS = 4  # of a word: shorter ones are abbreviations and names mostly


def read_entries(path: Path) -> Iterator[SentencePair]:
    """Yield the entries of a dictionary; a line without its two columns is a UserError."""
    for number, line in enumerate(iter_lines(path), 1):
        cells = [normalize(cell) for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise UserError(f"{path}, line {number}: expected a word, a tab, its translation")
        yield cells[0], cells[1]


def plural(noun: str, lang: str) -> str:
    """Return the regular plural of a Spanish or English noun: luz, luces; box, boxes."""
    if lang == "es":
        if noun.endswith("z"):
            return f"{noun[:-1]}ces"
        if noun.endswith("ión"):
            return f"{noun[:-3]}iones"
        return f"{noun}s" if noun[-1] in "aeiouáéó" else f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def agreed_translations(
    dictionaries: Iterable[Iterable[tuple[str, str]]], least: int
) -> dict[str, str]:
    """Return the translation of each word that so many dictionaries give, and more than another."""
    votes = defaultdict[str, Counter[str]](Counter)
    for entries in dictionaries:
        for pair in {*entries}:
            if all(len(word) >= MIN_LETTERS and word.isalpha() and word.islower() for word in pair):
                votes[pair[0]][pair[1]] += 1
    agreed = {}
    for word, translations in votes.items():
        (best, n), *others = translations.most_common(2)
        if n >= least and all(n > fewer for _, fewer in others):
            agreed[word] = best
    return agreed


def count_words(texts: Iterable[str], words: set[str]) -> Counter[str]:
    """Count how often each of the words stands in the texts, in small letters."""
    found = (word for text in texts for word in spelling.LOWERCASE_WORD.findall(text))
    return Counter(word for word in found if word in words)


def glossary_rows(
    translations: dict[str, str], lang: str, to: str, rare: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield the rare nouns with their plurals, and the translations with theirs: `gust|gusts`."""
    ours, theirs = spelling.load_words(lang), spelling.load_words(to)
    if not (ours.rank and theirs.rank):
        raise UserError(f"expected languages whose words are listed (es, en), got {lang}, {to}")
    for word in sorted(rare):
        several, translated = plural(word, lang), plural(translations[word], to)
        if several in ours and translated in theirs:
            yield f"{word}|{several}", f"{translations[word]}|{translated}"


def write_glossary(args: argparse.Namespace) -> None:
    """Write the glossary, and print how many nouns it has."""
    dictionaries = [[*read_entries(path)] for path in args.entries]
    if args.first != args.lang:
        dictionaries = [[(b, a) for a, b in entries] for entries in dictionaries]
    translations, langs = agreed_translations(dictionaries, args.agree), (args.lang, args.to)
    paths = map(Path, find_files(args.text, TEXT_SUFFIXES))
    texts = itertools.chain.from_iterable(map(read_texts, paths))
    n_texts = count_words(texts, {*translations})
    frequent = {word for word, n in n_texts.items() if n >= args.at_least}
    specs = find_files(args.parallel, PAIR_ENDINGS)
    sources = (source for spec in specs for source, _ in read_pairs(spec, *langs))
    n_pairs = count_words(sources, frequent)
    rare = {word for word in frequent if n_pairs[word] < args.fewer_than}
    rows = [*glossary_rows(translations, *langs, rare)]
    write_tsv(args.output, langs, rows)
    print(f"{args.output}: {len(rows):,} nouns")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--text", required=True, nargs="+", metavar="PLACE", help="text of --lang, or folders")
    add("--lang", required=True, help="language of the text, and of the glossary's first column")
    add("--to", required=True, help="the other language")
    add("--parallel", required=True, nargs="+", metavar="PLACE", help="pairs, or folders of them")
    add("--entries", required=True, nargs="+", type=Path, metavar="FILE", help="dictionaries")
    add("--from", dest="first", default="es", help="language of their first column (default: es)")
    add("--fewer-than", type=int, default=50, metavar="N", help="in the pairs (default: 50)")
    add("--at-least", type=int, default=5, metavar="N", help="in the text (default: 5)")
    add("--agree", type=int, default=2, metavar="N", help="dictionaries (default: 2)")
    add("--output", required=True, type=Path, metavar="FILE.tsv", help="the glossary to write")
    args = flags.parse_args(argv)
    if args.output.suffix != ".tsv":
        flags.error(f"argument --output: expected a name that ends in .tsv, got {args.output}")
    return run_command(lambda: write_glossary(args), "rare_terms")


if __name__ == "__main__":
    raise SystemExit(main())
