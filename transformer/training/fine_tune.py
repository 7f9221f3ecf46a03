"""Fine-tune a finished model on the user's own text, mixed with general text, and measure both.

A model that is trained on one kind of text forgets the others. Three things limit that: pairs of
general text among the user's own, a low learning rate, and interpolation between the old and the
new weights (Wortsman et al. 2022, "WiSE-FT"). The smallest share of new weights that has most of
the gain is kept, since a development set shows only part of what was forgotten.
"""

import dataclasses
import functools
import json
import logging
import time
from collections.abc import Mapping, Sequence

from torch import Tensor

from transformer.checkpoint import initialize, weights
from transformer.checkpoint.locate import MODEL_CARD, find_checkpoint, read_config, read_json
from transformer.checkpoint.weights import Checkpoint
from transformer.config import SentencePair, UserError
from transformer.corpus.cleaning import DropReason, dedup_text, drop_reason, normalize, text_hash
from transformer.corpus.prepare import SKIP_BAD_HINT
from transformer.corpus.prepared import Source
from transformer.corpus.readers import BadRowError, BadRows, read_pairs, write_tsv
from transformer.files import write_text
from transformer.model import Transformer
from transformer.training.run import BEST, LAST, StopReason
from transformer.training.runtime import is_main_process
from transformer.training.train import (
    TrainRequest,
    TrainResult,
    evaluate_best,
    train,
    training_limit,
)
from transformer.training.validation import Validation

HELD_OUT, OUTCOME = "held-out.tsv", "fine-tuning.json"
MIN_PAIRS, MAX_HELD_OUT = 20, 500  # own pairs; a tenth of them is held out
MAX_SCORED = 200  # pairs of a set that BLEU before and after is measured on, the first ones
MAX_VALIDATED = 50  # own development pairs that validations during training score
SHARES = (0.25, 0.5, 0.75, 1.0)  # shares of the new weights to try, besides 0
MIN_GAIN = 2 / 3  # fraction of the largest BLEU gain on own text that the chosen share must have
EVAL_BATCH_TOKENS = 8192
SAVED_BYTES = 40  # a parameter: `last` twice with its moments, `best` twice, in float32
DISK_SPEED = 2e8  # bytes a second, checksums counted; a guess
logger = logging.getLogger(__name__)


def fine_tune(
    run: TrainRequest, mix: Sequence[str] = (), general: Sequence[str] = ()
) -> TrainResult:
    """Train, interpolate between old and new weights, and write the scores to the model card.

    `run` trains a finished model on the user's own text; the same arguments resume it. `mix` are
    sources of general text, sampled by their weights; a source without a weight yields about as
    many pairs as the own text. `general` are the development sets that measure forgetting.
    `max_minutes` bounds all of it but the report of the test sets. Raises UserError for a run
    without `init`, for fewer than 20 pairs of own text, and where `train` does.
    """
    started = time.monotonic()
    if run.init is None:
        raise UserError("expected a checkpoint to begin with, got none: name it with --fine-tune")
    directions = read_config(find_checkpoint(run.init))[1]
    run = dataclasses.replace(run, langs=directions[0], both=len(directions) > 1)
    if is_main_process():
        logger.info("%s", _announcement(run))
    own = _own_pairs(run)
    if len(own) < MIN_PAIRS:
        raise UserError(f"expected at least {MIN_PAIRS} pairs of own text, got {len(own)}")
    if not run.dev:
        run = dataclasses.replace(run, dev=(_write_held_out(own, run),))
    mixed = [_weighted_source(spec, len(own), run) for spec in mix]
    result = train(
        dataclasses.replace(
            run, train=(*run.train, *mixed), test=(), held_out=(*run.test, *general),
            max_dev_pairs=MAX_VALIDATED,
        ),
        functools.partial(_score_before, run, general, started),
    )  # fmt: skip
    if result.stop_reason is StopReason.SIGNAL or not is_main_process():
        return result
    _finish(run, general, result)
    return evaluate_best(run, result, compare=str(run.init)) if run.test else result


