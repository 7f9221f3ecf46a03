"""Plain files of parallel text: each format, each way to spell it, and each defect by its line."""

import csv
import gzip
import io
import json
import os
import subprocess
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from transformer.config import ColumnConfig, Direction, UserError
from transformer.corpus.readers import (
    iter_lines,
    moses_files,
    pair_from_record,
    read_pairs,
)

ES_EN = ("es", "en")
PAIRS = [("¿Cómo está?", "How are you?"), ("No.", "No."), ("\u2028 y “eso”", 'and "that"')]
REVERSED = [(tgt, src) for src, tgt in PAIRS]
UNIT = '<tu><tuv xml:lang="{}"><seg>{}</seg></tuv><tuv xml:lang="{}"><seg>{}</seg></tuv></tu>'
OLD_UNIT = UNIT.replace("xml:lang", "lang")


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def tmx(*units: str) -> str:
    return f'<tmx version="1.4"><header srclang="en"/><body>{"".join(units)}</body></tmx>'


def json_lines(nested: bool, es: str = "es", en: str = "en") -> str:
    rows = [{"id": i, es: src, en: tgt} for i, (src, tgt) in enumerate(PAIRS)]
    return "".join(
        json.dumps({"translation": row} if nested else row, ensure_ascii=i % 2 == 0) + "\n"
        for i, row in enumerate(rows)
    )


def csv_text(
    delimiter: str, end: str, header: Sequence[str], *, columns: Sequence[int] = (0, 1),
    always: bool = False,
) -> str:  # fmt: skip
    """The pairs in two columns of a table as spreadsheets write it."""
    file = io.StringIO()
    quoting: Any = csv.QUOTE_ALL if always else csv.QUOTE_MINIMAL
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(header)
    for pair in PAIRS:
        row = ["x"] * len(header)
        row[columns[0]], row[columns[1]] = pair
        writer.writerow(row)
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("jsonl", json_lines(nested=True)),
        ("jsonl", json_lines(nested=False)),
        ("jsonl", json_lines(nested=False, es="es-ES", en="en_GB")),
        ("jsonl", "\ufeff" + json_lines(nested=True).replace("\n", "\r\n\r\n")),
        ("tsv", "es\ten\n" + "".join(f"{s}\t{t}\n" for s, t in PAIRS)),
        ("tsv", "en-US\tes-MX\n" + "".join(f"{t}\t{s}\n" for s, t in PAIRS)),
        ("tsv", "id\tEN\tscore\tES\n" + "\n".join(f"7\t{t}\t0.5\t{s}" for s, t in PAIRS)),
        ("tsv", "\ufeffes\ten\r\n" + "".join(f"{s}\t{t}\r\n" for s, t in PAIRS)),
        ("tsv", "Inglés\tEspañol\n" + "".join(f"{t}\t{s}\n" for s, t in PAIRS)),
        ("jsonl", json_lines(nested=False, es="Español", en="Inglés")),
        ("csv", csv_text(",", "\n", ("es", "en"))),
        ("csv", "\ufeff" + csv_text(";", "\r\n", ("Spanish", "English"))),
        ("csv", csv_text(",", "\n", ("ES", "Inglés"), always=True) + "\n\n"),
        ("csv", csv_text("\t", "\n", ("es, note", "en", "es"), columns=(2, 1))),
        ("tmx", tmx(*(UNIT.format("es", s, "en", t) for s, t in PAIRS))),
        ("tmx", tmx(*(UNIT.format("EN-us", t, "es_ES", s) for s, t in PAIRS))),
        ("tmx", tmx(*(UNIT.format("eng", t, "SPA", s) for s, t in PAIRS))),
        ("tmx", tmx(*(OLD_UNIT.format("es", s, "en", t) for s, t in PAIRS))),
    ],
)  # fmt: skip
def test_a_file_is_read_in_both_directions(kind: str, text: str, tmp_path: Path) -> None:
    path = put(tmp_path / f"corpus.{kind}", text)
    assert list(read_pairs(str(path), *ES_EN)) == PAIRS
    assert list(read_pairs(str(path), "en", "es")) == REVERSED


