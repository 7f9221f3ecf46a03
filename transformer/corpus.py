"""From named sources to token ids on the disk: read, clean, deduplicate, tokenise, memory-map.

The only module that imports `datasets`. What comes out (`Prepared`) never lies in memory as a
whole, so a corpus larger than memory trains. Knows no tensor and no model.
"""

import contextlib
import ctypes
import dataclasses
import functools
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from transformer.batching import Reading, TaggedPairs, TokenPairs
from transformer.cleaning import REASONS, comparable, key, tidy
from transformer.config import (
    BACK_TRANSLATED,
    COPIED,
    CorpusConfig,
    Direction,
    ModelConfig,
    UserError,
    tags_of,
    target_tag,
)
from transformer.recipe import (
    DUPLICATE,
    KEPT,
    LONG,
    SOURCE_MADE,
    TAGGED,
    TARGET_MADE,
    Recipe,
    Source,
    counts,
    judge,
    report,
)
from transformer.sources import (
    HUB,
    Languages,
    Pair,
    moses_files,
    open_binary,
    pick,
    read_json_lines,
    read_moses,
    read_tmx,
    read_tsv,
)
from transformer.tokenizer import Tokenizer

__all__ = ["Prepared", "Source", "prepare", "read_pairs"]
EXAMPLES = 3  # dropped pairs that the report shows for each reason
PARALLEL_FROM = 20_000  # pairs that are worth more than one process


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
    """A Parquet file, streamed; a gzipped one is unpacked among the temporary files first."""
    with tempfile.TemporaryDirectory() as folder:
        plain = path
        with open_binary(path) as packed:  # where it cannot be read, this says so
            if path.suffix == ".gz":
                plain = Path(folder) / "plain.parquet"
                with plain.open("wb") as file:
                    shutil.copyfileobj(packed, file)
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
    if spec.startswith(HUB):
        return _read_hub(spec.removeprefix(HUB), langs)
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

    pairs: TokenPairs | TaggedPairs
    sizes: tuple[tuple[int, float], ...]  # kept pairs and weight of each source, a direction each
    tokenizer: Tokenizer
    report: Mapping[str, Any]


def _read_all(specs: Sequence[str], langs: Languages, limit: int) -> Iterator[dict[str, Any]]:
    empty = True
    for number, spec in enumerate(specs):
        for src, tgt in itertools.islice(read_pairs(spec, *langs), limit or None):
            src, made_src = unmarked(tidy(src), SOURCE_MADE)
            tgt, made_tgt = unmarked(tidy(tgt), TARGET_MADE)
            yield {"src": src, "tgt": tgt, "source": number, "made": made_src | made_tgt}
            empty = False
    if empty:
        raise UserError(f"expected sentence pairs in {', '.join(specs)}, got none")


def unmarked(text: str, side: int) -> tuple[str, int]:
    """A side of a pair without its mark, and what the mark says: bits of `made`.

    `<bt> ...` is machine-made text, never a target, and as a source told by a tag (Caswell et
    al. 2019); `<copy> ...` is that without the tag, and may equal the other side.
    """
    if text.startswith(BACK_TRANSLATED):
        return text.removeprefix(BACK_TRANSLATED).lstrip(), side | TAGGED
    if text.startswith(COPIED):
        return text.removeprefix(COPIED).lstrip(), side
    return text, 0


@functools.lru_cache(maxsize=1)
def _tokenizer(model: bytes) -> Tokenizer:
    return Tokenizer(model)


def _tokenise(rows: Mapping[str, list[Any]], model: bytes) -> dict[str, Any]:
    tokenizer = _tokenizer(model)
    ids = {name: tokenizer.encode_all(rows[name]) for name in ("src", "tgt")}
    for i, made in enumerate(rows["made"]):
        if made & TAGGED:
            ids["src" if made & SOURCE_MADE else "tgt"][i].insert(0, tokenizer.tag(BACK_TRANSLATED))
    return {**ids, "made": rows["made"]}


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
        "src": datasets.Value("string"),
        "tgt": datasets.Value("string"),
        "source": datasets.Value("int16"),
        "made": datasets.Value("int8"),
    })  # fmt: skip
    # A tuple: of a list, `datasets` makes shards and calls the generator for each spec alone.
    arguments = {"specs": tuple(specs), "langs": langs, "limit": limit}
    try:
        return datasets.Dataset.from_generator(
            _read_all, features=features, cache_dir=folder, gen_kwargs=arguments
        )
    except datasets.exceptions.DatasetGenerationError as error:
        if isinstance(error.__cause__, UserError):
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


def _reasons(raw: datasets.Dataset, recipe: Recipe, **options: Any) -> NDArray[np.int8]:
    """Why each pair is dropped, or KEPT, before it is known how many pieces it has."""
    known = functools.partial(
        judge,
        langs=recipe.langs,
        config=recipe.config,
        held_out=recipe.held_out,
        both=recipe.both,
    )
    judged = raw.map(known, **options)
    reasons = _column(judged, "reason").astype(np.int8)
    kept = np.flatnonzero(reasons == KEPT)
    _, first = np.unique(_column(judged, "key")[kept], return_index=True)
    reasons[np.delete(kept, first)] = DUPLICATE
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


