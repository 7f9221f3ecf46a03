"""How words are written: capitals; and slips, lost accents and opening marks, put right.

A model sees few capitals, and takes HOLA for letters that it has to spell. So a text that shouts or
is written like a title is translated from its small letters, and its translation is raised again.

A model spells an unknown word out and mostly writes nonsense for it. Which word was meant is asked
of two things, as in a noisy channel (Kernighan et al. 1990): what a finger does, and how frequent
the words are. Names, codes and everything with a capital stay.

A Spanish word without its accent is another word to a model, or none. What only one spelling fits
gets it back: "manana" can only be "mañana". What two fit, such as "esta", is left to the model.
"""

import functools
import lzma
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "tables"
ACCENTS = FOLDER / "accents.tsv"
WORD = re.compile(
    r"(?<![\w@/.:<{%$'’-])[a-zß-öø-ÿ]{4,24}+(?![\w@/:>}'’-]|\.\w)"
)  # in small letters, in no address, no name, and no longer than any frequent word
LETTERS = "abcdefghijklmnopqrstuvwxyzáéíóúüñ"
_MARKS = {"a": "á", "e": "é", "i": "í", "o": "ó", "u": "úü", "n": "ñ"}
_KEYS = ("qwertyuiop", "asdfghjklñ", "zxcvbnm")
NEXT_KEYS: Mapping[str, list[str]] = {
    key: [other for pair in pairwise(row) if key in pair for other in pair if other != key]
    for row in _KEYS
    for key in row
}


FEWEST, NATIVE = 4, 0.65  # words by which a language is told, and the share that is known of it

ANY_WORD = re.compile(r"[^\W\d_]+")
ACCENTED = re.compile(r"[áéíóúüñÁÉÍÓÚÜÑ]")
_QUESTION_WORDS = {
    "que": "qué", "quien": "quién", "quienes": "quiénes", "como": "cómo", "cuando": "cuándo",
    "donde": "dónde", "cual": "cuál", "cuales": "cuáles", "cuanto": "cuánto", "cuanta": "cuánta",
    "cuantos": "cuántos", "cuantas": "cuántas",
}  # fmt: skip
_BEFORE = r"(?:(?:a|de|en|con|por|para|desde|hasta) )?"
_ASKED = re.compile(rf"(¿{_BEFORE}(?:y |pero )?)({'|'.join(_QUESTION_WORDS)})\b", re.IGNORECASE)
_CLAUSE = re.compile(
    rf"[,;:] +(?={_BEFORE}(?:{'|'.join(_QUESTION_WORDS)})\b[^,;:]*$)", re.IGNORECASE
)
_STOP = re.compile(r"[.!?…]\s+")
_FIRST = re.compile(r"[^\s\"'«“‘(\[?!—–-]")
_OPENING = {"?": "¿", "!": "¡"}
_WHOLE = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")  # don't is one
_SMALL = """a al and are as at be but by con de del el en es for from has in is it la las lo los mi
    my no not o of on or para pero por que se su that the their this to un una was with y you"""
SMALL = frozenset(_SMALL.split())  # words that have a capital inside a sentence in titles only
_NAMING = "al and de del el la las los of the y"  # stand in names as well
_TELLING = """all any can could did do does don't had has have he her his how i'm if it's its me
    never she some that's they these those too very we what when where which who why will would you
    algo algún alguna cada cómo cuál cuándo cuánto desde dónde él ella ellos eres está están estoy
    esto fue ha hay he me muy más nada nos nunca o qué quién sin sobre son soy su sus te tiene todo
    tu tus un usted ya yo"""
