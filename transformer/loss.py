"""Label-smoothed cross-entropy as a sum, with the number of tokens that it is a sum over.

With smoothing e the target distribution is 1 - e on the right token plus e spread evenly over
the vocabulary (Szegedy et al. 2016, section 7).

Shapes: B batch, T target, N = any number of target tokens, D model width, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

CHUNK = 2**22  # logits that exist at a time in training: they stay in the cache


def cross_entropy(
    logits: Tensor, target: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Sum in nats over all tokens that are not padding: (B, T, V), (B, T) -> (), ().

    The second value is n_tokens.
    """
    total = F.cross_entropy(
        logits.flatten(0, 1).float(),
        target.flatten(),
        ignore_index=pad_id,
        reduction="sum",
        label_smoothing=label_smoothing,
    )
    return total, (target != pad_id).sum()


def projected_cross_entropy(
    x: Tensor, weight: Tensor, target: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Tensor:
    """The sum of `cross_entropy` for the logits x W^T: (B, T, D), (V, D), (B, T) -> ().

    The logits, by far the largest tensor of training, never exist as a whole: each chunk of
    them is turned into its part of both gradients at once. Padding costs nothing.
    """
    kept = target != pad_id
    return _ProjectedLoss.apply(x[kept], weight, target[kept], label_smoothing)


class _ProjectedLoss(torch.autograd.Function):
    """Gradient of a token's loss: softmax(logits) - smoothed target."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """(N, D), (V, D), (N,) -> ()."""
        device, vocab_size = x.device.type, weight.size(0)
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        low_x, low_weight = x.to(dtype), weight.to(dtype)
        grad_x, grad_weight = torch.empty_like(low_x), torch.zeros_like(weight)
        total = torch.zeros((), device=x.device)
        with torch.autocast(device, enabled=False):
            size = max(1, CHUNK // vocab_size)
            for start in range(0, x.size(0), size):
                part = slice(start, start + size)
                logits = low_x[part] @ low_weight.t()
                log_probs = torch.log_softmax(logits, dim=-1, dtype=torch.float32)
                labels = target[part, None]
                right = log_probs.gather(1, labels).sum()
                total -= (1 - smoothing) * right + smoothing / vocab_size * log_probs.sum()
                slope = log_probs.exp_().sub_(smoothing / vocab_size)
                slope.scatter_add_(1, labels, slope.new_full(labels.shape, smoothing - 1))
                slope = slope.to(dtype)
                torch.mm(slope, low_weight, out=grad_x[part])
                grad_weight += slope.t() @ low_x[part]
        ctx.grads = grad_x.to(x.dtype), grad_weight
        return total

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grads, ctx.grads = ctx.grads, None
        if grads is None:
            raise RuntimeError("expected one backward pass through this loss, got a second")
        return grads[0].mul_(grad_outputs[0]), grads[1].mul_(grad_outputs[0]), None, None
