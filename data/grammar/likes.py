"""Families with the person in the dative: liking things and doings, giving and lending."""

from grammar import english as en
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import NONE, also, clause, say, spanish_verb, to_infinitive, when
from grammar.family import family
from grammar.phrases import Dice, Pair, join
from grammar.subjects import Who, whom
from grammar.tables import pairs, words
from grammar.verbs import acts, vp

_KINDS = words(
    "the.fruit the.animal the.vegetable mass.food mass.fresh mass.drink mass.subject "
    "mass.alcohol game.sport this.sight this.watch this.clothes this.furniture"
)


def _liked(d: Dice) -> tuple[str, str, bool]:
    """Something to like: Spanish with article, English, and whether Spanish has it as plural."""
    kind, _, name = d.pick(_KINDS).partition(".")
    noun = d.pick(ph.NOUNS[name])
    if kind == "the":
        return ph.the(noun, True).es, noun.en_many, True
    if kind == "this":
        many = d.chance(0.3)
        phrase = ph.this(noun, many, d.chance(0.3))
        return phrase.es, phrase.en, many
    if noun.es == "matemáticas":
        return "las matemáticas", noun.en, True
    return ph.the(noun).es, noun.en, False


def _english(who: Who, base: str, tense: str, neg: bool, rest: str) -> str:
    f = en.finite(base, "used" if tense == "imp" and not neg else tense, who.e)
    return join(who.en, f.negative if neg else f.positive, f.rest if neg else "", rest)


_LOVE = acts("gustar//like, gustar//like, encantar//love")


@family(3.5)
def like_things(d: Dice) -> Pair:
    """A Ana le gustan los gatos; no me gusta la historia."""
    who, verb = su.single(d), d.pick(_LOVE)
    left, right, many = _liked(d)
    tense = d.pick(("pres", "pres", "pres", "imp"))
    neg = d.chance(0.3) and verb.base == "like"
    form = es.verb(verb.verb).tenses[tense][4 if many else 2]
    much = ("mucho", "a lot") if verb.base == "like" and not neg and d.chance(0.25) else NONE
    to_me, clitic = _stressed(d, who), ph.DATIVE[who.p]
    spanish = join(to_me, "no" if neg else "", clitic, form, much[0], left)
    return say((spanish, _english(who, verb.base, tense, neg, join(right, much[1]))))


def _stressed(d: Dice, who: Who) -> str:
    """'a Ana', needed for the third person; now and then 'a mí'."""
    return who.a if who.p in (2, 4) or d.chance(0.2) else ""


@family(1.5)
def was_liked(d: Dice) -> Pair:
    """Me gustó mucho la película; ¿te gustó el concierto?"""
    who = su.single(d)
    noun = d.pick(ph.NOUNS[d.pick(("watch", "event", "meal", "read", "sight"))])
    thing = ph.the(noun)
    form = es.verb("gustar").tenses["pret"][2]
    a = who.a if who.p in (2, 4) else ""
    if who.en == "you" and d.chance(0.5):
        return say((join(a, ph.DATIVE[who.p], form, thing.es), f"did you like {thing.en}"), "?")
    neg = d.chance(0.35)
    much = ("mucho", "a lot") if not neg and d.chance(0.5) else NONE
    left = join(a, "no" if neg else "", ph.DATIVE[who.p], form, much[0], thing.es)
    return say((left, _english(who, "like", "pret", neg, join(thing.en, much[1]))))


@family(3)
def like_doing(d: Dice) -> Pair:
    """Me gusta leer novelas; a mis hijos no les gusta madrugar."""
    who, verb = su.single(d), d.pick(_LOVE)
    todo = to_infinitive(who, vp(d, who, vb.LEISURE, 0.35))
    neg = d.chance(0.25) and verb.base == "like"
    form = es.verb(verb.verb).tenses["pres"][2]
    left = join(_stressed(d, who), "no" if neg else "", ph.DATIVE[who.p], form, todo[0])
    return say((left, _english(who, verb.base, "pres", neg, f"to {todo[1]}")))


@family(2.5)
def would_like(d: Dice) -> Pair:
    """A Luis le gustaría viajar a Perú; ¿te gustaría ver una película?"""
    who = su.single(d)
    v = vp(d, who, vb.WILLED, 0.35)
    todo = to_infinitive(who, v)
    late = when(d, v.flags, "ahead") if d.chance(0.3) else NONE
    left = join(_stressed(d, who), ph.DATIVE[who.p], es.verb("gustar").tenses["cond"][2], todo[0])
    if who.en == "you" and d.chance(0.7):
        return say(also((left, f"would you like to {todo[1]}"), late), "?")
    return say(also((left, f"{who.en} would like to {todo[1]}"), late))


