"""The native decoder: the whole search in C++ (`kernels/`), called by ctypes; no torch.

Built when the project is installed, as an optional part: `library` gives None where it is not
there. Which of the variants in it runs is decided when it is loaded, by what the processor says of
itself. Sources and weights go in, hypotheses come out; the plain model with `search.py` is its
oracle: in float32 both give the same tokens.

Shapes: T target with the end mark, S source with the end mark.
"""

import ctypes
import functools
import os
from array import array
from collections.abc import Iterable, Sequence
from ctypes import POINTER, Structure, c_char_p, c_double, c_float, c_int32, c_int64, c_void_p
from pathlib import Path

import numpy as np

from transformer.config import ComputeType, DecodeConfig, ModelConfig, UserError
from transformer.decoding.decoder import Hypothesis, Ids

# A lower variant for measurements: generic, avx2, avxvnni, avx512, avx512vnni, amx, neon, neondot.
VARIANT = "TRANSFORMER_MARCH"
WIDTHS = 64  # what d_model and d_ff are a multiple of; the channels of a head of a quarter


class _Shape(Structure):
    _fields_ = tuple((name, c_int32) for name in (
        "vocab_size", "d_model", "n_heads", "n_encoder_layers", "n_decoder_layers", "d_ff",
        "max_len", "pre", "learned", "gelu",
    ))  # fmt: skip


class _Settings(Structure):
    _fields_ = (
        *((name, c_int32) for name in (
            "beam_size", "n_best", "no_repeat", "scored", "aligned", "n_threads",
        )),
        ("batch_tokens", c_int64), ("alpha", c_double), ("max_ratio", c_float),
    )  # fmt: skip


