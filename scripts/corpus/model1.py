"""Model 1 (Brown et al. 1993, section 4.1): how likely each word translates another one.

With a preference for the diagonal of a pair of sentences (Dyer et al. 2013).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TENSION = 4.0  # how much likelier the diagonal is: exp(-TENSION * distance from it)
NULL = 0.2  # weight of the word that stands for "no source word at all"
ITERATIONS = 6
EPSILON = 1e-300  # so that nothing is divided by 0

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = list[str]


@dataclass(frozen=True, slots=True)
class Cooccurrences:
    """Every source word with every target word of its pair of sentences, N in all.

    `pair` (N,) is the index of the two words as types, `place` (N,) that of the target word as a
    token, and `weight` (N,) the preference for the diagonal. The source's NULL comes last.
    """

    pair: Ints
    place: Ints
    weight: Floats
    source_of_pair: Ints


def to_ids(sentences: Iterable[Words]) -> list[Ints]:
    """Return the words as ids from 1 on, in the order of their coming; 0 is for NULL."""
    ids: dict[str, int] = {}
    return [
        np.array([ids.setdefault(w.lower(), len(ids) + 1) for w in words], dtype=np.int64)
        for words in sentences
    ]


def cooccurrences(sources: Sequence[Ints], targets: Sequence[Ints]) -> Cooccurrences:
    """Collect the pairs of words of all sentences, one after the other."""
    src, tgt, place, weight, first = [], [], [], [], 0
    for f, e in zip(sources, targets, strict=True):
        i, j = np.meshgrid(np.arange(len(e)), np.arange(len(f) + 1), indexing="ij")
        near = np.exp(-TENSION * np.abs((i + 0.5) / len(e) - (j + 0.5) / len(f)))
        near[:, -1] = NULL
        src.append(np.append(f, 0)[j].ravel())
        tgt.append(e[i].ravel())
        place.append((first + i).ravel())
        weight.append(near.ravel())
        first += len(e)
    rows_f, rows_e = np.concatenate(src), np.concatenate(tgt)
    width = int(rows_e.max()) + 1
    keys, pair = np.unique(rows_f * width + rows_e, return_inverse=True)
    return Cooccurrences(pair, np.concatenate(place), np.concatenate(weight), keys // width)


def em_step(text: Cooccurrences, probs: Floats) -> Floats:
    """Take one step of EM on the probability of each pair's target word given its source word."""
    share = probs[text.pair] * text.weight
    share /= np.bincount(text.place, share)[text.place]
    counts = np.bincount(text.pair, share)
    total = np.bincount(text.source_of_pair, counts)
    return counts / np.maximum(total[text.source_of_pair], EPSILON)
