"""The challenge set: texts that translators are known to fail on, and what must come out.

`data/challenge.tsv` holds them, with the words that a right translation has one of. What can be
seen without knowing the language (a loop, a copy, a lost token) is judged apart from the words.
"""

import dataclasses
import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from transformer.config import UserError
from transformer.text.casing import is_shouted
from transformer.text.placeholders import find as find_tokens
from transformer.translation.faults import faults
from transformer.translation.translator import Translation

HEADER = "from\tkind\tsource\texpected"  # of the challenge set
_TIMES = re.compile(r"(\d+)x (.+)")


@dataclasses.dataclass(frozen=True, slots=True)
class ChallengeCase:
    """A text, and for each word that must come out the ways to say it, in small letters."""

    src_lang: str
    kind: str
    source: str
    expected: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a translation: with its form, and with its words."""

    case: ChallengeCase
    output: str
    form: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.form and not self.words


def read_challenge(path: Path) -> tuple[ChallengeCase, ...]:
    """The cases of a TSV file whose sources are JSON strings; `80x text` is the text 80 times."""
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    if header != HEADER:
        raise UserError(f"expected the columns {HEADER!r} in {path}, got {header!r}")
    cases = []
    for row in rows:
        lang, kind, source, expected = row.split("\t")
        text = json.loads(source)
        if times := _TIMES.fullmatch(text):
            text = " ".join([times[2]] * int(times[1]))
        words = tuple(tuple(group.split("|")) for group in expected.split(";") if group)
        cases.append(ChallengeCase(lang, kind, text, words))
    return tuple(cases)


def judge(
    cases: Sequence[ChallengeCase], translations: Sequence[Translation]
) -> tuple[Verdict, ...]:
    """A verdict on each translation."""
    verdicts = []
    for case, translation in zip(cases, translations, strict=True):
        form, said = _form(case.source, translation), translation.text.lower()
        wrong = [ways for ways in case.expected if not any(way.lower() in said for way in ways)]
        verdicts.append(Verdict(case, translation.text, form, tuple(map("|".join, wrong))))
    return tuple(verdicts)


def _form(source: str, translation: Translation) -> tuple[str, ...]:
    """What is wrong whatever the language."""
    output, wrong = translation.text, list(translation.warnings)
    kept = [source[s.start : s.end] for s in find_tokens(source) if s.kind != "number"]
    kept += [c for c in source if c > "\u2027" and unicodedata.category(c) in ("So", "Lo")]
    wrong += [str(fault) for fault in faults(source, output, kept) if str(fault) not in wrong]
    if not any(map(str.isalpha, source)) and output != source:
        wrong.append("changed")
    if re.findall(r"^\s*|\t|\s*$", output) != re.findall(r"^\s*|\t|\s*$", source):
        wrong.append("white space")
    if is_shouted(source) and not output.isupper():
        wrong.append("small letters")
    return tuple(wrong)
