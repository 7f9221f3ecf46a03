"""Markdown, tables, JSON, YAML, catalogues and PDF come out as they went in, but for their text."""

import re

import pytest

from tests.documents.shouting import pdf, shout, shouted
from transformer.config import UserError
from transformer.documents.fill import translate_file
from transformer.documents.formats import FORMATS, read
from transformer.documents.passages import Options
from transformer.text.markup import MarkedText

pytest.importorskip("markdown_it", reason="needs the extra `files`")

MARKDOWN = """---
title: no
---
# uno `no` dos

tres **cuatro** y [cinco *seis*](http://no.no/a_(b) "no") siete\\*
ocho ![no](no.png) <b>nueve</b> <http://no.no> snake_case &amp; diez

> * [ ] once
>   doce
1. trece  
   catorce

| quince | dieciséis |
|:--|--|
| **veinte** | `no` |

```sh
no
```

    no

<div>no</div>

[ref]: http://no.no
"""
YAML = """# no
clave: uno # no
lista:
  - 'dos'
  - "tres \\"x\\""
  - &a !!str cuatro
  - *a
  - 2024-01-01
  - yes
bloque: |
  cinco
    seis

doblado: >-
  siete
  ocho
flujo: {a: nueve, b: [diez]}
"""
PO = r"""# no
msgid ""
msgstr ""
"Language: \n"
"X: no\n"

#: no.c:1
#, c-format
msgid "uno %s \"x\""
msgstr ""

msgctxt "no"
msgid ""
"dos\n"
"tres"
msgstr ""

msgid "hecho"
msgstr "done"

msgid "gato"
msgid_plural "gatos"
msgstr[0] ""
msgstr[1] ""

#~ msgid "no"
#~ msgstr ""
"""
XLIFF = (
    '<xliff version="1.2"><file source-language="es" original="no"><body>'
    '<trans-unit id="1"><source>uno <g id="1">dos</g><x id="2"/> fin</source></trans-unit>\n'
    '<trans-unit id="2"><source>tres</source>\n<target state="new"/></trans-unit>'
    "<trans-unit><source>no</source><target>done</target></trans-unit>"
    '<trans-unit translate="no"><source>no</source></trans-unit></body></file></xliff>'
)
TMX = (
    '<tmx><body><tu><tuv xml:lang="es-ES"><seg>uno <ph>no</ph></seg></tuv></tu>'
    '<tu><tuv xml:lang="es"><seg>no</seg></tuv><tuv xml:lang="en"><seg>done</seg></tuv></tu>'
    '<tu><tuv xml:lang="fr"><seg>no</seg></tuv></tu></body></tmx>'
)


@pytest.mark.parametrize(
    ("suffix", "content", "expected"),
    [
        (
            ".csv",
            'id;nombre;"nota ""x"""\r\n1;"a; b";\r\n\r\n2;c;3,5',
            'ID;NOMBRE;"NOTA ""X"""\r\n1;"A; B";\r\n\r\n2;C;3,5',
        ),
        (".tsv", 'uno\tdos, "tres"\n1\t', 'UNO\tDOS, "TRES"\n1\t'),
        (
            ".json",
            '{"a": "uno", "b": [1.50, "dos \\"x\\"", null], "c": {"d": "\\u00e9l"},"e":"1" }\n',
            '{"a": "UNO", "b": [1.50, "DOS \\"X\\"", null], "c": {"d": "\\u00c9L"},"e":"1" }\n',
        ),
    ],
)
def test_a_file_keeps_all_but_its_words(suffix: str, content: str, expected: str) -> None:
    assert translate_file(content.encode(), f"a{suffix}", list) == content.encode()
    assert shouted(content, suffix) == expected


def test_markdown_keeps_code_addresses_and_tables() -> None:
    assert translate_file(MARKDOWN.encode(), "a.md", list) == MARKDOWN.encode()
    expected = MARKDOWN.replace("siete\\*\nocho", "siete\\* ocho").replace(
        "once\n>   doce", "once doce"
    )  # fmt: skip
    for word in ("uno", "dos", "tres", "cuatro", "y", "cinco", "seis", "siete", "ocho", "nueve",
                 "snake_case", "diez", "once", "doce", "trece", "catorce", "quince", "dieciséis",
                 "veinte"):  # fmt: skip
        expected = re.sub(rf"\b{word}\b", word.upper(), expected)
    assert shouted(MARKDOWN, ".md") == expected.replace("&amp;", "&")


