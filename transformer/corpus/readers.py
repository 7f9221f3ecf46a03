"""Parallel text read pair by pair: TSV, CSV, JSON lines, Moses pairs, TMX, Parquet, the hub.

Every reader yields (source, target) texts as they stand in the file and never holds it whole.
"""

import argparse
import codecs
import contextlib
import csv
import gzip
import io
import itertools
import json
import re
import shutil
import tempfile
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from transformer.config import ColumnConfig, Direction, SentencePair, UserError
from transformer.corpus.columns import bare_code, column, exchange_if_swapped, find_columns
from transformer.files import open_regular, write_text

Pairs = Iterator[SentencePair]
Refused = list[str]  # what is said of rows that are no pairs and are passed over
HUB = "hub:"  # begins the spec of a source that `datasets` finds by its name
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
BREAKS = re.compile("[\t\n\r]+")
HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # JSON can spell one; no text holds it
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
DELIMITERS = ",;\t"  # of a .csv file
DEFAULT_COLUMNS = ColumnConfig()


class BadRow(UserError):
    """A row that is no pair, among others that may be."""


def refuse(message: str, refused: Refused | None) -> None:
    """Notes a row that is no pair, to be passed over; without a list it is an error."""
    if refused is None:
        raise BadRow(message)
    refused.append(message)


def pick(row: Any, langs: Direction, where: str, wanted: tuple[str, ...] = ()) -> SentencePair:
    """The two texts of a record: in a `translation` object, or in columns (`find_columns`)."""
    fields = row.get("translation", row) if isinstance(row, Mapping) else row
    if isinstance(fields, str) and find_columns(tuple(row), langs, wanted):
        fields = row  # where the target's column has that name
    if not isinstance(fields, Mapping):
        raise BadRow(
            f"{where}: expected a translation with {langs[0]!r} and {langs[1]!r}, got {fields!r}"
        )
    src, tgt = map(fields.get, find_columns(tuple(fields), langs, wanted) or (None, None))
    if not (isinstance(src, str) and isinstance(tgt, str)):
        raise BadRow(
            f"{where}: expected text under {langs[0]!r} and {langs[1]!r}, "
            f"got {', '.join(f'{k!r}: {type(v).__name__}' for k, v in fields.items())}"
        )
    return HALF_CHARACTER.sub("\ufffd", src), HALF_CHARACTER.sub("\ufffd", tgt)


def _picked(
    rows: Iterable[tuple[str, Any]],
    langs: Direction,
    refused: Refused | None,
    wanted: tuple[str, ...],
) -> Pairs:
    """The texts of records with the place of each; those that have none are refused."""
    for where, row in rows:
        try:
            yield pick(row, langs, where, wanted)
        except BadRow as error:
            refuse(str(error), refused)


