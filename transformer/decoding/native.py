"""The native decoder: the whole search in C++ (`kernels/`), called through ctypes, without torch.

The library is an optional part that is built when the project is installed; `load_library` returns
None if it is missing. It holds variants for several instruction sets, and chooses one when it is
loaded, by the features that the processor reports. The tests compare it with the plain model and
`search.py`: in float32 both give the same tokens.

Shapes: T target with the end mark, S source with the end mark.
"""

import ctypes
import functools
import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from ctypes import POINTER, Structure, c_char_p, c_double, c_float, c_int32, c_int64, c_void_p
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from transformer.checkpoint.tensors import StoredTensor
from transformer.config import ComputeType, DecodeConfig, ModelConfig, UserError
from transformer.decoding.hypothesis import Hypothesis, Ids

if TYPE_CHECKING:
    from transformer.model import Transformer

INTERFACE_VERSION = 3  # must equal the version in interface.cpp: raise both at a change
LIBRARY_PATHS = [Path(__file__).with_name(f"_native{suffix}") for suffix in EXTENSION_SUFFIXES]
# Environment variable that forces a slower variant, for measurements: generic, avx2, avxvnni,
# avx512, avx512vnni, amx, neon or neondot.
VARIANT_VARIABLE = "TRANSFORMER_MARCH"
SOURCES_PER_CALL = 128  # sources for each thread in one call of the library
WIDTH_MULTIPLE = 64  # divides d_model and d_ff; a quarter of it divides the channels of a head


class _Shape(Structure):
    _fields_ = tuple((name, c_int32) for name in (
        "vocab_size", "d_model", "n_heads", "n_encoder_layers", "n_decoder_layers", "d_ff",
        "max_len", "pre", "learned", "gelu",
    ))  # fmt: skip


class _Settings(Structure):
    _fields_ = (
        *((name, c_int32) for name in (
            "beam_size", "n_best", "no_repeat", "scored", "aligned", "branches", "n_threads",
        )),
        ("batch_tokens", c_int64), ("alpha", c_double), ("max_ratio", c_float),
    )  # fmt: skip


class _Results(Structure):
    _fields_ = (
        *((name, POINTER(c_int32)) for name in ("counts", "lengths", "ids")),
        ("scores", POINTER(c_double)), ("looked", POINTER(c_float)), ("gains", POINTER(c_float)),
    )  # fmt: skip


@functools.cache
def load_library() -> ctypes.CDLL | None:
    """Load the compiled library; None if it was not built, is damaged, or has another version."""
    built = next((place for place in LIBRARY_PATHS if place.exists()), None)
    if built is None:
        return None
    try:
        opened = ctypes.CDLL(str(built))
    except OSError:
        return None
    if c_int32.in_dll(opened, "decoder_interface").value != INTERFACE_VERSION:
        return None
    signatures: dict[str, tuple[Any, ...]] = {  # the type of the result, then of the arguments
        "decoder_error": (c_char_p,),
        "decoder_open": (c_void_p, POINTER(_Shape), c_char_p, c_int32),
        "decoder_close": (None, c_void_p),
        "decoder_variant": (c_char_p, c_void_p),
        "decoder_parameter": (c_char_p, c_void_p, c_int64, POINTER(c_int64 * 2)),
        "decoder_read": (None, c_void_p, c_int64, c_void_p, c_void_p),
        "decoder_search": (c_void_p, c_void_p, c_void_p, c_void_p, c_int64, c_void_p, c_int64,
                           POINTER(_Settings)),
        "decoder_results": (POINTER(_Results), c_void_p),
        "decoder_free": (None, c_void_p),
        "decoder_product": (c_int32, c_char_p, c_int32, c_void_p, c_void_p, c_int64, c_int64,
                            c_void_p, c_int64, c_int32, c_void_p),
    }  # fmt: skip
    for name, (result, *arguments) in signatures.items():
        function = getattr(opened, name)
        function.restype, function.argtypes = result, arguments
    return opened


def is_supported(config: ModelConfig) -> bool:
    """Return whether a model's widths are multiples that the native decoder's vectors need."""
    channels = config.d_model // config.n_heads
    widths = config.d_model, config.d_ff, 4 * channels
    return not any(width % WIDTH_MULTIPLE for width in widths)


