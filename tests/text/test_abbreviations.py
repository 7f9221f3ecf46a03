"""Abbreviations: what they stand for, and that they end no sentence."""

import pytest

from transformer.text.abbreviations import expand_abbreviations
from transformer.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("es", "Véase la pág. 12, párr. 3, etc.", "Véase la página 12, párrafo 3, etc."),
        ("es", "Págs.12 y 13, cap. 4.", "Páginas 12 y 13, capítulo 4."),
        ("es", "El lun. 5 de feb. de 2024", "El lunes 5 de febrero de 2024"),
        ("es", "Son 5 min. y 30 seg.", "Son 5 minutos y 30 segundos."),
        ("es", "Puerta izq.", "Puerta izquierda."),
        ("es", "Compré p. ej. dos.", "Compré p. ej. dos."),
        ("en", "On Jan. 3rd, see pp. 12-13.", "On January 3rd, see pages 12-13."),
        ("en", "Mon., Feb. 5, on p. 3", "Monday, February 5, on page 3"),
        ("en", "It is 6 in. wide, come in. 6 came.", "It is 6 inches wide, come in. 6 came."),
        ("en", "We sat. The sun. He left in Jan.", "We sat. The sun. He left in Jan."),
        (
            "en",
            "Add 2 tbsp of oil, 1/2 tsp. salt.",
            "Add 2 tablespoons of oil, 1/2 teaspoons salt.",
        ),
        ("es", "1 cda de sal, 10 % dto. hoy", "1 cucharada de sal, 10 % descuento hoy"),
        ("en", "Weighs 180 lbs", "Weighs 180 pounds"),
        ("en", "A bag of 12 oz.", "A bag of 12 ounces."),
        ("en", "$5.99/lb, 3 lb and 2 oz", "$5.99/lb, 3 pounds and 2 ounces"),
        ("fr", "pág. 12", "pág. 12"),
        ("en", "On Mon, Mar 4, 2024", "On Monday, March 4, 2024"),
        (
            "en",
            "12 Jan 2024, Sat 3 Feb, I sat. Jan came.",
            "12 January 2024, Saturday 3 Feb, I sat. Jan came.",
        ),
        (
            "es",
            "lun, 4 mar 2024, a orillas del mar",
            "lunes, 4 de marzo de 2024, a orillas del mar",
        ),
        (
            "es",
            "El 5 may 1990 nació; el 6 may a las 18:00.",
            "El 5 de mayo de 1990 nació; el 6 de mayo a las 18:00.",
        ),
    ],
)
def test_abbreviations_are_spelt_out(lang: str, text: str, expected: str) -> None:
    assert expand_abbreviations(text, lang) == expected


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("es", "Véase la pág. 12, párr. 3, etc."),
        ("es", "Vive en la Avda. de la Paz, s/n, o C/ de la Luna, 5; Apdo. 123."),
        ("es", "El depto. de ventas abre el mié. 5 de jun. y el jue. 6."),
        ("en", "Mr. Brown's house vs. Ms. White's."),
        ("en", "It was on Jan. 3rd, on Mon., Feb. 5, at the sales dept. of ours."),
    ],
)
def test_an_abbreviation_ends_no_sentence(lang: str, text: str) -> None:
    assert [part.text for part in split_sentences(text, lang)] == [text]


def test_one_before_a_capital_may_end_a_sentence() -> None:
    parts = [part.text for part in split_sentences("He works in our dept. She left.", "en")]
    assert parts == ["He works in our dept.", " ", "She left."]
