"""Trains one phase of a recipe: a file that names sources, how often each is seen, and settings.

    python -m scripts.corpus.recipe --phase pretrain --data parallel back-translated \\
        --dev newstest2012.parquet --output checkpoints/both --max-minutes 600

Every corpus in the folders after `--data` (or a source that `train.py` takes, such as
`hub:Helsinki-NLP/opus-100:en-es`) is weighed by the first pattern of `mix.toml` that its name
fits, those of the phase before those of all; a weight of 0 leaves it out. A phase that is `like`
one above it has its settings and weights, these as many `times`, where it names no others. A pair
of two sources counts where it stands first: name first what is to have its weight. What stands
after `--` goes on to `train.py`, whose settings it may replace. The same command goes on where a
stopped run left off.
"""

import fnmatch
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts import train
from scripts.corpus.back_translate import files_below
from transformer.command import Parser, run_command
from transformer.config import UserError
from transformer.corpus.readers import HUB

MIX = Path(__file__).resolve().parent / "mix.toml"
ENDINGS = (".parquet", ".tsv", ".jsonl", ".tmx", ".gz")


def name_of(source: str) -> str:
    """What the patterns are held against: a file's name without endings, a hub name as it is."""
    if source.startswith(HUB):
        return source.removeprefix(HUB)
    name = Path(source).name
    while name.endswith(ENDINGS):
        name = name.rpartition(".")[0]
    return name


def weighed(sources: Sequence[str], weights: Mapping[str, float]) -> list[str]:
    """Each source with its weight, as `train.py` reads it; without those of weight 0."""
    kept = []
    for source in sources:
        fitting = (w for pattern, w in weights.items() if fnmatch.fnmatch(name_of(source), pattern))
        weight = next(fitting, 1)
        kept += [f"{source}@{weight}"] if weight else []
    return kept


def flags(settings: Mapping[str, Any]) -> list[str]:
    """Settings as options of a command: `both = true` is --both, `d-ff = 512` is --d-ff 512."""
    options = []
    for name, value in settings.items():
        if value is not False:
            options += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return options


def phase_of(phases: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """The settings of a phase, its weights among them, with those of the phase that it is like."""
    settings = dict(phases[name])
    like, times = settings.pop("like", None), settings.pop("times", 1)
    if like is None:
        return settings
    above = [*phases][: [*phases].index(name)]
    if like not in above:
        raise UserError(f"expected a phase above {name!r} that it is like; got {like!r}")
    model = phase_of(phases, like)
    own, its = settings.get("weights", {}), model.get("weights", {})
    ahead = {pattern: w for pattern, w in own.items() if pattern not in its}
    scaled = {pattern: round(w * times, 6) for pattern, w in its.items()}
    return {**model, **settings, "weights": {**ahead, **scaled, **own}}  # each in its place


def arguments(mix: Path, phase: str, data: Sequence[str]) -> list[str]:
    """What `train.py` is called with for a phase; a defect of the file is a UserError."""
    try:
        recipe = tomllib.loads(mix.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"expected a recipe in {mix}: {error}") from error
    phases = recipe.get("phase", {})
    if phase not in phases:
        raise UserError(f"expected a phase of {mix}: {', '.join(phases)}; got {phase!r}")
    settings = phase_of(phases, phase)
    first = settings.pop("weights", {})
    weights = {**first, **recipe.get("weights", {}), **first}  # its order, and its values
    return ["--train", *weighed(files_below(data, ENDINGS), weights), *flags(settings)]


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = Parser(description=__doc__)
    add = parser.add_argument
    add("--mix", type=Path, default=MIX, help="the recipe (default: mix.toml beside this script)")
    add("--phase", required=True, help="which of its phases")
    add("--data", required=True, nargs="+", metavar="SOURCE", help="folders of corpora, or corpora")
    add("--dev", nargs="+", default=[], metavar="SOURCE", help="for choosing")
    add("--output", required=True, metavar="FOLDER", help="of the run")
    given, others = parser.parse_known_args(argv)
    options: list[str] = ["--output", given.output, *(["--dev", *given.dev] if given.dev else [])]
    code = run_command(
        lambda: options.extend(arguments(given.mix, given.phase, given.data)), "recipe"
    )
    return code or train.main([*options, *(option for option in others if option != "--")])


if __name__ == "__main__":
    sys.exit(main())
