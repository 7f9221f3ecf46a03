"""The worked examples of stops 1 to 7, computed by this project's attention.

They come as the templates show them. A mixture is attention weights A (Q, K), the vectors X
(K, C) that they weigh, and A X.

Shapes: Q queries, K keys, C channels of a head, H heads, D = H x C.
"""

import math
from typing import Any

import torch
from torch import Tensor

from transformer.config import PAD_ID
from transformer.model import MultiHeadAttention, attention_weights, causal_mask, padding_mask

X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5]])
ENCODER = torch.tensor([[3.0, 2.0], [3.0, 0.0], [1.0, 3.0]])  # three states of a recurrent encoder
DECODER = torch.tensor([[3.0, 2.0]])
TABLE = torch.arange(50).view(5, 10) / 100  # 0.00 ... 0.49, five positions
TINY = -1e-9  # what a well-known notebook fills masked places with, by a slip


def mixture(weights: Tensor, values: Tensor) -> dict[str, list[list[float]]]:
    """Return attention weights A, vectors X, and the mixture A X."""
    mixed = weights @ values  # (Q, C)
    return {"a": weights.tolist(), "x": values.tolist(), "y": mixed.tolist()}


def worked_examples() -> dict[str, Any]:
    """Compute stops 1 to 5 and 7, as they can be checked by hand."""
    itself, first = torch.eye(3, dtype=torch.bool), torch.tensor([[True, False, False]])
    wanted = torch.full((3, 3), 0.1).fill_diagonal_(0.8)
    query = wanted.log() * math.sqrt(3)  # against unit vectors: the scores are those logarithms
    to_state = attention_weights(DECODER * math.sqrt(2), ENCODER)
    return {
        # Stop 1: each vector looks at itself; one looks at the first alone.
        "itself": mixture(attention_weights(X, X, itself), X),
        "first": mixture(attention_weights(X[:1], X, first), X),
        # Stop 2: 0.8 for oneself and 0.1 for each other; then no preference at all.
        "mostly": mixture(attention_weights(query, torch.eye(3)), X),
        "mean": mixture(attention_weights(torch.zeros(3, 2), X), X),
        # Stop 3: softmax(X X^T) X, so without the division by the root of the channels.
        "alone": mixture(attention_weights(X * math.sqrt(2), X), X),
        # Stop 4: the scores of a decoder state against three encoder states, and the context.
        "scores": (DECODER @ ENCODER.T)[0].tolist(),
        "context": {**mixture(to_state, ENCODER), "state": DECODER.tolist()},
        "scaled": scaled(),
        "masks": masks(),
        "quiz": quiz(),
    }


def scaled() -> dict[str, list[float]]:
    """Compute stop 5: two scores over 64 channels, undivided and divided, and their softmax."""
    query, key = torch.ones(1, 64), torch.tensor([[1.75], [1.5]]).expand(2, 64)
    scores = query @ key.T
    shown = {
        "scores": scores,
        "divided": scores / math.sqrt(64),
        "sharp": scores.softmax(-1),
        "weights": attention_weights(query, key),
    }
    return {name: values[0].tolist() for name, values in shown.items()}


def heads(attention: MultiHeadAttention, words: Tensor) -> tuple[Tensor, Tensor, float]:
    """Compute stop 6, attention head by head: (1, Q, D) -> 2 x (H, Q, Q).

    Returns the weights, those without the division by sqrt(C), and the largest difference of the
    output from that of all heads at once.
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
    return weights, torch.stack(undivided), float((one_at_a_time - at_once).abs().max())


def masks() -> dict[str, Any]:
    """Compute stop 7: five positions, the last padding; masked, and filled with -1e-9 by a slip."""
    ids = torch.tensor([[5, 6, 7, 8, PAD_ID]])
    may_look = causal_mask(5, 5) & padding_mask(ids, PAD_ID)[0, 0]
    scores = TABLE @ TABLE.T
    slip = scores.masked_fill(~may_look, TINY).softmax(-1)
    return {
        "scores": scores[0].tolist(),
        "may_look": may_look.float().tolist(),
        "weights": attention_weights(TABLE, TABLE, may_look).tolist(),
        "slip": slip.tolist(),
        "leaked": float(slip[0, 1:].sum()),  # of row one, to what may not be seen
    }


def quiz() -> dict[str, list[float]]:
    """Compute the answers to some exercises."""
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
