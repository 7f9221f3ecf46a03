"""What a run resolves for itself: by which rule, logged, once, so that it resumes exactly."""

import dataclasses
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts import train
from tests.training.runs import N_PAIRS, Pairs, Start, command, prepare_pairs, state
from transformer.checkpoint.locate import read_metrics, write_checksums
from transformer.config import TrainConfig, UserError, model_config
from transformer.corpus.batching import TokenPairs
from transformer.corpus.prepared import PreparedCorpus
from transformer.text.tokenizer import Tokenizer
from transformer.training import trainer as module
from transformer.training.optimizer import learning_rate
from transformer.training.run import LATER_FIELDS, StopReason, TrainingState, limit_reached
from transformer.training.schedule import (
    PROBE_STEPS,
    default_batch_tokens,
    resolve_schedule,
    resolve_settings,
    schedule_in_steps,
)
from transformer.training.trainer import Trainer

pytestmark = pytest.mark.usefixtures("one_cpu_thread")


OPEN: dict[str, Any] = {"warmup": 0, "optimizer": "muon", "schedule": "wsd", "learning_rate": 0.01}


@pytest.fixture
def data(phrases: Pairs, phrase_tokenizer: Tokenizer) -> PreparedCorpus:
    return prepare_pairs(phrases[:N_PAIRS], phrase_tokenizer)


def corpus_of(n_tokens: int, length: int, weight: float = 1.0) -> PreparedCorpus:
    """Pairs of a length whose tokens, special ones counted, are so many in an epoch."""
    n_pairs = round(n_tokens / weight / length / 2)
    side = [(np.arange(n_pairs + 1) * (length - 1), np.zeros(0, np.int64))]
    return PreparedCorpus(TokenPairs(side, side), ((n_pairs, weight),), None, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n_tokens", "length", "weight", "group", "expected"),
    [
        (100_000, 10, 1.0, 1, 1024),  # at least
        (2_500_000, 10, 1.0, 1, 4096),  # 610 steps of an epoch
        (2_500_000, 10, 2.5, 1, 4096),
        (2_500_000, 10, 1.0, 2, 2048),
        (90_000_000, 25, 1.0, 1, 8192),  # at most
        (100_000, 1000, 1.0, 1, 2000),  # the longest pair
    ],
)
def test_a_small_corpus_gets_small_batches(
    n_tokens: int, length: int, weight: float, group: int, expected: int
) -> None:
    assert default_batch_tokens(corpus_of(n_tokens, length, weight), group) == expected


@pytest.mark.parametrize(
    ("preset", "given", "expected"),
    [
        ("small", {}, ("muon", "wsd", 0.003, 0)),
        ("small", {"optimizer": "adam", "warmup": 7}, ("adam", "wsd", 0.00099, 7)),
        ("base", {}, ("adam", "paper", 0.0007, 0)),
        ("base", {"warmup": 7}, ("adam", "paper", 0.0, 7)),  # the paper's formula
        ("base", {"learning_rate": 0.5, "schedule": "constant"}, ("adam", "constant", 0.5, 0)),
    ],
)
def test_open_settings_are_settled_by_rule_and_given_ones_stay(
    preset: str, given: dict[str, Any], expected: tuple[Any, ...], data: PreparedCorpus
) -> None:
    chosen = resolve_settings(TrainConfig(**given), model_config(preset), data, 1, None)
    names = ("optimizer", "schedule", "learning_rate", "warmup", "batch_tokens")
    assert tuple(getattr(chosen, name) for name in names) == (*expected, 1024)
    tuned = resolve_settings(TrainConfig(**given), model_config(preset), data, 1, None, True)
    assert tuned.learning_rate == min(expected[2], 0.00099 if preset == "small" else 0.5)


