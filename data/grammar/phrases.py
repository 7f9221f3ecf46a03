"""Noun phrases with their determiners and adjectives, and the dice that choose among them.

Every value holds both languages side by side. It does not know verbs or sentences.
"""

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from grammar import counting
from grammar import english as en
from grammar import lexicon as lx
from grammar import spanish as es

T = TypeVar("T")
Pair = tuple[str, str]


class Dice(random.Random):
    """Random choices that rest on `random()` alone, which is the same in every Python version."""

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, all equally likely."""
        return items[int(self.random() * len(items))]

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return self.random() < p

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.random() * (high - low + 1))


def join(*parts: str) -> str:
    """Non-empty parts with blanks between."""
    return " ".join([p for p in parts if p])


class Noun(NamedTuple):
    """A noun in both languages; `g` is m, f, or a (feminine with 'el')."""

    es: str
    es_many: str
    g: str
    en: str
    en_many: str


class Phrase(NamedTuple):
    """A noun phrase: both texts, Spanish gender and number."""

    es: str
    en: str
    g: str = "m"
    many: bool = False

    @property
    def it_es(self) -> str:
        """Direct object pronoun."""
        return ("las" if self.many else "la") if self.g == "f" else ("los" if self.many else "lo")

    @property
    def it_en(self) -> str:
        """Object pronoun of a thing."""
        return "them" if self.many else "it"


MY = {
    "I": "my", "you": "your", "formal": "your", "he": "his", "she": "her", "we": "our",
    "they": "their",
}  # fmt: skip
ME = {"I": "me", "you": "you", "he": "him", "she": "her", "we": "us", "they": "them"}
PERSON = {"I": 0, "you": 1, "formal": 2, "he": 2, "she": 2, "we": 3, "they": 4}
REFLEXIVE = ("me", "te", "se", "nos", "se")
DATIVE = ("me", "te", "le", "nos", "les")
MI = ("mi", "tu", "su", "nuestro", "su")


def _noun(entry: str) -> Noun:
    word, g, english = entry.split()
    single, _, many = english.replace("_", " ").partition("/")
    spanish = word.replace("_", " ")
    return Noun(spanish, es.plural(spanish), g, single, many or en.plural(single))


NOUNS = {name: [_noun(e) for e in text.split(",")] for name, text in lx.NOUNS.items()}


def gender(noun: Noun) -> str:
    return "m" if noun.g == "m" else "f"


def the(noun: Noun, many: bool = False, adj: str = "") -> Phrase:
    """Definite noun phrase."""
    g = gender(noun)
    article = ("las" if many else "la") if g == "f" else ("los" if many else "el")
    if noun.g == "a" and not many:
        article = "el"
    return _built(article, "the", noun, many, adj)


def a(noun: Noun, adj: str = "") -> Phrase:
    """Indefinite noun phrase."""
    plain = bare(noun, False, adj)
    article = "una" if noun.g == "f" else "un"
    return Phrase(f"{article} {plain.es}", en.a(plain.en), plain.g)


def bare(noun: Noun, many: bool = False, adj: str = "") -> Phrase:
    """Noun phrase without article."""
    return _built("", "", noun, many, adj)


def _built(det_es: str, det_en: str, noun: Noun, many: bool, adj: str) -> Phrase:
    g = gender(noun)
    spanish, english = (noun.es_many, noun.en_many) if many else (noun.es, noun.en)
    if adj:
        spanish = f"{spanish} {es.adjective(adj, g, many)}"
        english = f"{lx.ADJECTIVES[adj]} {english}"
    return Phrase(f"{det_es} {spanish}".strip(), f"{det_en} {english}".strip(), g, many)


def my(noun: Noun, key: str, many: bool = False, adj: str = "") -> Phrase:
    """Possessive noun phrase; `key` is the owner's English pronoun, 'formal' for usted(es)."""
    word = MI[PERSON[key]]
    if word == "nuestro":
        word = es.adjective(word, gender(noun), many)
    elif many:
        word += "s"
    return _built(word, MY[key], noun, many, adj)


def this(noun: Noun, many: bool = False, far: bool = False, adj: str = "") -> Phrase:
    """Demonstrative noun phrase: este/this or ese/that."""
    stem = "es" if far else "est"
    masculine = "os" if many else "e"
    word = stem + (("as" if many else "a") if gender(noun) == "f" else masculine)
    english = (("those", "these") if many else ("that", "this"))[not far]
    return _built(word, english, noun, many, adj)


def some(noun: Noun, n: int, adj: str = "") -> Phrase:
    """Numeral and plural noun (n >= 2)."""
    return _built(counting.spanish(n, gender(noun)), counting.english(n), noun, True, adj)


MANY = (("mucho", "a lot of"), ("alguno", "some"), ("vario", "several"), ("poco", "few"))


def _determined(det: str, noun: Noun, adj: str, key: str) -> list[Phrase]:
    """Phrases of one noun for a determiner token (see `objects`)."""
    if det == "i":
        return [a(noun, adj)]
    if det == "g":
        return [_built("un buen" if noun.g == "m" else "una buena", "a good", noun, False, "")]
    if det in "dD":
        return [the(noun, det == "D", adj)]
    if det in "bBo":
        return [bare(noun, det == "B", adj)]
    if det in "IL":
        phrase = the(noun)
        return [phrase if det == "I" else phrase._replace(en=noun.en)]
    if det in "pP":
        return [my(noun, key, det == "P", adj)]
    if det in "rR":
        phrase = the(noun, det == "R", adj)
        english = the(noun, det == "R" or key in ("we", "they"), adj).en
        return [phrase._replace(en=MY[key] + english[3:])]
    if det == "t":
        return [this(noun, False, far, adj) for far in (False, True)]
    if det == "q":
        rows = [(es.adjective(q, gender(noun), True), w) for q, w in MANY[:3]]
        return [_built(q, w, noun, True, adj) for q, w in rows]
    return [some(noun, n, adj) for n in ((2, 3) if det == "m" else (2, 2, 3, 4, 5, 6))]


@cache
def objects(token: str, key: str) -> tuple[Phrase, ...]:
    """All phrases for an object token `determiner.class`.

    i a/an, g a good, d the, D the + plural, b bare, B bare plural, o bare without adjective,
    I the (instrument), L article in Spanish only, p/P possessive, r/R article in Spanish and
    possessive in English, t this/that, q many/some/several, n two to six, m two or three;
    c a city, k a country.
    """
    det, _, name = token.partition(".")
    if det in "ck":
        rows = lx.CITIES if det == "c" else lx.COUNTRIES
        return tuple(Phrase(*row[:2]) for row in rows)
    result: list[Phrase] = []
    for noun in NOUNS[name]:
        adjectives = lx.SUITS.get(name, "").split() if det not in "oIL" else []
        if det in "mnq":
            adjectives = adjectives[:2]
        plain = max(1, len(adjectives))
        for adj in [""] * plain + adjectives:
            result.extend(_determined(det, noun, adj, key))
    return tuple(result)