@pytest.mark.parametrize("kind", ["tsv", "csv"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_unicode_text_of_spreadsheets_is_read(
    kind: str, encoding: str, packed: bool, tmp_path: Path
) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    content = (mark + csv_text("\t", "\r\n", ("es", "en"))[:-2]).encode(encoding)
    path = tmp_path / (f"corpus.{kind}.gz" if packed else f"corpus.{kind}")
    path.write_bytes(gzip.compress(content) if packed else content)
    found = list(read_pairs(str(path), *ES_EN))
    assert found[:2] == PAIRS[:2]
    assert len(found) == 3


@pytest.mark.parametrize("langs", [ES_EN, ("en", "es")])
def test_source_and_target_are_in_the_direction_asked_for(langs: Direction, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "target,source\nb,a\n")
    assert list(read_pairs(str(path), *langs)) == [("a", "b")]


def test_quoted_text_may_hold_quotes_delimiters_and_line_breaks(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", 'es,en\n"Dijo ""hola"", y se fue.","He said ""hi"",\nand left."')
    assert list(read_pairs(str(path), *ES_EN)) == [
        ('Dijo "hola", y se fue.', 'He said "hi",\nand left.')
    ]


def test_columns_are_taken_by_name(tmp_path: Path) -> None:
    pairs = [("Hola.", "Hi.")]
    path = put(tmp_path / "a.csv", "es,en,Texto,Corrected\nx,y,Hola.,Hi.\n")
    config = ColumnConfig(columns=("Texto", "Corrected"))
    assert list(read_pairs(str(path), *ES_EN, config=config)) == pairs
    path = put(tmp_path / "a.jsonl", '{"Texto": "Hola.", "Corrected": "Hi.", "es": "x", "en": "y"}')
    assert list(read_pairs(str(path), *ES_EN, config=config)) == pairs


def test_rows_of_a_csv_that_are_no_pairs_can_be_passed_over(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", 'es;en\n"a\nb";c\nd;e;f\ng;h\n')
    bad_rows: list[str] = []
    assert list(read_pairs(str(path), *ES_EN, bad_rows)) == [("a\nb", "c"), ("g", "h")]
    assert bad_rows == [f"{path}, line 4: expected 2 columns, got 3"]


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = put(tmp_path / "text", "a\u2028b\x0bc\x85d\re\r\n\nlast")
    assert list(iter_lines(path)) == ["a\u2028b\x0bc\x85d\re", "", "last"]


def test_what_is_no_moses_pair_is_none(tmp_path: Path) -> None:
    put(tmp_path / "half.es", "Sí\n")
    assert moses_files(str(tmp_path / "half"), ES_EN) is None
    assert moses_files(f"{tmp_path}/a.fr,{tmp_path}/a.en", ES_EN) is None


@pytest.mark.parametrize(
    ("src", "tgt", "short"), [("a\nb\n", "a\n", "y.en"), ("a\n", "a\nb\nc", "x.es")]
)
def test_moses_files_of_unequal_length_are_an_error(
    src: str, tgt: str, short: str, tmp_path: Path
) -> None:
    paths = put(tmp_path / "x.es", src), put(tmp_path / "y.en", tgt)
    with pytest.raises(UserError, match=rf"as many lines in .*/{short} ends before line 2$"):
        list(read_pairs(",".join(map(str, paths)), *ES_EN))


def test_inline_tags_of_tmx_leave_their_codes_behind_and_highlighting_its_text(
    tmp_path: Path,
) -> None:
    es = 'Pulse <bpt i="1">&lt;b&gt;</bpt>aquí<ept i="1">&lt;/b&gt;</ept> <ph>{0}</ph>&amp; ya'
    en = "Click <hi>he<hi>re</hi></hi><it pos='begin'>x<sub>y</sub></it> &amp; now"
    path = put(tmp_path / "a.tmx", tmx(UNIT.format("es", es, "en", en)))
    assert list(read_pairs(str(path), *ES_EN)) == [("Pulse aquí & ya", "Click here & now")]


def test_tmx_units_without_both_languages_are_passed_over(tmp_path: Path) -> None:
    units = (
        UNIT.format("es", "uno", "fr", "un"),
        '<tu><prop type="x">y</prop></tu>',
        '<tu><tuv xml:lang="es"/><tuv xml:lang="en"><seg>two</seg></tuv></tu>',
        UNIT.format("es", "", "en", "three"),
    )
    namespaced = tmx(*units).replace("<tmx ", '<tmx xmlns="http://www.lisa.org/tmx14" ')
    for name, text in {"plain": tmx(*units), "namespaced": namespaced}.items():
        assert list(read_pairs(str(put(tmp_path / f"{name}.tmx", text)), *ES_EN)) == [("", "three")]


def test_a_long_tmx_file_never_lies_in_memory(tmp_path: Path) -> None:
    unit = UNIT.format("es", "palabra " * 100, "en", "word " * 100)
    path = put(tmp_path / "long.tmx", tmx(*[unit] * 2000))
    tracemalloc.start()
    count = sum(1 for _ in read_pairs(str(path), *ES_EN))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 2000
    assert peak < path.stat().st_size / 4


def test_half_characters_that_json_can_spell_do_not_come_through(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", r'{"es": "a\ud83d", "en": "\ud83d\ude00"}')
    assert list(read_pairs(str(path), *ES_EN)) == [("a\ufffd", "😀")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"translation": "Hola"}, "row 7: expected a translation with 'es' and 'en', got 'Hola'"),
        ({"es": "Hola", "fr": "Salut"}, "row 7: expected text under 'es' and 'en', got 'es': str"),
        ({"es": "Hola", "en": None}, "got 'es': str, 'en': NoneType"),
        ({"es": "Hola", "en": 5}, "got 'es': str, 'en': int"),
        ({}, "expected text under 'es' and 'en'"),
    ],
)
def test_a_record_without_both_texts_is_an_error(row: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        pair_from_record(row, ES_EN, "row 7")


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("jsonl", '{"es": "a", "en": "b"}\n{"es": \n', "line 2: expected a JSON object"),
        ("jsonl", "[1]\n", r"line 1: expected a translation with .*got \[1\]"),
        ("jsonl", '{"es": "a"}\n', "line 1: expected text under 'es' and 'en'"),
        ("tsv", "es\ten\na\tb\na\tb\tc\n", "line 3: expected 2 columns, got 3"),
        ("tsv", "es\ten\na\n", "line 2: expected 2 columns, got 1"),
        ("tsv", "es\tfr\na\tb\n", "line 1: expected a header with the columns 'es' and 'en'"),
        ("tsv", "Hola\tHello\n", "Add such a first line"),
        ("tsv", "", "line 1: expected a header"),
        ("csv", "", "line 1: expected a header"),
        ("csv", "Hola,Hello\n", "or name its columns with --columns"),
        ("csv", "es,en\na\n", "line 2: expected 2 columns, got 1"),
        ("csv", 'es,en\na,b\n"c,' + "d" * 2**18, "line 3: expected CSV: field larger than"),
        ("csv", "e\0s\0,\0e\0n\0\n\0", "expected UTF-8 text in .*, got UTF-16"),
        ("tmx", "", "expected TMX in .*no element found"),
        ("tmx", "<tmx><body><tu>", "expected TMX in"),
        (
            "tmx",
            tmx(UNIT.format("PT-BR", "um", "es", "uno")),
            "expected units in es and en, got the language codes PT-BR, es; --from and --to",
        ),
        ("tmx", "no mark-up", "expected TMX in .*syntax error"),
        ("tmx", '<?xml version="1.0" encoding="no-such"?><tmx/>', "expected TMX in"),
    ],
)
def test_a_defect_of_a_file_is_an_error_that_names_its_place(
    kind: str, text: str, message: str, tmp_path: Path
) -> None:
    path = put(tmp_path / f"corpus.{kind}", text)
    with pytest.raises(UserError, match=message) as caught:
        list(read_pairs(str(path), *ES_EN))
    assert str(path) in str(caught.value)


def test_text_that_is_not_utf8_is_an_error_that_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("es\ten\nSí\tYes\nSí".encode() + b"\xed\tYes\n")
    with pytest.raises(UserError, match=r"a.tsv, line 3: expected UTF-8 text"):
        list(read_pairs(str(path), *ES_EN))


@pytest.mark.parametrize("end", ["", ".gz"])
def test_windows_1252_is_recognised_and_the_message_says_how_to_convert_it(
    end: str, tmp_path: Path
) -> None:
    path = tmp_path / f"my pairs.tsv{end}"
    content = "es\ten\nSi\tIf\nMañana sí.\tTomorrow yes.\n".encode("latin-1")
    path.write_bytes(gzip.compress(content) if end else content)
    line = r"pairs.tsv.*, line 3: .*reads like Windows-1252 \(Latin-1\)\. Convert the file: "
    with pytest.raises(UserError, match=line) as caught:
        list(read_pairs(str(path), *ES_EN))
    command = str(caught.value).partition("Convert the file: ")[2]
    subprocess.run(command, shell=True, check=True)
    converted = list(read_pairs(f"{tmp_path}/utf-8-my pairs.tsv", *ES_EN))
    assert converted == [("Si", "If"), ("Mañana sí.", "Tomorrow yes.")]
    bad_rows: list[str] = []
    assert list(read_pairs(str(path), *ES_EN, bad_rows)) == [("Si", "If")]
    assert "line 3: expected UTF-8 text, got what reads like Windows-1252" in bad_rows[0]


def test_utf_16_that_ends_in_half_a_character_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("es\ten\nSí\tYes".encode("utf-16")[:-1])
    with pytest.raises(UserError, match=r"expected UTF-16 text in .*a.tsv: .*; save it as UTF-8"):
        list(read_pairs(str(path), *ES_EN))


PACKED = gzip.compress(b"es\ten\n" + bytes(range(33, 127)) * 200)


@pytest.mark.parametrize(
    "damaged",
    [b"es\ten\n", PACKED[:-20], PACKED[:60] + b"\xff" * 20 + PACKED[80:]],
    ids=["not packed", "cut short", "overwritten"],
)
def test_damaged_gzip_data_is_an_error(damaged: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(damaged)
    with pytest.raises(UserError, match=r"expected gzip data in .*a\.gz"):
        list(iter_lines(path))


def test_a_missing_file_or_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected the file .*none\.tsv: there is none"):
        list(read_pairs(str(tmp_path / "none.tsv"), *ES_EN))
    with pytest.raises(UserError, match=r"expected a file that can be read: .*got a folder"):
        list(iter_lines(tmp_path))
    os.mkfifo(tmp_path / "pipe.tsv")
    with pytest.raises(UserError, match=r"expected a file that can be read: .*a pipe"):
        list(read_pairs(str(tmp_path / "pipe.tsv"), *ES_EN))
