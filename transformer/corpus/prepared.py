"""A tokenised corpus on the disk, opened by mapping it into memory; a folder of it to carry away.

tokens/           the ids of each pair, Arrow streams
tokenizer.model   the vocabulary
report.json       what was kept and dropped of each source
SHA256SUMS        what the files were when they were made

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
from numpy.typing import NDArray

from transformer.checkpoint.locate import SUMS, sums_of, write_sums
from transformer.config import Direction, UserError, target_tag
from transformer.corpus.batching import Reading, TaggedPairs, TokenPairs
from transformer.corpus.cleaning import SOURCE_MADE, TARGET_MADE
from transformer.files import read_bytes, replaced_folder
from transformer.text.tokenizer import Tokenizer

TOKENS, VOCABULARY, REPORT = "tokens", "tokenizer.model", "report.json"
PREPARED, SETS = "prepared.json", "sets"
FORMAT = 1  # of `prepared.json`
HEAVIEST = 1000  # weight of a source


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A named corpus, and how often each of its pairs is seen in an epoch."""

    spec: str
    weight: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Source":
        """Reads `SPEC` or `SPEC@WEIGHT`; a weight out of its bounds is a UserError."""
        spec, _, number = text.rpartition("@")
        try:
            weight = float(number if spec else "")
        except ValueError:
            return cls(text)
        if not 0 < weight <= HEAVIEST:
            raise UserError(
                f"expected a weight above 0, at most {HEAVIEST}, got {text}: leave a source out "
                "that is not to be read"
            )
        return cls(spec, weight)


@dataclasses.dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """A corpus that is ready for training."""

    pairs: TokenPairs | TaggedPairs
    sizes: tuple[tuple[int, float], ...]  # kept pairs and weight of each source, a direction each
    tokenizer: Tokenizer
    report: Mapping[str, Any]
    folder: Path | None = None  # where its tokens lie


@dataclasses.dataclass(frozen=True, slots=True)
class PreparedFolder:
    """What `prepared.json` says: all of a training command that belongs to the text."""

    path: Path
    langs: Direction
    both: bool
    max_len: int  # of the longest side, in pieces, end mark included, at most
    sources: tuple[str, ...]  # SPEC@WEIGHT, as they were named
    dev: tuple[str, ...]  # files, as TSV
    test: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> "PreparedFolder":
        """Opens a folder that `export` made; a defect, or a changed file, is a UserError."""
        try:
            values = json.loads(read_bytes(path / PREPARED))
            if values.pop("format") != FORMAT:
                raise ValueError("another format, of another version of this program")
            dev, test = (
                tuple(str(path / name) for name in values.pop(kind)) for kind in ("dev", "test")
            )
            src_lang, tgt_lang = values.pop("langs")
            sources = tuple(values.pop("sources"))
            folder = cls(
                path=path, langs=(src_lang, tgt_lang), sources=sources, dev=dev, test=test, **values
            )
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(
                f"expected a folder made by train.py --prepare-only --prepared in {path}: {error}"
            ) from error
        if not is_whole(path):
            raise UserError(
                f"expected the files of {path} as {SUMS} notes them; one of them is missing, "
                "damaged or cut short: copy the folder again"
            )
        return folder


def is_whole(folder: Path) -> bool:
    """Whether a tokenised corpus is there, as it was made; older ones noted no sums."""
    try:
        noted = read_bytes(folder / SUMS).decode() if (folder / SUMS).exists() else ""
        names = [line.partition("  ")[2] for line in noted.splitlines()]
        return (folder / REPORT).is_file() and noted == sums_of(folder, names)
    except (OSError, ValueError):
        return False


