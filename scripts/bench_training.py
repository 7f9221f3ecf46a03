"""Training measured: this project's step beside Hugging Face, torch.nn.Transformer and JoeyNMT.

All learn the same batches from the same first weights. Makes the batches and the tables; the steps
stand in `trainers`, how turns are taken in `alternation`.
"""

import argparse
import dataclasses
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bench_profile
import torch
import trainers
from alternation import Say, take_turns
from rivals import family
from trainers import NAMES, OURS
from training_tables import (
    DIFFERENCES,
    POST_NORM,
    RATIOS,
    Result,
    all_ratios,
    curves,
    tables,
    values,
)
from training_teams import Block, Profiled, Taken, TrainingTeam

from transformer import batching
from transformer.batching import Batch
from transformer.config import (
    PAD_ID,
    PRESETS,
    CorpusConfig,
    ModelConfig,
    TrainConfig,
    UserError,
    add_arguments,
    from_arguments,
    model_config,
)
from transformer.corpus import Prepared, Source, prepare
from transformer.examples import micro_batch
from transformer.model import Transformer

ROOT = Path(__file__).resolve().parent.parent
N_TRIAL = 2  # steps to choose a way to attention by
OPEN = {"lr_scale", "label_smoothing", "clip", "ema", "seed", "compile"}  # settings with a flag


def add_flags(flags: argparse.ArgumentParser) -> None:
    """Which loops, on what, how long."""
    add = flags.add_argument
    add("--train", default=str(ROOT / "data" / "train.tsv"), metavar="SOURCE",
        help="the corpus, as of scripts/train.py (default: data/train.tsv)")  # fmt: skip
    add("--from", dest="src_lang", default="es", help="source language (default: es)")
    add("--to", dest="tgt_lang", default="en", help="target language (default: en)")
    add("--max-pairs", type=int, default=50_000, help="pairs that are read (default: 50000)")
    add("--cache", type=Path, default=ROOT / "data" / "prepared",
        help="folder of tokenised corpora (default: data/prepared)")  # fmt: skip
    add("--preset", choices=sorted(PRESETS), default="small", help="model size (default: small)")
    add("--engines", nargs="+", default=list(NAMES), choices=NAMES, metavar="LOOP",
        help=f"out of {', '.join(NAMES)} (default: all)")  # fmt: skip
    add("--threads", type=int, default=os.cpu_count(), help="of each loop (default: all cores)")
    add("--rounds", type=int, default=5, help="turns of each loop (default: 5)")
    add("--steps", type=int, default=3, help="timed steps of a turn, after one that is not timed "
        "(default: 3)")  # fmt: skip
    add("--curves", type=int, nargs="?", const=300, default=0, metavar="STEPS",
        help="instead: so many steps of each, and their losses side by side (300)")  # fmt: skip
    add("--default-attention", action="store_true",
        help="of the others: what they come with, not the fastest that they can")  # fmt: skip
    add("--profile", action="store_true", help="also tell where this project's own time goes")
    add("--batch-tokens", type=int, default=4096,
        help="source plus target tokens of a batch, padding counted (default: 4096)")  # fmt: skip
    add("--warmup", type=int, default=400, help="steps of linear warm-up (default: 400)")
    add_arguments(flags, ModelConfig, from_preset=True)
    others = {field.name for field in dataclasses.fields(TrainConfig)} - OPEN
    add_arguments(flags, TrainConfig, skip=tuple(others))


def plan(data: Prepared, model: ModelConfig, config: TrainConfig, n_steps: int) -> list[Batch]:
    """The batches of the first steps, as training makes them, of as many epochs as it takes."""
    found: list[Batch] = []
    lengths, epoch = data.pairs.lengths, 0
    while len(found) < n_steps:
        indices = batching.epoch_indices(data.sizes, config.seed, epoch)
        try:
            rows = batching.plan(lengths, indices, config.batch_tokens, config.seed, epoch)
        except ValueError as error:
            raise UserError(f"{error}. Raise --batch-tokens") from error
        wanted = rows[: n_steps - len(found)]
        found += [micro_batch(data, row.tolist(), config, model.max_len, 0) for row in wanted]
        epoch += 1
    return found


def open_teams(
    names: Sequence[str], folder: Path, n_threads: int, say: Say
) -> tuple[list[TrainingTeam], dict[str, str]]:
    """The loops that can run here, and why the others cannot."""
    teams, skipped = [], {}
    for name in names:
        try:
            teams.append(TrainingTeam(name, folder, n_threads))
            say(f"{name} is ready")
        except UserError as error:
            skipped[name] = str(error)
            say(f"skipped {name}: {error}")
    return teams, skipped


