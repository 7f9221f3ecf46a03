"""Read a checkpoint without torch: configuration, tokeniser, and the weights as NumPy arrays.

A safetensors file is eight bytes with the length of its header, the header in JSON (for each name
a type, a shape, and the range of its bytes), then the bytes. The safetensors library checks the
header; the arrays are made here, as views of the mapped file, since that library would copy them
and refuses bfloat16.
Weights may be int8 with a scale for each row, `NAME.scale`: value = int8 x scale.

Shapes: V vocabulary, D model width, F inner width, N rows of a matrix.
"""

import dataclasses
import json
import math
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from transformer.checkpoint import locate
from transformer.config import Direction, ModelConfig, UserError
from transformer.files import open_regular
from transformer.text.tokenizer import Tokenizer

Array = np.ndarray[Any, Any]
Shapes = Sequence[tuple[str, tuple[int, ...]]]
# As a header names them; bfloat16, which numpy has not, as its 16 bits.
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
         "I16": "<i2", "I8": "i1", "U8": "u1", "BOOL": "?"}  # fmt: skip
WEIGHT_DTYPES = ("F32", "F16", "BF16", "F64", "I8")
SCALE_SUFFIX = ".scale"


@dataclasses.dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor as it is stored, mapped from the file: (N, ...).

    `dtype` is its type in safetensors' words (F32). An int8 tensor has one `scale` per row, (N,).
    The `values` of a BF16 tensor are its raw bits.
    """

    dtype: str
    values: Array
    scale: Array | None = None

    def float32(self) -> Array:
        """Return the values in float32, without a copy where they are stored so."""
        if self.scale is not None:
            return self.values * self.scale[:, None]
        if self.dtype == "BF16":
            return (self.values.astype(np.uint32) << 16).view(np.float32)
        return self.values.astype(np.float32, copy=False)

    def is_finite(self) -> bool:
        """Return whether no value is NaN or infinite."""
        numbers = self.float32() if self.dtype == "BF16" else self.values
        return bool(np.isfinite(numbers if self.scale is None else self.scale).all())


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class LazyCheckpoint:
    """A checkpoint, weights unread; of several `directions` a source's first piece names one."""

    folder: Path
    config: ModelConfig
    tokenizer: Tokenizer
    directions: tuple[Direction, ...]

    def stored_weights(self) -> Iterable[tuple[str, StoredTensor]]:
        """Return the weights by parameter name, as they are stored.

        UserError if they are damaged or do not fit the configuration: names and shapes are compared
        before anything is allocated.
        """
        shapes = [*weight_shapes(self.config)]
        return read_tensors(self.folder / locate.WEIGHTS, shapes).items()


def open_checkpoint(folder: str | Path) -> LazyCheckpoint:
    """Open the checkpoint that `find_checkpoint` finds, weights unread; UserError if invalid."""
    path = locate.find_checkpoint(folder)
    config, directions = locate.read_config(path)
    tokenizer = read_vocabulary(path / locate.VOCABULARY)
    if tokenizer.vocab_size != config.vocab_size:
        raise UserError(
            f"expected {config.vocab_size} pieces in {path / locate.VOCABULARY}, "
            f"got {tokenizer.vocab_size}: tokeniser and model are not of one training"
        )
    return LazyCheckpoint(folder=path, config=config, tokenizer=tokenizer, directions=directions)


def read_vocabulary(path: Path) -> Tokenizer:
    """Read a SentencePiece model file; UserError if it is missing or another kind of file."""
    try:
        return Tokenizer(locate.read_verified(path))
    except (OSError, ValueError) as error:
        raise UserError(f"expected a tokeniser in {path}: {error}") from error