class NativeDecoder:
    """A `Decoder` that computes in C++, on the CPU, in float32 or int8."""

    device = "cpu"

    def __init__(
        self,
        config: ModelConfig,
        weights: Iterable[tuple[str, np.ndarray | StoredTensor]],
        compute_type: ComputeType,
        plain: "Callable[[], Transformer]",
    ) -> None:
        """Copy `weights` (name, array) into the library; ValueError if they do not fit `config`.

        `plain` loads the plain model with the same weights, for callers that need it. UserError if
        the library was not built or lacks the variant that VARIANT_VARIABLE names.
        """
        opened = load_library()
        if opened is None:
            raise UserError("expected the native decoder; it was not built at installation")
        self._library, self._handle = opened, None
        self.config, self.compute_type = config, compute_type
        self.n_threads, self._plain = default_threads(), plain
        self._shape = _Shape(
            config.vocab_size, config.d_model, config.n_heads, config.n_encoder_layers,
            config.n_decoder_layers, config.d_ff, config.max_len,
            config.norm == "pre", config.positions == "learned", config.activation == "gelu",
        )  # fmt: skip
        variant = os.environ.get(VARIANT_VARIABLE)
        name = variant.encode() if variant else None
        self._handle = opened.decoder_open(ctypes.byref(self._shape), name, compute_type == "int8")
        if not self._handle:
            raise UserError(f"{VARIANT_VARIABLE}={variant}: {opened.decoder_error().decode()}")
        self.variant = opened.decoder_variant(self._handle).decode()
        self._read(weights)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a model that is open cannot be copied or pickled: call load() in each process, or "
            "pickle what transformer.load() gave, which opens its models anew"
        )

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.decoder_close(self._handle)

    @functools.cached_property
    def model(self) -> "Transformer":
        """The plain model, loaded at the first access."""
        return self._plain()

    def _read(self, weights: Iterable[tuple[str, np.ndarray | StoredTensor]]) -> None:
        missing = self._parameters()
        for name, given in weights:
            stored = given if isinstance(given, StoredTensor) else StoredTensor("F32", given)
            index, shape = missing.pop(name)
            if shape != stored.values.shape:
                raise ValueError(f"expected {name} of shape {shape}, got {stored.values.shape}")
            if stored.scale is None:
                numbers, scales = np.ascontiguousarray(stored.float32()), None
            else:
                numbers, scales = np.ascontiguousarray(stored.values), stored.scale.ctypes.data
            self._library.decoder_read(self._handle, index, numbers.ctypes.data, scales)
        if missing:
            raise ValueError(f"expected weights named {', '.join(missing)}")

    def _parameters(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Return the index and the shape of each parameter of the library, by name."""
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
        branches: int = 0,
    ) -> list[list[Hypothesis]]:
        """Return each source's hypotheses, best first, as `Decoder.search`; ValueError as there."""
        beams, scored = (1, True) if branches else (config.beam_size, config.scores)
        settings = _Settings(
            beams, config.n_best, config.no_repeat_ngram, scored, aligned, branches,
            self.n_threads, config.batch_tokens, config.alpha, config.max_ratio,
        )  # fmt: skip
        order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
        n, found = SOURCES_PER_CALL * self.n_threads, dict[int, list[Hypothesis]]()
        for places in (order[start : start + n] for start in range(0, max(1, len(order)), n)):
            results = self._search([sources[place] for place in places], settings, prefix)
            found.update(zip(places, results, strict=True))
        return [found[place] for place in range(len(sources))]

    def _search(
        self, sources: Sequence[Ids], settings: _Settings, prefix: Ids
    ) -> list[list[Hypothesis]]:
        ids = array("i", [i for source in sources for i in source])
        lengths = array("q", map(len, sources))
        forced = array("i", prefix)
        found = self._library.decoder_search(
            self._handle, ids.buffer_info()[0], lengths.buffer_info()[0], len(sources),
            forced.buffer_info()[0], len(forced), ctypes.byref(settings),
        )  # fmt: skip
        if not found:
            raise ValueError(self._library.decoder_error().decode())
        try:
            results = self._library.decoder_results(found).contents
            return _read_results(results, [len(source) + 1 for source in sources], settings.aligned)
        finally:
            self._library.decoder_free(found)


def default_threads() -> int:
    """Return OMP_NUM_THREADS, or else the number of cores that this process may use."""
    value = os.environ.get("OMP_NUM_THREADS", "")
    return int(value) if value.isdecimal() and int(value) else len(os.sched_getaffinity(0))


def _read_results(
    results: _Results, n_source: Sequence[int], aligned: bool
) -> list[list[Hypothesis]]:
    """Return the hypotheses, with attention if `aligned`; `n_source` has the source lengths + 1."""
    place = start = looked = 0
    hypotheses: list[list[Hypothesis]] = []
    for source, length in enumerate(n_source):
        hypotheses.append([])
        for _ in range(results.counts[source]):
            end = start + results.lengths[place]
            ids, shares, gains = tuple(results.ids[start:end]), None, ()
            if aligned:
                steps = start + place, end + place + 1  # each hypothesis has an end mark, too
                gains = tuple(results.gains[slice(*steps)])
                size = (len(ids) + 1) * length
                shares = np.array(results.looked[looked : looked + size], dtype=np.float32)
                shares, looked = shares.reshape(-1, length), looked + size
            hypotheses[-1].append(Hypothesis(ids, results.scores[place], shares, gains))
            place, start = place + 1, end
    return hypotheses
