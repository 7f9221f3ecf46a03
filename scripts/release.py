"""Makes a compact copy of a checkpoint: small weights, no training state, a self-test.

    python scripts/release.py checkpoints/run/best checkpoints/es-en
    python scripts/release.py --storage int8 checkpoints/run/best checkpoints/es-en

Of several checkpoints it is the mean of their weights (Wortsman et al. 2022: runs from one start),
in the shape of the last one: a smaller one grows to it first.
"""

import itertools
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path

from torch import Tensor

from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.initialize import initial_weights
from transformer.checkpoint.locate import MODEL_CARD, WEIGHTS
from transformer.command import Parser, run_command
from transformer.config import UserError
from transformer.corpus.readers import read_pairs
from transformer.evaluation import selftest

TEST = Path(__file__).resolve().parent.parent / "data" / "test.tsv"
N_TEST = 500  # lines of it that go into the self-test


def matching_weights(
    sources: Sequence[Path], last: checkpoint.Checkpoint
) -> Iterator[dict[str, Tensor]]:
    """Yield the weights of each source in the shape of the last; UserError for another model."""
    for source in sources:
        before = checkpoint.load(source)
        if before.tokenizer.model != last.tokenizer.model:
            raise UserError(f"expected checkpoints of one vocabulary; {source} has another")
        try:
            yield initial_weights(before, last.tokenizer, last.model.config)
        except UserError as error:
            raise UserError(f"expected {source} to be no larger than the last: {error}") from error


def release(sources: Sequence[Path], target: Path, storage: checkpoint.Storage = "float16") -> None:
    """Write the mean of the weights in a small form, and a self-test of each direction.

    Configuration, tokeniser and card are those of the last source.
    """
    opened = checkpoint.load(sources[-1])
    weights = checkpoint.average_weights(matching_weights(sources, opened))
    same = opened.model.config, opened.tokenizer, opened.directions
    card = (opened.folder / MODEL_CARD).read_text(encoding="utf-8")
    checkpoint.save(target, checkpoint.compress(weights, storage), *same, card)
    pairs = {
        langs: list(itertools.islice(read_pairs(str(TEST), *langs), N_TEST))
        for langs in opened.directions
    }
    selftest.write(target, pairs, f"the first {N_TEST} pairs of data/{TEST.name}")
    made = f"the mean of {len(sources)} checkpoints" if len(sources) > 1 else "a copy"
    print(f"{target}: {made}, {(target / WEIGHTS).stat().st_size / 1e6:.1f} MB of weights")


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = Parser(description=__doc__)
    parser.add_argument("sources", nargs="+", type=Path, help="checkpoints, or folders of runs")
    parser.add_argument("target", type=Path, help="the folder to write")
    parser.add_argument("--storage", choices=typing.get_args(checkpoint.Storage),
                        default="float16", help="of the weights; int8: matrices with a scale a "
                        "row, half the size (default: float16)")  # fmt: skip
    args = parser.parse_args(argv)
    return run_command(lambda: release(args.sources, args.target, args.storage), "release")


if __name__ == "__main__":
    raise SystemExit(main())
