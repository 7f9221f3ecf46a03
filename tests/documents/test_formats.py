"""Files come out as they went in, but for their text."""

import asyncio
import codecs
import io
import zipfile
from collections.abc import Sequence

import pytest

from tests.documents.shouting import ES_EN, archive, raised, shout, shouted
from transformer.config import UserError
from transformer.documents.formats import read
from transformer.documents.passages import PLACEHOLDER, Options, Passage
from transformer.documents.translate import TranslatedText, translate_file, translate_passages
from transformer.text.markup import MarkedText

pytest.importorskip("markdown_it", reason="needs the extra `files`")

# In what follows the Spanish numbers are text and come out in capitals; what is not text says no.
NUMBERS = (
    "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciséis veinte"
)
MARKDOWN = """---
title: no
---
# uno `no` dos

tres **cuatro** uno [cinco *seis*](http://no.no/a_(b) "no") siete\\*
ocho ![no](no.png) <b>nueve</b> <http://no.no> snake_case &amp; diez

> * [ ] once
>   doce
1. trece  
   catorce

| quince | dieciséis |
|:--|--|
| **veinte** | `no` |
| uno \\| dos | {{ no }} |

- [x] trece[^no] $a_b$ {#no}

[^1]: catorce uno
[^2]: quince dos
: doce tres

```sh
no
```

    no

<div>uno</div>

[ref]: http://no.no
"""
YAML = """# no
clave: uno # no
lista:
  - 'dos'
  - "tres \\"dos\\""
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
hondo: |2+
     once

flujo: {a: nueve, b: [diez]}
"""
PO = r"""# no
msgid ""
msgstr ""
"Language: \n"
"Content-Type: text/plain; charset=CHARSET\n"
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
    "<trans-unit><source><![CDATA[seis & <b>]]></source></trans-unit>"
    '<trans-unit translate="no"><source>no</source></trans-unit></body></file></xliff>'
)
XLIFF_2 = '<xliff version="2.0" srcLang="es"><file><source>uno</source></file></xliff>'
TMX = (
    '<tmx><body><tu><tuv xml:lang="es-ES"><seg>uno <ph>no</ph></seg></tuv></tu>'
    '<tu><tuv xml:lang="es"><seg>no</seg></tuv><tuv xml:lang="en"><seg>done</seg></tuv></tu>'
    '<tu><tuv xml:lang="fr"><seg>no</seg></tuv></tu></body></tmx>'
)
SUBTITLES = (
    "1\n00:00:01,000 --> 00:00:02,500\n<i>Mi hermana\nvive</i> aquí.\n\n"
    "7\n00:00:03,000 --> 00:00:04,000\n- ¿Sí?\n- {\\an8}No.\n\n\n"
    "8\n00:00:05,000 --> 00:00:06,000 X1:5\n{\\an8}<i>Cuando llegó a casa,</i>\n\n"
    "9\n00:00:06,000 --> 00:00:07,000\n<i>su hermana\nya no estaba.</i>\n\n10\n"
    "00:00:08,000 --> 00:00:09,000\n♪\n"
)
SUBTITLES_RAISED = raised(
    SUBTITLES, "Mi hermana vive aquí Sí No Cuando llegó a casa su ya no estaba"
).replace("MI HERMANA\nVIVE</i>", "MI HERMANA</i>\n<i>VIVE</i>")
TIMES = "00:01.000 --> 00:02.000\n"
VTT = (
    "WEBVTT\n\nNOTE no\n\nSTYLE\n::cue {}\n\nno\n00:01.000 --> 00:02.000 line:0\n"
    "<v Ana>dos &amp; <b>tres</b>\n"
)
XLIFF_FILLED = (
    XLIFF.replace('original="no">', 'original="no" target-language="en">')
    .replace("fin</source>", 'fin</source><target>UNO <g id="1">DOS</g><x id="2"/> FIN</target>')
    .replace("]]></source>", "]]></source><target><![CDATA[SEIS & <b>]]></target>")
    .replace('<target state="new"/>', '<target state="translated">TRES</target>')
)
ADDED = '<tuv xml:lang="en"><seg>UNO <ph>no</ph></seg></tuv></tu>'
PO_FILLED = (
    PO.replace("Language: \\n", "Language: en\\n")
    .replace("CHARSET", "UTF-8")
    .replace('\\"x\\""\nmsgstr ""', '\\"x\\""\nmsgstr "UNO %s \\"X\\""')
    .replace('"tres"\nmsgstr ""', '"tres"\nmsgstr ""\n"DOS\\n"\n"TRES"')
    .replace('msgstr[0] ""\nmsgstr[1] ""', 'msgstr[0] "GATO"\nmsgstr[1] "GATOS"')
)


def case(suffix: str, content: str, *changes: tuple[str, str]) -> tuple[str, str, str]:
    """A file, and itself with its numbers in capitals and with what else changes."""
    expected = raised(content, NUMBERS)
    for before, after in changes:
        assert before in expected
        expected = expected.replace(before, after)
    return suffix, content, expected


FILES = [
    case(".txt", "uno.\r\n\r\ndieciséis.\n"),
    case(".csv", 'id;dos;"tres ""cuatro"""\r\n1;"cinco; seis";\r\n\r\n2;siete;3,5'),
    case(".tsv", 'uno\tdos, "tres"\n1\t'),
    case(".json",
         '{"a": "uno", "b": [1.50, "dos \\"tres\\"", null], "c": {"d": "\\u00e9l"},"e":"1" }\n',
         ("\\u00e9l", "\\u00c9L")),
    case(".json", '["2024-01-01T00:00:00Z", "#f00", "v1.2", "{n, plural, one {uno} other {dos}}", '
         '"2a tres"]', ("2a", "2A")),
    case(".json", f'["uno", {"9" * 5000}]'),
    case(".json", '["id", "es", "text/html", "uno/dos"]'),
    case(".jsonl", '{"a": "uno"}\n\n["dos"]\n'),
    case(".html",
         "<!DOCTYPE html><html lang='es'><title>uno</title><style>p > a {color: red}</style>"
         '<script>if (a < b && c) { alert("no") }</script><body class=x><!-- no -->'
         '<p id="a">dos <b>tres</b> &amp; cuatro<br/>cinco</p><pre>uno\n  dos</pre>',
         ("lang='es'", 'lang="en"')),
    case(".html",
         "<p>uno <code>no</code>, <i class=icon></i> dos <img alt='tres' src=x> cuatro.</p>",
         ("'TRES'", '"TRES"')),
    case(".html", '<p translate="no">no</p><p class="notranslate">no <i>no</i></p>uno'),
    case(".html",
         '<input placeholder="uno" value="no"><input type=submit value="dos">'
         '<textarea title=tres>uno</textarea><meta name="description" content="cuatro cinco">',
         ("=TRES", '="TRES"')),
    case(".html",
         '<meta property="og:title" content="uno"><optgroup label="dos">'
         '<p lang="fr">tres <i lang="fr">no</i> <b lang="es-ES">cuatro</b> <q lang=en>no</q>',
         ("es-ES", "en")),
    case(".html", "uno H<sub>2</sub>O, <b>5</b>"),
    case(".html", "<a>uno</a> | <a>dos</a>, <b>tres</b>"),
    case(".html", "<ul><li><a>uno</a> <a>dos</a>"),
    case(".html", "<u>uno <s>dos</s></u> 5 < 6 &copy; tres", ("5 <", "5 &lt;"), ("&copy;", "©")),
    case(".html", "<p>uno &lt;script&gt;...&lt;/script&gt; dos</p>", ("script", "SCRIPT")),
    case(".html", "uno <b>dos</b> &lt;0/&gt; <br> <img> tres"),
    case(".md", MARKDOWN, ("\nOCHO", " OCHO"), ("ONCE\n>   DOCE", "ONCE DOCE"),
         ("snake_case &amp;", "SNAKE_CASE &")),
    case(".md", '!!! note "uno"\n    dos\n\n:::tip tres\n  cuatro\n:::\n\n> [!NOTE]\n> cinco\n'),
    case(".md", "<br>\n<p>uno &amp; dos"),
    case(".md", "---\n\n- [uno](no) - dos\n\n---\n"),
    case(".yaml", YAML, ("SIETE\n  OCHO", "SIETE OCHO"),
         ("|2+\n     ONCE\n", '"   ONCE\\n\\n"\n')),
    (".po", PO, PO_FILLED),
    (".xlf", XLIFF, XLIFF_FILLED),
    (".xlf", XLIFF_2, XLIFF_2.replace('"es"', '"es" trgLang="en"').replace(
        "uno</source>", "uno</source><target>UNO</target>")),
    (".tmx", TMX, TMX.replace("</tu>", ADDED, 1)),
    (".srt", SUBTITLES, SUBTITLES_RAISED),
    case(".vtt", VTT),
]  # fmt: skip


