"""What a run logs: its progress, the time left, its validations, and which weights it keeps."""

import dataclasses

import pytest

from transformer.training.reporting import (
    TimeLeft,
    describe_best,
    format_duration,
    progress_line,
    validation_line,
)
from transformer.training.run import TrainingState

RECORD = {"step": 150, "epoch": 0.5, "loss": 4.25, "lr": 6.9877e-4, "tokens_per_second": 12345.6,
          "seconds": 3725.4}  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00:00"), (59.6, "0:01:00"), (3725.4, "1:02:05"), (360_000, "100:00:00")],
)
def test_a_clock_shows_hours_minutes_and_seconds(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_a_progress_line_says_where_training_stands() -> None:
    line = progress_line(RECORD, 61.0)
    for part in ("step    150", "epoch 0.50", "loss 4.250", "lr 6.99e-04", "12,346 target tokens/s",
                 "1:02:05, 0:01:01 left"):  # fmt: skip
        assert part in line
    assert "left" not in progress_line(RECORD, None)


def test_the_time_left_follows_the_pace_of_the_last_minute() -> None:
    left = TimeLeft()
    assert left.estimate(100.0, 0.1) is None, "no pace is known yet"
    assert left.estimate(110.0, 0.1) is None, "nothing was done meanwhile"
    assert left.estimate(120.0, 0.2) == pytest.approx(0.8 * 20 / 0.1)
    assert left.estimate(150.0, 0.3) == pytest.approx(0.7 * 50 / 0.2)
    for second in range(160, 260, 10):  # four times as fast
        estimate = left.estimate(second, 0.3 + (second - 150) * 0.004)
    assert estimate == pytest.approx((1 - 0.7) / 0.004)
    unlimited = TimeLeft()
    assert [unlimited.estimate(second, 0.0) for second in (0.0, 60.0)] == [None, None]


def test_a_validation_is_told_with_the_names_of_its_scores() -> None:
    scores = {"loss": 2.34567, "bleu": 25.06, "bleu en-es": 24.0}
    line = validation_line(250, "validation", scores)
    assert line == "step    250  validation: loss 2.346  BLEU 25.1  BLEU en-es 24.0"


@pytest.mark.parametrize(
    ("single", "best", "metric", "message"),
    [
        ((25.0, 900), 26.25, "BLEU",
         "the mean of the last checkpoints, BLEU 26.2; the best single one has BLEU 25.0"),
        ((25.0, 900), 25.0, "BLEU", "the weights of step 900, the best in validation: BLEU 25.0"),
        ((0.0, 900), 0.0, "BLEU", "the weights of step 900, the best in validation: BLEU 0.0"),
        ((-2.5, 900), -2.5, "loss", "the weights of step 900, the best in validation: loss 2.500"),
        ((None, 0), None, "loss", "the last weights, of step 1000: without --dev there is nothing"),
    ],
)  # fmt: skip
def test_it_is_said_which_weights_are_kept_and_why(
    single: tuple[float | None, int], best: float | None, metric: str, message: str
) -> None:
    before = TrainingState(step=1000, best=single[0], best_step=single[1])
    after = dataclasses.replace(before, best=best)
    assert describe_best(before, after, metric).startswith(message)
