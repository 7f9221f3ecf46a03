"""Greedy search (the default) and beam search with the plain model.

Both add one token a step, reuse the keys and values of earlier steps, and drop finished rows. A
sentence gets the same translation in a batch as alone.

Shapes: B sentences, S source, N beams, R rows still searching, V vocabulary.
"""

import copy
import dataclasses
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID, ComputeType, DecodeConfig, UserError
from transformer.decoding.hypothesis import Hypothesis, Ids
from transformer.model import DecoderLayer, DecoderState, Transformer, source_batch

GREEDY = DecodeConfig()
MIN_BATCH_ROWS = 8  # the fewest rows of a batch, if there are enough sources for all cores


def length_penalty(length: int, alpha: float) -> float:
    """Return ((5 + length) / 6)^alpha; `length` includes the end mark (Wu et al. 2016, eq. 14)."""
    return float(((5 + length) / 6) ** alpha)


def length_limits(model: Transformer, src: Tensor, max_ratio: float, prefix: int = 0) -> Tensor:
    """Return the largest number of target tokens of each row, end mark included: (B, S) -> (B,).

    It is `max_ratio` times the tokens of the padded `src`, end mark included, plus 10, plus the
    `prefix` tokens, at most `max_len`.
    """
    lengths = (src != PAD_ID).sum(1)
    limits = (lengths * max_ratio).long() + 10 + prefix
    return limits.clamp(max=model.config.max_len)


def _mask_logits(logits: Tensor, may_go_on: Tensor) -> Tensor:
    """Exclude padding and the start mark, and in rows that may not go on all but the end mark.

    Changes `logits` in place: (R, V), (R,) -> (R, V).
    """
    logits[:, [PAD_ID, BOS_ID]] = -math.inf
    if not may_go_on.all():
        ends = logits[~may_go_on, EOS_ID]
        logits[~may_go_on] = -math.inf
        logits[~may_go_on, EOS_ID] = ends
    return logits


def _block_repeated_ngrams(logits: Tensor, tokens: Tensor, n: int) -> Tensor:
    """Exclude, in place, tokens that would repeat an n-gram (Paulus et al. 2017, section 2.5).

    (R, V), (R, T) -> (R, V); if n is 0 nothing is excluded.
    """
    if n:
        for row, ids in enumerate(tokens.tolist()):
            last = ids[len(ids) - n + 1 :]
            places = range(n - 1, len(ids))
            again = [ids[i] for i in places if ids[i - n + 1 : i] == last]
            logits[row, again] = -math.inf
    return logits


def _next_logits(
    model: Transformer, tokens: Tensor, state: DecoderState
) -> tuple[Tensor, DecoderState]:
    """Feed the next tokens to the decoder and return the last logits: (R, T) -> (R, V), state."""
    logits, state = model.decode(tokens, state)
    return logits[:, -1].float(), state


def _next_token(
    model: Transformer, read: tuple[Tensor, Tensor], state: DecoderState, may_go_on: Tensor, *,
    scored: bool, no_repeat: int,
) -> tuple[Tensor, Tensor, DecoderState]:  # fmt: skip
    """Return the likeliest next token, its log-probability (any number unless `scored`), the state.

    `read` is a pair: the tokens that the model has not read yet, and all tokens so far. A row that
    may not go on gets the end mark. A token that would repeat an n-gram of length `no_repeat` is
    excluded; 0 excludes none. 2 x (R, T) -> 2 x (R,), state.
    """
    tokens, past = read
    if not scored and not no_repeat:
        if tokens.size(1) > 1:
            _, state = model.decode(tokens[:, :-1], state)
        best, state = model.greedy_step(tokens[:, -1], state)
        return torch.where(may_go_on, best, EOS_ID), best.new_full(best.shape, 0).float(), state
    logits, state = _next_logits(model, tokens, state)
    log_probs = _mask_logits(
        _block_repeated_ngrams(logits.log_softmax(-1), past, no_repeat), may_go_on
    )
    best = log_probs.argmax(-1)
    return best, log_probs.gather(1, best[:, None])[:, 0], state