def choose(team: TrainingTeam, say: Say) -> str:
    """The fastest of a loop's ways to attention."""
    if len(team.ways) == 1:
        return team.ways[0]
    speeds = [team.run(Block(0, N_TRIAL, 1, way)).speed for way in team.ways]
    way = team.ways[speeds.index(max(speeds))]
    say(f"{team.name}: best with {way}")
    return way


def measure(teams: Sequence[TrainingTeam], given: argparse.Namespace, say: Say) -> list[Result]:
    """The turns of all loops; with --curves each takes its steps at once."""
    plain = given.curves or given.default_attention
    ways = {team.name: team.ways[0] if plain else choose(team, say) for team in teams}
    length = given.curves or given.steps

    def run(number: int, team: TrainingTeam) -> Taken:
        return team.run(Block(number * length, length, int(not given.curves), ways[team.name]))

    runs = take_turns(teams, run, 1 if given.curves else given.rounds, say)
    return [Result(name, ways[name], tuple(blocks)) for name, blocks in runs.items()]


def _check(given: argparse.Namespace) -> None:
    """UserError for numbers that leave nothing to measure."""
    if min(given.rounds, given.steps, given.threads) < 1 or given.curves < 0:
        raise UserError(
            "expected --rounds, --steps and --threads of at least 1, got "
            f"{given.rounds}, {given.steps} and {given.threads}"
        )


def _prepared(given: argparse.Namespace) -> tuple[Prepared, ModelConfig, TrainConfig]:
    """The corpus, and the settings with the size of its vocabulary."""
    model = from_arguments(ModelConfig, given, base=model_config(given.preset))
    config = from_arguments(TrainConfig, given)
    corpus = CorpusConfig(max_pairs=given.max_pairs, drop_long=True)
    source, langs = Source.parse(given.train), (given.src_lang, given.tgt_lang)
    data = prepare([source], [], langs, corpus, model, given.cache)
    return data, dataclasses.replace(model, vocab_size=data.tokenizer.vocab_size), config


def run(given: argparse.Namespace, say: Say) -> tuple[str, dict[str, Any]]:
    """Measures all loops; gives the tables, and the same as values."""
    _check(given)
    data, model_shape, config = _prepared(given)
    batches = plan(data, model_shape, config, given.curves or given.rounds * given.steps)
    torch.manual_seed(config.seed)
    model = Transformer(model_shape)
    profiled: Mapping[str, bench_profile.Profile] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trainers.write_task(folder, model, config, data.tokenizer, batches)
        teams, skipped = open_teams(given.engines, folder, given.threads, say)
        try:
            results = measure(teams, given, say) if teams else []
            if given.profile:
                own = [team for team in teams if family(team.name) == OURS]
                job = Profiled(0, given.steps)
                profiled = {team.name: team.profile(job) for team in own}
        finally:
            for team in teams:
                team.close()
    size = sum(p.numel() for p in model.parameters())
    text = "\n\n".join([
        _described(given, size, batches),
        *(curves(results) if given.curves else tables(results)),
        DIFFERENCES,
        *([POST_NORM] if model_shape.norm == "pre" else []),
        *(f"Skipped {name}: {why}." for name, why in skipped.items()),
        *(f"### {name}\n\n{bench_profile.told(one)}" for name, one in profiled.items()),
    ])  # fmt: skip
    return text, {
        "settings": {name: str(value) for name, value in vars(given).items()},
        "config": dataclasses.asdict(model_shape),
        "parameters": size,
        "load": os.getloadavg()[0],
        "loops": [values(result) for result in results],
        "ratios": {kind: all_ratios(results, of) for kind, of in RATIOS.items()},
        "profiles": {name: dataclasses.asdict(one) for name, one in profiled.items()},
        "skipped": skipped,
    }


def _described(given: argparse.Namespace, size: int, batches: Sequence[Batch]) -> str:
    """What was learnt: sizes, and how much of the batches is padding."""
    cells = sum(batch.src.numel() + batch.tgt_out.numel() for batch in batches)
    full = sum(int((ids != PAD_ID).sum()) for b in batches for ids in (b.src, b.tgt_out))
    targets = statistics.mean(map(trainers.n_targets, batches))
    return (
        f"Preset {given.preset}, {size:,} parameters; {given.threads} threads; batches of "
        f"{given.batch_tokens:,} tokens, {targets:,.0f} of them targets, "
        f"{100 * (1 - full / cells):.0f} % padding; load {os.getloadavg()[0]:.1f}"
    )
