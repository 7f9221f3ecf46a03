"""Office files and books keep their looks, and other programs open what was written."""

import io
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.documents.shouting import ES_EN, archive, raised, shout
from transformer.documents.fill import translate_file
from transformer.documents.formats import read
from transformer.documents.passages import Passage
from transformer.text.markup import MarkedText

etree = pytest.importorskip("lxml.etree", reason="needs the extra `files`")


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
    item = document.add_paragraph("cinco ", style="List Bullet")
    item.add_run("seis").italic = True
    document.add_comment(item.runs[0], "una nota")
    document.add_table(1, 2).cell(0, 1).text = "celda & más"
    document.sections[0].header.paragraphs[0].text = "arriba \u202e"
    return saved(document)


def test_a_word_document_keeps_its_looks() -> None:
    content = word_file()
    document = read(content, ".docx")
    assert [(passage.text, passage.marks) for passage in document.passages] == [
        ("título", ()), ("uno dos tres", ((4, 7),)), ("cuatro", ()),
        ("cinco <0/>seis", ((10, 14),)), ("celda & más", ()), ("una nota", ()),
        ("arriba \u202e", ()),
    ]  # fmt: skip
    written = translate_file(content, "a.docx", shout)
    again = pytest.importorskip("docx").Document(io.BytesIO(written))
    assert [p.text for p in again.paragraphs] == ["TÍTULO", "UNO DOS TRES\tCUATRO", "CINCO SEIS"]
    assert [run.bold for run in again.paragraphs[1].runs if run.text == "DOS"] == [True]
    assert again.tables[0].cell(0, 1).text == "CELDA & MÁS"
    assert again.sections[0].header.paragraphs[0].text == "ARRIBA \u202e"
    untouched = {n: data for n, data in members(content).items() if not n.startswith("word/")}
    assert untouched.items() <= members(written).items()
    moved: MarkedText = [("the ", None), ("three", 0), (" two", None)]
    filled: list[MarkedText] = [[(passage.text, None)] for passage in document.passages]
    filled[1] = moved
    runs = pytest.importorskip("docx").Document(io.BytesIO(document.write(filled))).paragraphs[1]
    assert [(run.text, run.bold) for run in runs.runs][:3] == [
        ("the ", None), ("three", True), (" two", None),
    ]  # fmt: skip