class _Results(Structure):
    _fields_ = (
        *((name, POINTER(c_int32)) for name in ("counts", "lengths", "ids")),
        ("scores", POINTER(c_double)), ("looked", POINTER(c_float)),
    )  # fmt: skip


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled library; None where it was not built."""
    built = sorted(Path(__file__).parent.glob("_native*.so"))
    if not built:
        return None
    opened = ctypes.CDLL(str(built[0]))
    arguments = {
        "decoder_error": [],
        "decoder_open": [POINTER(_Shape), c_char_p, c_int32],
        "decoder_close": [c_void_p],
        "decoder_variant": [c_void_p],
        "decoder_parameter": [c_void_p, c_int64, POINTER(c_int64 * 2)],
        "decoder_read": [c_void_p, c_int64, c_void_p],
        "decoder_search": [c_void_p, c_void_p, c_void_p, c_int64, c_void_p, c_int64,
                           POINTER(_Settings)],
        "decoder_results": [c_void_p],
        "decoder_free": [c_void_p],
        "decoder_product": [c_char_p, c_int32, c_void_p, c_void_p, c_int64, c_int64, c_void_p,
                            c_int64, c_int32, c_void_p],
    }  # fmt: skip
    for name, types in arguments.items():
        getattr(opened, name).argtypes = types
    for name in ("decoder_close", "decoder_read", "decoder_free"):
        getattr(opened, name).restype = None
    for name in ("decoder_error", "decoder_variant", "decoder_parameter"):
        getattr(opened, name).restype = c_char_p
    for name in ("decoder_open", "decoder_search"):
        getattr(opened, name).restype = c_void_p
    opened.decoder_results.restype = POINTER(_Results)
    return opened


def fits(config: ModelConfig) -> bool:
    """Whether the vectors of the native decoder divide the model's widths."""
    channels = config.d_model // config.n_heads
    return not (config.d_model % WIDTHS or config.d_ff % WIDTHS or channels % (WIDTHS // 4))


class NativeDecoder:
    """A `Decoder` in C++, with the weights of a checkpoint, in float32 or int8."""

    device = "cpu"

    def __init__(
        self,
        config: ModelConfig,
        weights: Iterable[tuple[str, np.ndarray]],
        compute_type: ComputeType = "int8",
    ) -> None:
        """Packs the weights, one after the other; other than the model's are a UserError."""
        opened = library()
        if opened is None:
            raise UserError("expected the native decoder; it was not built at installation")
        self._library, self._handle = opened, None
        self.config, self.compute_type = config, compute_type
        self.n_threads = default_threads()
        shape = _Shape(
            config.vocab_size, config.d_model, config.n_heads, config.n_encoder_layers,
            config.n_decoder_layers, config.d_ff, config.max_len,
            config.norm == "pre", config.positions == "learned", config.activation == "gelu",
        )  # fmt: skip
        variant = os.environ.get(VARIANT)
        name = variant.encode() if variant else None
        self._handle = opened.decoder_open(ctypes.byref(shape), name, compute_type == "int8")
        if not self._handle:
            raise UserError(f"{VARIANT}={variant}: {opened.decoder_error().decode()}")
        self.variant = opened.decoder_variant(self._handle).decode()
        self._read(weights)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.decoder_close(self._handle)

    def _read(self, weights: Iterable[tuple[str, np.ndarray]]) -> None:
        missing = self._parameters()
        for name, numbers in weights:
            index, shape = missing.pop(name, (-1, ()))
            if index < 0 or shape != numbers.shape:
                raise UserError(
                    f"expected {name} of shape {shape or 'none'}, got {numbers.shape}: "
                    "weights and configuration are not of one model"
                )
            numbers = np.ascontiguousarray(numbers, dtype=np.float32)
            if not np.isfinite(numbers).all():
                raise UserError(f"expected numbers in {name}, got some that are not finite")
            self._library.decoder_read(self._handle, index, numbers.ctypes.data)
        if missing:
            raise UserError(f"expected weights named {', '.join(sorted(missing)[:3])}; got none")

    def _parameters(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """The number and the shape of each parameter of the model, by name."""
        found: dict[str, tuple[int, tuple[int, ...]]] = {}
        shape = (c_int64 * 2)()
        while name := self._library.decoder_parameter(
            self._handle, len(found), ctypes.byref(shape)
        ):
            vector = not name.endswith((b"table", b"weight")) or b"norm" in name
            found[name.decode()] = len(found), (shape[1],) if vector else tuple(shape)
        return found

    def search(
        self,
        sources: Sequence[Ids],
        config: DecodeConfig,
        *,
        prefix: Ids = (),
        aligned: bool = False,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each source, best first, in the order of the sources."""
        settings = _Settings(
            config.beam_size, config.n_best, config.no_repeat_ngram, config.scores, aligned,
            self.n_threads, config.batch_tokens, config.alpha, config.max_ratio,
        )  # fmt: skip
        ids = array("i", [i for source in sources for i in source])
        lengths = array("q", map(len, sources))
        forced = array("i", prefix)
        found = self._library.decoder_search(
            self._handle, *_view(ids)[:1], *_view(lengths), *_view(forced), ctypes.byref(settings)
        )
        if not found:
            raise ValueError(self._library.decoder_error().decode())
        try:
            results = self._library.decoder_results(found).contents
            return _hypotheses(results, [len(source) + 1 for source in sources], aligned)
        finally:
            self._library.decoder_free(found)


def default_threads() -> int:
    """As many as this process has cores, or as OMP_NUM_THREADS says."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdecimal() and int(asked) else len(os.sched_getaffinity(0))


def _view(numbers: "array[int]") -> tuple[int, int]:
    """Address and length."""
    return numbers.buffer_info()


def _hypotheses(
    results: _Results, n_source: Sequence[int], aligned: bool
) -> list[list[Hypothesis]]:
    """What the library found, as the values of Python."""
    found: list[list[Hypothesis]] = []
    place = start = looked = 0
    for source, length in enumerate(n_source):
        own: list[Hypothesis] = []
        for place in range(place, place + results.counts[source]):
            end = start + results.lengths[place]
            ids = tuple(results.ids[start:end])
            shares = None
            if aligned:
                size = (len(ids) + 1) * length
                shares = np.array(results.looked[looked : looked + size], dtype=np.float32)
                shares, looked = shares.reshape(-1, length), looked + size
            own.append(Hypothesis(ids, results.scores[place], shares))
            start = end
        place += 1
        found.append(own)
    return found
