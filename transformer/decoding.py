"""From source ids to target ids: greedy search, the default, and beam search.

Both take one token a step with the keys and values of the past kept, drop the rows that have
ended, and give each sentence the result that it would get alone. Knows ids; no text.

Shapes: B sentences, S source, N beams, R rows still searching, V vocabulary.
"""

import dataclasses
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID, DecodeConfig
from transformer.model import DecoderState, Transformer


@dataclasses.dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished translation: its ids without special ones, and its score in nats.

    Greedy search scores with the sum of the log-probabilities, end mark included; beam search
    divides that by the length penalty.
    """

    ids: tuple[int, ...]
    score: float


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha, the end mark counted (Wu et al. 2016, eq. 14)."""
    return float(((5 + length) / 6) ** alpha)


def length_limits(model: Transformer, src: Tensor, max_ratio: float, prefix: int = 0) -> Tensor:
    """Most tokens that each row may get, end mark included: (B, S) -> (B,).

    `max_ratio` times the source plus 10, and what the model has positions for.
    """
    lengths = (src != PAD_ID).sum(1)
    limits = (lengths * max_ratio).long() + 10 + prefix
    return limits.clamp(max=model.config.max_len)


def _next_log_probs(logits: Tensor, may_go_on: Tensor) -> Tensor:
    """(R, V), (R,) -> (R, V): padding and start never follow; at the limit only the end does."""
    log_probs = logits.float().log_softmax(-1)
    log_probs[:, [PAD_ID, BOS_ID]] = -math.inf
    only_end = torch.full_like(log_probs[:1], -math.inf)
    only_end[:, EOS_ID] = 0.0
    return torch.where(may_go_on[:, None], log_probs, log_probs + only_end)


def _start(
    model: Transformer, src: Tensor, prefix: Sequence[int]
) -> tuple[Tensor, DecoderState, Tensor]:
    """Reads the source and the forced prefix: -> (B, P) tokens, state, (B, V) next logits."""
    if len(prefix) + 2 > model.config.max_len:
        raise ValueError(
            f"expected a prefix of at most {model.config.max_len - 2} tokens, got {len(prefix)}"
        )
    tokens = torch.tensor([[BOS_ID, *prefix]], device=src.device).expand(src.size(0), -1)
    logits, state = model.decode(tokens, model.encode(src))
    return tokens, state, logits[:, -1]


@torch.inference_mode()
def greedy_search(
    model: Transformer, src: Tensor, *, max_ratio: float = 2.0, prefix: Sequence[int] = ()
) -> list[Hypothesis]:
    """The likeliest token at each step, until the end mark: (B, S) -> B hypotheses.

    A forced prefix is part of the ids, not of the score.
    """
    limits = length_limits(model, src, max_ratio, len(prefix))
    tokens, state, logits = _start(model, src, prefix)
    rows = torch.arange(src.size(0), device=src.device)  # (R,) which sentence a row searches
    scores = torch.zeros(src.size(0), device=src.device)
    found: dict[int, Hypothesis] = {}
    while True:
        log_probs = _next_log_probs(logits, tokens.size(1) < limits[rows])
        best, chosen = log_probs.max(-1)  # (R,)
        scores = scores + best
        ended = chosen == EOS_ID
        for row in ended.nonzero().flatten().tolist():
            ids = tuple(tokens[row, 1:].tolist())
            found[int(rows[row])] = Hypothesis(ids, float(scores[row]))
        if len(found) == src.size(0):
            return [found[i] for i in range(src.size(0))]
        tokens = torch.cat([tokens, chosen[:, None]], dim=1)
        if ended.any():
            rows, scores, tokens = rows[~ended], scores[~ended], tokens[~ended]
            state = state.select(~ended)
        logits, state = model.decode(tokens[:, -1:], state)
        logits = logits[:, -1]


@dataclasses.dataclass
class _Beams:
    """What one sentence has found, and whether its search is over."""

    size: int
    finished: list[Hypothesis]

    def add(self, ids: tuple[int, ...], score: float) -> None:
        self.finished.append(Hypothesis(ids, score))

    @property
    def over(self) -> bool:
        return len(self.finished) >= self.size

    def best(self, n: int) -> list[Hypothesis]:
        return sorted(self.finished, key=lambda h: -h.score)[:n]


