"""Files come out as they went in, but for their text."""

import io
import zipfile
from collections.abc import Callable

import pytest

from transformer.config import UserError
from transformer.documents.formats import Document, html, read
from transformer.documents.markup import split_at_marks

pytest.importorskip("docx", reason="needs the extra `serve`")
MOST = 2**20


def shouted(document: Document) -> bytes:
    marks = document.marks or ((),) * len(document.texts)
    return document.write(
        [
            [(piece.upper(), mark) for piece, mark in split_at_marks(text, own)]
            if own
            else text.upper()
            for text, own in zip(document.texts, marks, strict=True)
        ]
    )


def test_a_text_file_is_one_text() -> None:
    document = read("\ufeffHola.\n\nAdiós.\n".encode(), ".TXT", MOST)
    assert document.texts == ("Hola.\n\nAdiós.\n",)
    assert shouted(document).decode() == "HOLA.\n\nADIÓS.\n"


def test_subtitles_keep_times_tags_and_speakers() -> None:
    text = (
        "1\n00:00:01,000 --> 00:00:02,500\n<i>Mi hermana\nvive</i> aquí.\n\n"
        "7\n00:00:03,000 --> 00:00:04,000\n- ¿Sí?\n- {\\an8}No.\n\n"
    )
    document = read(text.encode(), ".srt", MOST)
    assert "Mi hermana vive" in document.texts
    assert shouted(document).decode() == (
        "1\n00:00:01,000 --> 00:00:02,500\n<i>MI HERMANA VIVE</i> AQUÍ.\n\n"
        "7\n00:00:03,000 --> 00:00:04,000\n- ¿SÍ?\n- {\\an8}NO.\n\n"
    )


def test_a_page_keeps_its_tags_scripts_and_comments() -> None:
    text = (
        "<!DOCTYPE html><html><head><title>uno</title><style>p > a {color: red}</style>"
        '<script>if (a < b && c) { alert("hola") }</script></head>'
        '<body class="x"><!-- nota --><p id="a">dos <b>tres</b> &amp; cuatro<br/>cinco</p>'
        '<code>x = 1</code><p translate="no">seis</p><p class="notranslate">siete <i>ocho</i></p>'
        "</body></html>"
    )
    document = html(text)
    assert document.texts == ("uno", "dos tres & cuatro", "cinco")
    assert document.marks == ((), ((4, 8),), ())
    expected = text
    for word in ("uno", "dos", "tres", "cuatro", "cinco"):
        expected = expected.replace(word, word.upper())
    assert shouted(document).decode() == expected


def test_marks_move_with_their_words() -> None:
    document = html('<p>el <a href="x"><b>coche</b></a> <i>rojo</i>, <u>a <s>b</s></u> fin</p>')
    assert document.texts == ("el coche rojo, ", "a ", "b", " fin")
    assert document.marks[0] == ((3, 8), (9, 13))
    filled = [("the ", None), ("red", 1), (" ", None), ("car", 0), (", ", None)]
    assert document.write([filled, "A ", "B", " end"]).decode() == (
        '<p>the <i>red</i> <a href="x"><b>car</b></a>, <u>A <s>B</s></u> end</p>'
    )


def test_a_translation_cannot_bring_tags_into_a_page() -> None:
    document = html("<p>hola</p>")
    assert document.write(["<script>x</script>"]) == b"<p>&lt;script&gt;x&lt;/script&gt;</p>"


def test_tags_without_end_are_read_in_time() -> None:
    assert html("<b>a " * 5000).texts[-1] == "a "


def word_file(fill: Callable[..., None]) -> bytes:
    import docx

    document = docx.Document()
    fill(document)
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def test_a_word_document_keeps_its_looks() -> None:
    import docx

    def fill(document: "docx.document.Document") -> None:
        document.add_heading("título")
        paragraph = document.add_paragraph("uno ")
        paragraph.add_run("dos").bold = True
        paragraph.add_run(" tr")
        paragraph.add_run("es")
        paragraph.add_run("\tcuatro")
        document.add_table(1, 2).cell(0, 1).text = "celda"
        document.sections[0].header.paragraphs[0].text = "arriba"

    document = read(word_file(fill), ".docx", MOST)
    assert document.texts == ("título", "uno dos tres", "celda", "arriba")
    assert document.marks == ((), ((4, 7),), (), ())
    again = docx.Document(io.BytesIO(shouted(document)))
    assert [p.text for p in again.paragraphs] == ["TÍTULO", "UNO DOS TRES\tcuatro"]
    assert [run.bold for run in again.paragraphs[1].runs if run.text == "DOS"] == [True]
    assert again.tables[0].cell(0, 1).text == "CELDA"
    assert again.sections[0].header.paragraphs[0].text == "ARRIBA"


def bomb() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * 2**21)
    return written.getvalue()


def test_looks_of_a_word_document_move_with_their_words() -> None:
    import docx

    def fill(document: "docx.document.Document") -> None:
        paragraph = document.add_paragraph("El coche ")
        paragraph.add_run("rojo").italic = True
        paragraph.add_run(" es caro.")

    document = read(word_file(fill), ".docx", MOST)
    written = document.write([[("The ", None), ("red", 0), (" car is dear.", None)]])
    runs = docx.Document(io.BytesIO(written)).paragraphs[0].runs
    assert [(run.text, run.italic) for run in runs] == [
        ("The ", None), ("red", True), (" car is dear.", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "suffix", "message"),
    [
        (b"x", ".pdf", "expected a file that ends in .txt, .srt, .html, .htm, .docx, got '.pdf'"),
        (b"x", "", "got ''"),
        (b"\xff\xfe\x00", ".txt", "expected UTF-8 text in the file, got other bytes at 0"),
        (b"a\0b", ".html", "got a zero byte"),
        (b"\x7fELF", ".docx", "expected a Word document, got BadZipFile"),
        (b"1\nnonsense", ".srt", "expected subtitles"),
        (bomb(), ".docx", "expected a Word document of at most"),
    ],
)
def test_what_cannot_be_read_is_told_of(content: bytes, suffix: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(content, suffix, 2**10)
