"""Words stay between the codes of XLIFF and TMX that begin and end a format."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from tests.documents.shouting import ES_EN, shouted
from transformer.documents.translate import TranslatedSegment, translate_file


@dataclass(frozen=True)
class _Word:
    text: str


@dataclass
class _Aligned:
    """Words said from the last to the first, each looking at the one that it translates."""

    source: str
    target: str
    source_words: list[_Word] = field(init=False)
    target_words: list[_Word] = field(init=False)

    def __post_init__(self) -> None:
        self.source_words = [_Word(word) for word in self.source.split()]
        self.target_words = [_Word(word) for word in self.target.split()]

    def alignment(self) -> list[list[float]]:
        last = len(self.source_words) - 1
        return [
            [float(place == last - row) for place in range(last + 1)]
            for row in range(len(self.target_words))
        ]


def turned(texts: Sequence[str]) -> list[str]:
    """Capitals, the last word first; no word is dropped, and spaces around stay."""
    return [
        re.sub(r"\S.*\S|\S", lambda said: " ".join(said[0].upper().split()[::-1]), text)
        for text in texts
    ]


def inspected(text: str) -> list[TranslatedSegment]:
    """Sentence by sentence, with what is between."""
    pieces = re.split(r"((?<=\.) )", text)
    return [
        TranslatedSegment(piece, said, cast(Any, _Aligned(piece, said)) if piece.strip() else None)
        for piece, said in zip(pieces, turned(pieces), strict=True)
    ]


def blindly(text: str) -> list[TranslatedSegment]:
    """The same where no alignment tells where a word went."""
    return [replace(part, aligned=None) for part in inspected(text)]


def tmx(text: str) -> tuple[bytes, str]:
    variant = f'<tuv xml:lang="es"><seg>{text}</seg></tuv>'
    return f"<tmx><body><tu>{variant}</tu></body></tmx>".encode(), ".tmx"


def xliff(text: str) -> tuple[bytes, str]:
    return f"<xliff><file><unit><source>{text}</source></unit></file></xliff>".encode(), ".xlf"


Inspect = Callable[[str], Sequence[TranslatedSegment]] | None
A, Z = '<bpt i="1" x="1">&lt;b rid="7"></bpt>', '<ept i="1">&lt;/b></ept>'
B, Y = '<bpt i="2">&lt;i></bpt>', '<ept i="2">&lt;/i></ept>'


def filled(file: tuple[bytes, str], inspect: Inspect = None) -> str:
    """What stands in the segment that was added."""
    content, suffix = file
    written = translate_file(content, f"a{suffix}", turned, inspect, ES_EN).decode()
    found = re.findall(r"<(?:seg|target)>(.*?)</(?:seg|target)>", written)
    return str(found[-1])


@pytest.mark.parametrize(
    ("text", "apart", "together"),
    [
        (f"el {A}gato negro{Z} va ya", f"EL {A}NEGRO GATO{Z} YA VA", f"YA VA {A}NEGRO GATO{Z} EL"),
        (
            f"{A}uno{Z} y {B}otro{Y} van",
            f"{A}UNO{Z} Y {B}OTRO{Y} VAN",
            f"VAN {B}OTRO{Y} Y {A}UNO{Z}",
        ),
        (
            f"el {A}{B}gato feo{Y}{Z} ve",
            f"EL {A}{B}FEO GATO{Y}{Z} VE",
            f"VE {A}{B}FEO GATO{Y}{Z} EL",
        ),
        (f"{A}gato feo{Z}", f"{A}FEO GATO{Z}", f"{A}FEO GATO{Z}"),
        (f"el {A}gato {B}muy feo{Y}{Z} ve", f"EL {A}GATO {B}FEO MUY{Y}{Z} VE", None),
        (f"uno {A}dos {B}tres{Z} seis{Y} diez", f"UNO {A}DOS {B}TRES{Z} SEIS{Y} DIEZ", None),
        (f"uno {A}{Z} dos", f"DOS {A}{Z} UNO", f"DOS {A}{Z} UNO"),
        (f"uno {A} dos", f"DOS {A} UNO", f"DOS {A} UNO"),
    ],
)
def test_words_stay_between_the_codes_around_them(
    text: str, apart: str, together: str | None
) -> None:
    assert filled(tmx(text)) == apart
    assert filled(tmx(text), blindly) == apart
    if together:
        assert filled(tmx(text), inspected) == together


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ('<bpt id="1">[</bpt>', '<ept id="1">]</ept>'),
        ('<bpt id="1" rid="3">[</bpt>', '<ept id="2" rid="3">]</ept>'),
        ('<bx id="1" equiv-text="&lt;b>"/>', '<ex id="1"/>'),
        ('<sc id="1"/>', '<ec startRef="1"/>'),
        ("<bpt>[</bpt>", "<ept>]</ept>"),
    ],
)
def test_every_kind_of_code_is_read(begin: str, end: str) -> None:
    text = f"el {begin}gato negro{end} duerme"
    assert filled(xliff(text)) == f"EL {begin}NEGRO GATO{end} DUERME"
    assert filled(xliff(text), inspected) == f"DUERME {begin}NEGRO GATO{end} EL"


def test_codes_around_two_sentences_come_out_once() -> None:
    text = f"el {A}gato ve. la casa{Z} es"
    assert filled(tmx(text), inspected) == f"{A}VE. GATO EL ES CASA LA{Z}"


def test_codes_without_a_word_of_their_own_are_translated_around() -> None:
    text = f"el {A}gato{Z} {B}negro{Y}"

    def short(text: str) -> list[TranslatedSegment]:
        return [TranslatedSegment(text, "GATITO", cast(Any, _Aligned(text, "GATITO")))]

    assert filled(tmx(text), short) == f"EL {A}GATO{Z} {B}NEGRO{Y}"


def test_every_word_and_every_code_comes_out_once_and_in_pairs() -> None:
    draw = random.Random(5)
    codes = [(f'<bpt i="{n}">{{</bpt>', f'<ept i="{n}">}}</ept>') for n in range(3)]
    for _ in range(300):
        parts = [f" w{chr(97 + n)}x{draw.choice(['', '', '.'])} " for n in range(9)]
        for begin, end in codes[: draw.randint(1, 3)]:
            first, last = sorted(draw.sample(range(len(parts) + 1), 2))
            parts = [*parts[:first], begin, *parts[first:last], end, *parts[last:]]
        said = filled(tmx("".join(parts)), draw.choice([None, inspected, blindly]))
        asked = [part.strip() for part in parts]
        found = re.findall(r"<[be]pt.*?</[be]pt>|[^\s<]+", said)
        assert sorted(found) == sorted(a if a[0] == "<" else a.upper() for a in asked)
        assert all(found.index(a) < found.index(b) for a, b in codes if a in found)


M = '<mrk mid="{}" mtype="seg">{}</mrk>'
SEGMENTS = f"<source>uno. dos.</source><seg-source>{M.format(0, 'uno.')} {M.format(1, 'dos.')}"
RAISED = f"{M.format(0, 'UNO.')} {M.format(1, 'DOS.')}"
ICU = "{{n, plural, one {{{}}} other {{# {}}}}} &lt;"


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (f"{SEGMENTS}</seg-source>", f"{SEGMENTS}</seg-source><target>{RAISED}</target>"),
        (
            f"{SEGMENTS}</seg-source><target>{M.format(0, '')} {M.format(1, '')}</target>",
            f"{SEGMENTS}</seg-source><target>{RAISED}</target>",
        ),
        (
            '<source>uno</source><target state="new">uno</target>',
            '<source>uno</source><target state="translated">UNO</target>',
        ),
        (
            '<segment state="initial"><source>uno</source> <target>uno</target></segment>',
            '<segment state="translated"><source>uno</source> <target>UNO</target></segment>',
        ),
        ("<source>uno</source><target>uno</target>", None),
        ('<source>uno</source><target state="new">dos</target>', None),
        (
            f"<source>{ICU.format('día', 'días')}</source>",
            f"<source>{ICU.format('día', 'días')}</source>"
            f"<target>{ICU.format('DÍA', 'DÍAS')}</target>",
        ),
        (
            "<source>uno</source><note>no</note><alt-trans><source>no</source></alt-trans>",
            "<source>uno</source><target>UNO</target><note>no</note><alt-trans><source>no</source>"
            "</alt-trans>",
        ),
    ],
)
def test_a_unit_gets_one_target_of_what_was_not_translated(unit: str, expected: str | None) -> None:
    assert shouted(f"<file>{unit}</file>", ".xlf") == f"<file>{expected or unit}</file>"


def test_what_a_unit_says_about_itself_stays() -> None:
    unit = '<tuv xml:lang="{}"><prop>no</prop><note>no</note><seg>{}</seg></tuv>'
    both = unit.format("es", "uno") + unit.format("en", "UNO")
    assert shouted(f"<tu>{unit.format('es', 'uno')}</tu>", ".tmx") == f"<tu>{both}</tu>"