def note_sums(folder: Path) -> None:
    """Notes what all files below a folder are."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != SUMS)
    write_sums(folder, [path.relative_to(folder).as_posix() for path in files])


def export(
    data: PreparedCorpus, folder: Path, values: Mapping[str, Any],
    sets: Mapping[str, Sequence[str]],
) -> None:  # fmt: skip
    """Makes a folder to carry away of a tokenised corpus, whole or not at all.

    `values` are the fields of `PreparedFolder` but the sets; `sets` the contents of those.
    """
    if data.folder is None:
        raise ValueError("expected a corpus that lies on the disk")
    with replaced_folder(folder) as new:
        shutil.copytree(data.folder, new, dirs_exist_ok=True)
        (new / SETS).mkdir()
        named: dict[str, list[str]] = {}
        for kind, texts in sets.items():
            named[kind] = [f"{SETS}/{kind}-{number}.tsv" for number in range(1, len(texts) + 1)]
            for name, text in zip(named[kind], texts, strict=True):
                (new / name).write_text(text, encoding="utf-8", newline="\n")
        text = json.dumps({"format": FORMAT, **values, **named}, ensure_ascii=False, indent=2)
        (new / PREPARED).write_text(text + "\n", encoding="utf-8")
        note_sums(new)


def open_tokens(folder: Path) -> pa.Table:
    """The pairs of a tokenised corpus, mapped into memory: columns src, tgt and made."""
    files = json.loads(read_bytes(folder / TOKENS / "state.json"))["_data_files"]
    paths = [folder / TOKENS / file["filename"] for file in files]
    return pa.concat_tables(pa.ipc.open_stream(pa.memory_map(str(p))).read_all() for p in paths)


def token_pairs(table: pa.Table) -> TokenPairs:
    """Views of the memory-mapped columns, without a copy."""
    columns = [table.column(name).chunks for name in ("src", "tgt")]
    chunks = [[(c.offsets.to_numpy(), c.values.to_numpy()) for c in column] for column in columns]
    return TokenPairs(*chunks)


def open_corpus(
    folder: Path, sources: Sequence[Source], langs: Direction, both: bool
) -> PreparedCorpus:
    """Opens a tokenised corpus, each source with the weight that `sources` gives it.

    A source that is not named has the weight 0. Of `both` directions each pair is read twice,
    forth and back, a source behind the tag of what to write; never with a target that a machine
    wrote.
    """
    report = json.loads(read_bytes(folder / REPORT))
    specs = [entry["spec"] for entry in report["sources"]]
    kept = [entry["counts"].get("kept", 0) for entry in report["sources"]]
    if strange := [source.spec for source in sources if source.spec not in specs]:
        raise UserError(
            f"expected sources that {folder} was prepared from, got {strange[0]}; it has "
            f"{', '.join(specs)}"
        )
    by_spec = {source.spec: source.weight for source in sources}
    weights = [by_spec.get(spec, 0.0) for spec in specs]
    table = open_tokens(folder)
    pairs, tokenizer = token_pairs(table), Tokenizer.load(folder / VOCABULARY)
    if not both:
        sizes = tuple(zip(kept, weights, strict=True))
        return PreparedCorpus(pairs, sizes, tokenizer, report, folder)
    readings = _readings(table.column("made").to_numpy().astype(np.int64), langs, tokenizer)
    ends = np.cumsum(kept)
    counts = [np.diff(np.searchsorted(reading.rows, ends), prepend=0) for reading in readings]
    sizes = tuple(pair for n in counts for pair in zip(n.tolist(), weights, strict=True))
    return PreparedCorpus(TaggedPairs(pairs, readings), sizes, tokenizer, report, folder)


def _readings(made: NDArray[np.int64], langs: Direction, tokenizer: Tokenizer) -> list[Reading]:
    """All pairs from source to target and back, but no target that a machine wrote."""
    ways = (TARGET_MADE, False, langs[1]), (SOURCE_MADE, True, langs[0])
    return [
        Reading(np.flatnonzero(made & side == 0), swapped, tokenizer.tag(target_tag(lang)))
        for side, swapped, lang in ways
    ]
