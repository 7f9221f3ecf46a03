"""Clauses and whole sentences.

A clause is built from a subject, a verb phrase and the name of a tense that both languages share;
it does not know what kinds of sentence there are.
"""

from functools import cache

from grammar import english as en
from grammar import frames as fr
from grammar import phrases as ph
from grammar import spanish as es
from grammar.phrases import Dice, Pair, join
from grammar.subjects import Who
from grammar.verbs import VP

_AUXILIARY = {
    "perf": ("haber", "pres", "part"), "pperf": ("haber", "imp", "part"),
    "prog": ("estar", "pres", "ger"), "pprog": ("estar", "imp", "ger"),
    "still": ("seguir", "pres", "ger"), "goto": ("ir", "pres", "a"),
    "wasgoto": ("ir", "imp", "a"), "can": ("poder", "pres", ""), "could": ("poder", "cond", ""),
    "should": ("deber", "cond", ""), "want": ("querer", "pres", ""),
    "wanted": ("querer", "imp", ""), "need": ("necesitar", "pres", ""),
    "haveto": ("tener", "pres", "que"), "hadto": ("tener", "pret", "que"),
    "hope": ("esperar", "pres", ""), "try": ("intentar", "pres", ""),
    "decided": ("decidir", "pret", ""), "started": ("empezar", "pret", "a"),
    "managed": ("conseguir", "pret", ""), "forgot": ("olvidar", "pret", ""),
    "just": ("acabar", "pres", "de"), "stopped": ("dejar", "pret", "de"),
}  # fmt: skip


@cache
def spanish_verb(verb: str, reflexive: bool, tense: str, person: int) -> Pair:
    """The finite word with its clitic, and the words that belong to it."""
    clitic = ph.REFLEXIVE[person]
    if tense not in _AUXILIARY:
        form = es.verb(verb).tenses["imp" if tense == "used" else tense][person]
        return (f"{clitic} {form}" if reflexive else form), ""
    auxiliary, simple_tense, link = _AUXILIARY[tense]
    first = es.verb(auxiliary).tenses[simple_tense][person]
    if link in ("part", "ger"):
        forms = es.verb(verb)
        first = f"{clitic} {first}" if reflexive else first
        return first, forms.participle if link == "part" else forms.gerund
    return first, join(link, infinitive(verb, reflexive, person))


def infinitive(verb: str, reflexive: bool, person: int) -> str:
    """Infinitive with the reflexive pronoun of the person."""
    return verb + ph.REFLEXIVE[person] if reflexive else verb


NONE: Pair = ("", "")


def clause(
    who: Who, v: VP, tense: str, neg: bool = False, mid: Pair = NONE, shown: bool = False
) -> Pair:
    """A statement without capital and full stop.

    `mid` is an adverb of frequency; `shown` spells out a Spanish subject pronoun.
    """
    first, rest = spanish_verb(v.verb, v.reflexive, tense, who.p)
    subject = who.full if shown else who.es
    left = join(subject, mid[0], "no" if neg else "", first, rest, v.tail_es)
    f = en.finite(v.base, tense, who.e)
    if neg:
        words = join(who.en, f.negative, mid[1], f.rest, v.tail_en)
    elif not mid[1]:
        words = join(who.en, f.positive, v.tail_en)
    elif f.auxiliary in ("do", "does", "did"):
        words = join(who.en, mid[1], f.positive, v.tail_en)
    else:
        words = join(who.en, f.auxiliary, mid[1], f.rest, v.tail_en)
    return left, words


def question(who: Who, v: VP, tense: str, neg: bool = False, wh: Pair = NONE) -> Pair:
    """A direct question without capital and question marks."""
    first, rest = spanish_verb(v.verb, v.reflexive, tense, who.p)
    short = " " not in v.tail_es or v.tail_es.startswith("de ")
    close = short or v.verb in ("ser", "estar") or "q" in v.flags
    after = (v.tail_es, who.es) if close else (who.es, v.tail_es)
    left = join(wh[0], "no" if neg else "", first, rest, *after)
    f = en.finite(v.base, tense, who.e)
    auxiliary = f.negative if neg else f.auxiliary
    if auxiliary == "am not":
        return left, join(wh[1], "am", who.en, "not", f.rest, v.tail_en)
    return left, join(wh[1], auxiliary, who.en, f.rest, v.tail_en)


def again(who: Who) -> Who:
    """The same subject, mentioned a second time: dropped in Spanish, a pronoun in English."""
    return who._replace(es="", en=who.key)


def to_infinitive(who: Who, v: VP) -> Pair:
    """'(to) do something', without the 'to'."""
    left = join(infinitive(v.verb, v.reflexive, who.p), v.tail_es)
    return left, join(v.base, v.tail_en)


def doing(v: VP) -> str:
    """English gerund phrase."""
    return join(en.ing(v.base), v.tail_en)


def also(first: Pair, second: Pair, front: bool = False, comma: str = "") -> Pair:
    """Put an adverbial at the end of a clause or at its front."""
    if not second[0]:
        return first
    if front:
        return f"{second[0]}{comma} {first[0]}", f"{second[1]}, {first[1]}"
    return f"{first[0]} {second[0]}", f"{first[1]} {second[1]}"


def contracted(spanish: str) -> str:
    """a + el = al, de + el = del."""
    text = f" {spanish}"
    if " el " not in text:
        return spanish
    return text.replace(" a el ", " al ").replace(" de el ", " del ").lstrip()


def say(pair: Pair, end: str = ".") -> Pair:
    """A whole sentence: contractions, capitals, final marks."""
    left, right = contracted(pair[0]), pair[1]
    left = left[0].upper() + left[1:]
    right = right[0].upper() + right[1:]
    opening = {"?": "¿", "!": "¡"}.get(end, "")
    return f"{opening}{left}{end}", f"{right}{end}"


def when(dice: Dice, flags: str, kind: str) -> Pair:
    """A time adverbial for a tense: habit, past, ahead, lately, now, long."""
    if kind == "long":
        return dice.pick(fr.LONG)
    usual, daypart, rare = {
        "habit": (fr.HABIT, fr.HABIT_DAYPART, fr.HABIT),
        "past": (fr.PAST, fr.PAST_DAYPART, fr.PAST_RARE),
        "ahead": (fr.AHEAD, fr.AHEAD_DAYPART, fr.AHEAD_RARE),
        "lately": (fr.LATELY, fr.LATELY, fr.LATELY[2:]),
        "now": (fr.NOW, fr.NOW, fr.NOW),
    }[kind]
    if "g" in flags and "h" not in flags:
        return dice.pick(rare)
    if "!" in flags:
        return dice.pick(fr.PAST_DENIED)
    if "x" in flags and "h" in flags and kind == "past":
        return dice.pick(fr.PAST_NEAR)
    if "x" not in flags and dice.random() < 0.3:
        return dice.pick(daypart)
    return dice.pick(usual)
