"""Messages of ICU: what is text is translated, and they parse into the same parts again."""

import json
import random
import re
from collections.abc import Callable, Sequence

import pytest

from tests.documents.shouting import ES_EN, shout
from transformer.documents.formats import read
from transformer.documents.translate import translate_file


def said(text: str, translate: Callable[[Sequence[str]], list[str]] = shout) -> str:
    """A text as it comes out as a value of JSON."""
    written = translate_file(json.dumps([text]).encode(), "a.json", translate, options=ES_EN)
    return str(json.loads(written)[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "{count, plural, =0 {No files} one {# file} other {# files}}",
            "{count, plural, =0 {NO FILES} one {# FILE} other {# FILES}}",
        ),
        (
            "{gender, select, female {She liked it} other {They liked it}}",
            "{gender, select, female {SHE LIKED IT} other {THEY LIKED IT}}",
        ),
        (
            "Hay {n,plural,offset:1\n =0{nada} other{{g, select, a {él y #} other {#}}}} en {b}.",
            "HAY {n,plural,offset:1\n =0{NADA} other{{g, select, a {ÉL Y #} other {#}}}} EN {b}.",
        ),
        ("{n, selectordinal, other {el #st}} día", "{n, selectordinal, other {EL #ST}} DÍA"),
        ("Hola {name}, es {when, date, short}", "HOLA {name}, ES {when, date, short}"),
        ("a las {t, date, h 'de' {x}}", "a las {t, date, h 'de' {x}}"),
        ("es {d, date, d 'de' '{'MMMM} ya", "ES {d, date, d 'de' '{'MMMM} YA"),
        ("{n, number, ::currency/EUR} # l'x '#'", "{n, number, ::currency/EUR} # L'X '#'"),
        ("usa '{x}' y '''{' {0}", "USA '{x}' Y '''{' {0}"),
        ("It''s {name}", "IT''S {name}"),
        ("don't {name} 'x'", "DON'T {name} 'X'"),
        ("{n, plural, other {'#' es # l'x '}'}}", "{n, plural, other {'#' ES # L'X '}'}}"),
        ("uno {a} '{dos", "UNO {a} '{dos"),
        ("{n, plural, one {uno}}", "{n, plural, one {uno}}"),
        ("{n, plural, one {uno} other {dos}", "{n, plural, one {uno} other {dos}"),
        ("{n plural, one {uno} other {dos}}", "{n plural, one {uno} other {dos}}"),
        ("{n, plural other {dos}}", "{n, plural other {dos}}"),
        ("{n, plural, other {dos}} tres}", "{n, plural, other {dos}} tres}"),
        ("tres {n, plural, other dos}", "tres {n, plural, other dos}"),
        ("{name}", "{name}"),
        ("uno {dos tres}", "UNO {DOS TRES}"),
        ("un %{dos} ${tres} #{a}", "UN %{dos} ${tres} #{a}"),
        ("{{dos}} tres", "{{DOS}} TRES"),
    ],
)  # fmt: skip
def test_texts_are_translated_and_all_else_stays(text: str, expected: str) -> None:
    assert said(text) == expected
    assert said(text, list) == text


def test_a_branch_is_a_passage_with_its_arguments() -> None:
    text = "It''s {n, plural, one {{who}''s # file} other {# files}} of {who}"
    passages = read(json.dumps([text]), ".json").passages
    asked = ["It's", "<0/>'s <1/> file", "<0/> files", "of <0/>"]
    assert [passage.text for passage in passages] == asked
    assert passages[1].placeholders == ("<0/>", "<1/>")


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".yaml", "a: '{{n, plural, one {{{x}}} other {{# {y}}}}}'\n"),
        (".yaml", "a: >-\n  {{n, plural, one {{{x}}} other {{# {y}}}}}\n"),
        (".po", 'msgid "x {{n, plural, other {{{x}}}}}"\nmsgstr "{z}"\n'),
        (".csv", 'id,"{{n, plural, one {{{x}}} other {{# {y}}}}}"\n'),
        (".html", "<p>{{n, plural, one {{{x}}} other {{# &lt; {y}}}}}</p>"),
    ],
)
def test_values_of_other_files_are_read_alike(suffix: str, content: str) -> None:
    before = content.format(x="uno", y="dos", z="").encode()
    written = translate_file(before, f"a{suffix}", shout, options=ES_EN).decode()
    if suffix == ".po":
        assert written == content.format(x="uno", z="X {n, plural, other {UNO}}")
    else:
        assert written == content.format(x="UNO", y="DOS")


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("hola {name}", "'<0/>'", "''{name}'"),
        ("hola {name}", "I'm <0/>", "I'm {name}"),
        ("son {n, number} más", "I'm <0/>", "I''m {n, number}"),
        ("n''o {name}", "I'm <0/>", "I''m {name}"),
        ("{n, plural, other {l'x # y}}", "I'm '<0/>'", "{n, plural, other {I'm ''#''}}"),
        ("{n, plural, other {hola #}}", "a '", "{n, plural, other {a ''#}}"),
        ("hola {name}", "{x} <0/>", "hola {name}"),
        ("{n, plural, other {hola}}", "a } b", "{n, plural, other {hola}}"),
        ("{n, plural, other {hola}}", "# b", "{n, plural, other {hola}}"),
    ],
)
def test_a_translation_brings_no_syntax(text: str, answer: str, expected: str) -> None:
    assert said(text, lambda texts: [answer] * len(texts)) == expected


def test_another_order_of_words_moves_the_arguments_of_a_sentence() -> None:
    text = "el libro de {name}, {n, plural, one {un día de {name}} other {# días}}"

    def turned(texts: Sequence[str]) -> list[str]:
        return [" ".join(text.split()[::-1]) for text in texts]

    expected = "{name}, de libro el {n, plural, one {{name} de día un} other {días #}}"
    assert said(text, turned) == expected


def drawn(draw: random.Random, apostrophe: str, depth: int = 0) -> str:
    """A message at random."""
    atoms = ["uno ", " dos", "#", "'{'", "'}x'", "{a}", " {b, date}", apostrophe]
    parts = []
    for _ in range(draw.randint(0, 4)):
        parts.append(draw.choice(atoms))
        if depth < 3 and draw.random() < 0.3:
            kind = draw.choice(["plural,", "select,", "selectordinal,", "plural, offset:1"])
            names = ("=1", "one", "other") if kind != "select," else ("a", "b_c", "other")
            own = (f"{name} {{{drawn(draw, apostrophe, depth + 1)}}}" for name in names)
            parts.append(f"{{n, {kind} {' '.join(own)}}}")
    return "".join(parts)


def test_messages_of_any_shape_keep_it() -> None:
    draw = random.Random(7)
    for _ in range(300):
        text = drawn(draw, draw.choice(["''", "l'x "])) + "{b, date}"
        assert said(text) == re.sub("uno|dos|l'x", lambda word: word[0].upper(), text)
