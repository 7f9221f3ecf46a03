"""Marks in what is translated: each stays to the letter, and the rest is as without it."""

from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.text.test_marks import MEMBERS, WORDS
from tests.translation.test_guard import Spoken
from transformer.config import SLOTS, DecodeConfig
from transformer.translation.guard import GuardedTranslator
from transformer.translation.translator import Translator

KINDS = sorted(kind for kind, members in MEMBERS.items() if not members.is_empty)


@pytest.fixture(scope="module")
def shouting(random_checkpoint: Path) -> GuardedTranslator:
    """A guard around a model that says everything in capitals."""
    plain = Translator.load(random_checkpoint, "cpu")
    return GuardedTranslator(Spoken(plain, lambda text, _: text.upper()))


def check(guarded: GuardedTranslator, before: str, mark: str, after: str) -> None:
    text = f"{before} {mark} {after}"
    (result,) = guarded.translate([text])
    assert result.text == f"{before.upper()} {mark} {after.upper()}"


SENTENCE = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)


@pytest.mark.parametrize("kind", KINDS)
@hypothesis.given(st.data())
@hypothesis.settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_a_mark_stays_and_the_rest_is_translated(
    shouting: GuardedTranslator, kind: str, data: st.DataObject
) -> None:
    mark = data.draw(MEMBERS[kind]) + ("x]]" if kind == "link" else "")
    mark = mark.replace("x]]", "X]]")
    check(shouting, data.draw(SENTENCE), mark, data.draw(SENTENCE))


@pytest.mark.slow
@hypothesis.given(st.sampled_from(KINDS).flatmap(MEMBERS.__getitem__), SENTENCE, SENTENCE)
@hypothesis.settings(max_examples=10_000, deadline=None, database=None)
def test_none_of_ten_thousand_is_lost(
    shouting: GuardedTranslator, mark: str, before: str, after: str
) -> None:
    check(
        shouting,
        before,
        mark + ("X]]" if mark.startswith("[[") and mark.endswith("|") else ""),
        after,
    )


@pytest.mark.parametrize(
    ("text", "asked", "result"),
    [
        ("{\\an8}There she is.", ["There she is."], "{\\an8}THERE SHE IS."),
        (">>There she is.", ["There she is."], ">>THERE SHE IS."),
        ("...that he left.", ["that he left."], "...THAT HE LEFT."),
        ("[b]There she is.[/b]", ["There she is."], "[b]THERE SHE IS.[/b]"),
        ("'''There she is.'''", ["There she is."], "'''THERE SHE IS.'''"),
        ("*I* see her.", [f"{SLOTS[0]} I{SLOTS[1]} see her."], "*I* SEE HER."),
        ("[i]I[/i] see.", [f"{SLOTS[0]} I{SLOTS[1]} see."], "[i]I[/i] SEE."),
        ("&Save As...", ["Save As..."], "&SAVE AS..."),
        ("Save &As", ["Save As"], "&SAVE AS"),
        ("E&xit", ["Exit", "exit"], "&EXIT"),
        ("_Archivo", ["Archivo", "archivo"], "_ARCHIVO"),
        ("You have {n, plural, one {# day} other {# days}}.", ["You have", "day", "days"],
         "YOU HAVE {n, plural, one {# DAY} other {# DAYS}}."),
    ],
)  # fmt: skip
def test_a_sentence_is_read_without_the_marks_around_it(
    shouting: GuardedTranslator, text: str, asked: list[str], result: str
) -> None:
    spoken = shouting.translator
    assert isinstance(spoken, Spoken)
    spoken.asked.clear()
    (translation,) = shouting.translate([text])
    assert (translation.text, spoken.asked[: len(asked)]) == (result, asked)


@pytest.mark.parametrize(
    ("text", "said", "result"),
    [
        ("{\\an8}No sé.", "i don't know.", "{\\an8}I don't know."),
        ("*Yo* no.", f"{SLOTS[0]} not me{SLOTS[1]}.", "*Not me*."),
        ("[b]Yo[/b] no.", f"{SLOTS[0]}not me{SLOTS[1]}.", "[b]Not me[/b]."),
        ("...que se fue.", "That he left.", "...that he left."),
    ],
)
def test_the_word_beside_a_mark_has_its_capital(
    random_checkpoint: Path, text: str, said: str, result: str
) -> None:
    spoken = Spoken(Translator.load(random_checkpoint, "cpu"), lambda *_: said)
    (translation,) = GuardedTranslator(spoken).translate([text], DecodeConfig(scores=False))
    assert translation.text == result
