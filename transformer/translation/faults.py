"""What can be seen to be wrong with a translation without knowing the languages.

The known failures of such models: endless repetition, the source instead of a translation, words
that are dropped, numbers and protected tokens that are lost. Knows strings only; what is done
about a fault is the business of `careful`.
"""

import operator
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

MAX_GRAM, N_TIMES = 8, 3  # a loop: 1 to 8 words, 3 times in a row
LONG_WORD = 12  # letters; one that is longer is looked through for a loop within
_SHARED = """a al animal central color come concert control error general hardware has he hospital
    hotel idea individual internet local marketing me mental metal no normal once online original
    particular personal piano plan postal radio real regular religion social software son taxi
    televisor total usual version vital web"""
SHARED = frozenset(_SHARED.split())  # words of both languages

_MARKS = str.maketrans(dict.fromkeys(",.;:!?¡¿\"'()[]«»“”‘’—–…-/*_\ufffd", " "))
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
FOURFOLD = [4 * letter for letter in "abcdefghijklmnopqrstuvwxyzáéíóúüñ"]  # no word has that
_WITHIN = re.compile(r"(\w{2,12}?)\1\1")
_SPELLED = """0 zero cero|1 one first once un uno una primer primero primera|2 two second twice dos
    segundo segunda|3 three third tres tercer tercero tercera|4 four fourth cuatro cuarto cuarta
    |5 five fifth cinco quinto quinta|6 six sixth seis sexto sexta|7 seven seventh siete|8 eight
    eighth ocho octavo octava|9 nine ninth nueve|10 ten tenth diez|11 eleven eleventh once
    |12 twelve twelfth doce|13 thirteen trece|14 fourteen catorce|15 fifteen quince|16 sixteen
    dieciséis|17 seventeen diecisiete|18 eighteen dieciocho|19 nineteen diecinueve|20 twenty
    twenties veinte|30 thirty thirties treinta|40 forty forties cuarenta|50 fifty fifties cincuenta
    |60 sixty sixties sesenta|70 seventy seventies setenta|80 eighty eighties ochenta
    |90 ninety nineties noventa|100 hundred cien ciento|1000 thousand mil|1000000 million millón"""
SPELLED = {number: frozenset(words) for number, *words in map(str.split, _SPELLED.split("|"))}


HALF = frozenset(("half", "media", "quarter", "cuarto"))


@dataclass(frozen=True, slots=True)
class Fault:
    """A code that stays the same, how bad it is, and what it is about, as `lost: 15`."""

    code: str
    weight: int
    about: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.about}" if self.about else self.code


def badness(faults: Sequence[Fault]) -> int:
    """The measure that candidates are chosen by: less is better, 0 is without a known fault."""
    return sum(fault.weight for fault in faults)


def faults(source: str, output: str, protected: Collection[str] = ()) -> tuple[Fault, ...]:
    """The faults of the translation of one sentence, worst first; almost always none.

    `protected` are the tokens of the source that must be in the output as often as in the source.
    """
    if not protected and not _is_suspect(source, output):
        return ()
    found = _copies(source, output, protected)
    for token in protected:  # what is copied tells nothing about what is translated
        source, output = source.replace(token, " "), output.replace(token, " ")
    src, out = words(source), words(output)
    if not out:
        return (*found, Fault("empty", 10)) if any(map(str.isalpha, source)) else tuple(found)
    if _loops(out, output) and not _loops(src, source):
        found.append(Fault("repetition", 8))
    if len(src) > 2 and _is_copy(source, out):
        found.append(Fault("copied source", 6))
    if len(src) > 5 and 3 * len(out) < len(src):
        found.append(Fault("too short", 4))
    elif len(out) > 2.5 * len(src) + 6:
        found.append(Fault("too long", 4))
    if _DIGITS.search(source):
        found += [Fault("number lost", 2, number) for number in _lost(source, output)]
    return tuple(sorted(found, key=lambda fault: -fault.weight))


def _is_suspect(source: str, output: str) -> bool:
    """Whether a closer look is worth its time: a twentieth of it, and never no for a fault."""
    src, out = words(source), words(output)
    different = set(out)
    return (
        not out
        or 3 * len(out) < len(src)
        or len(out) > 2 * len(src) + 6
        or len(out) - len(different) >= N_TIMES - 1
        or len(different.intersection(src) - SHARED) > 2
        or max(map(len, out)) > LONG_WORD
        or _DIGITS.search(source) is not None
        or any(map(output.lower().__contains__, FOURFOLD))
    )


def words(text: str) -> list[str]:
    """In small letters, without the marks between them."""
    return text.lower().translate(_MARKS).split()


def _copies(source: str, output: str, protected: Collection[str]) -> list[Fault]:
    found = []
    for token in dict.fromkeys(protected):
        wanted, there = source.count(token), output.count(token)
        if there < wanted:
            found.append(Fault("missing", 20, token))
        elif there > wanted:
            found.append(Fault("doubled", 15, token))
    return found


def _loops(words: Sequence[str], text: str) -> bool:
    """Whether words, or letters within a word, come again and again."""
    if len(words) - len(set(words)) >= N_TIMES - 1:
        for n in range(1, MAX_GRAM + 1):
            same = bytes(map(operator.eq, words, words[n:]))  # as the word n places on
            if b"\1" * n * (N_TIMES - 1) in same:
                return True
        if len(words) >= 20 and len(set(words)) < 0.35 * len(words):
            return True
    if any(map(text.lower().__contains__, FOURFOLD)):
        return True
    return any(len(word) > LONG_WORD and _WITHIN.search(word) for word in words)


def _is_copy(source: str, out: Sequence[str]) -> bool:
    """Whether half of the small words of the source, and three, are words of the output."""
    small = [word for word in _LETTERS.findall(source) if word.islower() and word not in SHARED]
    same = len(set(small) & set(out))
    return same >= 3 and same >= 0.5 * len(set(small))


def _lost(source: str, output: str) -> list[str]:
    """The numbers of the source that are not in the output, in digits or in words.

    1.234,56 is 1,234.56, 17:30 may be 5:30, and the 1930s los años 30.
    """
    if "".join(_DIGITS.findall(source)) == "".join(_DIGITS.findall(output)):
        return []
    there = {_bare(digits) for kind in (_NUMBER, _DIGITS) for digits in kind.findall(output)}
    spelled = {*words(output)}
    lost = []
    for found in _NUMBER.finditer(source):
        bare = _bare(found.group())
        others = {bare[-2:]} if source.startswith("s", found.end()) else set[str]()  # the 1930s
        if len(bare) < 3:
            value, minutes = int(bare), source[found.start() - 1 : found.start()] == ":"
            others |= {str(value + 12), str(value - 12)}  # o'clock
            if minutes and (value == 0 or spelled & HALF):
                continue
        if not ({bare, *others} & there or SPELLED.get(bare, frozenset()) & spelled):
            lost.append(found.group())
    return list(dict.fromkeys(lost))


def _bare(number: str) -> str:
    """The digits alone, without zeros before them."""
    return "".join(c for c in number if c.isdecimal()).lstrip("0") or "0"
