"""Times of a day: found in a text of either language, their value, and how to write them.

"18:30 h", "6.30pm", "las seis y media de la tarde" and "half past six in the evening" are one time.
What has no sign of the half of the day is read as a clock of 24 hours shows it.
"""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

HALF_DAY = 12 * 60  # minutes
_SPELT = """una dos tres cuatro cinco seis siete ocho nueve diez once doce
    one two three four five six seven eight nine ten eleven twelve"""
_HOURS = {
    word: 1 + place % 12 for place, word in enumerate(_SPELT.split())
}  # fmt: skip
_WORDS = "|".join(_HOURS)
_LATE = "trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte veintiuna veintidós"
_HOURS |= {word: hour for hour, word in enumerate([*_LATE.split(), "veintitrés"], 13)}
_HOURS["midnight"] = 0
_MINUTES = {"cinco": 5, "five": 5, "diez": 10, "ten": 10, "cuarto": 15, "quarter": 15, "veinte": 20,
            "fifteen": 15, "twenty": 20, "veinticinco": 25, "twenty-five": 25, "media": 30,
            "half": 30, "thirty": 30, "forty-five": 45}  # fmt: skip
_PARTS: Mapping[str, Container[int]] = {  # of the day, and which of its hours are before noon
    r"a\.?\s?m\b\.?|de\sla\smadrugada|in\sthe\smorning": range(12),  # twelve is 0
    r"de\sla\smañana": range(1, 12),
    r"p\.?\s?m\b\.?|de\sla\starde|del\smediodía|in\sthe\s(?:afternoon|evening)|noon\b": (),
    r"de\sla\snoche|at\snight|midnight\b": range(5),
}
_PART = re.compile("|".join(rf"\s?({part})" for part in _PARTS), re.IGNORECASE)
_KINDS = [
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
            \s(?P<hour>(?:{_WORDS}|midnight|1?\d)\b)""",
        rf"""\b(?P<hour>{_WORDS})\b(?P<sharp>\s(?:o['’]clock|on\sthe\sdot|sharp)\b)?
            (?:[\s-](?P<min>fifteen|twenty|thirty|forty-five)\b(?!-))?""",
        r"\b(?P<twelve>noon|midday|mediodía|midnight|medianoche)\b",
    )
]
# What a time without signs is read by: then 9:30 may be that of the evening.
_DAY = re.compile(
    r"\b(?:anoche|(?:est[ae]|las?|ayer)\s(?:tarde|noche|mañana|madrugada)s?|mediod[ií]a|mornings?"
    r"|afternoons?|evenings?|(?:to)?nights?|noon)\b", re.IGNORECASE,
)  # fmt: skip
_MAYBE = re.compile(
    r"\d\s?(?:[:.,]?\s?\d\d|h|[ap]\.?\s?m|o['’]|de l|en p|in t|at n)|\b(?:las?|at) \d"
    r"|cuarto\b|media\b|punto\b|past\b|quarter|o['’]clock|noon|mid|de la [mnt]|\bthirty",
    re.IGNORECASE,
)  # fmt: skip


_BEFORE = ("to", "menos", "para la", "para las", "antes de las")
_GOES_ON = re.compile(r"[.,:/]?\d|%|\s?[$€£]")  # a longer number, a date, a sum
_RANGE = re.compile(r"\b(?:de|from|desde|entre|between)\s$", re.IGNORECASE)
_SHARED = re.compile(r",\s?|,?\s?(?:[-–]|to|and|or|until|till|a|y|o|hasta)\s?(?:(?:a\s)?las?\s)?")


@dataclass(frozen=True, slots=True)
class Clock:
    """text[start:end] is a time: its minute of the day, and how sure its reading is."""

    start: int
    end: int
    minute: int
    is_marked: bool  # the half of the day is certain
    is_whole: bool  # no minutes were written
    is_weak: bool = False  # it may be something else: las dos, at 5
    is_odd: bool = False  # no such time is written: 22 p.m., 6,30
    is_number: bool = False  # nothing tells that it is a time
    is_signed: bool = False  # a sign of the half of the day is there, such as p.m.
    has_h: bool = False  # the sign of hours that English has not: 22 h
    is_shared: bool = False  # the sign of the half of the day is that of the next one

    def agrees(self, other: "Clock", has_part: bool) -> bool:
        """Whether both are one time; `has_part`: one without signs is of either half of the day."""
        if self.minute % (2 * HALF_DAY) == other.minute % (2 * HALF_DAY):
            return True
        is_open = has_part or self.is_shared or other.is_shared
        is_open &= not (self.is_marked and other.is_marked)
        return is_open and (self.minute - other.minute) % HALF_DAY == 0


def find_clocks(text: str, is_lenient: bool = False) -> list[Clock]:
    """The times of a text, in order; also mere numbers, if one is lenient."""
    found = [clock for kind in _KINDS for m in kind.finditer(text) if (clock := _read(m))]
    found.sort(key=lambda clock: (clock.start, -clock.end))
    clocks = list[Clock]()
    for clock in found:
        if not clocks or clock.start >= clocks[-1].end:
            clocks.append(clock)
    for i in range(len(clocks) - 2, -1, -1):  # 4 to 6:30 p.m.
        one, after = clocks[i], clocks[i + 1]
        has_sign = after.is_shared or (after.is_signed and not after.is_number)
        if one.is_number and after.is_number and _RANGE.search(text, 0, one.start):
            if _SHARED.fullmatch(text, one.end, after.start):
                both = {"is_shared": True, "is_number": False, "is_weak": True}
                clocks[i : i + 2] = [replace(one, **both), replace(after, **both)]
        elif has_sign and not one.is_marked and _SHARED.fullmatch(text, one.end, after.start):
            clocks[i] = replace(one, is_shared=True, is_number=False)
    return [clock for clock in clocks if is_lenient or not clock.is_number]


def _minutes(word: str) -> int:
    return int(word) if word.isdecimal() else _MINUTES.get(word.lower(), 0)


def _read(match: re.Match[str]) -> Clock | None:
    """The time of a match of one of `_KINDS`."""
    text, end, said = match.string, match.end(), match.groupdict()
    if twelve := said.get("twelve"):
        minute = 0 if twelve.lower().startswith(("midni", "media")) else HALF_DAY
        return Clock(match.start(), end, minute, True, True, is_weak=True)
    part = _PART.match(text, end)
    end = part.end() if part else end
    if text[end : end + 1].isalnum() or _GOES_ON.match(text, end):
        return None
    word, sep, unit = said["hour"].lower(), said.get("sep"), said.get("unit")
    hour = int(word) if word.isdecimal() else _HOURS[word]
    minute = int(said.get("minute") or _minutes(said.get("min") or ""))
    if said.get("sign") in _BEFORE:
        hour, minute = (hour - 1) % 12 or 12, 60 - minute
    # 2 y media, dos horas y media are none.
    is_said = bool(said.get("sharp") or (said.get("min") and said.get("las", "las") is not None))
    is_exact = bool(sep in (":", "h") or part or is_said)
    is_placed = said.get("las") is not None or said.get("at") is not None
    is_number = not (is_exact or is_placed or (unit and sep == "."))
    is_24 = hour > 12 or word.startswith("0")
    is_odd = sep in ("h", ",")
    if part:
        is_odd |= hour > 12 or hour == 0
        before_noon = [*_PARTS.values()][(part.lastindex or 1) - 1]
        if hour <= 12:
            hour = hour % 12 + 12 * (hour % 12 not in before_noon)
    return Clock(
        match.start(), end, hour * 60 + minute, bool(part or unit or is_24),
        not (sep or said.get("min")), not (is_exact or unit) or sep == ",", is_odd, is_number,
        part is not None,
        (unit or "").strip(" .").lower() in ("h", "hs"),
    )  # fmt: skip


def written(clock: Clock, lang: str) -> str:
    """A time as a language writes it: 6:30 p.m., 18:30."""
    hour, minute = divmod(clock.minute % (2 * HALF_DAY), 60)
    if lang == "en":
        shown = f"{hour % 12 or 12}" + f":{minute:02}" * (not clock.is_whole or minute > 0)
        return f"{shown} {'ap'[hour >= 12]}.m." if clock.is_marked else shown
    if not clock.is_marked and clock.is_whole:
        return f"{hour}"
    return f"{hour or '00'}:{minute:02}"


def without(text: str, clocks: Iterable[Clock]) -> str:
    """A text with spaces for some of its times, which are none of its other numbers."""
    for clock in clocks:
        text = text[: clock.start] + " " * (clock.end - clock.start) + text[clock.end :]
    return text


@dataclass(frozen=True, slots=True)
class Comparison:
    """The times of a source with those of its translation; `extra` are without a source."""

    same: tuple[tuple[Clock, Clock], ...] = ()
    lost: tuple[Clock, ...] = ()
    extra: tuple[Clock, ...] = ()


def compare(source: str, output: str, lang: str = "", is_strict: bool = True) -> Comparison:
    """Tell which times of a source its translation has, in whatever spelling.

    In English 22 h is none. People leave out the half of the day: if one is not strict, 16:40 may
    be 4:40.
    """
    wanted = find_clocks(source) if _MAYBE.search(source) else []
    if not wanted:
        return Comparison()
    there = find_clocks(output, is_lenient=True)
    has_part = any(
        _DAY.search(without(text, clocks)) for text, clocks in ((source, wanted), (output, there))
    )
    same, lost = list[tuple[Clock, Clock]](), list[Clock]()
    for clock in wanted:
        other = next((
            o for o in there if not o.is_odd and not (o.has_h and lang == "en")
            and clock.agrees(o, has_part or not (is_strict or (clock.is_signed and not o.is_weak)))
        ), None)  # fmt: skip
        if other:
            same.append((clock, other))
            there.remove(other)
        else:
            lost.append(clock)
    return Comparison(tuple(same), tuple(lost), tuple(there))


def mended(source: str, output: str, lang: str) -> str:
    """A translation whose times are those of its source, where it is plain which is which."""
    found = compare(source, output, lang)
    if not found.lost:
        return output
    placed = [c for c in found.extra if not c.is_number]
    sure = [c for c in found.lost if not c.is_weak], [c for c in placed if not c.is_weak]
    for lost, there in (sure, (found.lost, placed), (sure[0], placed)):
        if len(lost) == len(there):
            for right, wrong in reversed([*zip(lost, there, strict=True)]):
                output = _replaced(output, wrong, written(right, lang))
            return output
    return output


def _replaced(text: str, wrong: Clock, right: str) -> str:
    """The text with another time in place of one; the article and the full stop stay right."""
    before, after = text[: wrong.start], text[wrong.end :]
    if text[wrong.end - 1] == "." and not after.strip():
        after = "." + after
    if before.endswith(("la ", "las ")):
        is_one = re.match(r"1(?!\d)", right) is not None
        before = re.sub(r"las? $", "la " if is_one else "las ", before)
    return before + right + (after[1:] if right.endswith(".") and after[:1] == "." else after)
