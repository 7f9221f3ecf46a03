"""Decoding measured: this project's engines, Hugging Face and CTranslate2 on the same weights.

    python -m scripts.benchmark.decoding --vocab-size 16000 --beams 1 --cores 2

The weights are a trained checkpoint's, or those of a model that copies its source. What is not
installed is skipped.
"""

import argparse
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.benchmark import engines as rivals
from scripts.benchmark.copy_model import copy_model, sentences
from scripts.benchmark.engines import NAMES, OURS, Ids
from scripts.benchmark.rounds import Result, Say, Scenario, Workload, deal, measure, ratio
from scripts.benchmark.tables import markdown, report
from scripts.benchmark.workers import Team, open_all
from transformer.checkpoint import weights
from transformer.checkpoint.locate import one_of
from transformer.command import Parser, add_arguments, from_arguments, run_command
from transformer.config import ModelConfig, UserError, model_config
from transformer.evaluation.evaluate import read_set
from transformer.model import Transformer

LENGTH = 25  # tokens of a sentence that comes alone
ENOUGH = 256  # sentences of a trial in bulk: two workers with the largest batch each
HEADS = (
    "engine", "setting", "sentences", "tokens/s", "min-max", "ms/sentence", "MiB", "as expected",
)  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """Which model, which engines, how much of what."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
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
    langs = one_of(given.model, opened.directions)
    test_set = read_set(given.test, "test", langs, given.sentences)
    longest = opened.model.config.max_len // 2 - 1
    tags = opened.tokenizer.direction_tags(langs, opened.directions)
    sources = [opened.tokenizer.encode(text)[: longest - len(tags)] for text in test_set.sources]
    return opened.model, [tags + ids for ids in sources if ids]


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


def run(given: argparse.Namespace, say: Say) -> str:
    """Measures all scenarios; gives the tables."""
    _check(given)
    model, bulk = read_model(given)
    modes = [mode == "bulk" for mode in given.modes]
    works = {in_bulk: workload(given, model, bulk, in_bulk) for in_bulk in modes}
    parts: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rivals.write_weights(model, folder, given.engines)
        teams, skipped = open_all(given.engines, lambda name: Team(name, folder), say)
        by_name = {team.name: team.run for team in teams}
        try:
            for scenario in itertools.starmap(
                Scenario, itertools.product(modes, given.beams, given.cores)
            ):
                results = measure(by_name, scenario, works[scenario.in_bulk], say)
                parts += tables(scenario, results)
        finally:
            for team in teams:
                team.close()
    parts += [f"Skipped {name}: {why}." for name, why in skipped.items()]
    if True in modes and min(given.trial_sentences, len(bulk)) < ENOUGH:
        parts.append(f"Too few sentences to choose settings by: {ENOUGH} fill the largest batches.")
    return "\n\n".join(parts)


def _check(given: argparse.Namespace) -> None:
    """UserError for numbers that leave nothing to measure."""
    numbers = [*given.beams, *given.cores, given.rounds, given.trial_sentences]
    fewest = min(given.sentences, given.single_sentences, given.rival_sentences or given.sentences)
    if min(numbers) < 1 or fewest < given.rounds:
        raise UserError(
            "expected beams, cores, rounds and trial sentences of at least 1 and a sentence for "
            f"each of {given.rounds} rounds; got too few"
        )


def tables(scenario: Scenario, results: Sequence[Result]) -> Iterator[str]:
    """A scenario: what each engine did, and how many times as fast ours are."""
    load = os.getloadavg()[0]  # processes that wanted to run, in the last minute, engines too
    yield f"### {scenario} (load {load:.1f})"
    yield markdown(HEADS, [result.row() for result in results])
    ours = [result for result in results if rivals.family(result.name) in OURS]
    others = [result for result in results if result not in ours]
    if ours and others:
        heads = ["times as fast as", *(other.name for other in others)]
        rows = [[own.name, *(f"{ratio(own.speeds, o.speeds):.2f}" for o in others)] for own in ours]
        yield markdown(heads, rows)
    if len({result.n_sentences for result in results}) > 1:
        yield "The engines had unequal numbers of sentences: the ratios flatter some."


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    given = parser().parse_args(argv)
    return run_command(lambda: report(lambda say: run(given, say)), "benchmark")


if __name__ == "__main__":
    sys.exit(main())
