"""Parallel text in plain files, read line by line: JSON lines, TSV, Moses pairs, TMX, or gzipped.

Every reader yields (source, target) texts as they stand in the file and never holds it whole.
Knows no cleaning, no tokens, and none of the formats that need `datasets` (see `corpus`).
"""

import contextlib
import gzip
import itertools
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from transformer.config import UserError

Pair = tuple[str, str]
Languages = tuple[str, str]


def column(names: Iterable[str], lang: str) -> str | None:
    """The name that is this language's code, with or without a region (`es`, `es-ES`)."""
    names = list(names)
    for name in names:
        code = name.strip().lower().replace("_", "-")
        if code == lang or code.split("-")[0] == lang:
            return name
    return None


def pick(row: Mapping[str, Any], langs: Languages, where: str) -> Pair:
    """The two texts of a record: in a `translation` object, or in columns named by code."""
    fields = row.get("translation", row)
    if not isinstance(fields, Mapping):
        raise UserError(
            f"{where}: expected a translation with {langs[0]!r} and {langs[1]!r}, got {fields!r}"
        )
    columns = [column(fields, lang) for lang in langs]
    src, tgt = (fields[c] if c is not None else None for c in columns)
    if not (isinstance(src, str) and isinstance(tgt, str)):
        raise UserError(
            f"{where}: expected text under {langs[0]!r} and {langs[1]!r}, "
            f"got the columns {sorted(map(str, fields))}"
        )
    return src, tgt


@contextlib.contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file, unpacking it where its name ends in .gz; a missing file is a UserError."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file  # type: ignore[misc]
    except FileNotFoundError as error:
        raise UserError(f"expected the file {path}: there is none of that name") from error
    except (gzip.BadGzipFile, EOFError) as error:
        raise UserError(f"expected gzip data in {path}: {error}") from error


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; only a line feed ends a line."""
    with open_binary(path) as file:
        for number, raw in enumerate(file, 1):
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise UserError(f"{path}, line {number}: expected UTF-8 text: {error}") from error
            yield text.removesuffix("\n").removesuffix("\r")


def read_json_lines(path: Path, langs: Languages) -> Iterator[Pair]:
    """One JSON object a line, laid out as on the hub or flat."""
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UserError(f"{where}: expected a JSON object: {error}") from error
        yield pick(row if isinstance(row, Mapping) else {"translation": row}, langs, where)


def read_tsv(path: Path, langs: Languages) -> Iterator[Pair]:
    """Tab-separated columns under a first line that names them by language code."""
    rows = (line.split("\t") for line in lines(path))
    header = next(rows, [])
    places = [header.index(c) for c in (column(header, lang) for lang in langs) if c is not None]
    if len(places) != 2:
        raise UserError(
            f"{path}, line 1: expected a header with the columns {langs[0]!r} and {langs[1]!r} "
            f"(tab-separated), got {header[:5]!r}. Add such a first line"
        )
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise UserError(
                f"{path}, line {number}: expected {len(header)} columns, got {len(row)}"
            )
        yield row[places[0]], row[places[1]]


def moses_files(spec: str, langs: Languages) -> tuple[Path, Path] | None:
    """The two files that a Moses spec names: `a.es,a.en`, `a.es` or `a`; None where it is none."""
    given = [part.strip() for part in spec.split(",")]
    stems = [name.removesuffix(".gz") for name in given]
    if len(given) == 2:
        named = {
            stem.rpartition(".")[2]: Path(name) for stem, name in zip(stems, given, strict=True)
        }
        columns = [column(named, lang) for lang in langs]
        found = [named[c] if c is not None else None for c in columns]
    else:
        ends = tuple(f".{lang}" for lang in langs)
        prefix = stems[0].rpartition(".")[0] if stems[0].endswith(ends) else stems[0]
        tries = [(Path(prefix + end), Path(prefix + end + ".gz")) for end in ends]
        found = [next((path for path in two if path.is_file()), None) for two in tries]
    return (found[0], found[1]) if found[0] and found[1] else None


def read_moses(paths: tuple[Path, Path]) -> Iterator[Pair]:
    """Two files, line by line; another number of lines in one of them is a UserError."""
    both = itertools.zip_longest(lines(paths[0]), lines(paths[1]))
    for number, (src, tgt) in enumerate(both, 1):
        if src is None or tgt is None:
            short = paths[0] if src is None else paths[1]
            raise UserError(
                f"expected as many lines in {paths[0]} as in {paths[1]}; "
                f"{short} ends before line {number}"
            )
        yield src, tgt


def read_tmx(path: Path, langs: Languages) -> Iterator[Pair]:
    """Translation memory exchange: the two languages' segments of each unit, tags left out.

    A unit without one of the languages is passed over.
    """
    tag = "{http://www.w3.org/XML/1998/namespace}lang"
    with open_binary(path) as file:
        try:
            events = ET.iterparse(file, events=("start", "end"))
            root = next(events)[1]
            for event, unit in events:
                if event != "end" or unit.tag.rpartition("}")[2] != "tu":
                    continue
                found = {}
                for variant in unit.iterfind("{*}tuv"):
                    code = variant.get(tag) or variant.get("lang") or ""
                    segment = variant.find("{*}seg")
                    if segment is not None:
                        found[code.lower().replace("_", "-").split("-")[0]] = segment
                texts = _segments(found, langs)
                if texts is not None:
                    yield texts
                root.clear()
        except ET.ParseError as error:
            raise UserError(f"expected TMX in {path}: {error}") from error


def _segments(found: Mapping[str, ET.Element], langs: Languages) -> Pair | None:
    segments = [found.get(lang) for lang in langs]
    if segments[0] is None or segments[1] is None:
        return None
    return "".join(segments[0].itertext()), "".join(segments[1].itertext())
