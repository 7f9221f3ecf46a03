"""The names of people: told from words by lists of given names and surnames.

"Rosa Blanco" in a cell is a person, "Casa Blanca" and "Save Changes" are not: a name begins with a
given name and ends with a surname, or is made of what no language has as words.
"""

import functools
import lzma
import re
from collections.abc import Iterator

from transformer.text import spelling

TABLE = spelling.FOLDER / "people.xz"  # `data/tables.py` writes it
SHORT = 6  # words of a line in which names are sought: a cell, an author's, a signature
_CAPITAL = r"(?:[A-ZÀ-ÖØ-Þ][\w'’-]*\w|[A-Z]\.)"
_PARTICLES = ("de", "del", "la", "las", "los", "y", "van", "von")
_RUN = re.compile(
    rf"(?<![\w.]){_CAPITAL}(?:[^\S\n](?:(?:{'|'.join(_PARTICLES)})[^\S\n])*{_CAPITAL})+(?!\w)"
)
_TITLED = re.compile(r"(?<!\w)(?:Mrs?|Ms|Sra?|Srta)\.?\s([A-ZÀ-ÖØ-Þ]\w+)(?!\w)")


@functools.cache
def people() -> tuple[frozenset[str], frozenset[str]]:
    """Given names and surnames, in small letters, or in capitals where they are English words."""
    given, surnames = lzma.decompress(TABLE.read_bytes()).decode().split("\n")
    return frozenset(given.split()), frozenset(surnames.split())


def find_people(text: str, lang: str) -> Iterator[tuple[int, int]]:
    """Where the names of people are: in short lines in full, else behind a title: Ms. White."""
    for line in re.finditer(r"[^\n]+", text):
        if len(line.group().split()) <= SHORT:
            for run in _RUN.finditer(text, *line.span()):
                if is_person(run.group(), lang):
                    yield run.span()
    for titled in _TITLED.finditer(text):
        if _is_in(titled[1], people()[1]):
            yield titled.span(1)


def is_person(name: str, lang: str) -> bool:
    """Whether it is the full name of somebody, in a text of a language.

    English labels have capitals like names: Mark Read, where both may be words, is none.
    """
    given, surnames = people()
    read = [word for word in name.split() if word not in _PARTICLES and word[-1] != "."]
    if len(read) < 2 or not _is_in(read[-1], surnames):
        return False
    if not all(_is_in(word, given | surnames) for word in read[1:-1]):
        return False
    if not _is_in(read[0], given):  # Lebron: a name that is no word
        return not any(
            read[0].lower() in known for known in map(spelling.words, ("es", "en")) if known
        )
    return not (lang == "en" and {read[0].upper(), read[-1].upper()} <= given | surnames)


def _is_in(word: str, names: frozenset[str]) -> bool:
    return word.lower() in names or word.upper() in names
