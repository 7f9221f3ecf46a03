"""A finished model goes on with own text, mixed with general text, and is measured on both.

Training on one kind of text forgets the others. Against it stand general pairs beside the own
ones, a low rate, and the mean of the weights before and after (Wortsman et al. 2022, "WiSE-FT"),
with no more of those after than most of the gain takes: no set sees all that is forgotten.
"""

import dataclasses
import json
import logging
from collections.abc import Mapping, Sequence

from torch import Tensor

from transformer.checkpoint import initialize, weights
from transformer.checkpoint.locate import CARD, find, read_config, read_json
from transformer.config import SentencePair, UserError
from transformer.corpus.cleaning import DropReason, dedup_text, drop_reason, key, normalize
from transformer.corpus.prepare import SKIP_BAD
from transformer.corpus.prepared import Source
from transformer.corpus.readers import BadRow, Refused, read_pairs, write_tsv
from transformer.evaluation.evaluate import PAGE_NAME, EvaluationRequest, evaluate
from transformer.files import write_text
from transformer.training.run import BEST, LAST, StopReason
from transformer.training.runtime import is_main_process
from transformer.training.train import TrainRequest, TrainResult, train
from transformer.training.validation import Validation

HELD_OUT, OUTCOME = "held-out.tsv", "fine-tuning.json"
FEWEST, MOST_HELD_OUT = 20, 500  # own pairs; those of them that are not trained on, a tenth
SHARES = (0.25, 0.5, 0.75, 1.0)  # of the weights after, tried beside those before
ENOUGH = 2 / 3  # of the largest gain on own text: the smallest share that has it is taken
MEASURED = 8192  # tokens of a batch
Scores = Mapping[str, float]  # BLEU by set
logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class FineTuneRequest:
    """`run` begins with a checkpoint and trains on own text; the same request goes on with it.

    `mix` is general text, each source with its weight or else as many pairs of it as own ones;
    `general` is the development set that it is measured by.
    """

    run: TrainRequest
    mix: tuple[str, ...] = ()
    general: tuple[str, ...] = ()


def fine_tune(request: FineTuneRequest) -> TrainResult:
    """Trains, takes the best mean of the weights before and after, and says it in the card."""
    run = request.run
    if run.init is None:
        raise UserError("expected a checkpoint to begin with, got none: name it with --fine-tune")
    directions = read_config(find(run.init))[1]
    run = dataclasses.replace(run, langs=directions[0], both=len(directions) > 1)
    own = _own_pairs(run)
    if len(own) < FEWEST:
        raise UserError(f"expected at least {FEWEST} pairs of own text, got {len(own)}")
    if not run.dev:
        run = dataclasses.replace(run, dev=(_held_out(own, run),))
    mixed = [_weighed(spec, len(own), run) for spec in request.mix]
    result = train(
        dataclasses.replace(
            run, train=(*run.train, *mixed), test=(), held_out=(*run.test, *request.general)
        )
    )
    if result.stop_reason is StopReason.SIGNAL or not is_main_process():
        return result
    _finish(request, run, result)
    if not run.test:
        return result
    asked = EvaluationRequest(
        model=str(run.output / BEST), tests=run.test, compare=str(run.init), columns=run.corpus
    )
    report, folder = evaluate(asked)
    return dataclasses.replace(result, report=report, page=folder / PAGE_NAME)


def _own_pairs(run: TrainRequest) -> list[SentencePair]:
    """The pairs of own text that are worth training on, each once."""
    refused: Refused | None = [] if run.corpus.skip_bad else None
    specs = [Source.parse(text).spec for text in run.train]
    pairs = (p for spec in specs for p in read_pairs(spec, *run.langs, refused, run.corpus))
    try:
        tidy = dict.fromkeys((normalize(src), normalize(tgt)) for src, tgt in pairs)
    except BadRow as error:
        raise UserError(f"{error}; {SKIP_BAD}") from error
    return [p for p in tidy if drop_reason(*p, run.langs, run.corpus) is DropReason.KEPT]


