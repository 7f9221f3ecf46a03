"""Spanish or English: on the project's own text, on single words, and on what is neither."""

import pytest

from tests.processes import shipped
from transformer.text.language import detect, is_in_target_language, language_code

LANGS = ("es", "en")


def test_held_out_sentences_are_recognised() -> None:
    texts = [
        (lang, text) for pair in shipped("test") for lang, text in zip(LANGS, pair, strict=True)
    ]
    wrong = [text for lang, text in texts if detect(text).lang != lang]
    assert len(wrong) <= len(texts) // 200, wrong  # names and addresses of the other language


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("¿Que hora es?", "es"),
        ("hablas espanol", "es"),
        ("BUENOS DIAS", "es"),
        ("gracias", "es"),
        ("hello", "en"),
        ("Hi!", "en"),
        ("never", "en"),
        ("increasingly", "en"),
        ("Hello %1$s, good to see you again!", "en"),
        ("GAS RUN/INSPECTION PROPANE FIREPOTS", "en"),
        ("I live in Buenos Aires with José.", "en"),
    ],
)
def test_short_and_odd_texts_are_recognised(text: str, lang: str) -> None:
    assert detect(text).lang == lang


@pytest.mark.parametrize("text", ["", "123", "😀", "東京", "…"])
def test_without_a_word_nothing_is_decided(text: str) -> None:
    found = detect(text)
    assert (found.lang, found.confidence, found.is_confident) == ("es", 0.5, False)


@pytest.mark.parametrize(
    ("name", "code"),
    [("es", "es"), ("EN", "en"), ("en-US", "en"), ("en_GB", "en"), ("es-419", "es"),
     ("es_MX.UTF-8", "es"), ("ca_ES@valencia", "ca_ES@valencia"), (" es-Latn-ES ", "es"),
     ("SPA", "es"), ("eng-GB", "en"), ("fr-FR", "fr-FR"), ("auto", "auto"), ("est", "est"),
     ("english", "english"), ("", "")],
)  # fmt: skip
def test_a_region_and_capitals_do_not_change_a_language(name: str, code: str) -> None:
    assert language_code(name) == code


def test_text_of_the_target_language_is_recognised_and_text_to_translate_is_not() -> None:
    langs, wrong, n_seen = (("es", "en"), ("en", "es")), list[str](), 0
    pairs = shipped("test")
    for one, (src, tgt) in enumerate(langs):
        wrong += [pair[one] for pair in pairs if is_in_target_language(pair[one], src, tgt)]
        n_seen += sum(is_in_target_language(pair[1 - one], src, tgt) for pair in pairs)
    assert len(wrong) <= len(pairs) // 1000
    assert n_seen >= 1.6 * len(pairs)
    for text in ("No me gusta leer.", "La casa es roja.", "Cerrar sesión"):
        assert is_in_target_language(text, "en", "es")
    for text in ("Come on", "Save all", "The house is red."):
        assert is_in_target_language(text, "es", "en")
