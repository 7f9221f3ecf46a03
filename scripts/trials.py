"""Short trials of settings: which translate best after the same time of training, and how fast.

    python scripts/trials.py --minutes 20 --output trials --dev dev.tsv --trial= \\
        --trial="--norm post" --trial="--n-encoder-layers 6 --n-decoder-layers 2" \\
        -- --train my.tsv --from es --to en

What stands after `--` is told to scripts/train.py in every trial, the words of a trial in that one
only. A trial that is done is not repeated, one that was cut off goes on; trials added later join
the table. Several commands may work at once, one a core, in one folder.
"""

import argparse
import dataclasses
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench_tables import described, environment, markdown

from transformer import checkpoint, cli, systems
from transformer.config import DecodeConfig, UserError
from transformer.progress import read_metrics
from transformer.runfolder import BEST

TRAIN = Path(__file__).resolve().parent / "train.py"
RESULT = "trial.json"


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """A trial that is done: greedy BLEU by test set, sentences a second over all of them.

    `loss` is the lowest of validation, in nats a piece: of one vocabulary only it compares.
    """

    trial: str
    minutes: float
    parameters: int
    steps: int
    loss: float
    bleu: dict[str, float]
    sentences_per_second: float


def folder_of(output: Path, trial: str) -> Path:
    """The folder of a trial, named by its words."""
    return output / (re.sub(r"[^\w.]+", "-", trial).strip("-") or "as-it-is")


def train(folder: Path, trial: str, args: argparse.Namespace) -> int:
    """Trains for as long as is asked, or goes on; returns the number of steps."""
    words = [*args.train, *shlex.split(trial), "--dev", *args.dev]
    limit = ["--output", str(folder), "--max-minutes", str(args.minutes)]
    code = subprocess.run([sys.executable, str(TRAIN), *words, *limit], check=False).returncode
    records = read_metrics(folder)
    if code or not records or records[-1]["seconds"] < 60 * args.minutes:
        raise UserError(
            f"expected {trial!r} to train for {args.minutes:g} minutes, it stopped before (code "
            f"{code}). See what it says above; the same command goes on"
        )
    return int(records[-1]["step"])


def tried(trial: str, args: argparse.Namespace) -> Result:
    """Trains and scores one trial, and notes what came of it in its folder."""
    folder = folder_of(args.output, trial)
    steps = train(folder, trial, args)
    request = systems.Request(
        model=str(folder / BEST),
        tests=tuple(args.dev),
        output=str(folder / "evaluation"),
        decode=DecodeConfig(scores=False),
    )
    report, _ = systems.run(request)
    speeds = [(one.sentences, one.speed.seconds) for one in report.sets if one.speed]
    lines, seconds = map(sum, zip(*speeds, strict=True))
    result = Result(
        trial=trial,
        minutes=args.minutes,
        parameters=sum(p.numel() for p in checkpoint.load(folder / BEST).model.parameters()),
        steps=steps,
        loss=round(min(one["loss"] for one in read_metrics(folder) if one["event"] != "train"), 3),
        bleu={one.name: round(one.scores[0].value, 2) for one in report.sets},
        sentences_per_second=round(lines / seconds, 1),
    )
    checkpoint.write_text(folder / RESULT, json.dumps(dataclasses.asdict(result), indent=1) + "\n")
    return result


def results(output: Path) -> list[Result]:
    """Every trial that is done, the best mean BLEU first."""
    found = [Result(**json.loads(path.read_text())) for path in output.glob(f"*/{RESULT}")]
    return sorted(found, key=lambda one: -sum(one.bleu.values()))


def rows(found: Sequence[Result]) -> str:
    """The table: a line for each trial."""
    sets = list(found[0].bleu)
    heads = ["trial", "parameters", "minutes", "steps", "loss", *sets, "sentences/s"]
    lines = [
        [f"`{one.trial}`" if one.trial else "as it is", f"{one.parameters:,}", f"{one.minutes:g}",
         f"{one.steps:,}", f"{one.loss:.3f}",
         *(f"{one.bleu[name]:.1f}" if name in one.bleu else "-" for name in sets),
         f"{one.sentences_per_second:.0f}"]
        for one in found
    ]  # fmt: skip
    return markdown(heads, lines)


def run(args: argparse.Namespace) -> None:
    """Makes the trials that are not done, one after the other, and prints all that are."""
    for trial in args.trial:
        if not (folder_of(args.output, trial) / RESULT).is_file():
            tried(trial, args)
    print(f"{described(environment())}\n\n{rows(results(args.output))}")


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = flags.add_argument
    add("--minutes", type=float, required=True, help="of training, for each trial")
    add("--output", type=Path, required=True, help="folder of all trials")
    add("--dev", nargs="+", required=True, metavar="SOURCE", help="what is scored")
    add("--trial", action="append", required=True, metavar="FLAGS",
        help='flags of train.py, written --trial="--norm post"; --trial= for none')  # fmt: skip
    add("train", nargs="*", metavar="-- FLAGS", help="flags of train.py, for every trial")
    args = flags.parse_args(argv)
    return cli.guarded(lambda: run(args), "trials")


if __name__ == "__main__":
    sys.exit(main())
