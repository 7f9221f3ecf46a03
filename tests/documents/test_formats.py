"""Files come out as they went in, but for their text."""

import asyncio
import io
import re
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from transformer.config import UserError
from transformer.documents.fill import Said, fill, translate_file
from transformer.documents.formats import read
from transformer.documents.passages import KEPT, Options, Passage
from transformer.text.markup import MarkedText

pytest.importorskip("lxml", reason="needs the extra `files`")
ES_EN = Options("es", "en")


def shout(texts: Sequence[str]) -> list[str]:
    return [text.upper() for text in texts]


def shouted(content: str | bytes, suffix: str, options: Options = ES_EN) -> str:
    """The file with its texts in capitals; unchanged texts leave every byte of it."""
    content = content.encode() if isinstance(content, str) else content
    assert translate_file(content, f"a{suffix}", list, options=Options()) == content
    return translate_file(content, f"a{suffix}", shout, options=options).decode()


def texts(content: str | bytes, suffix: str) -> list[str]:
    content = content.encode() if isinstance(content, str) else content
    return [passage.text for passage in read(content, suffix).passages]


def test_a_text_file_is_translated_by_lines() -> None:
    assert texts("\ufeffHola.\n\nAdiós.\n", ".TXT") == ["Hola.\n", "Adiós.\n"]
    assert shouted("Hola.\r\n\r\nAdiós.\n", ".txt") == "HOLA.\r\n\r\nADIÓS.\n"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (
            "<!DOCTYPE html><html lang='es'><title>uno</title><style>p > a {color: red}</style>"
            '<script>if (a < b && c) { alert("hola") }</script><body class=x><!-- nota -->'
            '<p id="a">dos <b>tres</b> &amp; cuatro<br/>cinco</p><pre>uno\n  dos</pre>',
            "<!DOCTYPE html><html lang=\"en\"><title>UNO</title><style>p > a {color: red}</style>"
            '<script>if (a < b && c) { alert("hola") }</script><body class=x><!-- nota -->'
            '<p id="a">DOS <b>TRES</b> &amp; CUATRO<br/>CINCO</p><pre>UNO\n  DOS</pre>',
        ),
        (
            "<p>Usa <code>npm i</code>, <i class=icon></i> y <img alt='la foto' src=x> ya.</p>",
            "<p>USA <code>npm i</code>, <i class=icon></i> Y <img alt=\"LA FOTO\" src=x> YA.</p>",
        ),
        (
            '<p translate="no">seis</p><p class="notranslate">siete <i>ocho</i></p>nueve',
            '<p translate="no">seis</p><p class="notranslate">siete <i>ocho</i></p>NUEVE',
        ),
        (
            '<input placeholder="nombre" value="x"><input type=submit value="enviar">'
            '<textarea title=hola>no</textarea><meta name="description" content="una página">',
            '<input placeholder="NOMBRE" value="x"><input type=submit value="ENVIAR">'
            '<textarea title="HOLA">no</textarea><meta name="description" content="UNA PÁGINA">',
        ),
        ("<ul><li><a>uno</a> <a>dos</a>", "<ul><li><a>UNO</a> <a>DOS</a>"),
        ("<u>a <s>b</s></u> 5 < 6 &copy; fin", "<u>A <s>B</s></u> 5 &lt; 6 © FIN"),
        (
            "<p>El perro &lt;script&gt;...&lt;/script&gt; negro</p>",
            "<p>EL PERRO &lt;SCRIPT&gt;...&lt;/SCRIPT&gt; NEGRO</p>",
        ),
        ("el <b>a</b> &lt;0/&gt; <br> <img> c", "EL <b>A</b> &lt;0/&gt; <br> <img> C"),
    ],
)  # fmt: skip
def test_a_page_keeps_all_but_its_words(page: str, expected: str) -> None:
    assert shouted(page, ".html") == expected


