"""The scores against the `sacrebleu` command on files of the same lines."""

import json
import logging
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from transformer.evaluation.metrics import (
    _ter_statistics,
    bleu,
    paired_differences,
    scores,
    sentence_chrf,
)

METRICS = ["-m", "bleu", "chrf", "ter", "--width", "8", "--quiet"]
WORDS = ["the", "old", "cat", "dog", "river", "of", "sees", ",", "¿ñandú?", "3.5", "%", "U.S.", "."]


def made_up(n: int, seed: int, noise: float = 0.0) -> list[str]:
    """Lines of 1 to 24 words; the same seed with noise is a bad translation of them."""
    lines = random.Random(seed)
    errors = random.Random(seed + noise)
    texts = [[lines.choice(WORDS) for _ in range(lines.randint(1, 24))] for _ in range(n)]
    return [
        " ".join(errors.choice(WORDS) if errors.random() < noise else word for word in text)
        for text in texts
    ]


REFERENCES = made_up(60, seed=1)
HYPOTHESES = ["", *made_up(60, seed=1, noise=0.3)[1:]]
BASELINE = made_up(60, seed=1, noise=0.35)


def sacrebleu(folder: Path, *arguments: str, **files: list[str]) -> str:
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", *arguments, *METRICS]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return done.stdout.decode("utf-8")


def test_values_intervals_and_signatures_are_those_of_the_command(tmp_path: Path) -> None:
    printed = sacrebleu(
        tmp_path, "ref", "-i", "hyp", "--confidence", ref=REFERENCES, hyp=HYPOTHESES
    )
    expected = json.loads(printed)
    for score, wanted in zip(scores(HYPOTHESES, REFERENCES, 1000), expected, strict=True):
        assert score.metric == wanted["name"]
        assert score.value == pytest.approx(wanted["score"], abs=1e-7)
        assert score.low == pytest.approx(
            wanted["confidence_mean"] - wanted["confidence_var"], abs=1e-7
        )
        assert score.high == pytest.approx(
            wanted["confidence_mean"] + wanted["confidence_var"], abs=1e-7
        )
        assert score.signature == wanted["signature"]


def test_p_values_are_those_of_the_command(tmp_path: Path) -> None:
    printed = sacrebleu(
        tmp_path, "ref", "-i", "base", "hyp", "--paired-bs", "-f", "text", "--no-color",
        ref=REFERENCES, base=BASELINE, hyp=HYPOTHESES,
    )  # fmt: skip
    found = paired_differences(HYPOTHESES, BASELINE, REFERENCES)
    values = re.findall(r"([\d.]+) \([\d.]+ ± ", printed)
    assert values == [
        f"{v:.8f}" for v in (*(d.baseline for d in found), *(d.system for d in found))
    ]
    assert re.findall(r"p = (\d\.\d+)\)", printed) == [f"{d.p_value:.4f}" for d in found]
    assert all(d.signature in printed for d in found)


def test_a_much_worse_system_differs_significantly() -> None:
    worse = made_up(60, seed=1, noise=0.9)
    assert all(d.p_value < 0.05 for d in paired_differences(worse, REFERENCES, REFERENCES))
    assert [d.p_value for d in paired_differences(HYPOTHESES, HYPOTHESES, REFERENCES)] == [1, 1, 1]


def test_a_perfect_translation_has_the_best_scores() -> None:
    values = {s.metric: s.value for s in scores(REFERENCES, REFERENCES)}
    assert values == pytest.approx({"BLEU": 100, "chrF2": 100, "TER": 0})


def test_without_bootstrap_there_is_no_interval() -> None:
    assert bleu(HYPOTHESES, REFERENCES) == scores(HYPOTHESES, REFERENCES)[0].value
    for score in scores(HYPOTHESES, REFERENCES):
        assert (score.low, score.high) == (None, None)
        assert "bs:" not in score.signature


def test_resamples_without_a_match_or_a_reference_have_an_interval() -> None:
    for score in scores(["abc", "zzz", "x"], ["abc", "qqq", ""], n_bootstrap=100):
        assert score.low is not None
        assert score.high is not None
        assert score.low <= score.value <= score.high


@pytest.mark.parametrize(
    "hypotheses", [["zzz", "a b c", "d", "f g"], ["zzz", "q", "q", "f g h i j"]]
)
def test_an_interval_stays_on_the_scale_of_its_metric(hypotheses: list[str]) -> None:
    for score in scores(hypotheses, ["zz aa", "a b c", "d", "f g"], n_bootstrap=200):
        assert score.low is not None
        assert score.high is not None
        assert 0 <= score.low <= score.high
        assert score.high <= 100 or score.metric == "TER"


def test_cached_ter_is_computed_ter() -> None:
    _ter_statistics.cache_clear()
    first = scores(HYPOTHESES, REFERENCES, metrics=["TER"])
    assert scores(HYPOTHESES, REFERENCES, metrics=["TER"]) == first
    assert _ter_statistics.cache_info().misses == len(set(zip(HYPOTHESES, REFERENCES, strict=True)))


def test_sentence_chrf_of_one_line_is_its_corpus_chrf() -> None:
    for hypothesis, reference, chrf in zip(
        HYPOTHESES, REFERENCES, sentence_chrf(HYPOTHESES, REFERENCES), strict=True
    ):
        assert chrf == pytest.approx(scores([hypothesis], [reference])[1].value)


@pytest.mark.parametrize("n", [0, 2])
def test_scores_of_unequal_or_no_lines_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match=f"at least one, got {n} and {n and 3}"):
        scores(["a"] * n, ["a"] * (n and 3))
    with pytest.raises(ValueError, match="as many hypotheses as references"):
        bleu(["a"], [])
    with pytest.raises(ValueError, match="as many hypotheses as references"):
        paired_differences(["a"], ["a", "b"], ["a"])


def test_sacrebleu_does_not_log_into_the_output_of_the_commands(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    lines = ["A sentence that ends like tokenised text ."] * 101
    scores(lines, lines, metrics=("BLEU",))
    paired_differences(HYPOTHESES, BASELINE, REFERENCES, n_bootstrap=10)
    assert caplog.records == []