def _announcement(run: TrainRequest) -> str:
    """Return how long fine-tuning takes, in one line."""
    config = run.config
    if config.max_minutes:
        limit = f"at most about {config.max_minutes:g} minutes in all, preparing and measuring too"
    elif config.max_epochs or config.max_steps:
        count = f"{config.max_steps} steps" if config.max_steps else f"{config.max_epochs} epochs"
        limit = f"{count}, however long they take (--max-minutes bounds all)"
    else:
        limit = "until --patience ends it (--max-minutes bounds all)"
    return f"fine-tuning: {limit}{'; then the report of --test' if run.test else ''}"


def _score_before(run: TrainRequest, general: Sequence[str], started: float) -> float:
    """Score the model before training; return the seconds that are not for training.

    They are those since `started` (time.monotonic), and an estimate of the scoring and saving after
    training. The outcome file keeps both, so that a resumed run has the same limit. `run` has the
    model's directions and development pairs.
    """
    path = run.output / OUTCOME
    if path.exists():
        return float(read_json(path).get("reserved_seconds", 0.0))
    before = weights.load(run.init or LAST)
    scores: dict[str, float] = {}
    seconds: list[float] = []  # of the own text and the general text
    for name, pairs in _validations(run, general, before).items():
        since = time.monotonic()
        scores |= _scores(before.model, name, pairs)
        seconds.append(time.monotonic() - since)
    now = time.monotonic()
    n_bytes = SAVED_BYTES * sum(p.numel() for p in before.model.parameters())
    # a share each, the last validation (with its loss about two) and the general text once
    after = (len(SHARES) + 2) * seconds[0] + sum(seconds[1:]) + n_bytes / DISK_SPEED
    reserved = now - started + after
    logger.info("BLEU before: %s", ", ".join(f"{name} {bleu:.1f}" for name, bleu in scores.items()))
    logger.info("preparing took %.1f minutes, measuring and saving at the end will take about %.1f",
                (now - started) / 60, after / 60)  # fmt: skip
    limit = run.config.max_minutes
    total = reserved / 60 + training_limit(run.config, reserved).max_minutes
    if limit and total > 1.05 * limit:
        logger.warning("%g minutes are too few on this machine now: it will take about %.1f in all",
                       limit, total)  # fmt: skip
    outcome = {"before": scores, "reserved_seconds": round(reserved, 1)}
    write_text(path, json.dumps(outcome, indent=2) + "\n")
    return reserved


def _validations(
    run: TrainRequest, general: Sequence[str], model: Checkpoint
) -> dict[str, Validation]:
    """Return what BLEU is measured on: `own` (`run.dev`), any `general`, tokenised for `model`."""
    config = dataclasses.replace(run.config, batch_tokens=EVAL_BATCH_TOKENS, eval_pairs=MAX_SCORED)
    sets = {"own": run.dev, "general": general}
    return {
        name: Validation(
            [p for spec in specs for p in read_pairs(spec, *run.langs, config=run.corpus)]
            [:MAX_SCORED],
            model.tokenizer, model.directions, config,
        )
        for name, specs in sets.items() if specs
    }  # fmt: skip


def _scores(model: Transformer, name: str, pairs: Validation) -> dict[str, float]:
    """Return BLEU under `name` (`own`), and with several directions of each, too (`own es-en`)."""
    scores = pairs.bleu_scores(model, "auto").items()
    return {name + key.removeprefix("bleu"): score for key, score in scores}


def _own_pairs(run: TrainRequest) -> list[SentencePair]:
    """Read the pairs of the user's own text that cleaning keeps, without duplicates.

    Raises UserError at the first bad row, or skips these with `skip_bad`.
    """
    bad_rows: BadRows = [] if run.corpus.skip_bad else None
    specs = [Source.parse(text).spec for text in run.train]
    pairs = (p for spec in specs for p in read_pairs(spec, *run.langs, bad_rows, run.corpus))
    try:
        unique = dict.fromkeys((normalize(src), normalize(tgt)) for src, tgt in pairs)
    except BadRowError as error:
        raise UserError(f"{error}; {SKIP_BAD_HINT}") from error
    return [p for p in unique if drop_reason(*p, run.langs, run.corpus) is DropReason.KEPT]