def test_what_stays_is_no_text_and_what_was_text_is_no_tag() -> None:
    (passage,) = read(b"<p>a &lt;0/&gt; b <img> c</p>", ".html").passages
    assert (passage.text, passage.kept) == ("a <0/> b <1/> c", ("<1/>",))
    document = read(b"<p>hola</p>", ".html")
    assert document.write([[("<script>", None)]]) == b"<p>&lt;script&gt;</p>"


def test_marks_move_with_their_words() -> None:
    document = read(b'<p>el <a href="x"><b>coche</b></a> <i>rojo</i>, fin</p>', ".html")
    assert document.passages == (Passage("el coche rojo, fin", ((3, 8), (9, 13))),)
    filled: MarkedText = [("the ", None), ("red", 1), (" ", None), ("car", 0), (", end", None)]
    assert document.write([filled]) == (b'<p>the <i>red</i> <a href="x"><b>car</b></a>, end</p>')


@pytest.mark.parametrize(
    "page",
    ['"<a ' * 6666, "<!--" * 25_000, "<a b='" * 20_000, "</" * 50_000, "<![CDATA[" * 20_000,
     '<a b=">" ' * 20_000, "<title>" * 20_000, "<b>" * 9_000, "a<img>" * 9_000,
     "<b>" * 9_000 + "x<i>y</i>" + "</b>" * 9_000, "<a " + "x" * 90_000 + "='>",
     "<p>" + "&lt;0/>" * 9_000],
)  # fmt: skip
def test_no_page_takes_more_than_its_length(page: str) -> None:
    def seconds(text: str) -> float:
        started = time.process_time()
        translate_file(text.encode(), "a.html", shout)
        return time.process_time() - started

    assert seconds(page) < 2
    assert page.encode() == translate_file(page.encode(), "a.html", list)


def test_control_characters_stay_where_they_were() -> None:
    asked: list[str] = []

    async def translate(texts: Sequence[str]) -> list[Said]:
        asked.extend(texts)
        return [Said(text.upper()) for text in texts]

    page = "uno \0 dos\u202etres <b>cua\x07tro</b>"
    document = read(page, ".html")
    filled, _ = asyncio.run(fill(document.passages, translate))
    assert document.write(filled).decode() == "UNO \0 DOS\u202eTRES <b>CUA\x07TRO</b>"
    assert asked == ["uno ", " dos", "tres ", "cua", "tro"]


SUBTITLES = (
    "1\n00:00:01,000 --> 00:00:02,500\n<i>Mi hermana\nvive</i> aquí.\n\n"
    "7\n00:00:03,000 --> 00:00:04,000\n- ¿Sí?\n- {\\an8}No.\n\n\n"
    "8\n00:00:05,000 --> 00:00:06,000 X1:5\n{\\an8}<i>Cuando llegó a casa,</i>\n\n"
    "9\n00:00:06,000 --> 00:00:07,000\n<i>su hermana\nya no estaba.</i>\n\n10\n"
    "00:00:08,000 --> 00:00:09,000\n♪\n"
)


def test_subtitles_keep_times_tags_speakers_and_lines() -> None:
    document = read(SUBTITLES.encode(), ".srt")
    assert [passage.text for passage in document.passages] == [
        "Mi hermana vive aquí.", "- ¿Sí?", "- <0/>No.",
        "Cuando llegó a casa, su hermana ya no estaba.",
    ]  # fmt: skip
    assert document.passages[0].marks == ((0, 15),)
    expected = SUBTITLES
    for word in ("Mi hermana", "vive", "aquí", "Sí", "No", "Cuando llegó a casa", "su hermana",
                 "ya no estaba"):  # fmt: skip
        expected = expected.replace(word, word.upper())
    marked = expected.replace("<i>MI HERMANA\nVIVE</i>", "<i>MI HERMANA</i>\n<i>VIVE</i>")
    assert shouted(SUBTITLES, ".srt") == marked
    windows = SUBTITLES.replace("\n", "\r\n")
    assert shouted(windows, ".srt") == marked.replace("\n", "\r\n")


