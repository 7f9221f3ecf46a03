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

from tests.documents.shouting import ES_EN, archive, shout
from transformer.documents.fill import translate_file
from transformer.documents.formats import read
from transformer.documents.passages import Passage
from transformer.text.markup import MarkedText

pytest.importorskip("lxml", reason="needs the extra `files`")


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
OPEN_DOCUMENT = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": CONTENT,
                 "META-INF/manifest.xml": MANIFEST}  # fmt: skip


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
        (".odt", lambda: archive(**OPEN_DOCUMENT), "txt:Text"),
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
