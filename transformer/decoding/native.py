"""The engine's own int8 kernels: compiles kernels/kernel.cpp where it can, and calls it.

An optional part: without AVX2 or a C++ compiler `library` gives None, and the engine runs on
PyTorch's kernels. The compiled file is kept in the user's cache folder under the hash of its
source and of the processor. Knows weights as tensors; not what they mean.

Shapes: R rows, B sentences, L layers, H heads, C channels, D model width, S source, P positions,
V vocabulary.
"""

import ctypes
import dataclasses
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from ctypes import POINTER, Structure, c_float, c_int64, c_void_p
from pathlib import Path

import torch
from torch import Tensor, nn

from transformer.config import BOS_ID, PAD_ID, ModelConfig

SOURCE = Path(__file__).resolve().parent / "kernels" / "kernel.cpp"
HEADER = SOURCE.with_name("simd.h")  # which it includes
# What the compiler may use: all that this processor has, unless a measurement asks for less.
ARCHITECTURE = os.environ.get("TRANSFORMER_MARCH", "native")
# What -ffast-math holds, but for infinities, which masks need, and for its effects on others.
FLAGS = [
    "-O3", "-fopenmp", "-std=c++17", "-shared", "-fPIC", "-fno-math-errno",
    "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math", "-freciprocal-math",
]  # fmt: skip
N_NEVER = max(PAD_ID, BOS_ID) + 1  # the first ids, padding and start, never follow a token
VECTOR = 16  # positions that it computes at once
ALIGNED = 64  # bytes: a vector of the processor
PANEL = 64  # the kernel computes as many output channels at once, or a part of them
ACTIVATIONS = {"none": 0, "relu": 1, "gelu": 2}


class _Linear(Structure):
    _fields_ = (
        ("weight", c_void_p),
        ("scale", c_void_p),
        ("bias", c_void_p),
        ("sum", c_void_p),
        ("n_in", c_int64),
        ("n_out", c_int64),
    )


class _Norm(Structure):
    _fields_ = (("weight", c_void_p), ("bias", c_void_p))


class _Layer(Structure):
    _fields_ = (
        *((name, _Linear) for name in ("self_in", "self_out", "expand", "contract")),
        *((name, _Norm) for name in ("self_norm", "feed_norm")),
        *((name, _Linear) for name in ("cross_query", "cross_out")),
        ("cross_norm", _Norm),
    )  # fmt: skip


class _Stack(Structure):
    _fields_ = (
        ("layers", POINTER(_Layer)),
        ("embedding", c_void_p),
        ("positions", c_void_p),
        ("output", _Linear),
        ("norm", _Norm),
        *(
            (name, c_int64)
            for name in ("n_layers", "n_heads", "d_model", "post", "gelu", "n_never")
        ),
        ("epsilon", c_float),
    )


class _State(Structure):
    _fields_ = (
        *((name, c_void_p) for name in (
            "past_keys", "past_values", "memory_keys", "memory_values", "lengths",
        )),
        *((name, c_int64) for name in (
            "n_rows", "n_sentences", "length", "n_positions", "n_source",
        )),
    )  # fmt: skip


