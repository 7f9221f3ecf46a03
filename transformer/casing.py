"""Capitals: tells a text that shouts, and writes it as a sentence.

A model sees few capitals, and takes HOLA for letters that it has to spell. So such a text is
translated from its small letters, and its translation is raised again. Knows no token and no model.
"""

import re

_WORD = re.compile(r"[^\W\d_]+")
_ROMAN = re.compile(r"[IVXLCDM]+")


def is_shouted(text: str) -> bool:
    """Whether all letters are capitals: two words or more, or one of more than three letters."""
    if not text.isupper():
        return False
    words = [word for word in _WORD.findall(text) if not _ROMAN.fullmatch(word)]
    return len(words) > 1 or any(len(word) > 3 for word in words)


def sentence_case(text: str) -> str:
    """Small letters with one capital, the first letter: ¿QUÉ HORA ES? -> ¿Qué hora es?"""
    small = text.lower()
    first = _WORD.search(small)
    if first is None:
        return small
    at = first.start()
    return small[:at] + small[at].upper() + small[at + 1 :]


def begins_like(text: str, model: str) -> str:
    """The text with a small first letter, if `model` begins with one; I and FBI stay."""
    first, wanted = _WORD.search(text), _WORD.search(model)
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
