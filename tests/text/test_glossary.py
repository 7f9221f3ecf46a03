"""A glossary: what a file may say, and what of a text its terms are."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from transformer.config import UserError
from transformer.text.glossary import MAX_TERM_CHARS, Glossary, TermSource
from transformer.text.sentences import split_sentences

ES, EN = ("es", "en"), ("en", "es")
FILE = """\ufeffES\tEN

# animals
perro|perros\tdog | dogs
perro de aguas\twater dog
can\tdog
gato|gata\tcat
"""


def found(file: str, text: str, langs: tuple[str, str] = ES) -> list[tuple[str, str]]:
    """What of the text is a term, and what it becomes."""
    spans = Glossary.parse(file).matcher(langs).find(text)
    return [(text[start:end], target) for start, end, target in spans]


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (FILE, "Un perro, dos Perros", [("perro", "dog"), ("Perros", "dogs")]),
        (FILE, "El perro  de aguas y el perro de\nagua", [("perro  de aguas", "water dog"),
                                                          ("perro", "dog")]),
        (FILE, "perrox, un_perro, perro\u0301, 7perro", []),
        (FILE, "¡PERRO!", [("PERRO", "DOG")]),
        ("camión\ttruck", "Camión, camio\u0301n, camion", [("Camión", "truck"),
                                                           ("camio\u0301n", "truck")]),
        ("Apple\niPhone\tiFon", "apple iphone Apple APPLE iPhone", [
            ("Apple", "Apple"), ("APPLE", "Apple"), ("iPhone", "iFon")]),
        ("us\tnosotros\nUS\tEE. UU.", "us Us US", [
            ("us", "nosotros"), ("Us", "nosotros"), ("US", "EE. UU.")]),
        ("C++\nNode.js|N", "C++, C+ y node.js Node.js N", [
            ("C++", "C++"), ("Node.js", "Node.js"), ("N", "N")]),
        ("", "nada", []),
    ],
)  # fmt: skip
def test_terms_are_whole_words_the_longest_first_and_capitals_count_where_a_term_has_them(
    file: str, text: str, expected: list[tuple[str, str]]
) -> None:
    assert found(file, text) == expected


def test_a_header_lets_a_file_serve_both_directions_and_no_other() -> None:
    assert found(FILE, "dogs cat gata", EN) == [("dogs", "perros"), ("cat", "gato")]
    assert found(FILE, "cat gata dog", ES) == [("gata", "cat")]
    assert found("en\tes\npan\tsartén", "pan sartén", EN) == [("pan", "sartén")]
    assert found("en\tes\npan\tsartén", "pan sartén", ES) == [("sartén", "pan")]
    assert found("pan\tbread", "pan bread", EN) == [("pan", "bread")]  # as it stands


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a\tb\tc", "expected a term and its translation, got 3 columns"),
        (
            "|" * 300_000,
            f"expected words on both sides and of each bar, got {'|' * MAX_TERM_CHARS!r}",
        ),
        ("a|b|c\td|e", "expected as many forms on both sides, got 3 and 2"),
        ("a|\tb", "expected words on both sides and of each bar"),
        ("\tb", "expected words on both sides"),
        ("a\x00b", "expected words on both sides"),
        (
            "a\t" + "b" * (MAX_TERM_CHARS + 1),
            f"expected at most {MAX_TERM_CHARS} characters, got {MAX_TERM_CHARS + 1}",
        ),
        ("one\ttwo", "'one' has another translation in mine, line 2"),
    ],
)
def test_a_malformed_row_is_told_with_its_line(row: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"mine, line 4: {message}")):
        Glossary.parse(f"# mine\none\tuno\none\tuno\n{row}", "mine")


@pytest.mark.parametrize("row", ["{}", "{}\ta", "a\t{}", "{}\t{}"])
def test_a_row_takes_memory_that_grows_with_its_length_alone(row: str) -> None:
    forms = "|".join(map(str, range(200_000)))
    assert len(Glossary.parse(row.format(forms, forms)).pairs) == 200_000


def test_a_file_that_is_none_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the glossary .*: No such file"):
        Glossary.read(tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes("año\tyear".encode("latin-1"))
    with pytest.raises(UserError, match="expected UTF-8 text"):
        Glossary.read(tmp_path / "latin.tsv")
    (tmp_path / "empty.tsv").write_text("", encoding="utf-8")
    assert Glossary.read(tmp_path / "empty.tsv").pairs == ()


def test_a_file_of_another_format_is_refused_and_terms_that_stay_are_not(tmp_path: Path) -> None:
    for text in ("casa,cottage\nperro,hound\n", "casa;cottage", '<r>\n<s name="a">Hi</s>\n</r>',
                 '<r>\n\t<s name="a">Hi</s>\n</r>', "a=b\nc=d", '{"a":\n"b"}'):  # fmt: skip
        with pytest.raises(UserError, match=r"expected a tab .* in any row, as .*: is it a CSV"):
            Glossary.parse(text)
    for text in ("Acme, Inc.", "Roger Piedra\nAcme", "a,b\tc\nd,e\tf", "casa\thouse\na=b"):
        assert Glossary.parse(text).pairs


def test_terms_come_as_a_file_a_dictionary_or_pairs(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("casa\tcottage\nAcme\n", "utf-8")
    expected = Glossary.read(tmp_path / "terms.tsv")
    both: list[TermSource] = [tmp_path / "terms.tsv", str(tmp_path / "terms.tsv"), expected,
                              {"casa": "cottage", "Acme": None}, [("casa", "cottage"), ["Acme"]],
                              iter([("casa", "cottage"), ("Acme", "Acme")])]  # fmt: skip
    assert all(Glossary.load(source) == expected for source in both)
    assert Glossary.load({"es": "en", "casa": "house"}).langs == ("es", "en")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "a file, a dictionary or pairs, got int"),
        (["casa"], "pair 1: expected two texts, got 'casa'"),
        ({"casa": "house", "perro": 3}, r"pair 2: expected two texts, got \('perro', 3\)"),
        ([5], "pair 1: expected two texts, got 5"),
    ],
)
def test_what_is_no_glossary_is_one_line(source: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Glossary.load(source)


def test_no_term_cuts_what_is_kept_and_one_may_hold_it() -> None:
    terms = Glossary.parse("perro\tdog\nvia a.org\tby a.org").matcher(ES)
    text = "perro.org via a.org perro"
    assert terms.find(text, [(0, 9), (14, 19)]) == ((10, 19, "by a.org"), (20, 25, "dog"))


def test_no_sentence_ends_within_a_term_and_one_alone_is_a_sentence() -> None:
    text = "Vivo en EE. UU. Ahora no. Perro"
    terms = Glossary.parse("EE. UU. Ahora\nperro\tdog").matcher(ES).find(text)
    own = [
        (part.text, part.terms)
        for part in split_sentences(text, "es", terms=terms)
        if part.has_words
    ]
    assert own == [
        ("Vivo en EE. UU. Ahora no.", ((8, 21, "EE. UU. Ahora"),)),
        ("Perro", ((0, 5, "dog"),)),
    ]


def test_finding_takes_time_that_grows_with_the_text_alone() -> None:
    rows = [f"palabra{i} de la lista" for i in range(3000)] + [
        " ".join("a" * (MAX_TERM_CHARS // 2))
    ]
    terms = Glossary.parse("\n".join(rows)).matcher(ES)
    terms.find("a")
    text = "a " * 10_000
    start = time.process_time()
    terms.find(text, [(i, i + 1) for i in range(1, len(text), 2)])
    assert time.process_time() - start < 5