def _expand(scores: Tensor, log_probs: Tensor, beam_size: int) -> tuple[Tensor, Tensor, Tensor]:
    """The 2N best continuations of each sentence: (R, N), (R x N, V) -> 3 x (R, 2N).

    Gives their scores, the beam that each continues, and its token.
    """
    n_rows, vocab_size = scores.size(0), log_probs.size(-1)
    totals = (scores.view(-1, 1) + log_probs).view(n_rows, -1)  # (R, N x V)
    best, places = totals.topk(min(2 * beam_size, totals.size(1)), dim=1)
    return best, places // vocab_size, places % vocab_size


def _settle(
    beams: Sequence[_Beams], tokens: Tensor, candidates: tuple[Tensor, Tensor, Tensor], alpha: float
) -> tuple[list[list[int]], list[bool]]:
    """Files the hypotheses that ended, and picks the N candidates that go on.

    An end mark counts only among the first N: with a looser rule empty translations win.
    Gives, for each sentence, the places of its next beams among the candidates, and whether
    its search goes on.
    """
    n_prefix = tokens.size(-1) - 1
    scores, parents, chosen = (c.tolist() for c in candidates)
    history = tokens.tolist()
    places: list[list[int]] = []
    for row, beam in enumerate(beams):
        alive: list[int] = []
        for place, (score, token) in enumerate(zip(scores[row], chosen[row], strict=True)):
            if token == EOS_ID and place < beam.size and score > -math.inf:
                ids = tuple(history[row * beam.size + parents[row][place]][1:])
                beam.add(ids, score / length_penalty(n_prefix + 1, alpha))
            elif token != EOS_ID and len(alive) < beam.size:
                alive.append(place)
        places.append(alive)
    going = [
        not beam.over and bool(places[row]) and scores[row][places[row][0]] > -math.inf
        for row, beam in enumerate(beams)
    ]
    return places, going


@torch.inference_mode()
def beam_search(
    model: Transformer, src: Tensor, config: DecodeConfig, *, prefix: Sequence[int] = ()
) -> list[list[Hypothesis]]:
    """The n best of `beam_size` hypotheses, best first: (B, S) -> B lists.

    A sentence is over when it has N finished hypotheses (Wu et al. 2016, section 7).
    """
    size = config.beam_size
    limits = length_limits(model, src, config.max_ratio, len(prefix))  # (B,)
    tokens, state, logits = _start(model, src, prefix)
    every = torch.arange(src.size(0), device=src.device).repeat_interleave(size)
    tokens, state, logits = tokens[every], state.select(every), logits[every]
    beams = [_Beams(size, []) for _ in range(src.size(0))]
    active = list(beams)
    scores = torch.full((src.size(0), size), -math.inf, device=src.device)
    scores[:, 0] = 0.0  # the beams are still equal: only the first one counts
    while True:
        may_go_on = (tokens.size(1) < limits).repeat_interleave(size)
        candidates = _expand(scores, _next_log_probs(logits, may_go_on), size)
        places, going = _settle(active, tokens, candidates, config.alpha)
        if not any(going):
            return [beam.best(config.n_best) for beam in beams]
        keep = torch.tensor([row for row, on in enumerate(going) if on], device=src.device)
        picked = torch.tensor([places[row] for row in keep.tolist()], device=src.device)
        scores, parents, chosen = (c[keep].gather(1, picked) for c in candidates)
        rows = (keep[:, None] * size + parents).flatten()  # (R x N,) of the rows before
        tokens = torch.cat([tokens[rows], chosen.view(-1, 1)], dim=1)
        active, limits = [active[row] for row in keep.tolist()], limits[keep]
        logits, state = model.decode(tokens[:, -1:], state.select(rows))
        logits = logits[:, -1]


def search(
    model: Transformer, src: Tensor, config: DecodeConfig, *, prefix: Sequence[int] = ()
) -> list[list[Hypothesis]]:
    """Greedy for one beam, beam search for more: (B, S) -> B lists, best first."""
    if config.beam_size == 1:
        best = greedy_search(model, src, max_ratio=config.max_ratio, prefix=prefix)
        return [[hypothesis] for hypothesis in best]
    return beam_search(model, src, config, prefix=prefix)
