"""Read parallel text: TSV, CSV, JSON lines, Moses pairs, TMX, Parquet, data sets of the hub.

Every reader yields (source, target) texts as they stand in the file, and holds no file in memory.
A row that is no pair raises a BadRowError; given a list `bad_rows`, the reader skips the row and
appends to the list what is wrong with it.
"""

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import json
import re
import shlex
import shutil
import tempfile
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from transformer.config import ColumnConfig, Direction, SentencePair, UserError
from transformer.corpus.columns import (
    exchange_if_swapped,
    find_column,
    find_columns,
    primary_subtag,
)
from transformer.files import is_windows_1252, open_regular, write_text

Pairs = Iterator[SentencePair]
BadRows = list[str] | None  # None: a bad row is an error
Columns = tuple[str, ...]  # names of the source and target columns, if requested
Records = Iterator[tuple[str, Any]]  # the place of each record, for messages, and the record
Rows = Iterator[tuple[int, Sequence[str]]]  # the first line of each row of a table, and its cells
HUB = "hub:"  # prefix of a source that `datasets` finds by its name
SUFFIXES = (".parquet", ".jsonl", ".json", ".tsv", ".csv", ".tmx")
TEXT_SUFFIXES = (".txt", ".txt.gz", ".parquet")
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which JSON can spell
DELIMITERS = ",;\t"  # of a .csv file
DEFAULT_COLUMNS = ColumnConfig()


class BadRowError(UserError):
    """A row is no sentence pair; other rows of the source may be."""


def _skip_or_raise(message: str, bad_rows: BadRows) -> None:
    if bad_rows is None:
        raise BadRowError(message)
    bad_rows.append(message)


@contextlib.contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, decompressed where its name ends in .gz; raise a UserError if that fails."""
    try:
        with (
            open_regular(path) as raw,
            gzip.open(raw) if path.suffix == ".gz" else contextlib.nullcontext(raw) as file,
        ):
            yield file  # type: ignore[misc]
    except FileNotFoundError as error:
        raise UserError(f"expected the file {path}: there is none of that name") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"expected gzip data in {path}: {error}") from error
    except OSError as error:
        raise UserError(f"expected a file that can be read: {error}") from error


def iter_lines(path: Path, bad_rows: BadRows = None) -> Iterator[str]:
    """Yield the lines of a file in UTF-8, or in UTF-16 with a byte order mark, without their ends.

    Only a line feed ends a line. A line that is not UTF-8 is a BadRowError; or with `bad_rows` a
    message there, and yielded as "". UserError for UTF-16 without a mark, for a file that cannot be
    opened and, without `bad_rows`, for Windows-1252.
    """
    with open_binary(path) as file:
        head = file.peek(2)[:2] if isinstance(file, io.BufferedReader | gzip.GzipFile) else b""
        if head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            yield from _utf_16_lines(path, file)
            return
        is_ascii = True  # so far
        for number, raw in enumerate(file, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                is_ascii = is_ascii and line.isascii()
            except UnicodeDecodeError as error:
                line, message = "", f"{path}, line {number}: expected UTF-8 text"
                if is_ascii and is_windows_1252(raw):
                    show = "gzip -dc" if path.suffix == ".gz" else "cat"
                    new = path.with_name(f"utf-8-{path.name.removesuffix('.gz')}")
                    message += (
                        ", got what reads like Windows-1252 (Latin-1). Convert the file: "
                        f"{show} {shlex.quote(str(path))} | iconv -f windows-1252 -t utf-8 > "
                        f"{shlex.quote(str(new))}"
                    )
                    if bad_rows is None:  # and no BadRowError, as the whole file is concerned
                        raise UserError(message) from error
                _skip_or_raise(f"{message} ({error})", bad_rows)
            if number == 1 and 3 * raw.count(0) > len(raw):
                raise UserError(f"expected UTF-8 text in {path}, got UTF-16: save it as UTF-8")
            yield line.removesuffix("\n").removesuffix("\r")


def _utf_16_lines(path: Path, file: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a UTF-16 file ("Unicode text" of spreadsheets); UserError for others."""
    try:
        with io.TextIOWrapper(file, "utf-16", newline="\n") as text:
            for line in text:
                yield line.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UserError(f"expected UTF-16 text in {path}: {error}; save it as UTF-8") from error


