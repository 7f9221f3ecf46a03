"""A glossary: terms with their translations, and how to find the terms in a text.

The file is UTF-8 with tabs: `term<TAB>translation` a line; without a translation the term stays as
it is. Forms stand between bars, in the same order on both sides. See `Glossary.parse`.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from transformer.command import os_errors_as_user_errors
from transformer.config import Direction, UserError
from transformer.text.language import LANGUAGES
from transformer.text.spans import overlapping

MAX_TERM_CHARS = 100  # characters of a term or of its translation
_OTHER_FORMAT = re.compile(r"\S[,;]\S|[<>={}]")  # of a row: CSV, XML, properties, JSON
# Words whole with their combining marks, white space within a line, any other character by itself.
_TOKEN = re.compile(r"[\w\u0300-\u036f]+|([^\S\n\r]+)|.", re.DOTALL)


class TermSpan(NamedTuple):
    """text[start:end] is a term, to be translated as `target`."""

    start: int
    end: int
    target: str


class TermMatcher:
    """Finds the terms of one direction, in time linear in the length of a text."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Take pairs of a term and its translation; of two for one term the first counts."""
        self._targets: dict[str, list[tuple[str, str]]] = {}  # by the term as it is compared
        lengths: dict[str, set[int]] = {}  # in tokens, by the first one
        for term, target in pairs:
            keys = [key for key, _, _ in _tokens(term)]
            self._targets.setdefault("".join(keys), []).append((term, target))
            lengths.setdefault(keys[0], set()).add(len(keys))
        self._lengths = {key: sorted(own, reverse=True) for key, own in lengths.items()}

    def find(self, text: str, kept: Sequence[tuple[int, int]] = ()) -> tuple[TermSpan, ...]:
        """Return the terms in order, the longest at each place; none cuts into a `kept` span."""
        tokens = _tokens(text) if self._lengths else []
        keys, found, i = [key for key, _, _ in tokens], list[TermSpan](), 0
        while i < len(tokens):
            for n in self._lengths.get(keys[i], ()):
                ending = self._targets.get("".join(keys[i : i + n]))
                if ending is None or i + n > len(tokens):
                    continue
                start, end = tokens[i][1], tokens[i + n - 1][2]
                target = _select_target(ending, text[start:end])
                cut = (a < start or end < b for a, b in overlapping(start, end, kept))
                if target is not None and not any(cut):  # it may be around what is kept
                    found.append(TermSpan(start, end, target))
                    i += n - 1
                    break
            i += 1
        return tuple(found)


