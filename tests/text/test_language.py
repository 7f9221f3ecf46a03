"""Spanish or English: on the project's own text, on single words, and on what is neither."""

from pathlib import Path

import pytest

from transformer.text.language import detect

DATA = Path(__file__).resolve().parents[2] / "data"


def test_held_out_sentences_are_recognised() -> None:
    rows = (DATA / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    wrong = [
        text
        for row in rows
        for lang, text in zip(("es", "en"), row.split("\t"), strict=True)
        if detect(text).lang != lang
    ]
    assert len(wrong) <= len(rows) // 100, wrong  # names and addresses of the other language


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("¿Que hora es?", "es"),
        ("hablas espanol", "es"),
        ("BUENOS DIAS", "es"),
        ("gracias", "es"),
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
    assert (found.lang, found.confidence, found.is_decided) == ("es", 0.5, False)
