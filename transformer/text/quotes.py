"""Quotation and dialogue: where its marks are, and whether those of a translation are in order.

“So,” and «so» and 'so' are quoted, as is —so —of a dialogue in Spanish.
"""

import re
from dataclasses import dataclass

_MARK = re.compile(
    r"(?P<open>[«“„]|(?<![\w'’])['‘](?=[^\W_]|[¿¡(…]))"
    r"|(?P<close>[»”]|(?<=[\w.,;!?…)])['’](?![\w'’]))|(?P<either>\")"
)
_CLOSING_MARKS = {"«": "»", "“": "”", "„": "“”", "'": "'’", "‘": "’'", '"': '"'}
_STYLES = {"es": (("«", "»"), ("“", "”")), "en": (('"', '"'), ("'", "'"))}  # by depth
_STRAY_DASH = re.compile(r"\w—\w|—\W*$|^—\s")  # dashes that no dialogue has


@dataclass(frozen=True, slots=True)
class Quote:
    """text[start] opens what text[end] closes; `depth` others are around it."""

    start: int
    end: int
    depth: int


def find_quotes(text: str) -> tuple[list[Quote], str]:
    """The quotations of a text, in the order of their ends, and the marks without a partner."""
    quotes, opened, alone = list[Quote](), list[int](), ""
    for match in _MARK.finditer(text):
        mark, at = match.group(), match.start()
        last = text[opened[-1]] if opened else " "
        if mark == '"' and last != '"' and text[at - 1 : at].isdigit():
            continue  # inches
        if match["open"] or (match["either"] and last != '"'):
            opened.append(at)
        elif mark in _CLOSING_MARKS.get(last, ""):
            quotes.append(Quote(opened.pop(), at, len(opened)))
        elif mark not in "'’":  # of an apostrophe
            alone += mark
    return quotes, alone + "".join(text[at] for at in opened if text[at] not in "'‘")


def has_mismatched_quotes(source: str, output: str) -> bool:
    """Whether the marks of a translation are no pairs of one kind, though those of its source are.

    A dialogue may be written in either way.
    """
    wanted, alone = find_quotes(source)
    if alone or not (wanted or source.startswith("—")):
        return False
    there, alone = find_quotes(output)
    kinds = {(output[quote.start], quote.depth) for quote in there}
    most = len({(source[quote.start], quote.depth) for quote in wanted}) + source.startswith("—")
    if alone or len(kinds) > most:
        return True
    if not wanted or not output.startswith("—"):
        return False
    dashes = output.count("—")
    fewest, most = _dash_range(source, [quote for quote in wanted if not quote.depth])
    return not fewest <= dashes <= most or _STRAY_DASH.search(output) is not None


def _dash_range(source: str, quotes: list[Quote]) -> tuple[int, int]:
    """How many dashes a dialogue has at least and at most: one at each start, one before words.

    —So —said Ann—, and so. What begins with a capital may be a sentence of its own.
    """
    fewest = most = len(quotes)
    starts = [quote.start for quote in quotes[1:]] + [len(source)]
    for quote, start in zip(quotes, starts, strict=True):
        words = re.search(r"[^\W_]", source[quote.end + 1 : start])
        most += words is not None
        fewest += words is not None and words.group().islower()
    return fewest, most


def quote_marks(quote: Quote, lang: str) -> tuple[str, str]:
    """The two marks that a language writes around a quotation."""
    return _STYLES[lang][min(quote.depth, 1)]


def localize_quotes(source: str, output: str, lang: str) -> str:
    """A translation with the marks of its language, if what it quotes is plain.

    In Spanish what English quotes has guillemets, also where a model writes a dialogue, or "these".
    """
    wanted, alone = find_quotes(source)
    if alone or not wanted or lang not in _STYLES:
        return output
    if output.startswith("—"):
        output = _dialogue_to_guillemets(source, [q for q in wanted if not q.depth], output)
    quotes, alone = find_quotes(output)
    if alone or (lang == "es" and {output[quote.start] for quote in quotes} in ({'"'}, {"“"})):
        return output  # Spanish has these, too
    for quote in quotes:
        first, last = quote_marks(quote, lang)
        output = output[: quote.start] + first + output[quote.start + 1 :]
        output = output[: quote.end] + last + output[quote.end + 1 :]
    return re.sub(r",([»”])(?=\s)", r"\1,", output) if lang == "es" else output


def _dialogue_to_guillemets(source: str, quotes: list[Quote], output: str) -> str:
    """A Spanish dialogue in guillemets, if it has as many parts as what it translates."""
    said, end = list[tuple[str, bool]](), 0
    for quote in quotes:
        said += [(source[end : quote.start], False), (source[quote.start : quote.end + 1], True)]
        end = quote.end + 1
    said = [part for part in [*said, (source[end:], False)] if re.search(r"\w", part[0])]
    parts = output.split("—")[1:]
    if len(parts) != len(said) or not all(re.search(r"\w", part) for part in parts):
        return output
    text = ""
    for i, (part, (like, is_quoted)) in enumerate(zip(parts, said, strict=True)):
        if not is_quoted:
            stop = like.rstrip()[-1:] if i < len(parts) - 1 else ""
            text += part.strip(" ,;:.") + (stop if stop in ",;:." else "") + " "
            text = text if i < len(parts) - 1 else text.rstrip() + part[len(part.rstrip(" .")) :]
            continue
        words = part.strip(" ,;:")
        final = "." if i == len(parts) - 1 and words.endswith(".") else ""
        follows = i < len(parts) - 1 and not said[i + 1][1]
        words = words.strip(".") if not words.endswith("..") else words
        text += f"«{words}»" + (", " if follows else final or " ")
    return text.strip()
