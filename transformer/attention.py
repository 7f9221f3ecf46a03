"""Attention: masks, the scaled dot product, and many heads of it (Vaswani et al. 2017, 3.2).

Knows tensors only: not where its keys come from, nor who keeps them between two steps.

Shapes: B batch, Q queries, K keys, L any length, H heads, C channels of a head, D = H x C.
Masks are boolean, True = may look, broadcastable to (B, H, Q, K).
"""

import dataclasses
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """True where a token stands, False where padding does: (B, K) -> (B, 1, 1, K)."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(n_queries: int, n_keys: int, device: torch.device | None = None) -> Tensor:
    """The no-peek mask: -> (Q, K). The last query sees every key, each earlier one key less.

    With more keys than queries, the first keys are the past of a step-by-step decoding.
    """
    return torch.ones(n_queries, n_keys, dtype=torch.bool, device=device).tril(n_keys - n_queries)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(Q K^T / sqrt(C)), written out (eq. 1): (..., Q, C), (..., K, C) -> (..., Q, K).

    A masked key gets weight exactly 0, since exp(-inf) is 0.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (..., Q, K)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1)


@dataclasses.dataclass(frozen=True, slots=True)
class KV:
    """Projected keys and values, 2 x (B, H, K, C): what a query looks at."""

    key: Tensor
    value: Tensor

    def append(self, other: "KV") -> "KV":
        """These keys and values followed by others."""
        return KV(torch.cat([self.key, other.key], 2), torch.cat([self.value, other.value], 2))

    def select(self, rows: Tensor) -> "KV":
        """The named batch rows, in that order: (B,) indices or a boolean mask."""
        return KV(self.key[rows], self.value[rows])


class MultiHeadAttention(nn.Module):
    """H scaled dot products side by side, each on its own C channels (section 3.2.2)."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def _split(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, H, L, C)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def kv(self, x: Tensor) -> KV:
        """Projects what will be looked at: (B, K, D) -> 2 x (B, H, K, C)."""
        return KV(self._split(self.key(x)), self._split(self.value(x)))

    def forward(self, x: Tensor, kv: KV, mask: Tensor | None = None) -> Tensor:
        """(B, Q, D), 2 x (B, H, K, C) -> (B, Q, D)."""
        query = self._split(self.query(x))  # (B, H, Q, C)
        heads = F.scaled_dot_product_attention(query, kv.key, kv.value, attn_mask=mask)
        return self.out(heads.transpose(1, 2).flatten(2))  # (B, Q, D)

    def weights(self, x: Tensor, kv: KV, mask: Tensor | None = None) -> Tensor:
        """Who looks where, for pictures: (B, Q, D), 2 x (B, H, K, C) -> (B, H, Q, K)."""
        return attention_weights(self._split(self.query(x)), kv.key, mask)
