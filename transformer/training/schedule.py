"""What a run settles for itself: open settings at its beginning, warm-up and fall of the rate.

Settings that were left open are noted in `run.json`, what depends on the pace of the machine in
the state of the run: decided once, so that a run goes on exactly as it would have.
"""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer.config import ModelConfig, TrainConfig, UserError
from transformer.corpus.prepared import PreparedCorpus
from transformer.training.optimizer import PAPERS_WARMUP
from transformer.training.run import RUN, TrainingState, limits_of, share_done

PROBE = 20  # steps whose pace tells how many a time limit allows
STEPS_OF_EPOCH = 600  # that batches of the automatic size make, within these sizes:
SMALLEST, LARGEST = 1024, 8192
BEFORE = {"schedule": "paper", "learning_rate": 0.0}  # of runs that do not note them
logger = logging.getLogger(__name__)


def settled(
    config: TrainConfig,
    model: ModelConfig,
    data: PreparedCorpus,
    processes: int,
    noted: Mapping[str, Any] | None,
    goes_on: bool = False,
) -> TrainConfig:
    """The settings with those that were left open as the run noted them, or else by rule.

    The warm-up of a new run stays open: the limits and, maybe, the pace decide it. One that
    `goes_on` with a model has a lower rate.
    """
    if config.pad_multiple and model.max_len % config.pad_multiple:
        raise UserError(
            f"expected a --pad-multiple that divides --max-len {model.max_len}, got "
            f"{config.pad_multiple}"
        )
    values: Mapping[str, Any] = {**BEFORE, **(noted or {})}
    if noted is None:
        tokens = batch_tokens(data, processes * config.accumulate)
        values = {**_by_rule(config, model, 1 if goes_on else 3), "batch_tokens": tokens}
    changes: dict[str, Any] = {}
    for name in ("optimizer", "schedule", "learning_rate", "batch_tokens", "warmup"):
        given, value = getattr(config, name), values.get(name)
        if given in (0, "auto") and type(value) is type(given):
            changes[name] = value
    try:
        return dataclasses.replace(config, **changes)
    except ValueError as error:
        raise UserError(f"expected the settings of a run in its {RUN}: {error}") from error


def _by_rule(config: TrainConfig, model: ModelConfig, muons: int) -> dict[str, Any]:
    """Optimiser, schedule and highest rate, of Muon so many times that of the paper."""
    pre = model.norm == "pre"
    optimizer = {"auto": "muon" if pre else "adam"}.get(config.optimizer, config.optimizer)
    schedule = {"auto": "wsd" if pre else "paper"}.get(config.schedule, config.schedule)
    highest = model.d_model**-0.5 * PAPERS_WARMUP**-0.5  # Vaswani et al. 2017, eq. 3
    rate = highest * (muons if optimizer == "muon" else 1)
    rate = 0.0 if schedule == "paper" and config.warmup else float(f"{rate:.2g}")
    return {"optimizer": optimizer, "schedule": schedule, "learning_rate": rate}


def pieces_of_epoch(data: PreparedCorpus) -> int:
    """Source and target tokens of an epoch, special ones counted, padding not."""
    src, tgt = data.pairs.lengths
    counts, weights = zip(*data.sizes, strict=True)
    return round(float(np.repeat(weights, counts) @ (src + tgt)))


def batch_tokens(data: PreparedCorpus, group: int) -> int:
    """A budget that makes some hundred steps of an epoch even of a small corpus.

    Of a step's `group` micro-batches each; none below the longest pair.
    """
    wanted = pieces_of_epoch(data) // STEPS_OF_EPOCH // group // 256 * 256
    src, tgt = data.pairs.lengths
    return max(min(max(wanted, SMALLEST), LARGEST), int((src + tgt).max()))


def steps_allowed(state: TrainingState, config: TrainConfig, turns: int) -> int:
    """Steps that the nearest limit allows, `turns` an epoch, by the pace so far; 0: no limit."""
    counts = [float(config.max_steps), float(config.max_epochs * turns)]
    if config.max_minutes and state.step > 1:  # the time is that before the latest step
        counts.append(60 * config.max_minutes * (state.step - 1) / state.seconds)
    return round(min((count for count in counts if count), default=0))


def last_step(state: TrainingState, config: TrainConfig, turns: int) -> int:
    """The step at which the nearest limit ends the run, `turns` an epoch.

    A time limit counts by the pace since the first PROBE steps, in which a processor prepares its
    products and torch.compile compiles.
    """
    ends = [float(config.max_steps), float(config.max_epochs * turns)]
    if config.max_minutes:
        steps, seconds = state.step, state.seconds
        if state.probed and steps > PROBE:
            steps, seconds = steps - PROBE, seconds - state.probed
        ends.append(state.step + steps / seconds * (60 * config.max_minutes - state.seconds))
    return max(round(min(end for end in ends if end)), state.step + 1)


def decided(state: TrainingState, config: TrainConfig, turns: int) -> TrainingState:
    """The state with what is to be decided before its next step, said as it is decided.

    The warm-up: before the first step or, of a time limit, after PROBE steps. Where the rate
    begins to fall, and ends: when the last `cooldown_ratio` of the nearest limit begins.
    """
    first = PROBE if config.max_minutes else 0
    if config.max_minutes and state.step == PROBE:
        state = dataclasses.replace(state, probed=state.seconds)
    is_open = not (config.warmup or state.warmup)
    if state.step == first or (state.step > first and is_open):
        state = _with_warmup(state, config, steps_allowed(state, config, turns))
    share, limits = share_done(state, config, turns), limits_of(config)
    ratio = config.cooldown_ratio if config.schedule == "wsd" and not config.cooldown else 0.0
    is_probed = not config.max_minutes or state.step > 2 * PROBE or share >= 1 - ratio / 2
    if ratio and state.step and share >= 1 - ratio and state.limits != limits and is_probed:
        end = last_step(state, config, turns)
        state = dataclasses.replace(state, fall=state.step, end=end, limits=limits)
        logger.info("the rate falls to zero from step %d to %d", state.fall, end)
    return state


def _with_warmup(state: TrainingState, config: TrainConfig, allowed: int) -> TrainingState:
    warmup = config.warmup or state.warmup
    if not warmup:
        warmup = max(1, round(config.warmup_ratio * allowed)) if allowed else PAPERS_WARMUP
        state = dataclasses.replace(state, warmup=warmup)
    logger.info("warm-up: %s", f"{warmup:,} of {allowed:,} steps" if allowed else f"{warmup:,}")
    if 0 < allowed <= warmup:
        logger.warning(
            "this run would end inside its warm-up: the limits allow %d steps, the warm-up takes "
            "%d. Lower --warmup, or raise the limit", allowed, warmup
        )  # fmt: skip
    return state


def in_steps(state: TrainingState, config: TrainConfig, turns: int) -> TrainConfig:
    """The settings with warm-up and cooldown in steps, as they are decided.

    Until the pace is known the rate rises as if the warm-up were the shortest that fits PROBE.
    """
    warmup = config.warmup or state.warmup
    if not warmup:
        counted = steps_allowed(TrainingState(), config, turns)
        most = round(PROBE / config.warmup_ratio)
        warmup = max(1, min(most, round(config.warmup_ratio * counted) if counted else most))
    falls = config.schedule == "wsd" and not config.cooldown and state.limits == limits_of(config)
    changes: dict[str, Any] = {"warmup": warmup}
    if falls:
        changes |= {"max_steps": state.end, "cooldown": state.end - state.fall}
    return dataclasses.replace(config, **changes)
