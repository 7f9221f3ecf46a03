"""The worked examples of stops 1 to 7, computed by this project's attention.

Each function gives the numbers of one stop; nothing here draws.

Shapes: Q queries, K keys, C channels of a head, H heads, D = H x C.
"""

import dataclasses
import math

import torch
from torch import Tensor

from transformer.config import PAD_ID
from transformer.model import MultiHeadAttention, attention_weights, causal_mask, padding_mask

X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5]])
ENCODER = torch.tensor([[3.0, 2.0], [3.0, 0.0], [1.0, 3.0]])  # three states of a recurrent encoder
DECODER = torch.tensor([[3.0, 2.0]])
TABLE = torch.arange(50).view(5, 10) / 100  # 0.00 ... 0.49, five positions
TINY = -1e-9  # what a well-known notebook fills masked places with, by a slip


@dataclasses.dataclass(frozen=True, slots=True)
class Mixture:
    """Attention weights A, the vectors they weigh, and the mixture A X."""

    weights: Tensor  # (Q, K)
    values: Tensor  # (K, C)

    @property
    def output(self) -> Tensor:
        """(Q, C)."""
        return self.weights @ self.values


def hard() -> tuple[Mixture, Mixture]:
    """Stop 1: each vector looks at itself; one looks at the first alone."""
    itself = torch.eye(3, dtype=torch.bool)
    first = torch.tensor([[True, False, False]])
    return (
        Mixture(attention_weights(X, X, itself), X),
        Mixture(attention_weights(X[:1], X, first), X),
    )


def soft() -> tuple[Mixture, Mixture]:
    """Stop 2: 0.8 for oneself and 0.1 for each other; then no preference at all."""
    wanted = torch.full((3, 3), 0.1).fill_diagonal_(0.8)
    query = wanted.log() * math.sqrt(3)  # against unit vectors: the scores are those logarithms
    unsure = torch.zeros(3, 2)
    return (
        Mixture(attention_weights(query, torch.eye(3)), X),
        Mixture(attention_weights(unsure, X), X),
    )


def self_attention() -> Mixture:
    """Stop 3: softmax(X X^T) X, so without the division by the root of the channels."""
    return Mixture(attention_weights(X * math.sqrt(2), X), X)


def recurrent() -> tuple[Tensor, Mixture]:
    """Stop 4: the scores of a decoder state against three encoder states, and the context."""
    scores = DECODER @ ENCODER.T  # (1, 3)
    return scores, Mixture(attention_weights(DECODER * math.sqrt(2), ENCODER), ENCODER)


def scaled() -> dict[str, Tensor]:
    """Stop 5: two scores over 64 channels, undivided and divided, and their softmax."""
    query, key = torch.ones(1, 64), torch.tensor([[1.75], [1.5]]).expand(2, 64)
    scores = query @ key.T
    return {
        "scores": scores,
        "divided": scores / math.sqrt(64),
        "sharp": scores.softmax(-1),
        "weights": attention_weights(query, key),
    }


@dataclasses.dataclass(frozen=True, slots=True)
class Heads:
    """Stop 6: the heads of one attention on the words of one sentence."""

    weights: Tensor  # (H, Q, Q)
    undivided: Tensor  # (H, Q, Q), what they would be without the division by sqrt(C)
    difference: float  # between one head at a time and all at once


def heads(attention: MultiHeadAttention, words: Tensor) -> Heads:
    """Slices, attends, joins and projects head by head, and compares with all heads at once.

    words (1, Q, D).
    """
    query, key, value = attention.query(words), attention.key(words), attention.value(words)
    width, parts, undivided = words.size(-1) // attention.n_heads, [], []
    for start in range(0, words.size(-1), width):
        part = slice(start, start + width)
        scores = query[..., part] @ key[..., part].transpose(1, 2)
        parts.append((scores / math.sqrt(width)).softmax(-1) @ value[..., part])
        undivided.append(scores[0].softmax(-1))
    one_at_a_time = attention.out(torch.cat(parts, -1))
    at_once = attention(words, attention.kv(words))
    weights = attention.weights(words, attention.kv(words))[0]
    difference = float((one_at_a_time - at_once).abs().max())
    return Heads(weights, torch.stack(undivided), difference)


@dataclasses.dataclass(frozen=True, slots=True)
class Masks:
    """Stop 7: five positions, the last of them padding."""

    scores: Tensor  # (5, 5) Q K^T
    may_look: Tensor  # (5, 5)
    weights: Tensor  # (5, 5)
    slip: Tensor  # (5, 5) with masked places filled with -1e-9

    @property
    def leaked(self) -> float:
        """The share of row one that the slip gives to what may not be seen."""
        return float(self.slip[0, 1:].sum())


def masks() -> Masks:
    """The no-peek mask and the padding mask together, right and with the slip."""
    ids = torch.tensor([[5, 6, 7, 8, PAD_ID]])
    may_look = causal_mask(5, 5) & padding_mask(ids, PAD_ID)[0, 0]
    scores = TABLE @ TABLE.T
    slip = scores.masked_fill(~may_look, TINY).softmax(-1)
    return Masks(scores, may_look, attention_weights(TABLE, TABLE, may_look), slip)


def quiz() -> dict[str, list[float]]:
    """The numbers of the answers to some exercises."""
    half = torch.tensor([[0.5, 0.5, 0.0]])
    state = torch.tensor([[0.0, 1.0]])
    steep = attention_weights(2 * X * math.sqrt(2), 2 * X)  # stop 3 with X twice as long
    vector = torch.tensor([1.0, 2.0, 3.0, 6.0])
    return {
        "half": (half @ X)[0].tolist(),
        "twice": steep[0].tolist(),
        "state_scores": (state @ ENCODER.T)[0].tolist(),
        "state_weights": attention_weights(state * math.sqrt(2), ENCODER)[0].tolist(),
        "by_16": (torch.tensor([112.0, 96.0]) / 16).softmax(-1).tolist(),
        "normed": torch.nn.functional.layer_norm(vector, (4,)).tolist(),
    }
