"""Marked words keep their marks, wherever their translation puts them."""

import random

import pytest

from transformer.text.markup import locate_words, project_markup, split_at_marks

SOURCE = "El coche rojo."
TARGET = "The red car."
WORDS = ["El", "coche", "rojo", "."], ["The", "red", "car", "."]
WEIGHTS = [[0.9, 0, 0, 0], [0, 0.1, 0.8, 0.1], [0, 0.8, 0.1, 0], [0, 0, 0.5, 0.4]]


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ([], [(TARGET, None)]),
        ([(9, 13)], [("The ", None), ("red", 0), (" car.", None)]),
        ([(3, 8)], [("The red ", None), ("car", 0), (".", None)]),
        ([(3, 13)], [("The ", None), ("red car", 0), (".", None)]),
        ([(3, 8), (9, 13)], [("The ", None), ("red", 1), (" ", None), ("car", 0), (".", None)]),
        ([(0, 14)], [("The red car.", 0)]),
    ],
)
def test_a_mark_goes_where_its_words_go(
    marks: list[tuple[int, int]], expected: list[tuple[str, int | None]]
) -> None:
    assert project_markup((SOURCE, TARGET), marks, WORDS, WEIGHTS) == expected


def test_every_mark_and_every_character_is_kept_whatever_the_weights() -> None:
    draw = random.Random(3)
    for _ in range(300):
        weights = [[draw.random() ** 8 for _ in WORDS[0]] for _ in WORDS[1]]
        edges = sorted(draw.sample(range(len(SOURCE) + 1), 2 * draw.randint(1, 5)))
        marks = list(zip(edges[::2], edges[1::2], strict=True))
        found = project_markup((SOURCE, TARGET), marks, WORDS, weights)
        assert "".join(text for text, _ in found) == TARGET
        assert sorted(m for _, m in found if m is not None) == list(range(len(marks)))


def test_words_that_are_not_there_are_an_error() -> None:
    assert locate_words("a b a", ["a", "a"]) == [(0, 1), (4, 5)]
    with pytest.raises(ValueError, match="substring not found"):
        project_markup((SOURCE, "Another."), [(0, 2)], WORDS, WEIGHTS)


def test_a_text_is_cut_at_its_marks() -> None:
    parts = [("a", 0), ("b", None), ("c", 1), ("d", None)]
    assert split_at_marks("abcd", [(0, 1), (2, 3)]) == parts
