"""Families that join what people do and say: reports, sequences, contrasts."""

from grammar import english as en
from grammar import frames as fr
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import (
    NONE,
    again,
    also,
    clause,
    doing,
    infinitive,
    say,
    when,
)  # fmt: skip
from grammar.family import family
from grammar.phrases import Dice, Pair, join
from grammar.subjects import Who
from grammar.tables import pairs
from grammar.verbs import Frame, acts, simple, vp

_STEPS = acts(
    "cenar//have dinner, desayunar//have breakfast, acostarse//go to bed, salir/de casa/leave home,"
    "ducharse//take a shower, comer//eat, ir/al trabajo/go to work, llegar/a casa/get home,"
    "terminar/el trabajo/finish work, volver/a casa/go back home, limpiar/la casa/clean the house"
)
_EASY = tuple(f for f in vb.LEISURE if f.verb not in ("ir", "salir", "dormir", "trabajar"))


@family(3)
def before_after(d: Dice) -> Pair:
    """Antes de acostarme, leo un libro; después de cenar, vimos la televisión."""
    who = su.subject(d)
    first, second = d.pick(_STEPS), vp(d, who, _EASY, 0.2)
    while second.verb == first.verb or ("trabajo" in first.tail_es and who.en in su.CHILDREN):
        first, second = d.pick(_STEPS), vp(d, who, _EASY, 0.2)
    tense = d.pick(("pret", "pret", "pres", "fut", "goto"))
    mid = d.pick(fr.OFTEN) if tense == "pres" else NONE
    main = clause(who, second, tense, mid=mid)
    link = d.pick((("antes de", "before"), ("después de", "after")))
    todo = join(infinitive(first.verb, first.reflexive, who.p), first.tail_es)
    sub = f"{link[0]} {todo}", f"{link[1]} {doing(first)}"
    if d.chance(0.5):
        return say((f"{sub[0]}, {main[0]}", f"{sub[1]}, {main[1]}"))
    return say((f"{main[0]} {sub[0]}", f"{main[1]} {sub[1]}"))


@family(4)
def report(d: Dice) -> Pair:
    """Ana dice que va a vender su coche; Pedro me dijo que había perdido las llaves."""
    first = su.named(d)
    same = d.chance(0.45)
    second = again(first) if same else su.other(d, first)
    v = vp(d, second, vb.WILLED, 0.2)
    shown = not same and second.p in (0, 2)
    if d.chance(0.5):
        hearer = d.pick([w for w in su.PRONOUNS[:9:2] if w.p not in (second.p, 2)])
        sub = clause(second, v, d.pick(("pperf", "cond", "wasgoto")), shown=shown)
        told = es.verb("decir").tenses["pret"][first.p]
        left = f"{first.es} {ph.DATIVE[hearer.p]} {told} que {sub[0]}"
        return say((left, f"{first.en} told {hearer.me} that {sub[1]}"))
    verb = simple("decir", "", "say") if same or d.chance(0.6) else simple("creer", "", "think")
    sub = clause(second, v, d.pick(("goto", "fut", "perf", "want", "haveto")), shown=shown)
    start = clause(first, verb, "pres")
    return say((f"{start[0]} que {sub[0]}", f"{start[1]} that {sub[1]}"))


_GUESS = pairs(
    "creo que/I think,no sé si/I don't know if,estoy seguro de que/I am sure that,"
    "supongo que/I suppose"
)
_FACT = pairs(
    "creo que/I think,sé que/I know that,no sé si/I don't know if,es verdad que/it is true that,"
    "me parece que/it seems to me that"
)


@family(2.5)
def i_think(d: Dice) -> Pair:
    """Creo que Ana vive en Madrid; no sé si Luis vendrá mañana."""
    who = su.named(d)
    ahead = d.chance(0.5)
    v = vp(d, who, vb.WILLED if ahead else vb.EVENTS, 0.3)
    tense, kind = ("fut", "ahead") if ahead else ("pret", "past")
    sub = also(clause(who, v, tense), when(d, v.flags, kind))
    start = d.pick(_GUESS) if ahead else d.pick(_FACT)
    return say((f"{start[0]} {sub[0]}", f"{start[1]} {sub[1]}"))


@family(2.5)
def says_both(d: Dice) -> Pair:
    """Ana dice que Luis va a vender su coche y que sus padres van a viajar a Lima mañana."""
    first = su.named(d)
    second = su.other(d, first)
    third = su.other(d, second)
    while third.en in first.en or first.en in third.en or third.key == first.key:
        third = su.other(d, second)
    tense, kind = d.pick((("goto", "ahead"), ("fut", "ahead"), ("perf", "lately")))
    verb = d.pick((simple("decir", "", "say"), simple("creer", "", "think")))
    start = clause(first, verb, "pres")
    group = vb.EVENTS if tense == "perf" else vb.WILLED
    one = clause(second, vp(d, second, group, 0.4), tense, shown=second.p in (0, 2))
    v = vp(d, third, group, 0.4)
    two = also(clause(third, v, tense, shown=third.p in (0, 2)), when(d, v.flags, kind))
    left = f"{start[0]} que {one[0]} y que {two[0]}"
    return say((left, f"{start[1]} that {one[1]} and that {two[1]}"))


