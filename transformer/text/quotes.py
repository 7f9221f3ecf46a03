"""Quotation and dialogue: find the marks, check those of a translation, write them as usual.

“So,” and «so» and 'so' are quoted, as is —so —of a dialogue in Spanish.
"""

import re
from dataclasses import dataclass

_MARK = re.compile(
    r"(?P<open>[«“„]|(?<![\w'’])['‘](?!(?i:n['’]|(?:tis|twas|em|cause|til)\b)|\d0s)"
    r"(?=[^\W_]|[¿¡(…]))"
    r"|(?P<close>[»”]|(?<=[\w.,;!?…)])['’](?![\w'’]))|(?P<either>\")"
)
_MARKS = frozenset("«“„»”'’‘\"")
_CLOSING_MARKS = {"«": "»", "“": "”", "„": "“”", "'": "'’", "‘": "’'", '"': '"'}
_STYLES = {"es": (("«", "»"), ("“", "”")), "en": (('"', '"'), ("'", "'"))}  # by depth
_TYPED_STYLES = {'"': _STYLES["en"], "“": (("“", "”"), ("‘", "’"))}  # of both languages
_CURVED = frozenset("«»“”„")
_STRAIGHTENED = str.maketrans(dict.fromkeys(_CURVED, '"'))
_STRAY_DASH = re.compile(r"\w—\w|—\W*$|^—\s")  # dashes that no dialogue has
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Quote:
    """text[start] opens what text[end] closes; `depth` other quotations are around it."""

    start: int
    end: int
    depth: int


def find_quotes(text: str) -> tuple[list[Quote], str]:
    """Return the quotations of a text, in the order of their ends, and the unpaired marks."""
    quotes, opened, unpaired = list[Quote](), list[int](), ""
    if _MARKS.isdisjoint(text):  # as most are, and this is faster
        return quotes, unpaired
    for match in _MARK.finditer(text):
        mark, at = match[0], match.start()
        last = text[opened[-1]] if opened else " "
        if mark == '"' and last != '"' and text[at - 1 : at].isdigit():
            continue  # inches
        if match["open"] or (match["either"] and last != '"'):
            opened.append(at)
        elif mark in _CLOSING_MARKS.get(last, ""):
            quotes.append(Quote(opened.pop(), at, len(opened)))
        elif mark not in "'’":  # of an apostrophe
            unpaired += mark
    return quotes, unpaired + "".join(text[at] for at in opened if text[at] not in "'‘")


def has_mismatched_quotes(source: str, output: str) -> bool:
    """Return whether a translation has unpaired quotation marks, or more kinds than its source.

    A kind is a mark at a depth; a source with unpaired marks allows all. A quotation may also be
    written as a dialogue, if its dashes are as many as the source allows.
    """
    is_dialogue = source.startswith("—")
    wanted, unpaired = find_quotes(source)
    if unpaired:
        return False
    if not (wanted or is_dialogue):
        return '"' in output and bool(find_quotes(output)[1])
    quotes, unpaired = find_quotes(output)
    kinds, allowed = (
        {(text[quote.start], quote.depth) for quote in found}
        for text, found in ((output, quotes), (source, wanted))
    )
    if unpaired or len(kinds) > len(allowed) + is_dialogue:
        return True
    if not wanted or not output.startswith("—"):
        return False
    fewest, most = _dash_range(source, [quote for quote in wanted if not quote.depth])
    return not fewest <= output.count("—") <= most or _STRAY_DASH.search(output) is not None


def _dash_range(source: str, quotes: list[Quote]) -> tuple[int, int]:
    """Return the fewest and the most dashes that a Spanish dialogue of the source's quotes has.

    —So —said Ann—, and so. Words that begin with a capital may be a sentence of their own.
    """
    fewest = most = len(quotes)
    starts = [quote.start for quote in quotes[1:]] + [len(source)]
    for quote, start in zip(quotes, starts, strict=True):
        if words := _WORD.search(source, quote.end + 1, start):
            most += 1
            fewest += words[0].islower()
    return fewest, most


def quote_marks(quote: Quote, lang: str, typed: str = "") -> tuple[str, str]:
    """Return the two marks around a quotation: of the kind of `typed`, " or “, else of `lang`."""
    return _TYPED_STYLES.get(typed, _STYLES[lang])[min(quote.depth, 1)]


def localize_quotes(source: str, output: str, lang: str) -> str:
    """Write `output` with the double marks of its source, "these" or “these”, if it has some.

    Otherwise with those of `lang`: English gets "these" and, inside, 'these'; Spanish gets
    guillemets. A dialogue with dashes becomes quotations. Where it is not clear what is quoted,
    nothing changes, but that a source with straight marks alone gets no others.
    """
    wanted, unpaired = find_quotes(source)
    if lang not in _STYLES or not (wanted or unpaired):
        return output
    is_straight = '"' in source and _CURVED.isdisjoint(source)
    if not unpaired:
        if lang == "es" and output[-1:] in "'’" and source[-1:] not in "'’":
            output = output.removesuffix(output[-1:])  # Spanish has no apostrophe
        if output.startswith("—"):
            output = _dialogue_to_guillemets(source, [q for q in wanted if not q.depth], output)
        quotes, unpaired = find_quotes(output)
    if unpaired:
        return output.translate(_STRAIGHTENED) if is_straight else output
    outermost = source[min(quote.start for quote in wanted)]
    written = list(output)
    for quote in quotes:
        written[quote.start], written[quote.end] = quote_marks(quote, lang, outermost)
    output = "".join(written)
    return re.sub(r",([»”\"])(?=\s)", r"\1,", output) if lang == "es" else output


def _dialogue_to_guillemets(source: str, quotes: list[Quote], output: str) -> str:
    """Return a dialogue, `output`, in guillemets; unchanged if `quotes` do not match its parts."""
    parts, end = list[tuple[str, bool]](), 0  # of the source, and whether each is quoted
    for quote in quotes:
        parts += [(source[end : quote.start], False), (source[quote.start : quote.end + 1], True)]
        end = quote.end + 1
    parts = [part for part in [*parts, (source[end:], False)] if re.search(r"\w", part[0])]
    outputs = output.split("—")[1:]
    if len(outputs) != len(parts) or not all(re.search(r"\w", part) for part in outputs):
        return output
    text, last = "", len(parts) - 1
    for i, (part, (model, is_quoted)) in enumerate(zip(outputs, parts, strict=True)):
        if is_quoted:
            words = part.strip(" ,;:")
            final = "." if i == last and words.endswith(".") else " "
            words = words if words.endswith("..") else words.strip(".")
            text += f"«{words}»" + (", " if i < last and not parts[i + 1][1] else final)
        elif i < last:
            stop = model.rstrip()[-1:]
            text += part.strip(" ,;:.") + (stop if stop in ",;:." else "") + " "
        else:
            text = (text + part.strip(" ,;:.")).rstrip() + part[len(part.rstrip(" .")) :]
    return text.strip()