@contextlib.contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file, unpacking it where its name ends in .gz; a missing file is a UserError."""
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


def lines(path: Path, refused: Refused | None = None) -> Iterator[str]:
    """The lines of a file in UTF-8, or in UTF-16 with its mark, without their ends.

    Only a line feed ends a line. One that is not UTF-8 is refused, and empty.
    """
    with open_binary(path) as file:
        head = file.peek(2)[:2] if isinstance(file, io.BufferedReader | gzip.GzipFile) else b""
        if head in UTF_16:
            yield from _utf_16_lines(path, file)
            return
        for number, raw in enumerate(file, 1):
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                refuse(
                    f"{path}, line {number}: expected UTF-8 text: {error}. If it was saved as "
                    "Latin-1 or Windows-1252, convert it: iconv -f cp1252 -t utf-8", refused
                )  # fmt: skip
                text = ""
            if number == 1 and 3 * raw.count(0) > len(raw):
                raise UserError(f"expected UTF-8 text in {path}, got UTF-16: save it as UTF-8")
            yield text.removesuffix("\n").removesuffix("\r")


def _utf_16_lines(path: Path, file: IO[bytes]) -> Iterator[str]:
    """What spreadsheets call Unicode text; bytes that are none are a UserError."""
    try:
        with io.TextIOWrapper(file, "utf-16", newline="\n") as text:
            for line in text:
                yield line.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UserError(f"expected UTF-16 text in {path}: {error}; save it as UTF-8") from error


def read_json_lines(
    path: Path, langs: Direction, refused: Refused | None = None, wanted: tuple[str, ...] = ()
) -> Pairs:
    """One JSON object a line, laid out as on the hub or flat."""
    for number, line in enumerate(lines(path, refused), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            refuse(f"{where}: expected a JSON object: {error}", refused)
            continue
        yield from _picked([(where, row)], langs, refused, wanted)


def read_tsv(
    path: Path, langs: Direction, refused: Refused | None = None, wanted: tuple[str, ...] = ()
) -> Pairs:
    """Tab-separated columns under a first line that names them (`find_columns`)."""
    rows = (line.split("\t") for line in lines(path, refused))
    numbered = enumerate(rows, 1)
    header = next(numbered, (1, []))[1]
    yield from _table(numbered, path, header, langs, refused, wanted)


def read_csv(
    path: Path, langs: Direction, refused: Refused | None = None, wanted: tuple[str, ...] = ()
) -> Pairs:
    """Columns between commas or semicolons, quoted where need be, under a line of their names."""
    text = lines(path, refused)
    first = next(text, "")
    by_delimiter = {mark: next(csv.reader([first], delimiter=mark), []) for mark in DELIMITERS}
    delimiter = max(by_delimiter, key=lambda mark: len(by_delimiter[mark]))
    reader = csv.reader((f"{line}\n" for line in text), delimiter=delimiter)

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        while True:
            number = reader.line_num + 2  # where the row begins
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise UserError(
                    f"{path}, line {number}: expected CSV: {error}; is a quotation mark left open?"
                ) from error
            if row:  # and no empty line
                yield number, row

    yield from _table(rows(), path, by_delimiter[delimiter], langs, refused, wanted)


def _table(
    rows: Iterable[tuple[int, Sequence[str]]],
    path: Path,
    header: Sequence[str],
    langs: Direction,
    refused: Refused | None,
    wanted: tuple[str, ...],
) -> Pairs:
    """The pairs of numbered rows below a header that names their columns."""
    found = find_columns(tuple(header), langs, wanted)
    if found is None:
        raise UserError(
            f"{path}, line 1: expected a header with the columns {langs[0]!r} and {langs[1]!r}, "
            f"got {[*header][:5]}. Add such a first line, or name its columns with --columns"
        )
    src, tgt = map(header.index, found)
    for number, row in rows:
        if len(row) == len(header):
            yield row[src], row[tgt]
        elif refused is None or row != [""]:  # an empty line is nothing, or refused already
            where = f"{path}, line {number}"
            refuse(f"{where}: expected {len(header)} columns, got {len(row)}", refused)


def moses_files(spec: str, langs: Direction) -> tuple[Path, Path] | None:
    """The two files that a Moses spec names: `a.es,a.en`, `a.es` or `a`; None where it is none."""
    given = [part.strip() for part in spec.split(",")]
    stems = [name.removesuffix(".gz") for name in given]
    if len(given) == 2:
        named = {
            stem.rpartition(".")[2]: Path(name) for stem, name in zip(stems, given, strict=True)
        }
        found = [column(named, lang) for lang in langs]
        paths = [named[end] if end is not None else None for end in found]
    else:
        ends = tuple(f".{lang}" for lang in langs)
        prefix = stems[0].rpartition(".")[0] if stems[0].endswith(ends) else stems[0]
        tries = [(Path(prefix + end), Path(prefix + end + ".gz")) for end in ends]
        paths = [next((path for path in two if path.is_file()), None) for two in tries]
    return (paths[0], paths[1]) if paths[0] and paths[1] else None


def read_moses(paths: tuple[Path, Path], refused: Refused | None = None) -> Pairs:
    """Two files, line by line; another number of lines in one of them is a UserError."""
    both = itertools.zip_longest(*(lines(path, refused) for path in paths))
    for number, (src, tgt) in enumerate(both, 1):
        if src is None or tgt is None:
            short = paths[0] if src is None else paths[1]
            raise UserError(
                f"expected as many lines in {paths[0]} as in {paths[1]}; "
                f"{short} ends before line {number}"
            )
        yield src, tgt


def read_tmx(
    path: Path, langs: Direction, refused: Refused | None = None, wanted: tuple[str, ...] = ()
) -> Pairs:
    """Translation memory exchange: the two languages' segments of each unit, mark-up left out.

    A unit without one of the languages is passed over, as is what inline tags hold, save `hi`;
    XML with a defect is one as a whole.
    """
    with open_binary(path) as file:
        try:
            yield from _tmx_pairs(file, langs, path)
        except (ET.ParseError, LookupError, ValueError) as error:
            raise UserError(f"expected TMX in {path}: {error}") from error


def _tmx_pairs(file: IO[bytes], langs: Direction, path: Path) -> Pairs:
    events = ET.iterparse(file, events=("start", "end"))
    parent = next(events)[1]
    others: dict[str, str] | None = {}
    for event, element in events:
        name = element.tag.rpartition("}")[2]
        if event == "start" and name == "body":
            parent = element
        elif event == "end" and name == "tu":
            texts = _segments(element)
            if langs[0] in texts and langs[1] in texts:
                others = None
                yield texts[langs[0]], texts[langs[1]]
            others = None if others is None else {**others, **texts}
            parent.clear()  # or the tree of the whole file stays in memory
    if others:
        raise UserError(f"{path}: expected units in {', '.join(langs)}, got {', '.join(others)}")


def _segments(unit: ET.Element) -> dict[str, str]:
    """The text in each language of a unit, by its code without a region."""
    variants = unit.iterfind("{*}tuv")
    named = ((v.get(XML_LANG) or v.get("lang") or "", v.find("{*}seg")) for v in variants)
    return {bare_code(code): _text(segment) for code, segment in named if segment is not None}


def _text(element: ET.Element) -> str:
    """What is written in a segment: inline tags hold codes of another format, only `hi` text."""
    text = element.text or ""
    for child in element:
        text += _text(child) if child.tag.rpartition("}")[2] == "hi" else ""
        text += child.tail or ""
    return text


def _read_hub(
    spec: str, langs: Direction, refused: Refused | None, wanted: tuple[str, ...]
) -> Pairs:
    """`NAME[:CONFIG[:SPLIT]]`, streamed; a local folder laid out as on the hub does as well."""
    name, config, split = (*spec.split(":"), "", "")[:3]
    what = f"a hub data set hub:{spec}"
    if not name:
        raise UserError(f"expected a hub data set hub:NAME:CONFIG, got hub:{spec}")
    rows = enumerate(_streamed(what, name, config or None, split=split or "train"), 1)
    yield from _picked(((f"hub:{spec}, row {n}", row) for n, row in rows), langs, refused, wanted)


def _read_parquet(
    path: Path, langs: Direction, refused: Refused | None, wanted: tuple[str, ...]
) -> Pairs:
    """A Parquet file, streamed; a gzipped one is unpacked among the temporary files first."""
    with tempfile.TemporaryDirectory() as folder:
        plain = path
        with open_binary(path) as packed:  # where it cannot be read, this says so
            if path.suffix == ".gz":
                plain = Path(folder) / "plain.parquet"
                with plain.open("wb") as file:
                    shutil.copyfileobj(packed, file)
        rows = enumerate(_streamed(f"Parquet in {path}", "parquet", data_files=str(plain)), 1)
        yield from _picked(((f"{path}, row {n}", row) for n, row in rows), langs, refused, wanted)


def _streamed(what: str, *names: str | None, split: str = "train", **options: Any) -> Iterator[Any]:
    """The rows of a data set, one by one; what is none is a UserError."""
    import datasets  # half a second, and only Parquet and the hub need it

    try:
        yield from datasets.load_dataset(*names, split=split, streaming=True, **options)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise UserError(f"expected {what}: {error}") from error


Reader = Callable[[Path, Direction, Refused | None, tuple[str, ...]], Pairs]
READERS: Mapping[str, Reader] = {
    ".parquet": _read_parquet,
    ".jsonl": read_json_lines,
    ".json": read_json_lines,
    ".tsv": read_tsv,
    ".csv": read_csv,
    ".tmx": read_tmx,
}


def read_pairs(
    spec: str, src_lang: str, tgt_lang: str, refused: Refused | None = None,
    config: ColumnConfig = DEFAULT_COLUMNS,
) -> Pairs:  # fmt: skip
    """The (source, target) texts of a source, one by one, as they stand in it.

    A row that is no pair is a BadRow; or, given a list, it is passed over and told of there.

    A spec is a .parquet, .jsonl, .tsv, .csv or .tmx file, a Moses pair (`corpus.es,corpus.en`, or
    `corpus`), each also gzipped, or `hub:NAME[:CONFIG[:SPLIT]]`. Defects are UserErrors.
    """
    langs = (src_lang, tgt_lang)
    pairs = _open_source(spec, langs, refused, config.columns)
    return exchange_if_swapped(pairs, langs) if config.swap else pairs


def _open_source(
    spec: str, langs: Direction, refused: Refused | None, wanted: tuple[str, ...]
) -> Pairs:
    if spec.startswith(HUB):
        return _read_hub(spec.removeprefix(HUB), langs, refused, wanted)
    suffix = Path(spec.removesuffix(".gz")).suffix
    if suffix in READERS:
        return READERS[suffix](Path(spec), langs, refused, wanted)
    files = moses_files(spec, langs)
    if files is None:
        raise UserError(
            f"expected a corpus ({', '.join(READERS)}, each also .gz, a Moses pair "
            f"corpus.{langs[0]},corpus.{langs[1]}, or hub:NAME:CONFIG), got {spec!r}"
        )
    return read_moses(files, refused)


TEXT_ENDINGS = (".txt", ".txt.gz", ".parquet")


def read_texts(path: Path) -> Iterator[str]:
    """Text in one language: the lines of a .txt file, or the column `text` of a Parquet file."""
    if path.suffix != ".parquet":
        yield from lines(path)
        return
    what = f"Parquet with a column `text` in {path}"
    for row in _streamed(what, "parquet", data_files=str(path)):
        if not isinstance(row.get("text"), str):
            raise UserError(f"expected {what}, got {', '.join(row)}")
        yield HALF_CHARACTER.sub("\ufffd", row["text"])


def tsv(name: str) -> Path:
    """The value of a flag that names a corpus to write; refused before any work is done."""
    if not name.endswith(".tsv"):
        raise argparse.ArgumentTypeError(f"expected a name that ends in .tsv, got {name}")
    return Path(name)


def as_tsv(langs: Direction, pairs: Iterable[SentencePair]) -> str:
    """Pairs as TSV with a header of language codes; tabs and line breaks become blanks."""
    return "".join(f"{BREAKS.sub(' ', s)}\t{BREAKS.sub(' ', t)}\n" for s, t in [langs, *pairs])


def write_tsv(path: Path, langs: Direction, pairs: Iterable[SentencePair]) -> None:
    """Writes a whole corpus or nothing."""
    write_text(path, as_tsv(langs, pairs))
