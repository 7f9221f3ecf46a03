"""Linear maps packed for inference: float32, bfloat16 or int8, on whichever kernels are here.

And the norms around them. Chooses by what the processor can do. Knows a weight and a bias; not
what they are part of.

Shapes: D_in, D_out widths of a map, D model width.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import ComputeType, ModelConfig, UserError
from transformer.decoding import native
from transformer.model import Residual

Linear = Callable[[Tensor], Tensor]
Activation = Literal["none", "relu", "gelu"]
MANY = 16  # rows from which oneDNN's int8 product is ahead of FBGEMM's
WIDE = 512  # d_model from which PyTorch's int8 products are ahead of float32 without VNNI


def pick_compute_type(name: ComputeType, config: ModelConfig) -> ComputeType:
    """What `auto` means on this machine: the fastest type that loses nothing measurable.

    int8 where the native kernels run or the processor multiplies bytes well; a type that this
    build of PyTorch cannot compute is a UserError.
    """
    engines = torch.backends.quantized.supported_engines
    able = fits_native(config) or {"fbgemm", "onednn"} <= set(engines)
    if name == "int8" and not able:
        raise UserError(
            f"expected a processor with int8 kernels, got one with {engines}; use float32"
        )
    if name != "auto":
        return name
    if fits_native(config):
        return "int8"
    fast = torch.cpu._is_vnni_supported() or config.d_model >= WIDE
    return "int8" if able and fast else "float32"


def fits_native(config: ModelConfig) -> bool:
    """Whether the native kernels are there and their vectors divide the model's widths."""
    channels = config.d_model // config.n_heads
    fits = config.d_model % 64 == 0 and config.d_ff % 64 == 0 and channels % 16 == 0
    return fits and native.library() is not None


def pack(
    weight: Tensor, bias: Tensor, kind: ComputeType | None, activation: Activation = "none"
) -> Linear:
    """A linear map ready to run: (D_out, D_in), (D_out,) -> function.

    On the native kernels for no kind, else on PyTorch's in that kind.
    """
    if kind is None:
        return native.NativeLinear(weight, bias, activation)
    weight, bias = weight.detach().float(), bias.detach().to(torch.float32, copy=True)
    if kind == "int8":
        return _activated(_pack_int8(weight, bias), activation)
    if not torch.backends.mkldnn.is_available():
        weight = weight.clone()
        return _activated(lambda x: F.linear(x, weight, bias), activation)
    if kind == "float32":
        return _pack_float(weight, bias, activation)
    # Rounded to bfloat16 in any case, then multiplied in a type that this processor has.
    able = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    dtype = torch.bfloat16 if able else torch.float32
    packed = _pack_float(weight.bfloat16().to(dtype), bias.bfloat16().to(dtype), activation)
    return lambda x: packed(x.bfloat16().to(dtype)).float()


def weight_and_bias(linear: nn.Linear, factor: float = 1.0) -> tuple[Tensor, Tensor]:
    """Weight and bias, both times the factor: (D_out, D_in), (D_out,)."""
    weight, bias = linear.weight.detach(), linear.bias.detach()
    return (weight, bias) if factor == 1 else (weight * factor, bias * factor)


def concatenate(*maps: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The maps that read the same input as one, their outputs one after the other."""
    return torch.cat([weight for weight, _ in maps]), torch.cat([bias for _, bias in maps])


class Sublayer:
    """x + f(norm(x)), or norm(x + f(x))."""

    def __init__(self, residual: Residual) -> None:
        self.norm, self.post = frozen_copy(residual.norm), residual.post

    def before(self, x: Tensor) -> Tensor:
        """What the sublayer reads: (rows, D) -> (rows, D)."""
        return x if self.post else layer_norm(self.norm, x)

    def after(self, x: Tensor, y: Tensor) -> Tensor:
        """The residual stream x with the sublayer's output y, which is overwritten."""
        y += x
        return layer_norm(self.norm, y) if self.post else y


def frozen_copy(norm: nn.Module) -> nn.Module:
    """A copy in float32 that later changes of the model do not reach."""
    return copy.deepcopy(norm).float().requires_grad_(False)


def layer_norm(norm: nn.Module, x: Tensor) -> Tensor:
    """The norm layer applied, where it is one: (rows, D) -> (rows, D)."""
    if not isinstance(norm, nn.LayerNorm):  # the last norm of a post-norm model is none
        return x
    return torch.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def _activated(run: Linear, activation: Activation) -> Linear:
    if activation == "none":
        return run
    function = F.relu if activation == "relu" else F.gelu
    return lambda x: function(run(x))


def _pack_float(weight: Tensor, bias: Tensor, activation: Activation) -> Linear:
    """Blocked for the kernels of oneDNN once, not at each call."""
    run = torch.ops.mkldnn._linear_pointwise
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, 32)
    return lambda x: run(x, packed, bias, activation, [], "none")


def _pack_int8(weight: Tensor, bias: Tensor) -> Linear:
    """Weights with a scale for each output channel; the input is quantised as it comes.

    Without VNNI the kernels add pairs of products in 16 bits: 7 bits of the input must do.
    """
    scale = weight.abs().amax(1).clamp(min=1e-12) / 127
    zero = torch.zeros(len(scale), dtype=torch.long)
    with warnings.catch_warnings():  # PyTorch means to drop what its int8 kernels still take
        warnings.filterwarnings("ignore", "torch.quantize_per_tensor, ", UserWarning)
        quantised = torch.quantize_per_channel(weight, scale, zero, 0, torch.qint8)
    narrow = not torch.cpu._is_vnni_supported()
    run, before = torch.ops.quantized.linear_dynamic, torch.backends.quantized.engine
    packed = []
    try:
        for engine in ("fbgemm", "onednn"):
            torch.backends.quantized.engine = engine
            packed.append(torch.ops.quantized.linear_prepack(quantised, None))
    finally:
        torch.backends.quantized.engine = before
    few, many = packed
    biased = bool(bias.any())

    def apply(x: Tensor) -> Tensor:
        if x.size(0) == 1:
            return run(x, few, narrow) + bias
        largest = x.abs().amax(1, keepdim=True).clamp(min=1e-12)
        y = run(x / largest, few if x.size(0) < MANY else many, narrow)
        return torch.addcmul(bias, y, largest, out=y) if biased else y.mul_(largest)

    return apply
