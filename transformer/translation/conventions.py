"""Conventions of the two languages: signs, amounts, times, ordinals and abbreviations.

Before translation, a text is normalized to the spelling that is usual in a corpus. Afterwards, the
times, amounts and signs of the source are written as is usual in the target language.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection

from transformer.text.abbreviations import expand_abbreviations
from transformer.text.placeholders import find_protected
from transformer.text.quotes import find_quotes, localize_quotes
from transformer.text.spelling import load_words
from transformer.text.times import correct_times, find_times, format_time
from transformer.translation.quality_checks import NUMERALS, term_pattern

_DEGREE = re.compile(r"(?<=\d)(\s?)º(?=\s?[CFK]\b)")  # of an ordinal, typed for that of degrees
_INCHES = re.compile(r"(?<![\d'’.,])(\d+(?:[.,]\d+)?)[\"″](?!\w)")  # not those of 6'2"
_INCH_WORDS = {"en": "inches", "es": "pulgadas"}
_SCALED = re.compile(
    r"(?<=[$€£])(?P<number>\d+(?:\.\d+)?)(?:(?P<k>k)|(?P<m>mn?)|bn?)\b(?!/)", re.IGNORECASE
)  # $40k
_NUMBERED = re.compile(r"\b([Nn])[º°]\s?(?=\d)")
# A soft hyphen, marks that stand for usual ones, and the ligatures of printed pages.
_REPLACEMENTS = {0xAD: None, 0x2010: "-", 0x2011: "-", 0x2012: "–", 0x2015: "—"}
_REPLACEMENTS |= {n: unicodedata.normalize("NFKC", chr(n)) for n in range(0xFB00, 0xFB07)}

# Words joined as alternatives or as a span of days; a model knows words by the space before them.
_DAY = (
    "lunes|martes|miércoles|jueves|viernes|sábado|domingo"
    "|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
)
_LETTERS = "[a-zñáéíóúü]{2,}(?:-[a-zñáéíóúü]{2,})?"
_JOINED = re.compile(
    rf"(?<![\w/:.@#\\&-])(?!and/or\b){_LETTERS}(?:/{_LETTERS})+(?![\w/:@\\-]|\.\w)"
    rf"|\b(?:{_DAY})[-–](?:{_DAY})\b",
    re.IGNORECASE,
)
_JOINT = re.compile("[/–-]")  # most texts have none
_SPACED = re.compile(r"(?<=\w)(?: ?/ ?| - | – )(?=\w)")

# Centuries in Roman numerals: siglos XVI y XVII, del siglo V al X, siglo XV y principios del XVI.
_AND = r"(?:,|,?\s(?:[yeou]|al?|hasta)|\s?[-–])"
_CENTURIES = re.compile(  # Nacional Siglo XXI is a name
    rf"(?:(?<=\bsiglo)|(?<=^Siglo))s?\s(?i:[IVX]++)\b(?:{_AND}\s?"
    r"(?:a?\s?(?:principio|inicio|final|mediado)e?s\s)?(?:de)?(?:e?l\s)?(?i:[IVX]++)\b)*"
)
_ROMAN = re.compile(r"\b[IVX]+\b", re.IGNORECASE)

MAX_ROW = 80  # characters of a row of a calendar
_WORD = re.compile(r"[^\W\d_]+")
_TABLES = [  # Spanish, English
    tuple(map(str.split, pair))
    for pair in (
        ("lun mar mié jue vie sáb dom", "mon tue wed thu fri sat sun"),
        ("lu ma mi ju vi sá do", "mo tu we th fr sa su"),
        ("ene feb mar abr may jun jul ago sep oct nov dic",
         "jan feb mar apr may jun jul aug sep oct nov dec"),
    )
]  # fmt: skip
_CALENDAR = {
    "es": [dict(zip(es, en, strict=True)) for es, en in _TABLES],
    "en": [dict(zip(en, es, strict=True)) for es, en in _TABLES],
}

# Times in spellings that a corpus hardly has: 18h30, 6.30 h, 22:00 hrs, 5PM.
_CLOCK = re.compile(
    r"(?<![\w:.,/$€£])(?:(?P<h>\d\d?)h(?P<m>[0-5]\d)\b"
    r"|(?P<hour>\d\d?)(?:[:.](?P<minute>[0-5]\d))?\s?"
    r"(?:(?P<half>[ap])\.?\s?m\b\.?|h(?:r?s)?\b(?:\.(?=\s[a-z]))?))",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?<![\w.,:/-])(?P<before>(?:US|[ACR])?[$€£¥]\s?)?(?P<number>\d+(?:[.,]\d+)*)"
    r"(?P<scale>\s?(?:[kKM]|mn|bn)\b)?(?P<after>\s?[$€£¥%])?(?!\d|[.,:/-]\d)"
)
_AMOUNT_PART = re.compile(r"\d+(?:[.,]\d+)*|[$€£¥%]")  # of an amount, as an issue names it
_LITERAL = re.compile(r"[()\[\]{}#]|[^\W\d_]\D+")  # of what is lost: brackets, numerals, names
_QUOTED = re.compile(r"[\"'«»“”‘’]")
_NTH = re.compile(r"(?<![\w.,])(\d{1,3})(st|nd|rd|th|)\b")
_OPENED = re.compile(r"([\[(]) ")
_PAUSE = re.compile(r"[,;:](?=\s)")
_ORDINAL = re.compile(r"(?<![\w.,])(n|\d{1,3})\.([oa])(?![\w)])")
_SIGN = {"o": "º", "a": "ª"}
_OF_MONTH = (
    r"(?:\sy\s(?:el\s)?\d\d?)?\sde\s(?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|\w+bre)\b"
)
_NUMBER_OR_ORDINAL = re.compile(
    rf"(?<![\w.,:/$€£-])(\d{{1,3}})(\.[ºª]|[oa])?(?![\wºª]|[.,:/-]\d|\.[oaºª]|{_OF_MONTH}|\s?[%$€£])"
)
_NOUN = re.compile(r"\s(?!como|para|d[ií]as?\b|\w*[ae]mas?\b)[a-zñáéíóú]{3,}?([a-zñáéíóú])s?\b")
_FEMININE = re.compile(r"(?si:.*\b(?:(las?|una|esta)|el|los|un|este|del|al|su|mi)\b)")


def normalize_source(text: str, lang: str) -> str:
    """Write signs, abbreviations and times as a corpus does: 180 °C, n.º 5, página 12, 18:30."""
    text = _NUMBERED.sub(r"\1.º ", _DEGREE.sub(r"\1°", text))
    text = unicodedata.normalize("NFC", text.translate(_REPLACEMENTS))
    text = expand_abbreviations(text, lang)
    if '"' in text or "″" in text:
        ends, inches = {q.end for q in find_quotes(text)[0]}, _INCH_WORDS[lang]
        text = _INCHES.sub(lambda m: m[0] if m.end() - 1 in ends else f"{m[1]} {inches}", text)
    if lang == "en":
        text = _SCALED.sub(_write_out_scale, text)
    if lang == "es" and "siglo" in text.lower():
        text = _CENTURIES.sub(lambda found: _ROMAN.sub(_english_ordinal, found[0]), text)
    return _CLOCK.sub(lambda found: _rewrite_clock(found, lang), text)


def space_alternatives(text: str, lang: str) -> str:
    """Set the words of `his/her` and `lunes-viernes` apart, if both are words of the language."""

    def space(found: re.Match[str]) -> str:
        words = load_words(lang)
        is_known = all(word.lower() in words for word in re.findall(r"\w+", found[0]))
        sign = re.search("[/–]", found[0]) or re.search("-", found[0])
        return found[0].replace(sign[0], f" {sign[0]} ") if is_known and sign else found[0]

    return _JOINED.sub(space, text) if _JOINT.search(text) else text


def join_alternatives(text: str) -> str:
    """Remove the spaces that `space_alternatives` put around signs: his / her -> his/her."""
    return _SPACED.sub(lambda found: found[0].strip(), text)


def _write_out_scale(found: re.Match[str]) -> str:
    if found["k"]:
        return f"{float(found['number']) * 1000:,.0f}"
    return f"{found['number']} {'million' if found['m'] else 'billion'}"


def _english_ordinal(numeral: re.Match[str]) -> str:
    """Return a Roman numeral below 40 as the model reads it best, XVI as 16th; others stay."""
    number = NUMERALS.get(numeral[0].upper(), 0)
    endings = {1: "st", 2: "nd", 3: "rd"} if number not in (11, 12, 13) else {}
    return f"{number}{endings.get(number % 10, 'th')}" if number else numeral[0]


def _rewrite_clock(found: re.Match[str], lang: str) -> str:
    hour, minute = found["h"] or found["hour"], found["m"] or found["minute"]
    if found["half"]:
        half = found["half"].lower() + (".m." if lang == "en" else ". m.")
        return f"{hour}:{minute} {half}" if minute else f"{hour} {half}"
    if lang == "en":
        return f"{hour}:{minute}" if minute else found[0]
    return f"{hour}:{minute}" + " h" * (found["h"] is None) if minute else f"{hour} h"


def translate_calendar(text: str, lang: str) -> str:
    """Translate a row of days or months abbreviated in `lang`; return "" for any other text."""
    row = {word.lower() for word in _WORD.findall(text)} if len(text) <= MAX_ROW else set[str]()
    n_least = 7 if max(map(len, row), default=0) == 2 else 2  # Do, Mi are words, too
    names = next((table for table in _CALENDAR[lang] if row <= table.keys()), None)
    if names is None or len(row) < n_least or any(map(str.isdigit, text)):
        return ""
    if text.islower() and lang == "en":  # Spanish has small letters for both
        return _WORD.sub(lambda word: names[word[0]], text)
    return _WORD.sub(lambda word: names[word[0].lower()].capitalize(), text)


def find_amounts(text: str, lost: Collection[str] | None = None) -> list[tuple[int, int]]:
    """Return the spans of times, sums and numbers with one of the `lost` numbers or signs, or all.

    And of what is lost but no number: names, Roman numerals, brackets.
    """
    times = [(clock.start, clock.end) for clock in find_times(text)]
    others = [match.span() for match in _AMOUNT.finditer(text)]
    others += [(span.start, span.end) for span in find_protected(text) if span.kind == "number"]
    if lost is not None:
        others = [
            span for span in [*times, *others]
            if not {text[slice(*span)], *_AMOUNT_PART.findall(text[slice(*span)])}.isdisjoint(lost)
        ]  # fmt: skip
        times = [(start, end) for start, end in times if text[start:end] in lost]
        for token in filter(_LITERAL.fullmatch, lost):
            others += [match.span() for match in term_pattern(token).finditer(text)]
    spans = times
    for start, end in others:
        if not any(a < end and start < b for a, b in spans):
            spans.append((start, end))
    return sorted(spans)


def convert_amount(amount: str, lang: str) -> str:
    """Convert a time, sum or number of the other language: $1.5 -> 1,5 $ for "es"; others stay."""
    times = find_times(amount)
    if times and (times[0].start, times[0].end) == (0, len(amount)):
        return format_time(times[0], lang)
    parts = _AMOUNT.fullmatch(amount)
    if parts is None:
        return amount
    number = _convert_separators(parts["number"], lang)
    sign, scale = (parts["before"] or parts["after"] or "").strip(), parts["scale"] or ""
    if sign == "%":
        return f"{number}%"
    return f"{number}{scale} {sign}".rstrip() if lang == "es" else f"{sign}{number}{scale}"


def _convert_separators(number: str, lang: str) -> str:
    """Convert the separators of a number to those of `lang`: 1.200,5 -> 1,200.5 for "en".

    A text that is not a number with the other language's separators is returned as it is.
    """
    point, comma = (",", ".") if lang == "en" else (".", ",")  # of the source
    grouped = re.fullmatch(rf"\d{{1,3}}(?:[{comma}]\d{{3}})+(?:[{point}]\d+)?", number)
    if grouped or re.fullmatch(rf"\d+[{point}]\d+", number):
        return number.translate({ord(point): comma, ord(comma): point})
    return number


def localize(source: str, text: str, lang: str, kept: Collection[str] = ()) -> str:
    """Write times, quotation marks, semicolons and ordinals of a translation as usual in `lang`.

    Times are taken from the source, as models often guess them. Ordinals need a rule, as º has no
    piece in the vocabulary. Quotation marks stay if one of the protected tokens `kept` has some.
    """
    text = correct_times(source, text, lang)
    if not any(_QUOTED.search(token) for token in kept):  # of a tag, of code
        text = localize_quotes(source, text, lang)
    if source.count(";") > text.count(";"):
        text = _restore_semicolons(source, text)
    if "[ " in text or "( " in text:
        text = _OPENED.sub(lambda found: found[1] if found[0] not in source else found[0], text)
    if text[:1] in ".,;:" and text[1:3] and text[1:3] == source[:2]:
        text = text[1:]
    if lang != "es":
        return text
    if ".o" in text or ".a" in text:
        text = _ORDINAL.sub(
            lambda found: found[0] if found[0] in source else f"{found[1]}.{_SIGN[found[2]]}", text
        )
    numbers = _NTH.findall(source)
    return _mark_ordinals(text, numbers) if any(ending for _, ending in numbers) else text


def _restore_semicolons(source: str, text: str) -> str:
    """Write a semicolon for each pause mark (, ; :) of the translation that is one in the source.

    The n-th mark of one is matched with the n-th of the other; if their numbers differ, the
    translation stays unchanged.
    """
    marks = _PAUSE.findall(source)
    if len(marks) != len(_PAUSE.findall(text)):
        return text
    each = iter(marks)
    return _PAUSE.sub(lambda found: ";" if next(each) == ";" else found[0], text)


def _mark_ordinals(text: str, numbers: list[tuple[str, str]]) -> str:
    """Turn numbers in a Spanish text into ordinals: la puerta 2 -> la puerta 2.ª.

    `numbers` are those of its English source, in order, each with its ending ("th", of a cardinal
    ""); the n-th 60 of the text is an ordinal if the n-th of the source is.
    """
    endings = defaultdict(list)
    for number, ending in reversed(numbers):
        endings[number].append(ending)

    def sign(found: re.Match[str]) -> str:
        left = endings[found[1]] or [""]
        if not (left.pop() if len(left) > 1 else left[0]):
            return found[0]
        noun = _NOUN.match(text, found.end())
        if noun and noun[0][-1] not in "as" and found[1] in ("1", "3"):
            return f"{found[1]}.er"  # 3.er piso
        before = None if noun or found[2] else _FEMININE.match(text, 0, found.start())
        last = noun[1] if noun else (found[2] or "º")[-1]
        return f"{found[1]}.{'ª' if last in 'aª' or (before and before[1]) else 'º'}"

    return _NUMBER_OR_ORDINAL.sub(sign, text)
