"""Times of a day: find them in a text of either language, compare them, and write them.

"18:30 h", "6.30pm", "las seis y media de la tarde" and "half past six in the evening" are one time.
A time without a sign of the half of the day is read as a clock of 24 hours shows it.
"""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

from transformer.text.spans import mask

HALF_DAY = 12 * 60  # minutes
_HOUR_WORDS = """una dos tres cuatro cinco seis siete ocho nueve diez once doce
    one two three four five six seven eight nine ten eleven twelve"""
_HOURS = {word: 1 + place % 12 for place, word in enumerate(_HOUR_WORDS.split())}
_TO_TWELVE = "|".join(_HOURS)
_LATE_HOUR_WORDS = """trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte
    veintiuna veintidós veintitrés"""
_HOURS |= {word: hour for hour, word in enumerate(_LATE_HOUR_WORDS.split(), 13)} | {"midnight": 0}
_MINUTES = {"cinco": 5, "five": 5, "diez": 10, "ten": 10, "cuarto": 15, "quarter": 15, "veinte": 20,
            "fifteen": 15, "twenty": 20, "veinticinco": 25, "twenty-five": 25, "media": 30,
            "half": 30, "thirty": 30, "forty-five": 45}  # fmt: skip
_DAY_PARTS: Mapping[str, Container[int]] = {  # of the day, and which of its hours are before noon
    r"a\.?\s?m\b\.?|de\sla\smadrugada|in\sthe\smorning": range(12),  # twelve is 0
    r"de\sla\smañana": range(1, 12),
    r"p\.?\s?m\b\.?|de\sla\starde|del\smediodía|in\sthe\s(?:afternoon|evening)|noon\b": (),
    r"de\sla\snoche|at\snight|midnight\b": range(5),
}
_DAY_PART = re.compile("|".join(rf"\s?({part})" for part in _DAY_PARTS), re.IGNORECASE)
_TIME_PATTERNS = [
    re.compile(kind, re.IGNORECASE | re.VERBOSE)
    for kind in (
        r"""(?<![\w:.,/$€£%+])(?P<las>(?<=\blas\s)|(?<=\bla\s))?(?P<at>(?<=\bat\s))?
            (?P<hour>2[0-4]|[01]?\d)(?!\d)(?:\s?(?P<sep>[:.,h])(?P<minute>[0-5]\d)(?!\d))?
            (?P<unit>\s?h(?:rs?|s)?\b\.?|\s(?:horas|hours)\b)?
            (?P<sharp>\so['’]clock\b|\s(?:en\spunto|sharp|on\sthe\sdot)\b)?(?:\s(?P<sign>y|menos)\s(?P<min>media|cuarto|(?<=menos\s)[12][05])\b)?""",
        rf"""(?P<las>(?<=\blas\s)|(?<=\bla\s))?\b(?P<hour>{"|".join(_HOURS)})\b(?:\shoras)?
            (?P<sharp>\sen\spunto\b)?(?:\s(?P<sign>y|menos)\s(?P<min>cinco|diez|cuarto|veinte|veinticinco|media)\b)?""",
        rf"""(?<!from\s)\b(?:an?\s|un\s)?(?P<min>half|quarter|five|ten|twenty-five|twenty|cuarto|cinco|diez|veinte)
            (?:\sminut[eo]s)?\s?(?P<sign>past|after|to|(?:para|antes\sde)\slas?|(?<=half)(?=\s(?:one|1)\b))
            \s(?P<hour>(?:{_TO_TWELVE}|midnight|1?\d)\b)""",
        rf"""\b(?P<hour>{_TO_TWELVE})\b(?P<sharp>\s(?:o['’]clock|on\sthe\sdot|sharp)\b)?
            (?:[\s-](?P<min>fifteen|twenty|thirty|forty-five)\b(?!-))?""",
        r"\b(?P<twelve>noon|midday|mediodía|midnight|medianoche)\b",
    )
]
# What a time without signs is read by: then 9:30 may be that of the evening.
_DAY_PART_MENTION = re.compile(
    r"\b(?:anoche|(?:est[ae]|las?|ayer)\s(?:tarde|noche|mañana|madrugada)s?|mediod[ií]a|mornings?"
    r"|afternoons?|evenings?|(?:to)?nights?|noon)\b", re.IGNORECASE,
)  # fmt: skip
_MAY_HAVE_TIME = re.compile(
    r"\d\s?(?:[:.,]?\s?\d\d|h|[ap]\.?\s?m|o['’]|de l|en p|in t|at n)|\b(?:las?|at) \d"
    r"|cuarto\b|media\b|punto\b|past\b|quarter|o['’]clock|noon|mid|de la [mnt]|\bthirty",
    re.IGNORECASE,
)  # fmt: skip