def test_lines_of_subtitles_stay_short_and_a_sentence_fills_its_cues() -> None:
    said = ("when she finally got to the house of her sister,", "she was already gone, long ago.")
    content = SUBTITLES.encode()
    written = translate_file(content, "a.srt", lambda texts: [*texts[:-1], " ".join(said)])
    cues = written.decode().split("\n\n")[2:4]
    assert [cue.strip().split("\n", 2)[2] for cue in cues] == [
        "{\\an8}<i>when she finally got to\nthe house of her sister,</i>",
        "<i>she was\nalready gone, long ago.</i>",
    ]


def test_web_subtitles_keep_their_notes_and_voices() -> None:
    text = (
        "WEBVTT\n\nNOTE una nota\n\nSTYLE\n::cue {}\n\nuno\n00:01.000 --> 00:02.000 line:0\n"
        "<v Ana>dos &amp; <b>tres</b>\n"
    )
    expected = text.replace("dos", "DOS").replace("tres", "TRES")
    assert shouted(text, ".vtt") == expected


@pytest.mark.parametrize(
    "line", [" " * 60_000, "<i>" * 9_000, "{\\" * 9_000, "-" * 60_000, "</i>" * 9_000]
)
def test_no_subtitle_takes_more_than_its_length(line: str) -> None:
    started = time.process_time()
    cue = f"1\n00:00:01,000 --> 00:00:02,000\na{line}\n{line}b\n\n"
    translate_file(cue.encode(), "a.srt", shout)
    translate_file((cue * 50).encode()[: 2**20], "a.srt", shout)
    assert time.process_time() - started < 2


def test_what_does_not_come_out_once_is_translated_around() -> None:
    def careless(texts: Sequence[str]) -> list[str]:
        return [KEPT.sub("", text).upper() for text in texts]

    page = b"uno <code>x</code> dos <img> <b>tres</b>"
    assert translate_file(page, "a.html", careless) == b"UNO <code>x</code> DOS <img> <b>TRES</b>"


def archive(**members: str) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return written.getvalue()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def saved(document: Any) -> bytes:
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def word_file() -> bytes:
    document = pytest.importorskip("docx").Document()
    document.add_heading("título")
    paragraph = document.add_paragraph("uno ")
    paragraph.add_run("dos").bold = True
    paragraph.add_run(" tr")
    paragraph.add_run("es")
    paragraph.add_run("\tcuatro")
    document.add_table(1, 2).cell(0, 1).text = "celda & más"
    document.sections[0].header.paragraphs[0].text = "arriba \u202e"
    return saved(document)


def test_a_word_document_keeps_its_looks() -> None:
    content = word_file()
    document = read(content, ".docx")
    assert [(passage.text, passage.marks) for passage in document.passages] == [
        ("título", ()), ("uno dos tres", ((4, 7),)), ("cuatro", ()), ("celda & más", ()),
        ("arriba \u202e", ()),
    ]  # fmt: skip
    written = translate_file(content, "a.docx", shout)
    again = pytest.importorskip("docx").Document(io.BytesIO(written))
    assert [p.text for p in again.paragraphs] == ["TÍTULO", "UNO DOS TRES\tCUATRO"]
    assert [run.bold for run in again.paragraphs[1].runs if run.text == "DOS"] == [True]
    assert again.tables[0].cell(0, 1).text == "CELDA & MÁS"
    assert again.sections[0].header.paragraphs[0].text == "ARRIBA \u202e"
    untouched = {n: data for n, data in members(content).items() if not n.startswith("word/")}
    assert untouched.items() <= members(written).items()
    moved: MarkedText = [("the ", None), ("three", 0), (" two", None)]
    filled: list[MarkedText] = [
        moved if passage.marks else [(passage.text, None)] for passage in document.passages
    ]
    runs = pytest.importorskip("docx").Document(io.BytesIO(document.write(filled))).paragraphs[1]
    assert [(run.text, run.bold) for run in runs.runs][:3] == [
        ("the ", None), ("three", True), (" two", None),
    ]  # fmt: skip


