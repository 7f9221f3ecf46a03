"""Resolve the settings that a run leaves open, and the warm-up and cooldown of its learning rate.

Settings are resolved when the run starts and saved in `run.json`. Warm-up and cooldown can depend
on the speed of the machine: they are resolved later and saved in the training state. Each is
resolved once, so that a resumed run continues exactly as if it had not been stopped.
"""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer.config import ModelConfig, TrainConfig, UserError
from transformer.corpus.prepared import PreparedCorpus
from transformer.training.optimizer import PAPER_WARMUP
from transformer.training.run import RUN, TrainingState, describe_limits, fraction_done

PROBE_STEPS = 20  # after these steps the speed is known, and so the steps that a time limit allows
STEPS_PER_EPOCH = 600  # the automatic batch size aims at this number
MIN_BATCH_TOKENS, MAX_BATCH_TOKENS = 1024, 8192  # bounds of the automatic batch size
LEGACY_DEFAULTS = {"schedule": "paper", "learning_rate": 0.0}  # of runs that did not save them
logger = logging.getLogger(__name__)


def resolve_settings(
    config: TrainConfig,
    model: ModelConfig,
    data: PreparedCorpus,
    processes: int,
    saved: Mapping[str, Any] | None,
    is_pretrained: bool = False,
) -> TrainConfig:
    """Return the settings with the open ones filled in: from those `saved` by the run, or by rule.

    The warm-up of a new run stays open: `resolve_schedule` sets it from the limits. A run that
    starts from a pretrained model has a lower rate. A bad setting is a UserError.
    """
    if config.pad_multiple and model.max_len % config.pad_multiple:
        raise UserError(
            f"expected a --pad-multiple that divides --max-len {model.max_len}, got "
            f"{config.pad_multiple}"
        )
    values: Mapping[str, Any] = {**LEGACY_DEFAULTS, **(saved or {})}
    if saved is None:
        tokens = default_batch_tokens(data, processes * config.accumulate)
        values = {**_defaults(config, model, 1 if is_pretrained else 3), "batch_tokens": tokens}
    changes: dict[str, Any] = {}
    for name in ("optimizer", "schedule", "learning_rate", "batch_tokens", "warmup"):
        given, value = getattr(config, name), values.get(name)
        if given in (0, "auto") and type(value) is type(given):
            changes[name] = value
    try:
        return dataclasses.replace(config, **changes)
    except ValueError as error:
        raise UserError(f"expected the settings of a run in its {RUN}: {error}") from error


def _defaults(config: TrainConfig, model: ModelConfig, muon_factor: int) -> dict[str, Any]:
    """Return `optimizer` and `schedule`, by `model.norm` where "auto", and `learning_rate`.

    The rate is the peak of the paper's, times `muon_factor` with Muon, or 0 for the schedule
    "paper" with a given `warmup`, which sets the peak.
    """
    pre = model.norm == "pre"
    optimizer = {"auto": "muon" if pre else "adam"}.get(config.optimizer, config.optimizer)
    schedule = {"auto": "wsd" if pre else "paper"}.get(config.schedule, config.schedule)
    peak = model.d_model**-0.5 * PAPER_WARMUP**-0.5  # Vaswani et al. 2017, eq. 3
    rate = peak * (muon_factor if optimizer == "muon" else 1)
    rate = 0.0 if schedule == "paper" and config.warmup else float(f"{rate:.2g}")
    return {"optimizer": optimizer, "schedule": schedule, "learning_rate": rate}


def tokens_per_epoch(data: PreparedCorpus) -> int:
    """Return the number of source and target tokens of an epoch, without padding."""
    src, tgt = data.pairs.lengths
    counts, weights = zip(*data.sizes, strict=True)
    return round(float(np.repeat(weights, counts) @ (src + tgt)))


def default_batch_tokens(data: PreparedCorpus, n_micro_batches: int) -> int:
    """Return the budget of padded tokens of a micro-batch, by the corpus's size and longest pair.

    A small corpus gets small batches, so that even its epochs have some hundred steps, each of
    `n_micro_batches`.
    """
    tokens = tokens_per_epoch(data) // STEPS_PER_EPOCH // n_micro_batches // 256 * 256
    src, tgt = data.pairs.lengths
    return max(min(max(tokens, MIN_BATCH_TOKENS), MAX_BATCH_TOKENS), int((src + tgt).max()))


