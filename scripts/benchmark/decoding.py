"""Decoding measured: this project's engines and CTranslate2 on the same weights.

    python -m scripts.benchmark.decoding --vocab-size 16000 --beams 1 --cores 2

The weights are a trained checkpoint's, or those of a model that copies its source. Each engine
is in one process and keeps the fastest of its settings; what is not installed is skipped.
"""

import argparse
import dataclasses
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch

from scripts.benchmark import engines
from scripts.benchmark.copy_model import copy_model, random_sentences
from scripts.benchmark.driver import (
    Ids,
    Run,
    open_workers,
    peak_memory,
    reset_peak_memory,
    run_rounds,
    speed_tables,
)
from scripts.benchmark.engines import NAMES, OURS, Setting
from scripts.benchmark.tables import environment, log
from transformer.checkpoint import weights
from transformer.checkpoint.locate import resolve_direction
from transformer.command import Parser, add_arguments, from_arguments, run_command
from transformer.config import DecodeConfig, ModelConfig, UserError, model_config
from transformer.evaluation.evaluate import read_set
from transformer.model import Transformer

LENGTH = 25  # tokens of a sentence that comes alone
N_TRIAL = 256  # sentences of a trial in bulk: two workers with the largest batch each


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """Sentences to translate, in bulk or one at a time."""

    sources: Ids
    config: DecodeConfig
    in_bulk: bool
    setting: Setting = engines.DEFAULT


def start_engine(folder: Path, name: str) -> Callable[[Job], Run]:
    """Load the weights of an engine in its process, and return what translates with them."""
    torch.set_num_threads(1)
    return partial(translate, engines.open_decoder(name, folder))


def translate(decoder: engines.Decoder, job: Job) -> Run:
    """Translate by an engine, and time each call."""
    decoder.configure(job.setting)
    reset_peak_memory()
    outputs, seconds = Ids(), list[float]()
    for sources in [job.sources] if job.in_bulk else [[source] for source in job.sources]:
        started = time.monotonic()
        outputs += decoder.translate(sources, job.config, job.setting)
        seconds.append(time.monotonic() - started)
    return Run(outputs, tuple(seconds), peak_memory())


def fastest(run: Callable[[Job], Run], jobs: Sequence[Job]) -> Setting:
    """Return the setting of the job with the most tokens a second."""
    run(dataclasses.replace(jobs[0], sources=jobs[0].sources[:4]))  # what is new is slow
    return max(jobs, key=lambda job: run(job).tokens_per_second).setting


def measure(
    by_name: Mapping[str, Callable[[Job], Run]], base: Job, cores: int, args: argparse.Namespace
) -> Iterator[str]:
    """Choose the settings of all engines, run the rounds, and yield the tables of a scenario.

    The jobs are as `base`. Each sentence should come out as it went in where the model is one
    that copies, else as the plain model translates it.
    """
    beams = f"beam {base.config.beam_size}" if base.config.beam_size > 1 else "greedy"
    how = "In bulk" if base.in_bulk else "One sentence at a time"
    title = f"{how}, {beams}, {cores} core{'s' if cores > 1 else ''}"
    log(title)
    trial = base.sources[: args.trial_sentences if base.in_bulk else 5]
    tried, jobs = dataclasses.replace(base, sources=trial), dict[str, Job]()
    for name, run in by_name.items():
        settings = engines.settings(name, cores, base.in_bulk)
        best = fastest(run, [dataclasses.replace(tried, setting=each) for each in settings])
        jobs[name] = dataclasses.replace(base, setting=best)
        log(f"  {name}: best with {best}")
    shares = [base.sources[first :: args.rounds] for first in range(args.rounds)]

    def run_share(number: int, name: str) -> Run:
        return by_name[name](dataclasses.replace(jobs[name], sources=shares[number]))

    runs = run_rounds([*by_name], run_share, args.rounds)
    expected = [run.outputs for run in runs.get(NAMES[0], [])] if args.model else shares
    load = os.getloadavg()[0]  # processes that wanted to run, in the last minute, engines too
    yield f"### {title} (load {load:.1f})"
    columns = {
        "setting": [str(job.setting) for job in jobs.values()],
        "as expected": [agreement(done, expected) for done in runs.values()],
    }
    yield from speed_tables(runs, OURS, columns)


def agreement(runs: Sequence[Run], expected: Sequence[Ids]) -> str:
    """Return the share of the sentences that came out as expected; "-" where nothing was."""
    if not expected:
        return "-"
    pairs = zip(runs, expected, strict=True)
    equal = [a == b for run, ids in pairs for a, b in zip(run.outputs, ids, strict=True)]
    return f"{100 * sum(equal) / len(equal):.1f} %"


def parser() -> argparse.ArgumentParser:
    """Define the flags: which model, which engines, how much of what."""
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
    add("--single-sentences", type=int, default=50, help="one at a time (default: 50)")
    add("--trial-sentences", type=int, default=N_TRIAL, help="to choose settings by (default: 256)")
    add_arguments(flags, ModelConfig, from_preset=True)
    return flags


def read_model(args: argparse.Namespace) -> tuple[Transformer, Ids]:
    """Return the model and the sentences that it translates in bulk."""
    if args.model is None:
        config = from_arguments(ModelConfig, args, base=model_config(args.preset))
        return copy_model(config), random_sentences(args.sentences, config.vocab_size)
    if args.test is None:
        raise UserError("expected a test set for the checkpoint: give --test")
    opened = weights.load(args.model)
    langs = resolve_direction(args.model, opened.directions)
    test_set = read_set(args.test, "test", langs, args.sentences)
    longest = opened.model.config.max_len // 2 - 1
    tags = opened.tokenizer.direction_tags(langs, opened.directions)
    sources = [opened.tokenizer.encode(text)[: longest - len(tags)] for text in test_set.sources]
    return opened.model, [tags + ids for ids in sources if ids]


def run(args: argparse.Namespace) -> None:
    """Measure all scenarios, and print the machine and the tables."""
    if min(*args.beams, *args.cores, args.rounds, args.trial_sentences) < 1 or (
        min(args.sentences, args.single_sentences) < args.rounds
    ):
        raise UserError(
            "expected beams, cores, rounds and trial sentences of at least 1 and a sentence for "
            f"each of {args.rounds} rounds; got too few"
        )
    print(environment(), flush=True)
    model, bulk = read_model(args)
    single = bulk[: args.single_sentences]
    if args.model is None:
        size = model.config.vocab_size
        single = random_sentences(args.single_sentences, size, length=LENGTH, seed=2)
    parts = list[str]()
    with tempfile.TemporaryDirectory() as folder:
        engines.write_weights(model, Path(folder), args.engines)
        start = partial(start_engine, Path(folder))
        with open_workers(args.engines, start) as (by_name, skipped):
            for mode, beams, cores in itertools.product(args.modes, args.beams, args.cores):
                sources, config = bulk if mode == "bulk" else single, DecodeConfig(beam_size=beams)
                parts += measure(by_name, Job(sources, config, mode == "bulk"), cores, args)
    parts += [f"Skipped {name}: {why}." for name, why in skipped.items()]
    if "bulk" in args.modes and min(args.trial_sentences, len(bulk)) < N_TRIAL:
        parts.append(f"Too few sentences to choose settings by: {N_TRIAL} fill the largest batch.")
    print("", *parts, sep="\n\n", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(lambda: run(parser().parse_args(argv)), "benchmark")


if __name__ == "__main__":
    raise SystemExit(main())
