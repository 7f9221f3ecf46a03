"""Label-smoothed cross-entropy, summed over tokens, computed without holding all logits.

With smoothing e the target distribution is 1 - e on the right token plus e spread evenly over
the vocabulary (Szegedy et al. 2016, section 7).

Shapes: B batch, T target, N = any number of target tokens, D model width, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor, nn

from transformer.config import PAD_ID, TrainConfig
from transformer.model import Transformer

CHUNK = 2**24  # logits held at a time; with fewer, the gradient is added to more often
GPU_CHUNK = 2**28  # the same on a GPU, which is fast only with large products
TINY = 1e-30  # a probability below this has lost digits in float32


def linear_cross_entropy(
    x: Tensor, weight: Tensor, target: Tensor, label_smoothing: float, real: Tensor | None = None
) -> Tensor:
    """Sum torch's cross-entropy, in nats, of the logits x W^T: (B, T, D), (V, D), (B, T) -> ().

    The logits, by far the largest tensor of training, are never held as a whole: each chunk is
    turned into its part of both gradients immediately. Padding costs nothing. `real` (N,) are the
    flat indices of the real tokens; if it is None they are found here, which waits for the GPU.
    """
    target = target.flatten()
    if real is None:
        real = (target != PAD_ID).nonzero()[:, 0]
    x = x.flatten(0, 1).index_select(0, real)
    return _LinearCrossEntropy.apply(x, weight, target.index_select(0, real), label_smoothing)


class _LinearCrossEntropy(torch.autograd.Function):
    """Cross-entropy with gradient softmax(logits) - (1 - e) at the right token - e / V everywhere.

    e is the smoothing and V the size of the vocabulary. Only the softmax needs passes over the
    logits x W^T; the gradients of the other two terms are rows of W and x, and sums of them.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """Compute the summed loss and both gradients: (N, D), (V, D), (N,) -> ()."""
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
            log_sums = of_right - likelihood.clamp_min(TINY).log()  # log-sum-exp of the logits
            if device == "cpu":  # on a GPU, finding them would wait for the GPU
                rare = likelihood < TINY
                log_sums[rare] = (x[rare] @ weight.t()).logsumexp(-1)
            ctx.grads = grad_x.to(given), grad_weight
            return log_sums.sum() - right * of_right.sum() - even * (sum_x @ sum_weight)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grads, ctx.grads = ctx.grads, None
        if grads is None:
            raise RuntimeError("expected one backward pass through this loss, got a second")
        return grads[0].mul_(grad_outputs[0]), grads[1].mul_(grad_outputs[0]), None, None


class LossModel(nn.Module):
    """A model and its loss as one module, so that `forward` returns a single number."""

    def __init__(self, model: Transformer, config: TrainConfig) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = config.label_smoothing

    def compile_layers(self) -> None:
        """Compile each kind of layer once, which takes far less time than the whole network."""
        for layer in (*self.model.encoder, *self.model.decoder):
            layer.compile(dynamic=True)

    def read(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Return the decoder's output: (B, S), (B, T) -> (B, T, D)."""
        return self.model.decode_hidden(tgt_in, self.model.encode(src))[0]

    def forward(
        self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor, real: Tensor | None = None
    ) -> Tensor:
        """Return the loss, summed over the flat indices `real`: (B, S), 2 x (B, T), (N,) -> ()."""
        x = self.read(src, tgt_in)
        weight = self.model.embedding.weight
        return linear_cross_entropy(x, weight, tgt_out, self.label_smoothing, real)