def pair_from_record(
    record: Any, langs: Direction, place: str, columns: Columns = ()
) -> SentencePair:
    """Return the two texts of a record, or of the object `translation` in it, by its `columns`.

    BadRowError, which names the `place` of the record, if it has no such texts. Without `columns`
    they are found as by `find_columns`.
    """
    fields = record.get("translation", record) if isinstance(record, Mapping) else record
    if isinstance(fields, str) and find_columns(tuple(record), langs, columns):
        fields = record  # the target column has that name
    if not isinstance(fields, Mapping):
        raise BadRowError(
            f"{place}: expected a translation with {langs[0]!r} and {langs[1]!r}, got {fields!r}"
        )
    src, tgt = map(fields.get, find_columns(tuple(fields), langs, columns) or (None, None))
    if not (isinstance(src, str) and isinstance(tgt, str)):
        raise BadRowError(
            f"{place}: expected text under {langs[0]!r} and {langs[1]!r}, "
            f"got {', '.join(f'{k!r}: {type(v).__name__}' for k, v in fields.items())}"
        )
    return SURROGATE.sub("\ufffd", src), SURROGATE.sub("\ufffd", tgt)


def _pairs_from_records(
    records: Records, langs: Direction, bad_rows: BadRows, columns: Columns
) -> Pairs:
    """Yield the pairs of records; one without is a BadRowError, or noted in `bad_rows`."""
    for place, record in records:
        try:
            yield pair_from_record(record, langs, place, columns)
        except BadRowError as error:
            _skip_or_raise(str(error), bad_rows)


def _json_records(path: Path, bad_rows: BadRows) -> Records:
    """Yield the JSON value of each line; a line that is none is an error or goes to `bad_rows`."""
    for number, line in enumerate(iter_lines(path, bad_rows), 1):
        place = f"{path}, line {number}"
        try:
            if line.strip():
                yield place, json.loads(line)
        except (ValueError, RecursionError) as error:
            _skip_or_raise(f"{place}: expected a JSON object: {error}", bad_rows)


def _tsv_rows(path: Path, bad_rows: BadRows) -> Rows:
    for number, line in enumerate(iter_lines(path, bad_rows), 1):
        yield number, line.split("\t")


def _csv_rows(path: Path, bad_rows: BadRows) -> Rows:
    """Yield the rows of a file with , ; or tab between cells; UserError if it is no CSV."""
    lines, number = iter_lines(path, bad_rows), 1
    try:
        first = next(lines, "")
        widths = {mark: len(next(csv.reader([first], delimiter=mark))) for mark in DELIMITERS}
        text = (f"{line}\n" for line in itertools.chain([first], lines))
        reader = csv.reader(text, delimiter=max(widths, key=widths.__getitem__))
        for row in reader:
            if row:  # and no empty line
                yield number, row
            number = reader.line_num + 1  # that the next row begins with
    except csv.Error as error:
        raise UserError(
            f"{path}, line {number}: expected CSV: {error}; is a quotation mark left open?"
        ) from error


def _pairs_from_table(
    rows: Rows, path: Path, langs: Direction, bad_rows: BadRows, columns: Columns
) -> Pairs:
    """Yield the pairs of the rows below a header; UserError if that names no two columns."""
    header = next(rows, (1, []))[1]
    found = find_columns(tuple(header), langs, columns)
    if found is None:
        raise UserError(
            f"{path}, line 1: expected a header with the columns {langs[0]!r} and {langs[1]!r}, "
            f"got {[*header][:5]}. Add such a first line, or name its columns with --columns"
        )
    src, tgt = map(header.index, found)
    for number, row in rows:
        if len(row) == len(header):
            yield row[src], row[tgt]
        elif bad_rows is None or row != [""]:  # an empty line, or a bad row already
            message = f"{path}, line {number}: expected {len(header)} columns, got {len(row)}"
            _skip_or_raise(message, bad_rows)