def test_padding_that_would_pass_the_longest_input_is_refused(data: PreparedCorpus) -> None:
    small = model_config("small")
    assert resolve_settings(TrainConfig(pad_multiple=8), small, data, 1, None).pad_multiple == 8
    with pytest.raises(UserError, match=f"divides --max-len {small.max_len}, got 7"):
        resolve_settings(TrainConfig(pad_multiple=7), small, data, 1, None)


def test_a_run_from_before_these_rules_keeps_its_settings(data: PreparedCorpus) -> None:
    saved = {"optimizer": "adam", "batch_tokens": 8192, "warmup": 4000, "lr_scale": 1.0}
    chosen = resolve_settings(TrainConfig(max_steps=9), model_config("small"), data, 1, saved)
    before = TrainConfig(
        optimizer="adam", batch_tokens=8192, warmup=4000, schedule="paper", max_steps=9
    )
    assert chosen == before
    assert schedule_in_steps(resolve_schedule(TrainingState(), chosen, 5), chosen, 5) == before


def test_the_same_command_goes_on_with_a_run_from_before_these_rules(
    corpus: Path, tmp_path: Path
) -> None:
    explicit = {"warmup": 4000, "batch_tokens": 8192, "eval_every": 100}
    assert train.main(command(corpus, tmp_path / "straight", max_steps=4, **explicit)) == 0
    assert train.main(command(corpus, tmp_path / "old", max_steps=2, **explicit)) == 0
    saved = json.loads((tmp_path / "old" / "run.json").read_text())
    assert not {"warmup_ratio", "cooldown_ratio", "schedule", "learning_rate"} & saved.keys()
    place = tmp_path / "old" / "last" / "training.json"
    values = {k: v for k, v in json.loads(place.read_text()).items() if k not in LATER_FIELDS}
    place.write_text(json.dumps(values))
    write_checksums(place.parent)
    left_open = dict.fromkeys(("warmup", "batch_tokens", "optimizer", "schedule"))
    assert train.main(command(corpus, tmp_path / "old", max_steps=4, **explicit | left_open)) == 0
    assert state(tmp_path / "old") == state(tmp_path / "straight")


def test_a_new_run_notes_what_it_settles(corpus: Path, tmp_path: Path) -> None:
    flags = {**dict.fromkeys(("warmup", "batch_tokens", "optimizer", "schedule")), "norm": "pre"}
    assert train.main(command(corpus, tmp_path, max_steps=50, **flags)) == 0
    saved = json.loads((tmp_path / "run.json").read_text())
    expected = {"optimizer": "muon", "schedule": "wsd", "learning_rate": 0.012, "warmup": 0,
                "batch_tokens": 1024, "warmup_ratio": 0.08, "cooldown_ratio": 0.4}  # fmt: skip
    assert {name: saved[name] for name in expected} == expected
    rates = [record["lr"] for record in read_metrics(tmp_path)]
    assert rates[:5] == pytest.approx([0.003, 0.006, 0.009, 0.012, 0.012])  # 8 % of 50 steps
    assert rates[30:32] == pytest.approx([0.012, 0.012 * 19 / 20])  # 60 % of them are behind
    assert rates[-1] == pytest.approx(0.012 / 20)
    assert "| of them warm-up | 4 |" in (tmp_path / "best" / "README.md").read_text()