@pytest.mark.parametrize(("suffix", "content", "expected"), FILES)
def test_a_file_keeps_all_but_its_words(suffix: str, content: str, expected: str) -> None:
    assert shouted(content, suffix) == expected
    if suffix not in (".xlf", ".tmx"):  # which get a copy of what is not translated
        assert translate_file(content.encode(), f"a{suffix}", list) == content.encode()
    if suffix in (".md", ".yaml", ".srt"):
        assert shouted(content.replace("\n", "\r\n"), suffix) == expected.replace("\n", "\r\n")


MARKS = {"utf-8": codecs.BOM_UTF8, "utf-16le": codecs.BOM_UTF16_LE, "utf-16be": codecs.BOM_UTF16_BE}
WITH_MARKS = {
    ".txt": "Sí.\r\nNo.", ".srt": SUBTITLES, ".vtt": VTT, ".csv": "a,b\né,", ".tsv": "é\tb",
    ".json": '{"clave": "é"}', ".yaml": YAML, ".md": MARKDOWN, ".po": PO, ".html": "<p>é <b>a</b>",
}  # fmt: skip


@pytest.mark.parametrize("encoding", MARKS)
@pytest.mark.parametrize("suffix", WITH_MARKS)
def test_a_text_keeps_its_encoding_and_its_mark(suffix: str, encoding: str) -> None:
    text = WITH_MARKS[suffix]
    content = MARKS[encoding] + text.encode(encoding)
    written = translate_file(content, f"a{suffix}", shout, options=ES_EN)
    assert written == MARKS[encoding] + shouted(text, suffix).encode(encoding)
    assert translate_file(content, f"a{suffix}", list) == content