_TO_HOUR = ("to", "menos", "para la", "para las", "antes de las")
_LONGER_NUMBER = re.compile(r"[.,:/]?\d|%|\s?[$€£]")  # a longer number, a date, a sum
_RANGE_START = re.compile(r"\b(?:de|from|desde|entre|between)\s$", re.IGNORECASE)
_RANGE_SEPARATOR = re.compile(
    r",\s?|,?\s?(?:[-–]|to|and|or|until|till|a|y|o|hasta)\s?(?:(?:a\s)?las?\s)?"
)


@dataclass(frozen=True, slots=True)
class ClockTime:
    """text[start:end] is a time: its minute since midnight (a mere 4:00: 240), how sure it is."""

    start: int
    end: int
    minute: int
    has_known_half: bool  # the half of the day is certain: by its sign, by h, or past 12
    has_no_minutes: bool  # no minutes were written: an hour alone
    is_uncertain: bool = False  # it may be something else: las dos, at 5
    is_malformed: bool = False  # no such time is written: 22 p.m., 6,30
    is_bare_number: bool = False  # nothing tells that it is a time
    has_am_pm: bool = False  # a sign of the half of the day is there, such as p.m.
    has_h: bool = False  # the sign of hours that English has not: 22 h
    inherits_am_pm: bool = False  # the sign of the half of the day is that of the next: 4 to 6 p.m.

    def matches(self, other: "ClockTime", has_part: bool) -> bool:
        """Tell whether both are one time.

        If either text names a part of the day elsewhere, `has_part`, or one inherits it, 4:00 is
        16:00 unless both have a known half. Otherwise their minutes must be equal.
        """
        if self.minute % (2 * HALF_DAY) == other.minute % (2 * HALF_DAY):
            return True
        is_open = has_part or self.inherits_am_pm or other.inherits_am_pm
        is_open &= not (self.has_known_half and other.has_known_half)
        return is_open and (self.minute - other.minute) % HALF_DAY == 0


def find_times(text: str, is_lenient: bool = False) -> list[ClockTime]:
    """Return the times of a text in order; with `is_lenient` also mere numbers."""
    matches = [match for pattern in _TIME_PATTERNS for match in pattern.finditer(text)]
    found, clocks = [clock for clock in map(_parse_match, matches) if clock], list[ClockTime]()
    for clock in sorted(found, key=lambda clock: (clock.start, -clock.end)):
        if not clocks or clock.start >= clocks[-1].end:
            clocks.append(clock)
    for i in range(len(clocks) - 2, -1, -1):  # 4 to 6:30 p.m.
        one, after = clocks[i], clocks[i + 1]
        has_sign = after.inherits_am_pm or (after.has_am_pm and not after.is_bare_number)
        is_range = one.is_bare_number and after.is_bare_number
        is_range = is_range and _RANGE_START.search(text, 0, one.start) is not None
        if not (is_range or (has_sign and not one.has_known_half)):
            continue
        if _RANGE_SEPARATOR.fullmatch(text, one.end, after.start):
            clocks[i] = replace(one, inherits_am_pm=True, is_bare_number=False)
            if is_range:
                both = {"inherits_am_pm": True, "is_bare_number": False, "is_uncertain": True}
                clocks[i : i + 2] = [replace(one, **both), replace(after, **both)]
    return [clock for clock in clocks if is_lenient or not clock.is_bare_number]


def _parse_match(match: re.Match[str]) -> ClockTime | None:
    """Return the time of a match of one of `_TIME_PATTERNS`; None for part of something longer."""
    text, end, groups = match.string, match.end(), match.groupdict()
    if twelve := groups.get("twelve"):
        minute = 0 if twelve.lower().startswith(("midni", "media")) else HALF_DAY
        return ClockTime(match.start(), end, minute, True, True, is_uncertain=True)
    part = _DAY_PART.match(text, end)
    end = part.end() if part else end
    if text[end : end + 1].isalnum() or _LONGER_NUMBER.match(text, end):
        return None
    word, sep, unit = groups["hour"].lower(), groups.get("sep"), groups.get("unit")
    said = groups.get("min")
    hour = int(word) if word.isdecimal() else _HOURS[word]
    digits = groups.get("minute") or said or "0"
    minute = int(digits) if digits.isdecimal() else _MINUTES.get(digits.lower(), 0)
    if groups.get("sign") in _TO_HOUR:
        hour, minute = (hour - 1) % 12 or 12, 60 - minute
    # 2 y media, dos horas y media are none.
    is_spoken = bool(groups.get("sharp") or (said and groups.get("las", "las") is not None))
    is_exact = bool(sep in (":", "h") or part or is_spoken)
    is_placed = groups.get("las") is not None or groups.get("at") is not None
    is_24, is_malformed = hour > 12 or word.startswith("0"), sep in ("h", ",")
    if part:
        is_malformed |= hour > 12 or hour == 0
        before_noon = [*_DAY_PARTS.values()][(part.lastindex or 1) - 1]
        if hour <= 12:
            hour = hour % 12 + 12 * (hour % 12 not in before_noon)
    return ClockTime(
        match.start(), end, hour * 60 + minute,
        has_known_half=bool(part or unit or is_24),
        has_no_minutes=not (sep or said),
        is_uncertain=not (is_exact or unit) or sep == ",",
        is_malformed=is_malformed,
        is_bare_number=not (is_exact or is_placed or (unit and sep == ".")),
        has_am_pm=part is not None,
        has_h=(unit or "").strip(" .").lower() in ("h", "hs"),
    )  # fmt: skip


