"""Analyse one system on one test set: scores, lengths, faults, examples."""

import random
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from transformer.evaluation import metrics
from transformer.translation.quality_checks import find_issues

# The faults that are counted: the name of the number in a report, the code of `find_issues`.
COUNTED_FAULTS = {"empty": "empty", "copies": "copied source", "repetitions": "repetition"}
SEED = 1  # of the sentences drawn at random
N_EXAMPLES = 20  # sentences of a list
LENGTH_BUCKETS = (5, 10, 20, 40)  # words of the longest source of each; one more has no limit
BUCKET_METRICS = ("BLEU", "chrF2")  # without TER, which takes nine tenths of the time
WORD = re.compile(r"[^\W\d_]+")
RATIO_EDGES = tuple(n / 10 for n in range(21))  # bins of length ratios; the last takes all above


@dataclass(frozen=True, kw_only=True, slots=True)
class TestSet:
    """A test set and its translations: lists of equal length, no line break within a text.

    `spec` is what `read_pairs` got; `baseline` are another system's translations, in a comparison.
    """

    name: str
    spec: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    hypotheses: tuple[str, ...] = ()
    baseline: tuple[str, ...] | None = None

    def files(self) -> dict[str, tuple[str, ...]]:
        """Return the lines by the name of the file that holds them."""
        sides = {"src": self.sources, "ref": self.references, "hyp": self.hypotheses}
        if self.baseline is not None:
            sides["baseline"] = self.baseline
        return {f"{self.name}.{ending}": lines for ending, lines in sides.items()}

    def sacrebleu_commands(self) -> tuple[str, ...]:
        """Return the commands that print the same scores and p-values in the files' folder."""
        metrics = "-m bleu chrf ter --width 2"
        single = f"sacrebleu {self.name}.ref -i {self.name}.hyp {metrics} --confidence"
        systems = f"{self.name}.baseline {self.name}.hyp"
        paired = f"sacrebleu {self.name}.ref -i {systems} {metrics} --paired-bs -f text"
        return (single,) if self.baseline is None else (single, paired)


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """Wall time of translating a set, without loading and one sentence to warm up."""

    seconds: float
    sentences_per_second: float
    source_words_per_second: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """`scores` of the sentences whose source has so many `words` ("6-10"); () without sentences."""

    words: str
    sentences: int
    scores: tuple[metrics.Score, ...]


