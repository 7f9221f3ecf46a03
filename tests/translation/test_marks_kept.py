"""Marks in what is translated: each stays to the letter, and the rest is as without it."""

import re
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.text.test_patterns import MEMBERS, WORDS
from tests.translation.test_guard import Spoken
from transformer.config import SLOTS, DecodeConfig
from transformer.translation import marked
from transformer.translation.guard import GuardedTranslator
from transformer.translation.translator import Candidate, Translator


@pytest.fixture(autouse=True)
def diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Align the n-th word with the n-th, as a random model would not."""

    def align(_: Translator, source: str, target: str) -> object:
        one, other = (re.findall(r"\w+|[^\w\s]+", text) for text in (source, target))
        return (one, other), [[float(i == j) for i in range(len(one))] for j in range(len(other))]

    monkeypatch.setattr(marked, "_align_words", align)


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


# Spanish, as a sentence of other words would stay as it is.
_SPANISH = WORDS.filter(lambda word: word not in ("the", "house", "now", "dog", "red,"))
SENTENCE = st.lists(_SPANISH, min_size=1, max_size=5).map(" ".join)


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
        ("{\\an8}Ella es así.", ["Ella es así."], "{\\an8}ELLA ES ASÍ."),
        (">>Ella es así.", ["Ella es así."], ">>ELLA ES ASÍ."),
        ("...que se fue ya.", ["que se fue ya."], "...QUE SE FUE YA."),
        ("[b]Ella es así.[/b]", ["Ella es así."], "[b]ELLA ES ASÍ.[/b]"),
        ("'''Ella es así.'''", ["Ella es así."], "'''ELLA ES ASÍ.'''"),
        ("*Él* la ve.", ["Él la ve."], "*ÉL* LA VE."),
        ("*I* no voy.", [f"{SLOTS[0]} I{SLOTS[1]} no voy."], "*I* NO VOY."),
        ("[i]Yo[/i] voy, {x}.", [f"Yo voy, {SLOTS[0]}."], "[i]YO[/i] VOY, {x}."),
        ("Es '''así''' y <b>ya no</b>.", ["Es así y ya no."], "ES '''ASÍ''' Y <b>YA NO</b>."),
        ("\x1b[1mEs\x1b[0m así.", ["Es así."], "\x1b[1mES\x1b[0m ASÍ."),
        ("{\\i1}Yo{\\i0} voy. <ref>A, 1</ref>", ["Yo voy."],
         "{\\i1}YO{\\i0} VOY. <ref>A, 1</ref>"),
        ("Es [b]un [i]no[/i] así[/b].",
         [f"Es {SLOTS[0]} un {SLOTS[1]} no{SLOTS[2]} así{SLOTS[3]}."],
         "ES [b]UN [i]NO[/i] ASÍ[/b]."),
        ("Es p<b>er</b>ro.", [f"Es p{SLOTS[0]}er{SLOTS[1]}ro."], "ES P<b>ER</b>RO."),
        ("&Guardar como...", ["Guardar como..."], "&GUARDAR COMO..."),
        ("Guardar &como", ["Guardar como"], "&GUARDAR COMO"),
        ("S&alir", ["Salir", "salir"], "&SALIR"),
        ("_Archivo", ["Archivo", "archivo"], "_ARCHIVO"),
        ("Hay {n, plural, one {# gato} other {# gatos}}.", ["Hay", "gato", "gatos"],
         "HAY {n, plural, one {# GATO} other {# GATOS}}."),
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
        ("*Yo* no.", "not me.", "*Not* me."),
        ("[b]Yo[/b] no.", "not me.", "[b]Not[/b] me."),
        (
            "[b][i]Yo[/i][/b] no.",
            f"{SLOTS[0]}{SLOTS[1]} me{SLOTS[2]}{SLOTS[3]} no.",
            "[b][i]Me[/i][/b] no.",
        ),
        ("...que se iba.", "That he left.", "...that he left."),
    ],
)
def test_the_word_beside_a_mark_has_its_capital(
    random_checkpoint: Path, text: str, said: str, result: str
) -> None:
    spoken = Spoken(Translator.load(random_checkpoint, "cpu"), lambda *_: said)
    (translation,) = GuardedTranslator(spoken).translate([text], DecodeConfig(scores=False))
    assert translation.text == result


@pytest.mark.parametrize(
    ("text", "is_left"),
    [
        ("Lorem ipsum dolor sit amet, consectetur adipiscing elit.", True),
        ("Nous partirons demain matin avec nos amis.", True),
        ("Partiremo domani mattina con i nostri amici.", True),
        ("The dog is black. The house is red.", True),
        ("Add to cart", True),
        ("Settings", True),
        ("Nobody knows the answer.", True),
        ("El perro negro.", False),
        ("Guardar cambios", False),
        ("El software de marketing en internet.", False),
        ("Madrid", False),
        ("no c si voi a ir", False),
        ("Tom no viene", False),
    ],
)
def test_what_is_in_a_third_language_or_in_the_target_already_stays(
    shouting: GuardedTranslator, text: str, is_left: bool
) -> None:
    (translation,) = shouting.translate([text])
    said = [text] if is_left else [text.upper()]
    assert [translation.text] == said
    assert ("does not read like Spanish" in translation.warnings) == is_left


def test_names_with_an_ampersand_and_calendars_need_no_model(shouting: GuardedTranslator) -> None:
    texts = ["Tom &Jerry", "Tom & Jerry", "Lun Mar Mié"]
    results = shouting.translate(texts)
    assert [result.text for result in results] == [*texts[:2], "Mon Tue Wed"]
    assert not any(result.warnings for result in results)


def test_two_words_with_capitals_come_from_the_likelier_case(random_checkpoint: Path) -> None:
    table = {"Buenos Días": ("Good Days", -2.0), "Buenos días": ("Good morning", -0.5)}

    def says(source: str, _: DecodeConfig) -> Candidate:
        text, score = table[source]
        return Candidate(text=text, score=score, tokens=())

    spoken = Spoken(Translator.load(random_checkpoint, "cpu"), says)
    (result,) = GuardedTranslator(spoken).translate(["Buenos Días"])
    assert result.text == "Good Morning"


def test_underscores_around_a_word_are_no_sign_of_a_key(shouting: GuardedTranslator) -> None:
    assert str(shouting.translate("_Yo_ no voy")) == "_YO_ NO VOY"


def test_what_is_carried_around_a_sentence_tells_nothing_of_it(random_checkpoint: Path) -> None:
    mark = '[quote="una casa con perro, post:1"]'
    spoken = Spoken(Translator.load(random_checkpoint, "cpu"), lambda text, _: "I like it here.")
    result = GuardedTranslator(spoken).translate(f"{mark}Me gusta estar aquí.[/quote]")
    assert result.text == f"{mark}I like it here.[/quote]"
    assert not result.warnings
