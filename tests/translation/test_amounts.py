"""Times and amounts come out with the value that they had, whatever the model makes of them."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.translation.test_guard import Spoken
from transformer.config import DecodeConfig
from transformer.translation.guard import GuardedTranslator
from transformer.translation.translator import GREEDY, Candidate, Translation, Translator

ES = ("La reunión es a las {}.", "El tren sale a las {} y llega tarde.", "¿Puedes venir a las {}?",
      "Nos vemos el lunes a las {}, ¿vale?", "La tienda abre a las {} todos los días.",
      "Llámame antes de las {}, por favor.", "Tome la pastilla a las {} en punto.",
      "El vuelo de Madrid llega a las {}.")  # fmt: skip
EN = ("The meeting is at {}.", "Call me before {} or after.", "Can you come at {}?",
      "The train leaves at {} and arrives late.", "See you on Monday at {}, OK?",
      "The shop opens at {} every day.", "Take the pill at {}.")  # fmt: skip


def spellings(lang: str, minute: int) -> list[str]:
    """A time as people write it, with what tells the half of the day."""
    hour, m = divmod(minute, 60)
    h, half = hour % 12 or 12, "ap"[hour >= 12]
    if lang == "en":
        return [f"{h}:{m:02} {half}.m.", f"{h}:{m:02} {half}m", f"{h}:{m:02}{half.upper()}M",
                f"{h}.{m:02}{half}m", f"{hour:02}:{m:02}"]  # fmt: skip
    return [f"{hour:02}:{m:02} h", f"{hour:02}:{m:02}", f"{hour:02}.{m:02} h", f"{hour:02}h{m:02}",
            f"{hour:02}:{m:02} hs", f"{hour}:{m:02} horas", f"{h}:{m:02} {half}. m.",
            f"{h}:{m:02} {half.upper()}M"]  # fmt: skip


def said(lang: str, text: str, wanted: int) -> bool:
    """Whether a text says a time, by another reading than that of the library."""
    h, m = divmod(wanted, 60)
    signs = {"en": ("a.m.", "am", "in the morning"), "es": ("a. m.", "a.m.", "am", "de la ma")}
    late = {"en": ("p.m.", "pm", "in the a", "in the e"),
            "es": ("p. m.", "p.m.", "pm", "de la t", "de la n")}  # fmt: skip
    twelve = [f"{h % 12 or 12}:{m:02}", f"{h % 12 or 12}.{m:02}"]
    if any(re.search(rf"(?<![\d:])0?{re.escape(form)}(?!\d)", text) for form in twelve):
        behind = re.split("|".join(map(re.escape, twelve)), text)[1].lower().lstrip()
        if h >= 12 and behind.startswith(late[lang]):
            return True
        if h < 12 and behind.startswith(signs[lang]):
            return True
        if 0 < h <= 12 and not behind.startswith((*signs[lang], *late[lang])):
            return True
    return re.search(rf"(?<![\d:])0?{h}[:.]{m:02}(?!\d)(?!\s?[ap]\.?\s?m)", text) is not None


class Garbler(Translator):
    """A translator that writes each time as another one, in any spelling, or as a word."""

    def __init__(self, like: Translator, lang: str) -> None:
        self.__dict__.update(vars(like))
        self.lang, self.chance = lang, random.Random(7)

    def translate_sentences(
        self, sentences: Sequence[str], decode: DecodeConfig = GREEDY
    ) -> list[Translation]:
        made = [
            Candidate(
                text=re.sub(r"\d\d?[:.]\d\d(?: h(?:oras)?\b| [ap]\. ?m\.)?", self.other, text)
                .replace("El tren sale a las", "The train leaves at")
                .replace("hoy", "today"),
                score=-1.0,
                tokens=(),
            )
            for text in sentences
        ]
        return [Translation(source=c.text, candidates=(c,)) for c in made]

    def other(self, found: re.Match[str]) -> str:
        if self.chance.random() < 0.2:
            return "soon"
        wrong = self.chance.choice(spellings(self.lang, self.chance.randrange(24 * 60)))
        return wrong + "." * (found[0].endswith(".") and not wrong.endswith("."))


@pytest.fixture(scope="module")
def plain(random_checkpoint: Path) -> Translator:
    return Translator.load(random_checkpoint, "cpu")


@pytest.fixture(scope="module")
def released() -> dict[str, GuardedTranslator]:
    model = Translator.load(ROOT / "checkpoints" / "both", "cpu")
    ways = {"es": ("en", "es"), "en": ("es", "en")}
    return {to: GuardedTranslator(model.for_direction(langs)) for to, langs in ways.items()}


def test_whatever_a_model_makes_of_times_they_come_out(plain: Translator) -> None:
    chance = random.Random(3)
    guarded = GuardedTranslator(Garbler(plain, "en"))
    cases = [
        (minute, f"El tren sale a las {spelling} hoy.")
        for minute in (chance.randrange(24 * 60) for _ in range(100))
        for spelling in spellings("es", minute)
    ]
    results = guarded.translate([text for _, text in cases])
    lost = [
        (text, result.text, result.warnings)
        for (minute, text), result in zip(cases, results, strict=True)
        if not said("en", result.text, minute) or result.warnings
    ]
    assert not lost, lost[:10]


@pytest.mark.parametrize(("source", "templates"), [("es", ES), ("en", EN)])
def test_the_released_model_keeps_times(
    released: dict[str, GuardedTranslator], source: str, templates: Sequence[str]
) -> None:
    to, chance = {"es": "en", "en": "es"}[source], random.Random(11)
    cases = [
        (minute, template.format(chance.choice(spellings(source, minute))))
        for template in templates
        for minute in (15, 570, 1110, 930, 785, 855, *(chance.randrange(24 * 60) for _ in range(6)))
    ]
    results = released[to].translate([text for _, text in cases])
    wrong = [
        (text, result.text, result.warnings)
        for (minute, text), result in zip(cases, results, strict=True)
        if not said(to, result.text, minute)
    ]
    assert not wrong, wrong


def replaced(text: str, said: dict[str, str]) -> str:
    """The text with each key of `said` as its value."""
    for right, wrong in said.items():
        text = text.replace(right, wrong)
    return text


@pytest.mark.parametrize(
    ("source", "said", "expected"),
    [
        ("A Tale of Two Cities", {"Tale of Two Cities": "Cola", "tale of two cities": "historia"},
         "A historia"),
        ("A Day with Merkel", {"A Day with": "Un día con"}, "Un día con Merkel"),
    ],
)  # fmt: skip
def test_a_heading_is_read_without_capitals_unless_it_has_names(
    plain: Translator, source: str, said: dict[str, str], expected: str
) -> None:
    def says(text: str, _: DecodeConfig) -> Candidate:
        text = replaced(text, said)
        return Candidate(text=text, score=-2.0 + text[1:].islower(), tokens=("▁a",) * 4)

    english = Spoken(plain, says)
    english.src_lang, english.tgt_lang = "en", "es"
    (result,) = GuardedTranslator(english).translate([source])
    assert result.text == expected


@pytest.mark.parametrize(
    ("source", "said", "expected"),
    [
        ("Hablé ayer con Juan Pérez en la oficina.",
         {"Juan": "John"}, "Hablé ayer con Juan Pérez en la oficina."),
        ("Luis XVIII vino ayer.", {"XVIII": "XVII"}, "Luis XVIII vino ayer."),
        ("Vino a casa (ayer) y se fue.", {")": ""}, "Vino a casa (ayer) y se fue."),
        ("La llamada es a las 15:05 en casa.", {"15:05": "3:05 p.m. 14.000"},
         "La llamada es a las 3:05 p.m. en casa."),
        ("Je voudrais un café et un croissant, s'il vous plaît.", {"un ": "a "},
         "Je voudrais un café et un croissant, s'il vous plaît."),
    ],
)  # fmt: skip
def test_what_a_model_changes_comes_out_all_the_same(
    plain: Translator, source: str, said: dict[str, str], expected: str
) -> None:
    (result,) = GuardedTranslator(Spoken(plain, lambda text, _: replaced(text, said))).translate(
        [source]
    )
    assert result.text == expected
