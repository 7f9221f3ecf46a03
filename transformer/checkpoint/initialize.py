"""Initialize a model from another one, which has another vocabulary or is smaller.

A piece that both vocabularies have keeps its embedding; any other begins as the mean of the old
pieces that write it (as Gee et al. 2022, section 3, do). All else is taken as it is: a model of the
other direction, too, begins with what it knows of both languages (Kocmi and Bojar 2018).

A larger model computes what the small one did, with room to learn:
Chen et al. 2016 ("Net2Net"): a wider model holds each channel several times and whatever reads
it shares its weight among the copies; a deeper one has new layers that add nothing yet. The norm
must stand before each sublayer, so that what a layer adds can be zero.

Shapes: D model width, N units of a linear layer, K copies of a channel.
"""

import dataclasses
import math

import torch
from torch import Tensor

from transformer.checkpoint.weights import Checkpoint
from transformer.config import ModelConfig, UserError
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

GROWABLE = ("d_model", "n_heads", "n_encoder_layers", "n_decoder_layers", "d_ff")
CHANNEL_READERS = ("query", "key", "value", "expand")
CHANNEL_WRITERS = ("out", "contract")
NOISE_SCALE = 0.5  # how unequally a reader weighs the copies, beside the deviation of its weights


def initial_weights(
    before: Checkpoint, tokenizer: Tokenizer, config: ModelConfig
) -> dict[str, Tensor]:
    """Return the weights of `before` for `config` and `tokenizer`; UserError if it cannot grow."""
    weights = dict(before.model.state_dict())
    if tokenizer.model != before.tokenizer.model:
        old = weights["embedding.weight"]
        weights["embedding.weight"] = transfer_embeddings(old, before.tokenizer, tokenizer)
    return grow_weights(weights, before.model.config, config)


@torch.no_grad()
def transfer_embeddings(old: Tensor, before: Tokenizer, tokenizer: Tokenizer) -> Tensor:
    """Return embeddings for `tokenizer` from the `old` ones for `before`: (V, D) -> (V', D).

    A new piece gets the mean of those of the pieces of `before` that write it, or else of all.
    """
    known = {piece: i for i, piece in enumerate(before.pieces(range(before.vocab_size)))}
    new = old.new_empty(tokenizer.vocab_size, old.size(1))
    for i, piece in enumerate(tokenizer.pieces(range(tokenizer.vocab_size))):
        parts = [known[piece]] if piece in known else before.encode(piece.replace("\u2581", " "))
        new[i] = old[parts].mean(0) if parts else old.mean(0)
    return new


def check_growth(old: ModelConfig, new: ModelConfig) -> None:
    """Raise UserError unless `old` can grow to `new`; dropout and vocabulary may differ.

    If more differs, the norm must be "pre", `d_model` and `n_heads` are multiplied by one whole
    number, the layers and `d_ff` are as many or more, and all else is equal.
    """
    free = dataclasses.replace(new, dropout=old.dropout, vocab_size=old.vocab_size)
    if free == old:
        return
    same = dataclasses.replace(free, **{name: getattr(old, name) for name in GROWABLE})
    if same != old:
        raise UserError(f"expected the shape of --init, {old}, or a larger one; got {new}")
    if old.norm != "pre":
        raise UserError("expected --init with the norm before each sublayer: others cannot grow")
    copies, rest = divmod(new.d_model, old.d_model)
    if rest or new.n_heads != copies * old.n_heads:
        raise UserError(
            f"expected --d-model {old.d_model} times a whole number, and --n-heads {old.n_heads} "
            f"times the same; got {new.d_model} and {new.n_heads}"
        )
    for name in ("n_encoder_layers", "n_decoder_layers", "d_ff"):
        if getattr(new, name) < getattr(old, name):
            option = "--" + name.replace("_", "-")
            raise UserError(
                f"expected {option} of at least {getattr(old, name)}, as --init has; "
                f"got {getattr(new, name)}"
            )


@torch.no_grad()
def grow_weights(
    weights: dict[str, Tensor], old: ModelConfig, new: ModelConfig
) -> dict[str, Tensor]:
    """Return weights for the shape `new` that compute what those of the shape `old` do.

    At equal width the outputs are exactly equal; a wider model has finer position encodings between
    the old ones, which changes them a little. Copies of a channel are read with unequal weights,
    drawn from one seed, as they would stay equal otherwise. The embeddings in `weights` are for
    `new`'s vocabulary already. UserError if `old` cannot grow to `new`.
    """
    check_growth(old, new)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        wider = _Widening(old.d_model, new.d_model)
        fresh = Transformer(new).state_dict()
        depths = {"encoder": old.n_encoder_layers, "decoder": old.n_decoder_layers}
        for name, tensor in fresh.items():
            stack, layer = name.split(".")[:2]
            if stack in depths and int(layer) >= depths[stack]:
                if name.split(".")[-2] in CHANNEL_WRITERS:
                    tensor.zero_()
            else:
                wider.fill(name, tensor, weights[name])
    return fresh


class _Widening:
    """A map from `old` channels to `new`, K times as many; a sine stays beside its cosine."""

    def __init__(self, old: int, new: int) -> None:
        self.copies = new // old
        channels = torch.arange(new)
        self.of = channels // 2 // self.copies * 2 + channels % 2  # the old channel of each

    def fill(self, name: str, new: Tensor, old: Tensor) -> None:
        """Write `old` into `new`, the larger model's weight `name`, in place, its channels mapped.

        Further rows of what reads channels stay as in `new`; what reads those units gets zeros.
        """
        part, kind = name.split(".")[-2:]
        if kind == "weight" and part in CHANNEL_READERS:
            new[: len(old)] = self._read(old)
        elif part in CHANNEL_READERS:
            new[: len(old)] = old
        elif kind == "weight" and part in CHANNEL_WRITERS:
            new.zero_()
            new[:, : old.size(1)] = old[self.of]
        elif part == "embedding":  # scaled by sqrt(D) where it is read
            new.copy_(old[:, self.of] / math.sqrt(self.copies))
        elif part == "decoder_norm":  # the logits are sums over all copies
            new.copy_(old[self.of] / math.sqrt(self.copies))
        else:
            new.copy_(old[..., self.of])

    def _read(self, old: Tensor) -> Tensor:
        """Share each weight among the copies of its channel: (N, D) -> (N, K x D)."""
        if self.copies == 1:
            return old
        parts = torch.randn(len(old), old.size(1) // 2, self.copies, 2) * old.std()
        parts -= parts.mean(2, keepdim=True)  # copies that are equal are read as before
        return (old[:, self.of] + NOISE_SCALE * parts.flatten(1)) / self.copies
