"""Find the names of people with lists of given names and surnames.

"Rosa Blanco" in a cell is a person, "Casa Blanca" and "Save Changes" are not: a name begins with a
given name and ends with a surname, and one of both may be what is no word of either language.
"""

import functools
import re
from collections.abc import Iterator
from itertools import pairwise

from transformer.text import spelling
from transformer.text.language import LETTER_RUN

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
            for match in _NAME.finditer(text, *line.span()):
                starts = (word.start() for word in re.finditer(r"\S+", match[0]))
                names = (match[0][start:] for start in starts)  # For Emily Dickinson
                if name := next((name for name in names if is_person_name(name, lang)), None):
                    yield match.end() - len(name), match.end()
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
    if not middle:
        return False
    last = middle.pop()
    if not all(_is_in(word, given, surnames) for word in middle):
        return False
    known = [spelling.load_words(lang) for lang in ("es", "en")]
    if not _is_in(first, given):  # Lebron James
        return _is_in(last, surnames) and not any(first.lower() in words for words in known)
    if not _is_in(last, surnames):  # Virginia Woolf, and not Virginia Beach
        return first.lower() in given and not any(last.lower() in words.rank for words in known)
    are_words = all(w.upper() in given or w.upper() in surnames for w in (first, last))
    return not (lang == "en" and are_words and last.lower() not in _ADJECTIVES)


def changed_names(source: str, output: str) -> list[str]:
    """Return the names of `source`, as "Juan Pérez", of which `output` has one word: "John Pérez".

    With neither, a person may be known by another name: Cristóbal Colón, Christopher Columbus. The
    accents may be missing, but then in both words.
    """
    given, surnames = load_names()
    pairs = {pair for name in _NAME.findall(source) for pair in pairwise(name.split())
             if pair[0].lower() in given and _is_in(pair[1], surnames)}  # fmt: skip
    said = {*LETTER_RUN.findall(spelling.strip_accents(output))} if pairs else set[str]()
    changed = []
    for pair in sorted(pairs):
        name, plain = " ".join(pair), spelling.strip_accents(" ".join(pair))
        n_kept = len({*plain.split()} & said)
        has_accents_lost = n_kept == 2 and plain != name and plain in spelling.strip_accents(output)
        is_whole = name in output or plain in output
        if not is_whole and (n_kept == 1 or has_accents_lost):
            changed.append(name)
    return changed


def _is_in(word: str, *tables: frozenset[str]) -> bool:
    return any(word.lower() in names or word.upper() in names for names in tables)
