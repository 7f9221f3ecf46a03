"""Trains one phase of a recipe: a file that names sources, how often each is seen, and settings.

    python -m scripts.corpus.recipe --phase wide --data parallel back-translated \\
        --dev newstest2012.parquet --output checkpoints/wide --max-minutes 600
    python -m scripts.corpus.recipe --phase finish --prepared corpus --output checkpoints/both \\
        --init checkpoints/wide/last --max-minutes 400

Every corpus in the folders after `--data` (or a source that `train.py` takes, such as
`hub:Helsinki-NLP/opus-100:en-es`) is weighed by the first pattern of `mix.toml` that its name
fits, those of the phase before those of all; a weight of 0 leaves it out. A phase that is `like`
one above it has its settings and weights, these as many `times`, where it names no others. A pair
of two sources counts where it stands first: name first what is to have its weight. Further options
go on to `train.py`, whose settings they may replace. The same command goes on where a stopped run
left off.

With `--prepare-only --prepared FOLDER` the text of all phases is cleaned and tokenised into a
folder; with `--prepared FOLDER` in the place of `--data` a phase trains from it, on a machine that
has no text.
"""

import argparse
import fnmatch
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts import train
from scripts.corpus.back_translate import find_files
from transformer.command import Parser, run_command
from transformer.config import UserError
from transformer.corpus.prepared import PreparedFolder, Source
from transformer.corpus.readers import HUB

MIX = Path(__file__).resolve().parent / "mix.toml"
SUFFIXES = (".parquet", ".tsv", ".jsonl", ".tmx", ".gz")


def source_name(source: str) -> str:
    """Return what the patterns match: a file's name without suffixes, a hub name as it is."""
    if source.startswith(HUB):
        return source.removeprefix(HUB)
    name = Path(source).name
    while name.endswith(SUFFIXES):
        name = name.rpartition(".")[0]
    return name


def weighted_sources(sources: Sequence[str], weights: Mapping[str, float]) -> list[str]:
    """Return each source with its weight, as `train.py` reads it, without those of weight 0."""
    weighted = []
    for source in sources:
        name = source_name(source)
        weight = next((w for pattern, w in weights.items() if fnmatch.fnmatch(name, pattern)), 1)
        weighted += [f"{source}@{weight}"] if weight else []
    return weighted


def to_flags(settings: Mapping[str, Any]) -> list[str]:
    """Return settings as flags: `both = true` is --both, `d-ff = 512` is --d-ff 512."""
    flags = []
    for name, value in settings.items():
        if value is not False:
            flags += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return flags


def phase_settings(phases: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the settings of a phase, its weights too, with those of the phase that it is like."""
    settings = dict(phases[name])
    like, times = settings.pop("like", None), settings.pop("times", 1)
    if like is None:
        return settings
    if like not in [*phases][: [*phases].index(name)]:
        raise UserError(f"expected a phase above {name!r} that it is like; got {like!r}")
    base = phase_settings(phases, like)
    own, scaled = settings.get("weights", {}), base.get("weights", {})
    first = {pattern: w for pattern, w in own.items() if pattern not in scaled}
    scaled = {pattern: round(w * times, 6) for pattern, w in scaled.items()}
    return {**base, **settings, "weights": {**first, **scaled, **own}}  # each in its place


def arguments(
    mix: Path, phase: str, sources: Sequence[str], every_phase: bool = False
) -> list[str]:
    """Return the flags of `train.py` for a phase; a defect of the file is a UserError.

    With `every_phase`, for a preparation, sources that only another phase reads are named, too.
    """
    try:
        recipe = tomllib.loads(mix.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"expected a recipe in {mix}: {error}") from error
    phases = recipe.get("phase", {})
    if phase not in phases:
        raise UserError(f"expected a phase of {mix}: {', '.join(phases)}; got {phase!r}")

    def named(name: str) -> list[str]:
        own = phase_settings(phases, name).get("weights", {})
        # The order and the values of the phase's own weights before those of the recipe.
        return weighted_sources(sources, {**own, **recipe.get("weights", {}), **own})

    train_sources = named(phase)
    if every_phase:
        read = {Source.parse(text).spec for name in phases for text in named(name)}
        train_sources = [source for source in sources if source in read]
    settings = phase_settings(phases, phase)
    settings.pop("weights", None)
    return ["--train", *train_sources, *to_flags(settings)]


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = Parser(description=__doc__)
    add = parser.add_argument
    add("--mix", type=Path, default=MIX, help="the recipe (default: mix.toml beside this script)")
    add("--phase", required=True, help="which of its phases")
    add("--data", nargs="+", default=[], metavar="SOURCE", help="folders of corpora, or corpora")
    add("--prepared", type=Path, metavar="FOLDER", help="what --prepare-only wrote, or is to write")
    add("--prepare-only", action="store_true", help="only clean and tokenise, for all phases")
    add("--dev", nargs="+", default=[], metavar="SOURCE", help="for choosing")
    add("--output", required=True, metavar="FOLDER", help="of the run")
    args, others = parser.parse_known_args(argv)
    options = ["--output", args.output, *(["--dev", *args.dev] if args.dev else [])]
    options += ["--prepared", str(args.prepared)] if args.prepared else []
    options += ["--prepare-only"] if args.prepare_only else []

    def add_phase() -> None:
        options.extend(arguments(args.mix, args.phase, _sources(args), args.prepare_only))

    code = run_command(add_phase, "recipe")
    return code or train.main([*options, *(option for option in others if option != "--")])


def _sources(args: argparse.Namespace) -> list[str]:
    """Return the corpora that are named, or those that a prepared folder was made from."""
    if args.data:
        return find_files(args.data, SUFFIXES)
    if args.prepared and not args.prepare_only:
        return [Source.parse(text).spec for text in PreparedFolder.read(args.prepared).sources]
    raise UserError("expected text to train on: name it with --data, or --prepared FOLDER")


if __name__ == "__main__":
    raise SystemExit(main())
