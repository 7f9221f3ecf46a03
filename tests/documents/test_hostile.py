"""Files of strangers: each is translated in a time of its length, or refused in one line."""

import io
import struct
import sys
import time
import warnings
import zipfile
from collections.abc import Sequence

import pytest

from tests.documents.shouting import ES_EN, archive, pdf, shout, shouted
from transformer.config import UserError
from transformer.documents.formats import read
from transformer.documents.passages import Options
from transformer.documents.translate import TranslatedSegment, translate_file

pytest.importorskip("lxml", reason="needs the extra `files`")

# The member with the text, and one that must be there.
MEMBERS = {
    ".docx": ("word/document.xml", "word/document.xml"),
    ".xlsx": ("xl/sharedStrings.xml", "xl/workbook.xml"),
    ".pptx": ("ppt/slides/slide1.xml", "ppt/presentation.xml"),
    ".odt": ("content.xml", "content.xml"),
    ".epub": ("a.opf", "META-INF/container.xml"),
}
N = 8_000
CUE = "1\n00:00:01,000 --> 00:00:02,000\n"
DIALOGUE = "Dialogue: 0,0:00:01.00,0:00:02.00,a,,0,0,0,,"
CELL = '{"cell_type": "markdown", "source": "a"}'
MAIL, PART = "From: a\n", "--b\nContent-Type: text/plain\n\na\n"
PARTS = "Content-Type: multipart/a; boundary=b\n\n"
RUN = "<r><t>a. </t></r>"
SPAN = "<text:span>a. </text:span>b "
LAUGHS = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]\n" for i in range(1, 99))
HTML = ('"<a ', "<!--", "<a b='", "</", "<![CDATA[", '<a b=">" ', "<title>", "<b>", "a<img>",
        "a &lt;7/&gt;<img>", "<p>&lt;0/>", "a <b>b. </b>", "<p translate=no>a")  # fmt: skip
