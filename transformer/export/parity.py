"""Does another implementation of a model translate as the model does, token for token?

Compares greedy searches, and weighs a difference by how sure the model was where the two part.
Knows ids and the functions it is given; not what runs behind them.

Shapes: B batch, S source, V vocabulary.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID, DecodeConfig
from transformer.decoding.search import greedy_search, length_limits
from transformer.model import Transformer, source_batch
from transformer.text.tokenizer import Tokenizer

# Greedy search elsewhere: (B, S) sources with their end mark and the most tokens a translation
# may have -> B lists of ids without special ones.
Rival = Callable[[Tensor, int], list[list[int]]]

TIE = 1e-4  # nats: what float32 may add up differently; two tokens this close are equally good
BATCH = 32  # sentences searched at once
MAX_RATIO = DecodeConfig().max_ratio
SENTENCES = (
    "¿Dónde está la biblioteca?",
    "No lo sé.",
    "Me gustaría un vaso de agua, por favor.",
    "El tren de las 9:35 a Zaragoza sale hoy con veinte minutos de retraso.",
    "¡Qué sorpresa! Nadie esperaba que llegaras tan pronto.",
    "Mi hermana compró dos libros y me regaló uno.",
    "Sí.",
    "Cuando era niño, mi abuelo me contaba historias de barcos y de islas lejanas.",
    "Ningún médico quiso firmar el informe, y el juez aplazó la decisión hasta el lunes.",
    "Escríbeme a ana.perez@example.org antes del 15/03/2024.",
    "Where is the library?",
    "I don't know.",
    "She bought two books and gave me one of them.",
    "If it rains tomorrow, we will stay at home and play cards.",
    "The train to Zaragoza leaves at 9:35, twenty minutes late.",
    "Nobody expected you so soon!",
    "東京 😀 straße",
)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A sentence that two implementations translate differently."""

    text: str
    ours: str
    theirs: str
    margin: float  # nats by which the model prefers its own token where the two part

    @property
    def is_tie(self) -> bool:
        """Whether both tokens are equally good to float32."""
        return self.margin < TIE


def _margin(model: Transformer, src: Tensor, ours: Sequence[int], theirs: Sequence[int]) -> float:
    """How much likelier our token is where two translations part: (1, S) -> nats."""
    pairs = list(itertools.zip_longest(ours, theirs, fillvalue=EOS_ID))
    place = next(i for i, (own, other) in enumerate(pairs) if own != other)
    own, other = pairs[place]
    tgt = torch.tensor([[BOS_ID, *ours[:place]]], device=src.device)
    with torch.inference_mode():
        scores = model(src, tgt)[0, -1].float()  # (V,)
    return math.inf if other in (PAD_ID, BOS_ID) else float(scores[own] - scores[other])


def differences(
    model: Transformer, tokenizer: Tokenizer, texts: Sequence[str], rival: Rival
) -> Iterator[Difference]:
    """Where the rival's greedy translations are not the model's.

    A text longer than half of the model's positions is cut there; lengths are bounded as in our
    search, by `max_ratio` of `DecodeConfig`.
    """
    longest = max(1, model.config.max_len // 2 - 1)
    sources = {text: tokenizer.encode(text)[:longest] for text in texts}
    order = sorted((text for text in sources if sources[text]), key=lambda t: -len(sources[t]))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        src = source_batch([sources[text] for text in rows]).to(model.device)
        most = length_limits(model, src, MAX_RATIO) - 1  # (B,) without the end mark
        found = greedy_search(model, src, max_ratio=MAX_RATIO)
        others = rival(src, int(most.max()))
        for row, (text, hypothesis) in enumerate(zip(rows, found, strict=True)):
            theirs = others[row][: int(most[row])]
            if tuple(theirs) == hypothesis.ids:
                continue
            alone = source_batch([sources[text]]).to(model.device)
            yield Difference(
                text=text,
                ours=" ".join(tokenizer.pieces(hypothesis.ids)),
                theirs=" ".join(tokenizer.pieces(theirs)),
                margin=_margin(model, alone, hypothesis.ids, theirs),
            )
