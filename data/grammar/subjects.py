"""The people who do things: subjects with their agreement, and people as objects.

Every value holds both languages side by side. It does not know verbs or sentences.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from grammar import lexicon as lx
from grammar.phrases import DATIVE, ME, MY, NOUNS, Dice, Phrase, my, the
from grammar.tables import words


class Who(NamedTuple):
    """A subject. `es` is empty where Spanish drops the pronoun; `full` never is.

    `p` is the Spanish person 0-4, `e` the English agreement 0-2, `key` the English pronoun.
    """

    es: str
    full: str
    en: str
    p: int
    e: int
    key: str
    g: str = "m"

    @property
    def many(self) -> bool:
        return self.p >= 3

    @property
    def my(self) -> str:
        """English possessive."""
        return MY[self.key]

    @property
    def me(self) -> str:
        """English object pronoun."""
        return ME[self.key]

    @property
    def owner(self) -> str:
        """Key of the possessives that refer to this subject."""
        return "formal" if self.key == "you" and self.p != 1 else self.key

    @property
    def a(self) -> str:
        """Stressed form after the preposition 'a': a mí, a Ana."""
        return ("a mí", "a ti")[self.p] if self.p < 2 else "a " + self.full


_PLURAL_KIN = words(
    "hermano hermana hijo hija abuelo padre primo amigo amiga vecino compañero nieto"
)
_PEERS = words("hermano hermana primo prima amigo amiga vecino vecina")


def _kin(key: str, peers: bool = False) -> list[Phrase]:
    nouns = [n for n in NOUNS["kin"] if not peers or n.es in _PEERS]
    return [my(n, key) for n in nouns] + [my(n, key, True) for n in nouns if n.es in _PLURAL_KIN]


@cache
def people(key: str, kind: str) -> tuple[Phrase, ...]:
    """People as objects: H bare, A with the personal 'a', AA no relatives;
    K for no strangers."""
    rows = [Phrase(name, name, "m") for name in lx.MEN] + [Phrase(n, n, "f") for n in lx.WOMEN]
    if not kind.endswith("K"):
        rows += [the(noun) for noun in NOUNS["folk"] if not noun.en.startswith("old")]
    if kind != "AA":
        rows += _kin(key, peers=key not in ("I", "you", "we")) * 2
    return tuple(r if kind[0] == "H" else r._replace(es="a " + r.es) for r in rows)


def _pronouns() -> list[Who]:
    return [
        Who("", "yo", "I", 0, 0, "I"), Who("", "yo", "I", 0, 0, "I", "f"),
        Who("", "tú", "you", 1, 1, "you"), Who("", "tú", "you", 1, 1, "you", "f"),
        Who("él", "él", "he", 2, 2, "he"), Who("ella", "ella", "she", 2, 2, "she", "f"),
        Who("usted", "usted", "you", 2, 1, "you"), Who("ustedes", "ustedes", "you", 4, 1, "you"),
        Who("", "nosotros", "we", 3, 1, "we"), Who("", "nosotros", "we", 3, 1, "we"),
        Who("ellos", "ellos", "they", 4, 1, "they"),
        Who("ellas", "ellas", "they", 4, 1, "they", "f"),
        Who("", "ellos", "they", 4, 1, "they"),
    ]  # fmt: skip


def _third(p: Phrase) -> Who:
    key = "they" if p.many else ("she" if p.g == "f" else "he")
    return Who(p.es, p.es, p.en, 4 if p.many else 2, 1 if p.many else 2, key, p.g)


def _pairs() -> list[Who]:
    """Couples of names, and people together with me."""
    rows: list[Who] = []
    for i, man in enumerate(lx.MEN):
        woman, other = lx.WOMEN[(i * 7 + 3) % 20], lx.MEN[(i * 3 + 1) % 20]
        for first, second in ((woman, man), (man, woman), (other, woman)):
            y = "e" if second[0] == "I" else "y"
            text = f"{first} {y} {second}"
            rows.append(Who(text, text, f"{first} and {second}", 4, 1, "they"))
    for p in [my(n, "I") for n in NOUNS["kin"]]:
        rows.append(Who(f"{p.es} y yo", f"{p.es} y yo", f"{p.en} and I", 3, 1, "we"))
    return rows


PRONOUNS = _pronouns()
NAMES = [_third(Phrase(n, n, "m")) for n in lx.MEN] + [_third(Phrase(n, n, "f")) for n in lx.WOMEN]
KIN = [_third(p) for key in ("I", "I", "you", "we") for p in _kin(key)]
FOLK = [_third(the(n, many)) for n in NOUNS["folk"] for many in (False, False, True)]
TITLES = [
    _third(Phrase(f"{t_es} {s}", f"{t_en} {s}", g))
    for s in lx.SURNAMES
    for t_es, t_en, g in (("el señor", "Mr.", "m"), ("la señora", "Mrs.", "f"))
]
COUPLES = _pairs()
_POOLS = (PRONOUNS, PRONOUNS, PRONOUNS, PRONOUNS, NAMES, NAMES, NAMES, KIN, KIN, FOLK, FOLK,
          TITLES, COUPLES)  # fmt: skip
_NAMED = (NAMES, NAMES, KIN, KIN, FOLK, TITLES)


def subject(dice: Dice) -> Who:
    """Any human subject."""
    return dice.pick(dice.pick(_POOLS))


def named(dice: Dice) -> Who:
    """A human subject that is not a pronoun."""
    return dice.pick(dice.pick(_NAMED))


def single(dice: Dice) -> Who:
    """A human subject that is not made of two."""
    while True:
        found = subject(dice)
        if " and " not in found.en:
            return found


def other(dice: Dice, who: Who, pool: Sequence[Who] = ()) -> Who:
    """Somebody else than `who`, told apart in both languages."""
    while True:
        found = dice.pick(pool) if pool else subject(dice)
        if found.en in who.en or who.en in found.en:
            continue
        if {found.key, who.key} <= {"I", "we"}:
            continue
        pronoun = found.en == found.key or who.en == who.key
        if found.key == who.key and pronoun:
            continue
        if found.p != who.p or (found.es and who.es):
            return found


def to_dative(who: Who, stressed: bool = False) -> str:
    """'a Ana le', or just 'me': only the third person needs the stressed part."""
    return f"{who.a} {DATIVE[who.p]}" if stressed or who.p in (2, 4) else DATIVE[who.p]


def whom(who: Who) -> str:
    """The subject as an English object: me, Ana, my brother and me."""
    return (
        who.me
        if who.en == who.key
        else who.en.removesuffix(" and I") + (" and me" if who.en.endswith(" and I") else "")
    )


_CHILDREN = words("niño niña chico chica nieto nieta alumno hijo hija compañero")
_YOUNG = [*_CHILDREN, *words("estudiante hermano hermana primo prima amigo amiga")]


def _texts(nouns: Sequence[str]) -> frozenset[str]:
    """English subjects made of these Spanish nouns."""
    found = [n for n in NOUNS["folk"] + NOUNS["kin"] if n.es in nouns]
    words = [w for n in found for w in (n.en, n.en_many)]
    return frozenset(f"{d} {w}" for d in ("the", *MY.values()) for w in words)


CHILDREN = _texts(_CHILDREN)
_YOUNG_TEXTS = _texts(_YOUNG)
GROWN = frozenset(
    who.en for pool in (KIN, FOLK, TITLES) for who in pool if who.en not in _YOUNG_TEXTS
)