@dataclass(frozen=True)
class Glossary:
    """Pairs of a term and its translation, and the languages of the two, if they are named."""

    pairs: tuple[tuple[str, str], ...]
    langs: Direction | None = None
    _matchers: dict[Direction, TermMatcher] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def load(cls, source: "TermSource") -> "Glossary":
        """Return a glossary, or make one of a file, a dictionary, or pairs; TypeError for others.

        A value of a dictionary may be None: such a term stays as it is. UserError for a file that
        cannot be read, and for malformed or contradictory rows.
        """
        if isinstance(source, Glossary):
            return source
        if isinstance(source, str | Path):
            return cls.read(source)
        rows = source.items() if isinstance(source, Mapping) else source
        if not isinstance(rows, Iterable):
            raise TypeError(f"expected a file, a dictionary or pairs, got {type(source).__name__}")
        pairs = []
        for number, row in enumerate(rows, 1):
            is_row = isinstance(row, Iterable) and not isinstance(row, str)
            texts = [text for text in row if text is not None] if is_row else []
            if not texts or not all(isinstance(text, str) for text in texts):
                raise TypeError(f"glossary, pair {number}: expected two texts, got {row!r:.80}")
            pairs.append((f"glossary, pair {number}", texts))
        return cls.from_rows(pairs)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a glossary file; UserError if it cannot be read, or for a line that is malformed."""
        with os_errors_as_user_errors(f"read the glossary {path}"):
            content = Path(path).read_bytes()
        try:
            return cls.parse(content.decode(), str(path))
        except UnicodeDecodeError as error:
            raise UserError(f"expected UTF-8 text in {path}, got other bytes") from error

    @classmethod
    def parse(cls, text: str, name: str = "glossary") -> Self:
        """Make a glossary from a text with one row on each line; `#` begins a comment.

        A row is `term|form<TAB>target|form`, or a term that stays; errors begin with `name`.
        A first row `es<TAB>en` or `en<TAB>es` names the languages of the columns: then the rows
        serve both directions. Otherwise they are from source to target, whichever is asked for.
        UserError with the line for a malformed row, and for a file of another format.
        """
        lines = enumerate(text.removeprefix("\ufeff").splitlines(), 1)
        rows = [
            (f"{name}, line {number}", line.rstrip().split("\t"))
            for number, line in lines
            if line.strip() and not line.startswith("#")
        ]
        n_others = sum(bool(_OTHER_FORMAT.search("".join(row))) for _, row in rows)
        has_tabs = any(row[0].strip() and len(row) > 1 for _, row in rows)  # not of indented XML
        if not has_tabs and 2 * n_others > len(rows):
            raise UserError(
                f"{name}: expected a tab between a term and its translation, got none in any row, "
                f"as {rows[0][1][0][:MAX_TERM_CHARS]!r}: is it a CSV or another kind of file?"
            )
        return cls.from_rows(rows)

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[str, Sequence[str]]]) -> Self:
        """Make a glossary from rows (place for the UserError, columns), as `parse` does."""
        langs = tuple(column.strip().lower() for column in rows[0][1]) if rows else ()
        has_langs = len(langs) == 2 and langs[0] != langs[1] and {*langs} <= {*LANGUAGES}
        pairs: list[tuple[str, str]] = []
        places: dict[str, tuple[str, str]] = {}
        for place, columns in rows[has_langs:]:
            for term, target in _pairs(place, columns):
                before, known = places.setdefault(term, (place, target))
                if known != target and before != place:
                    raise UserError(f"{place}: {term!r} has another translation in {before}")
                pairs.append((term, target))
        return cls(tuple(dict.fromkeys(pairs)), (langs[0], langs[1]) if has_langs else None)

    def matcher(self, langs: Direction) -> TermMatcher:
        """Return the matcher of a direction, with no terms if the glossary has other languages."""
        if langs not in self._matchers:
            swapped = ((target, term) for term, target in self.pairs if self.langs == langs[::-1])
            own = self.pairs if self.langs in (None, langs) else swapped
            self._matchers[langs] = TermMatcher(own)
        return self._matchers[langs]


TermSource = str | Path | Glossary | Mapping[str, str | None] | Iterable[Sequence[str]]


def _pairs(place: str, columns: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of a row: each form on the left with the one at its place on the right.

    `columns` are two sides, or one for both, with bars between forms. A single form goes with all
    forms of the other side. UserError with the place for a malformed row.
    """
    if not 1 <= len(columns) <= 2:
        raise UserError(f"{place}: expected a term and its translation, got {len(columns)} columns")
    sides = [[_normalize(form) for form in column.split("|")] for column in columns]
    forms, targets = sides[0], sides[-1]
    for form in (*forms, *targets):
        if not form or any(unicodedata.category(c) in ("Cc", "Cs") for c in form):
            got = "\t".join(columns)[:MAX_TERM_CHARS]
            raise UserError(f"{place}: expected words on both sides and of each bar, got {got!r}")
        if len(form) > MAX_TERM_CHARS:
            raise UserError(
                f"{place}: expected at most {MAX_TERM_CHARS} characters, got {len(form)}"
            )
    size = max(len(forms), len(targets))
    if {len(forms), len(targets)} - {1, size}:
        raise UserError(
            f"{place}: expected as many forms on both sides, got {len(forms)} and {len(targets)}"
        )
    both = [side if len(side) == size else side * size for side in (forms, targets)]
    return list(zip(*both, strict=True))


def _normalize(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _tokens(text: str) -> list[tuple[str, int, int]]:
    """Return the words and signs of a text, normalized for comparison, with their start and end."""
    return [
        (" " if m[1] else unicodedata.normalize("NFC", m[0]).casefold(), m.start(), m.end())
        for m in _TOKEN.finditer(text)
    ]


def _select_target(terms: Sequence[tuple[str, str]], written: str) -> str | None:
    """Return the target of the term that matches `written`, or None.

    A term with capitals matches itself and its form in all capitals; one in lower case matches any
    case, and for all capitals its target is put in capitals, too.
    """
    in_caps = written.isupper() and sum(map(str.isalpha, written)) > 1
    same = _normalize(written)
    for term, target in sorted(terms, key=lambda pair: pair[0] != same):
        if term == same or term.islower():
            raise_target = in_caps and term != same and target.islower()
            return target.upper() if raise_target else target
        if in_caps:
            return target
    return None
