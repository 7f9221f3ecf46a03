"""This project's model in other people's code, ready to be trained: the same first weights.

Hugging Face Marian, torch.nn.Transformer and JoeyNMT, each with its own loss and its own forward
pass, and with dropout where this project has it. Knows models and losses; no optimiser, no time.

Shapes: B batch, S source, T target, D model width, V vocabulary.
"""

import contextlib
import dataclasses
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer import marian
from transformer.attention import causal_mask
from transformer.batching import Batch
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, ModelConfig, UserError
from transformer.model import Transformer
from transformer.positional import SinusoidalPositions

Way = Callable[[], AbstractContextManager[None]]  # to compute attention
BY_DEFAULT: Mapping[str, Way] = {"its own attention": contextlib.nullcontext}
JOEY_PLACES = {"query": "q_layer", "key": "k_layer", "value": "v_layer", "out": "output_layer"}


@dataclasses.dataclass(frozen=True, slots=True)
class Rival:
    """A model to be trained, its mean loss of a target token, and the ways to its attention."""

    model: nn.Module
    loss: Callable[[Batch], Tensor]  # -> ()
    ways: Mapping[str, Way]


def as_post_norm(model: Transformer) -> Transformer:
    """The same weights where each norm follows its sublayer; the final norms have no place."""
    if model.config.norm == "post":
        return model
    new = Transformer(dataclasses.replace(model.config, norm="post"))
    weights = model.state_dict()
    new.load_state_dict({name: weights[name] for name in new.state_dict()})
    return new


