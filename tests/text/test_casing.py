"""Letter case: what is in capitals or a title, and how pieces of a sentence are made to fit."""

from collections.abc import Callable

import pytest

from transformer.text.casing import (
    heading_case,
    is_all_caps,
    is_capitalized_word,
    is_heading,
    is_title_case,
    lowercase,
    match_final_mark,
    match_initial_case,
    may_be_title_case,
    title_case,
)


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [
        ("The house", "la casa", "the house"),
        ("The house", "La casa", "The house"),
        ("I go", "voy", "I go"),
        ("I'm going", "voy", "I'm going"),
        ("A house", "una casa", "a house"),
        ("FBI men", "hombres del FBI", "FBI men"),
        ("", "la", ""),
    ],
)
def test_a_piece_begins_as_its_source_does(text: str, model: str, expected: str) -> None:
    assert match_initial_case(text, model) == expected


def test_a_piece_ends_as_its_source_does() -> None:
    assert match_final_mark("The house.", "la casa") == "The house"
    assert match_final_mark("The house.", "la casa.") == "The house."
    assert match_final_mark("The house...", "la casa") == "The house..."


def test_a_title_is_written_like_one() -> None:
    assert title_case("I'm in the  house.") == "I'm In The  House."
    assert heading_case("the lord of  the rings") == "The Lord of  the Rings"


@pytest.mark.parametrize(
    ("is_it", "texts", "others"),
    [
        (is_capitalized_word, ["Manzana", "Él", "Ñandú"],
         ["manzana", "FBI", "I", "Hola.", "Buenos días", "iPhone", "", "3"]),
        (is_all_caps, ["HOLA", "LA CASA", "¿QUÉ HORA ES?", "A B", "NO SÉ 3"],
         ["FBI", "Hola", "El FBI llegó", "123", "", "I", "XXI", "USA.", "LA casa"]),
        (is_title_case,
         ["La Casa Es Muy Bonita", "¿Qué Hora Es En Madrid?", "I'm Not In The House"],
         ["Juan Pérez García", "Juan De La Cruz", "La casa es muy bonita", "LA CASA ES MUY FEA"]),
        (is_heading, ["A Tale of Two Cities", "War and Peace", "El Señor de los Anillos"],
         ["Me Gusta Leer", "Tom likes the Fish", "B. Use of Fish", "a Day in May",
          "South of"]),
        (may_be_title_case, ["Me Gusta Leer", "How To Cook Rice", "Don't Do That", "I'm Not A Fool",
                        "Tom Likes Fish."],
         ["Juan Pérez García", "Juan De La Cruz", "Soy Tom.", "Me gusta Leer", "ME GUSTA LEER", "",
          "3."]),
    ],
)  # fmt: skip
def test_single_words_capitals_and_titles_are_told_from_names_and_sentences(
    is_it: Callable[[str], bool], texts: list[str], others: list[str]
) -> None:
    assert [text for text in texts if not is_it(text)] == []
    assert [text for text in others if is_it(text)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CAPÍTULO XIV", "capítulo XIV"),
        ("LUIS II Y XX", "luis II y XX"),
        ("AYER VI A X", "ayer vi a x"),
        ("EXIT MIX", "exit mix"),
        ("Informe de la ONU", "informe de la ONU"),
        ("IBM History: A Day", "IBM history: a day"),
    ],
)
def test_roman_numerals_and_acronyms_stay_in_capitals(text: str, expected: str) -> None:
    assert lowercase(text) == expected