def test_links_and_notes_of_a_word_document_stay_in_their_sentence() -> None:
    body = (
        '<w:p><w:r><w:t xml:space="preserve">Visita </w:t></w:r><w:proofErr/><w:hyperlink id="x">'
        "<w:r><w:rPr><w:u/></w:rPr><w:t>nuestra página</w:t></w:r></w:hyperlink><w:r><w:t> web"
        "</w:t></w:r><w:r><w:footnoteReference/></w:r><w:r><w:t>.</w:t><w:br/><w:t>Hoy</w:t></w:r>"
        "<w:r><w:instrText>no</w:instrText></w:r></w:p>"
    )
    start, end = '<w:document xmlns:w="http://w/wordprocessingml">', "</w:document>"
    content = archive(**{"word/document.xml": f"{start}{body}{end}"})
    first = Passage("Visita nuestra página web", ((7, 21),))
    assert read(content, ".docx").passages == (first, Passage("Hoy"))
    body = body.replace("<w:t>.</w:t><w:br/>", "<w:t>.</w:t></w:r><w:r><w:br/>")
    content = archive(**{"word/document.xml": f"{start}{body}{end}"})
    document = read(content, ".docx")
    kept = Passage("Visita nuestra página web<0/>.", ((7, 21),), ("<0/>",))
    assert document.passages == (kept, Passage("Hoy"))
    pieces: MarkedText = [("Our page", 0), (" to visit<0/>!", None)]
    written = members(document.write([pieces, [("Today", None)]]))["word/document.xml"].decode()
    assert re.sub(r"<w:rPr>.*?</w:rPr>|<w:r>|</w:r>|<w:proofErr/>| xml:space=.preserve.", "",
                  written.partition("<w:p>")[2]) == (
        '<w:hyperlink id="x"><w:t>Our page</w:t></w:hyperlink><w:t> to visit</w:t>'
        "<w:footnoteReference/><w:t>!</w:t><w:br/><w:t>Today</w:t>"
        f"<w:instrText>no</w:instrText></w:p>{end}"
    )  # fmt: skip


def test_slides_keep_their_looks() -> None:
    pptx = pytest.importorskip("pptx")
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[0])
    slide.shapes.title.text = "título"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    paragraph.add_run().text = "uno "
    bold = paragraph.add_run()
    bold.text, bold.font.bold = "dos", True
    slide.notes_slide.notes_text_frame.text = "una nota"
    written = translate_file(saved(show), "a.pptx", shout)
    again = pptx.Presentation(io.BytesIO(written)).slides[0]
    assert again.shapes.title.text == "TÍTULO"
    runs = again.placeholders[1].text_frame.paragraphs[0].runs
    assert [(run.text, run.font.bold) for run in runs] == [("UNO ", None), ("DOS", True)]
    assert again.notes_slide.notes_text_frame.text == "UNA NOTA"


def test_a_sheet_keeps_its_numbers_and_formulas() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["precio", 12.5, '=A1&"x"', "2024-01-01", "coche rojo"])
    written = translate_file(saved(book), "a.xlsx", shout)
    again = openpyxl.load_workbook(io.BytesIO(written)).active
    assert [cell.value for cell in again[1]] == [
        "PRECIO", 12.5, "=A1&\"x\"", "2024-01-01", "COCHE ROJO",
    ]  # fmt: skip


def test_an_opendocument_text_keeps_its_looks() -> None:
    body = (
        '<?xml version="1.0"?><office:document-content><office:styles><number:text>no'
        "</number:text></office:styles><text:p>uno <text:span a='b'>dos</text:span><text:tab/>"
        "tres</text:p>\n <text:h>cuatro<text:line-break/>cinco</text:h></office:document-content>"
    )
    content = archive(**{"mimetype": "no", "content.xml": body, "Pictures/a.txt": "no"})
    written = members(translate_file(content, "a.odt", shout))
    expected = body
    for word in ("uno", "dos", "tres", "cuatro", "cinco"):
        expected = expected.replace(word, word.upper())
    assert written == {"mimetype": b"no", "content.xml": expected.encode(), "Pictures/a.txt": b"no"}


