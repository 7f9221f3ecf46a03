"""One encoder layer and one decoder layer: sublayers, residuals and norms (section 3.1).

Shapes: B batch, S source, T target, L any length, H heads, K keys, C channels, D model width.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer.attention import KV, MultiHeadAttention
from transformer.config import ModelConfig


class Dropout(nn.Dropout):
    """Drops elements with probability p, on a CPU p rounded to 1/256 (0.1 to 26/256).

    One random byte an element is enough; drawing a float for each took a tenth of a step.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Any shape; what is kept is scaled so that the mean stays."""
        dropped = min(255, round(256 * self.p))
        if not self.training or not dropped or x.device.type != "cpu":
            return super().forward(x)
        words = torch.empty(-(-x.numel() // 8), dtype=torch.int64).random_(-(2**63), None)
        kept = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
        return x * kept.to(x.dtype).mul_(256 / (256 - dropped))


class FeedForward(nn.Module):
    """Two linear maps with a nonlinearity between, each position by itself (section 3.3)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.activation = nn.ReLU() if config.activation == "relu" else nn.GELU()
        self.contract = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        return self.contract(self.activation(self.expand(x)))


class Residual(nn.Module):
    """Adds a sublayer's output to its input and normalises, after (paper) or before."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.post = config.norm == "post"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """post: norm(x + f(x)); pre: x + f(norm(x)): (B, L, D) -> (B, L, D)."""
        if self.post:
            return self.norm(x + self.dropout(sublayer(x)))
        return x + self.dropout(sublayer(self.norm(x)))


class EncoderLayer(nn.Module):
    """Self-attention over the source, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.self_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_residual = Residual(config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D), (B, 1, 1, S) -> (B, S, D)."""
        attend = self.self_attention
        x = self.self_residual(x, lambda y: attend(y, attend.kv(y), mask))
        return self.feed_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, attention over the source, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.self_residual = Residual(config)
        self.cross_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.cross_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_residual = Residual(config)

    def forward(
        self, x: Tensor, past: KV | None, memory: KV, mask: Tensor, memory_mask: Tensor
    ) -> tuple[Tensor, KV]:
        """Gives the new target positions, and the keys and values of all of them so far.

        x (B, T, D), past 2 x (B, H, P, C) of the P positions before, memory 2 x (B, H, S, C),
        mask (T, P + T), memory_mask (B, 1, 1, S) -> (B, T, D), 2 x (B, H, P + T, C).
        """
        seen: list[KV] = []

        def look_back(y: Tensor) -> Tensor:
            new = self.self_attention.kv(y)
            seen.append(past.append(new) if past is not None else new)
            return self.self_attention(y, seen[0], mask)

        x = self.self_residual(x, look_back)
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, memory_mask))
        return self.feed_residual(x, self.feed_forward), seen[0]
