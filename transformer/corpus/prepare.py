"""Prepare a corpus: read, clean, deduplicate and tokenise named sources into a cache on disk.

The pairs are never in memory as a whole, so that a corpus can be larger than memory.
"""

import contextlib
import ctypes
import dataclasses
import functools
import hashlib
import itertools
import json
import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from transformer.command import os_errors_as_user_errors
from transformer.config import (
    BACK_TRANSLATED,
    COPIED,
    CorpusConfig,
    Direction,
    ModelConfig,
    SentencePair,
    UserError,
    source_tags,
)
from transformer.corpus import cleaning, prepared
from transformer.corpus.cleaning import BAD_ROW, SYNTHETIC_SOURCE, TAGGED, DropReason
from transformer.corpus.prepared import PreparedCorpus, Source, open_corpus
from transformer.corpus.readers import HUB, BadRowError, moses_files, read_pairs
from transformer.text.tokenizer import Tokenizer

CACHE_FORMAT = 2  # part of every digest: raise it when rules of cleaning or the files change
SKIP_BAD_HINT = "--skip-bad skips such rows"
N_EXAMPLES = 3  # dropped pairs that the report shows for each reason
MIN_PARALLEL = 20_000  # pairs that are worth more than one process
STALE_SECONDS = 24 * 60 * 60  # age of a temporary folder whose process must have been killed
logger = logging.getLogger(__name__)