def mean_loss(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """The loss as its users write it: (B, T, V), (B, T) -> ()."""
    flat = logits.flatten(0, 1)
    return F.cross_entropy(flat, target.flatten(), ignore_index=PAD_ID, label_smoothing=smoothing)


def hugging_face(model: Transformer, smoothing: float) -> Rival:
    """MarianMTModel, which can only normalise after each sublayer."""
    logging.getLogger("transformers").setLevel(logging.ERROR)
    theirs = marian.marian_model(as_post_norm(model))
    for part in theirs.modules():
        if isinstance(getattr(part, "dropout", None), float):
            part.dropout = 0.0 if hasattr(part, "q_proj") else model.config.dropout

    def loss(batch: Batch) -> Tensor:
        said = theirs(
            input_ids=batch.src,
            attention_mask=batch.src != PAD_ID,
            decoder_input_ids=batch.tgt_in,
            use_cache=False,
        )
        return mean_loss(said.logits, batch.tgt_out, smoothing)

    def way(name: str) -> Way:
        def choose() -> AbstractContextManager[None]:
            theirs.set_attn_implementation(name)
            return contextlib.nullcontext()

        return choose

    return Rival(theirs, loss, {name: way(name) for name in ("sdpa", "eager")})


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with what it leaves to its user: embeddings, positions, output."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, pre = config.d_model, config.norm == "pre"
        self.embedding = nn.Embedding(config.vocab_size, width)
        self.positions = SinusoidalPositions(config.max_len, width)
        self.dropout = nn.Dropout(config.dropout)
        shape: Any = {
            "d_model": width,
            "nhead": config.n_heads,
            "dim_feedforward": config.d_ff,
            "dropout": config.dropout,
            "activation": config.activation,
            "batch_first": True,
            "norm_first": pre,
        }
        # By itself it would normalise twice at the end where the norm follows each sublayer.
        ends = [nn.LayerNorm(width) if pre else None for _ in range(2)]
        encoder, decoder = nn.TransformerEncoderLayer(**shape), nn.TransformerDecoderLayer(**shape)
        self.layers = nn.Transformer(
            width,
            config.n_heads,
            custom_encoder=nn.TransformerEncoder(
                encoder, config.n_encoder_layers, ends[0], enable_nested_tensor=False
            ),
            custom_decoder=nn.TransformerDecoder(decoder, config.n_decoder_layers, ends[1]),
            batch_first=True,
        )

    def _embed(self, ids: Tensor) -> Tensor:
        """(B, L) -> (B, L, D)."""
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(x + self.positions(0, ids.size(1)))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(B, S), (B, T) -> (B, T, V)."""
        padding = src == PAD_ID
        x = self.layers(
            self._embed(src),
            self._embed(tgt),
            tgt_mask=~causal_mask(tgt.size(1), tgt.size(1), tgt.device),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(x, self.embedding.weight)


def _copy(pairs: Iterator[tuple[nn.Module, Any]]) -> None:
    """Gives each of their modules the weights of ours."""
    for ours, theirs in pairs:
        theirs.load_state_dict(ours.state_dict())


def _torch_pairs(model: Transformer, theirs: Any) -> Iterator[tuple[nn.Module, Any]]:
    """Our modules and those of torch.nn.Transformer, but for the merged projections."""
    yield model.embedding, theirs.embedding
    for side in ("encoder", "decoder"):
        stack: Any = getattr(theirs.layers, side)
        layers: Any = getattr(model, side)
        for own, other in zip(layers, stack.layers, strict=True):
            blocks = [(own.self_attention, other.self_attn)]
            norms = [own.self_residual.norm, own.feed_residual.norm]
            if side == "decoder":
                blocks.append((own.cross_attention, other.multihead_attn))
                norms.insert(1, own.cross_residual.norm)
            for attention, merged in blocks:
                yield attention.out, merged.out_proj
            yield own.feed_forward.expand, other.linear1
            yield own.feed_forward.contract, other.linear2
            yield from zip(norms, (getattr(other, f"norm{i + 1}") for i in range(3)), strict=False)
        if stack.norm is not None:
            yield getattr(model, f"{side}_norm"), stack.norm


def _merged(model: Transformer, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """Our attention blocks and those of torch.nn.Transformer."""
    for side in ("encoder", "decoder"):
        layers: Any = getattr(model, side)
        for own, other in zip(layers, getattr(theirs.layers, side).layers, strict=True):
            yield own.self_attention, other.self_attn
            if side == "decoder":
                yield own.cross_attention, other.multihead_attn


@torch.no_grad()
def torch_transformer(model: Transformer, smoothing: float) -> Rival:
    """torch.nn.Transformer, its norm where ours is."""
    theirs = TorchTransformer(model.config)
    for part in theirs.modules():
        if isinstance(part, nn.MultiheadAttention):
            part.dropout = 0.0
        elif isinstance(part, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            part.dropout.p = 0.0  # the one within the feed-forward sublayer
    _copy(_torch_pairs(model, theirs))
    for ours, merged in _merged(model, theirs):
        parts = (ours.query, ours.key, ours.value)
        merged.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        merged.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))

    def loss(batch: Batch) -> Tensor:
        return mean_loss(theirs(batch.src, batch.tgt_in), batch.tgt_out, smoothing)

    def written_out() -> AbstractContextManager[None]:
        return sdpa_kernel(SDPBackend.MATH)

    return Rival(theirs, loss, {"fused": contextlib.nullcontext, "written out": written_out})


class _Words:
    """What JoeyNMT asks of a vocabulary, with this project's ids."""

    pad_index, bos_index, eos_index, unk_index, sep_index = PAD_ID, BOS_ID, EOS_ID, UNK_ID, None
    specials: Sequence[str] = ()
    lang_tags: Sequence[str] = ()

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


def _joey_model(config: ModelConfig) -> Any:
    """JoeyNMT's model of the same shape, with dropout where ours is."""
    try:
        from joeynmt import model as library
    except ImportError as error:
        raise UserError("JoeyNMT is not installed: pip install joeynmt") from error
    library.logger.setLevel(logging.ERROR)
    shape = {
        "type": "transformer",
        "num_heads": config.n_heads,
        "embeddings": {"embedding_dim": config.d_model, "scale": True, "dropout": config.dropout},
        "hidden_size": config.d_model,
        "ff_size": config.d_ff,
        "dropout": config.dropout,
        "layer_norm": config.norm,
        "activation": config.activation,
    }
    whole = {
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": {**shape, "num_layers": config.n_encoder_layers},
        "decoder": {**shape, "num_layers": config.n_decoder_layers},
    }
    words = _Words(config.vocab_size)
    theirs = library.build_model(whole, words, words)
    for part in theirs.modules():
        if type(part).__name__ == "MultiHeadedAttention":
            part.dropout.p = 0.0
        elif type(part).__name__ == "PositionwiseFeedForward":
            next(m for m in part.pwff_layer if isinstance(m, nn.Dropout)).p = 0.0
    return theirs


def _joey_pairs(model: Transformer, theirs: Any) -> Iterator[tuple[nn.Module, Any]]:
    """Our modules and JoeyNMT's; its output layer is the embedding."""
    yield model.embedding, theirs.src_embed.lut
    names = {
        "encoder": (("self", "src_src_att", "layer_norm"),),
        "decoder": (
            ("self", "trg_trg_att", "x_layer_norm"),
            ("cross", "src_trg_att", "dec_layer_norm"),
        ),
    }
    for side, blocks in names.items():
        layers: Any = getattr(model, side)
        for own, other in zip(layers, getattr(theirs, side).layers, strict=True):
            for name, block, norm in blocks:
                for ours, place in JOEY_PLACES.items():
                    linear = getattr(getattr(own, f"{name}_attention"), ours)
                    yield linear, getattr(getattr(other, block), place)
                yield getattr(own, f"{name}_residual").norm, getattr(other, norm)
            yield own.feed_forward.expand, other.feed_forward.pwff_layer[0]
            yield own.feed_forward.contract, other.feed_forward.pwff_layer[3]
            yield own.feed_residual.norm, other.feed_forward.layer_norm
        if model.config.norm == "pre":
            yield getattr(model, f"{side}_norm"), getattr(theirs, side).layer_norm


def joey(model: Transformer, smoothing: float) -> Rival:
    """JoeyNMT's Transformer and its own loss, its norm where ours is."""
    theirs = _joey_model(model.config)
    theirs.loss_function = ("crossentropy", smoothing)
    _copy(_joey_pairs(model, theirs))
    # Its divergence lacks the entropy of the smoothed target, which makes it a cross-entropy.
    spread = smoothing / (model.config.vocab_size - 2)
    entropy = -(1 - smoothing) * math.log(1 - smoothing)
    entropy -= smoothing * math.log(spread) if smoothing else 0.0

    def loss(batch: Batch) -> Tensor:
        seen = batch.tgt_out != PAD_ID
        total = theirs(
            return_type="loss",
            src=batch.src,
            src_length=None,
            src_mask=(batch.src != PAD_ID)[:, None],
            trg_input=batch.tgt_in,
            trg=batch.tgt_out,
            trg_mask=seen[:, None],
        )[0]
        return total / seen.sum() + entropy

    return Rival(theirs, loss, BY_DEFAULT)
