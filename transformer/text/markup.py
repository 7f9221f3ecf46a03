"""Where the marked parts of a sentence (bold words, links) are in its translation.

By the attention of the words: each mark takes the stretch of target words that look at its words
more than at others. Every mark is kept, once, and every character of the translation.
"""

from collections.abc import Sequence

Span = tuple[int, int]
MarkedText = list[tuple[str, int | None]]  # pieces of a text, each with its mark's number or none


def split_at_marks(text: str, marks: Sequence[Span]) -> MarkedText:
    """A text in pieces, at the edges of its marks."""
    pieces: MarkedText = []
    end = 0
    for mark, (start, stop) in enumerate(marks):
        pieces += [(text[end:start], None), (text[start:stop], mark)]
        end = stop
    pieces.append((text[end:], None))
    return [(piece, mark) for piece, mark in pieces if piece]


def locate_words(text: str, words: Sequence[str]) -> list[Span]:
    """Where the words stand in a text, in order; ValueError where one does not."""
    spans, end = [], 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        spans.append((start, end))
    return spans


def project_markup(
    sentences: tuple[str, str],
    marks: Sequence[Span],
    words: tuple[Sequence[str], Sequence[str]],
    weights: Sequence[Sequence[float]],
) -> MarkedText:
    """The translation in pieces: (source, target), spans of the source, their words, (T, S).

    ValueError where the words are not those of the sentences.
    """
    source, target = sentences
    at_source, at_target = (locate_words(*side) for side in zip(sentences, words, strict=True))
    columns = [[i for i, (c, d) in enumerate(at_source) if a < d and c < b] for a, b in marks]
    shares = [_shares(row, columns) for row in weights]  # (T, marks + 1), the last: in no mark
    highest = [sorted(row)[-2:] for row in shares]
    free = [True] * len(shares)
    windows: dict[int, Span] = {}
    order = sorted(  # a mark of few words must find its word before a long one covers it
        range(len(marks)),
        key=lambda m: (len(columns[m]), -max((row[m] for row in shares), default=0)),
    )
    for mark in order:
        own = [row[mark] for row in shares]
        gains = [
            share - (top[0] if share == top[1] else top[1])
            for share, top in zip(own, highest, strict=True)
        ]
        first, last = _window(own, gains, free)
        inner = source[slice(*marks[mark])]
        while last - first > 1 and not _same_edge(words[1][last - 1], inner[-1]):
            last -= 1
        while last - first > 1 and not _same_edge(words[1][first], inner[0]):
            first += 1
        windows[mark] = first, last
        free[first:last] = [False] * (last - first)
    pieces: MarkedText = []
    end = 0
    for mark, (first, last) in sorted(windows.items(), key=lambda placed: placed[1]):
        start = at_target[first][0] if first < last else end
        stop = at_target[last - 1][1] if first < last else end
        pieces += [(target[end:start], None), (target[start:stop], mark)]
        end = stop
    pieces.append((target[end:], None))
    return [(text, mark) for text, mark in pieces if text or mark is not None]


def _shares(row: Sequence[float], columns: Sequence[Sequence[int]]) -> list[float]:
    total = sum(row) or 1.0
    inside = [sum(row[i] for i in own) / total for own in columns]
    return [*inside, 1 - sum(inside)]


def _same_edge(word: str, edge: str) -> bool:
    """Whether a word may stand at the edge of a mark: a sign only where a sign stood."""
    return any(map(str.isalnum, word)) or not edge.isalnum()


def _window(own: Sequence[float], gains: Sequence[float], free: Sequence[bool]) -> Span:
    """The stretch of free words that looks at a mark most; one word at least, if one is free.

    `own` is what each word gives to the mark, `gains` how much more than to anything else.
    """
    best, window, start, total = 0.0, None, 0, 0.0
    for i, gain in enumerate(gains):
        if not free[i]:
            start, total = i + 1, 0.0
            continue
        total += gain
        if total > best:
            best, window = total, (start, i + 1)
        if total <= 0:
            start, total = i + 1, 0.0
    if window is not None:
        return window
    places = [i for i, is_free in enumerate(free) if is_free]
    if not places:
        return len(free), len(free)
    word = max(places, key=lambda i: own[i])
    return word, word + 1
