"""Quotation marks: which belong together, which translations have them in order, their styles."""

import random

import pytest

from tests.processes import shipped
from transformer.text.quotes import find_quotes, has_mismatched_quotes, localize_quotes


@pytest.mark.parametrize(
    ("text", "quoted", "alone"),
    [
        ("«No», dijo, «ir».", ["No", "ir"], ""),
        ("'It's mine,' he said of the dogs' house.", ["It's mine,"], ""),
        ("\"He said, 'run!'\" and left", ["run!", "He said, 'run!'"], ""),
        ("He is 6'2\" tall and said \"hi\", rock 'n' roll.", ["hi"], ""),
        ("'Tis the 'house' of the '90s.", ["house"], ""),
        ("Read more »", [], "»"),
        ("“Open", [], "“"),
        ("It isn't the boys' own.", [], ""),
    ],
)
def test_quotations_are_found_in_pairs(text: str, quoted: list[str], alone: str) -> None:
    quotes, others = find_quotes(text)
    assert [text[q.start + 1 : q.end] for q in quotes] == quoted
    assert others == alone


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("'It's mine,' he said.", '"Es mío, dijo.', True),
        ("“No,” she said, “it is.”", "—No—dijo ella—, «es».", True),
        ("“No,” she said, “it is.”", "—No —dijo ella—, lo es.", False),
        ('"No," she said, "it is."', "—No —dijo ella—.", True),
        ('"I like it," she said.', "—Me gusta, dijo ella.", True),
        ("«No», dijo.", '"No," he said.', False),
        ("—Hola —dijo Ana—.", '"Hello," said Ana.', False),
        ("—Hola —dijo Ana—.", '"Hello, said Ana.', True),
        ("'Tis the season.", '"Es la temporada.', True),
        ("The “best” day", "El «mejor» día", False),
        ("Read more »", "Lee más «", False),
        ("6'2\" tall", "6'2\"", False),
    ],
)
def test_marks_that_are_no_pairs_are_seen(source: str, output: str, expected: bool) -> None:
    assert has_mismatched_quotes(source, output) is expected


@pytest.mark.parametrize(
    ("lang", "source", "output", "expected"),
    [
        ("es", "“No,” she said, “it is.”", "—No—dijo ella—lo es.", "“No”, dijo ella, “lo es”."),
        ("es", '"Where?" he said.', "—¿Dónde? —dijo.", '"¿Dónde?", dijo.'),
        ("es", '"So," he said.', '"Sí," dijo.', '"Sí", dijo.'),
        ("es", '"So," he said.', "«Sí», dijo.", '"Sí", dijo.'),
        ("es", 'He said: "So, so.', "Dijo: «Sí, sí.", 'Dijo: "Sí, sí.'),
        ("es", '"So, so.', "“Sí», sí.", '"Sí", sí.'),
        ("es", "He said, 'So.'", "Dijo: ‘Sí’.", "Dijo: «Sí»."),
        ("es", "\"He said 'so'\"", "\"Dijo 'sí'\"", "\"Dijo 'sí'\""),
        ("es", "I like it.", '"Me gusta".', '"Me gusta".'),
        ("es", "Read more »", "Lee más »", "Lee más »"),
        ("en", "«Sí», dijo.", "«Yes,» he said.", '"Yes," he said.'),
        ("en", "“Sí”, dijo.", '"Yes," he said.', "“Yes,” he said."),
        ("es", '"So," he said.', "—Sí, dijo.", "—Sí, dijo."),
    ],
)
def test_the_marks_are_those_of_the_language(
    lang: str, source: str, output: str, expected: str
) -> None:
    assert localize_quotes(source, output, lang) == expected


def test_whatever_marks_a_translation_has_they_come_out_as_those_of_its_source() -> None:
    chance = random.Random(2)
    for _ in range(2000):
        words = chance.choices(["so", "sí", "no", "Ana", "it's"], k=6)
        wanted, *kinds = [chance.choice(["“”", "«»", '""', "‘’"]) for _ in range(3)]
        quote, first, last = (f"{k[0]}{{}}{k[1]}" for k in (wanted, *kinds))
        source = f"{quote.format(words[0] + ',')} said Ann, {quote.format(words[1] + '.')}"
        output = f"{first.format(words[2] + ',')} {words[3]}, {last.format(words[4])}."
        text = localize_quotes(source, output, "es")
        left, right = list(wanted.replace("‘’", "«»"))
        assert text == f"{left}{words[2]}{right}, {words[3]}, {left}{words[4]}{right}."
        assert not has_mismatched_quotes(source, text)


def test_the_marks_of_people_are_hardly_ever_out_of_order() -> None:
    pairs = shipped("train")
    wrong = [
        es for es, en in pairs if has_mismatched_quotes(es, en) or has_mismatched_quotes(en, es)
    ]
    assert len(wrong) <= 3, wrong
