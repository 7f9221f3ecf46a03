"""What training loops did, told: tables, loss curves side by side, values for a file."""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from alternation import median_ratio
from bench_tables import markdown
from rivals import family
from trainers import OURS
from training_teams import Taken

SPAN = 25  # steps of which a row of the loss curves is the mean
HEADS = ("loop", "setting", "tokens/s", "min-max", "processor", "ms/step", "MiB", "last loss")
RATIOS = {"times as fast as": "speed", "by processor time": "processor_speed"}
DIFFERENCES = """\
Tokens are target tokens without padding. All have the same batches, first weights, learning \
rates, clipping and allocator (freed memory is kept), and dropout in the same places, but other \
random numbers. This project's step moves the average of the weights too, which the others have \
not; they have AdamW without decay, fused, and in bfloat16 autocast. JoeyNMT spreads the \
smoothing over two pieces fewer, and its norms have an epsilon of 1e-6, not 1e-5."""
POST_NORM = """\
Marian can only normalise after each sublayer: it has the same first projections, but no norm at \
the ends of its stacks, so its first losses differ. With --norm post it computes the same."""


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What one loop did: a block of steps for each round."""

    name: str
    way: str
    blocks: tuple[Taken, ...]

    def speeds(self, of: str = "speed") -> list[float]:
        """Tokens a second of each round, or of processor time (`processor_speed`)."""
        return [getattr(block, of) for block in self.blocks]

    def losses(self) -> list[float]:
        """Nats a target token, smoothed, of each step."""
        return [loss for block in self.blocks for loss in block.losses]


def _ours_and_others(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    ours = [result for result in results if family(result.name) == OURS]
    return ours, [result for result in results if result not in ours]


def all_ratios(results: Sequence[Result], of: str) -> dict[str, dict[str, float]]:
    """How many times as fast each of ours is as each rival."""
    ours, others = _ours_and_others(results)
    return {
        own.name: {other.name: median_ratio(own.speeds(of), other.speeds(of)) for other in others}
        for own in ours
    }


def _row(result: Result) -> list[str]:
    speeds, blocks = result.speeds(), result.blocks
    return [
        result.name,
        result.way,
        f"{statistics.median(speeds):,.0f}",
        f"{min(speeds):,.0f}-{max(speeds):,.0f}",
        f"{statistics.median(result.speeds('processor_speed')):,.0f}",
        f"{statistics.median(block.ms for block in blocks):,.0f}",
        f"{max(block.peak_mib for block in blocks):,.0f}",
        f"{result.losses()[-1]:.3f}",
    ]


def tables(results: Sequence[Result]) -> list[str]:
    """What each loop did, and how many times as fast ours are."""
    if not results:
        return ["Nothing could be measured."]
    found = [markdown(HEADS, map(_row, results))]
    ours, others = _ours_and_others(results)
    if ours and others:
        for head, of in RATIOS.items():
            rows = [
                [name, *(f"{one:.2f}" for one in ratios.values())]
                for name, ratios in all_ratios(results, of).items()
            ]
            found.append(markdown([head, *(other.name for other in others)], rows))
    return found


def curves(results: Sequence[Result]) -> list[str]:
    """The losses side by side, each the mean of a span of steps."""
    length = max((len(result.losses()) for result in results), default=0)
    rows = [
        [
            f"{at + 1}-{min(at + SPAN, length)}",
            *(f"{statistics.mean(one.losses()[at : at + SPAN]):.3f}" for one in results),
        ]
        for at in range(0, length, SPAN)
    ]
    return [
        "Loss in nats a target token, smoothed, while training:",
        markdown(["steps", *(result.name for result in results)], rows),
    ]


def values(result: Result) -> dict[str, Any]:
    """A loop for the JSON file."""
    return {
        "name": result.name,
        "attention": result.way,
        "tokens_per_second": result.speeds(),
        "tokens_per_processor_second": result.speeds("processor_speed"),
        "ms_per_step": [block.ms for block in result.blocks],
        "peak_mib": max(block.peak_mib for block in result.blocks),
        "losses": result.losses(),
    }
