"""Capitals: what shouts, and how the pieces of a sentence are made to fit again."""

import pytest

from transformer.text.casing import (
    begins_like,
    ends_like,
    is_lone,
    is_shouted,
    is_title,
    may_be_title,
    titled,
)


def test_one_word_with_a_capital_is_alone() -> None:
    assert all(map(is_lone, ["Manzana", "Él", "Ñandú"]))
    assert not any(map(is_lone, ["manzana", "FBI", "I", "Hola.", "Buenos días", "iPhone", "", "3"]))


@pytest.mark.parametrize("text", ["HOLA", "LA CASA", "¿QUÉ HORA ES?", "A B", "NO SÉ 3"])
def test_capitals_shout(text: str) -> None:
    assert is_shouted(text)


@pytest.mark.parametrize(
    "text", ["FBI", "Hola", "El FBI llegó", "123", "", "I", "XXI", "USA.", "LA casa"]
)
def test_a_short_name_or_a_small_letter_does_not(text: str) -> None:
    assert not is_shouted(text)


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
    assert begins_like(text, model) == expected


def test_a_piece_ends_as_its_source_does() -> None:
    assert ends_like("The house.", "la casa") == "The house"
    assert ends_like("The house.", "la casa.") == "The house."
    assert ends_like("The house...", "la casa") == "The house..."


@pytest.mark.parametrize("text", ["La Casa Es Muy Bonita", "¿Qué Hora Es En Madrid?"])
def test_a_title_has_a_capital_on_every_word(text: str) -> None:
    assert is_title(text)


@pytest.mark.parametrize(
    "text", ["Juan Pérez García", "Juan De La Cruz", "La casa es muy bonita", "LA CASA ES MUY FEA"]
)
def test_a_name_or_a_sentence_is_no_title(text: str) -> None:
    assert not is_title(text)


@pytest.mark.parametrize(
    "text",
    ["Me Gusta Leer", "How To Cook Rice", "Don't Do That", "I'm Not A Fool", "Tom Likes Fish."],
)
def test_a_short_text_with_a_capital_on_every_word_may_be_a_title(text: str) -> None:
    assert may_be_title(text)


@pytest.mark.parametrize(
    "text",
    [
        "Juan Pérez García",
        "Juan De La Cruz",
        "Soy Tom.",
        "Me gusta Leer",
        "ME GUSTA LEER",
        "",
        "3.",
    ],
)
def test_a_name_or_a_short_sentence_may_not(text: str) -> None:
    assert not may_be_title(text)


def test_a_contraction_is_one_word_of_a_title() -> None:
    assert is_title("I'm Not In The House")


def test_a_title_is_written_like_one() -> None:
    assert titled("I'm in the  house.") == "I'm In The  House."