XHTML = '<html xmlns="http://www.w3.org/1999/xhtml" lang="es"><head/><body>{}</body></html>'


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "UTF-16BE", "ISO-8859-1", "US-ASCII"])
@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".xlf", XLIFF.replace("tres", "{}")),
        (".tmx", TMX.replace("uno", "{}")),
        (".html", XHTML),
        (".epub", XHTML),
        (".odt", "<a xmlns:text='text'><text:p>{}</text:p></a>"),
        (".docx", "<d><p><r><t>{}</t></r></p></d>"),
    ],
)
def test_xml_is_sound_in_the_encoding_that_it_declares(
    suffix: str, text: str, encoding: str
) -> None:
    etree = pytest.importorskip("lxml.etree", reason="needs the extra `files`")
    text = f"<?xml version='1.0' encoding='{encoding}'?>{text.format('sí')}"
    content = text.encode(encoding, "xmlcharrefreplace")
    parts = {".epub": "a.xhtml", ".odt": "content.xml", ".docx": "word/document.xml"}
    if suffix in parts:
        content = archive(**{"META-INF/container.xml": b"<a/>", parts[suffix]: content})
    written = translate_file(
        content, f"a{suffix}", lambda texts: ["ÑU €"] * len(texts), options=ES_EN
    )
    if suffix in parts:
        written = zipfile.ZipFile(io.BytesIO(written)).read(parts[suffix])
    assert "ÑU €" in "".join(etree.fromstring(written).itertext())


def test_a_catalogue_is_read_in_its_charset_and_written_in_utf_8() -> None:
    text = 'msgid ""\nmsgstr "charset={}\\n"\n\nmsgid "año"\nmsgstr "{}"\n'
    for name in ("ISO-8859-15", "windows-1252"):
        written = translate_file(text.format(name, "").encode(name), "a.po", shout)
        assert written.decode() == text.format("UTF-8", "AÑO")
    with pytest.raises(UserError, match="expected a PO file, got LookupError"):
        read(text.format("windows-9", "").encode("cp1252"), ".po")


def test_a_page_is_read_and_written_in_the_charset_that_it_declares() -> None:
    page = "<!DOCTYPE html><meta charset=iso-8859-1><p>“sí”"
    content = page.encode("cp1252")
    assert translate_file(content, "a.HTM", list) == content
    written = translate_file(content, "a.HTM", lambda texts: ["“ñ” ő"])
    assert written == page.replace("sí”", "ñ” &#337;").encode("cp1252")


def test_what_stays_is_no_text_and_what_was_text_is_no_tag() -> None:
    (passage,) = read(b"<p>a &lt;0/&gt; b <img> c</p>", ".html").passages
    assert (passage.text, passage.placeholders) == ("a <0/> b <1/> c", ("<1/>",))
    document = read(b"<p>hola</p>", ".html")
    assert document.write([[("<script>", None)]]) == b"<p>&lt;script&gt;</p>"


