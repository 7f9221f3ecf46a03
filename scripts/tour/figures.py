"""The pictures of the attention tour as small SVG, in the colours of the page, light or dark."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

COLOURS = ("var(--plus)", "var(--minus)", "var(--third)")
CELL, SMALL = 21, 5  # side of a square in a map with words, and in one among many
LETTER = 7.3  # about the width of one at 12 px

Rows = Sequence[Sequence[float]]


def svg(width: float, height: float, content: str, label: str) -> str:
    """A picture of that size, named for those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}">{content}</svg>'
    )


def text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    """Some words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def line(ends: Sequence[float], colour: str = "var(--line)", more: str = "") -> str:
    """From one place to another."""
    names = ("x1", "y1", "x2", "y2")
    places = " ".join(f'{n}="{v:.1f}"' for n, v in zip(names, ends, strict=True))
    return f'<line {places} stroke="{colour}"{more}/>'


def square(x: float, y: float, side: float, value: float, name: str = "") -> str:
    """A cell: the larger its number (1 at most), the stronger its colour; orange below zero."""
    share = min(abs(value), 1.0)
    if share < 0.005 and not name:
        return ""
    colour = COLOURS[value < 0]
    title = f"<title>{escape(name)}</title>" if name else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{side - 1:.1f}" height="{side - 1:.1f}" '
        f'fill="{colour}" fill-opacity="{share:.2f}">{title}</rect>'
    )


def plane(before: Rows, after: Rows, label: str) -> str:
    """Vectors of two numbers as points (rings), and where attention moves them (discs)."""
    size, scale = 240, 88

    def place(vector: Sequence[float]) -> tuple[float, float]:
        return 0.42 * size + scale * vector[0], 0.55 * size - scale * vector[1]

    (x0, y0), parts = place((0, 0)), []
    parts.append(line((8, y0, size - 8, y0)) + line((x0, 8, x0, size - 8)))
    for number, (old, new) in enumerate(zip(before, after, strict=True), start=1):
        (x, y), (to_x, to_y) = place(old), place(new)
        dashes = ' stroke-dasharray="3 3"'
        parts.append(line((x, y, to_x, to_y), "var(--dim)", dashes))
        parts.append(f'<circle cx="{x}" cy="{y}" r="6" fill="none" stroke="{COLOURS[0]}"/>')
        parts.append(f'<circle cx="{to_x:.1f}" cy="{to_y:.1f}" r="4.5" fill="{COLOURS[1]}"/>')
        parts.append(text(x + 9, y - 7, f"x{'₁₂₃'[number - 1]}"))
    return svg(size, size, "".join(parts), label)


def readable(piece: str) -> str:
    """A piece of the vocabulary for a reader: what goes on with a word begins with a dash."""
    if piece.startswith("▁"):
        return piece.removeprefix("▁") or "▁"
    return f"–{piece}" if piece.isalnum() else piece


def heat(rows: Sequence[str], columns: Sequence[str], weights: Any, label: str) -> str:
    """A map with pieces: each row looks at the columns."""
    rows, columns = ([readable(piece) for piece in pieces] for pieces in (rows, columns))
    left = max(len(word) for word in rows) * LETTER + 10
    top = max(len(word) for word in columns) * LETTER + 8
    parts = []
    for j, word in enumerate(columns):
        x = left + j * CELL + 14
        parts.append(text(x, top - 5, word, more=f' transform="rotate(-90 {x:.1f} {top - 5:.1f})"'))
    for i, word in enumerate(rows):
        y = top + i * CELL
        parts.append(text(left - 6, y + 15, word, "end"))
        for j, other in enumerate(columns):
            value = float(weights[i][j])
            name = f"{word} → {other}: {value:.2f}"
            parts.append(square(left + j * CELL, y, CELL, value, name if value >= 0.01 else ""))
    width, height = left + len(columns) * CELL, top + len(rows) * CELL
    frame = f'<rect x="{left - 1:.1f}" y="{top - 1:.1f}" width="{width - left + 1:.1f}" ' + (
        f'height="{height - top + 1:.1f}" fill="none" stroke="var(--line)"/>'
    )
    picture = svg(width + 2, height + 2, frame + "".join(parts), label)
    return f'<div class="wide">{picture}</div>'


def heads(maps: Any, label: str, marked: tuple[int, int] | None = None, side: int = SMALL) -> str:
    """Every layer (a row) and head (a column) of a kind of attention: (L, H, Q, K)."""
    n_layers, n_heads, height, width = (int(n) for n in maps.shape)
    parts = []
    for layer in range(n_layers):
        for head in range(n_heads):
            left, top = 1 + head * (width * side + 8), 1 + layer * (height * side + 8)
            chosen = (layer, head) == marked
            colour = "var(--mark)" if chosen else "var(--line)"
            parts.append(
                f'<rect x="{left - 1}" y="{top - 1}" width="{width * side + 1}" '
                f'height="{height * side + 1}" fill="none" stroke="{colour}" '
                f'stroke-width="{2 if chosen else 1}"/>'
            )
            for i, row in enumerate(maps[layer, head].tolist()):
                for j, value in enumerate(row):
                    parts.append(square(left + j * side, top + i * side, side, value))
    size = n_heads * (width * side + 8), n_layers * (height * side + 8)
    return svg(*size, "".join(parts), label)


def curves(series: Mapping[str, Sequence[tuple[float, float]]], x_label: str, y_label: str) -> str:
    """Lines through points, both axes from zero."""
    width, height, left, bottom = 460, 260, 42, 40
    most = [max(point[axis] for points in series.values() for point in points) for axis in (0, 1)]
    ends = [_round_up(value) for value in most]

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + x / ends[0] * (width - left - 12),
            height - bottom - y / ends[1] * (height - bottom - 26),
        )

    parts = [text(4, 14, y_label), text(width - 12, height - 4, x_label, "end")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        (x, y), (zero_x, zero_y) = place(share * ends[0], share * ends[1]), place(0, 0)
        parts.append(line((zero_x, y, width - 12, y)))
        parts.append(text(zero_x - 6, y + 4, f"{share * ends[1]:g}", "end", ' class="dim"'))
        parts.append(text(x, zero_y + 16, f"{share * ends[0]:g}", "middle", ' class="dim"'))
    for number, (name, points) in enumerate(series.items()):
        colour, places = COLOURS[number], [place(*point) for point in points]
        for (x1, y1), (x2, y2) in pairwise(places):
            parts.append(line((x1, y1, x2, y2), colour, ' stroke-width="2.2"'))
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(f'<rect x="{left + 90 + 130 * number}" y="4" width="12" height="12" '
                     f'rx="2" fill="{colour}"/>')  # fmt: skip
        parts.append(text(left + 107 + 130 * number, 14, name))
    return svg(width, height, "".join(parts), y_label)


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 6, 8, 10 at its power of ten."""
    power = 10.0 ** (len(f"{value:.0f}") - 1) if value >= 1 else 10.0**-3
    while value > 10 * power:
        power *= 10
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= value)