def test_a_book_keeps_its_pages_and_order() -> None:
    page = '<?xml version="1.0"?><html xml:lang="es"><title/><p>uno<br/><b>dos</b></p></html>'
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": "<rootfiles>no</rootfiles>",
        "a.opf": "<dc:title>tres</dc:title><dc:language>es</dc:language><meta>no</meta>",
        "a.ncx": "<navLabel><text>cuatro</text></navLabel>",
        "a.xhtml": page,
    }
    written = members(translate_file(archive(**parts), "a.epub", shout, options=ES_EN))
    assert list(written) == list(parts)
    assert (
        written["a.opf"] == b"<dc:title>TRES</dc:title><dc:language>en</dc:language><meta>no</meta>"
    )
    assert written["a.ncx"] == b"<navLabel><text>CUATRO</text></navLabel>"
    assert written["a.xhtml"].decode() == page.replace("uno", "UNO").replace("dos", "DOS").replace(
        '"es"', '"en"'
    )


MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="application/vnd.oasis.opendocument.text"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    "</manifest:manifest>"
)
CONTENT = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2">'
    "<office:body><office:text><text:p>el <text:span>coche</text:span> rojo</text:p>"
    "</office:text></office:body></office:document-content>"
)


def sheet_file() -> bytes:
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(["el coche rojo"])
    return saved(book)


@pytest.mark.skipif(not shutil.which("soffice"), reason="needs LibreOffice")
@pytest.mark.parametrize(
    ("suffix", "content", "kind"),
    [
        (".docx", word_file, "txt:Text"),
        (".xlsx", sheet_file, "csv"),
        (
            ".odt",
            lambda: archive(
                **{
                    "mimetype": "application/vnd.oasis.opendocument.text",
                    "content.xml": CONTENT,
                    "META-INF/manifest.xml": MANIFEST,
                }
            ),
            "txt:Text",
        ),
    ],
)
def test_another_reader_opens_what_was_written(
    tmp_path: Path, suffix: str, content: Callable[[], bytes], kind: str
) -> None:
    file = tmp_path / f"a{suffix}"
    file.write_bytes(translate_file(content(), file.name, shout))
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{tmp_path}/profile",
               "--convert-to", kind, "--outdir", str(tmp_path), str(file)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    read_again = (tmp_path / f"a.{kind[:3]}").read_text(encoding="utf-8-sig")
    assert ("UNO DOS TRES" if suffix == ".docx" else "EL COCHE ROJO") in read_again


def bomb(size: int) -> bytes:
    return archive(**{"word/document.xml": "0" * size})


@pytest.mark.parametrize(
    ("content", "suffix", "message"),
    [
        (b"x", ".exe", r"expected a file that ends in .txt, .*, got '.exe'"),
        (b"x", "", "got ''"),
        (b"\xff\xfb\x00", ".txt", "expected UTF-8 text in the file, got other bytes at 0"),
        (b"1\nnonsense", ".srt", "expected subtitles, with times as 00:00:01,000 --> 00:00:02,000"),
        (b"a\0b", ".html", "got a zero byte"),
        (b"\x7fELF", ".docx", "expected a Word document, got BadZipFile"),
        (archive(a="b"), ".odt", "expected content.xml in the file, got none"),
        (archive(**{"word/document.xml": "<a>"}), ".docx", "got XMLSyntaxError"),
        (archive(**{"word/document.xml": "<!DOCTYPE a><a/>"}), ".docx", "without a document type"),
        (bomb(2**21), ".docx", "expected a file of at most 1 MiB unpacked in .* parts, got 2 MiB"),
    ],
)
def test_what_cannot_be_read_is_told_of(content: bytes, suffix: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(content, suffix, Options(max_bytes=2**20))


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert read(b"hola", ".txt").passages
    with pytest.raises(UserError, match="Word document, install the extra `files`: no lxml"):
        read(word_file(), ".docx")