def weight_shapes(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name and the shape of each weight of a model."""
    width, inner = config.d_model, config.d_ff

    def linear(name: str, n_out: int, n_in: int) -> Shapes:
        return (f"{name}.weight", (n_out, n_in)), (f"{name}.bias", (n_out,))

    def norm(name: str) -> Shapes:
        return (f"{name}.weight", (width,)), (f"{name}.bias", (width,))

    yield "embedding.weight", (config.vocab_size, width)
    if config.positions == "learned":
        yield "positions.table", (config.max_len, width)
    stacks = {"encoder": (config.n_encoder_layers, ("self",)),
              "decoder": (config.n_decoder_layers, ("self", "cross"))}  # fmt: skip
    for stack, (n_layers, kinds) in stacks.items():
        for layer in (f"{stack}.{i}" for i in range(n_layers)):
            for kind in kinds:
                for part in ("query", "key", "value", "out"):
                    yield from linear(f"{layer}.{kind}_attention.{part}", width, width)
                yield from norm(f"{layer}.{kind}_residual.norm")
            yield from linear(f"{layer}.feed_forward.expand", inner, width)
            yield from linear(f"{layer}.feed_forward.contract", width, inner)
            yield from norm(f"{layer}.feed_residual.norm")
        if config.norm == "pre":
            yield from norm(f"{stack}_norm")


@locate.retry_if_replaced
def read_tensors(path: Path, shapes: Shapes | None = None) -> dict[str, StoredTensor]:
    """Map a file's tensors by name; UserError if missing, damaged, not finite, or not of `shapes`.

    These are the (name, shape) of all tensors; None: not checked.
    """
    try:
        mapped, tensors = _map_file(path)
    except (OSError, ValueError) as error:
        raise UserError(f"expected weights in {path}: {error}. Is the file complete?") from error
    if shapes is not None:
        _check_shapes(path, tensors, shapes)
    locate.verify_checksum(path, mapped)
    arrays = {name: np.require(tensor.values, None, "A") for name, tensor in tensors.items()}
    stored = {
        name: StoredTensor(tensors[name].dtype, array, arrays.get(name + SCALE_SUFFIX))
        for name, array in arrays.items()
        if not (name.endswith(SCALE_SUFFIX) and name.removesuffix(SCALE_SUFFIX) in arrays)
    }
    if broken := [name for name, tensor in stored.items() if not tensor.is_finite()]:
        raise UserError(
            f"expected finite weights in {path}, got NaN or infinity in {broken[0]}: "
            "take an earlier checkpoint, or train again"
        )
    return stored


def quantize_rows(weight: Array) -> tuple[Array, Array]:
    """Quantize each row to int8, its largest magnitude to 127: (N, D) -> (N, D), (N,) scales.

    A weight is int8 x scale, rounded as the native kernels do, which compute the same from both.
    """
    weight = np.asarray(weight, np.float32)
    largest = np.maximum(np.abs(weight).max(1), np.float32(1e-12))
    factor = np.float32(127) / largest
    return np.rint(weight * factor[:, None]).astype(np.int8), largest / np.float32(127)


def _map_file(path: Path) -> tuple[mmap.mmap, dict[str, StoredTensor]]:
    """Map a file; return the map and its tensors by name; OSError or ValueError if that fails."""
    with open_regular(path) as file:
        try:
            with safetensors.safe_open(path, "numpy"):  # checks the header
                pass
        except safetensors.SafetensorError as error:
            raise ValueError(str(error)) from error
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    start = 8 + int.from_bytes(mapped[:8], "little")
    header = json.loads(mapped[8:start])
    header.pop("__metadata__", None)
    if unknown := {entry["dtype"] for entry in header.values()} - DTYPES.keys():
        raise ValueError(f"numbers of a type {' and '.join(sorted(unknown))}")
    tensors = {}
    for name, entry in header.items():
        count, offset = math.prod(entry["shape"]), start + entry["data_offsets"][0]
        flat = np.frombuffer(mapped, DTYPES[entry["dtype"]], count, offset)
        tensors[name] = StoredTensor(entry["dtype"], flat.reshape(entry["shape"]))
    return mapped, tensors


def _check_shapes(path: Path, tensors: Mapping[str, StoredTensor], shapes: Shapes) -> None:
    """Raise UserError unless the tensors of the file `path` have these names and shapes."""
    known = set()
    for name, shape in shapes:
        tensor, scale = tensors.get(name), tensors.get(name + SCALE_SUFFIX)
        if tensor is None:
            raise _mismatch(path, f"{name}, which is not there")
        if (got := tensor.values.shape) != shape:
            raise _mismatch(path, f"{name} of the shape {list(shape)}, got {list(got)}")
        if tensor.dtype not in WEIGHT_DTYPES:
            raise _mismatch(path, f"numbers in {name}, got {tensor.dtype}")
        known.add(name)
        if tensor.dtype == "I8":
            given = scale and (scale.dtype, scale.values.shape)
            if given != ("F32", shape[:1]) or len(shape) != 2:
                raise _mismatch(path, f"a scale for each row of {name}")
            known.add(name + SCALE_SUFFIX)
    if more := sorted(tensors.keys() - known):
        raise _mismatch(path, f"{len(known)} tensors and no more, got {more[0]} too")


def _mismatch(path: Path, what: str) -> UserError:
    return UserError(
        f"expected the weights of {path.parent / 'config.json'} in {path}: {what}. "
        "Are the two of one model?"
    )
