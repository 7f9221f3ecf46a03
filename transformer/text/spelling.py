"""Undo what the keyboard did: typos, lost accents, and opening marks that were not typed.

A model spells an unknown word out and mostly writes nonsense for it. Which word was meant is
decided as in a noisy channel (Kernighan et al. 1990): by what a finger does, and by how frequent
the words are. Names, codes and everything with a capital stay.

A Spanish word without its accent is another word to a model, or none. What only one spelling fits
gets it back: "manana" can only be "mañana". What two fit, such as "esta", is left to the model.
"""

import functools
import lzma
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from transformer.text.language import LETTER_RUN

TABLES_FOLDER = Path(__file__).resolve().parent / "tables"
ACCENTS_TABLE = TABLES_FOLDER / "accents.tsv"
# A word in lower case, in no address, no name, and no longer than any frequent word.
LOWERCASE_WORD = re.compile(r"(?<![\w@/.:<{%$'’-])[a-zß-öø-ÿ]{4,24}+(?![\w@/:>}'’-]|\.\w)")
LETTERS = "abcdefghijklmnopqrstuvwxyzáéíóúüñ"
_ACCENTED_LETTERS = {"a": "á", "e": "é", "i": "í", "o": "ó", "u": "úü", "n": "ñ"}
NEXT_KEYS: Mapping[str, list[str]] = {
    key: [other for pair in pairwise(row) if key in pair for other in pair if other != key]
    for row in ("qwertyuiop", "asdfghjklñ", "zxcvbnm")
    for key in row
}
MIN_WORDS = 4  # by which a language is recognised
# Of the sentences of the project's own corpus 0.2 % have a lower share of known words, and 4 of
# 178,000 one that is not translated: Latin, French, Italian have 0.0 to 0.5.
MIN_KNOWN_SHARE = 0.65
MIN_TRANSLATABLE_SHARE = 0.5
N_COMMON_WORDS = 10_000  # the words of a language that hardly stand in texts of another one

FOREIGN = re.compile(r"[àâãåæçèêëìîòôõöùû]")  # in texts of a third language: pão, està
ACCENTED = re.compile(r"[áéíóúüñÁÉÍÓÚÜÑ]")
_WORD = re.compile(r"(?<![^\W_])[^\W\d_ºª]+")  # not the letters of 21st or 2.º
_QUESTION_WORDS = {
    "que": "qué", "quien": "quién", "quienes": "quiénes", "como": "cómo", "cuando": "cuándo",
    "donde": "dónde", "cual": "cuál", "cuales": "cuáles", "cuanto": "cuánto", "cuanta": "cuánta",
    "cuantos": "cuántos", "cuantas": "cuántas",
}  # fmt: skip
_PREPOSITION = r"(?:(?:a|de|en|con|por|para|desde|hasta) )?"
_QUESTION_WORD = f"(?:{'|'.join(_QUESTION_WORDS)})"
_UNACCENTED_QUESTION = re.compile(
    rf"(¿{_PREPOSITION}(?:y |pero )?)({_QUESTION_WORD})\b", re.IGNORECASE
)
_CLAUSE = re.compile(rf"[,;:] +(?={_PREPOSITION}{_QUESTION_WORD}\b[^,;:]*$)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…]\s+")
_FIRST_LETTER = re.compile(r"[^\s\"'«“‘(\[?!—–-]")


@dataclass(frozen=True, slots=True)
class WordList:
    """The words of a language: `rank` of the frequent ones, 0 for the first, and the others."""

    rank: Mapping[str, int]
    others: frozenset[str]

    def __contains__(self, word: str) -> bool:
        return word in self.rank or word in self.others

    def correction(self, word: str) -> str:
        """Return the most frequent word of which `word` is a typo, if any; else `word` itself."""
        if word in self or not self.rank:
            return word
        candidates = {other for other in single_edits(word) if other in self.rank}
        return min(candidates, key=self.rank.__getitem__, default=word)


def single_edits(word: str) -> Iterator[str]:
    """Yield the words of which one typo makes `word`.

    A typo loses, doubles, swaps or mistypes a letter, or leaves out an accent.
    """
    for i in range(len(word) + 1):
        yield from (word[:i] + letter + word[i:] for letter in LETTERS)
    for i, letter in enumerate(word):
        for other in (*NEXT_KEYS.get(letter, ()), *_ACCENTED_LETTERS.get(letter, "")):
            yield word[:i] + other + word[i + 1 :]
        if letter == word[i - 1 : i]:
            yield word[:i] + word[i + 1 :]
        elif i:
            yield word[: i - 1] + letter + word[i - 1] + word[i + 1 :]


def read_lists(path: Path) -> list[list[str]]:
    """Return the lists of an xz table: each line is a list of words with spaces between."""
    return [line.split() for line in lzma.decompress(path.read_bytes()).decode().split("\n")]


