"""Which pairs are dropped and why; strange ones that are right stay."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.cleaning import REASONS, comparable, defect, key, tidy
from transformer.config import CorpusConfig

ES_EN = ("es", "en")
CONFIG = CorpusConfig(max_words=10, max_ratio=2.0)
TEXTS = st.text() | st.text(st.sampled_from("aA é\u0301\u00a0\u2000\t\n.1ж漢😀\ufffd\x1c"))


@pytest.mark.parametrize(
    ("src", "tgt", "reason"),
    [
        ("Hola.", "Hello.", "kept"),
        ("", "Hello.", "empty"),
        ("Hola.", "", "empty"),
        (" ".join("abcdefghij"), "one two three", "kept"),
        (" ".join("abcdefghijk"), "one two three", "too long"),
        ("one two three", " ".join("abcdefghijk"), "too long"),
        ("a" * 20, "b" * (2 * 20 + 15), "kept"),
        ("a" * 20, "b" * (2 * 20 + 16), "length ratio"),
        ("a" * 56, "b" * 20, "length ratio"),
        ("...", "Hello.", "not text"),
        ("1984", "1984", "not text"),
        ("a ------", "a word", "not text"),
        ("Espa\ufffda", "Spain", "not text"),
        ("Espa\x92a", "Spain", "not text"),
        ("Hola", "Привет", "wrong script"),
        ("漢字 a", "Hello", "wrong script"),
        ("Los Ángeles", "los ángeles", "copy of the source"),
    ],
)
def test_each_rule_gives_its_reason(src: str, tgt: str, reason: str) -> None:
    assert defect(src, tgt, ES_EN, CONFIG) == reason
    assert reason in REASONS


@pytest.mark.parametrize(
    ("src", "tgt"),
    [
        ("No.", "No."),
        ("Madrid", "Madrid"),
        ("¿Qué?", "What?"),
        ("Sí.", "Yes, that is right."),
        ("¡Ay!", "Ow!"),
        ("Son 3,14 €.", "It's €3.14."),
        ("«π» es una letra.", "“π” is a letter."),
        ("Łódź está en Polonia.", "Łódź is in Poland."),
        ("J. K. Rowling", "by J. K. Rowling"),
        ("😀 ¡Hola!", "😀 Hello!"),
    ],
)
def test_strange_pairs_that_are_right_stay(src: str, tgt: str) -> None:
    assert defect(tidy(src), tidy(tgt), ES_EN, CorpusConfig()) == "kept"


def test_other_scripts_are_right_in_other_languages() -> None:
    assert defect("Привет", "Hello", ("ru", "en"), CONFIG) == "kept"
    assert defect("Hello", "Привет", ("en", "ru"), CONFIG) == "kept"


def test_tidying_composes_characters_and_leaves_single_blanks() -> None:
    assert tidy(" e\u0301l \u00a0\t come\n") == "él come"
    assert tidy("½ ﬁn") == "½ ﬁn"  # nothing but the spelling of one character changes


@settings(deadline=None)
@given(text=TEXTS)
def test_tidying_twice_is_tidying_once(text: str) -> None:
    once = tidy(text)
    assert tidy(once) == once
    assert unicodedata.is_normalized("NFC", once)


@settings(deadline=None)
@given(src=TEXTS, tgt=TEXTS)
def test_cleaning_twice_is_cleaning_once(src: str, tgt: str) -> None:
    once = tidy(src), tidy(tgt)
    reason = defect(*once, ES_EN, CONFIG)
    assert reason in REASONS
    assert defect(tidy(once[0]), tidy(once[1]), ES_EN, CONFIG) == reason


@settings(deadline=None)
@given(src=TEXTS, tgt=TEXTS)
def test_only_the_script_depends_on_the_direction(src: str, tgt: str) -> None:
    src, tgt = tidy(src), tidy(tgt)
    assert defect(src, tgt, ES_EN, CONFIG) == defect(tgt, src, ES_EN, CONFIG)


def test_comparable_texts_differ_in_case_and_punctuation_only() -> None:
    assert comparable("¡Hola, MUNDO!") == comparable("hola mundo")
    assert comparable("Straße") == comparable("STRASSE")
    assert comparable("año") != comparable("ano")


def test_a_key_is_64_bits_that_differ_and_stay() -> None:
    texts = [f"texto {i}" for i in range(1000)]
    keys = {key(text) for text in texts}
    assert len(keys) == 1000
    assert all(-(2**63) <= k < 2**63 for k in keys)
    assert keys == {key(text) for text in texts}
    assert key("\ud800") != key("")
