"""Slips of the keyboard: what is undone, what stays, where the words come from."""

import random
import runpy
from pathlib import Path

import pytest

from transformer import noise, spelling
from transformer.spelling import Words, count, mended, sources, words

ROOT = Path(__file__).resolve().parent.parent
KNOWN = Words({"casa": 0, "quiero": 1, "cosa": 2, "mañana": 3}, frozenset({"caza", "wombat"}))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language with the few words of this file."""
    monkeypatch.setattr(spelling, "words", {"es": KNOWN}.get)


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("qiero", "quiero"),  # lost
        ("quierro", "quiero"),  # doubled
        ("quireo", "quiero"),  # swapped
        ("uqiero", "quiero"),
        ("quirro", "quiero"),  # the key beside
        ("manana", "mañana"),  # unmarked
        ("ccasa", "casa"),
    ],
)
def test_a_slip_is_undone(typed: str, word: str) -> None:
    assert word in set(sources(typed))
    assert KNOWN.meant(typed) == word


def test_whatever_slips_the_training_makes_can_be_undone() -> None:
    rng = random.Random(0)
    for word in ("quiero", "biblioteca", "llamada", "house", "señora"):
        for _ in range(60):
            slipped = noise.typos(word, "", rng)[0]
            assert word == slipped or word in set(sources(slipped))


@pytest.mark.parametrize("word", ["caza", "wombat", "casa", "xyzzy", "combat", ""])
def test_what_is_known_stays_and_so_does_what_nothing_is_near(word: str) -> None:
    assert KNOWN.meant(word) == word


def test_the_more_frequent_word_was_meant() -> None:
    assert {"casa", "cosa"} <= set(sources("csa"))
    assert KNOWN.meant("csa") == "casa"


@pytest.mark.parametrize(
    "text",
    [
        "Qiero.",
        "QIERO",
        "{qiero}",
        "a@qiero.es",
        "qiero's",
        "pre-qiero",
        "qie ro",
        "qiero_x",
        "q" * 9999,
    ],
)
@pytest.mark.usefixtures("counted")
def test_names_addresses_and_codes_stay(text: str) -> None:
    assert mended(text, "es", len) == (text, [])


@pytest.mark.usefixtures("counted")
def test_every_slip_is_undone_and_told() -> None:
    text, undone = mended("No qiero ir, manana sí.", "es", lambda word: 2)
    assert text == "No quiero ir, mañana sí."
    assert undone == ["qiero read as quiero", "manana read as mañana"]


@pytest.mark.usefixtures("counted")
def test_a_word_that_the_model_knows_as_well_stays() -> None:
    pieces = {"qiero": 1, "quiero": 2}
    assert mended("No qiero.", "es", pieces.__getitem__) == ("No qiero.", [])
    assert mended("No qiero.", "es", lambda _: 1)[1] == ["qiero read as quiero"]


@pytest.mark.usefixtures("counted")
def test_a_language_that_was_not_counted_is_left_alone() -> None:
    assert mended("No qiero.", "ca", len) == ("No qiero.", [])


def test_frequent_words_come_in_the_order_of_their_frequency_the_others_sorted() -> None:
    texts = ["La casa, la mesa."] * 20 + ["La casa"] + ["zeta ala l'eau don't"]
    assert count(texts) == (["la", "casa", "mesa"], ["ala", "zeta"])


@pytest.mark.parametrize(
    ("lang", "frequent", "known"),
    [("es", "biblioteca", "mesa"), ("en", "library", "table")],
)
def test_the_tables_hold_what_is_frequent_and_what_is_rare(
    lang: str, frequent: str, known: str
) -> None:
    found = words(lang)
    assert found is not None
    assert {frequent, known} <= found.rank.keys()
    assert not found.rank.keys() & found.others
    assert len(found.others) > len(found.rank) > 10_000


def test_the_script_writes_both_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spelling, "FOLDER", tmp_path)
    main = runpy.run_path(str(ROOT / "data" / "spelling.py"))["main"]
    main([str(ROOT / "data" / "test.tsv")])
    words.cache_clear()
    spanish, english = words("es"), words("en")
    words.cache_clear()
    assert spanish is not None
    assert english is not None
    assert "casa" in {*spanish.rank, *spanish.others}
    assert "house" in {*english.rank, *english.others}
