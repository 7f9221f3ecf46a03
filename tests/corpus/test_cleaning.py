"""Which pairs are dropped and why; strange ones that are right stay."""

import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.config import CorpusConfig
from transformer.corpus.cleaning import (
    SYNTHETIC_SOURCE,
    SYNTHETIC_TARGET,
    TAGGED,
    DropReason,
    count_reasons,
    dedup_text,
    drop_reason,
    drop_reasons,
    make_report,
    normalize,
    text_hash,
)

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
        ("12", "12. Mi casa", "not text"),
        ("a ------", "a word", "not text"),
        ("Espa\ufffda", "Spain", "not text"),
        ("Espa\x92a", "Spain", "not text"),
        ("Hola", "Привет", "wrong script"),
        ("漢字 a", "Hello", "wrong script"),
        ("Los Ángeles", "los ángeles", "copy of the source"),
    ],
)
def test_each_rule_gives_its_reason(src: str, tgt: str, reason: str) -> None:
    assert drop_reason(src, tgt, ES_EN, CONFIG).label == reason


@pytest.mark.parametrize(
    ("src", "tgt"),
    [
        ("No.", "No."),
        ("Madrid", "Madrid"),
        ("¿Qué?", "What?"),
        ("Sí.", "Yes, that is right."),
        ("¡Ay!", "Ow!"),
        ("Son 3,14 €.", "It's €3.14."),
        ("12.450,75 €", "€12,450.75"),
        ("«π» es una letra.", "“π” is a letter."),
        ("Łódź está en Polonia.", "Łódź is in Poland."),
        ("J. K. Rowling", "by J. K. Rowling"),
        ("😀 ¡Hola!", "😀 Hello!"),
    ],
)
def test_strange_pairs_that_are_right_stay(src: str, tgt: str) -> None:
    assert drop_reason(normalize(src), normalize(tgt), ES_EN, CorpusConfig()) == DropReason.KEPT


def test_other_scripts_are_right_in_other_languages() -> None:
    assert drop_reason("Привет", "Hello", ("ru", "en"), CONFIG) == DropReason.KEPT
    assert drop_reason("Hello", "Привет", ("en", "ru"), CONFIG) == DropReason.KEPT


def test_tidying_composes_characters_and_leaves_single_blanks() -> None:
    assert normalize(" e\u0301l \u00a0\t come\n") == "él come"
    assert normalize("½ ﬁn") == "½ ﬁn"  # nothing but the spelling of one character changes


@settings(deadline=None)
@given(text=TEXTS)
def test_tidying_twice_is_tidying_once(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert unicodedata.is_normalized("NFC", once)


@settings(deadline=None)
@given(src=TEXTS, tgt=TEXTS)
def test_cleaning_twice_is_cleaning_once(src: str, tgt: str) -> None:
    once = normalize(src), normalize(tgt)
    reason = drop_reason(*once, ES_EN, CONFIG)
    assert reason in DropReason
    assert drop_reason(normalize(once[0]), normalize(once[1]), ES_EN, CONFIG) == reason


@settings(deadline=None)
@given(src=TEXTS, tgt=TEXTS)
def test_only_the_script_depends_on_the_direction(src: str, tgt: str) -> None:
    src, tgt = normalize(src), normalize(tgt)
    assert drop_reason(src, tgt, ES_EN, CONFIG) == drop_reason(tgt, src, ES_EN, CONFIG)


def test_comparable_texts_differ_in_case_and_punctuation_only() -> None:
    assert dedup_text("¡Hola, MUNDO!") == dedup_text("hola mundo")
    assert dedup_text("Straße") == dedup_text("STRASSE")
    assert dedup_text("año") != dedup_text("ano")


def test_a_key_is_64_bits_that_differ_and_stay() -> None:
    texts = [f"texto {i}" for i in range(1000)]
    keys = {text_hash(text) for text in texts}
    assert len(keys) == 1000
    assert all(-(2**63) <= k < 2**63 for k in keys)
    assert keys == {text_hash(text) for text in texts}
    assert text_hash("\ud800") != text_hash("")


def test_a_side_that_is_held_out_is_a_reason_only_for_pairs_that_are_clean() -> None:
    rows: dict[str, list[Any]] = {
        "src": ["La casa.", "La casa", "la CASA", "", "Un gato."],
        "tgt": ["The house.", "A house", "", "La casa", "La casa!"],
        "made": [0] * 5,
    }
    judged = drop_reasons(rows, ES_EN, CONFIG, frozenset({text_hash(dedup_text("la casa"))}))
    held_out = "in the dev or test sets"
    reasons = [held_out, held_out, "empty", "empty", held_out]
    assert [DropReason(r).label for r in judged["reason"]] == reasons
    assert len(set(judged["key"])) == 5
    assert drop_reasons(rows, ES_EN, CONFIG, frozenset())["reason"][:2] == [DropReason.KEPT] * 2


def test_a_report_counts_by_source_and_shows_what_was_dropped() -> None:
    reasons = np.array([0, 1, 0, 7, 0])
    examples = {"kept": [("x", "y")], "empty": [("", "z")], "duplicate": []}
    made = make_report(["a", "b"], reasons, np.array([0, 0, 1, 1, 1]), examples)
    assert made == {
        "read": 5,
        "counts": {"kept": 3, "empty": 1, "duplicate": 1},
        "sources": [
            {"spec": "a", "counts": {"kept": 1, "empty": 1}},
            {"spec": "b", "counts": {"kept": 2, "duplicate": 1}},
        ],
        "dropped_examples": {"empty": [("", "z")]},
    }
    assert count_reasons(np.empty(0, np.int64)) == {}


@pytest.mark.parametrize(
    ("made", "both", "reason"),
    [
        (0, False, DropReason.COPY),
        (SYNTHETIC_SOURCE, False, DropReason.KEPT),
        (SYNTHETIC_SOURCE | TAGGED, True, DropReason.KEPT),
        (SYNTHETIC_TARGET, True, DropReason.KEPT),
        (SYNTHETIC_TARGET | TAGGED, False, DropReason.MACHINE_MADE),
        (SYNTHETIC_SOURCE | SYNTHETIC_TARGET, True, DropReason.MACHINE_MADE),
    ],
)
def test_what_a_machine_wrote_is_never_a_target_and_may_be_a_copy(
    made: int, both: bool, reason: DropReason
) -> None:
    rows: dict[str, list[Any]] = {"src": ["Los Ángeles"], "tgt": ["Los Ángeles"], "made": [made]}
    assert drop_reasons(rows, ES_EN, CONFIG, frozenset(), both)["reason"] == [reason]
