"""What a call to translate takes, and what it says of anything else."""

from typing import Any

import pytest

from transformer.config import DecodeConfig, UserError
from transformer.translation.arguments import check_texts, search_config
from transformer.translation.translator import GREEDY, arrival_batches


def test_a_text_and_texts_in_any_iterable_are_taken() -> None:
    assert check_texts("Hola.") == ["Hola."]
    for texts in (
        ["a", "b"],
        ("a", "b"),
        iter(["a", "b"]),
        (text for text in "ab"),
        {"a": 1, "b": 2}.keys(),
    ):
        assert check_texts(texts) == ["a", "b"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "a text or a list of texts, got NoneType"),
        (3, "got int"),
        (b"Hola.", "got bytes"),
        ({"a": "Hola."}, "got dict"),
        ({"Hola."}, "got set"),
        ([None], "a string as text 1, got NoneType"),
        (["Hola.", 3.5], "a string as text 2, got float"),
    ],
)
def test_what_is_no_text_is_one_line(texts: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^expected {message}|{message}$"):
        check_texts(texts)


def test_a_stream_refuses_what_is_no_text() -> None:
    with pytest.raises(TypeError, match="a string as text 2, got NoneType"):
        list(arrival_batches(["Hola.", None], 1))  # type: ignore[list-item]
    with pytest.raises(TypeError, match="an iterable of lines, got a string"):
        list(arrival_batches("Hola.", 9))


def test_options_of_the_search_are_named() -> None:
    assert search_config(GREEDY, {}) == GREEDY
    assert search_config(GREEDY, {"beam_size": 4, "alpha": 1}) == DecodeConfig(beam_size=4, alpha=1)
    assert search_config(GREEDY, {"n_best": 3}) == DecodeConfig(beam_size=3, n_best=3)
    assert search_config(DecodeConfig(beam_size=5), {"n_best": 2}).beam_size == 5


@pytest.mark.parametrize(
    ("decode", "options", "kind", "message"),
    [
        ("es", {}, TypeError, 'a DecodeConfig, or options as to="es" and beam_size=4; got str'),
        (GREEDY, {"beams": 4}, TypeError, "no option beams: a search has beam_size, n_best"),
        (GREEDY, {"beam_size": "4"}, TypeError, "beam_size of type int, got '4'"),
        (GREEDY, {"beam_size": True}, TypeError, "beam_size of type int, got True"),
        (GREEDY, {"beam_size": 0}, UserError, "^expected .*beam_size >= 1, not 0"),
        (GREEDY, {"beam_size": 1, "n_best": 2}, UserError, "1 <= n_best <= beam_size, not 2 of 1"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(
    decode: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        search_config(decode, options)
