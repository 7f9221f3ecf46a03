"""Guarded translation: what must come out as it went in does, whatever the model makes of it."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from transformer.config import SLOTS, DecodeConfig
from transformer.text.glossary import Glossary
from transformer.text.placeholders import find_protected, unwritable
from transformer.translation.guard import GuardedTranslator
from transformer.translation.translator import GREEDY, Candidate, Translation, Translator

Says = Callable[[str, DecodeConfig], str | Candidate]
TOKENS = ("{name}", "https://a.org/b?c=1", "a@b.com", "<b>", "%1$s", "`ls -l`", "😀", "東京")


def said(source: str, what: str | Candidate) -> Translation:
    made = what if isinstance(what, Candidate) else Candidate(text=what, score=-1.0, tokens=())
    return Translation(source=source, candidates=(made,))


class Spoken(Translator):
    """A translator whose model is a function of text; remembers what it was asked."""

    def __init__(self, like: Translator, says: Says) -> None:
        self.__dict__.update(vars(like))
        self.says, self.asked = says, list[str]()

    def translate_sentences(
        self, sentences: Sequence[str], decode: DecodeConfig = GREEDY
    ) -> list[Translation]:
        self.asked += sentences
        return [said(text, self.says(text, decode)) for text in sentences]


Speaks = Callable[..., tuple[GuardedTranslator, Spoken]]


@pytest.fixture(scope="module")
def plain(random_checkpoint: Path) -> Translator:
    return Translator.load(random_checkpoint, "cpu")


@pytest.fixture
def speaks(plain: Translator) -> Speaks:
    def make(says: Says, has_slots: bool = True) -> tuple[GuardedTranslator, Spoken]:
        spoken = Spoken(plain, says)
        guarded = GuardedTranslator(spoken)
        guarded.has_slots = has_slots
        return guarded, spoken

    return make


def test_protected_tokens_pass_as_slots(speaks: Speaks, plain: Translator) -> None:
    assert GuardedTranslator(plain).has_slots  # of a vocabulary that is made now
    guarded, spoken = speaks(lambda text, _: text.replace("Hola", "Hello"))
    (result,) = guarded.translate(["Hola {name}, mira https://a.org/b."])
    assert (result.text, result.warnings) == ("Hello {name}, mira https://a.org/b.", ())
    assert spoken.asked == [f"Hola {SLOTS[0]}, mira {SLOTS[1]}."]


def test_a_word_behind_a_tag_is_read_as_one_and_stays_there(speaks: Speaks) -> None:
    guarded, spoken = speaks(lambda text, _: text.replace("Pulsa", "Press"))
    (result,) = guarded.translate(["Pulsa <b>Aceptar</b>, H<0/>O y <b>{x}</b>."])
    a, b, c, d, e, f = SLOTS[:6]
    assert spoken.asked == [f"Pulsa {a} Aceptar{b}, H{c}O y {d}{e}{f}."]
    assert result.text == "Press <b>Aceptar</b>, H<0/>O y <b>{x}</b>."


def test_words_that_left_their_tags_are_translated_between_them(speaks: Speaks) -> None:
    guarded, _ = speaks(lambda text, _: f"rojo {SLOTS[0]}{SLOTS[1]}" if SLOTS[0] in text else text)
    (result,) = guarded.translate(["El <b>rojo</b> viene."])
    assert (result.text, result.warnings) == ("El <b>rojo</b> viene.", ())


def test_spanish_is_read_as_it_is_spelt(speaks: Speaks) -> None:
    guarded, spoken = speaks(lambda text, _: text.replace("a", "o"))
    guarded.translate(["{name} viene manana?", "DONDE VIVE TU TIO?", "Casa azul."])
    assert spoken.asked[:3] == [f"¿{SLOTS[0]} viene mañana?", "¿Dónde vive tu tío?", "Casa azul."]


def test_slips_are_undone_and_told(speaks: Speaks) -> None:
    guarded, spoken = speaks(lambda text, _: text.replace("a", "o"))
    (result,) = guarded.translate(["Voy a la bibliotecca {bibliotecca}. No vengas."])
    assert spoken.asked[:2] == [f"Voy a la biblioteca {SLOTS[0]}.", "No vengas."]
    assert result.warnings == ("spelling: bibliotecca read as biblioteca",)
    spoken.asked.clear()
    guarded.translate(["VOY A LA BIBLIOTECCA YA."])
    assert spoken.asked[0] == "Voy a la bibliotecca ya."


def test_a_lone_word_few_words_or_a_title_come_from_the_other_case_where_the_model_is_surer(
    plain: Translator,
) -> None:
    title = f"Me Gusta {SLOTS[0]} Leer"
    table = {
        "Manzana": ("Manage", -3.2), "manzana": ("apple", -0.5), "Manzana.": ("Apple.", -9.0),
        "caracol": ("snail", -0.9), "Caracol": ("Caracol", -0.4),
        "escocia": ("Scotland", -0.9), "Escocia": ("Scotland", -0.4),
        "hola": ("hell", -2.3), "Hola": ("Hi", -0.9),
        "Madrid": ("Madrid", -0.4), "madrid": ("matrid", -3.5),
        title: (f"Gust {SLOTS[0]}", -4.0),
        title.capitalize(): (f"I like reading {SLOTS[0]}", -1.0),
    }  # fmt: skip

    def says(source: str, decode: DecodeConfig) -> Candidate:
        text, score = table[source]
        return Candidate(text=text, score=score if decode.scores else 0.0, tokens=())

    spoken = Spoken(plain, says)
    texts = ["Manzana", "hola", "Madrid", "Manzana.", "Me Gusta {x} Leer"]
    results = GuardedTranslator(spoken).translate(texts, DecodeConfig(scores=False))
    expected = ["Apple", "hi", "Madrid", "Apple.", "I Like Reading {x}"]
    assert [result.text for result in results] == expected
    assert spoken.asked == [
        *texts[:4],
        title,
        "manzana",
        "Hola",
        "madrid",
        "manzana",
        title.capitalize(),
    ]
    kept = GuardedTranslator(spoken).translate(["caracol", "escocia"])
    assert [result.text for result in kept] == ["snail", "Scotland"]


def test_no_character_of_a_text_is_taken_for_what_is_kept(speaks: Speaks) -> None:
    guarded, _ = speaks(lambda text, _: text)
    texts = [f"Casa {mark} {{name}} manana." for mark in ("\ufffc", "\ufffd", *SLOTS)]
    for text, found in zip(texts, guarded.translate(texts), strict=True):
        assert [found.text.count(c) for c in ("{name}", text[5])] == [1, 1]


@pytest.mark.parametrize("has_slots", [True, False])
@pytest.mark.parametrize("says", [lambda *_: "Nothing at all", lambda text, _: 2 * text])
def test_what_the_model_loses_or_doubles_comes_out_once(
    speaks: Speaks, has_slots: bool, says: Says
) -> None:
    guarded, _ = speaks(says, has_slots)
    (result,) = guarded.translate(["Hola {name}, mira <b>esto</b> ya."])
    assert [result.text.count(token) for token in ("{name}", "<b>", "</b>")] == [1, 1, 1]


def test_no_part_of_a_sentence_vanishes(speaks: Speaks) -> None:
    words = {"Te quiero": "I love you", "mucho": " "}
    guarded, _ = speaks(lambda text, _: words.get(text, "No."), has_slots=False)
    (result,) = guarded.translate(["Te quiero {name} mucho"])
    assert result.text == "I love you {name} mucho"


@hypothesis.given(
    strategies.lists(
        strategies.sampled_from([*TOKENS, "hola", "LA CASA", "y", "no viene.", "¿Qué?", SLOTS[0]]),
        max_size=12,
    ),
    strategies.booleans(),
    strategies.booleans(),
)
@hypothesis.settings(max_examples=80, deadline=None)
def test_no_protected_token_is_ever_lost(
    plain: Translator, words: list[str], has_slots: bool, is_mute: bool
) -> None:
    guarded = GuardedTranslator(Spoken(plain, lambda text, _: "xx" if is_mute else text))
    guarded.has_slots = has_slots
    text = " ".join(words)
    (result,) = guarded.translate([text])
    for token in TOKENS:
        assert result.text.count(token) == text.count(token)
    assert [s.kind for s in find_protected(result.text)] == [s.kind for s in find_protected(text)]


def test_capitals_are_translated_from_small_letters(speaks: Speaks) -> None:
    guarded, spoken = speaks(lambda text, _: text)
    texts = ["¡HOLA! ¿QUÉ TAL, {Name}?", "El FBI llegó.", "FBI", "La Casa De Mi {x} Madre"]
    assert [result.text for result in guarded.translate(texts)] == texts
    assert spoken.asked[:5] == [
        "¡Hola!", f"¿Qué tal, {SLOTS[0]}?", *texts[1:3], f"La casa de mi {SLOTS[0]} madre"
    ]  # fmt: skip


def test_emoji_at_the_ends_are_carried_around_the_model(speaks: Speaks) -> None:
    guarded, spoken = speaks(lambda text, _: text.upper())
    (result,) = guarded.translate(["🎉 Feliz día. 👍🏽❤️\n"])
    assert result.text == "🎉 FELIZ DÍA. 👍🏽❤️\n"
    assert spoken.asked == ["Feliz día."]


def test_a_loop_is_tried_again_and_the_better_one_taken(speaks: Speaks) -> None:
    def says(text: str, decode: DecodeConfig) -> str:
        return "A salad." if decode.beam_size > 1 else "Salad salad salad."

    guarded, _ = speaks(says)
    (result,) = guarded.translate(["Ensalada."])
    assert (result.text, result.warnings) == ("A salad.", ())


def test_a_lost_number_passes_as_a_slot(speaks: Speaks) -> None:
    words = {"Nació en": "Born in", "con": "with", "gatos": "cats", "1916": "1619"}

    def says(text: str, _: DecodeConfig) -> str:
        for word, other in words.items():
            text = text.replace(word, other)
        return text

    guarded, _ = speaks(says)
    (result,) = guarded.translate(["Nació en 1916 con 2 gatos."])
    assert (result.text, result.warnings) == ("Born in 1916 with 2 cats.", ())


def test_what_is_quoted_is_translated_by_itself_where_its_marks_are_lost(speaks: Speaks) -> None:
    def says(text: str, _: DecodeConfig) -> str:
        return text.upper().replace("«", '"').replace("»", "")

    guarded, spoken = speaks(says)
    (result,) = guarded.translate(["dijo «ven aquí» y calló."])
    assert result.text == 'DIJO "VEN AQUÍ" Y CALLÓ.'
    assert {"ven aquí", "dijo"} <= {text.strip() for text in spoken.asked}


def test_a_text_in_other_letters_stays_as_it_is_and_is_told_of(speaks: Speaks) -> None:
    guarded, spoken = speaks(lambda text, _: text.upper())
    results = guarded.translate(["Это русское предложение.", "東京", "{nombre} 😀😀😀😀"])
    assert [result.text for result in results] == [result.source for result in results]
    assert [r.warnings for r in results] == [("does not read like Spanish",), (), ()]
    assert not spoken.asked


def test_what_stays_wrong_is_a_warning(speaks: Speaks) -> None:
    guarded, _ = speaks(lambda *_: "la la la")
    (result, right) = guarded.translate(["Vino hoy. Vino ayer.", "123"])
    assert result.warnings == ("repetition",)
    assert right.warnings == ()


@pytest.mark.parametrize(
    ("scores", "text", "warnings"),
    [
        ((-5.0, -9.9), "un", ()),  # 1 nat for each of four pieces and the end
        ((-5.1, -4.9), "beams", ()),
        ((-5.1, -5.2), "un", ("unsure",)),
    ],
)
def test_what_the_model_finds_hopeless_is_tried_with_beams(
    plain: Translator, scores: tuple[float, float], text: str, warnings: tuple[str, ...]
) -> None:
    def says(_: str, decode: DecodeConfig) -> Candidate:
        assert decode.scores or decode.beam_size > 1  # which always tell
        text, score = ("beams", scores[1]) if decode.beam_size > 1 else ("un", scores[0])
        return Candidate(text=text, score=score, tokens=("▁a",) * 4)

    translator = GuardedTranslator(Spoken(plain, says))
    (result,) = translator.translate(["la casa es azul."], DecodeConfig(scores=False))
    assert (result.text, result.warnings) == (text, warnings)


@pytest.mark.parametrize(
    ("source", "said", "text", "lang"),
    [
        ("es a las 16:30 h (hora local).", "is at 16:30 p.m. (local time).",
         "is at 4:30 p.m. (local time).", "en"),
        ("de 9:00 a 14:00 h", "from 9:00 to 14:00 a.m.", "from 9:00 to 2:00 p.m.", "en"),
        ("at 11:30 p.m., not 16:30", "a las 11:30 p.m., no 16:30", "a las 11:30 p.m., no 16:30",
         "es"),
        ("invoice no. 24, 2nd copy", "factura n.o 24, 2.a copia",
         "factura n.º 24, 2.ª copia", "es"),
        ("see 5.a and b.o", "véase 5.a y b.o", "véase 5.a y b.o", "es"),
        ("El perro; el gato, no.", "The dog, the cat, no.", "The dog; the cat, no.", "en"),
        ("El perro; el gato.", "The dog the cat.", "The dog the cat.", "en"),
        ("D. Juan Pérez", ".D. Juan Pérez", "D. Juan Pérez", "en"),
        ("con .NET va bien", ".NET works well", ".NET works well", "en"),
    ],
)  # fmt: skip
def test_a_translation_is_written_as_its_language_writes_it(
    plain: Translator, source: str, said: str, text: str, lang: str
) -> None:
    spoken = Spoken(plain, lambda *_: Candidate(text=said, score=-0.1, tokens=("▁a",) * 4))
    guarded = GuardedTranslator(spoken)
    guarded.src_lang, guarded.tgt_lang = ("en", lang) if lang == "es" else ("es", lang)
    (result,) = guarded.translate([source], DecodeConfig(scores=False))
    assert result.text == text


def echo(text: str, _: DecodeConfig) -> Candidate:
    return Candidate(text=text, score=-0.1, tokens=("▁a",) * 4)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a 180 ºC y -5º F", "a 180 °C y -5° F"),
        ("el 3.º C de la calle", "el 3.º C de la calle"),
        ("casa nº5 y Nº 6, no º", "casa n.º 5 y N.º 6, no º"),
        ("im\xadpor\xadtan\xadte ex‑rey ―sí―", "importante ex-rey —sí—"),
        ("la o\ufb01cina del cafe\u0301", "la oficina del café"),
    ],
)
def test_signs_that_a_corpus_hardly_has_are_read_as_usual_ones(
    plain: Translator, text: str, read: str
) -> None:
    (result,) = GuardedTranslator(Spoken(plain, echo)).translate([text], DecodeConfig(scores=False))
    assert (result.source, result.text) == (text, read)


def test_words_with_letters_of_other_languages_are_kept(plain: Translator) -> None:
    text, said = "El rey Håkon vio Łódź y Thị Hà, São Paulo y a Müller.", list[str]()

    def says(text: str, decode: DecodeConfig) -> Candidate:
        said.append(text)
        return echo(text, decode)

    (result,) = GuardedTranslator(Spoken(plain, says)).translate([text], DecodeConfig(scores=False))
    assert result.text == text
    a, b, c, d = SLOTS[:4]
    assert said == [f"El rey {a} vio {b} y {c} Hà, {d} Paulo y a Müller."]


@pytest.mark.parametrize(
    ("source", "said", "text"),
    [
        ("Ayer cesaron a siete.", "seven were dismissed.", "Seven were dismissed."),
        ("«Hoy no hay pan.»", '"there\'s no bread."', '"There\'s no bread."'),
        ("ayer cesaron a siete.", "seven were dismissed.", "seven were dismissed."),
        ("El 43 por ciento dijo no.", "43 percent said no.", "43 percent said no."),
        ("El iPhone es caro, dijo.", "iPhone is dear, he said.", "iPhone is dear, he said."),
        ("El empresario Baťa vio.", f"The businessman of{SLOTS[0]}saw.",
         "The businessman of Baťa saw."),
        ("Un Baťade y el 5<b>a</b>", f"A {SLOTS[0]}of and 5{SLOTS[1]}a{SLOTS[2]}",
         "A Baťade of and 5<b>a</b>"),
        ("En `ls` hay un fallo.", f"{SLOTS[0]} has a bug.", "`ls` has a bug."),
        ("La web ejemplo.com no va.", f"{SLOTS[0]} is down.", "ejemplo.com is down."),
    ],
)  # fmt: skip
def test_a_translation_has_the_capital_and_the_spaces_of_its_source(
    plain: Translator, source: str, said: str, text: str
) -> None:
    spoken = Spoken(plain, lambda *_: Candidate(text=said, score=-0.1, tokens=("▁a",) * 4))
    (result,) = GuardedTranslator(spoken).translate([source], DecodeConfig(scores=False))
    assert result.text == text


def test_a_word_that_nobody_wrote_gives_way_to_one_that_is_known(speaks: Speaks) -> None:
    def says(text: str, decode: DecodeConfig) -> str:
        return text if decode.beam_size > 1 else text.replace("biblioteca", "bibliotesca")

    guarded, spoken = speaks(says)
    (result,) = guarded.translate(["La biblioteca verde."])
    assert (result.text, result.warnings) == ("La biblioteca verde.", ())
    assert len(spoken.asked) == 2
    (result,) = guarded.translate(["Otra bibliotesca verde."])  # the source has it
    assert result.text == "Otra bibliotesca verde."


def test_ordinary_text_is_searched_once_and_stays_the_same(plain: Translator) -> None:
    said = {"El gato.": "The cat.", "¿Qué tal?": "How are you?"}
    spoken = Spoken(plain, lambda text, _: said[text])
    (result,) = GuardedTranslator(spoken).translate([" El gato. ¿Qué tal?\n"])
    assert result.text == " The cat. How are you?\n"
    assert spoken.asked == [*said]


def test_the_nth_best_come_along(plain: Translator) -> None:
    decode = DecodeConfig(beam_size=3, n_best=2)
    (result,) = GuardedTranslator(plain).translate(["El gato ve la casa. {a}"], decode)
    assert len(result.candidates) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Me gusta 東京, 😀 y Привет: 5 € – “ñandú” ǅ", ["東京", "😀", "Привет"]),
        ("© 2024: ½ taza, 5 m², 3 ‰, ₡20, ―sí― 3º, ¿no?… ´", [*"©½²‰₡´"]),
        ("x ≤ 3 → α, ¥5, 久 y ¿Łódź‑2?", [*"≤→α¥久"]),
        ("a | b, § 4, x^2, ~5, b\\c, X® ±2, a_b [c] {d} `e`, 4 °C, 5 €", [*"|§^~\\®±"]),
    ],
)
def test_other_scripts_and_rare_signs_are_foreign(
    plain: Translator, text: str, found: list[str]
) -> None:
    assert unwritable(plain.tokenizer.alphabet).findall(text) == found


@pytest.mark.parametrize("unit", ["½", "² ", "😀 {a} "])
def test_splitting_takes_time_that_grows_with_the_length_and_not_with_its_square(
    plain: Translator, unit: str
) -> None:
    text = unit * (40_000 // len(unit))  # what compares each span with each takes two minutes
    started = time.process_time()
    GuardedTranslator(plain).split(text, Glossary.parse("{\n½\n²"))
    assert time.process_time() - started < 5