@contextlib.contextmanager
def log_duration(work: str, log: Callable[[str], object], every: float = 10.0) -> Iterator[None]:
    """Log when some work begins and ends, and every `every` seconds how long it has taken."""
    start, ended = time.monotonic(), threading.Event()

    def log_progress() -> None:
        while not ended.wait(every):
            log(f"{work}: {time.monotonic() - start:.0f} s so far")

    log(work)
    thread = threading.Thread(target=log_progress, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    log(f"{work}: done in {time.monotonic() - start:.1f} s")


@dataclasses.dataclass(frozen=True, slots=True)
class CacheKey:
    """All that a cache of tokens depends on; its digest is the name of the cache.

    `held_out` are hashes of the texts of the dev and test sets. Without a `tokenizer` one is
    trained. `both`: each pair is read in both directions.
    """

    specs: tuple[str, ...]
    langs: Direction
    config: CorpusConfig
    vocab_size: int
    max_len: int
    held_out: frozenset[int]
    tokenizer: Tokenizer | None
    both: bool = False

    def digest(self) -> str:
        """Return 16 hexadecimal digits; of a file they depend on size and date, not content."""
        files = []
        for spec in self.specs:
            if spec.startswith(HUB):  # a local folder, or nothing
                folder = Path(spec.removeprefix(HUB).split(":")[0])
                paths: Sequence[Path] = sorted(p for p in folder.rglob("*") if p.is_file())
            else:
                paths = moses_files(spec, self.langs) or (Path(spec),)
            for path in paths:
                status = path.stat() if path.is_file() else None
                files.append((spec, status and (status.st_size, status.st_mtime_ns)))
        model = hashlib.sha256(self.tokenizer.model).hexdigest() if self.tokenizer else None
        config = dataclasses.asdict(self.config) | {"workers": 0}
        for name in ("skip_bad", "columns", "swap"):
            if not config[name]:
                del config[name]  # so that caches of versions without them stay valid
        parts = [CACHE_FORMAT, files, self.langs, config, self.vocab_size, self.max_len]
        parts += ["both"] if self.both else []
        text = json.dumps([*parts, sorted(self.held_out), model])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def split_marker(text: str, side: int) -> tuple[str, int]:
    """Split the marker off a side of a pair; return the text and the marker's bits of `made`.

    `side` is SYNTHETIC_SOURCE or SYNTHETIC_TARGET. `<bt> ...` is synthetic text, never trained on
    as a target, and as a source behind a tag (Caswell et al. 2019): `side | TAGGED`. `<copy> ...`
    is the same without the tag, and may equal the other side: `side`. Without a marker: 0.
    """
    for marker, made in ((BACK_TRANSLATED, side | TAGGED), (COPIED, side)):
        if text.startswith(marker):
            return text.removeprefix(marker).lstrip(), made
    return text, 0


def _read_rows(
    specs: Sequence[str], langs: Direction, config: CorpusConfig
) -> Iterator[dict[str, Any]]:
    """Yield pairs, normalized, as {src, tgt, source: index, made: bits}; UserError if none."""
    is_empty = True
    for number, spec in enumerate(specs):
        bad_rows: list[str] = []
        pairs = read_pairs(spec, *langs, bad_rows if config.skip_bad else None, config)
        for pair in itertools.chain(itertools.islice(pairs, config.max_pairs or None), [None]):
            for message in bad_rows:
                yield {"src": message, "tgt": "", "source": number, "made": BAD_ROW}
            bad_rows.clear()
            if pair is not None:
                src, made_src = split_marker(cleaning.normalize(pair[0]), SYNTHETIC_SOURCE)
                tgt, made_tgt = split_marker(cleaning.normalize(pair[1]), cleaning.SYNTHETIC_TARGET)
                yield {"src": src, "tgt": tgt, "source": number, "made": made_src | made_tgt}
                is_empty = False
    if is_empty:
        raise UserError(f"expected sentence pairs in {', '.join(specs)}, got none")


def _load_pairs(
    specs: Sequence[str], langs: Direction, config: CorpusConfig, folder: str
) -> datasets.Dataset:
    """Read all sources into a data set in `folder`: src, tgt, index of its source, bits `made`."""
    types = {"src": "string", "tgt": "string", "source": "int16", "made": "int8"}
    features = datasets.Features({name: datasets.Value(kind) for name, kind in types.items()})
    # A tuple: of a list, `datasets` makes shards and calls the generator for each spec alone.
    arguments = {"specs": tuple(specs), "langs": langs, "config": config}
    try:
        return datasets.Dataset.from_generator(
            _read_rows, features=features, cache_dir=folder, gen_kwargs=arguments
        )
    except datasets.exceptions.DatasetGenerationError as error:
        if isinstance(error.__cause__, BadRowError):
            raise UserError(f"{error.__cause__}; {SKIP_BAD_HINT}") from None
        if isinstance(error.__cause__, UserError | OSError):
            raise error.__cause__ from None
        raise


def _column(dataset: datasets.Dataset, name: str) -> NDArray[np.int64]:
    batches = dataset.select_columns([name]).with_format("numpy").iter(100_000)
    return np.concatenate([np.empty(0, np.int64), *(batch[name] for batch in batches)])


def _drop_reasons(raw: datasets.Dataset, cache_key: CacheKey, **options: Any) -> NDArray[np.int8]:
    """Return each pair's drop reason, TOO_MANY_PIECES excepted; `options` are of `Dataset.map`."""
    arguments = {name: getattr(cache_key, name) for name in ("langs", "config", "held_out", "both")}
    judged = raw.map(functools.partial(cleaning.drop_reasons, **arguments), **options)
    reasons = _column(judged, "reason").astype(np.int8)
    kept = np.flatnonzero(reasons == DropReason.KEPT)
    _, first = np.unique(_column(judged, "key")[kept], return_index=True)
    reasons[np.delete(kept, first)] = DropReason.DUPLICATE
    return reasons


def _train_tokenizer(raw: datasets.Dataset, kept: NDArray[np.int64], key: CacheKey) -> Tokenizer:
    """Train on texts spread evenly over the rows `kept`, none synthetic; UserError if too few."""

    def sentences() -> Iterator[str]:
        spread = kept[:: max(1, -(-2 * len(kept) // key.config.tokenizer_sample))]
        for batch in raw.select(spread).iter(1000):
            for name, side in (("src", SYNTHETIC_SOURCE), ("tgt", cleaning.SYNTHETIC_TARGET)):
                for text, made in zip(batch[name], batch["made"], strict=True):
                    if not made & side:
                        yield text

    with log_duration(f"making a vocabulary of {key.vocab_size:,} pieces", logger.info):
        tags = source_tags(key.langs)
        tokenizer = Tokenizer.train(sentences(), key.vocab_size, key.config.tokenizer, tags)
    with contextlib.suppress(OSError, AttributeError):  # glibc keeps what the training freed
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return tokenizer


def _tokenise(rows: Mapping[str, list[Any]], tokenizer: Tokenizer) -> dict[str, Any]:
    ids = {name: tokenizer.encode_batch(rows[name]) for name in ("src", "tgt")}
    for i, made in enumerate(rows["made"]):
        if made & TAGGED:
            side = "src" if made & SYNTHETIC_SOURCE else "tgt"
            ids[side][i].insert(0, tokenizer.tag_id(BACK_TRANSLATED))
    return {**ids, "made": rows["made"]}


def _check_lengths(
    raw: datasets.Dataset, kept: NDArray[np.int64], lengths: NDArray[np.int64], max_len: int
) -> None:
    if n_long := int((lengths > max_len).sum()):
        longest = int(lengths.argmax())
        row = raw[int(kept[longest])]
        raise UserError(
            f"expected at most max_len = {max_len} pieces a side, end mark included; got "
            f"{lengths[longest]} in {max(row['src'], row['tgt'], key=len)[:60]!r}, and too many in "
            f"{n_long} pairs. Raise --max-len, or drop them with --drop-long"
        )


def _kept_rows(reasons: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the rows of the kept pairs; none is a UserError."""
    kept = np.flatnonzero(reasons == DropReason.KEPT)
    if not len(kept):
        counts = cleaning.format_counts(cleaning.count_reasons(reasons))
        raise UserError(f"expected pairs worth keeping, got {counts}")
    return kept


def _build(cache_key: CacheKey, work: Path) -> Path:
    """Build a cache in a folder within the temporary folder `work`, and return this folder."""
    config, workers = cache_key.config, cache_key.config.workers or os.cpu_count() or 1
    with log_duration("reading the corpus", logger.info):
        raw = _load_pairs(cache_key.specs, cache_key.langs, config, str(work))
    options = {
        "batched": True,
        "num_proc": workers if len(raw) > MIN_PARALLEL else None,
        "remove_columns": raw.column_names,
    }
    with log_duration(f"cleaning {len(raw):,} pairs", logger.info):
        reasons = _drop_reasons(raw, cache_key, cache_file_name=f"{work}/judged.arrow", **options)
    kept = _kept_rows(reasons)
    tokenizer = cache_key.tokenizer or _train_tokenizer(raw, kept, cache_key)
    ids = datasets.List(datasets.Value("uint16" if tokenizer.vocab_size <= 2**16 else "int32"))
    with log_duration(f"cutting {len(kept):,} pairs into pieces", logger.info):
        tokens = raw.select(kept).map(
            functools.partial(_tokenise, tokenizer=tokenizer),
            features=datasets.Features({"src": ids, "tgt": ids, "made": datasets.Value("int8")}),
            cache_file_name=f"{work}/tokens.arrow",
            **options,
        )
    n_tags = int(cache_key.both)
    lengths = np.maximum(*prepared.token_pairs(tokens.data).lengths) + n_tags
    if not config.drop_long:
        _check_lengths(raw, kept, lengths, cache_key.max_len)
    fits = lengths <= cache_key.max_len
    reasons[kept[~fits]] = DropReason.TOO_MANY_PIECES
    _kept_rows(reasons)
    folder = work / "whole"
    tokens.select(np.flatnonzero(fits)).save_to_disk(folder / prepared.TOKENS)
    (folder / prepared.VOCABULARY).write_bytes(tokenizer.model)
    examples = {}
    for reason in DropReason:
        rows = raw.select(np.flatnonzero(reasons == reason)[:N_EXAMPLES])
        examples[reason.label] = [(row["src"], row["tgt"]) for row in rows]
    report = cleaning.make_report(cache_key.specs, reasons, _column(raw, "source"), examples)
    text = json.dumps(report, ensure_ascii=False, indent=2)
    (folder / prepared.REPORT).write_text(text + "\n", encoding="utf-8")
    prepared.write_checksums(folder)
    return folder


def _make_cache(cache_key: CacheKey, folder: Path) -> None:
    """Build a cache atomically; remove temporary folders, of killed processes too."""
    for path in folder.parent.glob(".work-*"):
        if time.time() - path.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".work-") as work:
        new = _build(cache_key, Path(work))
        if folder.exists() and not prepared.is_intact(folder):  # else another process repaired it
            folder.rename(Path(work, "damaged"))
        try:
            new.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise


def prepare(
    sources: Sequence[Source],
    held_out: Iterable[SentencePair],
    directions: Sequence[Direction],
    config: CorpusConfig,
    model: ModelConfig,
    cache: Path,
    tokenizer: Tokenizer | None = None,
) -> PreparedCorpus:
    """Open the token cache of the sources below `cache`; build it first if it is not there.

    With two directions, one and its reverse, a source begins with the tag of its direction.
    Pairs with a side that occurs in `held_out` (dev and test sets) are dropped. Without a
    tokeniser one is trained on the kept pairs. Defects of the sources are UserErrors; the cache
    is written atomically.
    """
    texts = (cleaning.dedup_text(cleaning.normalize(text)) for pair in held_out for text in pair)
    specs = tuple(source.spec for source in sources)
    sizes = model.vocab_size, model.max_len
    langs, both = directions[0], len(directions) > 1
    hashes = frozenset(map(cleaning.text_hash, texts))
    cache_key = CacheKey(specs, langs, config, *sizes, hashes, tokenizer, both)
    folder = cache / cache_key.digest()
    if not prepared.is_intact(folder):
        if folder.exists():
            logger.warning("%s is damaged: the corpus is prepared anew", folder)
        with os_errors_as_user_errors(f"prepare the corpus in {folder}"):
            _make_cache(cache_key, folder)
    return open_corpus(folder, sources, langs, both)
