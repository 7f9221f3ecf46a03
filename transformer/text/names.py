"""Find the names of people with lists of given names and surnames.

"Rosa Blanco" in a cell is a person, "Casa Blanca" and "Save Changes" are not: a name begins with a
given name, or a word that neither language has, and ends with a surname.
"""

import functools
import re
from collections.abc import Iterator

from transformer.text import spelling

NAMES_TABLE = spelling.TABLES_FOLDER / "people.xz"  # `data/tables.py` writes it
MAX_LINE_WORDS = 6  # full names are found only in lines this short: cells, signatures, authors
_CAPITALIZED = r"(?:[A-ZÀ-ÖØ-Þ][\w'’-]*\w|[A-Z]\.)"
_PARTICLES = ("de", "del", "la", "las", "los", "y", "van", "von")
_NAME = re.compile(
    rf"(?<![\w.]){_CAPITALIZED}"
    rf"(?:[^\S\n](?:(?:{'|'.join(_PARTICLES)})[^\S\n])*{_CAPITALIZED})+(?!\w)"
)
_TWO_NAMES = re.compile(r"(?<!\w)([A-ZÀ-ÖØ-Þ]\w+) ?& ?([A-ZÀ-ÖØ-Þ]\w+)(?!\w)")
_ADJECTIVES = {"black", "brown", "gray", "green", "long", "short", "white", "young"}
_TITLE_AND_SURNAME = re.compile(
    r"(?<!\w)(?:(?:Mrs?|Ms|Sra?|Srta|Dra?|Prof)\.?|[Ss]eñor(?:a|ita)?|Lord|Professor)"
    r"\s((?:[A-ZÀ-ÖØ-Þ]\w+\s)??[A-ZÀ-ÖØ-Þ]\w+)(?!\w|\s[A-ZÀ-ÖØ-Þ])"
)


@functools.cache
def load_names() -> tuple[frozenset[str], frozenset[str]]:
    """Return given names and surnames, in lower case; those that are English words, in capitals."""
    given, surnames = map(frozenset, spelling.read_lists(NAMES_TABLE))
    return given, surnames


def find_person_names(text: str, lang: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of people's names in a text of language `lang`.

    They are full names in lines of at most MAX_LINE_WORDS words; and anywhere pairs of names, as
    "Tom & Jerry", and surnames after a title, as "White" in "Ms. White".
    """
    for line in re.finditer(r"[^\n]+", text):
        if len(line[0].split()) <= MAX_LINE_WORDS:
            for name in _NAME.finditer(text, *line.span()):
                if is_person_name(name[0], lang):
                    yield name.span()
    given, surnames = load_names()
    for match in _TWO_NAMES.finditer(text) if "&" in text else ():
        if all(_is_in(name, given, surnames) for name in match.groups()):
            yield match.span()
    for match in _TITLE_AND_SURNAME.finditer(text):
        first, *others = match[1].split()  # Dr. Grace Hopper, Mr. Brown
        if _is_in(first, given) if others else _is_in(first, surnames):
            yield match.span(1)


def is_person_name(name: str, lang: str) -> bool:
    """Return whether a text of language `lang` is the full name of a person.

    English labels have capitals as names do, so "Mark Read", two English words, is not a name. But
    "Grace Brown" is one, since no label ends in an adjective.
    """
    given, surnames = load_names()
    first, *middle = [w for w in name.split() if w not in _PARTICLES and w[-1] != "."] or [""]
    if not middle or not _is_in(last := middle.pop(), surnames):
        return False
    if not all(_is_in(word, given, surnames) for word in middle):
        return False
    if not _is_in(first, given):  # Lebron: a name that is no word
        return not any(
            first.lower() in known for known in map(spelling.load_words, ("es", "en")) if known
        )
    are_words = all(w.upper() in given or w.upper() in surnames for w in (first, last))
    return not (lang == "en" and are_words and last.lower() not in _ADJECTIVES)


def _is_in(word: str, *tables: frozenset[str]) -> bool:
    return any(word.lower() in names or word.upper() in names for names in tables)
