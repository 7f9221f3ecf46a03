"""One sentence through the model, with the numbers of every step: from pieces to the next word.

The first encoder layer is gone through part by part, then what the decoder does at one step.

Shapes: S source pieces, T target pieces, K keys, C channels of a head, H heads, D model width.
"""

import math
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer.config import BOS_ID
from transformer.explain.trace import Trace, best_alignment_layer, trace
from transformer.model import (
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    Transformer,
    source_batch,
)
from transformer.text.tokenizer import Word
from transformer.translation.translator import Translator

SENTENCE, FOLLOWED = "El gato negro duerme.", "negro"
SHOWN = 6  # channels of a vector that are drawn
N_NEXT = 5  # candidates of a step that are drawn


def find_word(words: tuple[Word, ...], text: str) -> Word:
    """Return the first word with that text, else the middle one: models choose other words."""
    return next((word for word in words if word.text == text), words[len(words) // 2])


@torch.inference_mode()
def walk(translator: Translator) -> dict[str, Any]:
    """Compute every number of the walk, by the names that the templates use."""
    traced = trace(translator, SENTENCE)
    row = find_word(traced.source_words, FOLLOWED).first
    layer = best_alignment_layer(traced.cross)
    step = int(traced.cross[layer].mean(0)[:-1, row].argmax())  # that looks most at the word
    return {
        "source": traced.source,
        "target": traced.target,
        "pieces": traced.source_pieces,
        "ids": traced.source_ids,
        "written": traced.target_pieces,
        "row": row,
        "step": step,
        **reading(translator.model, traced, row),
        **writing(translator.model, traced, step),
        "cross": traced.cross[layer].mean(0).tolist(),
        "cross_layer": layer + 1,
        "steps": [[(c.piece, c.probability) for c in step[:N_NEXT]] for step in traced.steps],
    }


def reading(model: Transformer, traced: Trace, row: int) -> dict[str, Any]:
    """Follow the encoder: vectors, then the first layer part by part, for the word of that row."""
    layer = cast(EncoderLayer, model.encoder[0])
    attend, pre = layer.self_attention, model.config.norm == "pre"
    src = source_batch([traced.source_ids[:-1]])
    embedded = model.embedding(src)[0] * math.sqrt(model.config.d_model)  # (S, D)
    codes = model.positions(0, src.size(1))  # (S, D)
    x = embedded + codes
    read = layer.self_residual.norm(x) if pre else x
    query, kv = attend._split(attend.query(read[None]))[0], attend.kv(read[None])
    head = _most_outward_head(attend.weights(read[None], kv)[0], row, traced)
    key, value = kv.key[0, head], kv.value[0, head]  # (S, C)
    scores = query[head] @ key.T  # (S, S)
    weights = (scores / math.sqrt(key.size(1))).softmax(-1)
    after = layer.self_residual(x[None], lambda y: attend(y, attend.kv(y)))[0]
    memory = model.encoder_norm(_run_encoder(model, x))
    return {
        "head": head + 1,
        "embedded": _first_channels(embedded),
        "codes": _first_channels(codes),
        "x": _first_channels(x),
        "read": _first_channels(read),
        "x_mean": float(x[row].mean()),
        "x_std": float(x[row].std(correction=0)),
        "read_std": float(read[row].std(correction=0)),
        "query": _first_channels(query[head]),
        "key": _first_channels(key),
        "value": _first_channels(value),
        "channels": key.size(1),
        "scores": scores[row].tolist(),
        "divided": (scores[row] / math.sqrt(key.size(1))).tolist(),
        "exponentials": (scores[row] / math.sqrt(key.size(1))).exp().tolist(),
        "weights": weights.tolist(),
        "mixture": _first_channels(weights[row : row + 1] @ value)[0],
        "layer_heads": traced.encoder[0].tolist(),
        "after": _first_channels(after),
        **_feed(layer, after, row, pre),
        "memory": _first_channels(memory),
        **_strongest_link(traced, row),
    }


def _most_outward_head(maps: Tensor, row: int, traced: Trace) -> int:
    """Return the head in which a row gives most to a piece of another word: (H, S, S) -> int."""
    return int(maps[:, row, _other_pieces(traced, row)].amax(-1).argmax())


def _other_pieces(traced: Trace, row: int) -> list[int]:
    """Return the places of the pieces of all words that the row is not in, without marks."""
    return [
        place
        for word in traced.source_words
        if any(map(str.isalpha, word.text)) and not word.first <= row < word.last
        for place in range(word.first, word.last)
    ]


def _strongest_link(traced: Trace, row: int) -> dict[str, Any]:
    """Find the layer and head of the encoder where the row gives most to another word."""
    places = _other_pieces(traced, row)
    best = traced.encoder[:, :, row, places].amax(-1)  # (L, H)
    layer, head = divmod(int(best.argmax()), best.size(1))
    maps = traced.encoder[layer, head]
    return {
        "link_layer": layer + 1,
        "link_head": head + 1,
        "link": maps.tolist(),
        "link_to": traced.source_pieces[places[int(maps[row, places].argmax())]],
        "link_weight": float(best.max()),
    }


def _feed(layer: EncoderLayer, x: Tensor, row: int, pre: bool) -> dict[str, Any]:
    """Follow the feed-forward network of a layer at one row: how many units are active."""
    feed = layer.feed_forward
    hidden = feed.activation(feed.expand(layer.feed_residual.norm(x) if pre else x))[row]  # (F,)
    strongest = hidden.topk(SHOWN)
    return {
        "units": hidden.numel(),
        "awake": int((hidden > 0).sum()),
        "strongest": list(zip(strongest.indices.tolist(), strongest.values.tolist(), strict=True)),
        "fed": _first_channels(layer.feed_residual(x[None], feed)[0])[row],
    }


def _run_encoder(model: Transformer, x: Tensor) -> Tensor:
    """Run all encoder layers: (S, D) -> (S, D)."""
    mask = torch.ones(1, 1, 1, len(x), dtype=torch.bool)
    x = x[None]
    for layer in model.encoder:
        x = layer(x, mask)
    return x[0]


def writing(model: Transformer, traced: Trace, step: int) -> dict[str, Any]:
    """Follow the decoder at one step: what it has read, looks at, and finds likely next."""
    state = model.encode(source_batch([traced.source_ids[:-1]]))
    read = torch.tensor([[BOS_ID, *traced.target_ids[:-1]]])
    output, _ = model.decode_hidden(read, state)
    logits = F.linear(output[0, step], model.embedding.weight)  # (V,)
    best = logits.topk(N_NEXT)
    layer = cast(DecoderLayer, model.decoder[0])
    x = model.embed(read)
    normed = layer.self_residual.norm(x) if model.config.norm == "pre" else x
    query = _query(layer.self_attention, normed)
    key = layer.self_attention.kv(normed).key[0]
    unmasked = (query @ key.transpose(1, 2) / math.sqrt(key.size(-1))).softmax(-1)  # (H, T, T)
    before = traced.decoder[0].tril(-1).sum(-1).mean(-1)  # (H,), what goes to earlier pieces
    head = int(before.argmax())
    peeked = unmasked[head].triu(1).sum(-1)  # (T,)
    return {
        "read_back": ("<s>", *traced.target_pieces[:-1]),
        "mask_head": head + 1,
        "masked": traced.decoder[0, head].tolist(),
        "peeked": float(peeked[:-1].mean()),
        "vocabulary": logits.numel(),
        "logits": best.values.tolist(),
        "output": output[0, step, :SHOWN].tolist(),
    }


def _query(attend: MultiHeadAttention, x: Tensor) -> Tensor:
    """Split the queries into heads: (1, L, D) -> (H, L, C)."""
    return attend._split(attend.query(x))[0]


def _first_channels(x: Tensor) -> list[list[float]]:
    """Return the first channels of each row."""
    rows: list[list[float]] = x[:, :SHOWN].tolist()
    return rows
