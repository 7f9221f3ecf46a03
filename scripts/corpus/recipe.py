"""Trains one phase of a recipe: a file that names sources, how often each is seen, and settings.

    python -m scripts.corpus.recipe --phase wide --data parallel back-translated \\
        --dev newstest2012.parquet --output checkpoints/wide --max-minutes 600
    python -m scripts.corpus.recipe --phase finish --data parallel back-translated \\
        --dev newstest2012.parquet --output checkpoints/both --init checkpoints/wide/last \\
        --max-minutes 400

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
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts import train
from scripts.corpus.back_translate import files_below
from transformer.command import Parser, run_command
from transformer.config import UserError
from transformer.corpus.prepared import PreparedFolder, Source
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


def weights_of(recipe: Mapping[str, Any], phase: str) -> dict[str, float]:
    """The weights of a phase by pattern: its own before those of the recipe."""
    own = phase_of(recipe.get("phase", {}), phase).get("weights", {})
    return {**own, **recipe.get("weights", {}), **own}  # its order, and its values


def arguments(mix: Path, phase: str, sources: Sequence[str], every_phase: bool = False
              ) -> list[str]:  # fmt: skip
    """What `train.py` is called with for a phase; a defect of the file is a UserError.

    For a preparation, `every_phase`, sources that another phase reads are named, too.
    """
    try:
        recipe = tomllib.loads(mix.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"expected a recipe in {mix}: {error}") from error
    phases = recipe.get("phase", {})
    if phase not in phases:
        raise UserError(f"expected a phase of {mix}: {', '.join(phases)}; got {phase!r}")
    settings = phase_of(phases, phase)
    settings.pop("weights", None)
    named = weighed(sources, weights_of(recipe, phase))
    if every_phase:
        others = [weighed(sources, weights_of(recipe, name)) for name in phases]
        read = {Source.parse(text).spec for texts in others for text in texts}
        named = [source for source in sources if source in read]
    return ["--train", *named, *flags(settings)]


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = Parser(description=__doc__)
    add = parser.add_argument
    add("--mix", type=Path, default=MIX, help="the recipe (default: mix.toml beside this script)")
    add("--phase", required=True, help="which of its phases")
    add("--data", nargs="+", default=[], metavar="SOURCE", help="folders of corpora, or corpora")
    add("--prepared", type=Path, metavar="FOLDER", help="what --prepare-only wrote, or is to write")
    add("--prepare-only", action="store_true", help="only clean and tokenise, for all phases")
    add("--dev", nargs="+", default=[], metavar="SOURCE", help="for choosing")
    add("--output", required=True, metavar="FOLDER", help="of the run")
    given, others = parser.parse_known_args(argv)
    options: list[str] = ["--output", given.output, *(["--dev", *given.dev] if given.dev else [])]
    options += ["--prepared", str(given.prepared)] if given.prepared else []
    options += ["--prepare-only"] if given.prepare_only else []
    code = run_command(
        lambda: options.extend(
            arguments(given.mix, given.phase, _sources(given), given.prepare_only)
        ),
        "recipe",
    )
    return code or train.main([*options, *(option for option in others if option != "--")])


def _sources(given: argparse.Namespace) -> list[str]:
    """The corpora that are named, or those that a prepared folder was made from."""
    if given.data:
        return files_below(given.data, ENDINGS)
    if given.prepared and not given.prepare_only:
        return [Source.parse(text).spec for text in PreparedFolder.read(given.prepared).sources]
    raise UserError("expected text to train on: name it with --data, or --prepared FOLDER")


if __name__ == "__main__":
    sys.exit(main())