@pytest.mark.parametrize(
    ("limits", "warmup", "fall"),
    [({"max_steps": 100}, 8, 60), ({"max_epochs": 20}, 8, 60), ({"patience": 1}, 4000, None)],
)
def test_the_warm_up_is_a_share_of_the_steps_that_the_limits_allow(
    limits: dict[str, Any], warmup: int, fall: int | None
) -> None:
    """An epoch has five steps. A shorter warm-up does not raise the rate."""
    config = TrainConfig(**{**OPEN, **limits})
    place, rates = TrainingState(), []
    for step in range(100):
        place = dataclasses.replace(place, step=step, epoch=step // 5, position=step % 5)
        place = resolve_schedule(place, config, 5)
        rates.append(learning_rate(step + 1, 16, schedule_in_steps(place, config, 5)))
    assert place.warmup == warmup
    assert max(rates) == pytest.approx(0.01 * min(1, 100 / warmup))
    assert (place.fall or None, place.end or None) == (fall, 100 if fall else None)
    if fall:
        assert rates[60:] == pytest.approx([0.01 * left / 40 for left in range(40, 0, -1)])


def test_a_run_that_would_end_inside_its_warm_up_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    resolve_schedule(TrainingState(), TrainConfig(max_steps=100, warmup=30), 5)
    assert caplog.messages == ["warm-up: 30 of 100 steps"]
    slow = TrainingState(step=PROBE_STEPS, seconds=19.0)
    resolve_schedule(slow, TrainConfig(max_minutes=1, warmup=400), 5)
    assert caplog.records[-1].levelno == logging.WARNING
    assert "the limits allow 60 steps, the warm-up takes 400. Lower --warmup" in caplog.text


class Clock:
    """Seconds that pass with each look at it."""

    def __init__(self) -> None:
        self.now, self.pace = 0.0, 1.0

    def monotonic(self) -> float:
        self.now += self.pace
        return self.now


def test_what_the_pace_decides_is_decided_once(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after a decision, a run goes on as it would have, whatever the machine's pace."""
    given = {**OPEN, "max_minutes": 1.0, "save_every": 1000, "log_every": PROBE_STEPS}
    clock, save = Clock(), Trainer._save_last
    saved: list[Path] = []

    def keep(trainer: Trainer) -> None:
        save(trainer)
        if not trainer.state.step:
            return  # nothing is decided yet
        saved.append(tmp_path / f"killed-{len(saved)}")
        shutil.copytree(tmp_path / "straight", saved[-1])
        clock.pace = 1.0 if len(saved) < 2 else 0.001

    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(Trainer, "_save_last", keep)
    straight = start(tmp_path / "straight", **given)
    assert straight.run() is StopReason.COOLDOWN
    place = straight.state
    assert PROBE_STEPS < place.fall < place.end == place.step
    assert place.warmup == pytest.approx(0.08 * place.end, abs=2)
    assert len(saved) == 4  # at the warm-up, the fall and, twice, the end
    monkeypatch.setattr(Trainer, "_save_last", save)
    for folder, pace in zip(saved[:2], (1.0, 0.001), strict=True):
        clock.pace = pace
        resumed = start(folder, **given)
        assert resumed.state.warmup == place.warmup
        resumed.run()
        assert resumed.state.warmup == place.warmup
    assert resumed.state.end == place.end
    assert state(saved[1]) == state(tmp_path / "straight")


def test_other_limits_let_the_rate_rise_again(start: Start, tmp_path: Path) -> None:
    start(tmp_path, max_steps=10, **OPEN).run()
    start(tmp_path, max_steps=30, **OPEN).run()
    rates = [record["lr"] for record in read_metrics(tmp_path)]
    assert rates[9] < rates[10] == rates[17] == 0.01
    assert rates[-1] == pytest.approx(0.01 / 12)
    assert limit_reached(TrainingState(step=9, end=9, limits="other"), TrainConfig()) is None


def test_a_slow_start_does_not_end_a_timed_run_early() -> None:
    """The first step takes half of a minute, as torch.compile does; 900 others fit the rest."""
    config = TrainConfig(
        max_minutes=2, schedule="wsd", warmup=5, learning_rate=0.01, cooldown_ratio=0.9
    )
    place, step = TrainingState(), 0
    while not place.end:
        place = dataclasses.replace(place, step=step, seconds=30 + 0.1 * step if step else 0.0)
        place = resolve_schedule(place, config, 10**6)
        step += 1
    assert step - 1 == place.fall == 2 * PROBE_STEPS + 1
    assert place.end == pytest.approx(900, abs=2)
