"""Headers by code, name or role; and columns that hold each other's language."""

import pytest

from transformer.config import UserError
from transformer.corpus.columns import (
    SAMPLE_SIZE,
    exchange_if_swapped,
    find_column,
    find_columns,
    swapped_languages,
)

ES_EN = ("es", "en")
PAIRS = [(f"La casa blanca de la señora {i}.", f"The white house {i} of the lady.")
         for i in range(SAMPLE_SIZE + 5)]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "found"),
    [("es", "es"), ("es-ES", "es-ES"), ("ES", "ES"), ("es_419", "es_419"), ("est", None)],
)
def test_a_column_is_named_by_a_language_code_with_or_without_a_region(
    name: str, found: str | None
) -> None:
    assert find_column(["id", name, "en"], "es") == found


@pytest.mark.parametrize(
    ("src", "tgt"),
    [("es-ES", "en_GB"), ("Spanish", "English"), ("español", "inglés"), ("ESPAÑOL", "Ingles "),
     ("Castellano (España)", "English (UK)"), ("spa", "eng"), ("source", "target"),
     ("src", "tgt"), ("Source Text", "Target Text"), ("Origen", "Traducción"),
     ("original", "translation"), ("es", "English")],
)  # fmt: skip
def test_the_columns_are_found_by_their_common_names(src: str, tgt: str) -> None:
    assert find_columns((tgt, "id", src), ES_EN) == (src, tgt)


def test_a_language_counts_more_than_a_role() -> None:
    assert find_columns(("source", "es", "en", "target"), ES_EN) == ("es", "en")


@pytest.mark.parametrize("names", [(), ("es",), ("es", "fr"), ("a", "b"), ("Hola", "Hello")])
def test_a_header_without_both_has_none(names: tuple[str, ...]) -> None:
    assert find_columns(names, ES_EN) is None


def test_columns_that_are_named_are_taken_where_a_table_has_them() -> None:
    columns = ("texto", "corrected")
    assert find_columns(("en", "corrected", "es", " texto "), ES_EN, columns) == (
        " texto ",
        "corrected",
    )
    assert find_columns(("es", "en"), ES_EN, columns) == ("es", "en")
    with pytest.raises(UserError, match="--columns, got a header without 'corrected': texto, en"):
        find_columns(("texto", "en"), ES_EN, columns)


def test_swapped_columns_are_recognised_and_exchanged() -> None:
    backwards = [pair[::-1] for pair in PAIRS]
    assert swapped_languages(backwards, ES_EN) == "English and Spanish"
    assert swapped_languages(PAIRS, ES_EN) is None
    assert swapped_languages([], ES_EN) is None
    assert swapped_languages(backwards, ("es", "fr")) is None
    assert list(exchange_if_swapped(iter(backwards), ES_EN)) == PAIRS
    assert list(exchange_if_swapped(iter(PAIRS), ES_EN)) == PAIRS
