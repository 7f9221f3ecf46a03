"""Writes the beginner's part of the corpus anew, out of `train.tsv`: short, common, word for word.

python -m data.beginner

Out of the pairs of at most ten words a side, in letters and common marks alone, those are taken
that are translated word for word: the chance of a word, given the likeliest of the other side by
Model 1 (Brown et al. 1993, section 4.1), is at least 0.2 on the geometric mean. Idioms and free
translations, from which little is learned in four minutes, have less.
`beginner-dev.tsv` and `beginner-test.tsv`: of these, sentences of three to six words a side, each
of which occurs at least twelve times in these; 250 each, chosen by the hash of the Spanish side.
`beginner-train.tsv`: of those that share no side with the former, the ones whose rarest word is
the rarest are left out again and again, until 14,000 are left.
"""

import argparse
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from scripts.corpus.model1 import ITERATIONS, cooccurrences, em_step, to_ids
from transformer.config import SentencePair
from transformer.corpus.cleaning import dedup_text, text_hash
from transformer.corpus.readers import read_pairs, write_tsv

DATA = Path(__file__).resolve().parent
LANGS = ("es", "en")
N_TRAIN, N_HELD_OUT = 14_000, 250
MOST_WORDS = 10  # of a side
FEWEST_HELD_OUT, MOST_HELD_OUT = 3, 6  # words of a side of dev and test
COMMON = 12  # times that each word of dev and test occurs
LITERAL = 0.2  # least chance of a word, given the other side
UNHEARD_OF = 1e-4  # chance of a word that nothing on the other side speaks for
SHRINK = 0.97  # share of the pairs that stay when words are counted anew
WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
PLAIN = re.compile(r"(?:[^\W\d_]|[ .,;:¿?¡!'’-])+")
Words = tuple[list[str], list[str]]  # of a source and of its target, in small letters


def words(pair: SentencePair) -> Words:
    """The words and numbers of both sides."""
    return WORD.findall(pair[0].lower()), WORD.findall(pair[1].lower())


def literalness(pairs: Sequence[Words]) -> list[float]:
    """The chance of a word of each pair, given the other side; both ways, on the geometric mean."""
    source, target = (to_ids(side) for side in zip(*pairs, strict=True))
    logs = np.zeros(len(pairs))
    for given, told in ((source, target), (target, source)):
        text = cooccurrences(given, told)
        chance = np.ones(len(text.source_of_pair))
        for _ in range(ITERATIONS):
            chance = em_step(text, chance)
        best = np.full(text.place[-1] + 1, UNHEARD_OF)
        np.maximum.at(best, text.place, chance[text.pair])
        pair = np.repeat(np.arange(len(told)), [len(side) for side in told])
        logs += np.bincount(pair, np.log(best)) / np.bincount(pair)
    return [math.exp(log / 2) for log in logs]


def count(pairs: Iterable[Words]) -> tuple[Counter[str], Counter[str]]:
    """How often each word occurs on each side."""
    counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for pair in pairs:
        for side, found in zip(counts, pair, strict=True):
            side.update(found)
    return counts


def rarest(pair: Words, counts: tuple[Counter[str], Counter[str]]) -> int:
    """How often the rarest word of a pair occurs on its side."""
    return min(side[word] for side, found in zip(counts, pair, strict=True) for word in found)


def within(pair: Words, fewest: int, most: int) -> bool:
    """Whether both sides have a number of words within these bounds."""
    return all(fewest <= len(side) <= most for side in pair)


def sides(pair: SentencePair) -> set[str]:
    """Both texts without case and punctuation."""
    return {dedup_text(text) for text in pair}


def easy(pairs: Sequence[SentencePair]) -> list[SentencePair]:
    """The short pairs in plain letters that are translated word for word, in their order."""
    short = [
        pair
        for pair in pairs
        if within(words(pair), 1, MOST_WORDS) and all(map(PLAIN.fullmatch, pair))
    ]
    chances = literalness([words(pair) for pair in short])
    return [pair for pair, chance in zip(short, chances, strict=True) if chance >= LITERAL]


def held_out(pairs: Sequence[SentencePair]) -> tuple[list[SentencePair], list[SentencePair]]:
    """The development and the test pairs, which have no side in common."""
    found = {pair: words(pair) for pair in pairs}
    counts = count(found.values())
    short = [
        pair
        for pair, both in found.items()
        if within(both, FEWEST_HELD_OUT, MOST_HELD_OUT) and rarest(both, counts) >= COMMON
    ]
    chosen: list[SentencePair] = []
    taken: set[str] = set()
    for pair in sorted(short, key=lambda pair: text_hash(pair[0])):
        if len(chosen) < 2 * N_HELD_OUT and not sides(pair) & taken:
            chosen.append(pair)
            taken |= sides(pair)
    return chosen[:N_HELD_OUT], chosen[N_HELD_OUT:]


def common(pairs: Sequence[SentencePair], number: int) -> list[SentencePair]:
    """So many of the pairs, those whose rarest word is common among them, in their order."""
    found = {i: words(pair) for i, pair in enumerate(pairs)}
    kept = [*found]
    while len(kept) > number:
        counts = count(found[i] for i in kept)
        kept.sort(key=lambda i: (-rarest(found[i], counts), i))
        kept = kept[: max(number, int(SHRINK * len(kept)))]
    return [pairs[i] for i in sorted(kept)]


def main(argv: Sequence[str] | None = None) -> None:
    """Writes the three files."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args(argv)
    pairs = easy(list(dict.fromkeys(read_pairs(str(DATA / "train.tsv"), *LANGS))))
    dev, test = held_out(pairs)
    taken = {side for pair in (*dev, *test) for side in sides(pair)}
    train = common([pair for pair in pairs if not sides(pair) & taken], N_TRAIN)
    for name, part in (("train", train), ("dev", dev), ("test", test)):
        write_tsv(DATA / f"beginner-{name}.tsv", LANGS, part)


if __name__ == "__main__":
    main()