def format_time(clock: ClockTime, lang: str) -> str:
    """Return a time as a language writes it: 6:30 p.m. in English, else 18:30.

    If the half of the day is not known, English has no a.m. or p.m. An hour without minutes stays
    so in English, and elsewhere if the half is not known.
    """
    hour, minute = divmod(clock.minute % (2 * HALF_DAY), 60)
    if lang == "en":
        shown = f"{hour % 12 or 12}" + f":{minute:02}" * (not clock.has_no_minutes or minute > 0)
        return f"{shown} {'ap'[hour >= 12]}.m." if clock.has_known_half else shown
    if not clock.has_known_half and clock.has_no_minutes:
        return f"{hour}"
    return f"{hour or '00'}:{minute:02}"


def mask_times(text: str, clocks: Iterable[ClockTime]) -> str:
    """Return the text with spaces for some of its times, so that only other numbers are left."""
    return mask(text, sorted((clock.start, clock.end) for clock in clocks))


@dataclass(frozen=True, slots=True)
class TimeComparison:
    """The times of a source with those of its translation; `extra` ones have no source."""

    matched: tuple[tuple[ClockTime, ClockTime], ...] = ()
    missing: tuple[ClockTime, ...] = ()
    extra: tuple[ClockTime, ...] = ()


def compare_times(
    source: str, output: str, lang: str = "", is_strict: bool = True
) -> TimeComparison:
    """Find out which times of a source its translation has, in whatever spelling.

    `lang` is the language of the output; in English "22 h" is not a time. Unless `is_strict`, 16:40
    may be written 4:40, as people leave out the half of the day.
    """
    wanted = find_times(source) if _MAY_HAVE_TIME.search(source) else []
    if not wanted:
        return TimeComparison()
    there = find_times(output, is_lenient=True)
    has_part = any(
        _DAY_PART_MENTION.search(mask_times(text, clocks))
        for text, clocks in ((source, wanted), (output, there))
    )
    matched, missing = list[tuple[ClockTime, ClockTime]](), list[ClockTime]()
    for clock in wanted:
        for other in there:
            is_open = has_part or not (is_strict or (clock.has_am_pm and not other.is_uncertain))
            is_readable = not (other.is_malformed or (other.has_h and lang == "en"))
            if is_readable and clock.matches(other, is_open):
                matched.append((clock, other))
                there.remove(other)
                break
        else:
            missing.append(clock)
    return TimeComparison(tuple(matched), tuple(missing), tuple(there))


def correct_times(source: str, output: str, lang: str) -> str:
    """Return the translation with the times of its source, if it is clear which belong together.

    Otherwise `output` is returned unchanged.
    """
    found = compare_times(source, output, lang)
    if not found.missing:
        return output
    placed = [clock for clock in found.extra if not clock.is_bare_number]
    sure, sure_placed = (
        [clock for clock in clocks if not clock.is_uncertain] for clocks in (found.missing, placed)
    )
    for missing, extra in ((sure, sure_placed), (found.missing, placed), (sure, placed)):
        if len(missing) == len(extra):
            for right, wrong in reversed([*zip(missing, extra, strict=True)]):
                output = _replace_time(output, wrong, format_time(right, lang))
            return output
    return output


def _replace_time(text: str, wrong: ClockTime, right: str) -> str:
    """Replace a time by `right`; adapt the article before it and the full stop after it."""
    before, after = text[: wrong.start], text[wrong.end :]
    if text[wrong.end - 1] == "." and not after.strip():
        after = "." + after
    if before.endswith(("la ", "las ")):
        before = re.sub(r"las? $", "la " if re.match(r"1(?!\d)", right) else "las ", before)
    return before + right + (after[1:] if right.endswith(".") and after[:1] == "." else after)
