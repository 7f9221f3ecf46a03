"""A translation explained: the alignment as a picture, the decoding step by step as text.

Shows what `trace` found out, one sentence at a time.

Shapes: L layers, H heads, S source pieces with the end mark, T target pieces with the end mark.
"""

import html
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from torch import Tensor

from transformer import plots
from transformer.config import DecodeConfig, UserError
from transformer.explain.trace import Trace, trace
from transformer.files import replaced
from transformer.text.sentences import segments
from transformer.text.tokenizer import BOUNDARY
from transformer.translation.translator import GREEDY, Translator

N_LOOKS, LEAST = 3, 0.05  # source pieces named at a step, and the weight they must have
STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;"
    "max-width:60rem;padding:0 1rem}svg{height:auto;max-width:100%}pre{overflow-x:auto}"
)


def sharpest(cross: Tensor) -> int:
    """The layer that aligns best: (L, H, T, S) -> its number, from 0.

    The one whose steps, the mean of the heads taken, look most at a single piece. The end mark
    is left out: heads that find nothing rest on it.
    """
    return int(cross.mean(1)[:, :-1, :-1].amax(-1).mean(-1).argmax())


def alignment(traced: Trace) -> Tensor:
    """Who looks where in that layer, the mean of its heads: -> (T, S)."""
    return traced.cross[sharpest(traced.cross)].mean(0)


def explained(
    translator: Translator,
    texts: Iterable[str],
    picture: Path | None = None,
    steps: bool = True,
    decode: DecodeConfig = GREEDY,
) -> Iterator[str]:
    """The lines about each sentence of each text; with `picture` there must be one sentence.

    Without `steps` they are its translation alone.
    """
    sentences = (
        part.text
        for text in texts
        for part in segments(text, translator.src_lang)
        if part.is_sentence
    )
    if picture is None:
        for sentence in sentences:
            yield from lines(trace(translator, sentence, (), decode))
        return
    chosen = list(sentences)
    if len(chosen) != 1:
        raise UserError(f"expected one sentence for --attention, got {len(chosen)}")
    traced = trace(translator, chosen[0], (), decode)
    draw(traced, picture)
    yield from lines(traced) if steps else (traced.target,)


def lines(traced: Trace) -> Iterator[str]:
    """Step by step: what is written, the ten likeliest next pieces, what is looked at."""
    looks = alignment(traced)
    yield f"source: {' '.join(traced.source_pieces)}"
    for number, choices in enumerate(traced.steps):
        piece, probability = traced.target_pieces[number], traced.probabilities[number]
        before = "".join(traced.target_pieces[:number]).replace(BOUNDARY, " ").strip()
        weights, places = looks[number].topk(min(N_LOOKS, looks.size(1)))
        seen = ", ".join(
            f"{traced.source_pieces[place]} {weight:.2f}"
            for weight, place in zip(weights.tolist(), places.tolist(), strict=True)
            if weight >= LEAST
        )
        yield ""
        yield f"{number + 1}. {before or '(start)'} + {piece} ({probability:.3f})"
        yield f"   likeliest: {'  '.join(f'{c.piece} {c.probability:.3f}' for c in choices)}"
        yield f"   looks at:  {seen}"
    yield ""
    yield f"translation: {traced.target}"


def draw(traced: Trace, path: Path) -> None:
    """Writes the alignment as a picture, or as a page with the steps; the suffix says which."""
    looks = alignment(traced).tolist()
    layer = sharpest(traced.cross) + 1
    title = f"Attention, mean of the heads of decoder layer {layer}"
    kind: Literal["png", "svg"] = "png" if path.suffix == ".png" else "svg"
    drawn = plots.heat_map(traced.target_pieces, traced.source_pieces, looks, title, kind)
    if path.suffix == ".html":
        drawn = _page(traced, drawn.decode()).encode()
    with replaced(path) as temporary:
        temporary.write_bytes(drawn)


def _page(traced: Trace, picture: str) -> str:
    source, target = html.escape(traced.source), html.escape(traced.target)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{target}</title><style>{STYLE}</style></head><body>"
        f"<p>{source}</p><h1>{target}</h1>{picture}"
        f"<pre>{html.escape(chr(10).join(lines(traced)))}</pre></body></html>\n"
    )
