"""Decoding measured: this project's engines, Hugging Face and CTranslate2 on the same weights.

    python -m scripts.benchmark.decoding --vocab-size 16000 --beams 1 --cores 2

The weights are a trained checkpoint's, or those of a model that copies its source. What is not
installed is skipped.
"""

import argparse
import dataclasses
import itertools
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.benchmark import engines as rivals
from scripts.benchmark.copy_model import copy_model, sentences
from scripts.benchmark.engines import NAMES, OURS, Ids
from scripts.benchmark.rounds import Result, Say, Scenario, Workload, deal, measure, ratio
from scripts.benchmark.tables import markdown, report
from scripts.benchmark.workers import Team, open_all
from transformer.checkpoint import weights
from transformer.command import add_arguments, from_arguments, run_command
from transformer.config import ModelConfig, UserError, model_config
from transformer.evaluation.evaluate import read_set
from transformer.model import Transformer

LENGTH = 25  # tokens of a sentence that comes alone
ENOUGH = 256  # sentences of a trial in bulk: two workers with the largest batch each
HEADS = (
    "engine",
    "setting",
    "sentences",
    "tokens/s",
    "min-max",
    "ms/sentence",
    "MiB",
    "as expected",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """A scenario, what each engine did in it, and the load of the machine at its end."""

    scenario: Scenario
    results: Sequence[Result]
    load: float  # processes that wanted to run, in the last minute; the engines are among them


def parser() -> argparse.ArgumentParser:
    """Which model, which engines, how much of what."""
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = flags.add_argument
    add("--json", type=Path, help="a file for all values")
    add("--model", help="a checkpoint folder (default: a model that copies, of the size of "
        "--preset)")  # fmt: skip
    add("--test", help="with --model (a checkpoint): the test set whose sentences are translated")
    add("--preset", default="base", help="size of the copying model (default: base)")
    add("--engines", nargs="+", default=list(NAMES), choices=NAMES, metavar="ENGINE",
        help=f"out of {', '.join(NAMES)} (default: all)")  # fmt: skip
    add("--modes", nargs="+", default=["bulk", "single"], choices=("bulk", "single"),
        help="all sentences at once, one after the other (default: both)")  # fmt: skip
    add("--beams", nargs="+", type=int, default=[1, 4], help="beam sizes (default: 1 4)")
    add("--cores", nargs="+", type=int, default=[1, 2], help="numbers of cores (default: 1 2)")
    add("--rounds", type=int, default=5, help="shares that the sentences are dealt to (default: 5)")
    add("--sentences", type=int, default=2000, help="in bulk, of all rounds (default: 2000)")
    add("--rival-sentences", type=int, help="as many for Hugging Face, which is slow")
    add("--single-sentences", type=int, default=50, help="one at a time (default: 50)")
    add("--trial-sentences", type=int, default=ENOUGH, help="to choose settings by (default: 256)")
    add_arguments(flags, ModelConfig, from_preset=True)
    return flags


def read_model(given: argparse.Namespace) -> tuple[Transformer, Ids]:
    """The model and its bulk sentences."""
    if given.model is None:
        config = from_arguments(ModelConfig, given, base=model_config(given.preset))
        return copy_model(config), sentences(given.sentences, config.vocab_size)
    if given.test is None:
        raise UserError("expected a test set for the checkpoint: give --test")
    opened = weights.load(given.model)
    test_set = read_set(given.test, "test", opened.directions[0], given.sentences)
    longest = opened.model.config.max_len // 2 - 1
    sources = [opened.tokenizer.encode(text)[:longest] for text in test_set.sources]
    return opened.model, [ids for ids in sources if ids]


def workload(given: argparse.Namespace, model: Transformer, bulk: Ids, in_bulk: bool) -> Workload:
    """The sentences of a scenario, dealt to the rounds."""
    copies = given.model is None
    if in_bulk:
        n_rival = given.rival_sentences and -(-given.rival_sentences // given.rounds)
        trial = bulk[: given.trial_sentences]
        return Workload(deal(bulk, given.rounds), trial, n_rival, copies)
    vocab_size = model.config.vocab_size
    number = given.single_sentences
    alone = sentences(number, vocab_size, length=LENGTH, seed=2) if copies else bulk[:number]
    return Workload(deal(alone, given.rounds), alone[:5], copies=copies)


def run(given: argparse.Namespace, say: Say) -> tuple[str, dict[str, Any]]:
    """Measures all scenarios; gives the tables, and the same as values."""
    _check(given)
    model, bulk = read_model(given)
    modes = [mode == "bulk" for mode in given.modes]
    scenarios = [
        Scenario(*scenario) for scenario in itertools.product(modes, given.beams, given.cores)
    ]
    measured: list[Measured] = []
    works = {in_bulk: workload(given, model, bulk, in_bulk) for in_bulk in modes}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rivals.write_weights(model, folder, given.engines)
        teams, skipped = open_all(given.engines, lambda name: Team(name, folder), say)
        try:
            for scenario in scenarios:
                results = measure(teams, scenario, works[scenario.in_bulk], say)
                measured.append(Measured(scenario, results, os.getloadavg()[0]))
        finally:
            for team in teams:
                team.close()
    text = tables(measured, skipped)
    if True in modes and min(given.trial_sentences, len(bulk)) < ENOUGH:
        text += f"\n\nToo few sentences to choose settings by: {ENOUGH} fill the largest batches."
    return text, {
        "model": given.model or "copies its source",
        "config": dataclasses.asdict(model.config),
        "scenarios": [values(scenario) for scenario in measured],
        "skipped": skipped,
    }


def _check(given: argparse.Namespace) -> None:
    """UserError for numbers that leave nothing to measure."""
    numbers = [*given.beams, *given.cores, given.rounds, given.trial_sentences]
    fewest = min(given.sentences, given.single_sentences, given.rival_sentences or given.sentences)
    if min(numbers) < 1 or fewest < given.rounds:
        raise UserError(
            "expected beams, cores, rounds and trial sentences of at least 1 and a sentence for "
            f"each of {given.rounds} rounds; got too few"
        )


def _row(result: Result) -> list[str]:
    speeds = result.speeds()
    agree = "-" if result.agree is None else f"{100 * result.agree:.1f} %"
    return [
        result.name,
        str(result.setting),
        f"{result.n_sentences:,}",
        f"{result.speed:,.0f}",
        f"{min(speeds):,.0f}-{max(speeds):,.0f}",
        f"{result.ms:.1f}",
        f"{result.peak_mib:,.0f}",
        agree,
    ]


def _ours_and_others(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    ours = [result for result in results if rivals.family(result.name) in OURS]
    return ours, [result for result in results if result not in ours]


def tables(measured: Sequence[Measured], skipped: dict[str, str]) -> str:
    """Each scenario: what each engine did, and how many times as fast ours are."""
    parts = []
    for case in measured:
        parts.append(f"### {case.scenario} (load {case.load:.1f})")
        parts.append(markdown(HEADS, map(_row, case.results)))
        ours, others = _ours_and_others(case.results)
        if ours and others:
            heads = ["times as fast as", *(other.name for other in others)]
            rows = [[own.name, *(f"{ratio(own, o):.2f}" for o in others)] for own in ours]
            parts.append(markdown(heads, rows))
        if len({result.n_sentences for result in case.results}) > 1:
            parts.append("The engines had unequal numbers of sentences: the ratios flatter some.")
    parts += [f"Skipped {name}: {why}." for name, why in skipped.items()]
    return "\n\n".join(parts)


def values(measured: Measured) -> dict[str, Any]:
    """A scenario for the JSON file."""
    ours, others = _ours_and_others(measured.results)
    return {
        "scenario": str(measured.scenario),
        **dataclasses.asdict(measured.scenario),
        "load": measured.load,
        "engines": [
            {
                "name": result.name,
                "setting": str(result.setting),
                "n_sentences": result.n_sentences,
                "tokens_per_second": result.speeds(),
                "ms_per_sentence": [run.ms for run in result.runs],
                "peak_mib": result.peak_mib,
                "as_expected": result.agree,
            }
            for result in measured.results
        ],
        "ratios": {own.name: {o.name: ratio(own, o) for o in others} for own in ours},
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    given = parser().parse_args(argv)
    return run_command(
        lambda: report("decoding", given.json, lambda say: run(given, say)), "benchmark"
    )


if __name__ == "__main__":
    sys.exit(main())
