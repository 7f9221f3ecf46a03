"""Find where the marked parts of a sentence (bold words, links) are in its translation.

By the attention of the words: each mark takes the stretch of target words that look at its words
more than at others. Every mark is kept, once, and every character of the translation.
"""

from collections.abc import Iterable, Sequence

from transformer.text.spans import Span

MarkedText = list[tuple[str, int | None]]  # pieces of a text, each with its mark's number or none


def split_at_marks(text: str, marks: Sequence[Span]) -> MarkedText:
    """Cut a text at `marks`, spans in order and apart, into (piece, index of its mark or None)."""
    return [(piece, mark) for piece, mark in _cut(text, enumerate(marks)) if piece]


def _cut(text: str, marks: Iterable[tuple[int, Span]]) -> MarkedText:
    pieces: MarkedText = []
    end = 0
    for mark, (start, stop) in marks:
        pieces += [(text[end:start], None), (text[start:stop], mark)]
        end = stop
    return [*pieces, (text[end:], None)]


def locate_words(text: str, words: Sequence[str]) -> list[Span]:
    """Return where the words stand in a text, in order; ValueError where one does not."""
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
    """Return the translation cut into pieces, each with the mark of the source that it belongs to.

    `sentences` and `words` are (source, target), `marks` spans of the source, `weights` (T, S) the
    attention of the words. ValueError where the words are not those of the sentences.
    """
    source, target = sentences
    at_source, at_target = (locate_words(*side) for side in zip(sentences, words, strict=True))
    columns = [[i for i, (c, d) in enumerate(at_source) if a < d and c < b] for a, b in marks]
    shares = [_attention_shares(row, columns) for row in weights]  # (T, marks + 1)
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
        while last - first > 1 and not _fits_edge(words[1][last - 1], inner[-1]):
            last -= 1
        while last - first > 1 and not _fits_edge(words[1][first], inner[0]):
            first += 1
        windows[mark] = first, last
        free[first:last] = [False] * (last - first)
    placed, end = list[tuple[int, Span]](), 0
    for mark, (first, last) in sorted(windows.items(), key=lambda window: window[1]):
        start, end = (at_target[first][0], at_target[last - 1][1]) if first < last else (end, end)
        placed.append((mark, (start, end)))
    return [(text, mark) for text, mark in _cut(target, placed) if text or mark is not None]


def _attention_shares(row: Sequence[float], columns: Sequence[Sequence[int]]) -> list[float]:
    """Return which shares of a word's attention, `row`, go to each mark, and as the last, to none.

    `columns` are the indices of the source words of each mark.
    """
    total = sum(row) or 1.0
    inside = [sum(row[i] for i in own) / total for own in columns]
    return [*inside, 1 - sum(inside)]


def _fits_edge(word: str, source_char: str) -> bool:
    """Return whether `word` may be at a mark's edge: signs alone only if the source has a sign."""
    return any(map(str.isalnum, word)) or not source_char.isalnum()


def _window(own: Sequence[float], gains: Sequence[float], free: Sequence[bool]) -> Span:
    """Return the span of free words with the greatest sum of `gains`, (start, end), end excluded.

    If none gains, it is the free word with most of `own`; without free words it is empty. `own` is
    the attention of each word to the mark, `gains` by how much it exceeds any other.
    """
    best, window, start, total = 0.0, None, 0, 0.0
    for i, gain in enumerate(gains):
        total += gain
        if free[i] and total > best:
            best, window = total, (start, i + 1)
        if not free[i] or total <= 0:
            start, total = i + 1, 0.0
    if window is not None:
        return window
    places = [i for i, is_free in enumerate(free) if is_free]
    word = max(places, key=lambda i: own[i], default=len(free))
    return word, min(word + 1, len(free))