def moses_files(spec: str, langs: Direction) -> tuple[Path, Path] | None:
    """Return the files of a Moses spec: `a.es,a.en`, or `a.es` or `a` if both exist; else None."""
    names = [part.strip() for part in spec.split(",")]
    paths: list[Path | None]
    if len(names) == 2:
        by_code = {name.removesuffix(".gz").rpartition(".")[2]: Path(name) for name in names}
        paths = [by_code.get(find_column(by_code, lang) or "") for lang in langs]
    else:
        stem, endings = names[0].removesuffix(".gz"), [f".{lang}" for lang in langs]
        prefix = stem.rpartition(".")[0] if stem.endswith(tuple(endings)) else stem
        candidates = [[Path(prefix + ending), Path(f"{prefix}{ending}.gz")] for ending in endings]
        paths = [next(filter(Path.is_file, files), None) for files in candidates]
    src, tgt = paths
    return (src, tgt) if src and tgt else None


def _read_moses(paths: tuple[Path, Path], bad_rows: BadRows) -> Pairs:
    """Read two files line by line; UserError if one ends first; bad lines may go to `bad_rows`."""
    lines = itertools.zip_longest(*(iter_lines(path, bad_rows) for path in paths))
    for number, (src, tgt) in enumerate(lines, 1):
        if src is None or tgt is None:
            short = paths[0] if src is None else paths[1]
            raise UserError(
                f"expected as many lines in {paths[0]} as in {paths[1]}; "
                f"{short} ends before line {number}"
            )
        yield src, tgt


def _read_tmx(path: Path, langs: Direction) -> Pairs:
    """Read the segments of two languages in each unit of a translation memory, without mark-up.

    A unit that lacks one of the languages is skipped, as is the content of inline tags but `hi`.
    Broken XML is a UserError.
    """
    with open_binary(path) as file:
        try:
            yield from _tmx_pairs(file, langs, path)
        except (ET.ParseError, LookupError, ValueError) as error:
            raise UserError(f"expected TMX in {path}: {error}") from error


def _tmx_pairs(file: IO[bytes], langs: Direction, path: Path) -> Pairs:
    events = ET.iterparse(file, events=("start", "end"))
    parent = next(events)[1]
    is_empty, other_codes = True, dict[str, None]()
    for event, element in events:
        name = element.tag.rpartition("}")[2]
        if event == "start" and name == "body":
            parent = element
        elif event == "end" and name == "tu":
            segments = {
                variant.get(XML_LANG) or variant.get("lang") or "": segment
                for variant in element.iterfind("{*}tuv")
                if (segment := variant.find("{*}seg")) is not None
            }
            texts = {primary_subtag(code): _text(segment) for code, segment in segments.items()}
            if langs[0] in texts and langs[1] in texts:
                is_empty = False
                yield texts[langs[0]], texts[langs[1]]
            elif is_empty:
                other_codes.update(dict.fromkeys(segments))
            parent.clear()  # or the tree of the whole file stays in memory
    if is_empty and other_codes:
        raise UserError(
            f"{path}: expected units in {' and '.join(langs)}, got the language codes "
            f"{', '.join(other_codes)}; --from and --to name other languages"
        )


def _text(element: ET.Element) -> str:
    """Return the text of a segment: inline tags hold codes of another format, only `hi` text."""
    text = element.text or ""
    for child in element:
        text += _text(child) if child.tag.rpartition("}")[2] == "hi" else ""
        text += child.tail or ""
    return text


