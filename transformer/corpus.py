"""From named sources to token ids on the disk: read, clean, deduplicate, tokenise, memory-map.

The only module that imports `datasets`. What comes out (`Prepared`) never lies in memory as a
whole, so a corpus larger than memory trains. Knows no tensor and no model.
"""

import contextlib
import dataclasses
import functools
import gzip
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from transformer.batching import TokenPairs
from transformer.cleaning import REASONS, comparable, defect, key, tidy
from transformer.config import CorpusConfig, UserError
from transformer.sources import (
    Languages,
    Pair,
    moses_files,
    pick,
    read_json_lines,
    read_moses,
    read_tmx,
    read_tsv,
)
from transformer.tokenizer import Tokenizer

logger = logging.getLogger(__name__)
KEPT, DUPLICATE, HELD_OUT, LONG = (
    REASONS.index(r) for r in ("kept", "duplicate", "in the dev or test sets", "too many pieces")
)
EXAMPLES = 3  # dropped pairs that the report shows for each reason


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A named corpus, and how often each of its pairs is seen in an epoch."""

    spec: str
    weight: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Source":
        """Reads `SPEC` or `SPEC@WEIGHT`."""
        spec, mark, weight = text.rpartition("@")
        with contextlib.suppress(ValueError):
            if mark and float(weight) > 0:
                return cls(spec, float(weight))
        return cls(text)


def _read_hub(spec: str, langs: Languages) -> Iterator[Pair]:
    """`NAME[:CONFIG[:SPLIT]]`, streamed; a local folder laid out as on the hub does as well."""
    name, config, split = (*spec.split(":"), "", "")[:3]
    try:
        rows = datasets.load_dataset(name, config or None, split=split or "train", streaming=True)
        for number, row in enumerate(rows, 1):
            yield pick(row, langs, f"hub:{spec}, row {number}")
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise UserError(f"expected a hub data set hub:{spec}: {error}") from error


def _read_parquet(path: Path, langs: Languages) -> Iterator[Pair]:
    """A Parquet file, streamed; a gzipped one is unpacked beside the temporary files first."""
    if not path.is_file():
        raise UserError(f"expected the file {path}: there is none of that name")
    with tempfile.TemporaryDirectory() as folder:
        if path.suffix == ".gz":
            plain = Path(folder) / "plain.parquet"
            with gzip.open(path) as packed, plain.open("wb") as file:
                shutil.copyfileobj(packed, file)
        else:
            plain = path
        try:
            rows = datasets.load_dataset(
                "parquet", data_files=str(plain), split="train", streaming=True
            )
            for number, row in enumerate(rows, 1):
                yield pick(row, langs, f"{path}, row {number}")
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            raise UserError(f"expected Parquet in {path}: {error}") from error


READERS: Mapping[str, Callable[[Path, Languages], Iterator[Pair]]] = {
    ".parquet": _read_parquet,
    ".jsonl": read_json_lines,
    ".json": read_json_lines,
    ".tsv": read_tsv,
    ".tmx": read_tmx,
}


def read_pairs(spec: str, src_lang: str, tgt_lang: str) -> Iterator[Pair]:
    """The (source, target) texts of a source, one by one, as they stand in it.

    A spec is a .parquet, .jsonl, .tsv or .tmx file, a Moses pair (`corpus.es,corpus.en`, or
    `corpus`), each also gzipped, or `hub:NAME[:CONFIG[:SPLIT]]`. Defects are UserErrors.
    """
    langs = (src_lang, tgt_lang)
    if spec.startswith("hub:"):
        return _read_hub(spec.removeprefix("hub:"), langs)
    suffix = Path(spec.removesuffix(".gz")).suffix
    if suffix in READERS:
        return READERS[suffix](Path(spec), langs)
    files = moses_files(spec, langs)
    if files is None:
        raise UserError(
            f"expected a corpus ({', '.join(READERS)}, each also .gz, a Moses pair "
            f"corpus.{src_lang},corpus.{tgt_lang}, or hub:NAME:CONFIG), got {spec!r}"
        )
    return read_moses(files)


@dataclasses.dataclass(frozen=True, slots=True)
class Prepared:
    """A corpus that is ready for training."""

    pairs: TokenPairs
    sizes: tuple[tuple[int, float], ...]  # kept pairs and weight of each source, in order
    tokenizer: Tokenizer
    report: Mapping[str, Any]


def _read_all(specs: Sequence[str], langs: Languages, limit: int) -> Iterator[dict[str, Any]]:
    for number, spec in enumerate(specs):
        for row, (src, tgt) in enumerate(read_pairs(spec, *langs)):
            if limit and row >= limit:
                break
            yield {"src": tidy(src), "tgt": tidy(tgt), "source": number}


def _judge(
    rows: Mapping[str, list[Any]],
    langs: Languages,
    config: CorpusConfig,
    held_out: frozenset[int],
) -> dict[str, list[int]]:
    """The reason of each pair as far as the pair alone tells, and its key."""
    reasons, keys = [], []
    for src, tgt in zip(rows["src"], rows["tgt"], strict=True):
        reason = REASONS.index(defect(src, tgt, langs, config))
        sides = [key(comparable(text)) for text in (src, tgt)] if reason == KEPT else []
        reasons.append(HELD_OUT if held_out.intersection(sides) else reason)
        keys.append(key(f"{src}\t{tgt}"))
    return {"reason": reasons, "key": keys}


@functools.lru_cache(maxsize=1)
def _tokenizer(model: bytes) -> Tokenizer:
    return Tokenizer(model)


def _tokenise(rows: Mapping[str, list[Any]], model: bytes) -> dict[str, Any]:
    return {name: _tokenizer(model).encode_all(rows[name]) for name in ("src", "tgt")}


def _column(dataset: datasets.Dataset, name: str) -> NDArray[np.int64]:
    batches = dataset.select_columns([name]).with_format("numpy").iter(100_000)
    return np.concatenate([np.empty(0, np.int64), *(batch[name] for batch in batches)])


def _token_pairs(dataset: datasets.Dataset) -> TokenPairs:
    """Views of the memory-mapped Arrow columns, without a copy."""
    columns = [dataset.data.column(name).chunks for name in ("src", "tgt")]
    chunks = [[(c.offsets.to_numpy(), c.values.to_numpy()) for c in column] for column in columns]
    return TokenPairs(*chunks)


def _read_raw(specs: Sequence[str], langs: Languages, limit: int, folder: str) -> datasets.Dataset:
    """All pairs of all sources on the disk, tidied, in their order."""
    features = datasets.Features({
        "src": datasets.Value("large_string"),
        "tgt": datasets.Value("large_string"),
        "source": datasets.Value("int16"),
    })  # fmt: skip
    arguments = {"specs": list(specs), "langs": langs, "limit": limit}
    try:
        return datasets.Dataset.from_generator(
            _read_all, features=features, cache_dir=folder, gen_kwargs=arguments
        )
    except datasets.exceptions.DatasetGenerationError as error:
        cause = error.__cause__
        raise (cause if isinstance(cause, UserError) else UserError(f"{specs}: {error}")) from error


def _sentences(raw: datasets.Dataset, kept: NDArray[np.int64], limit: int) -> Iterator[str]:
    """Both sides of evenly spread pairs, at most `limit` texts."""
    spread = kept[:: max(1, -(-2 * len(kept) // limit))]
    for batch in raw.select(spread).iter(1000):
        yield from batch["src"]
        yield from batch["tgt"]


@dataclasses.dataclass(frozen=True, slots=True)
class _Job:
    """What a cache is made of; its digest is the cache's name."""

    specs: tuple[str, ...]
    langs: Languages
    config: CorpusConfig
    vocab_size: int
    max_len: int
    held_out: frozenset[int]
    tokenizer: Tokenizer | None

    def digest(self) -> str:
        files = []
        for spec in self.specs:
            for path in moses_files(spec, self.langs) or (Path(spec),):
                status = path.stat() if path.is_file() else None
                files.append((spec, status and (status.st_size, status.st_mtime_ns)))
        model = hashlib.sha256(self.tokenizer.model).hexdigest() if self.tokenizer else None
        config = dataclasses.asdict(self.config) | {"workers": 0}
        parts = [files, self.langs, config, self.vocab_size, self.max_len, sorted(self.held_out)]
        return hashlib.sha256(json.dumps([*parts, model]).encode()).hexdigest()[:16]


