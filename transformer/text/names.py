"""The names of people: told from words by lists of given names and surnames.

"Rosa Blanco" in a cell is a person, "Casa Blanca" and "Save Changes" are not: a name begins with a
given name and ends with a surname, or is made of what no language has as words.
"""

import functools
import lzma
import re
from collections.abc import Iterator

from transformer.text import spelling

NAMES_TABLE = spelling.TABLES_FOLDER / "people.xz"  # `data/tables.py` writes it
MAX_LINE_WORDS = 6  # words of a line in which names are sought: a cell, an author's, a signature
_CAPITAL = r"(?:[A-ZÀ-ÖØ-Þ][\w'’-]*\w|[A-Z]\.)"
_PARTICLES = ("de", "del", "la", "las", "los", "y", "van", "von")
_CAPITALIZED_RUN = re.compile(
    rf"(?<![\w.]){_CAPITAL}(?:[^\S\n](?:(?:{'|'.join(_PARTICLES)})[^\S\n])*{_CAPITAL})+(?!\w)"
)
_TITLE_AND_NAME = re.compile(r"(?<!\w)(?:Mrs?|Ms|Sra?|Srta)\.?\s([A-ZÀ-ÖØ-Þ]\w+)(?!\w)")


@functools.cache
def load_names() -> tuple[frozenset[str], frozenset[str]]:
    """Given names and surnames, in small letters, or in capitals where they are English words."""
    given, surnames = lzma.decompress(NAMES_TABLE.read_bytes()).decode().split("\n")
    return frozenset(given.split()), frozenset(surnames.split())


def find_person_names(text: str, lang: str) -> Iterator[tuple[int, int]]:
    """Where the names of people are: in short lines in full, else behind a title: Ms. White."""
    for line in re.finditer(r"[^\n]+", text):
        if len(line.group().split()) <= MAX_LINE_WORDS:
            for run in _CAPITALIZED_RUN.finditer(text, *line.span()):
                if is_person_name(run.group(), lang):
                    yield run.span()
    for match in _TITLE_AND_NAME.finditer(text):
        if _is_in(match[1], load_names()[1]):
            yield match.span(1)


def is_person_name(name: str, lang: str) -> bool:
    """Whether it is the full name of somebody, in a text of a language.

    English labels have capitals like names: Mark Read, where both may be words, is none.
    """
    given, surnames = load_names()
    read = [word for word in name.split() if word not in _PARTICLES and word[-1] != "."]
    if len(read) < 2 or not _is_in(read[-1], surnames):
        return False
    if not all(_is_in(word, given | surnames) for word in read[1:-1]):
        return False
    if not _is_in(read[0], given):  # Lebron: a name that is no word
        return not any(
            read[0].lower() in known for known in map(spelling.load_words, ("es", "en")) if known
        )
    return not (lang == "en" and {read[0].upper(), read[-1].upper()} <= given | surnames)


def _is_in(word: str, names: frozenset[str]) -> bool:
    return word.lower() in names or word.upper() in names
