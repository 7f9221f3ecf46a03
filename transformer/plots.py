"""Pictures as SVG text, for a page: training curves, bars, histograms, heat maps.

matplotlib is imported when a picture is asked for.
"""

import html
import io
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from transformer.config import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#010203"  # drawn with, then replaced by the text colour of the page, light or dark
COLOURS = ("#3a86c8", "#d9772b", "#5a9e4b", "#a05fb4")  # readable on white and on black
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "transformer",  # the same numbers give the same bytes
    "svg.fonttype": "none", "text.parse_math": False, "axes.titlesize": "medium", "font.size": 10.0,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color",
                     "ytick.color"), INK),
}  # fmt: skip
NO_METADATA: Mapping[str, None] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
# of each panel of the curves: title, then (event, key, label) of its lines
PANELS = (
    ("loss", (("train", "loss", "training"), ("validation", "loss", "validation"))),
    ("validation BLEU", (("validation", "bleu", ""),)),
    ("learning rate", (("train", "lr", ""),)),
    ("tokens per second", (("train", "tokens_per_second", ""),)),
)


def curves(metrics: Sequence[Mapping[str, Any]]) -> str:
    """Return an SVG of the metrics of a run by step: loss, BLEU, learning rate, speed.

    The records are the lines of `metrics.jsonl`. Of a step that was logged again after
    resuming the later record counts. Panels without numbers are left out; ValueError if none is
    left. UserError without matplotlib.
    """
    panels = [
        (title, lines)
        for title, wanted in PANELS
        if (lines := [line for which in wanted if (line := _series(metrics, *which))[0]])
    ]
    if not panels:
        raise ValueError(f"expected training or validation records, got {len(metrics)} others")
    rows, columns = (len(panels) + 1) // 2, min(len(panels), 2)

    def paint(figure: "Figure") -> None:
        for place, (title, lines) in enumerate(panels, start=1):
            axes = figure.add_subplot(rows, columns, place)
            for (steps, values, label), colour in zip(lines, COLOURS, strict=False):
                marker = "." if len(steps) < 30 else ""
                axes.plot(steps, values, color=colour, label=label, marker=marker)
            axes.set_title(title)
            axes.set_xlabel("step")
            if len(lines) > 1:
                axes.legend()

    return _svg(paint, "Training curves", (4.2 * columns, 2.7 * rows))


def _series(
    metrics: Sequence[Mapping[str, Any]], event: str, key: str, label: str
) -> tuple[list[int], list[float], str]:
    found = {
        record["step"]: record[key]
        for record in metrics
        if record.get("event") == event and isinstance(record.get(key), float)
    }
    steps = sorted(found)
    return steps, [found[step] for step in steps], label


def bars(
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    intervals: Mapping[str, Sequence[tuple[Any, Any]]] | None = None,
    title: str = "",
    x_label: str = "",
) -> str:
    """Return an SVG with a group of bars for each label, one bar of it for each series.

    By name, `series` has a value for each label, and `intervals` the (low, high) values where the
    error bars of some series end; (None, None) draws none. UserError without matplotlib.
    """
    width = 0.8 / len(series)

    def paint(figure: "Figure") -> None:
        axes = figure.add_subplot()
        for i, (name, values) in enumerate(series.items()):
            places = [x + (i - (len(series) - 1) / 2) * width for x in range(len(labels))]
            axes.bar(places, values, width * 0.92, color=COLOURS[i % len(COLOURS)], label=name)
            for x, ends in zip(places, (intervals or {}).get(name, ()), strict=False):
                axes.plot([x, x], ends, color=INK, linewidth=1.2)
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlabel(x_label)
        if len(series) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return _svg(paint, title, (6.4, 2.8))


def histogram(
    edges: Sequence[float], counts: Sequence[int], title: str = "", x_label: str = ""
) -> str:
    """Return an SVG of counts, as bars between neighbouring edges; UserError without matplotlib."""
    widths = [0.92 * (right - left) for left, right in itertools.pairwise(edges)]

    def paint(figure: "Figure") -> None:
        axes = figure.add_subplot()
        axes.bar(edges[:-1], counts, widths, align="edge", color=COLOURS[0])
        axes.set_xlabel(x_label)

    return _svg(paint, title, (6.4, 2.4))


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    title: str = "",
    kind: Literal["svg", "png"] = "svg",
) -> bytes:
    """Draw a table of numbers in 0 ... 1, larger ones darker, with the names of columns on top.

    Returns the content of a file: SVG, or with `kind` "png" PNG. UserError without matplotlib.
    """

    def paint(figure: "Figure") -> None:
        axes = figure.add_subplot()
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                if value >= 0.005:
                    axes.bar(j, 0.94, 0.94, i - 0.47, color=COLOURS[0], alpha=min(value, 1.0))
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_aspect("equal")
        axes.set_xticks(range(len(columns)), columns, rotation=90)
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)

    size = 1.6 + 0.3 * len(columns), 1.9 + 0.3 * len(rows)
    if kind == "png":
        return _render(paint, title, size, "png")
    return _svg(paint, title, size).encode()


def _svg(paint: Callable[["Figure"], None], title: str, size: tuple[float, float]) -> str:
    """Return an <svg> of what `paint` draws on `size` inches below `title`, also its ARIA label."""
    svg = _render(paint, title, size, "svg").decode()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")  # without XML head and DTD
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # names that would recur in the next picture
    label = html.escape(title, quote=True)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def _render(
    paint: Callable[["Figure"], None], title: str, size: tuple[float, float], kind: str
) -> bytes:
    """Draw, as `_svg` does, to a file: transparent "svg" or "png"; UserError without matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError(
            "plots need matplotlib, and it is not installed: install the extra `plots`"
        ) from error
    out = io.BytesIO()
    svg = kind == "svg"
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        figure.suptitle(title, fontsize=11)
        paint(figure)
        metadata = NO_METADATA if svg else {"Software": None}
        figure.savefig(out, format=kind, transparent=svg, metadata=metadata, dpi=160)
    return out.getvalue()
