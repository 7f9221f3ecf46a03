"""Subtitles of SubStation and MicroDVD, and what speakers, dots and captions are to them all."""

from collections.abc import Sequence

import pytest

from tests.documents.shouting import raised, shouted
from transformer.config import UserError
from transformer.documents.formats import read
from transformer.documents.translate import translate_file

pysubs2 = pytest.importorskip("pysubs2", reason="needs the extra `files`")

HEAD = """[Script Info]
; hecho a mano
Title: La casa
ScriptType: v4.00+

[Aegisub Extradata]
Data: 0,a,b

[V4+ Styles]
Format: Name, Fontname, Fontsize
Style: Default,Arial,20,&H00FFFFFF,&H0000FFFF,&H0,&H0,-1,0,0,0,100,100,0,0,1,2,2,2,10,10,10,1
Style: Rótulo,Arial,28,&H00FFFFFF,&H0000FFFF,&H0,&H0,-1,0,0,0,100,100,0,0,1,2,2,8,10,10,10,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""
EVENTS = (
    r"Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,nota del autor",
    r"Dialogue: 0,0:00:01.00,0:00:03.00,Default,Ann,0,0,0,,Buenos días, amigo.\N¿Cómo estás?",
    r"Dialogue: 0,0:00:03.00,0:00:04.00,Default,Ann,0,0,0,,{\an8\i1}Cuando llegó a casa,  ",
    r"Dialogue: 0,0:00:04.00,0:00:05.00,Default,Ann,0,0,0,,ella ya {\b1}no{\b0} estaba",
    r"Dialogue: 0,0:00:04.50,0:00:05.00,Rótulo,,0,0,0,,{\pos(10,20)}el puerto",
    r"Dialogue: 0,0:00:05.00,0:00:06.00,Rótulo,,0,0,0,,{\p1}m 0 0 l 10 0 10 10{\p0}",
    r"Dialogue: 0,0:00:06.00,0:00:07.00,Default,,0,0,0,,{\k20}La {\k30}luna",
    r"Dialogue: 0,0:00:06.00,0:00:07.00,Default,,0,0,0,fx,sol",
    r"Dialogue: 0,0:00:07.00,0:00:08.00,Default,,0,0,0,,- ¿Sí?\N- No,\hgracias.\N",
)
ASS = HEAD + "\n".join(EVENTS) + "\n"
ASS_RAISED = (
    HEAD
    + raised(
        "\n".join(EVENTS),
        "Buenos días amigo Cómo estás Cuando llegó a casa ella ya no estaba el puerto Sí No",
    )
    .replace("hgracias", "hGRACIAS")
    .replace("DEL", "del")
    + "\n"
)
SUB = "{1}{1}25.000\r\n{25}{50}Hola, amigo.|¿Qué tal?\r\n{60}{90}{y:i}- Bien.|- {c:$0000ff}Sí.\r\n"


def test_a_substation_file_keeps_all_but_what_is_said() -> None:
    written = shouted(ASS, ".ass")
    assert written == ASS_RAISED
    assert translate_file(ASS.encode(), "a.ass", list) == ASS.encode()
    assert shouted(ASS.replace("\n", "\r\n"), ".ass") == written.replace("\n", "\r\n")
    events = pysubs2.SSAFile.from_string(written), pysubs2.SSAFile.from_string(ASS)
    assert [(e.start, e.end, e.style) for e in events[0]] == [
        (e.start, e.end, e.style) for e in events[1]
    ]
    asked = [passage.text for passage in read(ASS, ".ass").passages]
    assert asked == [
        "Buenos días, amigo. ¿Cómo estás?", "Cuando llegó a casa, ella ya no estaba",
        "el puerto", "- ¿Sí?", "- No,<0/>gracias.",
    ]  # fmt: skip


def test_older_kinds_of_subtitles_are_read() -> None:
    ssa = "[Events]\nDialogue: Marked=0,0:00:01.00,0:00:02.00,a,,0,0,0,,Hola, {\\i1}tú{\\i0}.\n"
    assert shouted(ssa, ".ssa") == raised(ssa, "Hola tú")
    assert shouted(SUB, ".sub") == raised(SUB, "Hola amigo Qué tal Bien Sí")
    assert len(pysubs2.SSAFile.from_string(shouted(SUB, ".sub"), format_="microdvd")) == 2


def test_doubled_carriage_returns_are_ends_of_lines() -> None:
    cue = "1\r\r\n00:00:01,000 --> 00:00:02,000\r\r\nuno\r\r\ndos\r\r\n\r\r\n"
    assert shouted(cue, ".srt") == raised(cue, "uno dos")


@pytest.mark.parametrize(
    ("cue", "asked"),
    [
        (">> REPORTER: Good morning.", ["Good morning."]),
        (">>I know.", ["I know."]),
        (">> JOHN: I know.\n>> Yes.", ["I know.", "Yes."]),
        ("...that he left.", ["that he left."]),
        ("… and came.", ["and came."]),
        ("[DOOR OPENS]", ["DOOR OPENS"]),
        ("<i>(sighs)</i>", ["sighs"]),
        ("[sighs] I know.", ["sighs", "I know."]),
        ("(both)\nYes (no).", ["both", "Yes (no)."]),
        ("[sighs]\n\n00:02.000 --> 00:03.000\nand I know", ["sighs", "and I know"]),
        ("a man\n\n00:02.000 --> 00:03.000\n>> who knows", ["a man", "who knows"]),
        ("a man\n\n00:02.000 --> 00:03.000\n...who knows", ["a man who knows"]),
    ],
)
def test_marks_of_speakers_dots_and_brackets_stay(cue: str, asked: list[str]) -> None:
    content = f"1\n00:01.000 --> 00:02.000\n{cue}\n"
    assert [passage.text for passage in read(content, ".srt").passages] == asked
    assert shouted(content, ".srt").lower() == content.lower()
    page = f"WEBVTT\n\n{content.replace('>> ', '&gt;&gt; ')}"
    assert [passage.text for passage in read(page, ".vtt").passages] == asked


def test_what_goes_on_after_dots_goes_on_in_small_letters() -> None:
    def said(texts: Sequence[str]) -> list[str]:
        return ["That he left."] * len(texts)

    content = b"1\n00:01.000 --> 00:02.000\n...que se fue.\n"
    assert translate_file(content, "a.srt", said).endswith(b"\n...that he left.\n")


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        (".ass", "hola", "expected subtitles, with lines as Dialogue: 0,0:00:01.00"),
        (".ass", "Dialogue: 0,uno,dos,,,,,,,tres", "expected a SubStation file, got ValueError"),
        (".sub", "hola", "expected subtitles of MicroDVD, with lines as"),
        (".sub", "\0\0\1\xba", "got a zero byte"),  # pictures of a DVD
    ],
)
def test_what_is_no_subtitle_is_refused(suffix: str, content: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(content.encode(), suffix)