_LINKED = tuple(f for f in vb.HABITUAL if "x" not in f.flags)
TENSES: tuple[tuple[str, tuple[Frame, ...], str], ...] = (
    ("pret", vb.EVENTS, "past"), ("pret", vb.EVENTS, "past"), ("pres", _LINKED, "habit"),
    ("fut", vb.WILLED, "ahead"), ("goto", vb.WILLED, "ahead"), ("perf", vb.EVENTS, "lately"),
)  # fmt: skip


def timed(d: Dice, who: Who, tense: str, group: tuple[Frame, ...], kind: str) -> Pair:
    """A clause, mostly with an adverbial of time."""
    v = vp(d, who, group, 0.3)
    return also(
        clause(who, v, tense, shown=True), when(d, v.flags, kind) if d.chance(0.6) else NONE
    )


def linked(left: Pair, right: Pair, word: str) -> Pair:
    """Two main clauses with 'y' (e before i) or 'pero'."""
    if word == "pero":
        return f"{left[0]}, pero {right[0]}", f"{left[1]}, but {right[1]}"
    y = "e" if right[0].startswith(("I", "i", "hi")) and not right[0].startswith("hie") else "y"
    return f"{left[0]} {y} {right[0]}", f"{left[1]}, and {right[1]}"


@family(4)
def two_people(d: Dice) -> Pair:
    """Ana compró una falda y yo vendí mi coche."""
    first = su.subject(d)
    second = su.other(d, first)
    tense, group, kind = d.pick(TENSES)
    one = vp(d, first, group, 0.3)
    left = also(clause(first, one, tense), when(d, one.flags, kind) if d.chance(0.8) else NONE)
    right = clause(second, vp(d, second, group, 0.3), tense, shown=True)
    return say(linked(left, right, "y" if d.chance(0.8) else "pero"))


@family(3.5)
def but_not_me(d: Dice) -> Pair:
    """Ana compró una falda, pero yo no; Luis nada bien y su hermano también."""
    first = su.subject(d)
    second = su.other(d, first)
    tense, group, kind = d.pick(TENSES)
    one = vp(d, first, group, 0.3)
    left = also(clause(first, one, tense), when(d, one.flags, kind) if d.chance(0.6) else NONE)
    f = en.finite(one.base, tense, second.e)
    if d.chance(0.55):
        right = f"{second.full} no", f"{second.en} {f.negative}"
        return say(linked(left, right, "pero"))
    return say(linked(left, (f"{second.full} también", f"{second.en} {f.auxiliary} too"), "y"))


_FIRST = acts(
    "levantarse/temprano/get up early, llegar/a casa/get home, levantarse/tarde/get up late,"
    "volver/del trabajo/come back from work, salir/de casa/leave home,"
    "levantarse/a las siete/get up at seven, cenar/temprano/have dinner early"
)
_SHOWER, _REST = simple("ducharse", "", "take a shower"), simple("descansar", "", "rest")
_BREAKFAST = simple("preparar", "el desayuno", "make breakfast")


@family(3)
def same_person(d: Dice) -> Pair:
    """Ayer me levanté temprano, me duché y desayuné en casa."""
    who = su.subject(d)
    tense = d.pick(("pret", "pret", "pres", "fut"))
    day = d.pick({"pret": fr.PAST_NEAR, "pres": fr.HABIT, "fut": fr.AHEAD[:6]}[tense])
    first, last = d.pick(_FIRST), again(who)
    while "trabajo" in first.tail_es and who.en in su.CHILDREN:
        first = d.pick(_FIRST)
    v = vp(d, last, _EASY, 0.4)
    one, two = also(clause(who, first, tense), day, True), clause(last, v, tense)
    end = _without_subject(two[1])
    middle = {"levantar": (_SHOWER, _BREAKFAST), "llegar": (_SHOWER, _REST), "volver": (_SHOWER,)}
    if v.verb == "descansar" or first.verb not in middle or d.chance(0.4):
        link = "e" if two[0].startswith("i") else "y"
        return say((f"{one[0]} {link} {two[0]}", f"{one[1]} and {end}"))
    three = clause(last, d.pick(middle[first.verb]), tense)
    link = "e" if two[0].startswith("i") else "y"
    left = f"{one[0]}, {three[0]} {link} {two[0]}"
    return say((left, f"{one[1]}, {_without_subject(three[1])} and {end}"))


def _without_subject(english: str) -> str:
    """The clause without its one-word subject and without 'will', to stand after 'and'."""
    return english.split(" ", 1)[1].removeprefix("will ")