@family(1.5)
def do_you_like(d: Dice) -> Pair:
    """¿Te gustan los perros?; ¿a Ana le gusta bailar?"""
    who = d.pick((*su.PRONOUNS[2:3], *su.PRONOUNS[6:8], su.named(d)))
    a = who.a if who.p in (2, 4) else ""
    do = en.finite("like", "pres", who.e).auxiliary
    left, right, many = _liked(d)
    if d.chance(0.35):
        todo = to_infinitive(who, vp(d, who, vb.LEISURE, 0.2))
        left, right, many = todo[0], f"to {todo[1]}", False
    form = es.verb("gustar").tenses["pres"][4 if many else 2]
    return say((join(a, ph.DATIVE[who.p], form, left), f"{do} {who.en} like {right}"), "?")


def _receiver(d: Dice, who: Who) -> Who:
    """Somebody else, whom a clitic or 'a' and a name stand for."""
    to = su.other(d, who)
    while to.en.endswith(" and I") or to.en == "they":
        to = su.other(d, who)
    return to


_GIVING = {
    "gift": acts("dar//give, regalar//give, comprar//buy, traer//bring"),
    "mail": acts("enviar//send, dar//give"),
    "loan": acts("prestar//lend, enseñar//show, vender//sell"),
}
_OCCASIONS = pairs("por {} cumpleaños/for {} birthday,por Navidad/for Christmas")


@family(4)
def gives(d: Dice) -> Pair:
    """Le di un libro a mi hermana; Ana nos enseñó su coche."""
    who = su.subject(d)
    to = _receiver(d, who)
    name = d.pick(("gift", "gift", "mail", "loan"))
    v, noun = d.pick(_GIVING[name]), d.pick(ph.NOUNS[name])
    mine = v.base in ("show", "sell") or (v.base == "lend" and d.chance(0.6))
    thing = ph.my(noun, who.owner) if mine else ph.a(noun)
    tense = d.pick(("pret", "pret", "fut", "goto", "perf"))
    first, rest = spanish_verb(v.verb, False, tense, who.p)
    left = join(
        who.es, ph.DATIVE[to.p], first, rest, thing.es, f"a {to.full}" if to.p in (2, 4) else ""
    )
    right = f"{who.en} {en.finite(v.base, tense, who.e).positive} {whom(to)} {thing.en}"
    kind = {"pret": "past", "fut": "ahead", "goto": "ahead", "perf": "lately"}[tense]
    late = when(d, "", kind) if d.chance(0.4) else NONE
    if name == "gift" and d.chance(0.2):
        day = d.pick(_OCCASIONS)
        late = day[0].replace("{}", ph.MI[to.p]), day[1].replace("{}", to.my)
    return say(also((left, right), late))


_PASSED_ON = {
    "gift": (
        acts("comprar//buy, encontrar//find, recibir//receive"),
        acts("dar//give, enseñar//show"),
    ),
    "loan": (acts("comprar//buy, encontrar//find"), acts("prestar//lend, dar//give, vender//sell")),
    "mail": (acts("escribir//write"), acts("enviar//send, dar//give")),
}


@family(3)
def hands_it_on(d: Dice) -> Pair:
    """Compré un reloj y se lo di a mi hermano; Ana escribió dos cartas y me las envió."""
    who = su.single(d)
    to = _receiver(d, who)
    name = d.pick(tuple(_PASSED_ON))
    first, then = (d.pick(verbs) for verbs in _PASSED_ON[name])
    nouns = ph.NOUNS[name]
    noun = d.pick([n for n in nouns if name != "mail" or n.es not in ("paquete", "regalo")])
    thing = d.pick((ph.a(noun), ph.a(noun), ph.the(noun), ph.some(noun, d.between(2, 4))))
    act = first._replace(tail_es=thing.es, tail_en=thing.en)
    left, right = clause(who, act, "pret")
    clitic = "se" if to.p in (2, 4) else ph.DATIVE[to.p]
    form = spanish_verb(then.verb, False, "pret", who.p)[0]
    after = join(clitic, thing.it_es, form, f"a {to.full}" if to.p in (2, 4) else "")
    given = en.finite(then.base, "pret", who.e).positive
    return say((f"{left} y {after}", f"{right} and {given} {thing.it_en} to {whom(to)}"))