def table_path(lang: str) -> Path:
    """Return where the words of a language are kept; `data/tables.py` writes them."""
    return TABLES_FOLDER / f"spelling.{lang}.xz"


@functools.cache
def load_words(lang: str) -> WordList:
    """Return the words of a language, which `data/tables.py` collects; none without a table."""
    if not table_path(lang).is_file():
        return WordList({}, frozenset())
    frequent, others = read_lists(table_path(lang))
    return WordList({word: place for place, word in enumerate(frequent)}, frozenset(others))


def correct_spelling(text: str, lang: str, n_pieces: Callable[[str], int]) -> tuple[str, list[str]]:
    """Return the text without typos, and what they were: "quiero ir", ["qiero read as quiero"].

    `n_pieces` returns the number of vocabulary pieces of a word. A word with fewer pieces than its
    correction stays: the model knows it from texts that the word lists do not count.
    """
    known, typos = load_words(lang), list[str]()

    def correct(match: re.Match[str]) -> str:
        word = match[0]
        other = known.correction(word)
        if other == word or n_pieces(other) > n_pieces(word):
            return word
        typos.append(f"{word} read as {other}")
        return other

    return LOWERCASE_WORD.sub(correct, text), typos


def has_only_known_words(text: str, lang: str) -> bool:
    """Return whether the language has each word of a text; True if it has no word list."""
    known = load_words(lang)
    return not known.rank or all(
        len(word) < 3 or word in known  # 'll, ve, Mr
        for word in LETTER_RUN.findall(text.lower())
    )


def known_word_share(text: str, lang: str) -> tuple[float, int]:
    """Return the share (0 to 1) of a text's words that a language has, and the number of words.

    Names do not count. A rare word counts half, as the word lists contain some foreign words.
    Returns (1.0, 0) for a text without words and for a language without a list.
    """
    known = load_words(lang)
    found = _WORD.findall(text)
    if not text.isupper():
        found = [word for i, word in enumerate(found) if not i or word.islower()]
    if not (known.rank and found):
        return 1.0, 0
    rank, others, least = known.rank, known.others, N_COMMON_WORDS
    points = [
        (rank.get(word, least) < least) + (word in rank or word in others)
        for word in map(str.lower, found)
    ]
    return sum(points) / (2 * len(points)), len(points)


def reads_foreign(share: float, n_words: int) -> bool:
    """Return whether a text reads like another language, by its `known_word_share`."""
    return n_words >= MIN_WORDS and share < MIN_KNOWN_SHARE


def is_non_latin(text: str) -> bool:
    """Return whether a text has MIN_WORDS or more letters that are not Latin, as in Привет."""
    letters = filter(str.isalpha, strip_accents(text))
    return sum(not unicodedata.name(c, "").startswith("LATIN") for c in letters) >= MIN_WORDS


def strip_accents(text: str) -> str:
    """Return the text without marks above and below its letters: mañana -> manana."""
    parts = unicodedata.normalize("NFD", text)
    return "".join(c for c in parts if unicodedata.category(c) != "Mn")


@functools.cache
def accented_words() -> Mapping[str, str]:
    """Return {"manana": "mañana"} of all Spanish words that are hardly written without accents."""
    words = ACCENTS_TABLE.read_text(encoding="utf-8").split()
    return {strip_accents(word): word for word in words}


def match_case(word: str, model: str) -> str:
    """Give a lowercase word the case of `model`: all caps or capitalized ("A" is capitalized)."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word.capitalize() if model[:1].isupper() else word


def restore_accents(text: str) -> str:
    """Add opening marks to a Spanish sentence and, if it has no accents at all, accents.

    "Hola, como estas manana?" -> "Hola, ¿cómo estas mañana?": a question word behind ¿ gets its
    accent, and a word that only one spelling fits; "estas" is a word, too. Case and length stay.
    """
    text = _add_opening_mark(text)
    if ACCENTED.search(text):
        return text
    text = LETTER_RUN.sub(_add_accent, text)
    return _UNACCENTED_QUESTION.sub(
        lambda m: m[1] + match_case(_QUESTION_WORDS[m[2].lower()], m[2]), text
    )


def _add_accent(match: re.Match[str]) -> str:
    word = accented_words().get(match[0].lower())
    return match_case(word, match[0]) if word else match[0]


def _add_opening_mark(text: str) -> str:
    """Add ¿ or ¡ to the last sentence of a text that ends with ? or ! and has neither.

    It goes to the beginning, or ¿ to a last clause with a question word: "Hola, ¿cómo estás?"
    """
    mark = {"?": "¿", "!": "¡"}.get(text.rstrip()[-1:])
    if mark is None or "¿" in text or "¡" in text:
        return text
    last = max((stop.end() for stop in _SENTENCE_END.finditer(text)), default=0)
    first = _FIRST_LETTER.search(text, last)
    if first is None:
        return text
    clause = _CLAUSE.search(text, last) if mark == "¿" else None
    at = clause.end() if clause else first.start()
    return text[:at] + mark + text[at:]
