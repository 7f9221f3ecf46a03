"""Files come out as they went in, but for their text."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.documents.shouting import shouted
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


def test_what_does_not_come_out_once_is_translated_around() -> None:
    def careless(texts: Sequence[str]) -> list[str]:
        return [KEPT.sub("", text).upper() for text in texts]

    page = b"uno <code>x</code> dos <img> <b>tres</b>"
    assert translate_file(page, "a.html", careless) == b"UNO <code>x</code> DOS <img> <b>TRES</b>"