def test_a_translation_brings_no_markup_into_markdown() -> None:
    document = read("hola [x](y)\n\nadiós _a\n".encode(), ".md")
    written = document.write([[("1. *a* [b] ", None), ("c", 0)], [("- x_y <b>", None)]])
    assert written.decode() == "1\\. \\*a\\* \\[b\\] [c](y)\n\n\\- x_y \\<b>\n"


def test_yaml_keeps_its_styles() -> None:
    assert translate_file(YAML.encode(), "a.yaml", list) == YAML.encode()
    expected = YAML.replace("siete\n  ocho", "siete ocho")
    for word in ("uno", "dos", 'tres \\"x', "cuatro", "cinco", "seis", "siete ocho", "nueve",
                 "diez"):  # fmt: skip
        expected = expected.replace(word, word.upper())
    assert shouted(YAML, ".yaml") == expected
    document = read(b"a: uno\nb: dos\nc: 'x'\n", ".yml")
    marked: list[MarkedText] = [[(text, None)] for text in ("yes: #1", "true", "it's")]
    assert document.write(marked) == b"a: \"yes: #1\"\nb: \"true\"\nc: 'it''s'\n"


@pytest.mark.parametrize(
    ("suffix", "content", "expected"),
    [
        (".csv", "id,nota\nuno,dos\n", "id,nota\nuno,DOS\n"),
        (".json", '{"id": "a", "nota": ["b"]}', '{"id": "a", "nota": ["B"]}'),
        (".yaml", "id: a\nnota: [b]\n", "id: a\nnota: [B]\n"),
    ],
)
def test_named_columns_and_keys_alone_are_translated(
    suffix: str, content: str, expected: str
) -> None:
    assert shouted(content, suffix, Options(columns=("nota",))) == expected


def test_a_column_that_is_not_there_is_told_of() -> None:
    assert shouted("a,b\nc,d\n", ".csv", Options(columns=("2",))) == "a,b\nc,D\n"
    with pytest.raises(UserError, match="expected columns out of a, b; got c"):
        shouted("a,b\n", ".csv", Options(columns=("c",)))


def test_catalogues_get_what_they_lack() -> None:
    expected = PO.replace("Language: \\n", "Language: en\\n")
    for message, translation in (
        ('msgid "uno %s \\"x\\""\nmsgstr ""', 'msgid "uno %s \\"x\\""\nmsgstr "UNO %s \\"X\\""'),
        ('"tres"\nmsgstr ""', '"tres"\nmsgstr ""\n"DOS\\n"\n"TRES"'),
        ('msgstr[0] ""\nmsgstr[1] ""', 'msgstr[0] "GATO"\nmsgstr[1] "GATOS"'),
    ):
        expected = expected.replace(message, translation)
    assert shouted(PO, ".po") == expected

    expected = XLIFF.replace('original="no">', 'original="no" target-language="en">')
    first = '<target>UNO <g id="1">DOS</g><x id="2"/> FIN</target>'
    expected = expected.replace("fin</source>", f"fin</source>{first}")
    assert shouted(XLIFF, ".xlf") == expected.replace(
        '<target state="new"/>', '<target state="new">TRES</target>'
    )
    added = '<tuv xml:lang="en"><seg>UNO <ph>no</ph></seg></tuv></tu>'
    assert shouted(TMX, ".tmx") == TMX.replace("</tu>", added, 1)


def test_a_pdf_comes_out_as_paragraphs_of_text() -> None:
    content = pdf("El coche ro-\njo es\nmuy caro.\nLa casa no.")
    assert translate_file(content, "a.pdf", shout) == b"EL COCHE ROJO ES MUY CARO.\nLA CASA NO.\n\n"
    assert (FORMATS[".pdf"].written, FORMATS[".pdf"].media[:10]) == (".txt", "text/plain")
