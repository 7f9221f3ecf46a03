"""Texts that are not in UTF-8, and locale files that are named by their language."""

import pytest

from tests.documents.shouting import ES_EN, shout
from transformer.config import UserError
from transformer.documents.formats import encoding_notes
from transformer.documents.passages import Options
from transformer.documents.translate import translate_file

SRT = "1\r\n00:00:01,000 --> 00:00:02,000\r\n¿está aquí?\r\n"
TEXTS = {
    ".txt": "¿está aquí?\r\n", ".srt": SRT, ".vtt": f"WEBVTT\n\n{SRT}", ".csv": "a,¿está aquí?\n",
    ".md": "# ¿está *aquí*?\n", ".json": '{"a": "¿está aquí?"}', ".yaml": "a: ¿está aquí?\n",
}  # fmt: skip


@pytest.mark.parametrize("suffix", TEXTS)
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_windows_1252_is_read_and_utf_8_written(suffix: str, encoding: str) -> None:
    expected = translate_file(TEXTS[suffix].encode(), f"a{suffix}", shout, options=ES_EN)
    assert "ESTÁ" in expected.decode()
    content = TEXTS[suffix].encode(encoding)
    assert translate_file(content, f"a{suffix}", shout, options=ES_EN) == expected
    assert encoding_notes(TEXTS[suffix].encode(), suffix, Options()) == []
    (note,) = encoding_notes(content, suffix, Options())
    assert note == "no UTF-8: read as Windows-1252 (Latin-1), written in UTF-8"


def test_a_page_without_a_charset_stays_in_windows_1252() -> None:
    content = "<p>¿está aquí?</p>".encode("cp1252")
    written = translate_file(content, "a.html", lambda texts: ["“sí” ő"], options=ES_EN)
    assert written == "<p>“sí” &#337;</p>".encode("cp1252")
    assert encoding_notes(content, ".html", Options()) == [
        "no UTF-8: read as Windows-1252 (Latin-1), written in that"
    ]


def test_an_encoding_that_is_named_is_used() -> None:
    content, named = "mañana no está".encode("cp850"), Options(encoding="cp850")
    assert translate_file(content, "a.txt", shout, options=named) == "MAÑANA NO ESTÁ".encode()
    assert encoding_notes(content, ".txt", named) == []
    with pytest.raises(UserError, match="expected UTF-8 text in the file, got other bytes at 2"):
        translate_file(content, "a.txt", shout)
    with_mark = b"\xef\xbb\xbf" + "mañana".encode()  # a file that says it decides
    assert translate_file(with_mark, "a.txt", shout, options=named).decode() == "\ufeffMAÑANA"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("# es\nes:\n  es: uno\n", "# es\nen:\n  es: UNO\n"),
        ('"es-MX": {a: uno}', '"en": {a: UNO}'),
        ("es:\n  a: uno\nen:\n  a: dos\n", "es:\n  a: UNO\nen:\n  a: DOS\n"),
        ("es: uno\n", "es: UNO\n"),
        ("fr:\n  a: uno\n", "fr:\n  a: UNO\n"),
        ("a:\n  es:\n    b: uno\n", "a:\n  es:\n    b: UNO\n"),
    ],
)
def test_the_language_that_a_locale_file_begins_with_is_the_other_one(
    content: str, expected: str
) -> None:
    pytest.importorskip("yaml", reason="needs the extra `files`")
    assert translate_file(content.encode(), "es.yml", shout, options=ES_EN).decode() == expected


def test_symbols_of_ruby_are_read_and_stay() -> None:
    pytest.importorskip("yaml", reason="needs the extra `files`")
    content = "es:\n  order: [ :day, :month ]\n  a: [:day]\n  b: uno, :c dos\n  c: 'd: :e'\n"
    written = translate_file(
        content.encode(), "es.yml", lambda texts: [*texts], options=ES_EN
    ).decode()
    assert written == content.replace("es:", "en:", 1)
    written = translate_file(content.encode(), "es.yml", shout, options=ES_EN).decode()
    assert 'order: [ :day, :month ]\n  a: [:day]\n  b: "UNO, :C DOS"\n' in written
