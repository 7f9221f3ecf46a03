"""From named sources to token ids on the disk: read, clean, deduplicate, tokenise, memory-map.

What comes out never lies in memory as a whole: a corpus larger than memory trains.
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

from transformer.command import able_to
from transformer.config import (
    BACK_TRANSLATED,
    COPIED,
    CorpusConfig,
    Direction,
    ModelConfig,
    SentencePair,
    UserError,
    tags_of,
)
from transformer.corpus import cleaning
from transformer.corpus.cleaning import NO_PAIR, SOURCE_MADE, TAGGED, TARGET_MADE, DropReason
from transformer.corpus.prepared import (
    REPORT,
    TOKENS,
    VOCABULARY,
    PreparedCorpus,
    Source,
    is_whole,
    note_sums,
    open_corpus,
    token_pairs,
)
from transformer.corpus.readers import HUB, BadRow, Refused, moses_files, read_pairs
from transformer.text.tokenizer import Tokenizer

CACHE_FORMAT = 2  # part of every digest: raise it when rules of cleaning or the files change
SKIP_BAD = "--skip-bad passes over such rows"
EXAMPLES = 3  # dropped pairs that the report shows for each reason
PARALLEL_FROM = 20_000  # pairs that are worth more than one process
A_DAY = 24 * 60 * 60  # seconds: what is left of a preparation for so long was killed
logger = logging.getLogger(__name__)


@contextlib.contextmanager
def timed(work: str, log: Callable[[str], object], every: float = 10.0) -> Iterator[None]:
    """Log what begins, each `every` seconds that it goes on, and in the end how long it took."""
    start, ended = time.monotonic(), threading.Event()

    def go_on() -> None:
        while not ended.wait(every):
            log(f"{work}: {time.monotonic() - start:.0f} s so far")

    log(work)
    watch = threading.Thread(target=go_on, daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()
    log(f"{work}: done in {time.monotonic() - start:.1f} s")


@dataclasses.dataclass(frozen=True, slots=True)
class CacheKey:
    """All that a cache depends on; its digest is the cache's name."""

    specs: tuple[str, ...]
    langs: Direction
    config: CorpusConfig
    vocab_size: int
    max_len: int
    held_out: frozenset[int]  # keys of the dev and test sides
    tokenizer: Tokenizer | None
    both: bool = False  # each pair is read in both directions

    def digest(self) -> str:
        """16 hexadecimal digits; a file counts by its size and date, not by its content."""
        files = []
        for spec in self.specs:
            for path in _files(spec, self.langs):
                status = path.stat() if path.is_file() else None
                files.append((spec, status and (status.st_size, status.st_mtime_ns)))
        model = hashlib.sha256(self.tokenizer.model).hexdigest() if self.tokenizer else None
        config = dataclasses.asdict(self.config) | {"workers": 0}
        for name in ("skip_bad", "columns", "swap"):
            if not config[name]:
                del config[name]  # caches from before it came stay good
        parts = [CACHE_FORMAT, files, self.langs, config, self.vocab_size, self.max_len]
        parts += ["both"] if self.both else []
        text = json.dumps([*parts, sorted(self.held_out), model])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _files(spec: str, langs: Direction) -> Sequence[Path]:
    """What a source is read from; nothing where it lies on the hub."""
    if spec.startswith(HUB):
        folder = Path(spec.removeprefix(HUB).split(":")[0])
        return sorted(path for path in folder.rglob("*") if path.is_file())
    return moses_files(spec, langs) or (Path(spec),)


def _read_all(
    specs: Sequence[str], langs: Direction, config: CorpusConfig
) -> Iterator[dict[str, Any]]:
    empty = True
    for number, spec in enumerate(specs):
        refused: Refused = []
        pairs = read_pairs(spec, *langs, refused if config.skip_bad else None, config)
        for src, tgt in itertools.islice(pairs, config.max_pairs or None):
            src, made_src = unmarked(cleaning.normalize(src), SOURCE_MADE)
            tgt, made_tgt = unmarked(cleaning.normalize(tgt), TARGET_MADE)
            yield {"src": src, "tgt": tgt, "source": number, "made": made_src | made_tgt}
            empty = False
            yield from _drained(refused, number)
        yield from _drained(refused, number)
    if empty:
        raise UserError(f"expected sentence pairs in {', '.join(specs)}, got none")


def _drained(refused: Refused, number: int) -> Iterator[dict[str, Any]]:
    """The rows of a source that were passed over, to be counted and shown as the dropped are."""
    while refused:
        yield {"src": refused.pop(0), "tgt": "", "source": number, "made": NO_PAIR}


