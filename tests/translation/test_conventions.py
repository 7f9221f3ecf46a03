"""What each language writes in its own way, before a model and behind it."""

import pytest

from transformer.translation.conventions import (
    convert_amount,
    find_amounts,
    join_alternatives,
    localize,
    normalize_source,
    space_alternatives,
    translate_calendar,
)


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("es", "A 180 ºC, nº 5, co\u00adche", "A 180 °C, n.º 5, coche"),
        ("es", "A las 18h30, 6.45 h, 22:00 hrs.", "A las 18:30, 6:45 h, 22:00 h."),
        ("es", "A las 6:30 PM.", "A las 6:30 p. m."),
        ("en", "At 6:30PM, 3.30pm and 5 AM.", "At 6:30 p.m., 3:30 p.m. and 5 a.m."),
        ("en", 'A 55" TV, 2.5″, 6\'2" tall', "A 55 inches TV, 2.5 inches, 6'2\" tall"),
        ("es", 'Tengo "55" y 40"', 'Tengo "55" y 40 pulgadas'),
        ("en", "$40k, €1.2m, £3bn, $5m/s", "$40,000, €1.2 million, £3 billion, $5m/s"),
        ("es", "Siglos XVI y XVII, siglo i", "Siglos 16th y 17th, siglo 1st"),
        ("es", "Del siglo II al XII y Luis XV", "Del siglo 2nd al 12th y Luis XV"),
        ("es", "siglo XIX y principios del XX, XXI", "siglo 19th y principios del 20th, 21st"),
        ("es", "El Centro Nacional Siglo XXI", "El Centro Nacional Siglo XXI"),
        ("en", "I am 5 amazing, 12.5 mm, 3.5 hrs", "I am 5 amazing, 12.5 mm, 3.5 hrs"),
    ],
)
def test_a_text_gets_the_spelling_of_a_corpus(lang: str, text: str, expected: str) -> None:
    assert normalize_source(text, lang) == expected


@pytest.mark.parametrize(
    ("lang", "amount", "expected"),
    [
        ("es", "$1,500.50", "1.500,50 $"),
        ("en", "1.500,50 €", "€1,500.50"),
        ("en", "5,99 €", "€5.99"),
        ("es", "$40k", "40k $"),
        ("es", "US$ 5", "5 US$"),
        ("es", "6:30 p.m.", "18:30"),
        ("en", "18:30 h", "6:30 p.m."),
        ("es", "3.5", "3,5"),
        ("en", "1.500", "1,500"),
        ("en", "10 %", "10%"),
        ("es", "1.2.3", "1.2.3"),
        ("es", "3/4", "3/4"),
        ("en", "12/03/2024", "12/03/2024"),
    ],
)
def test_an_amount_is_converted_by_rule(lang: str, amount: str, expected: str) -> None:
    assert convert_amount(amount, lang) == expected


def test_an_amount_is_found_by_what_is_lost_of_it() -> None:
    text = "It costs $5.99/lb, 20% off, until 5 p.m. on 3/4."
    found = [text[a:b] for a, b in find_amounts(text, {"$", "%", "5 p.m.", "3/4"})]
    assert found == ["$5.99", "20%", "5 p.m.", "3/4"]
    assert find_amounts(text, {"€"}) == []
    assert [text[a:b] for a, b in find_amounts(text)] == ["$5.99", "20%", "5 p.m.", "3/4"]
    text = "Luis XIV (y Juan Pérez) vio el XIX."
    found = [text[a:b] for a, b in find_amounts(text, {"XIV", ")", "Juan Pérez"})]
    assert found == ["XIV", "Juan Pérez", ")"]


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("The 1st, 2nd or 3rd door?", "¿La puerta 1, 2.a o 3o?", "¿La puerta 1.ª, 2.ª o 3.º?"),
        ("It's his 10th day.", "Es su día 10.", "Es su día 10.º."),
        ("The 3rd floor, 2nd door", "El 3o piso, 2.o puerta", "El 3.er piso, 2.ª puerta"),
        ("The 1st and 3rd days", "Los 1 y 3.o días", "Los 1.º y 3.º días"),
        ("The 21st and 22nd of May", "El 21 y el 22 de mayo", "El 21 y el 22 de mayo"),
        ("On July 4th.", "El 4 de julio.", "El 4 de julio."),
        ("The 5th floor.", "El quinto piso.", "El quinto piso."),
        ("His 60th goal, 60 or more", "Su gol 60, 60 o más", "Su gol 60.º, 60 o más"),
        ("60 goals, the 60th today", "60 goles, el 60 hoy", "60 goles, el 60.º hoy"),
        ("She has 2 cats, the 1st is 2.", "Tiene 2 gatos.", "Tiene 2 gatos."),
    ],
)  # fmt: skip
def test_an_ordinal_stays_one(source: str, output: str, expected: str) -> None:
    assert localize(source, output, "es") == expected


def test_the_quotation_marks_of_what_is_kept_stay() -> None:
    kept = ('`echo "a"`',)
    assert localize('Type `echo "a"` now.', 'Teclea `echo "a"` ya.', "es", kept) == (
        'Teclea `echo "a"` ya.'
    )
    assert localize('Type "a" now.', "Teclea ‘a’ ya.", "es") == 'Teclea "a" ya.'
    assert localize("'It's mine,' he said.", "«Es mío», dijo.'", "es") == "«Es mío», dijo."
    assert localize("[phone rings] (so)", "[ suena el teléfono] ( así)", "es") == (
        "[suena el teléfono] (así)"
    )


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("es", "Lun Mar Mié Jue Vie Sáb Dom", "Mon Tue Wed Thu Fri Sat Sun"),
        ("en", "Mon | Tue | Wed", "Lun | Mar | Mié"),
        ("es", "ene feb mar abr may jun", "Jan Feb Mar Apr May Jun"),
        ("en", "jan feb mar", "ene feb mar"),
        ("en", "Su Mo Tu We Th Fr Sa", "Do Lu Ma Mi Ju Vi Sá"),
        ("es", "mi do", ""),
        ("es", "lun, 4 mar 2024", ""),
        ("es", "mar", ""),
        ("es", "sáb y dom", ""),
        ("es", "lun ene", ""),
    ],
)
def test_a_row_of_days_or_months_is_translated_by_rule(lang: str, text: str, expected: str) -> None:
    assert translate_calendar(text, lang) == expected


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("Suba una foto/vídeo.", "es", "Suba una foto / vídeo."),
        ("padre/madre/tutor", "es", "padre / madre / tutor"),
        ("Abierto lunes-viernes", "es", "Abierto lunes - viernes"),
        ("Part-time/full-time", "en", "Part-time / full-time"),
        ("Open Monday–Friday", "en", "Open Monday – Friday"),
    ],
)
def test_words_joined_as_alternatives_are_apart_for_the_model(
    text: str, lang: str, expected: str
) -> None:
    assert space_alternatives(text, lang) == expected
    assert join_alternatives(expected) == text


@pytest.mark.parametrize(
    "text",
    [
        "niño/a", "80 km/h", "and/or", "docs/house.txt", "/usr/house", "user@house/dog",
        "https://house.example/dog/cat", "xyzzy/house", "well-known", "Coca-Cola",
    ],
)  # fmt: skip
def test_what_is_no_pair_of_known_words_stays_joined(text: str) -> None:
    assert space_alternatives(text, "en") == text
