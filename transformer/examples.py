"""The pairs of a micro-batch as training sees them: each time cut into pieces in another way.

A pure function of the rows and a seed.
"""

import random
from collections.abc import Iterable

import numpy as np

from transformer.batching import Batch, collate
from transformer.corpus import Prepared
from transformer.tokenizer import Tokenizer


def seed_of(*numbers: int) -> int:
    """One 63-bit seed out of several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def resampled(
    ids: list[int], tokenizer: Tokenizer, alpha: float, max_len: int, rng: random.Random
) -> list[int]:
    """Another segmentation of the same text, unless it gets too long for the model."""
    new = tokenizer.sample(tokenizer.decode(ids), alpha, rng)
    return new if len(new) < max_len else ids


def micro_batch(
    data: Prepared, rows: Iterable[int], alpha: float, max_len: int, seed: int
) -> Batch:
    """The named pairs, padded; with alpha > 0 under subword sampling (Kudo 2018)."""
    pairs = [data.pairs[int(i)] for i in rows]
    if alpha:
        rng = random.Random(seed)
        new = [[resampled(x, data.tokenizer, alpha, max_len, rng) for x in p] for p in pairs]
        pairs = [(src, tgt) for src, tgt in new]
    return collate(pairs)
