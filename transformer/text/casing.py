"""Letter case: recognise text in capitals or in title case, and give a text another case.

A model has seen few capitals and reads HOLA as letters to spell. So a text in capitals is
translated in lower case, and its translation is put in capitals again.
"""

import re

from transformer.text.language import LETTER_RUN, WORD

# Words that have a capital inside a sentence in titles only.
_FUNCTION = """a al and are as at be but by con de del el en es for from has in is it la las lo
    los mi my no not o of on or para pero por que se su that the their this to un una was with y
    you"""
FUNCTION_WORDS = frozenset(_FUNCTION.split())
# Words that stand in no name of a person or a place.
_OTHERS = """all any can could did do does don't had has have he her his how i'm if it's its me
    never she some that's they these those too very we what when where which who why will would you
    algo algún alguna cada cómo cuál cuándo cuánto desde dónde él ella ellos eres está están estoy
    esto fue ha hay he me muy más nada nos nunca o qué quién sin sobre son soy su sus te tiene todo
    tu tus un usted ya yo"""
_IN_NAMES = "al and de del el la las los of the y"
NON_NAME_WORDS = (FUNCTION_WORDS | {*_OTHERS.split()}) - {*_IN_NAMES.split()}
MIN_TITLE_WORDS = 5  # a shorter text may be a name
MIN_CAPITALIZED_WORDS = 3  # a shorter text may be a sentence: Soy Tom
# Words that have no capital within most titles.
_SMALL_WORDS = """a an and as at but by for from in into of on or the to with
    al con de del e el en la las lo los o para por un una y"""
SMALL_WORDS = frozenset(_SMALL_WORDS.split())
_END = re.compile(r"[.?!…]\W*$")
_ROMAN = re.compile(r"[IVXLCDM]+")
# A word in capitals that is no Roman numeral; VI may be the Spanish verb.
_CAPITALS = re.compile(r"\b(?!(?!VI\b)(?=[IVX]{2,}\b)X{0,3}(?:IX|IV|V?I{0,3})\b)\w+")
_NO_ACRONYM = re.compile(r"\b(?!\w[A-ZÁÉÍÓÚÑ]+\b)\w+")


def is_all_caps(text: str) -> bool:
    """Tell whether all letters are capitals: two words or more, or one of more than three letters.

    Roman numerals do not count.
    """
    if not text.isupper():
        return False
    words = [word for word in LETTER_RUN.findall(text) if not _ROMAN.fullmatch(word)]
    return len(words) > 1 or any(len(word) > 3 for word in words)


def is_title_case(text: str) -> bool:
    """Tell whether all of 5 words or more have capitals, and a later one is a function word."""
    words = _capitalized_words(text, MIN_TITLE_WORDS)
    return any(word.lower() in FUNCTION_WORDS for word in words[1:])


def may_be_title_case(text: str) -> bool:
    """Tell whether all of 3 words or more have capitals, with a final mark or a non-name word."""
    words = _capitalized_words(text, MIN_CAPITALIZED_WORDS)
    has_end = bool(words) and _END.search(text) is not None
    return has_end or any(word.lower() in NON_NAME_WORDS for word in words)


def is_heading(text: str) -> bool:
    """Tell whether all of 3 words or more have capitals but small ones: A Tale of Two Cities."""
    words = WORD.findall(text)
    others = [word for word in words if word not in SMALL_WORDS]
    is_capitalized = all(word[0].isupper() for word in others) and text[:1].isupper()
    is_one = "." not in text[:-1] and len(words) > 2 and 1 < len(others) < len(words)
    return is_one and is_capitalized


def heading_case(text: str) -> str:
    """Return the text with a capital for the first word and all but small ones (of, the)."""
    words = re.split(r"(\s+)", text)
    return capitalize_first("".join(w if w in SMALL_WORDS else capitalize_first(w) for w in words))


def _capitalized_words(text: str, fewest: int) -> list[str]:
    """Return the words of a text if `fewest` or more and each begins with a capital, else none."""
    words = WORD.findall(text)
    is_title = len(words) >= fewest and all(word[0].isupper() for word in words)
    return words if is_title and not text.isupper() else []


def is_capitalized_word(text: str) -> bool:
    """Tell whether a text is one word with a capital and nothing else: not FBI or ¡Hola!"""
    return len(text) > 1 and text.isalpha() and text.istitle()


def is_lowercase_phrase(text: str) -> bool:
    """Tell whether a text is one to three words in lower case and nothing else: buenos días."""
    return text.islower() and re.fullmatch(r"[^\W\d_]+(?: [^\W\d_]+){0,2}", text) is not None


def capitalize_first(text: str) -> str:
    """Return the text with a capital first character, the others as they are."""
    return text[:1].upper() + text[1:]


def lowercase(text: str) -> str:
    """Return the text in lower case, but for Roman numerals: CAPÍTULO XIV -> capítulo XIV.

    If not all of it is in capitals, words that are stay: Informe de la ONU.
    """
    if not text.isupper():
        return _NO_ACRONYM.sub(lambda word: word[0].lower(), text)
    return _CAPITALS.sub(lambda word: word[0].lower(), text)


def title_case(text: str) -> str:
    """Return the text with a capital at the beginning of each word."""
    return "".join(map(capitalize_first, re.split(r"(\s+)", text)))


def match_initial_case(text: str, model: str) -> str:
    """Make the first letter lowercase if that of `model` is; words such as I and FBI stay."""
    first, wanted = LETTER_RUN.search(text), LETTER_RUN.search(model)
    if first is None or wanted is None or not wanted[0][0].islower():
        return text
    word, start = first[0], first.start()
    if word != "A" and not (word[0].isupper() and word[1:].islower()):
        return text
    return text[:start] + word[0].lower() + text[start + 1 :]


def match_final_mark(text: str, model: str) -> str:
    """Remove the final punctuation mark of a text if `model` does not end with one."""
    if text[-1:] in ".!?" and model.rstrip()[-1:] not in ".!?…" and not text.endswith("..."):
        return text[:-1].rstrip()
    return text