def test_marks_move_with_their_words() -> None:
    document = read(b'<p>el <a href="x"><b>coche</b></a> <i>rojo</i>, fin</p>', ".html")
    assert document.passages == (Passage("el coche rojo, fin", ((3, 8), (9, 13))),)
    filled: MarkedText = [("the ", None), ("red", 1), (" ", None), ("car", 0), (", end", None)]
    assert document.write([filled]) == (b'<p>the <i>red</i> <a href="x"><b>car</b></a>, end</p>')


def test_control_characters_stay_where_they_were() -> None:
    asked: list[str] = []

    async def translate(texts: Sequence[str]) -> list[TranslatedText]:
        asked.extend(texts)
        return [TranslatedText(text.upper()) for text in texts]

    page = "uno \0 dos\u202etres <b>cua\x07tro</b>"
    document = read(page, ".html")
    filled, _ = asyncio.run(translate_passages(document.passages, translate))
    assert document.write([*filled]).decode() == "UNO \0 DOS\u202eTRES <b>CUA\x07TRO</b>"
    assert asked == ["uno ", " dos", "tres ", "cua", "tro"]


def test_subtitles_keep_times_tags_speakers_and_lines() -> None:
    document = read(SUBTITLES.encode(), ".srt")
    assert [passage.text for passage in document.passages] == [
        "Mi hermana vive aquí.", "- ¿Sí?", "- <0/>No.",
        "Cuando llegó a casa, su hermana ya no estaba.",
    ]  # fmt: skip
    assert document.passages[0].marks == ((0, 15),)


@pytest.mark.parametrize("second", ["&lrm;- tres", "♪ tres", "[tres]"])
def test_what_another_says_begins_a_passage(second: str) -> None:
    content = f"WEBVTT\n\n{TIMES}uno dos\n\n{TIMES}{second}\n"
    assert len(read(content.encode(), ".vtt").passages) == 2


def test_lines_of_subtitles_stay_short_and_a_sentence_fills_its_cues() -> None:
    said = ("when she finally got to the house of her sister,", "she was already gone, long ago.")
    content = SUBTITLES.encode()
    written = translate_file(content, "a.srt", lambda texts: [*texts[:-1], " ".join(said)])
    cues = written.decode().split("\n\n")[2:4]
    assert [cue.strip().split("\n", 2)[2] for cue in cues] == [
        "{\\an8}<i>when she finally got to\nthe house of her sister,</i>",
        "<i>she was\nalready gone, long ago.</i>",
    ]


def test_what_does_not_come_out_once_is_translated_around() -> None:
    def careless(texts: Sequence[str]) -> list[str]:
        return [PLACEHOLDER.sub("", text).upper() for text in texts]

    page = b"uno <code>x</code> dos <img> <b>tres</b>"
    assert translate_file(page, "a.html", careless) == b"UNO <code>x</code> DOS <img> <b>TRES</b>"

    def forgetful(texts: Sequence[str]) -> list[str]:
        return [text.upper().replace("> DOS <", "><") for text in texts]

    page = page.replace(b"<b>tres</b>", b"tres")
    assert translate_file(page, "a.html", forgetful) == b"UNO <code>x</code> DOS <img> TRES"


def test_a_translation_brings_no_markup_into_markdown() -> None:
    document = read("hola [x](y)\n\nadiós _a\n".encode(), ".md")
    written = document.write([[("1. *a* [b] ", None), ("c", 0)], [("- x_y <b>", None)]])
    assert written.decode() == "1\\. \\*a\\* \\[b\\] [c](y)\n\n\\- x_y \\<b>\n"


def test_yaml_is_quoted_where_it_must_be() -> None:
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
    for suffix, content in ((".json", '{"a": "b", "c": 1}'), (".yaml", "a: b\nc: 1\n")):
        with pytest.raises(UserError, match="expected keys of texts out of a; got c"):
            shouted(content, suffix, Options(columns=("c",)))


def test_a_catalogue_of_no_language_is_read_but_not_written() -> None:
    document = read(TMX.encode(), ".tmx")  # to tell its language
    assert [passage.text for passage in document.passages] == ["uno", "no", "no"]
    with pytest.raises(UserError, match="expected a target language for a TMX file"):
        document.write([[(passage.text, None)] for passage in document.passages])
