"""Label-smoothed cross-entropy as a sum, with the number of tokens that it is a sum over.

Shapes: B batch, T target, V vocabulary, N = B x T.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK = 2**21  # logits handled at a time: the work stays in the cache, the peak memory small


class _SmoothedSum(torch.autograd.Function):
    """The loss and, in the same pass, its gradient: softmax(logits) - smoothed target."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
        n_rows, vocab_size = logits.shape
        wanted = ctx.needs_input_grad[0]
        grad = torch.empty_like(logits) if wanted else logits
        total = logits.new_zeros((), dtype=torch.float32)
        size = max(1, CHUNK // vocab_size)
        for start in range(0, n_rows, size):
            rows = slice(start, start + size)
            log_probs = torch.log_softmax(logits[rows], dim=-1, dtype=torch.float32)
            labels, keep = target[rows, None], target[rows] != pad_id
            right = log_probs.gather(1, labels).squeeze(1)
            loss = (1 - smoothing) * right + smoothing * log_probs.mean(-1)
            total -= torch.where(keep, loss, 0.0).sum()
            if wanted:
                slope = log_probs.exp_().sub_(smoothing / vocab_size)
                slope.scatter_add_(1, labels, slope.new_full(labels.shape, smoothing - 1))
                torch.mul(slope, keep[:, None], out=grad[rows])
        ctx.grad = grad if wanted else None
        return total

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None, None]:
        grad, ctx.grad = ctx.grad, None
        if grad is None:
            raise RuntimeError("expected one backward pass through this loss, got a second")
        return grad.mul_(grad_outputs[0].to(grad)), None, None, None


def cross_entropy(
    logits: Tensor, target: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Sum in nats over all tokens that are not padding: (B, T, V), (B, T) -> (), ().

    The second value is n_tokens. With smoothing e the target distribution is 1 - e on the
    right token plus e spread evenly over the vocabulary (Szegedy et al. 2016, section 7).
    """
    flat = logits.flatten(0, 1), target.flatten()
    return _SmoothedSum.apply(*flat, pad_id, label_smoothing), (target != pad_id).sum()
