"""Office files and books keep their looks, and other programs open what was written."""

import io
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.documents.shouting import ES_EN, archive, pdf, raised, shout
from transformer.documents.formats import FORMATS, read
from transformer.documents.passages import Passage
from transformer.documents.translate import translate_file
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
    "a.opf": "<dc:title>tres</dc:title><dc:language>es</dc:language><dc:language>es-MX"
    '</dc:language><meta>no</meta><reference title="cinco"/>',
    "a.ncx": "<navLabel><text>cuatro</text></navLabel><docAuthor><text>no</text></docAuthor>",
    "a.xhtml": '<html xml:lang="es"><title/><p>uno<br/><b>dos</b></p></html>',
}


@pytest.mark.parametrize(("suffix", "parts"), [(".odt", ODT_PARTS), (".epub", EPUB_PARTS)])
def test_an_archive_keeps_its_members_and_all_but_their_words(
    suffix: str, parts: dict[str, str]
) -> None:
    written = members(translate_file(archive(**parts), f"a{suffix}", shout, options=ES_EN))
    expected = {name: re.sub(r"\bes(-MX)?\b", "en", text) for name, text in parts.items()}
    for name in expected.keys() - {"Pictures/a.txt"}:
        expected[name] = raised(expected[name], "uno dos tres cuatro cinco")
    assert [*written.items()] == [(name, text.encode()) for name, text in expected.items()]


P = "<p><r><t>uno</t></r></p>"


@pytest.mark.parametrize(
    ("suffix", "member", "xml"),
    [
        ("docx", "word/document.xml", f'<docPr name="no" descr="dos" title="tres"/><box>{P}</box>'),
        ("docx", "word/document.xml", f'<p><hyperlink tooltip="dos">{P[3:-4]}</hyperlink></p>'),
        ("docx", "word/document.xml", '<shape alt="uno"/><sdt><alias val="no"/></sdt>'),
        ("docx", "word/charts/chart1.xml", f"<strCache><pt><v>dos</v></pt></strCache><v>no</v>{P}"),
        ("docx", "word/diagrams/data2.xml", P),
        ("docx", "word/footnotes.xml", f"<footnote>{P}</footnote><v/>"),
        ("pptx", "ppt/charts/chart1.xml", f"<lvl><pt><v>dos</v></pt></lvl><f>no!A1</f>{P}"),
        ("pptx", "ppt/comments/comment1.xml", "<cm><pos/><text>uno</text></cm>"),
        ("pptx", "ppt/comments/modernComment_1_0.xml", f"<reply><txBody>{P}</txBody></reply>"),
        ("pptx", "ppt/slides/slide1.xml", '<cNvPr descr="uno"/><hlinkClick tooltip="dos"/>'),
        ("xlsx", "xl/worksheets/sheet1.xml", '<c><f>no("no")</f><v>no</v></c><dataValidation '
         'promptTitle="uno" prompt="dos" errorTitle="tres" error="cuatro"><formula1>"no"</formula1>'
         '</dataValidation><hyperlink location="no" tooltip="cinco"/>'),
        ("xlsx", "xl/worksheets/sheet1.xml", "<oddFooter>&amp;L&amp;&quot;no,no&quot;&amp;12 uno"
         " &amp;P dos&amp;R&amp;B tres &amp;&amp;</oddFooter>"),
        ("xlsx", "xl/threadedComments/threadedComment1.xml", "<text>uno</text>"),
        ("xlsx", "xl/drawings/drawing1.xml", f'<cNvPr descr="dos"/>{P}'),
        ("xlsx", "xl/workbook.xml", '<sheet name="no"/><definedName name="no">no</definedName>'),
        ("odt", "content.xml", "<a><text:tracked-changes><text:p>no</text:p></text:tracked-changes>"
         "<text:p>uno <office:annotation><dc:creator>no</dc:creator><text:p>dos</text:p>"
         "</office:annotation>tres<draw:frame draw:name='no'><svg:desc>cuatro</svg:desc>"
         "</draw:frame></text:p><text:title>no</text:title></a>"),
    ],
)  # fmt: skip
def test_what_is_read_beside_the_text_is_translated(suffix: str, member: str, xml: str) -> None:
    parts = dict.fromkeys(("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml"), "<a/>")
    content = archive(**{**parts, "content.xml": "<a/>", member: f"<d>{xml}</d>"})
    (written,) = re.findall(
        "<d>.*", members(translate_file(content, f"a.{suffix}", shout))[member].decode()
    )
    assert unescape(written) == unescape(raised(f"<d>{xml}</d>", "uno dos tres cuatro cinco"))


def test_changes_of_a_word_document_stay_changes() -> None:
    runs = "<w:r><w:t>el</w:t></w:r>{}<w:r><w:t> coche rojo</w:t></w:r>"
    changes = (
        '<w:ins w:id="1"><w:r><w:t> viejo</w:t></w:r></w:ins><w:moveFromRangeStart w:id="3"/>'
        '<w:del w:id="2"><w:r><w:delText>x</w:delText></w:r></w:del><w:moveFromRangeEnd w:id="3"/>'
    )
    xml = f'<w:p xmlns:w="http://w">{runs.format(changes)}</w:p>'
    document = read(archive(**{"word/document.xml": xml}), ".docx")
    assert document.passages == (Passage("el viejo<0/> coche rojo", ((3, 8),), ("<0/>",)),)
    filled: MarkedText = [("the ", None), ("old", 0), ("<0/> red car", None)]
    written = members(document.write([filled]))["word/document.xml"].decode().partition("\n")[2]
    assert written.replace(' xml:space="preserve"', "") == (
        '<w:p xmlns:w="http://w"><w:moveFromRangeStart w:id="3"/><w:r><w:t>the </w:t></w:r>'
        '<w:ins w:id="1"><w:r><w:t>old</w:t></w:r></w:ins><w:del w:id="2"><w:r><w:delText>x'
        "</w:delText></w:r></w:del><w:r><w:t> red car</w:t></w:r>"
        '<w:moveFromRangeEnd w:id="3"/></w:p>'
    )


