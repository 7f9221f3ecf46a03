"""Capitals: tells a text that shouts, or that is written like a title.

A model sees few capitals, and takes HOLA for letters that it has to spell. So such a text is
translated from its small letters, and its translation is raised again.
"""

import re
from collections.abc import Sequence

_WORD = re.compile(r"[^\W\d_]+")
_WHOLE = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")  # don't is one
_FUNCTION = """a al and are as at be but by con de del el en es for from has in is it la las lo
    los mi my no not o of on or para pero por que se su that the their this to un una was with y
    you"""
FUNCTION_WORDS = frozenset(
    _FUNCTION.split()
)  # words that have a capital inside a sentence in titles only
_IN_NAMES = "al and de del el la las los of the y"  # stand in names as well
_NOT_IN_NAMES = """all any can could did do does don't had has have he her his how i'm if it's
    its me never she some that's they these those too very we what when where which who why will
    would you algo algún alguna cada cómo cuál cuándo cuánto desde dónde él ella ellos eres está
    están estoy esto fue ha hay he me muy más nada nos nunca o qué quién sin sobre son soy su
    sus te tiene todo tu tus un usted ya yo"""
# What no name of people or places has.
NON_NAME_WORDS = (FUNCTION_WORDS | {*_NOT_IN_NAMES.split()}) - {*_IN_NAMES.split()}
MIN_TITLE_WORDS = 5  # that a title has at least; what is shorter may be a name
MIN_CAPITALIZED_WORDS = 3  # that may be a title; what is shorter may be a sentence: Soy Tom
_END = re.compile(r"[.?!…]\W*$")
_ROMAN = re.compile(r"[IVXLCDM]+")


def is_all_caps(text: str) -> bool:
    """Whether all letters are capitals: two words or more, or one of more than three letters."""
    if not text.isupper():
        return False
    words = [word for word in _WORD.findall(text) if not _ROMAN.fullmatch(word)]
    return len(words) > 1 or any(len(word) > 3 for word in words)


def is_title_case(text: str) -> bool:
    """Whether every word has a capital, those too that no name begins with: La Casa De Mi Madre."""
    words = _WHOLE.findall(text)
    raised = len(words) >= MIN_TITLE_WORDS and _all_capitalized(words, text)
    return raised and any(word.lower() in FUNCTION_WORDS for word in words[1:])


def may_be_title_case(text: str) -> bool:
    """Whether every word has a capital and it is no mere name: Me Gusta Leer, Tom Smith Is Here."""
    words = _WHOLE.findall(text)
    if len(words) < MIN_CAPITALIZED_WORDS or not _all_capitalized(words, text):
        return False
    return any(word.lower() in NON_NAME_WORDS for word in words) or _END.search(text) is not None


def _all_capitalized(words: Sequence[str], text: str) -> bool:
    return all(word[0].isupper() for word in words) and not text.isupper()


def is_capitalized_word(text: str) -> bool:
    """Whether it is one word with a capital and nothing else: Manzana, not FBI or ¡Hola!"""
    return len(text) > 1 and text.isalpha() and text.istitle()


def is_lowercase_phrase(text: str) -> bool:
    """Whether it is one to three words in small letters and nothing else: hola, buenos días."""
    return text.islower() and re.fullmatch(r"[^\W\d_]+(?: [^\W\d_]+){0,2}", text) is not None


def capitalize_first(text: str) -> str:
    """The text with a capital first character, the others as they are."""
    return text[:1].upper() + text[1:]


def title_case(text: str) -> str:
    """The text with a capital at the beginning of each word."""
    return "".join(map(capitalize_first, re.split(r"(\s+)", text)))


def match_initial_case(text: str, model: str) -> str:
    """The text with a small first letter, if `model` begins with one; I and FBI stay."""
    first, wanted = _WORD.search(text), _WORD.search(model)
    if first is None or wanted is None or not wanted.group()[0].islower():
        return text
    word, at = first.group(), first.start()
    if word == "I" or not (word == "A" or (word[0].isupper() and word[1:].islower())):
        return text
    return text[:at] + word[0].lower() + text[at + 1 :]


def match_final_mark(text: str, model: str) -> str:
    """The text without the final mark that `model` does not end with."""
    if text[-1:] in ".!?" and model.rstrip()[-1:] not in ".!?…" and not text.endswith("..."):
        return text[:-1].rstrip()
    return text