HOSTILE = {
    ".html": [*(unit * N for unit in HTML), f"<a {'x' * 90_000}='>",
              "<b>" * N + "x<i>y</i>" + "</b>" * N, "{{" * N, "{% a" * N, "<% a" * N, "{# a" * N,
              "<b>1&nbsp;a</b> b" * N],
    ".md": ["*a " * 3_000, "[" * N, "> " * 3_000 + "a", "![" * 5_000, "`a``" * 5_000,
            "{{" * N, "$a" * N, "[^" * N, "$$ a " * N,
            ":::a\n" * N, "!!! a\n" * N, "<p>a\n\n" * N, "{%" * N, "<%a" * N,
            "[a b=" * N, "==a" * N, "[[a|" * N, "\\begin{a}" * N, "---\ntitle: [" + "a" * N],
    ".ipynb": [f'{{"cells": [{f"{CELL}," * 2_000}{CELL}]}}',
               '{"cells": [{"cell_type": "markdown", "source": [' + '"a\\n", ' * N + '"b"]}]}'],
    ".srt": [CUE + f"a{line}\n{line}b" for line in
             (" " * 60_000, "<i>" * N, "{\\" * N, "-" * 60_000, "</i>" * N, "<i>a</i> b\n" * N,
              "- <i>a</i> b\n" * N, "a <br> {\\an8}" * N)] + [(CUE + f"a{' ' * 999}b\n\n") * 999],
    ".vtt": [CUE + "&lt;1/&gt; <c>a</c>" * N],
    ".ass": [f"[Events]\n{DIALOGUE}{text}\n" for text in
             ("{" * N, "a{\\i1}" * N, "\\N" * N + "a", "- a\\N" * N, "a" + " " * 60_000 + "b",
              "[a" * N, "{\\k1}" * N)] + [f"[Events]\n{DIALOGUE}a b\n" * N, DIALOGUE * N],
    ".sub": ["{1}{2}" + text for text in
             ("{" * N, "|" * N + "a", "- a|" * N, "(a" * N, ">" * N)] + ["{1}{2}a b\n" * N],
    ".tex": [*(unit * (N // 8) for unit in
               ("{\\bf a}", "\\'", "$", "\\footnote{a} b", "\\foo{a}[b] ", "\\foo[",
                "\\item[a] b\n", "[a", "&", "a~b ", "%\n",
                "\\begin{a}[b]{c}d\\end{a}", "\\begin{minted}")),
             "{" * N, "\\begin{a}" * N, "a" + " " * 60_000 + "b", "\n \n" * N + "a"],
    ".rst": [*(unit * (N // 8) for unit in
               ("*a* ", "`a <b>`_ ", "|a| ", "a\n=\n\n", "a\n\n", "a\n  b\n", "::\n\n a\n\n",
                ".. note:: a\n\n", "- a\n")), "*" * N, "- " * N + "a", " " * 60_000, "``" * N],
    ".eml": [MAIL + text for text in
             ("\n" + "a\n" * N, "\n" + "> " * N + "a", f"{PARTS}{PART * 999}",
              "Subject: " + "=?utf-8?q?a?= " * N + "\n\na", "a: b\n" * N + "\na")],
    ".csv": ['"' * 60_001, '"a,' * 20_000, "a," * N + "\n" + "b," * N],
    ".json": ['["' + "\\\\" * 50_000 + '"]', '{"a": "b", ' * N, "[1e" + "9" * N + "]",
              *(f'["{unit * N}{end * N}"]' for unit, end in
                (("{a,select,other{", ""), ("{a,plural,other{b", "}}"), ("'{", "{a}"),
                 ("{a} b", ""), ("{a,date,'", ""), ("{a,plural,other{b}}", ""), ("{a , ", ""),
                 ("&a ", ""), ("MM/", ""), ("MMDD", ""), ("_a ", "")))],
    ".yaml": [f"{LAUGHS}? *a98\n: hola", "- a b\n" * N, "a: b\n" + "  b\n" * N, "a: " + "!x " * N],
    ".po": ['msgid "' + "\\a" * 50_000, 'msgid ""\n' * N, 'msgid "a"\nmsgstr ""\n' * N],
    ".xliff": ["<source>" * N, "<source>a" * N + "</source>" * N, "<source>a</source><target/>" * N,
               f"<source>a</source><target a='{' ' * 60_000}'></target>",
               f"<source>a{'<x/>&lt;3/&gt;' * N}</source>",
               f"<source>a{'<bx/>b' * N}{'<ex/>c' * N}</source>",
               f"<source>{''.join(f'a<bx id={n!r}/>b<ex rid={n!r}/>' for n in map(str, range(N)))}"
               "</source>"],
    ".tmx": ["<tu>" * N + "</tu>" * N, "<tu><tuv xml:lang='es'>a</tuv>" * N + "</tu>" * N],
    ".xml": ["<string>" * N, "<resources>" + "<string>a b</string>" * N + "</resources>", "<a>" * N,
             *(f"<resources><string>{unit * N}</string></resources>" for unit in
               ("<b>a</b>", "\\", '"a ', "<![CDATA[<b>a &]]>", "a&amp; ", " ")),
             "<plurals>" + "<item quantity='other'>a b</item>" * N + "</plurals>"],
    ".resx": [f"<r>{'<data><value>a b</value></data>' * N}</r>",
              "<data>" * N + "</data>" * N, f"<data>{'<value>a</value>' * N}</data>"],
    ".stringsdict": [f"<d>{'<key>other</key><!-- --><string>a</string>' * N}</d>",
                     "<key>" * N + "</key>" * N, f"<d><key>one</key>{'<!-- -->' * N}</d>"],
    ".ts": ["<TS>" + "<message><source>a</source><translation/></message>" * N + "</TS>",
            f"<message><source>a</source><t>{'<numerusform/>' * N}</t></message>",
            f"<message>{'<source>a(s)</source>' * N}</message>"],
    ".properties": ["a\\ " * N, "a=b c\n" * N, f"a{' ' * 60_000}b", "=" * 60_000, "a=\\u",
                    "a=" + "b \\\n" * 16_000],
    ".strings": ['"' * 60_001, '"a"="b c";' * N, "/*" * N, '"' + "\\a" * N, "/" * 60_000],
    ".ini": ["[a]\n" * N, "[a]\n" + "b=c d\n" * N, "[" * 60_000, "[a]\nb=" + " ;" * N],
    ".php": ["<?php " + "[" * N, "<?php return [" + "'a' => 'b c'," * N + "];",
             f"<?php return {'[' * N}{']' * N};", f'<?php return ["{"$a b " * N}"];',
             f"<?php return ['{':a b' * N}'];", "<?php " + "$a='b c';\n" * N],
    ".ftl": ["a = b c\n" * 5000, "a = " + "{" * N, "a = {" + " { $b ->\n *[c] " * 400,
             "a = " + "{ $b } c " * N, "a =\n" + "  b c\n" * N, "a\n" * N],
    ".arb": ['{"a": "b c", ' * N, "{" + '"a": "b c", ' * N + '"b": "c"}'],
    ".odt": ["<text:p>a<text:span>" * N, "<text:p>" * N + "a" + "</text:p>" * N,
             f"<text:p>a {SPAN * N}</text:p>", f"<text:p {'a=1 ' * N}>a</text:p>",
             f"<text:p>{'a &lt;1/&gt;<text:s text:c=99999999/>' * N}</text:p>",
             '<c table:number-columns-repeated="99999999"><text:p>a</text:p></c>' * N],
    ".docx": [f"<p>{RUN * N}</p>", f"<p><r>{'<t>a</t>' * 20_000}</r></p>", "<p>" * N,
              f"<p>{(RUN + '<r><rPr><b/></rPr><t>b. </t></r>') * N}</p>",
              f"<p>{(RUN + '<commentRangeStart/>') * N}{RUN}</p>",
              f"<p><r>{'<t>a</t>' * N}</r>{('<r><footnoteReference/></r>' + RUN) * (N // 4)}</p>"],
    ".pptx": [f"<p>{(RUN + '<br/>') * N}</p>",
              "<a>" * 99 + f"<p>{RUN}</p>" * N + "</a>" * 99],
    ".xlsx": [f"<si>{'<t>a</t>' * N}</si>", f"<sst count='9'>{'<si><t>a</t></si>' * N}</sst>",
              "<dimension ref='A1:XFD1048576'/>", f"<oddFooter>{'&amp;C&amp;Pa' * N}</oddFooter>"],
    ".epub": ["<dc:language " * 30_000, "<dc:language>es</dc:language>" * N, "<dc:title>" * N],
}  # fmt: skip


def packed(suffix: str, text: str) -> bytes:
    if suffix not in MEMBERS:
        return text.encode()
    member, needed = MEMBERS[suffix]
    return archive(**{needed: "<a/>", member: f"<d>{text}</d>"})


@pytest.mark.parametrize(
    ("suffix", "text"),
    [(suffix, text) for suffix, texts in HOSTILE.items() for text in texts],
    ids=lambda value: value[:30].strip(),
)
def test_no_file_takes_more_than_its_length(suffix: str, text: str) -> None:
    def inspect(text: str) -> Sequence[TranslatedSegment]:
        return [TranslatedSegment(word, word.upper()) for word in text.split(" ")]

    content = packed(suffix, text)
    tracing, refusal = sys.gettrace(), ""
    sys.settrace(None)  # coverage, which counts lines, would be measured, too
    started = time.process_time()
    try:
        translate_file(content, f"a{suffix}", shout, inspect, ES_EN)
    except UserError as error:
        refusal = str(error)
    finally:
        sys.settrace(tracing)
    assert "\n" not in refusal
    assert time.process_time() - started < 2
    if suffix in (".html", ".txt"):
        assert translate_file(content, f"a{suffix}", list) == content


@pytest.mark.parametrize(
    ("suffix", "content", "expected"),
    [
        (".csv", 'sep=;\na;"=SUM(A1)"\n', 'sep=;\nA;"=SUM(A1)"\n'),
        (".json", f'["a", {"9" * 5000}]', f'["A", {"9" * 5000}]'),
        (".html", "<!--> a <!---> b <!-- c --!> d<!-- e", "<!--> A <!---> B <!-- c --!> D<!-- e"),
        (".md", "# a\r\rb &amp;#60; c\r- d", "# A\r\rB &amp;#60; C\r- D"),
        (".po", ' msgid "a"\n msgstr ""\n', ' msgid "a"\n msgstr "A"\n'),
        (".srt", CUE.replace("00:0", "-00:0") + "a\n", CUE.replace("00:0", "-00:0") + "A\n"),
        (".xliff", "<b><source>a</source><!-- b --><target/></b>",
         "<b><source>a</source><!-- b --><target>A</target></b>"),
    ],
    ids=lambda value: value[:9].strip(),
)  # fmt: skip
def test_what_is_odd_but_sound_is_read(suffix: str, content: str, expected: str) -> None:
    assert shouted(content, suffix) == expected


ODT = "<a><text:p>hola</text:p></a>"


def zipped(*names: str, method: int = zipfile.ZIP_DEFLATED, text: str = ODT) -> bytes:
    written = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(written, "w", method) as file:
        warnings.simplefilter("ignore")  # of two members of one name
        for name in names:
            with file.open(name, "w", force_zip64=True) as member:
                member.write(text.encode())
    return written.getvalue()


def declared(content: bytes, size: int) -> bytes:
    """An archive whose last member says that it has another size."""
    place = content.rindex(b"PK\x01\x02") + 24
    return content[:place] + struct.pack("<I", size) + content[place + 4 :]


def test_members_of_any_name_stay_and_lead_nowhere() -> None:
    names = "mimetype", "../../a", "/abs", "a\\b", "dir/", "content.xml"
    written = translate_file(zipped(*names), "a.odt", shout)
    with zipfile.ZipFile(io.BytesIO(written)) as file:
        assert file.namelist() == [*names]
        assert file.testzip() is None
        assert file.read("content.xml").decode() == ODT.replace("hola", "HOLA")


MIB = 2**20
FAR = "<!-- --><!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        (".exe", b"x", r"expected a file that ends in .txt, .*; got '.exe'"),
        (".txt", b"\xff\xfb\x00", "expected UTF-8 text in the file, got other bytes at 0"),
        (".srt", b"1\nnonsense", "expected subtitles, with times as 00:00:01,000 --> 00:00:02,000"),
        (".html", b"a\0b", "got a zero byte"),
        (".docx", b"\x7fELF", "expected a Word document, got BadZipFile"),
        (".odt", b"\x7fELF", "expected an OpenDocument text, got BadZipFile"),
        (".odt", zipped("a"), "expected content.xml in the file, got none"),
        (".odt", zipped("content.xml", "content.xml"), "one part of each name, got two"),
        (".odt", zipped("content.xml", method=zipfile.ZIP_BZIP2), "packed by deflate"),
        (".odt", declared(zipped("content.xml", text=" " * 32 * MIB), 9), "got BadZipFile"),
        (".odt", declared(zipped("content.xml"), 0), "got BadZipFile"),
        (".odt", declared(zipped("content.xml"), 2**31), "unpacked in .* parts, got 2048 MiB"),
        (".odt", archive(**{"content.xml": FAR}), "expected XML without entities of its own"),
        (".xliff", FAR.encode(), "expected XML without entities of its own"),
        (".docx", packed(".docx", "<a>"), "got XMLSyntaxError"),
        (".docx", archive(**{"word/document.xml": "<!DOCTYPE a><a/>"}), "without a document type"),
        (".docx", packed(".docx", "0" * 2 * MIB), "at most 1 MiB unpacked in .*, got 2 MiB"),
        (".json", b'{"a":\n ', "^line 2: expected JSON: Expecting value"),
        (".jsonl", b'{"a": 1}\n\n{"a" 1}', "^line 3: expected JSON: Expecting ':' delimiter"),
        (".json", b"", "expected a JSON file, got an empty file"),
        (".json", b"[" * 100_000, "expected a JSON file, got RecursionError"),
        (".yaml", b"a: [", "^line 1: expected sound YAML, got: did not find expected"),
        (".yaml", b"a: b\nc: @d", "^line 2: expected sound YAML, got: found character that cannot"),
        (".yaml", b"es:\n  a: [:day, :month]\n  b: c: d", "^line 3: .* mapping values are not"),
        (".yaml", b'a: b\n\nc: "\x01"', "^line 3: expected sound YAML, got: a character that it"),
        (".yaml", b"- ? " * 100_000, "expected YAML of at most 500 levels"),
        (".pdf", b"x", "expected a PDF, got PdfStreamError"),
        (".pdf", pdf(""), "expected a PDF with text, got pictures only"),
        (".xliff", b"<source>a", "expected sound XML: no element found: line 1, column 9"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_read_is_told_of(
    suffix: str, content: bytes, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(UserError, match=message):
        read(content, suffix, Options(max_bytes=MIB))
    assert not caplog.records


@pytest.mark.parametrize(
    ("entity", "said"),
    [("&#233;", "é"), ("&#xE9", "é"), (f"&#{'0' * 5000}233;", "é"), (f"&#{'9' * 5000};", "\ufffd")],
    ids=lambda value: value[:9],
)
def test_entities_of_any_length_are_read_as_browsers_do(entity: str, said: str) -> None:
    for suffix in (".html", ".vtt"):
        content = f"00:01.000 --> 00:02.000\nab{entity} c"
        assert said in read(content.encode(), suffix).passages[-1].text
        assert translate_file(content.encode(), f"a{suffix}", list).decode() == content


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert read(b"hola", ".txt").passages
    with pytest.raises(
        UserError, match="to read a Word document, install the extra `files`: no lxml"
    ):
        read(b"", ".docx")