def test_links_and_notes_of_a_word_document_stay_in_their_sentence() -> None:
    body = (
        '<w:p><w:r><w:t xml:space="preserve">Visita </w:t></w:r><w:commentRangeStart/>'
        '<w:hyperlink id="x">'
        "<w:r><w:rPr><w:u/></w:rPr><w:t>nuestra página</w:t></w:r></w:hyperlink><w:r><w:t> web"
        "</w:t></w:r><w:commentRangeEnd/><w:r><w:footnoteReference/></w:r><w:r><w:t>.</w:t><w:br/>"
        "<w:t>Hoy</w:t></w:r><w:r><w:instrText>no</w:instrText></w:r></w:p>"
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
    assert re.sub(r"<w:rPr>.*?</w:rPr>|<w:r>|</w:r>| xml:space=.preserve.", "",
                  written.partition("<w:p>")[2]) == (
        '<w:commentRangeStart/><w:hyperlink id="x"><w:t>Our page</w:t></w:hyperlink>'
        "<w:t> to visit</w:t><w:commentRangeEnd/><w:footnoteReference/><w:t>!</w:t><w:br/>"
        "<w:t>Today</w:t>"
        f"<w:instrText>no</w:instrText></w:p>{end}"
    )  # fmt: skip


def slide_file() -> bytes:
    show = pytest.importorskip("pptx").Presentation()
    slide = show.slides.add_slide(show.slide_layouts[0])
    slide.shapes.title.text = "título"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    paragraph.add_run().text = "uno "
    bold = paragraph.add_run()
    bold.text, bold.font.bold = "dos", True
    slide.notes_slide.notes_text_frame.text = "una nota"
    slide.shapes.add_table(2, 2, 0, 0, 900, 900).table.cell(0, 1).text = "celda"
    return saved(show)


def test_slides_keep_their_looks() -> None:
    pptx = pytest.importorskip("pptx")
    written = translate_file(slide_file(), "a.pptx", shout)
    again = pptx.Presentation(io.BytesIO(written)).slides[0]
    assert again.shapes.title.text == "TÍTULO"
    runs = again.placeholders[1].text_frame.paragraphs[0].runs
    assert [(run.text, run.font.bold) for run in runs] == [("UNO ", None), ("DOS", True)]
    assert again.notes_slide.notes_text_frame.text == "UNA NOTA"
    assert again.shapes[2].table.cell(0, 1).text == "CELDA"


def sheet_file(*rows: list[str]) -> bytes:
    """A workbook; with further rows, these are a table."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["precio", 12.5, "=B1*2", "coche <rojo>", "2024-01-01"], *rows):
        book.active.append(row)
    book.active["A1"].comment = openpyxl.comments.Comment("una nota", "Ana")
    if rows:
        table = openpyxl.worksheet.table.Table(displayName="Tabla", ref=f"A2:A{len(rows) + 1}")
        book.active.add_table(table)
    book.create_sheet("Otra").append(["precio", "hola"])
    return saved(book)


def test_a_sheet_keeps_its_numbers_formulas_and_heads() -> None:
    written = translate_file(sheet_file(["nombre"], ["casa"], ["nombre"]), "a.xlsx", shout)
    again = pytest.importorskip("openpyxl").load_workbook(io.BytesIO(written)).active
    first = ["PRECIO", 12.5, "=B1*2", "COCHE <ROJO>", "2024-01-01"]
    assert [cell.value for cell in again[1]] == first
    assert [again[f"A{row}"].value for row in (2, 3, 4)] == ["nombre", "CASA", "nombre"]
    assert again["A1"].comment.text == "UNA NOTA"


ODT_PARTS = {
    "mimetype": "no",
    "content.xml": "<office:styles><number:text>no</number:text></office:styles><text:p>uno "
    "<text:span a='b'>dos</text:span><text:tab/>tres</text:p>\n <text:h>cuatro<text:line-break/>"
    "cinco</text:h>",
    "Pictures/a.txt": "uno",
}  # fmt: skip
EPUB_PARTS = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": "<rootfiles>no</rootfiles>",
    "a.opf": "<dc:title>tres</dc:title><dc:language>es</dc:language><meta>no</meta>",
    "a.ncx": "<navLabel><text>cuatro</text></navLabel>",
    "a.xhtml": '<html xml:lang="es"><title/><p>uno<br/><b>dos</b></p></html>',
}


@pytest.mark.parametrize(("suffix", "parts"), [(".odt", ODT_PARTS), (".epub", EPUB_PARTS)])
def test_an_archive_keeps_its_members_and_all_but_their_words(
    suffix: str, parts: dict[str, str]
) -> None:
    written = members(translate_file(archive(**parts), f"a{suffix}", shout, options=ES_EN))
    expected = {name: re.sub(r"\bes\b", "en", text) for name, text in parts.items()}
    for name in expected.keys() - {"Pictures/a.txt"}:
        expected[name] = raised(expected[name], "uno dos tres cuatro cinco")
    assert [*written.items()] == [(name, text.encode()) for name, text in expected.items()]


PAGE = """<!DOCTYPE html><html lang="es"><meta charset="utf-8"><title>título</title>
<h1>uno</h1><p>dos <b>tres</b> y <i><a href="http://a.b/c">cuatro</a></i> &amp; <u>cinco</u>.<br>
seis<ul><li>siete <ul><li>ocho</ul><li>nueve</ul><table border><tr><td>diez<td>once</table>"""


def pages(book: bytes) -> list[bytes]:
    return [page for name, page in members(book).items() if re.search("section.*xhtml", name)]


def seen(flat: bytes, change: Callable[[str], str]) -> list[list[str]]:
    """The paragraphs, spans, links and lists of an OpenDocument file with their texts, in order."""
    (body,) = etree.fromstring(flat).iterfind("{*}body")
    return [
        [str(element.tag), *element.attrib.values(), *map(change, filter(None, texts))]
        for element in body.iter("{urn:oasis:names:tc:opendocument:xmlns:text:1.0}*")
        for texts in [(element.text, element.tail)]
    ]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("soffice"), reason="needs LibreOffice")
@pytest.mark.parametrize(
    ("suffix", "content", "made_as", "kind"),
    [
        (".html", lambda: PAGE.encode(), "", "fodt:OpenDocument Text Flat XML"),
        (".docx", word_file, "", "fodt"),
        (".html", lambda: PAGE.encode(), "docx:MS Word 2007 XML", "fodt"),
        (".docx", word_file, "odt", "fodt"),
        (".docx", word_file, "epub", "fodt:OpenDocument Text Flat XML"),
        (".pptx", slide_file, "", "fodp"),
        (".xlsx", sheet_file, "", "fods"),
    ],
)  # fmt: skip
def test_libreoffice_sees_the_same_file_with_other_words(
    tmp_path: Path, suffix: str, content: Callable[[], bytes], made_as: str, kind: str
) -> None:
    def converted(suffix: str, kind: str, *contents: bytes) -> list[bytes]:
        files = [tmp_path / f"{number}{suffix}" for number in range(len(contents))]
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)
        home = f"-env:UserInstallation=file://{tmp_path}/profile"
        asked = ["--convert-to", kind, "--outdir", f"{tmp_path}/out", *map(str, files)]
        subprocess.run(
            ["soffice", "--headless", home, *asked], check=True, capture_output=True, timeout=300
        )
        names = [f"{file.stem}.{kind.partition(':')[0]}" for file in files]
        return [(tmp_path / "out" / name).read_bytes() for name in names]

    before = content()
    if made_as:
        (before,) = converted(suffix, made_as, before)
        suffix = f".{made_as.partition(':')[0]}"
    files = [before, translate_file(before, f"a{suffix}", shout)]
    if suffix == ".epub":
        (first,), (second,) = map(pages, files)
        files, suffix = [first, second], ".html"
    before, after = converted(suffix, kind, *files)
    expected = seen(before, lambda text: text if text == "<number>" else text.upper())
    assert expected == seen(after, str)
    assert expected != seen(before, str)
