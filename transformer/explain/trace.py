"""Show how a translation was decoded: attention maps and likeliest tokens, as picture and text.

The translator chooses the tokens; then the plain model runs on them once more, and hooks on its
attention modules record the weights, one sentence at a time.

Shapes: L layers, H heads, S source pieces with the end mark, T target pieces with the end mark;
row t of a target map belongs to the step that gave target piece t. V vocabulary, K alternatives.
"""

import contextlib
import dataclasses
import html
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from transformer import plots
from transformer.config import BOS_ID, DecodeConfig, UserError
from transformer.explain.alignment import Choice, Trace, align
from transformer.files import atomic_write
from transformer.model import DecoderLayer, EncoderLayer, MultiHeadAttention, Transformer
from transformer.text.sentences import split_sentences
from transformer.text.tokenizer import BOUNDARY
from transformer.translation.translator import GREEDY, Translator

N_CHOICES = 10  # likeliest next tokens kept of each step
N_SOURCES, MIN_WEIGHT = 3, 0.05  # source pieces named at a step, and the weight they must have
STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;"
    "max-width:60rem;padding:0 1rem}svg{height:auto;max-width:100%}pre{overflow-x:auto}"
)


@contextlib.contextmanager
def _record_attention(model: Transformer) -> Iterator[dict[str, list[Tensor]]]:
    """Yield by "encoder", "decoder" and "cross" a list of the attention (H, T, S) of each layer.

    The model may run once in the block, and in no other thread meanwhile: each run appends to
    them, for the first sentence of its batch.
    """
    seen: dict[str, list[Tensor]] = {"encoder": [], "decoder": [], "cross": []}

    def watch(module: MultiHeadAttention, kind: str) -> Any:
        def look(module: nn.Module, inputs: tuple[Any, ...], _: Tensor) -> None:
            weights = cast(MultiHeadAttention, module).weights(*inputs)
            seen[kind].append(weights[0].float().cpu())

        return module.register_forward_hook(look)

    encoder = [cast(EncoderLayer, layer) for layer in model.encoder]
    decoder = [cast(DecoderLayer, layer) for layer in model.decoder]
    handles = [watch(layer.self_attention, "encoder") for layer in encoder]
    handles += [watch(layer.self_attention, "decoder") for layer in decoder]
    handles += [watch(layer.cross_attention, "cross") for layer in decoder]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@torch.inference_mode()
def trace(
    translator: Translator, text: str, prefix: Sequence[int] = (), decode: DecodeConfig = GREEDY
) -> Trace:
    """Translate a sentence, after a forced prefix of target ids, with its attention maps.

    UserError for a text or a prefix that `align` refuses.
    """
    (aligned,) = align(translator, [text], prefix, decode)
    model, pieces, target = translator.model, translator.tokenizer.pieces, aligned.target_ids
    src = torch.tensor([aligned.source_ids], device=model.device)
    with _record_attention(model) as seen:
        logits = model(src, torch.tensor([[BOS_ID, *target[:-1]]], device=model.device))
    maps: dict[str, Any] = {kind: torch.stack(maps) for kind, maps in seen.items()}
    probabilities = logits[0].float().softmax(-1).cpu()  # (T, V)
    best, ids = probabilities.topk(min(N_CHOICES, probabilities.size(1)), dim=-1)
    fields = {field.name: getattr(aligned, field.name) for field in dataclasses.fields(aligned)}
    fields["probabilities"] = tuple(probabilities[range(len(target)), target].tolist())
    fields["attention"] = maps["cross"][-1].mean(0).numpy()
    steps = tuple(
        tuple(map(Choice, row, pieces(row), values))
        for row, values in zip(ids.tolist(), best.tolist(), strict=True)
    )
    return Trace(**fields, **maps, steps=steps)


def best_alignment_layer(cross: Tensor) -> int:
    """Return the index of the layer that aligns best: (L, H, T, S) -> 0 ... L - 1.

    In that layer the attention of the steps, averaged over the heads, is most concentrated on
    single pieces. The end mark is left out: heads that find nothing rest on it.
    """
    return int(cross.mean(1)[:, :-1, :-1].amax(-1).mean(-1).argmax())


def alignment_map(traced: Trace) -> Tensor:
    """Return the attention of the layer that aligns best, averaged over its heads: -> (T, S)."""
    return traced.cross[best_alignment_layer(traced.cross)].mean(0)


def explain(
    translator: Translator,
    texts: Iterable[str],
    picture: Path | None = None,
    steps: bool = True,
    decode: DecodeConfig = GREEDY,
) -> Iterator[str]:
    """Yield the lines of `format_trace` for each sentence of each text.

    With `picture`, draw the attention of the only sentence into it; only then may `steps` be False,
    which yields the translation alone. UserError for several sentences with a picture, and for one
    that is too long.
    """
    sentences = (
        part.text
        for text in texts
        for part in split_sentences(text, translator.src_lang)
        if part.is_sentence
    )
    if picture is None:
        for sentence in sentences:
            yield from format_trace(trace(translator, sentence, (), decode))
        return
    chosen = list(sentences)
    if len(chosen) != 1:
        raise UserError(f"expected one sentence for --attention, got {len(chosen)}")
    traced = trace(translator, chosen[0], (), decode)
    save_picture(traced, picture)
    yield from format_trace(traced) if steps else (traced.target,)


def format_trace(traced: Trace) -> Iterator[str]:
    """Yield for each step the target so far, the ten likeliest next pieces, the attention."""
    looks = alignment_map(traced)
    yield f"source: {' '.join(traced.source_pieces)}"
    for number, choices in enumerate(traced.steps):
        piece, probability = traced.target_pieces[number], traced.probabilities[number]
        before = "".join(traced.target_pieces[:number]).replace(BOUNDARY, " ").strip()
        weights, places = looks[number].topk(min(N_SOURCES, looks.size(1)))
        seen = ", ".join(
            f"{traced.source_pieces[place]} {weight:.2f}"
            for weight, place in zip(weights.tolist(), places.tolist(), strict=True)
            if weight >= MIN_WEIGHT
        )
        yield ""
        yield f"{number + 1}. {before or '(start)'} + {piece} ({probability:.3f})"
        yield f"   likeliest: {'  '.join(f'{c.piece} {c.probability:.3f}' for c in choices)}"
        yield f"   looks at:  {seen}"
    yield ""
    yield f"translation: {traced.target}"


def save_picture(traced: Trace, path: Path) -> None:
    """Write the attention as .png or .svg, or .html with the steps; UserError if that fails."""
    looks = alignment_map(traced).tolist()
    layer = best_alignment_layer(traced.cross) + 1
    title = f"Attention, mean of the heads of decoder layer {layer}"
    kind: Literal["png", "svg"] = "png" if path.suffix == ".png" else "svg"
    drawn = plots.heat_map(traced.target_pieces, traced.source_pieces, looks, title, kind)
    if path.suffix == ".html":
        drawn = _html_page(traced, drawn.decode()).encode()
    with atomic_write(path) as file:
        file.write(drawn)


def _html_page(traced: Trace, picture: str) -> str:
    source, target = html.escape(traced.source), html.escape(traced.target)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{target}</title><style>{STYLE}</style></head><body>"
        f"<p>{source}</p><h1>{target}</h1>{picture}"
        f"<pre>{html.escape(chr(10).join(format_trace(traced)))}</pre></body></html>\n"
    )
