"""Cardinal numbers from 0 to 1000 in words, in both languages."""

from functools import cache

from grammar.tables import words

_UNITS_ES = words(
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés "
    "veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
)
_TENS_ES = words("treinta cuarenta cincuenta sesenta setenta ochenta noventa")
_HUNDREDS = words(
    "ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos "
    "ochocientos novecientos"
)


@cache
def spanish(n: int, gender: str = "m") -> str:
    """A cardinal from 0 to 1000 as it stands before a noun of that gender."""
    if n == 1000:
        return "mil"
    if n == 100:
        return "cien"
    if n > 100:
        hundreds = _HUNDREDS[n // 100 - 1]
        if gender == "f" and n >= 200:
            hundreds = hundreds[:-2] + "as"
        return hundreds if n % 100 == 0 else f"{hundreds} {spanish(n % 100, gender)}"
    if n >= 30:
        tens = _TENS_ES[n // 10 - 3]
        return tens if n % 10 == 0 else f"{tens} y {spanish(n % 10, gender)}"
    if n % 10 == 1 and n != 11:
        if gender == "f":
            return _UNITS_ES[n][:-1] + "a"
        return "un" if n == 1 else "veintiún"
    return _UNITS_ES[n]


_UNITS_EN = words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS_EN = words("twenty thirty forty fifty sixty seventy eighty ninety")


@cache
def english(n: int) -> str:
    """A cardinal from 0 to 1000 in words."""
    if n == 1000:
        return "one thousand"
    if n >= 100:
        head = f"{_UNITS_EN[n // 100]} hundred"
        return head if n % 100 == 0 else f"{head} and {english(n % 100)}"
    if n >= 20:
        tens = _TENS_EN[n // 10 - 2]
        return tens if n % 10 == 0 else f"{tens}-{_UNITS_EN[n % 10]}"
    return _UNITS_EN[n]