# What no name of people or places has.
TELLING = (SMALL | {*_TELLING.split()}) - {*_NAMING.split()}
TITLE_WORDS = 5  # that a title has at least; what is shorter may be a name
RAISED_WORDS = 3  # that may be a title; what is shorter may be a sentence: Soy Tom
_END = re.compile(r"[.?!…]\W*$")
_ROMAN = re.compile(r"[IVXLCDM]+")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a language: `rank` of the frequent ones, 0 for the first, and the others."""

    rank: Mapping[str, int]
    others: frozenset[str]

    def correction(self, word: str) -> str:
        """The most frequent word that this one may be a slip of; itself, if known, or if none."""
        if word in self.rank or word in self.others:
            return word
        candidates = {other for other in sources(word) if other in self.rank}
        return min(candidates, key=self.rank.__getitem__, default=word)


def sources(word: str) -> Iterator[str]:
    """What one slip makes this of: a letter lost, doubled, swapped, unmarked, a key beside."""
    for i in range(len(word) + 1):
        yield from (word[:i] + letter + word[i:] for letter in LETTERS)
    for i, letter in enumerate(word):
        for other in (*NEXT_KEYS.get(letter, ()), *_MARKS.get(letter, "")):
            yield word[:i] + other + word[i + 1 :]
        if letter == word[i - 1 : i]:
            yield word[:i] + word[i + 1 :]
        elif i:
            yield word[: i - 1] + letter + word[i - 1] + word[i + 1 :]


def table(lang: str) -> Path:
    """Where the words of a language are kept; `data/tables.py` writes it."""
    return FOLDER / f"spelling.{lang}.xz"


@functools.cache
def words(lang: str) -> Words | None:
    """The words of a language, as `data/tables.py` counts them; None for one that it does not."""
    if not table(lang).is_file():
        return None
    frequent, others = lzma.decompress(table(lang).read_bytes()).decode().split("\n")
    rank = {word: place for place, word in enumerate(frequent.split())}
    return Words(rank, frozenset(others.split()))


def correct(text: str, lang: str, n_pieces: Callable[[str], int]) -> tuple[str, list[str]]:
    """The text with its slips undone, and what was: "qiero ir" -> "quiero ir", ["qiero ..."].

    `n_pieces` says in how many pieces a model spells a word. What it knows as well as the frequent
    word, from texts that were not counted here, stays.
    """
    known = words(lang)
    undone: list[str] = []
    if known is None:
        return text, undone

    def read(match: re.Match[str]) -> str:
        word = match.group()
        other = known.correction(word)
        if other == word or n_pieces(other) > n_pieces(word):
            return word
        undone.append(f"{word} read as {other}")
        return other

    return WORD.sub(read, text), undone


def is_known(text: str, lang: str) -> bool:
    """Whether each word of a text was met in the language; so is all, of one not counted."""
    known = words(lang)
    return known is None or all(
        len(word) < 3 or word in known.rank or word in known.others  # 'll, ve, Mr
        for word in ANY_WORD.findall(text.lower())
    )


def is_foreign(text: str, lang: str) -> bool:
    """Whether a text does not read like the language: too few of its words are known.

    A word that is not frequent counts half, as those counted have some of other languages. Of the
    sentences of the project's own corpus 0.3 % are taken for foreign; names do not count.
    """
    known = words(lang)
    found = ANY_WORD.findall(text)
    if not text.isupper():
        found = [word for i, word in enumerate(found) if not i or word.islower()]
    if known is None or len(found) < FEWEST:
        return False
    read = [word.lower() for word in found]
    worth = sum(2 if word in known.rank else word in known.others for word in read)
    return worth < 2 * NATIVE * len(read)


def plain(text: str) -> str:
    """The text without marks above and below its letters: mañana -> manana."""
    parts = unicodedata.normalize("NFD", text)
    return "".join(c for c in parts if unicodedata.category(c) != "Mn")


@functools.cache
def accents() -> Mapping[str, str]:
    """Words by their form without accents, as `data/tables.py` counts them."""
    return {plain(word): word for word in ACCENTS.read_text(encoding="utf-8").split()}


def restore_accents(text: str) -> str:
    """A Spanish sentence with opening marks and, if it has none at all, with its accents.

    "Hola, como estas manana?" -> "Hola, ¿cómo estas mañana?"; case and length of words stay.
    """
    text = _opened(text)
    if ACCENTED.search(text):
        return text
    text = ANY_WORD.sub(lambda match: _spelt(match.group()), text)
    return _ASKED.sub(lambda m: m[1] + _cased(_QUESTION_WORDS[m[2].lower()], m[2]), text)


def _spelt(word: str) -> str:
    known = accents().get(word.lower())
    return _cased(known, word) if known else word


def _cased(text: str, model: str) -> str:
    if model.isupper() and len(model) > 1:
        return text.upper()
    return text.capitalize() if model[0].isupper() else text


def _opened(text: str) -> str:
    """With ¿ or ¡ where a sentence ends with ? or ! and has none."""
    mark = _OPENING.get(text.rstrip()[-1:])
    if mark is None or "¿" in text or "¡" in text:
        return text
    last = max((stop.end() for stop in _STOP.finditer(text)), default=0)
    first = _FIRST.search(text, last)
    if first is None:
        return text
    clause = _CLAUSE.search(text, last) if mark == "¿" else None
    at = clause.end() if clause else first.start()
    return text[:at] + mark + text[at:]


def is_shouted(text: str) -> bool:
    """Whether all letters are capitals: two words or more, or one of more than three letters."""
    if not text.isupper():
        return False
    words = [word for word in ANY_WORD.findall(text) if not _ROMAN.fullmatch(word)]
    return len(words) > 1 or any(len(word) > 3 for word in words)


def is_title(text: str) -> bool:
    """Whether every word has a capital, those too that no name begins with: La Casa De Mi Madre."""
    words = _WHOLE.findall(text)
    raised = len(words) >= TITLE_WORDS and _is_raised(words, text)
    return raised and any(word.lower() in SMALL for word in words[1:])


def may_be_title(text: str) -> bool:
    """Whether every word has a capital and it is no mere name: Me Gusta Leer, Tom Smith Is Here."""
    words = _WHOLE.findall(text)
    if len(words) < RAISED_WORDS or not _is_raised(words, text):
        return False
    return any(word.lower() in TELLING for word in words) or _END.search(text) is not None


def _is_raised(words: Sequence[str], text: str) -> bool:
    return all(word[0].isupper() for word in words) and not text.isupper()


def is_lone(text: str) -> bool:
    """Whether it is one word with a capital and nothing else: Manzana, not FBI or ¡Hola!"""
    return len(text) > 1 and text.isalpha() and text.istitle()


def capitalised(text: str) -> str:
    """The text with a capital first character, the others as they are."""
    return text[:1].upper() + text[1:]


def titled(text: str) -> str:
    """The text with a capital at the beginning of each word."""
    parts = re.split(r"(\s+)", text)
    return "".join(map(capitalised, parts))


def begins_like(text: str, model: str) -> str:
    """The text with a small first letter, if `model` begins with one; I and FBI stay."""
    first, wanted = ANY_WORD.search(text), ANY_WORD.search(model)
    if first is None or wanted is None or not wanted.group()[0].islower():
        return text
    word, at = first.group(), first.start()
    if word == "I" or not (word == "A" or (word[0].isupper() and word[1:].islower())):
        return text
    return text[:at] + word[0].lower() + text[at + 1 :]


def ends_like(text: str, model: str) -> str:
    """The text without the final mark that `model` does not end with."""
    if text[-1:] in ".!?" and model.rstrip()[-1:] not in ".!?…" and not text.endswith("..."):
        return text[:-1].rstrip()
    return text
