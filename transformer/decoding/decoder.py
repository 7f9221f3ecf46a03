"""The interface of a decoder (source ids in, hypotheses out), and functions that choose one.

The native decoder is used if it was built and the device is a CPU; otherwise the plain model is
used, and torch is imported for it.
"""

import functools
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from transformer.checkpoint.tensors import LazyCheckpoint
from transformer.config import ComputeType, DecodeConfig, ModelConfig, UserError, choices
from transformer.decoding import native
from transformer.decoding.hypothesis import Hypothesis, Ids

if TYPE_CHECKING:
    from transformer.model import Transformer

# Files of GPU drivers. Looking for them avoids importing torch only to ask it for a GPU.
GPU_DEVICE_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
logger = logging.getLogger(__name__)


class Decoder(Protocol):
    """A model that is ready to translate token ids, by `search`, on `device` (`cpu`, `cuda:0`)."""

    config: ModelConfig
    compute_type: ComputeType  # the number type of matrix products
    device: str

    @property
    def model(self) -> "Transformer":
        """The plain model, loaded at the first access."""
        ...

    def search(
        self,
        sources: Sequence[Ids],
        config: DecodeConfig,
        *,
        prefix: Ids = (),
        aligned: bool = False,
        branches: int = 0,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each source, best first, in the order of the sources.

        Sources are given without end mark. The ids of each target begin with `prefix`. `aligned`
        adds the attention and the log-probability of each token to the hypotheses. With `branches`,
        the hypotheses of a source are greedy searches, whatever the beam size, one after each of
        the `branches` likeliest next tokens. Raises ValueError for a source or a prefix that is too
        long for the model.
        """
        ...


def check_device(device: str, compute_type: str) -> None:
    """Raise UserError for an unknown compute type, or a device that is unknown or unavailable."""
    if compute_type not in (types := choices(ComputeType)):
        raise UserError(f"expected a compute type out of {', '.join(types)}; got {compute_type!r}")
    if not re.fullmatch(r"auto|(?:cpu|cuda|mps|xpu)(?::\d{1,3})?", str(device)):
        raise UserError(f"expected a device such as cpu or cuda, got {device!r}")
    if device not in ("auto", "cpu"):
        from transformer.decoding.search import select_device

        select_device(device)


def open_decoder(
    opened: LazyCheckpoint, device: str = "auto", compute_type: ComputeType = "auto"
) -> Decoder:
    """Return a decoder for a checkpoint; UserError if weights, device or type cannot be used."""
    check_device(device, compute_type)
    if _runs_on_cpu(device) and (kind := _native_type(opened.config, compute_type)):
        load = functools.partial(_load_plain_model, opened.folder)
        return native.NativeDecoder(opened.config, opened.stored_weights(), kind, load)
    from transformer.decoding.search import BatchDecoder, select_device

    return BatchDecoder(_load_plain_model(opened.folder, str(select_device(device))), compute_type)


def decoder_from_model(model: "Transformer", compute_type: ComputeType = "auto") -> Decoder:
    """Return a decoder for a model in memory: the native one, with a copy of the weights.

    It is a `BatchDecoder` if the native one cannot run the model; then int8 is a UserError.
    """
    if model.device.type == "cpu" and (kind := _native_type(model.config, compute_type)):
        weights = ((name, tensor.float().numpy()) for name, tensor in model.state_dict().items())
        return native.NativeDecoder(model.config, weights, kind, lambda: model)
    from transformer.decoding.search import BatchDecoder

    return BatchDecoder(model, compute_type)


def _load_plain_model(folder: Path, device: str = "cpu") -> "Transformer":
    from transformer.checkpoint import weights

    return weights.load(folder, device).model


def _runs_on_cpu(device: str) -> bool:
    """Return whether `device` means the CPU; `auto` does if there is no GPU."""
    return device == "cpu" or (
        device == "auto" and not any(Path(name).exists() for name in GPU_DEVICE_FILES)
    )


def _native_type(config: ModelConfig, compute_type: ComputeType) -> ComputeType | None:
    """Return the number type for the native decoder; None if it cannot run the model so.

    Then int8 is a UserError.
    """
    there = native.load_library() is not None
    if there and native.is_supported(config) and compute_type != "bfloat16":
        return "float32" if compute_type == "float32" else "int8"
    if compute_type == "int8":
        reason = "widths that 64 divides" if there else "the native decoder, which was not built"
        raise UserError(f"expected {reason} for int8; use float32")
    if not there:
        _warn_missing_library()
    return None


@functools.cache
def _warn_missing_library() -> None:
    older = any(place.exists() for place in native.LIBRARY_PATHS)
    reason = "is damaged, or of other sources" if older else "was not built, for want of a compiler"
    logger.warning(
        "the fast decoder %s: translating with the plain model, which takes several times as long. "
        "Install g++, then this project again.",
        reason,
    )