def unmarked(text: str, side: int) -> tuple[str, int]:
    """A side of a pair without its mark, and what the mark says: bits of `made`.

    `<bt> ...` is machine-made text, never a target, and as a source told by a tag (Caswell et
    al. 2019); `<copy> ...` is that without the tag, and may equal the other side.
    """
    for mark, made in ((BACK_TRANSLATED, side | TAGGED), (COPIED, side)):
        if text.startswith(mark):
            return text.removeprefix(mark).lstrip(), made
    return text, 0


def _tokenise(rows: Mapping[str, list[Any]], tokenizer: Tokenizer) -> dict[str, Any]:
    ids = {name: tokenizer.encode_all(rows[name]) for name in ("src", "tgt")}
    for i, made in enumerate(rows["made"]):
        if made & TAGGED:
            ids["src" if made & SOURCE_MADE else "tgt"][i].insert(0, tokenizer.tag(BACK_TRANSLATED))
    return {**ids, "made": rows["made"]}


def _column(dataset: datasets.Dataset, name: str) -> NDArray[np.int64]:
    batches = dataset.select_columns([name]).with_format("numpy").iter(100_000)
    return np.concatenate([np.empty(0, np.int64), *(batch[name] for batch in batches)])


def _read_raw(
    specs: Sequence[str], langs: Direction, config: CorpusConfig, folder: str
) -> datasets.Dataset:
    """All pairs of all sources on the disk, tidied, in their order."""
    types = {"src": "string", "tgt": "string", "source": "int16", "made": "int8"}
    features = datasets.Features({name: datasets.Value(kind) for name, kind in types.items()})
    # A tuple: of a list, `datasets` makes shards and calls the generator for each spec alone.
    arguments = {"specs": tuple(specs), "langs": langs, "config": config}
    try:
        return datasets.Dataset.from_generator(
            _read_all, features=features, cache_dir=folder, gen_kwargs=arguments
        )
    except datasets.exceptions.DatasetGenerationError as error:
        if isinstance(error.__cause__, BadRow):
            raise UserError(f"{error.__cause__}; {SKIP_BAD}") from None
        if isinstance(error.__cause__, UserError | OSError):
            raise error.__cause__ from None
        raise


