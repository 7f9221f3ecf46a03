"""Split a text into sentences and the gaps between them, and a long sentence into pieces.

By the punctuation and the abbreviations of Spanish and English. Nothing is lost or changed: the
parts joined are the text.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from transformer.config import UserError
from transformer.text import abbreviations
from transformer.text.glossary import TermSpan
from transformer.text.patterns import CHAT_PREFIX
from transformer.text.spans import AnySpan, Span, mask

# Lookbehinds and possessive repeats keep every search linear in the length of the text.
_LINE = re.compile(r"\S(?:[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*\S)?")
# The marks that a line of a list, a heading or a quotation begins with. A letter with a point is
# one where it would be taken for a word (I, y, o): A. Smith stays a name.
_LIST = re.compile(
    r"(?:(?:[-+*·•‣⁃∙●○■□▪▫◦◆◇▶▸►➢➤→⇒←⇐☐☑☒✓✔✗✘]"
    r"|>{1,9}|\#{1,6}|[«‹](?=\s[^»›\n]*+$)|\[[ xX]\]|\(\d{1,3}\)"
    r"|(?:\d{1,2}\.){1,4}|(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})\)"
    r"|(?:[EOUYeouy]|[ivxlIVXL]{1,6})\.(?=\s++[¿¡\"“«(]?[A-ZÁÉÍÓÚÜÑ])(?!\s++[^\W\d_]\.)"
    r")\s++){1,5}+(?=\S)"
)
_DIVIDERS = "|•·●▪"
# . ! ? … with closing quotes or [1]; what parts cells and steps, Sign up | Log in, Home > Shoes;
# or a Chinese mark, which needs no space.
_MARK = re.compile(
    r"""(?<![.!?…])(?P<mark>[.!?…]++)(?P<close>(?:["'\u2019”»)\]*_]|\[\d{1,3}\])*+)\s++"""
    r"""(?=\W{0,8}(?P<next>\w++)(?P<dot>\.?))"""
    rf"""|(?<!\s)\s++(?P<divider>[{_DIVIDERS}])\s++(?=\S)"""
    r"""|(?<=[^\W\d_])\s(?P<step>[>›»])\s(?=[A-ZÁÉÍÓÚÑ][^\W\d_]{2})"""
    r"""|(?<![。\uff01\uff1f])[。\uff01\uff1f]++["'\u2019”」』]*+\s*+(?=\S)"""
)
_WORDS = re.compile(r"[\w\s]+")
_MONEY = re.compile(r"[$€£¥]\s?+\d|\d\s?+[$€£¥]")
MAX_SENTENCE_CHARS = 1000  # characters of a sentence, if it can be cut: a model takes fewer at once
_OPENING = "(\"'«“\u2018¿¡—-"
_STARTERS = {
    "es": r"Al?|Así|Aunque|Cada|Como|Con|Cuando|De|Desde|Después|Durante|Ella|Ellos|El|En|Entonces"
    r"|Es|Est[aeo]s?|Fue|Han?|Hay|Hoy|L[aeo]s?|Luego|M[ei]|Mientras|No|Nos|Para|Pero|Por|Porque|Que"
    r"|Se|Según|Si|Sin|Sobre|Son|Sus?|También|Tras|T[uú]|Una?|Ya?|Yo|Él",
    "en": r"A|After|All|Also|Although|And|As|At|Because|But|By|During|For|From|Her?|His|How|However"
    r"|I|If|In|Is|Its?|Many|Most|My|No|Not|Now|On|One|Our|She|Since|So|Some|Such|That|The|Their"
    r"|Then|There|These|They|This|Those|Thus|To|Until|We|What|When|Where|Which|While|Who|Why|You",
}
_CUT_PATTERNS = (  # where to halve, best first: at a clause, at white space
    r"(?<!\s)(?:(?<=[;:,)])\s++|\s++(?=(?:y|e|o|u|ni|pero|que|porque|and|or|but|that|because)\s))",
    r"\s++",
)
_CHARACTER_BOUNDARY = re.compile(  # where one ends and another begins
    r"(?<!\u200d)(?![\u0300-\u036f\u200d\u20d0-\u20ff\ufe0f\U0001f3fb-\U0001f3ff\udc00-\udfff])"
)
_CUT_RANGE = 100  # characters of the middle


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """One sentence without white space around it, or the gap between two.

    A gap is white space, and at the beginning of a line the marks of a list: "- ", "2. ", "# ". Of
    a sentence, `kept` are spans of one word each, such as an address, and `terms` what a glossary
    translates, both counted in `text`; with `keep_spelling`, what looks like a typo is none.
    """

    text: str
    is_sentence: bool
    kept: tuple[Span, ...] = ()
    terms: tuple[TermSpan, ...] = ()
    keep_spelling: bool = False

    @property
    def has_words(self) -> bool:
        """Whether there is something to translate outside what is kept, or a term."""
        return self.is_sentence and (
            is_translatable(mask(self.text, self.kept)) or bool(self.terms)
        )


def is_translatable(text: str) -> bool:
    """Tell whether a text has something to translate: a letter, or a sum of money."""
    return any(map(str.isalpha, text)) or bool(_MONEY.search(text))


def split_sentences(
    text: str, lang: str, kept: Sequence[Span] = (), terms: Sequence[TermSpan] = ()
) -> tuple[Segment, ...]:
    """Return the sentences and gaps of a text; a line break always ends a sentence.

    `lang` is "es" or "en"; any other is taken for a mixture of the two. No sentence ends within
    one of the `kept` spans (an address, a tag) or of the terms. They are in order and do not
    overlap.
    """
    starter = _STARTERS.get(lang, "|".join(_STARTERS.values()))
    dotted = [(a, b) for a, b, _ in terms if not _WORDS.fullmatch(text, a, b)]
    whole = [span for span in sorted([*kept, *dotted]) if text[slice(*span)] not in _DIVIDERS]
    covered, uncut = mask(text, whole, "X"), sorted([*kept, *((a, b) for a, b, _ in terms)])
    spans = _shorten(covered, _sentences(text, covered, starter), uncut)
    return tuple(_with_gaps(text, spans, kept, terms))


def split_long(text: str, fits: Callable[[str], bool]) -> tuple[Segment, ...]:
    """Return pieces that each fit, and the gaps between them.

    A text that does not fit is halved: at the end of a clause in its middle half, or at the white
    space nearest to the middle, or inside a word. UserError if not even one character fits.
    """
    start = len(text) - len(text.lstrip())
    return tuple(_with_gaps(text, _pieces(text, start, max(start, len(text.rstrip())), fits)))


def _with_gaps(
    text: str, spans: Iterable[Span], kept: Sequence[Span] = (), terms: Sequence[TermSpan] = ()
) -> Iterator[Segment]:
    """Yield the sentences at `spans`, each with what is kept in it and its terms, and the gaps."""
    for i, (start, end) in enumerate(pairwise((0, *chain.from_iterable(spans), len(text)))):
        if start == end:
            continue
        if not i % 2:
            yield Segment(text=text[start:end], is_sentence=False)
            continue
        inside = tuple((a - start, b - start) for a, b in _within(kept, start, end))
        own = tuple(TermSpan(a - start, b - start, c) for a, b, c in _within(terms, start, end))
        yield Segment(text=text[start:end], is_sentence=True, kept=inside, terms=own)


def _within(spans: Sequence[AnySpan], start: int, end: int) -> Sequence[AnySpan]:
    first = bisect_left(spans, start, key=lambda span: span[0])
    return spans[first : bisect_right(spans, end, key=lambda span: span[1])]


def _sentences(text: str, covered: str, starter: str) -> Iterator[Span]:
    """Yield the spans of sentences; `covered` is the text with kept spans masked.

    `starter` is a pattern of words that often begin a sentence.
    """
    for match in _LINE.finditer(covered):
        line, offset = match[0], match.start()
        listed = _LIST.match(line)
        start = listed.end() if listed else 0
        prefix = CHAT_PREFIX.match(text, offset + start, match.end())
        start = prefix.end() - offset if prefix else start
        if start == len(line):
            continue
        for mark in _MARK.finditer(line, start):
            if _ends_sentence(line, start, mark, starter):
                end = mark.end() if mark["divider"] is mark["step"] is None else mark.start()
                yield offset + start, offset + start + len(line[start:end].rstrip())
                start = mark.end()
        yield offset + start, offset + len(line)


def _shorten(text: str, spans: Iterable[Span], uncut: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans, those of more than MAX_SENTENCE_CHARS cut into pieces.

    No cut is within one of the sorted spans `uncut`, so that a piece may be longer.
    """
    for start, end in spans:
        first, *others = _pieces(text, start, end, lambda piece: len(piece) <= MAX_SENTENCE_CHARS)
        for other in others:
            place = bisect_right(uncut, first[1], key=lambda span: span[1])
            if place < len(uncut) and uncut[place][0] < other[0]:  # the cut would be within it
                first = first[0], other[1]
            else:
                yield first
                first = other
        yield first


def _ends_sentence(line: str, start: int, match: re.Match[str], starter: str) -> bool:
    """Return whether `match`, of `_MARK`, ends the sentence that begins at line[start].

    `starter` is a pattern of words that often begin a sentence.
    """
    mark, following = match["mark"], match["next"]
    if mark is None:
        return not (match["step"] == "»" and "«" in line)
    is_lower = following[0].islower() and line[match.end()] not in "¿¡"
    # Who begins without a capital goes on without one; otherwise a small letter goes on.
    is_casual = line[start : start + 8].lstrip(_OPENING)[:1].islower() and not match["close"]
    if mark != ".":
        return not is_lower or (is_casual and mark.strip("….") != "")
    before = line[max(start, match.start() - 12) : match.start()]
    last = "".join(before.split()[-1:]).lstrip(_OPENING)
    is_list_item = match.start() - start <= 3 and (last.isdigit() or len(last) == 1)
    if is_list_item or abbreviations.TITLES.fullmatch(last):
        return False
    if last in abbreviations.ABBREVIATIONS or abbreviations.NUMBER_LABELS.fullmatch(last):
        return not is_lower and not re.fullmatch(r"\d+(?:st|nd|rd|th)?|[IVXLC]{2,}", following)
    is_initial = abbreviations.INITIALS.fullmatch(last)
    if is_initial and not abbreviations.CLOSING_ABBREVIATION.search(before):
        return re.fullmatch(starter, following) is not None and not match["dot"]
    return not is_lower or is_casual or (len(last) > 3 and last.islower() and not match["close"])


def _pieces(text: str, start: int, end: int, fits: Callable[[str], bool]) -> Iterator[Span]:
    piece = text[start:end]
    if not piece or fits(piece):
        yield start, end
    elif len(piece) == 1:
        raise UserError(f"expected room for a character, but {piece!r} does not fit: raise max_len")
    else:
        left, right = _halves(piece)
        yield from _pieces(text, start, start + left, fits)
        yield from _pieces(text, start + right, end, fits)


def _halves(piece: str) -> Span:
    """Return the end of the left part of a piece and the start of the right, less white space.

    It is cut behind , ; : ) or ahead of a word such as "and" in its middle half, else at white
    space, else inside a word between two characters: of these places at the nearest to the middle.
    """
    size = len(piece)
    for pattern, margin in zip(_CUT_PATTERNS, (size // 4, 1), strict=True):
        gaps = [m.span() for m in re.finditer(pattern, piece)]
        if inner := [gap for gap in gaps if margin <= gap[0] <= size - margin]:
            return min(inner, key=lambda gap: abs(sum(gap) - size))
    near = range(max(1, size // 2 - _CUT_RANGE), min(size, size // 2 + _CUT_RANGE))
    places = (at for at in near if _CHARACTER_BOUNDARY.match(piece, at))
    at = min(places, key=lambda at: abs(2 * at - size), default=size // 2)
    return at, at
