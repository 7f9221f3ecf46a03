"""Slips of the keyboard: a word that no text has is read as the frequent one that was meant.

A model spells an unknown word out and mostly writes nonsense for it. Which word was meant is asked
of two things, as in a noisy channel (Kernighan et al. 1990): what a finger does, and how frequent
the words are. Names, codes and everything with a capital stay. Knows no model.
"""

import functools
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FREQUENT = 20  # times that a word was met to be what another one is read as
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


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a language: `rank` of the frequent ones, 0 for the first, and the others."""

    rank: Mapping[str, int]
    others: frozenset[str]

    def meant(self, word: str) -> str:
        """The most frequent word that this one may be a slip of; itself, if known, or if none."""
        if word in self.rank or word in self.others:
            return word
        found = {other for other in sources(word) if other in self.rank}
        return min(found, key=self.rank.__getitem__, default=word)


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


def count(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """The frequent words of the texts, the most frequent first, and the others, sorted."""
    found = re.compile(rf"(?<![\w'’])[{LETTERS}]+(?![\w'’])")
    counts = Counter(word for text in texts for word in found.findall(text.lower()))
    order = sorted(counts, key=lambda word: (-counts[word], word))
    n = sum(times >= FREQUENT for times in counts.values())
    return order[:n], sorted(order[n:])


def table(lang: str) -> Path:
    """Where the words of a language are kept; `data/spelling.py` writes it."""
    return FOLDER / f"spelling.{lang}.xz"


@functools.cache
def words(lang: str) -> Words | None:
    """What `count` gave for a language; None for one that was not counted."""
    if not table(lang).is_file():
        return None
    frequent, others = lzma.decompress(table(lang).read_bytes()).decode().split("\n")
    rank = {word: place for place, word in enumerate(frequent.split())}
    return Words(rank, frozenset(others.split()))


def mended(text: str, lang: str, n_pieces: Callable[[str], int]) -> tuple[str, list[str]]:
    """The text with its slips undone, and what was: "qiero ir" -> "quiero ir", ["qiero ..."].

    `n_pieces` says in how many pieces a model spells a word. What it knows as well as the frequent
    word, from texts that were not counted here, stays.
    """
    known = words(lang)
    undone: list[str] = []
    if known is None:
        return text, undone

    def meant(found: re.Match[str]) -> str:
        word = found.group()
        other = known.meant(word)
        if other == word or n_pieces(other) > n_pieces(word):
            return word
        undone.append(f"{word} read as {other}")
        return other

    return WORD.sub(meant, text), undone
