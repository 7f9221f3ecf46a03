"""Quality checks of a translation that need no reference translation.

They find the known failures of neural translation: endless repetition, a copy of the source, a
translation that is far too short or long, numbers lost or added, lost units and protected tokens.
`guard` decides what to do about an issue.
"""

import functools
import operator
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

from transformer.text.casing import capitalize_first
from transformer.text.quotes import has_mismatched_quotes
from transformer.text.sentences import is_translatable
from transformer.text.times import compare_times, find_times, mask_times

MAX_GRAM, N_TIMES = 8, 3  # a loop: 1 to 8 words, 3 times in a row
LONG_WORD = 12  # letters; one that is longer is looked through for a loop within
_COGNATES = """a al animal central color come concert control error general hardware has he hospital
    hotel idea individual internet local marketing me mental metal no normal once online original
    particular personal piano plan postal radio real regular religion social software son taxi
    televisor total usual version vital web"""
COGNATES = frozenset(_COGNATES.split())  # words of both languages

_MARKS = str.maketrans(dict.fromkeys(",.;:!?¡¿\"'()[]«»“”‘’—–…-/*_\ufffd", " "))
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DECADE = re.compile(r"\b\d\d(\d0)s\b")  # 1930s: los años 30
_TOKEN = re.compile(r"\w+")
_EMPTY_TAG_PAIR = re.compile(r"<[A-Za-z\d][^<>]*+(?<!/)>\s*+</[^<>]*+>")  # a pair of tags
MIN_ADDED_DIGITS = 3  # of a number that is not in the source; shorter ones may stand for words
FOURFOLD = [4 * letter for letter in "abcdefghijklmnopqrstuvwxyzáéíóúüñ"]  # no word has that
_WITHIN = re.compile(r"(\w{2,12}?)\1\1")
_NUMBER_WORDS = """0 zero cero|1 one first once un uno una primer primero primera|2 two second twice
    dos segundo segunda|3 three third tres tercer tercero tercera|4 four fourth cuatro cuarto cuarta
    |5 five fifth cinco quinto quinta|6 six sixth seis sexto sexta|7 seven seventh siete|8 eight
    eighth ocho octava octavo|9 nine ninth nueve|10 ten tenth diez|11 eleven eleventh once
    |12 twelve twelfth doce noon midday mediodía midnight medianoche|13 thirteen trece
    |14 fourteen catorce|15 fifteen quince|16 sixteen dieciséis|17 seventeen diecisiete
    |18 eighteen dieciocho|19 nineteen diecinueve|20 twenty twenties veinte veintena
    |21 veintiuno veintiún veintiuna|22 veintidós|23 veintitrés|24 veinticuatro midnight medianoche
    |25 veinticinco|26 veintiséis|27 veintisiete|28 veintiocho|29 veintinueve
    |30 thirty thirties treinta|40 forty forties cuarenta|50 fifty fifties cincuenta
    |60 sixty sixties sesenta|70 seventy seventies setenta|80 eighty eighties ochenta
    |90 ninety nineties noventa|100 hundred cien ciento|200 doscientos doscientas
    |300 trescientos trescientas|400 cuatrocientos cuatrocientas|500 quinientos quinientas
    |600 seiscientos seiscientas|700 setecientos setecientas|800 ochocientos ochocientas
    |900 novecientos novecientas|1000 thousand mil|1000000 million millón"""
