"""What a training run tells: the progress line, metrics.jsonl, and the model card.

Knows numbers and settings; trains nothing.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer.checkpoint.locate import METRICS
from transformer.config import Direction, ModelConfig, TrainConfig


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where training stands: all that a run remembers beside weights and optimiser."""

    step: int = 0  # optimiser steps done
    epoch: int = 0  # passes done
    position: int = 0  # steps done of the pass under way
    seconds: float = 0.0  # of training, all starts together
    best: float | None = None  # validation score, higher is better
    best_step: int = 0
    stale: int = 0  # validations since the best one
    validated: int = 0  # step of the latest validation
    finished: bool = False  # a limit was reached and the last word said


def limit_reached(place: Place, config: TrainConfig) -> str:
    """Which limit ends training here; empty where none does."""
    if config.max_steps and place.step >= config.max_steps:
        return f"reached {config.max_steps} steps"
    if config.max_epochs and place.epoch >= config.max_epochs:
        return f"reached {config.max_epochs} epochs"
    if config.max_minutes and place.seconds >= 60 * config.max_minutes:
        return f"reached {config.max_minutes:g} minutes"
    if config.patience and place.stale >= config.patience:
        return f"no better score in {config.patience} validations"
    return ""


def share_done(place: Place, config: TrainConfig, steps_per_epoch: int) -> float:
    """How much of the nearest limit is used up, 0 to 1."""
    epochs = place.epoch + place.position / max(1, steps_per_epoch)
    parts = [
        place.step / config.max_steps if config.max_steps else 0.0,
        epochs / config.max_epochs if config.max_epochs else 0.0,
        place.seconds / 60 / config.max_minutes if config.max_minutes else 0.0,
    ]
    return min(1.0, max(parts))


def clock(seconds: float) -> str:
    """Hours, minutes and seconds as h:mm:ss."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"


def progress_line(record: Mapping[str, Any], seconds_left: float | None) -> str:
    """One training record for a person."""
    left = f", {clock(seconds_left)} left" if seconds_left is not None else ""
    return (
        f"step {record['step']:>6}  epoch {record['epoch']:.2f}  loss {record['loss']:.3f}  "
        f"lr {record['lr']:.2e}  {record['tokens_per_second']:,.0f} target tokens/s  "
        f"{clock(record['seconds'])}{left}"
    )


def append(folder: Path, record: Mapping[str, Any]) -> None:
    """Adds a record to the run's metrics."""
    with (folder / METRICS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(dict(record)) + "\n")


def _table(title: str, values: Mapping[str, Any]) -> str:
    rows = "\n".join(f"| {name} | {value} |" for name, value in values.items())
    return f"## {title}\n\n| setting | value |\n|---|---|\n{rows}\n"


def model_card(
    model: ModelConfig,
    config: TrainConfig,
    report: Mapping[str, Any],
    directions: Sequence[Direction],
    facts: Mapping[str, Any],
) -> str:
    """The README of a checkpoint, in Markdown: what it is and how it was trained."""
    kept = [(one["spec"], one["counts"].get("kept", 0)) for one in report["sources"]]
    data = {Path(spec).name: f"{pairs:,} pairs kept" for spec, pairs in kept}
    return "\n".join(
        [
            f"# Translation model {' and '.join(' to '.join(pair) for pair in directions)}",
            "",
            "An encoder-decoder Transformer (Vaswani et al. 2017). Weights in `model.safetensors`,",
            "shape in `config.json`, joint SentencePiece vocabulary in `tokenizer.model`.",
            "",
            _table("How it was trained", facts),
            _table("Training data", data),
            _table("Model", dataclasses.asdict(model)),
            _table("Training settings", dataclasses.asdict(config)),
        ]
    )


def differences(
    before: Mapping[str, Any], now: Mapping[str, Any], free: Sequence[str]
) -> list[str]:
    """The settings in which two runs differ, those in `free` left out."""
    names = sorted((set(before) | set(now)) - set(free))
    return [
        f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
        for name in names
        if before.get(name) != now.get(name)
    ]
