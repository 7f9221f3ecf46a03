"""Typos: what is corrected, what stays, where the words come from."""

import random

import pytest

from transformer.corpus import noise
from transformer.text import spelling
from transformer.text.spelling import (
    WordList,
    correct_spelling,
    load_words,
    restore_accents,
    single_edits,
    strip_accents,
)

KNOWN = WordList({"casa": 0, "quiero": 1, "cosa": 2, "mañana": 3}, frozenset({"caza", "wombat"}))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language with the few words of this file."""
    monkeypatch.setattr(
        spelling, "load_words", lambda lang: KNOWN if lang == "es" else WordList({}, frozenset())
    )


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
        ("csa", "casa"),  # the more frequent of two
    ],
)
def test_a_typo_is_corrected(typed: str, word: str) -> None:
    assert "cosa" in set(single_edits("csa"))
    assert word in set(single_edits(typed))
    assert KNOWN.correction(typed) == word


def test_all_typos_that_training_makes_can_be_corrected() -> None:
    rng = random.Random(0)
    for word in ("quiero", "biblioteca", "llamada", "house", "señora"):
        for _ in range(60):
            misspelt = noise.add_typos(word, "", rng)[0]
            assert word == misspelt or word in set(single_edits(misspelt))


@pytest.mark.parametrize("word", ["caza", "wombat", "casa", "xyzzy", "combat", ""])
def test_what_is_known_stays_and_so_does_what_nothing_is_near(word: str) -> None:
    assert KNOWN.correction(word) == word


@pytest.mark.parametrize(
    "text",
    ["Qiero.", "QIERO", "{qiero}", "a@qiero.es", "qiero's", "pre-qiero", "qie ro", "qiero_x",
     "q" * 9999],
)  # fmt: skip
@pytest.mark.usefixtures("counted")
def test_names_addresses_and_codes_stay(text: str) -> None:
    assert correct_spelling(text, "es", len) == (text, [])


@pytest.mark.usefixtures("counted")
def test_every_typo_is_corrected_and_reported() -> None:
    text, undone = correct_spelling("No qiero ir, manana sí.", "es", lambda word: 2)
    assert text == "No quiero ir, mañana sí."
    assert undone == ["qiero read as quiero", "manana read as mañana"]


@pytest.mark.usefixtures("counted")
def test_a_word_that_the_model_knows_as_well_stays() -> None:
    pieces = {"qiero": 1, "quiero": 2}
    assert correct_spelling("No qiero.", "es", pieces.__getitem__) == ("No qiero.", [])
    assert correct_spelling("No qiero.", "es", lambda _: 1)[1] == ["qiero read as quiero"]
    assert not load_words("ca").rank  # a language that was not counted
    assert correct_spelling("No qiero.", "ca", len) == ("No qiero.", [])


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Vi una peli con mi profe y comimos palta en su depa.", "es"),
        ("Hay que currar, tomar una birra y esperar a la seño.", "es"),
        ("I vape, and the vlog had hummus and chia.", "en"),
    ],
)
def test_words_of_everyday_speech_are_no_typos(text: str, lang: str) -> None:
    assert correct_spelling(text, lang, lambda _: 1) == (text, [])


@pytest.mark.parametrize(
    ("lang", "frequent", "known"), [("es", "biblioteca", "mesa"), ("en", "library", "table")]
)
def test_the_tables_hold_what_is_frequent_and_what_is_rare(
    lang: str, frequent: str, known: str
) -> None:
    found = load_words(lang)
    assert {frequent, known} <= found.rank.keys()
    assert not found.rank.keys() & found.others
    assert len(found.others) > len(found.rank) > 10_000


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        ("El nino tiene tres anos.", "El niño tiene tres años."),
        ("TAMBIEN MANANA", "TAMBIÉN MAÑANA"),
        ("Quizas venga despues.", "Quizás venga después."),
        ("Que hora es?", "¿Qué hora es?"),
        ("Hola, como te llamas?", "Hola, ¿cómo te llamas?"),
        ("Por que no vienes?", "¿Por qué no vienes?"),
        ("A que hora sale el tren?", "¿A qué hora sale el tren?"),
        ("Bien, gracias. Y tu?", "Bien, gracias. ¿Y tu?"),
        ("«Vienes manana?»", "«Vienes mañana?»"),
        ("Que bonito!", "¡Que bonito!"),
        ('"3 o 4?"', '"3 o 4?"'),
        ("- 3 o 4?", "- ¿3 o 4?"),
        ("?", "?"),
        ("", ""),
    ],
)
def test_what_only_one_spelling_fits_is_restored(typed: str, spelt: str) -> None:
    assert restore_accents(typed) == spelt


@pytest.mark.parametrize(
    "text",
    [
        "Esta mujer trabaja como un caballo.",  # all of it may be meant so
        "Miro la casa.",
        "Mañana despues.",  # whoever types one accent means the others
        "¿Dónde está la biblioteca?",
        "El libro que quiero.",
        "Como carne los lunes.",
        "https 3,5 %",
    ],
)
def test_what_is_right_or_open_stays(text: str) -> None:
    assert restore_accents(text) == text


def test_words_keep_their_number_and_their_length() -> None:
    text = "El senor Lopez leyo un articulo de opinion en la pagina tres."
    assert [*map(len, restore_accents(text).split())] == [*map(len, text.split())]
    assert strip_accents(restore_accents(text)) == text


def test_the_table_of_accents_is_words_in_order() -> None:
    words = spelling.ACCENTS_TABLE.read_text(encoding="utf-8").split()
    assert words == sorted(set(words))
    assert {"mañana", "también", "después", "más", "niño"} <= {*words}
    assert not {"esta", "está", "él", "si", "sí", "miro", "miró"} & {*words}


@pytest.mark.parametrize(
    ("text", "lang", "is_foreign"),
    [
        ("Je voudrais un café s'il vous plaît.", "es", True),
        ("Nous avons mangé une pomme hier soir.", "en", True),
        ("Ela trabalha muito e não tem tempo.", "es", True),
        ("Er wohnt seit zehn Jahren in Berlin.", "en", True),
        ("Quiero un café con leche, por favor.", "es", False),
        ("EL PERRO NEGRO CORRE POR LA CALLE", "es", False),
        ("Fatima Zahra El Amrani vive con Hakim Ziyech en Tánger.", "es", False),
        ("Bonjour, madame", "es", False),  # too short to tell
        ("Je voudrais un café s'il vous plaît.", "fr", False),  # not counted
    ],
)
def test_a_text_in_another_language_is_known(text: str, lang: str, is_foreign: bool) -> None:
    share, n_words = spelling.known_word_share(text, lang)
    assert (n_words >= spelling.MIN_WORDS and share < spelling.MIN_KNOWN_SHARE) == is_foreign


@pytest.mark.parametrize(
    ("text", "is_known"), [("apples", True), ("I'm", True), ("Madrid", True), ("blackally", False)]
)
def test_a_word_of_the_language_is_known(text: str, is_known: bool) -> None:
    assert spelling.has_only_known_words(text, "en") == is_known
    assert spelling.has_only_known_words(text, "xx")