def _write_held_out(own: Sequence[SentencePair], run: TrainRequest) -> str:
    """Write a tenth of the pairs, by hashes of sources, to HELD_OUT of the run; return its path.

    A file from an earlier start stays as it is.
    """
    path = run.output / HELD_OUT
    if not path.exists():
        number = min(MAX_HELD_OUT, len(own) // 10)
        chosen = sorted(own, key=lambda pair: text_hash(dedup_text(pair[0])))[:number]
        run.output.mkdir(parents=True, exist_ok=True)
        write_tsv(path, run.langs, chosen)
    return str(path)


def _weighted_source(spec: str, n_own: int, run: TrainRequest) -> str:
    """Return a SOURCE@WEIGHT; if `spec` has no weight, add one that draws about `n_own` pairs."""
    if Source.parse(spec).spec != spec:
        return spec
    n_general = sum(1 for _ in read_pairs(spec, *run.langs, config=run.corpus))
    return f"{spec}@{max(0.001, min(1.0, n_own / max(1, n_general))):.3g}"


def _finish(run: TrainRequest, general: Sequence[str], result: TrainResult) -> None:
    """Save the best interpolation as BEST, BLEU in card and OUTCOME, once for `result`'s step."""
    path = run.output / OUTCOME
    outcome = read_json(path)
    if outcome.get("step") == result.state.step:
        return
    after = weights.load(run.output / LAST)
    before = weights.load(run.init or LAST)
    start = initialize.initial_weights(before, after.tokenizer, after.model.config)
    sets = _validations(run, general, after)
    end = {name: tensor.clone() for name, tensor in after.model.state_dict().items()}

    results: dict[float, dict[str, float]] = {0.0: outcome["before"]}
    for share in SHARES:
        after.model.load_state_dict(interpolate(start, end, share))
        results[share] = _scores(after.model, "own", sets["own"])
        bleu = results[share]["own"]
        logger.info("BLEU with %3.0f %% of the new weights: own %.1f", 100 * share, bleu)
    best = choose_share(results)
    after.model.load_state_dict(interpolate(start, end, best))
    if "general" in sets:
        results[best] |= _scores(after.model, "general", sets["general"])
    gains = {name: (bleu, results[best][name]) for name, bleu in results[0.0].items()}
    if gains["own"][1] <= gains["own"][0]:
        logger.warning("the own text is translated no better than before: more of it may help")
    card = _card((run.output / LAST / MODEL_CARD).read_text(encoding="utf-8"), run, gains, best)
    weights.save(
        run.output / BEST, interpolate(start, end, best), after.model.config, after.tokenizer,
        after.directions, card, ({}, dataclasses.asdict(result.state)),
    )  # fmt: skip
    outcome |= {"step": result.state.step, "share": best, "after": results[best]}
    write_text(path, json.dumps(outcome, indent=2) + "\n")
    single = {name: gain for name, gain in gains.items() if " " in name} or gains
    line = ", ".join(f"{name} {old:.1f} -> {new:.1f}" for name, (old, new) in single.items())
    logger.info("BLEU before and after: %s; %s", line, run.output / BEST)


def choose_share(results: Mapping[float, Mapping[str, float]]) -> float:
    """Return the smallest of SHARES with at least MIN_GAIN of the largest gain in `own` BLEU.

    `results` has the BLEU of each share by set; gains are over share 0. If none improves BLEU on
    the user's `own` text, return the share with the best.
    """
    gains = {share: results[share]["own"] - results[0.0]["own"] for share in SHARES}
    most = max(gains.values())
    return next(s for s in SHARES if gains[s] >= (MIN_GAIN * most if most > 0 else most))


def interpolate(
    start: Mapping[str, Tensor], end: Mapping[str, Tensor], share: float
) -> dict[str, Tensor]:
    """Interpolate linearly between two sets of weights, with `share` of `end`."""
    return {name: start[name].lerp(tensor, share) for name, tensor in end.items()}


def _card(
    card: str, run: TrainRequest, gains: Mapping[str, tuple[float, float]], share: float
) -> str:
    """Return a model card with a section on fine-tuning: `share`, BLEU of sets before and after."""
    rows = [f"| {name} | {before:.1f} | {after:.1f} |" for name, (before, after) in gains.items()]
    section = "\n".join([
        "## Fine-tuned", "",
        f"From {run.init}, with {100 * share:.0f} % of the new weights, the rest of those before:",
        "the least that has two thirds of the gain on the own development set. BLEU, greedy:", "",
        "| set | before | after |", "|---|---|---|", *rows, "", "",
    ])  # fmt: skip
    head, mark, rest = card.partition("## How it was trained")
    return head + section + mark + rest
