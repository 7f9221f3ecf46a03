"""Open a tokenised corpus by memory-mapping it; export a folder that trains on another machine.

tokens/           the ids of each pair, Arrow streams
tokenizer.model   the vocabulary
report.json       what was kept and dropped of each source
SHA256SUMS        checksums of the other files

A folder that `export` makes has further, so that a machine without the text can train from it:

prepared.json     languages, sources with their weights, the longest pair, names of the sets
sets/             the development and test sets, as TSV
"""

import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from transformer.checkpoint import locate
from transformer.config import Direction, UserError, target_tag
from transformer.corpus.batching import DirectionView, TaggedPairs, TokenPairs
from transformer.corpus.cleaning import SYNTHETIC_SOURCE, SYNTHETIC_TARGET
from transformer.files import atomic_folder, read_bytes
from transformer.text.tokenizer import Tokenizer

TOKENS, VOCABULARY, REPORT = "tokens", "tokenizer.model", "report.json"
PREPARED, SETS = "prepared.json", "sets"
FORMAT = 1  # of `prepared.json`
MAX_WEIGHT = 1000  # of a source


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A training corpus, by its file or hub name, and how often an epoch takes each pair."""

    spec: str
    weight: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Source":
        """Parse `SPEC` or `SPEC@WEIGHT`; UserError for a weight not above 0 or above MAX_WEIGHT."""
        spec, _, number = text.rpartition("@")
        try:
            weight = float(number if spec else "")
        except ValueError:
            return cls(text)
        if not 0 < weight <= MAX_WEIGHT:
            raise UserError(
                f"expected a weight above 0, at most {MAX_WEIGHT}, got {text}: leave a source out "
                "that is not to be read"
            )
        return cls(spec, weight)


@dataclasses.dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """Token pairs that are ready for training, with their vocabulary, as those on disk in `folder`.

    `sizes` are (number of pairs, weight) of each source, for each direction; `report` says what was
    kept and dropped.
    """

    pairs: TokenPairs | TaggedPairs
    sizes: tuple[tuple[int, float], ...]
    tokenizer: Tokenizer
    report: Mapping[str, Any]
    folder: Path | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PreparedFolder:
    """The content of `prepared.json`: the settings of a training command about its text.

    `both`: each pair trains both directions. `max_len` is at least the longest side, in pieces, end
    mark included. `sources` are SPEC@WEIGHT, `dev` and `test` TSV files in `path`, the folder.
    """

    path: Path
    langs: Direction
    both: bool
    max_len: int
    sources: tuple[str, ...]
    dev: tuple[str, ...]
    test: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> "PreparedFolder":
        """Read a folder that `export` made; a defect, or a changed file, is a UserError."""
        try:
            values = json.loads(read_bytes(path / PREPARED))
            if values.pop("format") != FORMAT:
                raise ValueError("another format, of another version of this program")
            for kind in ("dev", "test"):
                values[kind] = tuple(str(path / name) for name in values[kind])
            src_lang, tgt_lang = values.pop("langs")
            values["sources"] = tuple(values["sources"])
            folder = cls(path=path, langs=(src_lang, tgt_lang), **values)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(
                f"expected a folder made by train.py --prepare-only --prepared in {path}: {error}"
            ) from error
        if not is_intact(path):
            raise UserError(
                f"expected the files of {path} as {locate.CHECKSUMS} lists them; one of them is "
                "missing, damaged or cut short: copy the folder again"
            )
        return folder


def is_intact(folder: Path) -> bool:
    """Return whether a folder has a tokenised corpus that matches its checksums, if any."""
    try:
        path = folder / locate.CHECKSUMS
        saved = read_bytes(path).decode() if path.exists() else ""
        names = [line.partition("  ")[2] for line in saved.splitlines()]
        return (folder / REPORT).is_file() and saved == locate.checksum_lines(folder, names)
    except (OSError, ValueError):
        return False


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files below a folder into its SHA256SUMS."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != locate.CHECKSUMS)
    locate.write_checksums(folder, [path.relative_to(folder).as_posix() for path in files])


def export(
    data: PreparedCorpus, folder: Path, values: Mapping[str, Any],
    sets: Mapping[str, Sequence[str]],
) -> None:  # fmt: skip
    """Export a tokenised corpus with everything that `train` needs of the text, atomically.

    `values` are the fields of `PreparedFolder` but `path` and the sets; `sets` the TSV texts, by
    `dev` and `test`. ValueError if the corpus is not on the disk, UserError if `folder` cannot be
    written.
    """
    if data.folder is None:
        raise ValueError("expected a corpus that lies on the disk")
    with atomic_folder(folder) as new:
        shutil.copytree(data.folder, new, dirs_exist_ok=True)
        (new / SETS).mkdir()
        names: dict[str, list[str]] = {kind: [] for kind in sets}
        for kind, texts in sets.items():
            for number, text in enumerate(texts, 1):
                names[kind].append(f"{SETS}/{kind}-{number}.tsv")
                (new / names[kind][-1]).write_text(text, encoding="utf-8", newline="\n")
        content = json.dumps({"format": FORMAT, **values, **names}, ensure_ascii=False, indent=2)
        (new / PREPARED).write_text(content + "\n", encoding="utf-8")
        write_checksums(new)


def token_pairs(table: pa.Table) -> TokenPairs:
    """Return views of the id lists in the columns src and tgt of a table, without a copy."""
    columns = [table.column(name).chunks for name in ("src", "tgt")]
    return TokenPairs(
        *([(c.offsets.to_numpy(), c.values.to_numpy()) for c in column] for column in columns)
    )


def open_corpus(
    folder: Path, sources: Sequence[Source], langs: Direction, both: bool
) -> PreparedCorpus:
    """Open a tokenised corpus, each source with its weight in `sources`, or 0 if not named.

    With `both` directions each pair is read in each, its source behind the tag of the target
    language; but never with a target that a machine wrote. UserError for a source that the corpus
    was not prepared from.
    """
    report = json.loads(read_bytes(folder / REPORT))
    specs = [entry["spec"] for entry in report["sources"]]
    kept = [entry["counts"].get("kept", 0) for entry in report["sources"]]
    if unknown := [source.spec for source in sources if source.spec not in specs]:
        raise UserError(
            f"expected sources that {folder} was prepared from, got {unknown[0]}; it has "
            f"{', '.join(specs)}"
        )
    by_spec = {source.spec: source.weight for source in sources}
    weights = [by_spec.get(spec, 0.0) for spec in specs]
    files = json.loads(read_bytes(folder / TOKENS / "state.json"))["_data_files"]
    paths = [str(folder / TOKENS / file["filename"]) for file in files]
    table = pa.concat_tables(pa.ipc.open_stream(pa.memory_map(path)).read_all() for path in paths)
    pairs, tokenizer = token_pairs(table), Tokenizer.load(folder / VOCABULARY)
    if not both:
        sizes = tuple(zip(kept, weights, strict=True))
        return PreparedCorpus(pairs, sizes, tokenizer, report, folder)
    made = table.column("made").to_numpy()
    views = [
        DirectionView(np.flatnonzero(made & side == 0), swapped, tokenizer.tag_id(target_tag(lang)))
        for side, swapped, lang in (
            (SYNTHETIC_TARGET, False, langs[1]), (SYNTHETIC_SOURCE, True, langs[0])
        )
    ]  # fmt: skip
    ends = np.cumsum(kept)
    counts = [np.diff(np.searchsorted(view.rows, ends), prepend=0) for view in views]
    sizes = tuple(pair for n in counts for pair in zip(n.tolist(), weights, strict=True))
    return PreparedCorpus(TaggedPairs(pairs, views), sizes, tokenizer, report, folder)