def digits(images: Rows, weights: Rows, names: Sequence[str], label: str) -> str:
    """Images of 8 x 8 above the weights of their 4 x 4 patches."""
    side, gap = 9, 20
    parts = []
    strongest = max(max(row) for row in weights)
    for number, (image, weight) in enumerate(zip(images, weights, strict=True)):
        left = 1 + number * (8 * side + gap)
        for i, value in enumerate(image):
            x, y = left + i % 8 * side, 1 + i // 8 * side
            parts.append(
                f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="currentColor" '
                f'fill-opacity="{value:.2f}"/>'
            )
        for cut in range(0, 9, 2):
            at, end = cut * side, 8 * side
            parts.append(line((left + at, 1, left + at, 1 + end), "var(--minus)"))
            parts.append(line((left, 1 + at, left + end, 1 + at), "var(--minus)"))
        parts.append(text(left + 4 * side, 8 * side + 18, names[number], "middle"))
        for i, value in enumerate(weight):
            x, y = left + i % 4 * 2 * side, 8 * side + 26 + i // 4 * 2 * side
            parts.append(square(x, y, 2 * side, value / strongest, f"{value:.3f}"))
    width = len(images) * (8 * side + gap) - gap + 2
    return svg(width, 16 * side + 28, "".join(parts), label)


def stack(n_encoder: int, n_decoder: int, names: Mapping[str, str], label: str) -> str:
    """The two stacks of layers, and where the decoder looks at the encoder."""
    parts = list(_column(10, n_encoder, ("self", "feed"), names))
    parts += _column(250, n_decoder, ("self", "cross", "feed"), names)
    arrow = 'fill="none" stroke="var(--minus)" stroke-width="2" marker-end="url(#tip)"'
    parts.append(
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="var(--minus)"/></marker>'
        f'</defs><path d="M201 106C236 106 218 164 248 164" {arrow}/>'
    )
    return svg(450, 300, "".join(parts), label)


def _column(left: int, n: int, sublayers: Sequence[str], names: Mapping[str, str]) -> Iterator[str]:
    height, bottom, encoder = 48, 240, len(sublayers) == 2
    top = bottom - len(sublayers) * height - 8
    title = names["encoder" if encoder else "decoder"]
    yield text(left + 95, top - 58, title, "middle", ' font-weight="600"')
    yield _box(left, top - 46, 32, names["memory" if encoder else "softmax"])
    yield (f'<rect x="{left - 6}" y="{top}" width="202" height="{bottom - top}" rx="8" '
           f'fill="none" stroke="var(--dim)" stroke-dasharray="4 3"/>')  # fmt: skip
    for place, name in enumerate(sublayers, start=1):
        yield _box(left, bottom - place * height, 40, names[name], name)
    yield text(left + 196, top - 3, f"× {n}", "end")
    yield _box(left, bottom + 14, 32, names["source" if encoder else "target"])


def _box(left: float, top: float, height: float, words: str, kind: str = "") -> str:
    colour = {"self": "var(--plus)", "cross": "var(--minus)", "feed": "var(--third)"}.get(kind)
    fill = f'fill="{colour}" fill-opacity="0.22"' if colour else 'fill="var(--soft)"'
    return (
        f'<rect x="{left}" y="{top}" width="190" height="{height}" rx="6" {fill} '
        f'stroke="{colour or "var(--line)"}"/>'
        + text(left + 95, top + height / 2 + 4, words, "middle")
    )


def path(n: int, names: tuple[str, str], label: str) -> str:
    """From the first word to the last: one hop after the other, and in one."""
    gap, parts = 38, []
    for row, name in enumerate(names):
        y = 62 + row * 92
        parts.append(text(4, y - 38, name))
        for i in range(n):
            x = 20 + i * gap
            parts.append(f'<circle cx="{x}" cy="{y}" r="8" fill="var(--soft)" stroke="'
                         f'{COLOURS[0]}"/>')  # fmt: skip
            if row == 0 and i:
                parts.append(line((x - gap + 9, y, x - 9, y), COLOURS[1], ' stroke-width="2"'))
        if row:
            end = 20 + (n - 1) * gap
            parts.append(f'<path d="M20 {y - 9}Q{(20 + end) / 2} {y - 48} {end} {y - 9}" '
                         f'fill="none" stroke="{COLOURS[1]}" stroke-width="2"/>')  # fmt: skip
    return svg(40 + (n - 1) * gap, 170, "".join(parts), label)