def _build(job: _Job, folder: Path) -> None:
    """Writes the token cache and its report into an empty folder."""
    workers = job.config.workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        raw = _read_raw(job.specs, job.langs, job.config.max_pairs, work)
        if not len(raw):
            raise UserError(f"expected sentence pairs in {', '.join(job.specs)}, got none")
        options = {"batched": True, "num_proc": workers if len(raw) > 20_000 else None}
        judge = functools.partial(_judge, langs=job.langs, config=job.config, held_out=job.held_out)
        judged = raw.map(
            judge,
            remove_columns=raw.column_names,
            cache_file_name=f"{work}/judged.arrow",
            **options,
        )
        reasons = _column(judged, "reason").copy()
        kept = np.flatnonzero(reasons == KEPT)
        _, first = np.unique(_column(judged, "key")[kept], return_index=True)
        reasons[np.delete(kept, first)] = DUPLICATE
        kept = np.flatnonzero(reasons == KEPT)
        if not len(kept):
            raise UserError(f"expected pairs worth keeping, got {_counts(reasons)}")
        tokenizer = job.tokenizer or Tokenizer.train(
            _sentences(raw, kept, job.config.tokenizer_sample),
            job.vocab_size,
            job.config.tokenizer,
            workers,
        )
        ids = datasets.List(datasets.Value("uint16" if job.vocab_size <= 2**16 else "int32"))
        tokens = raw.select(kept).map(
            functools.partial(_tokenise, model=tokenizer.model),
            remove_columns=raw.column_names,
            features=datasets.Features({"src": ids, "tgt": ids}),
            cache_file_name=f"{work}/tokens.arrow",
            **options,
        )
        lengths = np.maximum(*_token_pairs(tokens).lengths)
        fits = lengths <= job.max_len
        reasons[kept[~fits]] = LONG
        if not fits.all() and not job.config.drop_long:
            worst = int(kept[int(lengths.argmax())])
            raise UserError(
                f"expected at most max_len = {job.max_len} pieces a side, end mark included; got "
                f"{lengths.max()} in {raw[worst]['src'][:60]!r} and more than that in "
                f"{int((~fits).sum())} pairs. Raise --max-len, or drop them with --drop-long"
            )
        tokens.select(np.flatnonzero(fits)).save_to_disk(folder / "tokens")
        (folder / "tokenizer.model").write_bytes(tokenizer.model)
        report = _report(job.specs, raw, reasons, _column(raw, "source"))
        text = json.dumps(report, ensure_ascii=False, indent=2)
        (folder / "report.json").write_text(text + "\n", encoding="utf-8")