def _hub_records(spec: str) -> Records:
    """Read `hub:NAME[:CONFIG[:SPLIT]]`, streamed; NAME may be a folder. UserError if that fails."""
    import datasets  # takes half a second

    name, config, split = (*spec.removeprefix(HUB).split(":"), "", "")[:3]
    if not name:
        raise UserError(f"expected a hub data set hub:NAME:CONFIG, got {spec}")
    try:
        records = datasets.load_dataset(
            name, config or None, split=split or "train", streaming=True
        )
        for number, record in enumerate(records, 1):
            yield f"{spec}, row {number}", record
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise UserError(f"expected a hub data set {spec}: {error}") from error


def _parquet_records(path: Path, expected: str = "Parquet") -> Records:
    """Yield the rows of a Parquet file; UserError, saying what was `expected`, if it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_binary(path) as file, tempfile.TemporaryFile() as unpacked:
        if path.suffix == ".gz":
            shutil.copyfileobj(file, unpacked)
        try:
            batches = pq.ParquetFile(unpacked if path.suffix == ".gz" else file).iter_batches()
            records = (record for batch in batches for record in batch.to_pylist())
            for number, record in enumerate(records, 1):
                yield f"{path}, row {number}", record
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UserError(f"expected {expected} in {path}: {error}") from error


def read_pairs(
    spec: str, src_lang: str, tgt_lang: str, bad_rows: BadRows = None,
    config: ColumnConfig = DEFAULT_COLUMNS,
) -> Pairs:  # fmt: skip
    """Read the (source, target) texts of a source one by one; defects are UserErrors.

    A spec is a .parquet, .jsonl, .tsv, .csv or .tmx file, a Moses pair (`corpus.es,corpus.en`, or
    `corpus`), each also gzipped, or `hub:NAME[:CONFIG[:SPLIT]]`. With a list `bad_rows`, a row that
    is no pair is skipped and noted there. `config` may name columns or exchange swapped sides.
    """
    langs, path = (src_lang, tgt_lang), Path(spec)
    wanted = (langs, bad_rows, config.columns)
    suffix = Path(spec.removesuffix(".gz")).suffix
    if spec.startswith(HUB):
        pairs = _pairs_from_records(_hub_records(spec), *wanted)
    elif suffix == ".parquet":
        pairs = _pairs_from_records(_parquet_records(path), *wanted)
    elif suffix in (".jsonl", ".json"):
        pairs = _pairs_from_records(_json_records(path, bad_rows), *wanted)
    elif suffix == ".tsv":
        pairs = _pairs_from_table(_tsv_rows(path, bad_rows), path, *wanted)
    elif suffix == ".csv":
        pairs = _pairs_from_table(_csv_rows(path, bad_rows), path, *wanted)
    elif suffix == ".tmx":
        pairs = _read_tmx(path, langs)
    elif files := moses_files(spec, langs):
        pairs = _read_moses(files, bad_rows)
    else:
        raise UserError(
            f"expected a corpus ({', '.join(SUFFIXES)}, each also .gz, a Moses pair "
            f"corpus.{src_lang},corpus.{tgt_lang}, or hub:NAME:CONFIG), got {spec!r}"
        )
    return exchange_if_swapped(pairs, langs) if config.swap else pairs


def read_texts(path: Path) -> Iterator[str]:
    """Yield the column `text` of a .parquet file, UserError if none; or the lines of any other."""
    if path.suffix != ".parquet":
        yield from iter_lines(path)
        return
    expected = "Parquet with a column `text`"
    for _, record in _parquet_records(path, expected):
        if not isinstance(record.get("text"), str):
            raise UserError(f"expected {expected} in {path}, got {', '.join(record)}")
        yield SURROGATE.sub("\ufffd", record["text"])


def format_tsv(langs: Direction, pairs: Iterable[SentencePair]) -> str:
    """Return pairs as TSV with a header of language codes; tabs and line breaks become spaces."""
    rows = ((re.sub("[\t\n\r]+", " ", text) for text in pair) for pair in (langs, *pairs))
    return "".join("\t".join(row) + "\n" for row in rows)


def write_tsv(path: Path, langs: Direction, pairs: Iterable[SentencePair]) -> None:
    """Write pairs as TSV, atomically; UserError if that fails."""
    write_text(path, format_tsv(langs, pairs))
