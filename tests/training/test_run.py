"""A run: its limits, its state, its records and its card."""

import dataclasses
import json
import logging
import math
from pathlib import Path
from typing import Any

import pytest

from transformer.checkpoint.locate import METRICS, read_metrics, write_checksums
from transformer.config import ModelConfig, TrainConfig, UserError
from transformer.training.run import (
    StopReason,
    TrainingState,
    check_same_run,
    fraction_done,
    limit_reached,
    model_card,
)

RECORD = {"step": 150, "epoch": 0.5, "loss": 4.25, "lr": 6.9877e-4, "tokens_per_second": 12345.6,
          "seconds": 3725.4}  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "state", "reason"),
    [
        ({}, TrainingState(step=10**6, epoch=99, seconds=1e9, stale=99), None),
        ({"max_steps": 10}, TrainingState(step=9), None),
        ({"max_steps": 10}, TrainingState(step=10), StopReason.STEPS),
        ({"max_epochs": 2}, TrainingState(epoch=1, position=7), None),
        ({"max_epochs": 2}, TrainingState(epoch=2), StopReason.EPOCHS),
        ({"max_minutes": 1.5}, TrainingState(seconds=89.9), None),
        ({"max_minutes": 1.5}, TrainingState(seconds=90.0), StopReason.MINUTES),
        ({"patience": 3}, TrainingState(stale=2), None),
        ({"patience": 3}, TrainingState(stale=3), StopReason.PATIENCE),
    ],
)
def test_training_ends_at_its_first_limit(
    limits: dict[str, Any], state: TrainingState, reason: StopReason | None
) -> None:
    assert limit_reached(state, TrainConfig(**limits)) is reason


def test_an_ending_is_told_with_the_number_of_its_limit() -> None:
    config = TrainConfig(max_steps=10, max_epochs=2, max_minutes=1.5, patience=3)
    assert [reason.describe(config) for reason in StopReason] == [
        "reached 10 steps", "reached 2 epochs", "reached 1.5 minutes",
        "the rate has fallen to zero, within 1.5 minutes", "no better score in 3 validations",
        "stopped by a signal",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({}, 0.0),
        ({"max_steps": 100}, 0.3),
        ({"max_epochs": 4}, (1 + 5 / 25) / 4),
        ({"max_minutes": 4.0}, 0.5),
        ({"max_steps": 100, "max_minutes": 4.0, "max_epochs": 10}, 0.5),
        ({"max_steps": 20}, 1.0),
    ],
)
def test_the_nearest_limit_says_how_much_is_done(limits: dict[str, Any], share: float) -> None:
    state = TrainingState(step=30, epoch=1, position=5, seconds=120.0)
    assert fraction_done(state, TrainConfig(**limits), 25) == pytest.approx(share)


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_metrics(tmp_path) == []
    records: list[dict[str, Any]] = [
        RECORD,
        {"event": "validation", "step": 150, "bleu": 12.5, "note": "ñ\u2028"},
    ]
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (tmp_path / METRICS).write_text(text, encoding="utf-8")
    assert read_metrics(tmp_path) == records


def test_a_line_that_a_crash_cut_short_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / METRICS
    path.write_text(2 * f"{json.dumps(RECORD)}\n")
    whole = path.read_text()
    for cut in range(len(whole) // 2 + 1, len(whole) - 1):
        path.write_text(whole[:cut])
        with caplog.at_level(logging.ERROR):
            assert read_metrics(tmp_path) == [RECORD]
    path.write_text(whole[:-9])
    read_metrics(tmp_path)
    assert f"{path}, line 2: skipped, it is not a record of a step" in caplog.text


@pytest.mark.parametrize(
    ("line", "level"),
    [("nonsense", 1), ("5", 1), ("[]", 1), ("{}", 1), ('{"step": "7"}', 1), ("[" * 200_000, 1),
     (f'{{"step": {2**63}}}', 1), ("\x00", 1), ("", 0), (json.dumps(RECORD), 0)],
)  # fmt: skip
def test_a_line_that_is_no_record_is_named_and_passed_over(
    line: str, level: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / METRICS).write_text(f"{json.dumps(RECORD)}\n{line}\n{json.dumps(RECORD)}\n")
    records = read_metrics(tmp_path)
    assert records == [RECORD] * (3 if line.startswith('{"step": 150') else 2)
    assert (
        caplog.messages
        == [f"{tmp_path / METRICS}, line 2: skipped, it is not a record of a step"] * level
    )


@pytest.mark.parametrize("content", ["", "5", "{", "\xff", "[" * 200_000])
def test_run_files_that_cannot_be_read_are_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match=r"expected (a )?JSON.* in .*/run\.json") as refused:
        check_same_run(tmp_path, {"seed": 1})
    assert "\n" not in str(refused.value)
    (tmp_path / METRICS).mkdir()
    with pytest.raises(UserError, match=r"expected records of a run in .*/metrics\.jsonl: .*got a"):
        read_metrics(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [{"step": "7"}, {"step": -1}, {"step": 7.0}, {"seconds": math.nan}, {"seconds": None},
     {"best": "1"}, {"finished": 0}, {"position": []}, {"step": True}, {"epoch": 10**400},
     {"seconds": math.inf}, {"best": math.nan}, {"best": False},
     {"more": 1}, {"epoch": "x" * 10_000}],
)  # fmt: skip
def test_a_state_that_no_run_was_in_is_named(changes: dict[str, Any], tmp_path: Path) -> None:
    state = TrainingState(step=3, seconds=1.5, best=-0.25)
    path = tmp_path / "training.json"
    path.write_text(json.dumps(dataclasses.asdict(state)))
    write_checksums(tmp_path)
    assert TrainingState.read(tmp_path) == state
    path.write_text(json.dumps(dataclasses.asdict(state) | changes))
    write_checksums(tmp_path)
    name = next(iter(changes))
    with pytest.raises(
        UserError, match=rf"expected a training state in .*\.json, got {name} .{{0,40}}$"
    ):
        TrainingState.read(tmp_path)


def test_differences_name_the_settings_before_and_now(tmp_path: Path) -> None:
    before = {"seed": 1, "preset": "tiny", "max_steps": 10, "gone": 3}
    now = {"seed": 2, "preset": "tiny", "max_steps": 20, "new": 4}
    for settings in (before, before, before | {"max_steps": 30}):
        check_same_run(tmp_path, settings)
    changes = "gone was 3 and is None; new was None and is 4; seed was 1 and is 2"
    with pytest.raises(UserError, match=rf"was begun with, but {changes}\. Give the same command"):
        check_same_run(tmp_path, now)


def test_a_card_tells_how_the_model_was_made() -> None:
    report = {
        "sources": [
            {"spec": "data/train.tsv", "counts": {"kept": 12345, "empty": 1}},
            {"spec": "hub:opus:en-es", "counts": {"empty": 5}},
        ]
    }
    model, config, facts = ModelConfig(n_heads=4), TrainConfig(seed=77), {"optimiser steps": 750}
    card = model_card(model, config, report, [("es", "en")], facts)
    assert card.startswith("# Translation model es to en\n")
    for row in ("optimiser steps | 750", "train.tsv | 12,345 pairs kept", "n_heads | 4",
                "hub:opus:en-es | 0 pairs kept", "seed | 77"):  # fmt: skip
        assert f"| {row} |" in card
