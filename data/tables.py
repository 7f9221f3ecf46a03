"""Writes the tables of `transformer/text/tables` anew, from corpora as train.py takes them.

python data/tables.py trigrams data/train.tsv     by which a language is recognised
python data/tables.py accents CORPUS...           Spanish words whose accents can be put back
python data/tables.py spelling CORPUS...          words of both languages, to tell slips by
python data/tables.py known CORPUS...             adds what someone wrote and is no slip
python data/tables.py known-es TEXT...            the same from text in one language
python data/tables.py people CORPUS...            names of people, after `pip install faker`
"""

import argparse
import importlib
import lzma
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from transformer.corpus.readers import read_pairs, read_texts
from transformer.text import language, names, spelling

N_TRIGRAMS = 2500  # kept of those counted: the ones that tell most
RARE = 4  # added to each count, so that what was seen once does not tell much
FREQUENT = 40  # times that a word was met to be what another one is read as
WEB = 5  # times that text of the web has a word that is no slip; read pairs need it once
SEEN, SHARE = 3, 0.97  # times that a spelling was met, and of all that differ by accents only


_TABLES = ("trigrams", "accents", "spelling", "known", "known-es", "known-en", "people")
_ALONE = re.compile(rf"(?<![\w'’])[{spelling.LETTERS}]+(?![\w'’])")


def write(path: Path, lines: Sequence[str]) -> None:
    """A table of one entry a line."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def trigrams(spanish: Iterable[str], english: Iterable[str]) -> list[str]:
    """The runs that tell most, each with the nats that it speaks for Spanish (below 0: English)."""
    es, en = (
        Counter(trigram for text in texts for trigram in language.trigrams(text))
        for texts in (spanish, english)
    )
    n_es, n_en = es.total(), en.total()
    ratios = {
        trigram: math.log((es[trigram] + RARE) / n_es) - math.log((en[trigram] + RARE) / n_en)
        for trigram in es.keys() | en.keys()
    }
    worth = {trigram: abs(ratio) * (es[trigram] + en[trigram]) for trigram, ratio in ratios.items()}
    best = sorted(sorted(worth), key=lambda trigram: -worth[trigram])[:N_TRIGRAMS]
    return [f"{trigram}\t{round(ratios[trigram], 2)}" for trigram in sorted(best)]


def frequent_and_rare(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """The words met twice: the frequent ones, the most frequent first, and the others, sorted."""
    counts = Counter(word for text in texts for word in _ALONE.findall(text.lower()))
    order = sorted(counts, key=lambda word: (-counts[word], word))
    n = sum(times >= FREQUENT for times in counts.values())
    return order[:n], sorted(word for word in order[n:] if counts[word] > 1)


def packed(texts: Sequence[str]) -> bytes:
    """The frequent and the rare words of a language, compressed."""
    lists = "\n".join(" ".join(words) for words in frequent_and_rare(texts))
    return lzma.compress(lists.encode(), preset=9 | lzma.PRESET_EXTREME)


def add_known(lang: str, texts: Iterable[str], fewest: int) -> None:
    """Add to the rare words of a language those of texts that would be taken for slips.

    Only words in small letters: a name is none of the language.
    """
    table = spelling.table_path(lang)
    frequent, others = lzma.decompress(table.read_bytes()).decode().split("\n")
    known = spelling.WordList(
        {w: i for i, w in enumerate(frequent.split())}, frozenset(others.split())
    )
    counts = Counter(word for text in texts for word in _ALONE.findall(text))
    new = {word for word, n in counts.items() if n >= fewest and known.correction(word) != word}
    lists = f"{frequent}\n{' '.join(sorted(known.others | new))}"
    table.write_bytes(lzma.compress(lists.encode(), preset=9 | lzma.PRESET_EXTREME))


def people(english: Iterable[str]) -> list[str]:
    """The given names and surnames of Spanish- and English-speaking countries that Faker has.

    In capitals those that English text has as words, too: GRACE, BROWN.
    """
    providers = [
        importlib.import_module(f"faker.providers.person.{country}").Provider
        for country in ("es_AR", "es_CL", "es_CO", "es_ES", "es_MX", "en_GB", "en_US")
    ]
    counts = Counter(word for text in english for word in _ALONE.findall(text))
    lists = []
    for kind in ("first_names", "last_names"):
        tables = (names for of in providers for field, names in vars(of).items()
                  if field.startswith(kind) and not isinstance(names, property))  # fmt: skip
        known = {name for names in tables for name in names if name.isalpha() and name.istitle()}
        lists.append(sorted(n.upper() if counts[n.lower()] >= SEEN else n.lower() for n in known))
    return [" ".join(names) for names in lists]


def accents(texts: Iterable[str]) -> list[str]:
    """The words with accents that no other word would be without them, in small letters.

    A sentence without any accent says nothing: it may have been typed so.
    """
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for text in filter(spelling.ACCENTED.search, texts):
        for word in language.LETTER_RUN.findall(unicodedata.normalize("NFC", text.lower())):
            spellings[spelling.strip_accents(word)][word] += 1
    best = {key: words.most_common(1)[0] for key, words in spellings.items()}
    return sorted(
        word
        for key, (word, n) in best.items()
        if word != key and n >= SEEN and n >= SHARE * spellings[key].total()
        if set(word) <= set(spelling.LETTERS)
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Counts both sides of the corpora and writes the table that is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=_TABLES)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    args = parser.parse_args(argv)
    if lang := args.table.partition("-")[2]:
        alone = (text for path in args.corpora for text in read_texts(Path(path)))
        add_known(lang, alone, WEB)
        return
    pairs = [pair for spec in args.corpora for pair in read_pairs(spec, "es", "en")]
    spanish, english = zip(*pairs, strict=True)
    if args.table == "trigrams":
        write(language.TRIGRAMS_TABLE, trigrams(spanish, english))
    elif args.table == "accents":
        write(spelling.ACCENTS_TABLE, accents(spanish))
    elif args.table == "people":
        names.NAMES_TABLE.write_bytes(lzma.compress("\n".join(people(english)).encode()))
    elif args.table == "known":
        add_known("es", spanish, 1)
        add_known("en", english, 1)
    else:
        for lang, texts in (("es", spanish), ("en", english)):
            spelling.table_path(lang).write_bytes(packed(texts))


if __name__ == "__main__":
    main()