NUMBER_WORDS = {
    number: frozenset(words) for number, *words in map(str.split, _NUMBER_WORDS.split("|"))
}
# Of centuries and kings: Roman numerals of numbers below 40.
_ROMAN_DIGITS = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_ROMAN = {str(n): "X" * (n // 10) + _ROMAN_DIGITS[n % 10] for n in range(1, 40)}
NUMERALS = {numeral: int(digits) for digits, numeral in _ROMAN.items()}
_CODE = re.compile(r"\b[A-Z]{2,}\d+\b")  # of an account, a norm, a road: ES91, ISO9001
# How a sign beside numbers, or a unit behind them, may stand in words; what has lost it says
# another sum. People leave out the dollars of millions, and the degrees of a fever.
SIGNS = {"€": ("euro", "cent", "cént"), "£": ("pound", "libra", "quid"), "¥": ("yen", "yuan"),
         "$": ("dollar", "dólar", "peso", "buck", "cent", "million", "millon"),
         "°": ("degree", "grado", "º", "fever", "fiebre", "termó", "thermo"),
         "%": ("percent", "per cent", "por ciento", "por mil")}  # fmt: skip
_UNITS = """kg kilo|g gram|km kilóm kilom|cm centím centim|mm milím millim|m met|l lit|ml milil mill
    |km/h kilóm kilom kph|GB giga|MB mega|TB tera|kB kilo|kWh kilo|ft foot feet pie|lb libra pound
    |oz onza ounce|mph milla mile|mi milla mile"""
UNITS = {unit: tuple(names) for unit, *names in map(str.split, _UNITS.split("|"))}
_UNIT = re.compile(rf"(?<=\d)[ \xa0]?({'|'.join(map(re.escape, UNITS))})(?![\w/²³])")
_MINUS = re.compile(r"(?<![\w.,)])[-−][£$€]?\d")
_MINUS_WORDS = ("-", "−", "–", "minus", "menos", "bajo", "below", "negativ", "sótano", "basement")
# Thousands in threes, if they are set apart, and decimals; English has the point for decimals.
_CONVENTIONS = {
    decimal: re.compile(rf"(?:\d+|\d{{1,3}}(?:[{thousands}]\d{{3}})+)(?:[{decimal}]\d+)?")
    for decimal, thousands in (".,", ",.")
}
_CLOCK = re.compile(r"(\d\d?)[.:]([0-5]\d)")
_NUMERAL = re.compile(r"\b[IVX]+\b")
_TWO_DIGITS = re.compile(r"[IVX]{2}")
_LONG_NUMERAL = re.compile(  # an IV is a drip, too
    r"(?i:\b(el|la|los|las|del|al|the)\s)?\b((?!IV\s[a-z])[IVX]{2,})\b"
)
_MILLIONS, _BILLIONS = ("millones", "millón"), ("billion", "bn")
_MONTHS = {"1": ("jan", "ene"), "2": ("feb",), "3": ("mar",), "4": ("apr", "abr"), "5": ("may",),
           "6": ("jun",), "7": ("jul",), "8": ("aug", "ago"), "9": ("sep",), "10": ("oct",),
           "11": ("nov",), "12": ("dec", "dic")}  # fmt: skip
HALF_HOUR_WORDS = frozenset(("half", "media", "quarter", "cuarto"))
# Who writes like this writes 2 for "to", 4 for "for", 1 for "one": no numbers.
_CHAT_WORDS = """u ur r n thx pls plz tmrw luv idk lol lmao sry bc cuz im ill dont cant didnt whats
    whos theyre theres its wanna gonna gimme smth hey hehe ok"""
CHAT_WORDS = frozenset(_CHAT_WORDS.split())
_CHAT_DIGIT = re.compile(
    r"(?:any|every|some|no)1|(?:[bhmw]|gr|l|str)8r?|b4|4(?:get|give|ever)\w*|2(?:day|mrw|nite)|salu2"
)


@dataclass(frozen=True, slots=True)
class QualityIssue:
    """An issue of a translation: what is wrong (a fixed `code`), and how badly.

    `severity` is from 1 to 20, the worst. `detail` is the number, word, sign or token concerned, ""
    if it is the whole sentence. "number lost: 15" is code and detail as a warning.
    """

    code: str
    severity: int
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.detail else self.code


def total_severity(issues: Sequence[QualityIssue]) -> int:
    """Return the sum of severities by which candidates are ranked; 0 is the best."""
    return sum(issue.severity for issue in issues)


def find_issues(
    source: str, output: str, protected: Collection[str] = (), terms: Collection[str] = (),
    lang: str = "",
) -> tuple[QualityIssue, ...]:  # fmt: skip
    """Find the issues of the translation of one sentence, worst first; almost always none.

    `protected` are tokens that must occur as often in the output as in the source; those in `terms`
    come from a glossary, and must be whole words. `lang` is the language of the output.
    """
    issues = _protected_issues(source, output, [token for token in protected if token not in terms])
    for term, wanted in Counter(terms).items():
        if (there := count_term(term, output)) < wanted:
            issues.append(QualityIssue("term missing", 20, term))
        elif there > wanted:  # it may be another word's translation, too
            issues.append(QualityIssue("term doubled", 3, term))
    for token in protected:  # what is copied tells nothing about what is translated
        source, output = source.replace(token, " "), output.replace(token, " ")
    src, out = split_words(source), split_words(output)
    if not out:
        return (*issues, QualityIssue("empty", 10)) if is_translatable(source) else tuple(issues)
    if _has_loop(out, output) and not _has_loop(src, source):
        issues.append(QualityIssue("repetition", 8))
    if len(src) > 2 and _is_copy(source, out):
        issues.append(QualityIssue("copied source", 6))
    if len(src) > 5 and 3 * len(out) < len(src):
        issues.append(QualityIssue("too short", 4))
    elif len(out) > 2.5 * len(src) + 6:
        issues.append(QualityIssue("too long", 4))
    if has_mismatched_quotes(source, output):
        issues.append(QualityIssue("quotation marks", 2))
    clocks = compare_times(source, output, is_strict=False)
    lost = [clock for clock in clocks.missing if not clock.is_uncertain]
    issues += [QualityIssue("number lost", 3, source[c.start : c.end]) for c in lost]
    source = mask_times(source, [*lost, *(clock for clock, _ in clocks.matched)])
    output = mask_times(output, [clock for _, clock in clocks.matched])
    if _DIGITS.search(source):
        joined = output.replace("-", "")
        numbers = _lost_numbers(source, output) + _changed_values(source, output, lang)
        numbers += [code for code in _CODE.findall(source) if code not in joined]
        issues += [QualityIssue("number lost", 2, number) for number in numbers]
        issues += [QualityIssue("sign lost", 2, sign) for sign in _lost_signs(source, output)]
    issues += [QualityIssue("number lost", 2, n) for n in _lost_numerals(source, output)]
    issues += [QualityIssue("sign lost", 2, sign) for sign in _lost_brackets(source, output)]
    if _DIGITS.search(output) and not any(issue.code == "number lost" for issue in issues):
        added = (n for n in _lost_numbers(output, source) if len(_digits_of(n)) >= MIN_ADDED_DIGITS)
        issues += [QualityIssue("number added", 2, number) for number in added]
    return tuple(sorted(issues, key=lambda issue: -issue.severity))


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return text.lower().translate(_MARKS).split()


def count_term(term: str, text: str) -> int:
    """Count how often a text has a term as words of its own (see `term_pattern`)."""
    return sum(1 for _ in term_pattern(term).finditer(text))


@functools.lru_cache(maxsize=512)
def term_pattern(term: str) -> re.Pattern[str]:
    """Return a pattern that finds a term as whole words, a lower-case one also with capitals."""
    edges = [r"(?<!\w)" * (term[:1].isalnum()), r"(?!\w)" * (term[-1:].isalnum())]
    forms = [term, capitalize_first(term), term.upper()] if term.islower() else [term]
    return re.compile(f"{edges[0]}(?:{'|'.join(map(re.escape, forms))}){edges[1]}")


def _protected_issues(source: str, output: str, protected: Collection[str]) -> list[QualityIssue]:
    issues = []
    for token in dict.fromkeys(protected):
        wanted, found = source.count(token), output.count(token)
        if found < wanted:
            issues.append(QualityIssue("missing", 20, token))
        elif found > wanted:
            issues.append(QualityIssue("doubled", 15, token))
    emptied = Counter(_EMPTY_TAG_PAIR.findall(output)) - Counter(_EMPTY_TAG_PAIR.findall(source))
    return issues + [QualityIssue("emptied", 9, pair) for pair in emptied]


def _has_loop(words: Sequence[str], text: str) -> bool:
    """Whether something repeats: 1 to MAX_GRAM of the `words` of `text`, N_TIMES in a row.

    Or a letter 4 times; or, in a word of more than LONG_WORD letters, 2 to 12 letters 3 times.
    """
    if len(words) - len(set(words)) >= N_TIMES - 1:
        for n in range(1, MAX_GRAM + 1):
            same = bytes(map(operator.eq, words, words[n:]))  # as the word n places on
            if b"\1" * n * (N_TIMES - 1) in same:
                return True
    if any(map(text.lower().__contains__, FOURFOLD)):
        return True
    return any(len(word) > LONG_WORD and _WITHIN.search(word) for word in words)


def _is_copy(source: str, out: Sequence[str]) -> bool:
    """Whether the output has half of the lower-case words of the source, and at least three."""
    small = [word for word in _LETTERS.findall(source) if word.islower() and word not in COGNATES]
    same = len(set(small) & set(out))
    return same >= 3 and same >= 0.5 * len(set(small))


def _lost_numbers(source: str, output: str) -> list[str]:
    """Return the numbers of the source that the output has neither in digits nor in words.

    Equal are 1.234,56 and 1,234.56; 17:30, 17.30 and 5:30; "the 1930s" and "los años 30"; "the 17th
    century" and "el siglo XVII"; "1.200 millones" and "1.2 billion".
    """
    if "".join(_DIGITS.findall(source)) == "".join(_DIGITS.findall(output)):
        return []
    there = {_digits_of(digits) for kind in (_NUMBER, _DIGITS) for digits in kind.findall(output)}
    there |= {_digits_of(clock.group()) for clock in _CLOCK.finditer(output)}
    there |= _clock_digits(output) | {*_DECADE.findall(output)}
    values = {value for number in _NUMBER.findall(output) for value in _possible_values(number)}
    spelled, numerals = {*split_words(output)}, {*_NUMERAL.findall(output)}
    months = {word[:3] for word in spelled}
    is_rescaled = _is_rescaled(source, output)
    lost: dict[str, None] = {}
    for match in _NUMBER.finditer(source):
        number = match.group()
        before, after = source[match.start() - 1 : match.start()], source[match.end() :]
        forms, digits = _digit_forms(number, after), _digits_of(number)
        if before == "/" and not months.isdisjoint(_MONTHS.get(digits, ())):
            continue
        if before == ":" and (digits == "0" or spelled & HALF_HOUR_WORDS):
            continue
        if there & forms or any(_is_spelled_out(form, spelled) for form in forms):
            continue
        if not is_rescaled and values & _possible_values(number):
            continue
        if len(number) == 1 and _is_chat_word(source, match.start()):
            continue
        if _ROMAN.get(digits) not in numerals:
            lost[number] = None
    if not lost or not is_rescaled:
        return [*lost]
    return [
        number for number in lost
        if not any(
            scaled in values or _is_spelled_out(str(scaled), spelled)
            for value in _possible_values(number) for scaled in (value * 1000, value / 1000)
        )
    ]  # fmt: skip


def _lost_numerals(source: str, output: str) -> list[str]:
    """Return the Roman numerals of two letters or more that the output has in no right form.

    "La XVIII edición" may be the 18th edition, but "Luis XVIII" is not Louis 18th. Those of
    centuries are no longer in what a model reads.
    """
    found = _LONG_NUMERAL.findall(source) if _TWO_DIGITS.search(source) else []
    if not found or "siglo" in source.lower():
        return []
    there, spelled, digits = ({*words} for words in (
        _NUMERAL.findall(output), split_words(output), _DIGITS.findall(output)
    ))  # fmt: skip
    return [
        numeral for article, numeral in dict.fromkeys(found)
        if (number := str(NUMERALS.get(numeral, ""))) and numeral not in there
        and not (_is_spelled_out(number, spelled) or (article and number in digits))
    ]  # fmt: skip


def _lost_brackets(source: str, output: str) -> list[str]:
    """Return the brackets and # that the output has less often than the source.

    Round brackets count only if one of a pair is lost: people write (Ohio) otherwise.
    """
    lost = [sign for sign in "[]{}#()" if source.count(sign) > output.count(sign)]
    return [] if lost == ["(", ")"] else lost


def _lost_signs(source: str, output: str) -> list[str]:
    """Return signs and units of the source that the output has neither as such nor in words.

    A "-" is among them if the source has a negative number, and the output no minus.
    """
    said = output.lower()
    there = [(sign, names) for sign, names in SIGNS.items() if sign in source]
    there += [(unit, UNITS[unit]) for unit in _UNIT.findall(source)]
    lost = [sign for sign, names in there if not any(n in said for n in (sign.lower(), *names))]
    if _MINUS.search(source) and not any(map(said.__contains__, _MINUS_WORDS)):
        lost.append("-")
    return lost


def _changed_values(source: str, output: str, lang: str) -> list[str]:
    """Return numbers of the source whose digits the output has in another value: 350 for 3.50.

    A number that follows no convention, as a version or a date, must be unchanged.
    """
    there = dict[str, list[str]]()
    for number in _NUMBER.findall(output):
        there.setdefault(_digits_of(number), []).append(number)
    return [
        number for number in dict.fromkeys(_NUMBER.findall(source)) if _digits_of(number) in there
        and not any(
            _possible_values(number) & _possible_values(other, lang)
            if _possible_values(number) else number == other
            for other in there[_digits_of(number)]
        )
    ]  # fmt: skip


def _digit_forms(number: str, after: str) -> set[str]:
    """Return the digits by which a translation may write a number: 1930 and 30 for 1930s.

    `after` is the text behind the number. A full hour is one without minutes, too: 7 for 7.00.
    """
    bare = _digits_of(number)
    forms = {bare, bare[-2:]} if after.startswith("s") else {bare}  # the 1930s
    clock = _CLOCK.fullmatch(number)
    return forms | {_digits_of(clock[1])} if clock and clock[2] == "00" else forms


def _clock_digits(output: str) -> set[str]:
    """Return the digits of all times of a text in 12 and 24 hours: 2 and 14 for 2 p.m."""
    hours = set[tuple[int, int]]()
    for clock in find_times(output):
        hour, minute = divmod(clock.minute, 60)
        hours |= {(hour, minute), (hour % 12, minute)}
        hours |= {(hour + 12, minute)} if clock.inherits_am_pm else set()
    return {_digits_of(f"{h}{m:02}") for h, m in hours} | {str(h) for h, m in hours if not m}


def _is_spelled_out(number: str, spelled: Collection[str]) -> bool:
    """Whether `spelled`, the `split_words` of an output, write a number: 80000 as ochenta mil."""
    if not NUMBER_WORDS.get(number, frozenset[str]()).isdisjoint(spelled):
        return True
    if len(number) == 2 and number[1] != "0":
        return _is_spelled_out(number[0] + "0", spelled) and _is_spelled_out(number[1], spelled)
    if len(number) == 3 and number.endswith("00"):
        return "hundred" in spelled and _is_spelled_out(number[0], spelled)
    if len(number) == 3:
        rest = number[1:].lstrip("0")
        return _is_spelled_out(rest, spelled) and _is_spelled_out(number[0] + "00", spelled)
    thousands, is_round = number.removesuffix("000"), not NUMBER_WORDS["1000"].isdisjoint(spelled)
    return is_round and thousands != number and _is_spelled_out(thousands, spelled)


def _is_rescaled(source: str, output: str) -> bool:
    """Whether one text counts in millones and the other in billions."""
    return any(
        any(map(one.__contains__, _MILLIONS)) and any(map(other.__contains__, _BILLIONS))
        for one, other in ((source, output), (output, source))
    )


def _is_chat_word(text: str, place: int) -> bool:
    """Whether the digit at a place stands for a word, as in chats: any1, thx 4 all."""
    token = next(m.group() for m in _TOKEN.finditer(text) if m.start() <= place < m.end()).lower()
    if token in ("1", "2", "4"):
        return not CHAT_WORDS.isdisjoint(split_words(text))
    return _CHAT_DIGIT.fullmatch(token) is not None


def _possible_values(number: str, lang: str = "") -> set[Fraction]:
    """Return the values that a number can have by both conventions, or only by that of `lang`.

    1.200 is 1200 or 1.2, in English 1.2; 1.2.3 has none.
    """
    return {
        Fraction(number.replace({".": ",", ",": "."}[decimal], "").replace(decimal, "."))
        for decimal, convention in _CONVENTIONS.items()
        if convention.fullmatch(number) and (lang, decimal) != ("en", ",")
    }


def _digits_of(number: str) -> str:
    """Return the digits of a number without separators and leading zeros."""
    return "".join(c for c in number if c.isdecimal()).lstrip("0") or "0"
