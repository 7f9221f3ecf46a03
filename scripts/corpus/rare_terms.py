"""A glossary of nouns that parallel text hardly shows, for `back_translate.py --glossary`.

    python -m scripts.corpus.rare_terms --text mono/es --lang es --to en --parallel parallel \\
        --entries lexicon/wiktionary.tsv lexicon/freedict.tsv --output rare-es.tsv

Taken is a word of the text in one language that the parallel text shows fewer than `--fewer-than`
times and of which `--agree` dictionaries or more give the same single word, more than give any
other. Each stands in the glossary with its plural; a word whose plural, or whose translation's,
is in no list of the language's words is no noun and is left out. Dictionary-based augmentation:
Peng et al. 2020.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from scripts.corpus.back_translate import files_below
from scripts.corpus.lexicon import read_entries
from transformer.command import Parser, run_command
from transformer.config import UserError
from transformer.corpus.readers import TEXT_ENDINGS, read_pairs, read_texts, tsv, write_tsv
from transformer.text import spelling

PAIR_ENDINGS = (".tsv", ".parquet", ".gz")
SHORTEST = 4  # letters of a word: shorter ones are abbreviations and names mostly


def plural(noun: str, lang: str) -> str:
    """The regular plural of a Spanish or English noun: luz, luces; box, boxes; city, cities."""
    if lang == "es":
        if noun.endswith("z"):
            return f"{noun[:-1]}ces"
        if noun.endswith("ión"):
            return f"{noun[:-3]}iones"
        return f"{noun}s" if noun[-1] in "aeiouáéó" else f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def agreed(dictionaries: Iterable[Iterable[tuple[str, str]]], least: int) -> dict[str, str]:
    """Of each word the one translation that at least so many dictionaries give, and most do."""
    given = defaultdict[str, Counter[str]](Counter)
    for entries in dictionaries:
        for word, translation in {*entries}:
            if _is_plain(word) and _is_plain(translation):
                given[word][translation] += 1
    chosen = {}
    for word, translations in given.items():
        (best, n), *others = translations.most_common(2)
        if n >= least and all(n > fewer for _, fewer in others):
            chosen[word] = best
    return chosen


def counted(texts: Iterable[str], words: set[str]) -> Counter[str]:
    """How often each of the words stands in the texts, in small letters."""
    return Counter(word for text in texts for word in spelling.WORD.findall(text) if word in words)


def rows(
    translations: dict[str, str], lang: str, to: str, rare: set[str]
) -> Iterator[tuple[str, str]]:
    """The rare nouns with their plurals, and the translations with theirs: `racha|rachas`."""
    ours, theirs = spelling.words(lang), spelling.words(to)
    if ours is None or theirs is None:
        raise UserError(f"expected languages whose words are listed (es, en), got {lang}, {to}")
    for word in sorted(rare):
        several, translated = plural(word, lang), plural(translations[word], to)
        if several in ours and translated in theirs:
            yield f"{word}|{several}", f"{translations[word]}|{translated}"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
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
    add("--output", required=True, type=tsv, metavar="FILE.tsv", help="the glossary to write")
    args = flags.parse_args(argv)

    def write() -> None:
        dictionaries = [[*read_entries(path)] for path in args.entries]
        if args.first != args.lang:
            dictionaries = [[(b, a) for a, b in entries] for entries in dictionaries]
        translations = agreed(dictionaries, args.agree)
        texts = (
            text for path in files_below(args.text, TEXT_ENDINGS) for text in read_texts(Path(path))
        )
        sources = (
            source
            for spec in files_below(args.parallel, PAIR_ENDINGS)
            for source, _ in read_pairs(spec, args.lang, args.to)
        )
        often = {w for w, n in counted(texts, {*translations}).items() if n >= args.at_least}
        seen = counted(sources, often)
        rare = {word for word in often if seen[word] < args.fewer_than}
        found = [*rows(translations, args.lang, args.to, rare)]
        write_tsv(args.output, (args.lang, args.to), found)
        print(f"{args.output}: {len(found):,} nouns")

    return run_command(write, "rare_terms")


def _is_plain(word: str) -> bool:
    return len(word) >= SHORTEST and word.isalpha() and word.islower()


if __name__ == "__main__":
    sys.exit(main())