@dataclass(frozen=True, slots=True)
class SentenceResult:
    """A line, from 1; chrF from 0 to 100; in a comparison its `gain` over the output `baseline`."""

    line: int
    chrf: float
    source: str
    hypothesis: str
    reference: str
    baseline: str | None = None
    gain: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A system against a baseline: the metrics, and what changed in sentence chrF.

    `better` and `worse` are numbers of sentences, `gains` and `losses` those that changed most.
    """

    baseline: str
    differences: tuple[metrics.Difference, ...]
    better: int
    worse: int
    gains: tuple[SentenceResult, ...]
    losses: tuple[SentenceResult, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetReport:
    """The results of one system on one test set.

    Lengths are in words. `length_ratio` is output over reference, `length_ratios` the histogram of
    the function of this name. `commands` print the same scores, `sampled` sentences are drawn at
    random, always the same, `faulty` are the first with each fault, of which `faults` has the
    numbers. `invented` is the number of output words per 1,000 that no training text has; None if
    the training text is not known.
    """

    name: str
    spec: str
    sentences: int
    source_words: int
    scores: tuple[metrics.Score, ...]
    commands: tuple[str, ...]
    buckets: tuple[Bucket, ...]
    faults: dict[str, int]
    length_ratio: float
    length_ratios: tuple[int, ...]
    worst: tuple[SentenceResult, ...]
    sampled: tuple[SentenceResult, ...]
    faulty: dict[str, tuple[SentenceResult, ...]]
    speed: Speed | None
    comparison: Comparison | None
    invented: float | None = None


def analyse(
    test_set: TestSet,
    speed: Speed | None = None,
    baseline: str = "",
    n_bootstrap: int = metrics.N_BOOTSTRAP,
    known: Set[str] = frozenset(),
) -> SetReport:
    """Return the results of a translated test set; `baseline` names the other system, if any.

    `known` are the words of the training text; without them no invented words are counted. Raises
    ValueError for an empty set.
    """
    hypotheses, references = test_set.hypotheses, test_set.references
    chrf = metrics.sentence_chrf(hypotheses, references)
    by_chrf = sorted(range(len(chrf)), key=chrf.__getitem__)
    n_source, n_output, n_reference = (
        sum(map(n_words, side)) for side in (test_set.sources, hypotheses, references)
    )
    drawn = random.Random(SEED).sample(range(len(chrf)), min(N_EXAMPLES, len(chrf)))
    faulty = fault_indices(test_set.sources, hypotheses)

    def examples(indices: Sequence[int]) -> tuple[SentenceResult, ...]:
        return tuple(_sentence_result(test_set, i, chrf[i]) for i in indices[:N_EXAMPLES])

    return SetReport(
        name=test_set.name,
        spec=test_set.spec,
        sentences=len(test_set.sources),
        source_words=n_source,
        scores=metrics.scores(hypotheses, references, n_bootstrap),
        commands=test_set.sacrebleu_commands(),
        buckets=score_by_length(test_set, n_bootstrap),
        faults={name: len(faulty[code]) for name, code in COUNTED_FAULTS.items()},
        length_ratio=n_output / max(n_reference, 1),
        length_ratios=length_ratios(hypotheses, references),
        worst=examples(by_chrf),
        sampled=examples(sorted(drawn)),
        faulty={code: examples(indices) for code, indices in faulty.items() if indices},
        speed=speed,
        comparison=_comparison(test_set, chrf, baseline, n_bootstrap),
        invented=invented_words(hypotheses, known) if known else None,
    )


def one_line(text: str) -> str:
    """Return the text as one line: spaces for line breaks, no white space at its end.

    Half a surrogate pair, which no file can hold, becomes a question mark.
    """
    return " ".join(text.encode("utf-8", "replace").decode().splitlines()).rstrip()


def n_words(text: str) -> int:
    """Return the number of words between white space."""
    return len(text.split())


def score_by_length(test_set: TestSet, n_bootstrap: int = 0) -> tuple[Bucket, ...]:
    """Return BLEU and chrF2 by source length in words; empty sources are in the first bucket."""
    members: list[list[int]] = [[] for _ in range(len(LENGTH_BUCKETS) + 1)]
    for i, source in enumerate(test_set.sources):
        members[bisect_left(LENGTH_BUCKETS, n_words(source))].append(i)
    names = [f"{before + 1}-{last}" for before, last in pairwise((0, *LENGTH_BUCKETS))]
    buckets = []
    for name, rows in zip([*names, f"{LENGTH_BUCKETS[-1] + 1}+"], members, strict=True):
        hypotheses = [test_set.hypotheses[i] for i in rows]
        references = [test_set.references[i] for i in rows]
        values = metrics.scores(hypotheses, references, n_bootstrap, BUCKET_METRICS) if rows else ()
        buckets.append(Bucket(name, len(rows), values))
    return tuple(buckets)


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """Return all words of letters in the texts, in lower case."""
    return frozenset(word for text in texts for word in WORD.findall(text.lower()))


def invented_words(hypotheses: Sequence[str], known: Set[str]) -> float:
    """Return how many words in 1,000 are lower case and not `known`; capitalized may be names."""
    words = [word for hypothesis in hypotheses for word in WORD.findall(hypothesis)]
    invented = sum(word.islower() and word not in known for word in words)
    return 1000 * invented / max(len(words), 1)


def length_ratios(hypotheses: Sequence[str], references: Sequence[str]) -> tuple[int, ...]:
    """Return a histogram of length ratios (output words / reference words) over RATIO_EDGES.

    Each number counts the sentences of one bin; the last bin takes all higher ratios.
    """
    n_bins, pairs = len(RATIO_EDGES) - 1, zip(hypotheses, references, strict=True)
    ratios = (n_words(hypothesis) / max(n_words(reference), 1) for hypothesis, reference in pairs)
    counts = Counter(min(int(ratio * 10), n_bins - 1) for ratio in ratios)
    return tuple(counts[i] for i in range(n_bins))


def fault_indices(sources: Sequence[str], hypotheses: Sequence[str]) -> dict[str, list[int]]:
    """Return the indices of the outputs with each fault of COUNTED_FAULTS, by its code."""
    indices: dict[str, list[int]] = {code: [] for code in COUNTED_FAULTS.values()}
    for i, pair in enumerate(zip(sources, hypotheses, strict=True)):
        for code in {fault.code for fault in find_issues(*pair)} & indices.keys():
            indices[code].append(i)
    return indices


def _sentence_result(test_set: TestSet, i: int, chrf: float, *comparison: Any) -> SentenceResult:
    texts = test_set.sources[i], test_set.hypotheses[i], test_set.references[i]
    return SentenceResult(i + 1, chrf, *texts, *comparison)


def _comparison(
    test_set: TestSet, chrf: Sequence[float], baseline: str, n_bootstrap: int
) -> Comparison | None:
    outputs = test_set.baseline
    if outputs is None:
        return None
    before = metrics.sentence_chrf(outputs, test_set.references)
    gains = [new - old for new, old in zip(chrf, before, strict=True)]
    order = sorted(range(len(gains)), key=gains.__getitem__)
    n = N_EXAMPLES // 2

    def examples(indices: Iterable[int]) -> tuple[SentenceResult, ...]:
        return tuple(_sentence_result(test_set, i, chrf[i], outputs[i], gains[i]) for i in indices)

    return Comparison(
        baseline=baseline,
        differences=metrics.paired_differences(
            test_set.hypotheses, outputs, test_set.references, n_bootstrap
        ),
        better=sum(gain > 0 for gain in gains),
        worse=sum(gain < 0 for gain in gains),
        gains=examples(i for i in order[: -n - 1 : -1] if gains[i] > 0),
        losses=examples(i for i in order[:n] if gains[i] < 0),
    )
