"""Label-smoothed cross-entropy as a sum over tokens, without all logits at once.

With smoothing e the target distribution is 1 - e on the right token plus e spread evenly over
the vocabulary (Szegedy et al. 2016, section 7).

Shapes: B batch, T target, N = any number of target tokens, D model width, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor, nn

from transformer.config import PAD_ID, TrainConfig
from transformer.model import Transformer

CHUNK = 2**22  # logits that exist at a time in training: they stay in a processor's cache
GPU_CHUNK = 2**28  # on a GPU, which wants large products
UNDERFLOW = 1e-30  # a probability below this has lost its digits


def projected_cross_entropy(
    x: Tensor, weight: Tensor, target: Tensor, label_smoothing: float, real: Tensor | None = None
) -> Tensor:
    """The sum of torch's cross-entropy, in nats, of x W^T: (B, T, D), (V, D), (B, T) -> ().

    The logits, by far the largest tensor of training, never exist as a whole: each chunk of
    them is turned into its part of both gradients at once. Padding costs nothing. `real` (N,) are
    the flat places without padding; a GPU that has to look for them makes everybody wait.
    """
    target = target.flatten()
    if real is None:
        real = (target != PAD_ID).nonzero()[:, 0]
    x = x.flatten(0, 1).index_select(0, real)
    return _ProjectedLoss.apply(x, weight, target.index_select(0, real), label_smoothing)


class _ProjectedLoss(torch.autograd.Function):
    """Gradient of a token's loss: softmax(logits) - (1 - e) at the right token - e / V everywhere.

    Only the softmax needs passes over the logits. What is taken off it is known without them:
    rows of W and of x, and their sums.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """(N, D), (V, D), (N,) -> ()."""
        device, vocab_size = x.device.type, weight.size(0)
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        right, even = 1 - smoothing, smoothing / vocab_size
        low_x, low_weight = x.to(dtype), weight.to(dtype)
        given, x = x.dtype, x.to(weight.dtype)
        with torch.autocast(device, enabled=False):
            sum_x, sum_weight = x.sum(0), weight.sum(0)  # (D,)
            of_labels = weight[target]  # (N, D)
            of_right = (x * of_labels).sum(1)  # (N,), the logits of the right tokens
            likelihood = torch.empty(x.size(0), device=x.device)  # (N,), of the right tokens
            grad_x = of_labels.mul_(-right).sub_(even * sum_weight)
            grad_weight = (-even * sum_x).expand_as(weight).clone()
            grad_weight.index_add_(0, target, x, alpha=-right)
            size = max(1, (CHUNK if device == "cpu" else GPU_CHUNK) // vocab_size)
            for start in range(0, x.size(0), size):
                part = slice(start, start + size)
                logits = low_x[part] @ low_weight.t()
                slope = logits.softmax(-1)  # rounded to `dtype`, which the products below need
                likelihood[part] = slope.gather(1, target[part, None])[:, 0]
                grad_x[part] += slope @ low_weight
                grad_weight += slope.t() @ low_x[part]
            norms = of_right - likelihood.clamp_min(UNDERFLOW).log()  # log sum exp of the logits
            if device == "cpu":  # a GPU would have to be waited for to know which they are
                rare = likelihood < UNDERFLOW
                norms[rare] = (x[rare] @ weight.t()).logsumexp(-1)
            ctx.grads = grad_x.to(given), grad_weight
            return norms.sum() - right * of_right.sum() - even * (sum_x @ sum_weight)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grads, ctx.grads = ctx.grads, None
        if grads is None:
            raise RuntimeError("expected one backward pass through this loss, got a second")
        return grads[0].mul_(grad_outputs[0]), grads[1].mul_(grad_outputs[0]), None, None


class LossModel(nn.Module):
    """One number leaves the accelerated forward."""

    def __init__(self, model: Transformer, config: TrainConfig) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = config.label_smoothing

    def compile_layers(self) -> None:
        """Compiles the layers, each kind once: far less to compile than the whole network."""
        for layer in (*self.model.encoder, *self.model.decoder):
            layer.compile(dynamic=True)

    def read(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """The decoder's output: (B, S), (B, T) -> (B, T, D)."""
        return self.model.read(tgt_in, self.model.encode(src))[0]

    def forward(
        self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor, real: Tensor | None = None
    ) -> Tensor:
        """The summed loss: (B, S), (B, T), (B, T), (N,) -> ()."""
        x = self.read(src, tgt_in)
        weight = self.model.embedding.weight
        return projected_cross_entropy(x, weight, tgt_out, self.label_smoothing, real)
