"""Make the micro-batches of training, with noise and subword sampling if these are set.

A micro-batch is a pure function of the rows, the settings and a seed.
"""

import random
from collections.abc import Iterable, Sequence

import numpy as np

from transformer.config import TrainConfig
from transformer.corpus import noise
from transformer.corpus.batching import Batch, collate
from transformer.corpus.prepared import PreparedCorpus
from transformer.text.tokenizer import Tokenizer

IdPair = tuple[list[int], list[int]]
MAX_WIDENING = 1.15  # factor by which noise in single pairs may widen a batch


def derive_seed(*numbers: int) -> int:
    """Derive one 63-bit seed from several numbers, none of them negative."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def resample(
    ids: list[int], tokenizer: Tokenizer, alpha: float, max_len: int, rng: random.Random
) -> list[int]:
    """Draw another segmentation, tags kept, by P^`alpha`; `ids` if that is not below `max_len`."""
    tags, text = tokenizer.split_tags(ids)
    new = tags + tokenizer.sample(tokenizer.decode(text), alpha, rng)
    return new if len(new) < max_len else ids


def apply_noise(
    pairs: Sequence[IdPair], tokenizer: Tokenizer, config: TrainConfig, max_len: int, seed: int
) -> list[IdPair]:
    """Alter some of the pairs, or all in one style, by the rates of `config`, sampled with `seed`.

    A pair stays if it would get too long: `max_len` pieces or more or, without a style, more than
    MAX_WIDENING times the batch's width. With a style, pairs are dropped at random until the batch
    has at most `config.batch_tokens`, padding counted.
    """
    rng = random.Random(seed)
    name, share = noise.sample_batch_noise(config, rng), noise.sample_noise_share(config, rng)
    style = noise.BATCH_NOISE.get(name)
    limits = [
        max_len - 1 if style else min(max_len - 1, round(MAX_WIDENING * max(map(len, side))))
        for side in zip(*pairs, strict=True)
    ]
    new, with_slots = list(pairs), set()
    for i, pair in enumerate(pairs if style or share else ()):
        transforms = noise.sample_pair_noise(config, share, rng) if share else []
        transforms += [style] if style else []
        if not transforms:
            continue
        before = after = tokenizer.decode(pair[0]), tokenizer.decode(pair[1])
        for transform in transforms:
            after = transform(*after, rng)
        if after != before:
            src, tgt = map(tokenizer.encode, after)
            src = tokenizer.split_tags(pair[0])[0] + src
            if 0 < len(src) <= limits[0] and 0 < len(tgt) <= limits[1]:
                new[i] = src, tgt
                if noise.SLOT.search(after[0]):
                    with_slots.add(i)
    if name == "noise_joined":
        return join_pairs(new, with_slots, rng.choice((2, 3)), max_len, tokenizer)
    return fit_to_budget(new, config.batch_tokens, rng) if style else new


def join_pairs(
    pairs: Sequence[IdPair], excluded: Iterable[int], n: int, max_len: int, tokenizer: Tokenizer
) -> list[IdPair]:
    """Join each n consecutive pairs of equal direction tags (the last fewer) behind these tags.

    Pairs that would have `max_len` pieces or more together stay single, as do those whose indices
    are `excluded`: their slots (stand-ins) must not occur twice.
    """
    single = set(excluded)
    by_tags: dict[tuple[int, ...], list[IdPair]] = {}
    for i, (src, tgt) in enumerate(pairs):
        if i not in single:
            tags, text = tokenizer.split_tags(src)
            by_tags.setdefault(tuple(tags), []).append((text, tgt))
    new = [pairs[i] for i in sorted(single)]
    for key, own in by_tags.items():
        for group in (own[i : i + n] for i in range(0, len(own), n)):
            src, tgt = ([x for pair in group for x in pair[side]] for side in (0, 1))
            fits = max(len(key) + len(src), len(tgt)) < max_len
            new += [([*key, *s], t) for s, t in ([(src, tgt)] if fits else group)]
    return new


def fit_to_budget(pairs: list[IdPair], budget: int, rng: random.Random) -> list[IdPair]:
    """Sample as many of the pairs as `budget`, tokens with padding, allows; at least one."""
    width = sum(max(len(pair[side]) + 1 for pair in pairs) for side in (0, 1))
    n = max(1, budget // width)
    return pairs if n >= len(pairs) else rng.sample(pairs, n)


def micro_batch(
    data: PreparedCorpus, rows: Iterable[int], config: TrainConfig, max_len: int, seed: int
) -> Batch:
    """Return the pairs of some rows as a padded batch, with noise and subword sampling if set.

    Raises UserError for subword sampling with a BPE vocabulary.
    """
    pairs = [data.pairs[int(i)] for i in rows]
    if config.has_noise:
        pairs = apply_noise(pairs, data.tokenizer, config, max_len, derive_seed(seed, 1))
    if alpha := config.sample_alpha:
        rng = random.Random(seed)
        new = [[resample(x, data.tokenizer, alpha, max_len, rng) for x in p] for p in pairs]
        pairs = [(src, tgt) for src, tgt in new]
    return collate(pairs, config.pad_multiple or 1)