def _nearest_limit(config: TrainConfig, steps_per_epoch: int, steps_in_time: float) -> int:
    """Return the number of steps that the limits allow; 0 if there are none.

    `steps_in_time` is the time limit, converted to steps, or 0.
    """
    counts = config.max_steps, config.max_epochs * steps_per_epoch, steps_in_time
    return round(min(filter(None, counts), default=0))


def steps_allowed(state: TrainingState, config: TrainConfig, steps_per_epoch: int) -> int:
    """Return how many steps the limits allow from step 0, at the speed so far; 0: none known."""
    steps = 0.0
    if config.max_minutes and state.step > 1:  # the time is that before the latest step
        steps = 60 * config.max_minutes * (state.step - 1) / state.seconds
    return _nearest_limit(config, steps_per_epoch, steps)


def last_step(state: TrainingState, config: TrainConfig, steps_per_epoch: int) -> int:
    """Return the step, at least the next, at which the nearest limit, if any, ends the run.

    A time limit is converted at the speed after the first PROBE_STEPS, in which oneDNN prepares
    its kernels and torch.compile compiles.
    """
    end, steps, seconds = 0.0, state.step, state.seconds
    if state.probed and steps > PROBE_STEPS:
        steps, seconds = steps - PROBE_STEPS, seconds - state.probed
    if config.max_minutes:
        end = state.step + steps / seconds * (60 * config.max_minutes - state.seconds)
    return max(_nearest_limit(config, steps_per_epoch, end), state.step + 1)


def resolve_schedule(
    state: TrainingState, config: TrainConfig, steps_per_epoch: int
) -> TrainingState:
    """Return the state with the warm-up and cooldown due before its next step; log them.

    The warm-up is set before the first step or, with a time limit, after PROBE_STEPS. The start and
    the end of the cooldown are set when the last `cooldown_ratio` of the nearest limit begins.
    """
    first = PROBE_STEPS if config.max_minutes else 0
    if config.max_minutes and state.step == PROBE_STEPS:
        state = dataclasses.replace(state, probed=state.seconds)
    is_open = not (config.warmup or state.warmup)
    if state.step == first or (state.step > first and is_open):
        state = _with_warmup(state, config, steps_allowed(state, config, steps_per_epoch))
    share, limits = fraction_done(state, config, steps_per_epoch), describe_limits(config)
    ratio = config.cooldown_ratio if config.schedule == "wsd" and not config.cooldown else 0.0
    is_probed = not config.max_minutes or state.step > 2 * PROBE_STEPS or share >= 1 - ratio / 2
    if ratio and state.step and share >= 1 - ratio and state.limits != limits and is_probed:
        end = last_step(state, config, steps_per_epoch)
        state = dataclasses.replace(state, fall=state.step, end=end, limits=limits)
        logger.info("the rate falls to zero from step %d to %d", state.fall, end)
    return state


def _with_warmup(state: TrainingState, config: TrainConfig, allowed: int) -> TrainingState:
    """Return the state with its warm-up, in steps; log it, and warn if the run would end in it.

    It is `warmup_ratio` of the `allowed` steps, the paper's if those are 0, without a limit.
    """
    warmup = config.warmup or state.warmup
    if not warmup:
        warmup = max(1, round(config.warmup_ratio * allowed)) if allowed else PAPER_WARMUP
        state = dataclasses.replace(state, warmup=warmup)
    logger.info("warm-up: %s", f"{warmup:,} of {allowed:,} steps" if allowed else f"{warmup:,}")
    if 0 < allowed <= warmup:
        logger.warning(
            "this run would end inside its warm-up: the limits allow %d steps, the warm-up takes "
            "%d. Lower --warmup, or raise the limit", allowed, warmup
        )  # fmt: skip
    return state


def schedule_in_steps(
    state: TrainingState, config: TrainConfig, steps_per_epoch: int
) -> TrainConfig:
    """Return the settings with `warmup` and, in the cooldown, `cooldown` and `max_steps` set.

    Until the speed is known, `warmup` is PROBE_STEPS / `warmup_ratio`, or less by other limits.
    """
    warmup = config.warmup or state.warmup
    if not warmup:
        counted = steps_allowed(TrainingState(), config, steps_per_epoch)
        longest = round(PROBE_STEPS / config.warmup_ratio)
        warmup = max(1, min(longest, round(config.warmup_ratio * counted) if counted else longest))
    config = dataclasses.replace(config, warmup=warmup)
    is_wsd = config.schedule == "wsd" and not config.cooldown
    if is_wsd and state.limits == describe_limits(config):
        cooldown = state.end - state.fall
        config = dataclasses.replace(config, max_steps=state.end, cooldown=cooldown)
    return config