def _held_out(own: Sequence[SentencePair], run: TrainRequest) -> str:
    """A file of a tenth of the pairs, chosen by the hash of their sources; made once."""
    path = run.output / HELD_OUT
    if not path.exists():
        number = min(MOST_HELD_OUT, len(own) // 10)
        chosen = sorted(own, key=lambda pair: key(dedup_text(pair[0])))[:number]
        run.output.mkdir(parents=True, exist_ok=True)
        write_tsv(path, run.langs, chosen)
    return str(path)


def _weighed(spec: str, n_own: int, run: TrainRequest) -> str:
    """A source of general text with its weight: the one given, or as many pairs as own ones."""
    if Source.parse(spec).spec != spec:
        return spec
    n_general = sum(1 for _ in read_pairs(spec, *run.langs, config=run.corpus))
    return f"{spec}@{max(0.001, min(1.0, n_own / max(1, n_general))):.3g}"


def _finish(request: FineTuneRequest, run: TrainRequest, result: TrainResult) -> None:
    """Writes the best mean of the weights before and after, unless that is done already."""
    path = run.output / OUTCOME
    if path.exists() and read_json(path).get("step") == result.state.step:
        return
    after = weights.load(run.output / LAST)
    before = weights.load(run.init or LAST)
    start = initialize.weights_for(before, after.tokenizer, after.model.config)
    config = dataclasses.replace(run.config, batch_tokens=MEASURED)
    sets = {
        name: Validation(
            [p for spec in specs for p in read_pairs(spec, *run.langs, config=run.corpus)],
            after.tokenizer, after.directions, config,
        )
        for name, specs in (("own", run.dev), ("general", request.general)) if specs
    }  # fmt: skip
    end = {name: tensor.clone() for name, tensor in after.model.state_dict().items()}

    def scores(share: float) -> Scores:
        after.model.load_state_dict(mean(start, end, share))
        return {name: dev.scores(after.model).get("bleu", 0.0) for name, dev in sets.items()}

    tried: dict[float, Scores] = {}
    for share in (0.0, *SHARES):
        tried[share] = scores(share)
        said = ", ".join(f"{name} {value:.1f}" for name, value in tried[share].items())
        logger.info("BLEU with %3.0f %% of the new weights: %s", 100 * share, said)
    best = chosen(tried)
    if tried[best]["own"] <= tried[0.0]["own"]:
        logger.warning("the own text is translated no better than before: more of it may help")
    card = (run.output / LAST / CARD).read_text(encoding="utf-8")
    weights.save(
        run.output / BEST, mean(start, end, best), after.model.config, after.tokenizer,
        after.directions, _card(card, run, tried, best), ({}, dataclasses.asdict(result.state)),
    )  # fmt: skip
    outcome = {"step": result.state.step, "share": best, "before": tried[0.0], "after": tried[best]}
    write_text(path, json.dumps(outcome, indent=2) + "\n")
    said = ", ".join(f"{n} {bleu:.1f} -> {tried[best][n]:.1f}" for n, bleu in tried[0.0].items())
    logger.info("BLEU before and after: %s; %s", said, run.output / BEST)


def chosen(tried: Mapping[float, Scores]) -> float:
    """The smallest share of the new weights that has ENOUGH of the gain; without one the best."""
    gains = {share: tried[share]["own"] - tried[0.0]["own"] for share in SHARES}
    most = max(gains.values())
    return next(s for s in SHARES if gains[s] >= (ENOUGH * most if most > 0 else most))


def mean(start: Mapping[str, Tensor], end: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Weights between those before and after, `share` of the latter."""
    return {name: start[name].lerp(tensor, share) for name, tensor in end.items()}


def _card(card: str, run: TrainRequest, tried: Mapping[float, Scores], best: float) -> str:
    """The card with what fine-tuning gained and lost."""
    rows = [f"| {n} | {bleu:.1f} | {tried[best][n]:.1f} |" for n, bleu in tried[0.0].items()]
    told = "\n".join([
        "## Fine-tuned", "",
        f"From {run.init}, with {100 * best:.0f} % of the new weights, the rest of those before:",
        "the least that has two thirds of the gain on the own development set. BLEU, greedy:", "",
        "| set | before | after |", "|---|---|---|", *rows, "", "",
    ])  # fmt: skip
    head, mark, rest = card.partition("## How it was trained")
    return head + told + mark + rest
