"""Verb phrases: frames with objects, company and places chosen to suit the subject.

It does not know tenses or sentences.
"""

from typing import NamedTuple

from grammar import frames as fr
from grammar import phrases as ph
from grammar import subjects as su
from grammar.phrases import Dice, Pair, join
from grammar.subjects import Who
from grammar.tables import words


class Frame(NamedTuple):
    """A parsed line of `frames.FRAMES`."""

    verb: str
    reflexive: bool
    prep: str
    base: str
    particle: str
    flags: str
    objects: tuple[str, ...]
    places: tuple[str, ...]


class VP(NamedTuple):
    """A verb with all that follows it."""

    verb: str
    reflexive: bool
    tail_es: str
    base: str
    tail_en: str
    flags: str = ""


def _frame(line: str) -> Frame:
    spanish, english, flags, tokens, places = line.split("|")
    verb, _, prep = spanish.partition(" ")
    base, _, particle = english.partition(" ")
    reflexive = verb.endswith("se")
    parts = [p.strip() for p in tokens.replace(" =", "#=").split("#")]
    found: list[str] = []
    for part in parts:
        if not part.startswith("="):
            found.extend(part.split())
            continue
        literal, loose = _split_literal(part)
        found.append(literal)
        found.extend(loose)
    return Frame(
        verb[:-2] if reflexive else verb, reflexive, prep, base, particle, flags,
        tuple(found), tuple(places.split()),
    )  # fmt: skip


def _split_literal(part: str) -> tuple[str, list[str]]:
    """A literal object, and the tokens that follow it on the line."""
    words = part.split(" ")
    last = len(words)
    while words[last - 1] == "-" or "." in words[last - 1]:
        last -= 1
    return " ".join(words[:last]), words[last:]


FRAMES = tuple(_frame(line) for line in fr.FRAMES.strip().splitlines())
HABITUAL = tuple(f for f in FRAMES if "h" in f.flags and "n" not in f.flags)
_TOLD = tuple(f for f in FRAMES if not set("sT") & set(f.flags))
EVENTS = tuple(f for f in _TOLD if set("hog") & set(f.flags))
WILLED = tuple(f for f in EVENTS if "n" not in f.flags)
ONGOING = tuple(f for f in FRAMES if "d" in f.flags)
LASTING = tuple(f for f in FRAMES if "l" in f.flags and "s" not in f.flags)
STATES = tuple(f for f in FRAMES if "s" in f.flags)
LEISURE = tuple(f for f in FRAMES if "h" in f.flags and not set("nx") & set(f.flags))
_SELDOM = words("montar pescar asistir ganar traducir plantar organizar resolver")
SELDOM = tuple(f for f in EVENTS if "g" in f.flags or f.verb in _SELDOM)
COSTLY = tuple(f for f in WILLED if "g" in f.flags and f.verb != "vender")
TRIFLES = tuple(f for f in FRAMES if "T" in f.flags)
_PLACED = words("buy sell lose find rent wait see meet break plant hug")
SOMEWHERE = tuple(f for f in EVENTS if f.base in _PLACED)


def of(verbs: str) -> tuple[Frame, ...]:
    """The deliberate, not too rare frames of these verbs."""
    return tuple(f for f in WILLED if f.verb in verbs.split() and "g" not in f.flags)


def _object(dice: Dice, token: str, who: Who) -> Pair:
    if token == "-":
        return "", ""
    if token[0] == "=":
        spanish, _, english = token[1:].partition("/")
        return spanish, english.replace("{}", who.my) if "{" in english else english
    if token[0] in "AH":
        for _ in range(9):
            person = dice.pick(su.people(who.owner, token))
            if person.en not in who.en:
                break
        return person.es, person.en
    phrase = dice.pick(ph.objects(token, who.owner if token[0] in "pPrR" else ""))
    return phrase.es, phrase.en


def company(dice: Dice, who: Who) -> Pair:
    """'with somebody' who is not the subject."""
    while True:
        person = dice.pick(su.people(who.owner, "HK"))
        if person.en not in who.en:
            return f"con {person.es}", f"with {person.en}"


def _unfit(frame: Frame, who: Who) -> bool:
    """Whether the subject is too young or too old for this."""
    if "A" in frame.flags:
        return who.en in su.CHILDREN
    return "y" in frame.flags and who.en in su.GROWN


def vp(
    dice: Dice,
    who: Who,
    group: tuple[Frame, ...],
    extras: float = 0.45,
) -> VP:
    """A verb phrase from one of the frames."""
    frame = dice.pick(group)
    for _ in range(20):
        if not _unfit(frame, who):
            break
        frame = dice.pick(group)
    spanish, english = _object(dice, dice.pick(frame.objects), who)
    tail_es, tail_en = [frame.prep, spanish], [frame.particle, english]
    if dice.random() < extras:
        if "c" in frame.flags and dice.random() < 0.5:
            place = company(dice, who)
        elif frame.places:
            place = fr.PLACES[dice.pick(frame.places)]
        else:
            place = ("", "")
        tail_es.append(place[0])
        tail_en.append(place[1])
    left, right = join(*tail_es), join(*tail_en)
    return VP(frame.verb, frame.reflexive, left, frame.base, right, frame.flags)


def simple(verb: str, tail_es: str, english: str, flags: str = "") -> VP:
    """A verb phrase given in words; `english` starts with the base form."""
    base, _, tail_en = english.partition(" ")
    reflexive = verb.endswith("se")
    return VP(verb[:-2] if reflexive else verb, reflexive, tail_es, base, tail_en, flags)


def acts(text: str) -> tuple[VP, ...]:
    """Verb phrases from a text of entries `infinitive/rest/English`, with commas between."""
    rows = (row.strip().split("/") for row in text.strip().rstrip(",").split(","))
    return tuple(simple(*row) for row in rows)
