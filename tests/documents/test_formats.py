"""Files come out as they went in, but for their text."""

import asyncio
import time
from collections.abc import Sequence

import pytest

from tests.documents.shouting import archive, shout, shouted
from transformer.config import UserError
from transformer.documents.fill import Said, fill, translate_file
from transformer.documents.formats import read
from transformer.documents.passages import KEPT, Options, Passage
from transformer.text.markup import MarkedText

pytest.importorskip("lxml", reason="needs the extra `files`")


def shouted_alone(content: str | bytes, suffix: str) -> str:
    """The file with its texts in capitals; unchanged texts leave every byte of it."""
    content = content.encode() if isinstance(content, str) else content
    assert translate_file(content, f"a{suffix}", list, options=Options()) == content
    return shouted(content, suffix)


def texts(content: str | bytes, suffix: str) -> list[str]:
    content = content.encode() if isinstance(content, str) else content
    return [passage.text for passage in read(content, suffix).passages]


def test_a_text_file_is_translated_by_lines() -> None:
    assert texts("\ufeffHola.\n\nAdiós.\n", ".TXT") == ["Hola.\n", "Adiós.\n"]
    assert shouted_alone("Hola.\r\n\r\nAdiós.\n", ".txt") == "HOLA.\r\n\r\nADIÓS.\n"


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
    assert shouted_alone(page, ".html") == expected


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
    assert shouted_alone(SUBTITLES, ".srt") == marked
    windows = SUBTITLES.replace("\n", "\r\n")
    assert shouted_alone(windows, ".srt") == marked.replace("\n", "\r\n")


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
    assert shouted_alone(text, ".vtt") == expected


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


def word_file(xml: str) -> bytes:
    return archive(**{"word/document.xml": xml})


def test_a_run_of_many_texts_takes_no_more_than_its_length() -> None:
    started = time.process_time()
    content = word_file(f"<p><r>{'<t>a</t>' * 20_000}</r></p>")
    written = read(translate_file(content, "a.docx", shout), ".docx")
    assert [passage.text for passage in written.passages] == ["A" * 20_000]
    assert time.process_time() - started < 2


def test_a_book_that_names_its_language_again_and_again_takes_no_more_than_its_length() -> None:
    started = time.process_time()
    book = archive(**{"META-INF/container.xml": "", "a.opf": "<dc:language " * 30_000})
    read(book, ".epub", Options("es", "en"))
    assert time.process_time() - started < 2


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
        (word_file("<a>"), ".docx", "got XMLSyntaxError"),
        (word_file("<!DOCTYPE a><a/>"), ".docx", "without a document type"),
        (
            word_file("0" * 2**21),
            ".docx",
            "expected a file of at most 1 MiB unpacked in .* parts, got 2 MiB",
        ),
    ],
)
def test_what_cannot_be_read_is_told_of(content: bytes, suffix: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(content, suffix, Options(max_bytes=2**20))


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert read(b"hola", ".txt").passages
    with pytest.raises(UserError, match="Word document, install the extra `files`: no lxml"):
        read(b"", ".docx")
