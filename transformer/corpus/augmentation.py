"""The pairs of a micro-batch as training sees them: altered at times, cut into pieces anew.

A pure function of the rows, the settings and a seed.
"""

import random
from collections.abc import Iterable, Sequence

import numpy as np

from transformer.config import TrainConfig
from transformer.corpus.batching import Batch, collate
from transformer.corpus.prepared import PreparedCorpus
from transformer.text.tokenizer import Tokenizer

IdPair = tuple[list[int], list[int]]
SLACK = 1.15  # by how much single pairs may widen a batch


def derive_seed(*numbers: int) -> int:
    """One 63-bit seed out of several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def resampled(
    ids: list[int], tokenizer: Tokenizer, alpha: float, max_len: int, rng: random.Random
) -> list[int]:
    """Another segmentation of the same text, unless it gets too long for the model."""
    tags, text = tokenizer.without_tags(ids)
    new = tags + tokenizer.sample(tokenizer.decode(text), alpha, rng)
    return new if len(new) < max_len else ids


def apply_noise(
    pairs: Sequence[IdPair], tokenizer: Tokenizer, config: TrainConfig, max_len: int, seed: int
) -> list[IdPair]:
    """The pairs, some of them altered, or all in one style; none longer than the model reads.

    In another style a batch may take more pieces: pairs beyond its budget are then left out.
    Where single pairs are altered, one that would widen the batch by much stays as it was.
    """
    from transformer.corpus.noise import SLOT, STYLES, draw, draw_share, draw_style

    rng = random.Random(seed)
    name, share = draw_style(config, rng), draw_share(config, rng)
    style = STYLES.get(name)
    room = max_len - 1  # and without a style a batch is hardly to get wider
    limits = [
        room if style else min(room, round(SLACK * max(map(len, s))))
        for s in zip(*pairs, strict=True)
    ]
    new, slotted = list(pairs), set()
    for i, pair in enumerate(pairs if style or share else ()):
        steps = (draw(config, share, rng) if share else []) + ([style] if style else [])
        if not steps:
            continue
        before = after = tokenizer.decode(pair[0]), tokenizer.decode(pair[1])
        for step in steps:
            after = step(*after, rng)
        if after != before:
            src, tgt = map(tokenizer.encode, after)
            src = tokenizer.without_tags(pair[0])[0] + src
            if 0 < len(src) <= limits[0] and 0 < len(tgt) <= limits[1]:
                new[i] = src, tgt
                if SLOT.search(after[0]):
                    slotted.add(i)
    if name == "noise_joined":
        return join_pairs(new, slotted, rng.choice((2, 3)), max_len, tokenizer)
    return within(new, config.batch_tokens, rng) if style else new


def join_pairs(
    pairs: Sequence[IdPair], alone: Iterable[int], n: int, max_len: int, tokenizer: Tokenizer
) -> list[IdPair]:
    """The pairs of equal tags joined n in a row, but those `alone` or together too long."""
    apart = set(alone)  # they have slots, and no two of a sentence may be equal
    rest: dict[tuple[int, ...], list[IdPair]] = {}
    for i, (src, tgt) in enumerate(pairs):
        if i not in apart:
            tag, text = tokenizer.without_tags(src)
            rest.setdefault(tuple(tag), []).append((text, tgt))
    new = [pairs[i] for i in sorted(apart)]
    for tags, own in rest.items():
        for group in (own[i : i + n] for i in range(0, len(own), n)):
            src, tgt = ([x for pair in group for x in pair[side]] for side in (0, 1))
            fits = max(len(tags) + len(src), len(tgt)) < max_len
            new += [([*tags, *s], t) for s, t in ([(src, tgt)] if fits else group)]
    return new


def within(pairs: list[IdPair], budget: int, rng: random.Random) -> list[IdPair]:
    """As many of the pairs, drawn at random, as the budget of a batch allows; one at least."""
    wide = sum(max(len(pair[side]) + 1 for pair in pairs) for side in (0, 1))
    n = max(1, budget // wide)
    return pairs if n >= len(pairs) else rng.sample(pairs, n)


def micro_batch(
    data: PreparedCorpus, rows: Iterable[int], config: TrainConfig, max_len: int, seed: int
) -> Batch:
    """The named pairs, padded; under subword sampling (Kudo 2018) and noise as the config says."""
    pairs = [data.pairs[int(i)] for i in rows]
    if config.has_noise:
        pairs = apply_noise(pairs, data.tokenizer, config, max_len, derive_seed(seed, 1))
    if alpha := config.sample_alpha:
        rng = random.Random(seed)
        new = [[resampled(x, data.tokenizer, alpha, max_len, rng) for x in p] for p in pairs]
        pairs = [(src, tgt) for src, tgt in new]
    return collate(pairs, config.pad_multiple or 1)