def _counts(reasons: NDArray[np.int64]) -> dict[str, int]:
    found = np.bincount(reasons, minlength=len(REASONS))
    return {name: int(count) for name, count in zip(REASONS, found, strict=True) if count}


def _report(
    specs: Sequence[str],
    raw: datasets.Dataset,
    reasons: NDArray[np.int64],
    source: NDArray[np.int64],
) -> dict[str, Any]:
    """What was kept and dropped of each source, with examples of every reason."""
    examples = {}
    for number, reason in enumerate(REASONS[1:], 1):
        rows = raw.select(np.flatnonzero(reasons == number)[:EXAMPLES])
        if len(rows):
            examples[reason] = [[row["src"], row["tgt"]] for row in rows]
    return {
        "read": len(raw),
        "counts": _counts(reasons),
        "sources": [
            {"spec": spec, "counts": _counts(reasons[source == number])}
            for number, spec in enumerate(specs)
        ],
        "dropped_examples": examples,
    }


def prepare(
    sources: Sequence[Source],
    held_out: Iterable[Pair],
    langs: Languages,
    config: CorpusConfig,
    *,
    vocab_size: int,
    max_len: int,
    cache: Path,
    tokenizer: Tokenizer | None = None,
) -> Prepared:
    """Makes the token cache of these sources below `cache`, or opens the one made before.

    Pairs with a side that stands in `held_out` (dev and test sets) are dropped. Without a
    tokeniser one is trained on the kept pairs. Defects of the sources are UserErrors; the cache
    appears whole or not at all.
    """
    sides = (key(comparable(tidy(text))) for pair in held_out for text in pair)
    specs = tuple(source.spec for source in sources)
    job = _Job(specs, langs, config, vocab_size, max_len, frozenset(sides), tokenizer)
    folder = cache / job.digest()
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        datasets.disable_progress_bars()
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
        try:
            _build(job, new)
            with contextlib.suppress(FileExistsError, NotADirectoryError):
                if not folder.is_dir():  # another node may have been faster
                    new.rename(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    kept = [one["counts"].get("kept", 0) for one in report["sources"]]
    return Prepared(
        pairs=_token_pairs(datasets.load_from_disk(folder / "tokens")),
        sizes=tuple((n, source.weight) for n, source in zip(kept, sources, strict=True)),
        tokenizer=Tokenizer.load(folder / "tokenizer.model"),
        report=report,
    )
