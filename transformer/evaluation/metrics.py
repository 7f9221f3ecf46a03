"""Score translations with sacreBLEU: values, bootstrap intervals, paired significance.

On lists of lines, with sacreBLEU's defaults and its fixed seed: the `sacrebleu` command on files
of those lines gives the same numbers.
"""

import functools
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF, CHRFScore
from sacrebleu.metrics.ter import TER, TERScore
from sacrebleu.significance import PairedTest, Result

METRICS = ("BLEU", "chrF2", "TER")
MAXIMA = {"BLEU": 100.0, "chrF2": 100.0, "TER": math.inf}  # the minimum of all is 0
N_BOOTSTRAP = 1000  # resamples, as many as `sacrebleu --confidence` takes

Metric = BLEU | CHRF | TER
# Its progress lines, and its advice on text that is tokenised, which short sentences set off too.
logging.getLogger("sacrebleu").setLevel(logging.ERROR)
S = TypeVar("S", CHRFScore, TERScore)


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's value, signature and 95 % bootstrap interval, `low` to `high`, if computed."""

    metric: str
    value: float
    low: float | None
    high: float | None
    signature: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric of two systems, and the two-sided p-value of the paired bootstrap test."""

    metric: str
    system: float
    baseline: float
    p_value: float
    signature: str


class RobustCHRF(CHRF):
    """chrF whose bootstrap survives resamples without a match."""

    def _compute_score_from_stats(self, stats: Any) -> CHRFScore:
        return _match_dtype(super()._compute_score_from_stats(stats), stats)


class CachedTER(TER):
    """TER that counts the edits of each pair of sentences once: they take most of the time."""

    def _compute_segment_statistics(
        self, hypothesis: str, ref_kwargs: dict[str, Any]
    ) -> list[float]:
        return _ter_statistics(hypothesis, *map(tuple, ref_kwargs["ref_words"]))

    def _compute_score_from_stats(self, stats: Any) -> TERScore:
        return _match_dtype(super()._compute_score_from_stats(stats), stats)


@functools.lru_cache(maxsize=2**17)  # lines of some test sets by several systems
def _ter_statistics(hypothesis: str, reference: tuple[str, ...]) -> list[float]:
    return TER()._compute_segment_statistics(hypothesis, {"ref_words": [list(reference)]})


def _match_dtype(score: S, stats: Any) -> S:
    """Give the score of a resample the type of its statistics.

    With NumPy 2 sacreBLEU 2.6 has float32 in all resamples but those that score by a constant,
    such as 0.0 for no match, and then fails to add the two types up.
    """
    if hasattr(stats, "dtype"):
        score.score = stats.dtype.type(score.score)
    return score


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return sacreBLEU's default BLEU, in per cent; ValueError for no lines or unequal numbers."""
    return scores(hypotheses, references, metrics=("BLEU",))[0].value


def scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    n_bootstrap: int = 0,
    metrics: Sequence[str] = METRICS,
) -> tuple[Score, ...]:
    """Return metrics with sacreBLEU's defaults, in per cent; TER takes nine tenths of the time.

    With `n_bootstrap` the intervals are those of `sacrebleu --confidence`: the mean of that many
    resamples plus and minus half the width of their middle 95 %, cut to the metric's scale. Raises
    ValueError for empty lists and for lists of different lengths.
    """
    _check_lengths(hypotheses, references)
    results = []
    for name, metric in _metrics(metrics).items():
        result = metric.corpus_score(hypotheses, [references], n_bootstrap=max(n_bootstrap, 1))
        # sacreBLEU publishes mean and margin as rounded text only, hence the private fields
        mean, margin = float(result._mean), float(result._ci)
        low, high = max(0.0, mean - margin), min(MAXIMA[name], mean + margin)
        interval = (low, high) if n_bootstrap > 1 else (None, None)
        value, signature = float(result.score), str(metric.get_signature())
        results.append(Score(result.name, value, interval[0], interval[1], signature))
    return tuple(results)


def _metrics(names: Sequence[str]) -> dict[str, Metric]:
    known: dict[str, Metric] = {"BLEU": BLEU(), "chrF2": RobustCHRF(), "TER": CachedTER()}
    return {name: known[name] for name in names}


def _check_lengths(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if not references or len(hypotheses) != len(references):
        raise ValueError(
            "expected as many hypotheses as references and at least one, "
            f"got {len(hypotheses)} and {len(references)}"
        )


def paired_differences(
    hypotheses: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
    n_bootstrap: int = N_BOOTSTRAP,
) -> tuple[Difference, ...]:
    """Return the metrics of two systems with the p-values of `sacrebleu --paired-bs`.

    There is one exception: if two systems agree in every resample, p is 1. sacreBLEU would return
    its smallest p, as no resample has a difference larger than 0. ValueError for empty lists and
    for lists of different lengths.
    """
    _check_lengths(hypotheses, references)
    _check_lengths(baseline, references)
    test = PairedTest(
        [("baseline", baseline), ("system", hypotheses)],
        _metrics(METRICS),
        references=[references],
        test_type="bs",
        n_samples=n_bootstrap,
    )
    signatures, results = test()
    differences = []
    for name, signature in signatures.items():
        before, after = cast(list[Result], results[name])
        p_value = float(after.p_value or 0.0)
        if before.score == after.score and p_value <= 1 / (n_bootstrap + 1):
            p_value = 1.0
        values = float(after.score), float(before.score), p_value
        differences.append(Difference(name, *values, str(signature)))
    return tuple(differences)


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return the chrF2 of each line by itself, in per cent; ValueError for different lengths."""
    metric = CHRF()
    pairs = zip(hypotheses, references, strict=True)
    return [float(metric.sentence_score(hyp, [ref]).score) for hyp, ref in pairs]
