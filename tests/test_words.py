"""Pieces become words, whatever they are cut into."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.tokenizer import Tokenizer
from transformer.words import Word, words


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((), ()),
        (("▁",), ()),
        (("▁Buenos", "▁días", "."), (("Buenos", 0, 1), ("días", 1, 2), (".", 2, 3))),
        (("▁¿", "D", "ónde", "▁está"), (("¿", 0, 1), ("Dónde", 1, 3), ("está", 3, 4))),
        (("▁don", "'", "t", "▁go"), (("don't", 0, 3), ("go", 3, 4))),
        (("▁the", "▁", "<0xC3>", "<0xB1>", "▁x"), (("the", 0, 1), ("ñ", 1, 4), ("x", 4, 5))),
        (("▁a", "<0xC3>"), (("a", 0, 1), ("\ufffd", 1, 2))),
        (("▁yes.", "No"), (("yes", 0, 1), (".", 0, 1), ("No", 1, 2))),
    ],
)
def test_pieces_make_words(
    pieces: tuple[str, ...], expected: tuple[tuple[str, int, int], ...]
) -> None:
    assert words(pieces) == tuple(Word(*one) for one in expected)


@given(st.text())
def test_words_are_all_of_the_text_but_its_white_space(
    phrase_tokenizer: Tokenizer, text: str
) -> None:
    pieces = phrase_tokenizer.pieces(phrase_tokenizer.encode(text))
    shown = "".join(word.text for word in words(pieces))
    assert shown == "".join(phrase_tokenizer.normalize(text).split())