BOX = f"<r><AlternateContent>{P.replace('uno', 'seis')}</AlternateContent></r>"
TEXT = "<r><t>uno </t></r>{}<r><t> dos</t></r>"


@pytest.mark.parametrize(
    ("member", "xml", "passages"),
    [
        ("word/document.xml", TEXT.format(BOX), [("uno <0/> dos", ()), ("seis", ())]),
        ("word/document.xml", TEXT.format("<oMath><r><t>x</t></r></oMath>"),
         [("uno <0/> dos", ())]),
        ("word/document.xml", TEXT.format("<sdt><sdtPr/><sdtContent><r><t>tres</t></r></sdtContent>"
         "</sdt>"), [("uno tres dos", ((4, 8),))]),
        ("word/document.xml", TEXT.format("<sdt/>"), [("uno", ()), ("dos", ())]),
        ("word/document.xml", TEXT.format('<r><rPr><vertAlign val="x"/></rPr><t>2</t></r>'),
         [("uno <0/> dos", ())]),
        ("xl/worksheets/sheet1.xml", "<oddHeader>&amp;C&amp;B página &amp;P de &amp;N&amp;R uno"
         "</oddHeader>", [("<0/> página <1/> de <2/>", ()), ("uno", ())]),
        ("xl/sharedStrings.xml", TEXT.format("<r><rPr><b/></rPr><t>tres</t></r>")
         .replace("<t> dos", "<rPr><sz/></rPr><t> dos"), [("uno tres dos", ((4, 8),))]),
    ],
)  # fmt: skip
def test_what_stands_in_a_sentence_does_not_cut_it(
    member: str, xml: str, passages: list[tuple[str, tuple[tuple[int, int], ...]]]
) -> None:
    name = "si" if "shared" in member else "p"
    wrapped = xml if "Header" in xml else f"<{name}>{xml}</{name}>"
    parts = dict.fromkeys(("word/document.xml", "xl/workbook.xml"), "<a/>")
    content = archive(**{**parts, member: f"<d>{wrapped}</d>"})
    suffix = ".docx" if "word" in member else ".xlsx"
    assert [(p.text, p.marks) for p in read(content, suffix).passages] == passages
    written = members(translate_file(content, f"a{suffix}", shout))[member].decode()
    if "<sz/>" in wrapped:
        wrapped = wrapped.replace("<t>uno", "<rPr><sz/></rPr><t>uno")
    expected = raised(f"<d>{wrapped}</d>", "uno dos tres página de seis")
    assert written.partition("\n")[2].replace(' xml:space="preserve"', "") == expected


def test_a_note_of_an_open_document_goes_with_its_place() -> None:
    note = "<text:note><text:note-citation>1</text:note-citation><text:p>{}</text:p></text:note>"
    xml = "<text:p>la casa{} roja</text:p>"
    content = archive(**{"content.xml": xml.format(note.format("de Ana"))})
    document = read(content, ".odt")
    assert document.passages == (
        Passage("de Ana"),
        Passage("la casa<0/> roja", placeholders=("<0/>",)),
    )
    filled: list[MarkedText] = [[("by Ann", None)], [("the red house<0/>", None)]]
    written = members(document.write(filled))["content.xml"].decode()
    assert written == f"<text:p>the red house{note.format('by Ann')}</text:p>"


def test_complex_fields_of_a_word_document_stay_in_their_sentence() -> None:
    def field(code: str, text: str) -> str:
        mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
        inside = f"<w:r><w:instrText>{code}</w:instrText></w:r>{mark.format('separate')}{text}"
        return mark.format("begin") + inside + mark.format("end")

    def run(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    page, link = field("PAGEREF a", run("7")), field('HYPERLINK "http://a.b"', "{}")
    xml = '<w:p xmlns:w="http://w">{}{}{}{}{}</w:p>'
    spanish = run("mira la"), link.format(run("guía")), run(", página "), page, run(" hoy")
    document = read(archive(**{"word/document.xml": xml.format(*spanish)}), ".docx")
    text = "mira laguía, página <0/> hoy"
    assert document.passages == (Passage(text, ((7, 11),), ("<0/>",)),)
    filled: MarkedText = [("on page <0/> of the ", None), ("guide", 0), (" today", None)]
    written = members(document.write([filled]))["word/document.xml"].decode().partition("\n")[2]
    english = run("on page "), page, run(" of the "), link.format(run("guide")), run(" today")
    assert written.replace(' xml:space="preserve"', "") == xml.format(*english)

    torn = xml.format(run("uno "), *field("TOC", run("dos")).partition("</w:r>")[:2], "", "")
    assert read(archive(**{"word/document.xml": torn}), ".docx").passages == (Passage("uno"),)


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


def test_a_pdf_comes_out_as_paragraphs_of_text() -> None:
    content = pdf("El coche ro-\njo es\nmuy caro.\nLa casa no.")
    assert translate_file(content, "a.pdf", shout) == b"EL COCHE ROJO ES MUY CARO.\nLA CASA NO.\n\n"
    assert (FORMATS[".pdf"].output_suffix, FORMATS[".pdf"].media_type[:10]) == (
        ".txt",
        "text/plain",
    )
