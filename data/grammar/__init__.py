"""The generator: pairs of a Spanish and an English sentence from a grammar of both languages.

Each family of `FAMILIES` yields one kind of sentence. The same seed gives the same pairs on every
machine. It knows nothing of files; `build.py` writes them.
"""

from collections.abc import Iterator
from itertools import accumulate

from grammar import (
    clock,
    compare,
    compound,
    figures,
    likes,
    linked,
    persons,
    questions,
    reasons,
    relatives,
    statements,
    things,
    travel,
)
from grammar.clauses import say
from grammar.family import FAMILIES
from grammar.phrases import Dice, Pair
from grammar.subjects import subject

__all__ = ["FAMILIES", "Dice", "Pair", "family_of", "pairs", "sentence"]

MODULES = (
    statements, questions, compound, reasons, linked, relatives, persons, likes, things, compare,
    clock, figures, travel,
)  # fmt: skip
_NAMES = tuple(FAMILIES)
_SUMS = tuple(accumulate(FAMILIES[name][1] for name in _NAMES))
_CONTRACTED = {
    "I am": "I'm", "You are": "You're", "He is": "He's", "She is": "She's", "It is": "It's",
    "We are": "We're", "They are": "They're", "I will": "I'll", "You will": "You'll",
    "He will": "He'll", "She will": "She'll", "We will": "We'll", "They will": "They'll",
}  # fmt: skip


def family_of(dice: Dice) -> str:
    """The name of a family, by weight."""
    point = dice.random() * _SUMS[-1]
    return next(name for name, total in zip(_NAMES, _SUMS, strict=True) if point < total)


def sentence(dice: Dice, name: str) -> Pair:
    """One pair of the family; now and then with an English contraction at the start."""
    left, right = FAMILIES[name][0](dice)
    if dice.random() < 0.4:
        cut = right.find(" ", right.find(" ") + 1)
        short = _CONTRACTED.get(right[:cut])
        if short:
            right = short + right[cut:]
    return left, right


_KEPT = 5000  # clauses remembered for each tense


def pairs(seed: int) -> Iterator[Pair]:
    """An endless stream of pairs for large files, quick and in constant memory.

    Most pairs are two clauses out of a slowly changing stock, so that few pairs are equal.
    """
    dice = Dice(seed)
    stock: list[list[Pair]] = [[] for _ in linked.TENSES]
    while True:
        if dice.random() < 0.1:
            yield sentence(dice, family_of(dice))
            continue
        n = int(dice.random() * len(stock))
        left, right = _clause(dice, stock[n], n), _clause(dice, stock[n], n)
        yield say(linked.linked(left, right, "y" if dice.random() < 0.7 else "pero"))


def _clause(dice: Dice, kept: list[Pair], n: int) -> Pair:
    """A clause from the stock, or a new one, which goes into the stock."""
    if len(kept) >= 100 and dice.random() > 0.1:
        return dice.pick(kept)
    tense, group, kind = linked.TENSES[n]
    made = linked.timed(dice, subject(dice), tense, group, kind)
    if len(kept) < _KEPT:
        kept.append(made)
    else:
        kept[int(dice.random() * _KEPT)] = made
    return made