def _sentences(raw: datasets.Dataset, kept: NDArray[np.int64], limit: int) -> Iterator[str]:
    """Both sides of evenly spread pairs, at most `limit` texts, none that a machine wrote."""
    spread = kept[:: max(1, -(-2 * len(kept) // limit))]
    for batch in raw.select(spread).iter(1000):
        for name, side in (("src", SOURCE_MADE), ("tgt", TARGET_MADE)):
            for text, made in zip(batch[name], batch["made"], strict=True):
                if not made & side:
                    yield text


def _reasons(raw: datasets.Dataset, cache_key: CacheKey, **options: Any) -> NDArray[np.int8]:
    """Why each pair is dropped, or DropReason.KEPT, before it is known how many pieces it has."""
    arguments = {name: getattr(cache_key, name) for name in ("langs", "config", "held_out", "both")}
    judged = raw.map(functools.partial(cleaning.drop_reasons, **arguments), **options)
    reasons = _column(judged, "reason").astype(np.int8)
    kept = np.flatnonzero(reasons == DropReason.KEPT)
    _, first = np.unique(_column(judged, "key")[kept], return_index=True)
    reasons[np.delete(kept, first)] = DropReason.DUPLICATE
    return reasons


def _check_lengths(
    raw: datasets.Dataset, kept: NDArray[np.int64], lengths: NDArray[np.int64], max_len: int
) -> None:
    n_long, worst = int((lengths > max_len).sum()), int(lengths.argmax())
    if n_long:
        row = raw[int(kept[worst])]
        raise UserError(
            f"expected at most max_len = {max_len} pieces a side, end mark included; got "
            f"{lengths[worst]} in {max(row['src'], row['tgt'], key=len)[:60]!r}, and too many in "
            f"{n_long} pairs. Raise --max-len, or drop them with --drop-long"
        )


def _return_freed_memory() -> None:
    """Gives back what the training of a vocabulary leaves with glibc's allocator."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _examples(raw: datasets.Dataset, reasons: NDArray[np.int8]) -> dict[str, list[SentencePair]]:
    examples = {}
    for reason in DropReason:
        rows = raw.select(np.flatnonzero(reasons == reason)[:EXAMPLES])
        examples[reason.label] = [(row["src"], row["tgt"]) for row in rows]
    return examples


def _nothing_kept(reasons: NDArray[np.int8]) -> UserError:
    return UserError(f"expected pairs worth keeping, got {cleaning.told(cleaning.counts(reasons))}")


def _build(cache_key: CacheKey, work: Path) -> Path:
    """The token cache, its report and its sums, in a folder within one of temporary files."""
    config, workers = cache_key.config, cache_key.config.workers or os.cpu_count() or 1
    with timed("reading the corpus", logger.info):
        raw = _read_raw(cache_key.specs, cache_key.langs, config, str(work))
    options = {
        "batched": True,
        "num_proc": workers if len(raw) > PARALLEL_FROM else None,
        "remove_columns": raw.column_names,
    }
    with timed(f"cleaning {len(raw):,} pairs", logger.info):
        reasons = _reasons(raw, cache_key, cache_file_name=f"{work}/judged.arrow", **options)
    kept = np.flatnonzero(reasons == DropReason.KEPT)
    if not len(kept):
        raise _nothing_kept(reasons)
    sample, tags = _sentences(raw, kept, config.tokenizer_sample), tags_of(cache_key.langs)
    tokenizer = cache_key.tokenizer
    if tokenizer is None:
        with timed(f"making a vocabulary of {cache_key.vocab_size:,} pieces", logger.info):
            tokenizer = Tokenizer.train(sample, cache_key.vocab_size, config.tokenizer, tags)
    _return_freed_memory()
    ids = datasets.List(datasets.Value("uint16" if tokenizer.vocab_size <= 2**16 else "int32"))
    with timed(f"cutting {len(kept):,} pairs into pieces", logger.info):
        tokens = raw.select(kept).map(
            functools.partial(_tokenise, tokenizer=tokenizer),
            features=datasets.Features({"src": ids, "tgt": ids, "made": datasets.Value("int8")}),
            cache_file_name=f"{work}/tokens.arrow",
            **options,
        )
    tag = int(cache_key.both)  # of a direction
    lengths = np.maximum(*token_pairs(tokens.data).lengths) + tag
    if not config.drop_long:
        _check_lengths(raw, kept, lengths, cache_key.max_len)
    fits = lengths <= cache_key.max_len
    reasons[kept[~fits]] = DropReason.TOO_MANY_PIECES
    if not fits.any():
        raise _nothing_kept(reasons)
    folder = work / "whole"
    tokens.select(np.flatnonzero(fits)).save_to_disk(folder / TOKENS)
    (folder / VOCABULARY).write_bytes(tokenizer.model)
    source, examples = _column(raw, "source"), _examples(raw, reasons)
    told = cleaning.report(cache_key.specs, reasons, source, examples)
    text = json.dumps(told, ensure_ascii=False, indent=2)
    (folder / REPORT).write_text(text + "\n", encoding="utf-8")
    note_sums(folder)
    return folder


def _prepare(cache_key: CacheKey, folder: Path) -> None:
    """Makes a cache, whole or not at all; leaves nothing else, not even of a killed process."""
    for path in folder.parent.glob(".work-*"):
        if time.time() - path.stat().st_mtime > A_DAY:
            shutil.rmtree(path, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".work-") as work:
        new = _build(cache_key, Path(work))
        if folder.exists() and not is_whole(folder):  # looked at again: another may have mended it
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
    """Makes the token cache of these sources below `cache`, or opens the one made before.

    Of two directions, the first and its reverse, each source begins with the tag of its own.
    Pairs with a side that stands in `held_out` (dev and test sets) are dropped. Without a
    tokeniser one is trained on the kept pairs. Defects of the sources are UserErrors; the cache
    appears whole or not at all.
    """
    texts = (cleaning.dedup_text(cleaning.normalize(text)) for pair in held_out for text in pair)
    specs = tuple(source.spec for source in sources)
    sizes = model.vocab_size, model.max_len
    langs, both = directions[0], len(directions) > 1
    held_out_keys = frozenset(map(cleaning.key, texts))
    cache_key = CacheKey(specs, langs, config, *sizes, held_out_keys, tokenizer, both)
    folder = cache / cache_key.digest()
    if not is_whole(folder):
        if folder.exists():
            logger.warning("%s is damaged: the corpus is prepared anew", folder)
        with able_to(f"prepare the corpus in {folder}"):
            _prepare(cache_key, folder)
    return open_corpus(folder, sources, langs, both)