def _examples(raw: datasets.Dataset, reasons: NDArray[np.int8]) -> dict[str, list[Pair]]:
    """A few pairs for each reason."""
    examples = {}
    for number, name in enumerate(REASONS):
        rows = raw.select(np.flatnonzero(reasons == number)[:EXAMPLES])
        examples[name] = [(row["src"], row["tgt"]) for row in rows]
    return examples


def _build(recipe: Recipe, folder: Path) -> None:
    """Writes the token cache and its report into an empty folder."""
    config, workers = recipe.config, recipe.config.workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".work-") as work:
        raw = _read_raw(recipe.specs, recipe.langs, config.max_pairs, work)
        options = {
            "batched": True,
            "num_proc": workers if len(raw) > PARALLEL_FROM else None,
            "remove_columns": raw.column_names,
        }
        reasons = _reasons(raw, recipe, cache_file_name=f"{work}/judged.arrow", **options)
        kept = np.flatnonzero(reasons == KEPT)
        if not len(kept):
            raise UserError(f"expected pairs worth keeping, got {counts(reasons)}")
        tokenizer = recipe.tokenizer or Tokenizer.train(
            _sentences(raw, kept, config.tokenizer_sample),
            recipe.vocab_size,
            config.tokenizer,
            tags_of(recipe.langs),
        )
        _return_freed_memory()
        ids = datasets.List(datasets.Value("uint16" if tokenizer.vocab_size <= 2**16 else "int32"))
        tokens = raw.select(kept).map(
            functools.partial(_tokenise, model=tokenizer.model),
            features=datasets.Features({"src": ids, "tgt": ids, "made": datasets.Value("int8")}),
            cache_file_name=f"{work}/tokens.arrow",
            **options,
        )
        lengths = np.maximum(*_token_pairs(tokens).lengths) + recipe.both  # the tag of a direction
        if not config.drop_long:
            _check_lengths(raw, kept, lengths, recipe.max_len)
        fits = lengths <= recipe.max_len
        reasons[kept[~fits]] = LONG
        if not fits.any():
            raise UserError(f"expected pairs worth keeping, got {counts(reasons)}")
        tokens.select(np.flatnonzero(fits)).save_to_disk(folder / "tokens")
        (folder / "tokenizer.model").write_bytes(tokenizer.model)
        told = report(recipe.specs, reasons, _column(raw, "source"), _examples(raw, reasons))
        text = json.dumps(told, ensure_ascii=False, indent=2)
        (folder / "report.json").write_text(text + "\n", encoding="utf-8")


def prepare(
    sources: Sequence[Source],
    held_out: Iterable[Pair],
    langs: Languages,
    config: CorpusConfig,
    model: ModelConfig,
    cache: Path,
    tokenizer: Tokenizer | None = None,
    both: bool = False,
) -> Prepared:
    """Makes the token cache of these sources below `cache`, or opens the one made before.

    With `both`, each pair is read in both directions, and each source begins with a tag.
    Pairs with a side that stands in `held_out` (dev and test sets) are dropped. Without a
    tokeniser one is trained on the kept pairs. Defects of the sources are UserErrors; the cache
    appears whole or not at all.
    """
    sides = (key(comparable(tidy(text))) for pair in held_out for text in pair)
    specs = tuple(source.spec for source in sources)
    sizes = model.vocab_size, model.max_len
    recipe = Recipe(specs, langs, config, *sizes, frozenset(sides), tokenizer, both)
    folder = cache / recipe.digest()
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        datasets.disable_progress_bars()
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
        try:
            _build(recipe, new)
            _move(new, folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    kept = [entry["counts"].get("kept", 0) for entry in told["sources"]]
    tokens = datasets.load_from_disk(folder / "tokens")
    vocabulary = Tokenizer.load(folder / "tokenizer.model")
    weights = [source.weight for source in sources]
    pairs = _token_pairs(tokens)
    if not both:
        return Prepared(pairs, tuple(zip(kept, weights, strict=True)), vocabulary, told)
    readings = _readings(_column(tokens, "made"), langs, vocabulary)
    ends = np.cumsum(kept)
    n_read = [np.diff(np.searchsorted(reading.rows, ends), prepend=0) for reading in readings]
    read = tuple(pair for n in n_read for pair in zip(n.tolist(), weights, strict=True))
    return Prepared(TaggedPairs(pairs, readings), read, vocabulary, told)


def _readings(made: NDArray[np.int64], langs: Direction, tokenizer: Tokenizer) -> list[Reading]:
    """All pairs from source to target and back, but no target that a machine wrote."""
    return [
        Reading(np.flatnonzero(made & side == 0), swapped, tokenizer.tag(target_tag(lang)))
        for side, swapped, lang in (
            (TARGET_MADE, False, langs[1]),
            (SOURCE_MADE, True, langs[0]),
        )
    ]


def _move(new: Path, folder: Path) -> None:
    """Gives a finished cache its name, unless another process was faster."""
    try:
        new.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