def _cache() -> Path:
    """The user's cache folder for compiled kernels."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "transformer-translation"


def _compile(compiler: str, target: Path) -> None:
    """Writes the library in one move, so that no other process sees half of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        built = Path(folder) / target.name
        command = [compiler, f"-march={ARCHITECTURE}", *FLAGS, "-o", str(built), str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        built.replace(target)


def _processor() -> str:
    """What the compiler's -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("flags")), "")


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels, built at the first use on this machine; None where they cannot run."""
    if not torch.cpu._is_avx2_supported():
        return None
    try:
        text = "".join([SOURCE.read_text(), HEADER.read_text(), *FLAGS, ARCHITECTURE, _processor()])
        target = _cache() / f"kernel-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
        if not target.exists():
            compiler = shutil.which("g++") or shutil.which("clang++")
            if compiler is None:
                return None
            _compile(compiler, target)
        opened = ctypes.CDLL(str(target))
    except (OSError, RuntimeError, subprocess.SubprocessError):  # RuntimeError: there is no home
        return None
    opened.linear.argtypes = [c_void_p, c_void_p, c_int64, c_void_p, c_int64]
    opened.step.argtypes = [*([c_void_p] * 6), c_int64]
    opened.pack.argtypes = [c_void_p, c_int64, c_int64, *([c_void_p] * 3)]
    opened.encode.argtypes = [*([c_void_p] * 3), *([c_int64] * 3), *([c_void_p] * 2), c_int64]
    for function in (opened.pack, opened.linear, opened.step, opened.encode):
        function.restype = None
    return opened


class NativeLinear:
    """x W^T + b in int8, rows quantised one by one, relu or gelu after it where asked."""

    def __init__(self, weight: Tensor, bias: Tensor, activation: str = "none") -> None:
        opened = library()
        if opened is None:
            raise RuntimeError("expected the native kernels; this machine cannot run them")
        self._library = opened
        self._activation = ACTIVATIONS[activation]
        self.n_out, n_in = weight.shape
        padded = -(-self.n_out // PANEL) * PANEL
        filled = torch.full((padded,), -1e9)  # of outputs that are not there: never the highest
        filled[: self.n_out] = bias.detach()
        weight = weight.detach().float().contiguous()
        panels = torch.empty(padded * n_in + ALIGNED, dtype=torch.int8)
        start = panels.data_ptr() + -panels.data_ptr() % ALIGNED
        scale, sums = torch.zeros(padded), torch.zeros(padded, dtype=torch.int32)
        opened.pack(weight.data_ptr(), self.n_out, n_in, start, scale.data_ptr(), sums.data_ptr())
        self._kept = panels, scale, filled, sums  # the kernel reads them as long as this lives
        self.struct = _Linear(
            start, scale.data_ptr(), filled.data_ptr(), sums.data_ptr(), n_in, padded
        )

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, D_in) -> (rows, D_out)."""
        x = x.contiguous()
        y = torch.empty(x.size(0), self.struct.n_out)
        self._library.linear(
            ctypes.byref(self.struct), x.data_ptr(), x.size(0), y.data_ptr(), self._activation
        )
        return y[:, : self.n_out]


@dataclasses.dataclass(frozen=True, slots=True)
class NativeLayer:
    """The maps and norms of a layer, in the kernel's order; those of an encoder end halfway."""

    maps: Sequence[NativeLinear]  # self_in, self_out, expand, contract; cross_query, cross_out
    norms: Sequence[nn.LayerNorm]  # before or after self and feed; cross

    def struct(self) -> _Layer:
        """As the kernel reads it."""
        maps, norms = [linear.struct for linear in self.maps], [*map(_norm, self.norms)]
        return _Layer(*maps[:4], *norms[:2], *maps[4:], *norms[2:])


def _norm(norm: nn.LayerNorm) -> _Norm:
    return _Norm(norm.weight.data_ptr(), norm.bias.data_ptr())


@dataclasses.dataclass(frozen=True, slots=True)
class Cache:
    """Keys and values of source and target in float16, and how far they are filled."""

    past_keys: Tensor  # (L, R, H, C, P)
    past_values: Tensor  # (L, R, H, P, C)
    memory_keys: Tensor  # (L, B, H, C, S)
    memory_values: Tensor  # (L, B, H, S, C)
    lengths: Tensor  # (B,) int32, source tokens
    length: int

    def struct(self) -> _State:
        """As the kernel reads it."""
        tensors = self.past_keys, self.past_values, self.memory_keys, self.memory_values
        return _State(
            *(tensor.data_ptr() for tensor in (*tensors, self.lengths)),
            self.past_keys.size(1), self.lengths.size(0), self.length,
            self.past_keys.size(-1), self.memory_keys.size(-1),
        )  # fmt: skip


class NativeStack:
    """An encoder, all its layers in one call, or a decoder, a whole step in one call."""

    def __init__(
        self,
        layers: Sequence[NativeLayer],
        tables: tuple[Tensor, Tensor],
        output: NativeLinear,
        norm: nn.LayerNorm,
        config: ModelConfig,
    ) -> None:
        """Of (V, D) embeddings and (max_len, D) positions, and what reads the last norm."""
        self._kept = (layers, tables, output, norm)
        self._config, self._n_outputs = config, output.n_out
        self._layers = (_Layer * len(layers))(*(layer.struct() for layer in layers))
        embedding, positions = tables
        self._struct = _Stack(
            self._layers, embedding.data_ptr(), positions.data_ptr(), output.struct,
            _norm(norm), len(layers), config.n_heads, config.d_model, config.norm == "post",
            config.activation == "gelu", N_NEVER, norm.eps,
        )  # fmt: skip

    def encode(self, src: Tensor, lengths: Tensor, n_layers: int) -> tuple[Tensor, Tensor]:
        """Keys and values for the L layers of the decoder, S filled up to whole vectors.

        (B, S), (B,) int32 -> (L, B, H, C, S), (L, B, H, S, C).
        """
        opened = library()
        assert opened is not None
        n_rows, width = src.shape
        n_heads, channels = self._config.n_heads, self._config.d_model // self._config.n_heads
        n_positions = -(-width // VECTOR) * VECTOR
        shape = n_layers, n_rows, n_heads
        keys = torch.empty(*shape, channels, n_positions, dtype=torch.float16)
        values = torch.empty(*shape, n_positions, channels, dtype=torch.float16)
        src = self._ids(src)
        opened.encode(
            ctypes.byref(self._struct), src.data_ptr(), lengths.data_ptr(),
            n_rows, width, n_positions, keys.data_ptr(), values.data_ptr(),
            torch.get_num_threads(),
        )  # fmt: skip
        return keys, values

    def _ids(self, ids: Tensor) -> Tensor:
        """The same, safe to be read by the kernel, which checks nothing."""
        if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < self._config.vocab_size:
            raise IndexError(f"expected ids below {self._config.vocab_size}, got {int(ids.max())}")
        return ids.long().contiguous()

    def _run(self, ids: Tensor, cache: Cache, logits: Tensor | None, best: Tensor | None) -> None:
        opened = library()
        assert opened is not None
        ids = self._ids(ids)
        highest = torch.empty(ids.size(0)) if best is not None else None
        pointers = [None if out is None else out.data_ptr() for out in (logits, best, highest)]
        opened.step(
            ctypes.byref(self._struct),
            ctypes.byref(cache.struct()),
            ids.data_ptr(),
            *pointers,
            torch.get_num_threads(),
        )

    def logits(self, ids: Tensor, cache: Cache) -> Tensor:
        """What may follow one token a row, which enters the cache: (R,) -> (R, V)."""
        logits = torch.empty(ids.size(0), self._struct.output.n_out)
        self._run(ids, cache, logits, None)
        return logits[:, : self._n_outputs]

    def best(self, ids: Tensor, cache: Cache) -> Tensor:
        """The likeliest next token only: (R,) -> (R,)."""
        best = torch.zeros_like(ids)
        self._run(ids, cache, None, best)
        return best