def _start_tokens(model: Transformer, src: Tensor, prefix: Sequence[int]) -> Tensor:
    """Return the start mark and the P tokens of the prefix for each row: -> (B, 1 + P)."""
    return torch.tensor([[BOS_ID, *prefix]], device=src.device).expand(src.size(0), -1)


@torch.inference_mode()
def greedy_search(
    model: Transformer, src: Tensor, config: DecodeConfig = GREEDY, *, prefix: Ids = ()
) -> list[Hypothesis]:
    """Take the likeliest token at each step, until the end mark: (B, S) -> B hypotheses.

    The ids of a hypothesis include the forced `prefix`, its score does not; without `config.scores`
    the score is NaN. No n-gram that `no_repeat_ngram` forbids occurs twice, prefix included.
    """
    scored, no_repeat = config.scores, config.no_repeat_ngram
    limits = length_limits(model, src, config.max_ratio, len(prefix))
    tokens = _start_tokens(model, src, prefix)
    state = model.encode(src)
    rows = torch.arange(src.size(0), device=src.device)  # (R,) the sentence of each row
    scores = torch.zeros(src.size(0), device=src.device)
    new, finished = tokens, dict[int, Hypothesis]()
    while True:
        going = tokens.size(1) < limits[rows]
        chosen, gained, state = _next_token(
            model, (new, tokens), state, going, scored=scored, no_repeat=no_repeat
        )
        scores = scores + gained
        ended = chosen == EOS_ID
        for row in ended.nonzero().flatten().tolist():
            ids = tuple(tokens[row, 1:].tolist())
            finished[int(rows[row])] = Hypothesis(ids, float(scores[row]) if scored else math.nan)
        if len(finished) == src.size(0):
            return [finished[i] for i in range(src.size(0))]
        new = chosen[:, None]
        tokens = torch.cat([tokens, new], dim=1)
        if ended.any():
            kept = (~ended).nonzero().flatten()
            rows, scores, tokens, new = rows[kept], scores[kept], tokens[kept], new[kept]
            state = state.select(kept)


@torch.inference_mode()
def branch_search(
    model: Transformer, src: Tensor, number: int, config: DecodeConfig, *, prefix: Ids = ()
) -> list[Hypothesis]:
    """Search greedily from `number` best tokens after `prefix`, unscored: (1, S) -> best first."""
    config = dataclasses.replace(config, scores=True, no_repeat_ngram=0)
    tokens = _start_tokens(model, src, prefix)
    logits, _ = _next_logits(model, tokens, model.encode(src))
    may_go_on = tokens.size(1) < length_limits(model, src, config.max_ratio, len(prefix) + 1)
    log_probs = _mask_logits(logits.log_softmax(-1), may_go_on)
    gains, chosen = log_probs.topk(min(number, log_probs.size(1)))
    branches: list[Hypothesis] = []
    for gain, token in zip(gains[0].tolist(), chosen[0].tolist(), strict=True):
        if token == EOS_ID:
            branches.append(Hypothesis(tuple(prefix), gain))
        elif gain > -math.inf:
            (rest,) = greedy_search(model, src, config, prefix=[*prefix, token])
            branches.append(dataclasses.replace(rest, score=gain + rest.score))
    return sorted(branches, key=lambda branch: -branch.score)


