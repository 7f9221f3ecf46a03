"""Weights of one model as a start for another: of another vocabulary, or larger.

A piece that both vocabularies have keeps its embedding; any other begins as the mean of the old
pieces that write it (as Gee et al. 2022, section 3, do). All else is taken as it is: a model of the
other direction, too, begins with what it knows of both languages (Kocmi and Bojar 2018).
"""

import torch
from torch import Tensor

from transformer.checkpoint import Checkpoint
from transformer.config import ModelConfig
from transformer.growth import grown
from transformer.tokenizer import Tokenizer


def weights_for(before: Checkpoint, tokenizer: Tokenizer, config: ModelConfig) -> dict[str, Tensor]:
    """The weights of `before` by name, in the shape `config`, their vocabulary `tokenizer`'s."""
    weights = dict(before.model.state_dict())
    if tokenizer.model != before.tokenizer.model:
        old = weights["embedding.weight"]
        weights["embedding.weight"] = embeddings(old, before.tokenizer, tokenizer)
    return grown(weights, before.model.config, config)


@torch.no_grad()
def embeddings(old: Tensor, before: Tokenizer, tokenizer: Tokenizer) -> Tensor:
    """Rows for the pieces of a vocabulary, out of those of the one before: (V, D) -> (V', D)."""
    known = {piece: i for i, piece in enumerate(before.pieces(range(before.vocab_size)))}
    new = old.new_empty(tokenizer.vocab_size, old.size(1))
    for i, piece in enumerate(tokenizer.pieces(range(tokenizer.vocab_size))):
        parts = [known[piece]] if piece in known else before.encode(piece.replace("\u2581", " "))
        new[i] = old[parts].mean(0) if parts else old.mean(0)
    return new
