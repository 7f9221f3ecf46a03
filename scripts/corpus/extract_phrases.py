"""Words and short phrases of a corpus, as pairs to train with: what people look up one by one.

    python -m scripts.corpus.extract_phrases --pairs my.tsv --from es --to en --output phrases.tsv

A corpus of sentences teaches a model to translate sentences; of a lone word it makes one. Words
are aligned by Model 1 (Brown et al. 1993, section 4.1) in both directions, with a preference for
the diagonal (Dyer et al. 2013), and pairs of short phrases are read off where both directions
agree (Koehn et al. 2003, section 3.1). Each phrase comes with its most frequent translation, as
inside a sentence and with a capital.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.command import Parser, run_command
from transformer.config import UserError
from transformer.corpus.cleaning import normalize
from transformer.corpus.readers import read_pairs, tsv_path, write_tsv
from transformer.text.casing import capitalize_first

WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
TENSION = 4.0  # how much likelier the diagonal is: exp(-TENSION * distance from it)
NULL = 0.2  # weight of the word that stands for "no source word at all"
ITERATIONS = 6
EPSILON = 1e-300  # so that nothing is divided by 0

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = list[str]
Span = tuple[int, int]


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


def align(sources: Sequence[Ints], targets: Sequence[Ints]) -> list[Ints]:
    """Return for each target word the index of its source word, -1 for none, by Model 1."""
    text = cooccurrences(sources, targets)
    probs = np.ones(len(text.source_of_pair))
    for _ in range(ITERATIONS):
        probs = em_step(text, probs)
    share = probs[text.pair] * text.weight
    aligned, start = [], 0
    for f, e in zip(sources, targets, strict=True):
        rows = share[start : start + len(e) * (len(f) + 1)].reshape(len(e), len(f) + 1)
        best = rows.argmax(axis=1)
        aligned.append(np.where(best == len(f), -1, best))
        start += rows.size
    return aligned


def phrase_spans(to_source: Ints, to_target: Ints, longest: int) -> Iterator[tuple[Span, Span]]:
    """Yield spans (start, end) of source and target whose words are linked into the other only.

    `to_source` holds for each target word the index of its source word, `to_target` the reverse.
    """
    up = {(int(j), i) for i, j in enumerate(to_source) if j >= 0}
    down = {(j, int(i)) for j, i in enumerate(to_target) if i >= 0}
    both, every = up & down, up | down
    linked = {j for j, _ in every}
    for a in range(len(to_target)):
        for b in range(a + 1, min(a + longest, len(to_target)) + 1):
            inside = [i for j, i in every if a <= j < b]
            if not inside:
                continue
            c, d = min(inside), max(inside) + 1
            consistent = all(a <= j < b for j, i in every if c <= i < d)
            agreed = any(a <= j < b for j, _ in both)
            ends = {a, b - 1} <= linked  # those of the target are linked anyway
            if consistent and agreed and ends and d - c <= longest + 1:
                yield (a, b), (c, d)


def usual_spellings(sentences: Iterable[Words]) -> dict[str, str]:
    """Return each word as it is most often written where it does not begin the sentence."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for words in sentences:
        for word in words[1:]:
            counts[word.lower()][word] += 1
    return {word: spellings.most_common(1)[0][0] for word, spellings in counts.items()}


def count_phrases(pairs: Sequence[tuple[str, str]], longest: int) -> dict[tuple[str, str], int]:
    """Count how often each pair of phrases is read off; marks and numbers are left out."""
    split = [[WORD.findall(text.replace("’", "'")) for text in pair] for pair in pairs]
    sides = [*zip(*(words for words in split if all(words)), strict=True)]
    src, tgt = map(to_ids, sides)
    spellings = [*map(usual_spellings, sides)]
    counts: Counter[tuple[str, str]] = Counter()
    for *words, up, down in zip(*sides, align(src, tgt), align(tgt, src), strict=True):
        s, t = ([usual.get(word.lower(), word) for word in side]
                for usual, side in zip(spellings, words, strict=True))  # fmt: skip
        for (a, b), (c, d) in phrase_spans(up, down, longest):
            counts[" ".join(s[a:b]), " ".join(t[c:d])] += 1
    return counts


def best_translations(
    counts: dict[tuple[str, str], int], least: int, share: float
) -> Iterator[tuple[str, str]]:
    """Yield the best translation of each phrase that is frequent, alone and among its rivals."""
    of_source: dict[str, Counter[str]] = defaultdict(Counter)
    of_target: Counter[str] = Counter()
    for (src, tgt), n in counts.items():
        of_source[src][tgt] += n
        of_target[tgt] += n
    for src, rivals in of_source.items():
        tgt, n = rivals.most_common(1)[0]
        if n >= least and n >= share * rivals.total() and n >= 0.02 * of_target[tgt]:
            yield src, tgt


def extract(args: argparse.Namespace) -> None:
    """Read the corpora, write the phrases as TSV, and print how many there are."""
    langs = args.src_lang, args.tgt_lang
    read = (pair for spec in args.pairs for pair in read_pairs(spec, *langs))
    pairs = [(normalize(s), normalize(t)) for s, t in read if max(len(s), len(t)) <= args.max_chars]
    if not pairs:
        raise UserError(f"expected pairs of at most {args.max_chars} characters, got none")
    counts = count_phrases(pairs, args.longest)
    lower = sorted(best_translations(counts, args.least, args.share))
    upper = ((capitalize_first(s), capitalize_first(t)) for s, t in lower if s[0].islower())
    phrases = [*lower, *upper]
    if args.words:
        write_tsv(args.words, langs, (pair for pair in phrases if " " not in pair[0]))
    write_tsv(args.output, langs, (pair for pair in phrases if not args.words or " " in pair[0]))
    print(f"{len(phrases):,} phrases of {len(pairs):,} pairs")


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--pairs", required=True, nargs="+", metavar="SOURCE", help="corpora, as of train.py")
    add("--from", dest="src_lang", required=True, help="source language")
    add("--to", dest="tgt_lang", required=True, help="target language")
    add("--output", required=True, type=tsv_path, metavar="FILE.tsv", help="the file to write")
    add("--words", type=tsv_path, metavar="FILE.tsv",
        help="another file for the single words, to be weighted by itself")  # fmt: skip
    add("--longest", type=int, default=3, help="words of a source phrase at most (default: 3)")
    add("--least", type=int, default=3, help="times that a pair is seen (default: 3)")
    add("--share", type=float, default=0.25,
        help="least share of the best translation among all (default: 0.25)")  # fmt: skip
    add("--max-chars", type=int, default=80, help="longer texts are passed over (default: 80)")
    args = flags.parse_args(argv)
    return run_command(lambda: extract(args), "phrases")


if __name__ == "__main__":
    sys.exit(main())
