"""Capitals: tells a text that shouts, or that is written like a title.

A model sees few capitals, and takes HOLA for letters that it has to spell. So such a text is
translated from its small letters, and its translation is raised again. Knows no token and no model.
"""

import re

_WORD = re.compile(r"[^\W\d_]+")
_SMALL = """a al and are as at be but by con de del el en es for from has in is it la las lo los mi
    my no not o of on or para pero por que se su that the their this to un una was with y you"""
SMALL = frozenset(_SMALL.split())  # words that have a capital inside a sentence in titles only
TITLE_WORDS = 5  # that a title has at least; what is shorter may be a name
_ROMAN = re.compile(r"[IVXLCDM]+")


def is_shouted(text: str) -> bool:
    """Whether all letters are capitals: two words or more, or one of more than three letters."""
    if not text.isupper():
        return False
    words = [word for word in _WORD.findall(text) if not _ROMAN.fullmatch(word)]
    return len(words) > 1 or any(len(word) > 3 for word in words)


def is_title(text: str) -> bool:
    """Whether every word has a capital, those too that no name begins with: La Casa De Mi Madre."""
    words = _WORD.findall(text)
    return (
        len(words) >= TITLE_WORDS
        and all(word[0].isupper() for word in words)
        and any(word.lower() in SMALL for word in words[1:])
        and not text.isupper()
    )


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