def _expand(
    scores: Tensor, logits: Tensor, may_go_on: Tensor, tokens: Tensor, config: DecodeConfig
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the 2N best continuations of each sentence: scores, beams to continue, next tokens.

    `scores`, sums of log-probabilities, and `tokens` are of the beams so far, `logits` of their
    next tokens; beams count from 0 within a sentence. (B, N), (B x N, V), (B x N,), (B x N, T) ->
    3 x (B, 2N).
    """
    beam_size = config.beam_size
    log_probs = _block_repeated_ngrams(logits.log_softmax(-1), tokens, config.no_repeat_ngram)
    totals = scores[:, :, None] + _mask_logits(log_probs, may_go_on).view(*scores.shape, -1)
    best, places = totals.flatten(1).topk(min(2 * beam_size, totals[0].numel()), dim=1)
    return best, places // totals.size(2), places % totals.size(2)


def _select_beams(
    finished: Sequence[list[Hypothesis]], tokens: Tensor,
    candidates: tuple[Tensor, Tensor, Tensor], config: DecodeConfig,
) -> tuple[list[list[int]], list[bool]]:  # fmt: skip
    """Add hypotheses that ended to `finished`, and select the N candidates to continue.

    `candidates` are what `_expand` returns. One that ends counts only if it is one of the N best;
    otherwise empty translations would win. Returns for each sentence, ended or not, the candidates
    that become its next beams, as indices below 2N, and whether its search continues.
    """
    size, penalty = config.beam_size, length_penalty(tokens.size(-1), config.alpha)
    scores, parents, chosen = (c.tolist() for c in candidates)
    history = tokens.tolist()
    places: list[list[int]] = []
    for row, own in enumerate(finished):
        alive: list[int] = []
        for place, (score, token) in enumerate(zip(scores[row], chosen[row], strict=True)):
            if token == EOS_ID and place < size and score > -math.inf:
                ids = tuple(history[row * size + parents[row][place]][1:])
                own.append(Hypothesis(ids, score / penalty))
            elif token != EOS_ID and len(alive) < size:
                alive.append(place)
        places.append(alive)
    going = [
        len(own) < size and bool(places[row]) and scores[row][places[row][0]] > -math.inf
        for row, own in enumerate(finished)
    ]
    return places, going


@torch.inference_mode()
def beam_search(
    model: Transformer, src: Tensor, config: DecodeConfig, *, prefix: Sequence[int] = ()
) -> list[list[Hypothesis]]:
    """Return the `n_best` of `beam_size` hypotheses for each sentence: (B, S) -> B lists.

    All begin with `prefix`; a sentence's search ends at N finished ones (Wu et al. 2016, sec. 7).
    """
    size = config.beam_size
    limits = length_limits(model, src, config.max_ratio, len(prefix))  # (B,)
    tokens = _start_tokens(model, src, prefix)
    logits, state = _next_logits(model, tokens, model.encode(src))
    state = state.repeat(size)
    tokens, logits = (tensor.repeat_interleave(size, 0) for tensor in (tokens, logits))
    finished: list[list[Hypothesis]] = [[] for _ in range(src.size(0))]
    active = list(finished)
    scores = torch.full((src.size(0), size), -math.inf, device=src.device)
    scores[:, 0] = 0.0  # all beams are equal at the start, so only the first one counts
    while True:
        may_go_on = (tokens.size(1) < limits).repeat_interleave(size)
        candidates = _expand(scores, logits, may_go_on, tokens, config)
        places, going = _select_beams(active, tokens, candidates, config)
        if not any(going):
            return [sorted(own, key=lambda h: -h.score)[: config.n_best] for own in finished]
        keep = torch.tensor([row for row, on in enumerate(going) if on], device=src.device)
        picked = torch.tensor([places[row] for row in keep.tolist()], device=src.device)
        scores, parents, chosen = (c[keep].gather(1, picked) for c in candidates)
        rows = (keep[:, None] * size + parents).flatten()  # (R x N,) indices of the old rows
        tokens = torch.cat([tokens[rows], chosen.view(-1, 1)], dim=1)
        active, limits = [active[row] for row in keep.tolist()], limits[keep]
        logits, state = _next_logits(model, tokens[:, -1:], state.select(rows))


def search(
    model: Transformer, src: Tensor, config: DecodeConfig, *, prefix: Sequence[int] = (),
    branches: int = 0,
) -> list[list[Hypothesis]]:  # fmt: skip
    """Return the hypotheses of each row of `source_batch`, best first: (B, S) -> B lists.

    The search is greedy with one beam, and after each of the `branches` likeliest next tokens if
    that is not 0. ValueError for a source or a `prefix` that is too long for the model.
    """
    if len(prefix) + 2 > model.config.max_len:
        raise ValueError(
            f"expected a prefix of at most {model.config.max_len - 2} tokens, got {len(prefix)}"
        )
    if branches:
        rows = (row[None, row != PAD_ID] for row in src)
        return [branch_search(model, row, branches, config, prefix=prefix) for row in rows]
    if config.beam_size == 1:
        return [[best] for best in greedy_search(model, src, config, prefix=prefix)]
    return beam_search(model, src, config, prefix=prefix)


def _batches(sources: Sequence[Ids], config: DecodeConfig, n_workers: int) -> Iterator[list[int]]:
    """Yield batches of source indices, longest first, of at most `batch_tokens` each.

    With several workers each batch is two thirds of a worker's fair share of the remaining sources,
    so that the last batches are small and no core waits long for another.
    """
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    fair = -(-len(order) // n_workers)
    while order:
        fits = config.batch_tokens // ((len(sources[order[0]]) + 1) * config.beam_size)
        rest = max(MIN_BATCH_ROWS, 2 * len(order) // (3 * n_workers)) if n_workers > 1 else fair
        size = max(1, min(fits, fair, rest))
        yield order[:size]
        order = order[size:]


def select_device(name: str) -> torch.device:
    """Return the device of that name; `auto`: a GPU if there is one; UserError if unavailable."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"expected a device such as cpu or cuda, got {name!r}: {reason}") from error
    return device


class BatchDecoder:
    """A `Decoder` that uses the plain model: it sorts sentences by length, and cuts batches.

    On a CPU each core searches a batch of its own, which is faster than sharing each product.
    """

    def __init__(self, model: Transformer, compute_type: ComputeType = "auto") -> None:
        """Search with `model`; `auto` is bfloat16 on a GPU, else float32; int8 is a UserError."""
        if compute_type == "int8":
            raise UserError("expected float32 or bfloat16 for the plain model, got int8")
        self.model, self.config, self.device = model, model.config, str(model.device)
        on_gpu = model.device.type != "cpu" and compute_type == "auto"
        low = on_gpu or compute_type == "bfloat16"
        self.compute_type: ComputeType = "bfloat16" if low else "float32"
        self._searched = copy.deepcopy(model).bfloat16() if low else model

    def search(
        self, sources: Sequence[Ids], config: DecodeConfig, *, prefix: Ids = (),
        aligned: bool = False, branches: int = 0,
    ) -> list[list[Hypothesis]]:  # fmt: skip
        """Return each source's hypotheses, best first, as `Decoder.search`; ValueError as there."""
        n_threads = torch.get_num_threads()
        n_workers = n_threads if self.model.device.type == "cpu" else 1
        batches = list(_batches(sources, config, n_workers))

        def work(rows: list[int]) -> list[list[Hypothesis]]:
            src = source_batch([sources[i] for i in rows]).to(self.model.device)
            return search(self._searched, src, config, prefix=prefix, branches=branches)

        if len(batches) < 2 or n_workers < 2:
            searched = [work(rows) for rows in batches]
        else:
            try:
                with ThreadPoolExecutor(
                    n_workers, initializer=torch.set_num_threads, initargs=(1,)
                ) as pool:
                    searched = list(pool.map(work, batches))
            finally:
                torch.set_num_threads(n_threads)  # otherwise new threads inherit the workers' 1
        results: list[list[Hypothesis]] = [[] for _ in sources]
        for rows, hypotheses in zip(batches, searched, strict=True):
            for row, own in zip(rows, hypotheses, strict=True):
                results[row] = (
                    [_with_alignment(self.model, sources[row], h) for h in own] if aligned else own
                )
        return results


@torch.inference_mode()
def _with_alignment(model: Transformer, source: Ids, hypothesis: Hypothesis) -> Hypothesis:
    """Return the hypothesis with `alignment` and `log_probs`, by running the model once more."""
    looked: list[Tensor] = []
    attention = cast(DecoderLayer, model.decoder[-1]).cross_attention
    hook = attention.register_forward_hook(
        lambda module, inputs, _: looked.append(attention.weights(*inputs))
    )
    target = torch.tensor([[BOS_ID, *hypothesis.ids, EOS_ID]], device=model.device)
    try:
        logits = model(source_batch([source]).to(model.device), target[:, :-1])
    finally:
        hook.remove()
    alignment = looked[0][0].mean(0).float().cpu().numpy()  # (T + 1, S)
    log_probs = logits[0].float().log_softmax(-1).gather(1, target[0, 1:, None])[:, 0].tolist()
    return dataclasses.replace(hypothesis, alignment=alignment, log_probs=tuple(log_probs))
