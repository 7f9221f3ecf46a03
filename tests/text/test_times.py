"""Times of a day: what is one, what it says, and how it is put right in a translation."""

import pytest

from tests.processes import shipped
from transformer.text.times import ClockTime, correct_times, find_times, format_time


def times(text: str) -> list[str]:
    return [f"{c.minute // 60}:{c.minute % 60:02}" for c in find_times(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A las 18:30 h, a las 18.30 h, a las 18:30 hs o a las 18h30.", ["18:30"] * 4),
        ("A las 6:30 p. m., 6:30 p.m., 6:30 PM y 6.30pm.", ["18:30"] * 4),
        ("A las seis y media de la tarde, a las 6 y media de la tarde.", ["18:30"] * 2),
        ("At half past six in the evening, at six thirty p.m.", ["18:30"] * 2),
        ("A las siete menos cuarto; un cuarto para las siete.", ["6:45"] * 2),
        ("A quarter to seven, five minutes past seven, seven o'clock.", ["6:45", "7:05", "7:00"]),
        ("12 noon, 12 a.m., 12:15 p.m., 12 de la noche", ["12:00", "0:00", "12:15", "0:00"]),
        ("Las 9 de la noche, las 2 de la madrugada, las 22 h.", ["21:00", "2:00", "22:00"]),
        ("Monday, 9:00-14:00 and 4 to 6:30 p.m.", ["9:00", "14:00", "4:00", "18:30"]),
        ("It takes 22 h, at 12.03.2024, 10:00:00, v1.30, $6.30, 6:300, 16:9, 6.30 m", []),
        ("Dura dos horas y media; dos y media; de 12/3 a 14/5; 1:75", []),
        ("I am at home, two of them.", []),
    ],
)  # fmt: skip
def test_a_time_is_read_in_every_usual_spelling(text: str, expected: list[str]) -> None:
    assert times(text) == expected


@pytest.mark.parametrize(
    ("lang", "source", "output", "right"),
    [
        ("en", "A las 18:30 h.", "At 8:30 p.m.", "At 6:30 p.m."),
        ("en", "A las 18:30.", "At 8:30.", "At 6:30 p.m."),
        ("en", "A las 00:15 h.", "At 00:15 p.m.", "At 12:15 a.m."),
        ("en", "A las 22 h.", "At 22 p.m.", "At 10 p.m."),
        ("en", "A las 22 h.", "At 22 h.", "At 10 p.m."),
        ("en", "A las 9:30.", "At 9:30 p.m.", "At 9:30."),
        ("en", "Esta noche a las 9:30.", "Tonight at 9:30 p.m.", "Tonight at 9:30 p.m."),
        ("en", "A las 15:30 h o a las 3 p. m.", "At 5:30 p.m. or 3 p.m.", "At 3:30 p.m. or 3 p.m."),
        ("en", "De 9:00 a 14:00.", "From 9:00 to 2:00 p.m.", "From 9:00 to 2:00 p.m."),
        ("es", "Before 2:15 pm.", "Antes de las dos y media.", "Antes de las 14:15."),
        ("es", "At 1:05 p.m.", "A la 1:05.", "A las 13:05."),
        ("es", "At 1:05 a.m.", "A las 13:05.", "A la 1:05."),
        ("es", "At 7 p.m.", "A las siete.", "A las 19:00."),
        ("es", "At 7 p.m.", "A las siete de la tarde.", "A las siete de la tarde."),
        ("es", "At half past six.", "A las 18:30.", "A las 6:30."),
        ("es", "At 5 o'clock.", "A las 17:00.", "A las 5."),
        ("es", "At 12:15 a.m.", "A las 12:15.", "A las 00:15."),
        ("es", "At 3.30pm.", "A las 3,30.", "A las 15:30."),
        ("es", "At noon.", "A mediodía.", "A mediodía."),
        ("es", "He has 5 cats.", "A las 17:00.", "A las 17:00."),
    ],
)
def test_a_time_that_differs_is_put_right(lang: str, source: str, output: str, right: str) -> None:
    assert correct_times(source, output, lang) == right
    assert correct_times(source, right, lang) == right


def test_where_it_is_not_plain_which_is_which_nothing_is_put() -> None:
    output = "At 8:30 p.m. and at 9:30 p.m."
    assert correct_times("A las 18:30 h.", output, "en") == output
    assert correct_times("A las 18:30 h.", "Later.", "en") == "Later."


def test_what_is_written_is_read_again() -> None:
    for minute in range(24 * 60):
        clock = ClockTime(0, 0, minute, has_known_half=True, has_no_minutes=minute % 60 == 0)
        assert [c.minute for c in find_times(f"at {format_time(clock, 'en')}")] == [minute]
        assert [c.minute for c in find_times(f"a las {format_time(clock, 'es')}")] == [minute]


def test_times_by_people_are_hardly_ever_put_otherwise() -> None:
    pairs = shipped("train")
    changed = [
        es
        for es, en in pairs
        if correct_times(es, en, "en") != en or correct_times(en, es, "es") != es
    ]
    assert len(changed) <= len(pairs) // 10_000, changed
