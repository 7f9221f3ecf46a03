"""Families that point back to a person or a thing: relative clauses and object pronouns."""

from grammar import english as en
from grammar import lexicon as lx
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import NONE, again, also, clause, question, say, when
from grammar.family import family
from grammar.phrases import Dice, Noun, Pair, Phrase, join
from grammar.subjects import Who
from grammar.tables import words
from grammar.verbs import VP, acts, simple, vp

_KNOWN_BY = tuple(
    f for f in vb.HABITUAL
    if f.verb in ("tocar", "trabajar", "enseñar", "cuidar", "estudiar")
    or (f.verb == "jugar" and f.prep == "a")
)  # fmt: skip
_SEEN = tuple(f for f in vb.ONGOING if "h" in f.flags and "x" not in f.flags)
_RELATED = words("hermano hermana primo prima tío tía amigo amiga vecino vecina")
_WORDS = words(
    "chico chica hombre mujer turista estudiante profesor profesora enfermera abogada escritora "
    "camarero"
)
_PERSONS = tuple(n for n in ph.NOUNS["folk"] if n.es in _WORDS)


def _somebody(d: Dice) -> tuple[Noun, Who]:
    noun = d.pick(_PERSONS)
    g = ph.gender(noun)
    return noun, Who("", "", "", 2, 2, "she" if g == "f" else "he", g)


def _in_city(d: Dice) -> VP:
    city = d.pick(lx.CITIES)
    return simple("vivir", f"en {city[0]}", f"live in {city[1]}")


@family(3)
def person_who(d: Dice) -> Pair:
    """La chica que toca el piano es mi prima; el hombre que está cantando es mi tío."""
    noun, who = _somebody(d)
    kind = d.random()
    if kind < 0.3:
        sub = clause(who, _in_city(d), "pres")
    elif kind < 0.6:
        sub = clause(who, vp(d, who, _KNOWN_BY, 0.3), "pres")
    else:
        sub = clause(who, vp(d, who, _SEEN, 0.4), "prog")
    head = ph.the(noun)
    if d.chance(0.65) or noun.es not in ("hombre", "mujer", "chico", "chica"):
        ends = [n for n in ph.NOUNS["kin"] if ph.gender(n) == who.g and n.es in _RELATED]
        end = ph.my(d.pick(ends), d.pick(("I", "I", "you", "we")))
    else:
        job = d.pick(ph.NOUNS["jobf" if who.g == "f" else "job"])
        end = Phrase(job.es, en.a(job.en))
    return say((f"{head.es} que {sub[0]} es {end.es}", f"{head.en} who {sub[1]} is {end.en}"))


@family(2)
def know_someone_who(d: Dice) -> Pair:
    """Conozco a un hombre que vive en París; conocí a una chica que tocaba el violín."""
    noun, who = _somebody(d)
    head, know = ph.a(noun), su.subject(d)
    past = d.chance(0.5)
    v = _in_city(d) if d.chance(0.4) else vp(d, who, _KNOWN_BY, 0.3)
    base = "meet" if past else "know"
    seen = clause(
        know, simple("conocer", f"a {head.es}", f"{base} {head.en}"), "pret" if past else "pres"
    )
    sub = clause(who, v, "imp" if past else "pres")
    return say((f"{seen[0]} que {sub[0]}", f"{seen[1]} who {sub[1]}"))


_MADE = {
    "read": acts("leer//read, escribir//write"),
    "printed": acts("comprar//buy, perder//lose, leer//read, encontrar//find"),
    "clothes": acts("comprar//buy, encontrar//find, vender//sell"),
    "watch": acts("ver//see"),
    "vehicle": acts("comprar//buy, vender//sell, reparar//fix, alquilar//rent"),
    "sight": acts("visitar//visit, ver//see"),
    "meal": acts("comer//eat, preparar//make, cocinar//cook"),
    "furniture": acts("comprar//buy, vender//sell"),
    "gift": acts("recibir//receive, encontrar//find, comprar//buy"),
    "home": acts("comprar//buy, alquilar//rent, visitar//visit"),
}
_SAID = {
    "read": "interesante aburrido largo divertido triste difícil",
    "printed": "interesante aburrido caro largo",
    "clothes": "caro barato bonito elegante", "watch": "interesante aburrido entretenido triste",
    "vehicle": "rápido caro viejo barato", "sight": "antiguo hermoso famoso grande",
    "meal": "delicioso caliente frío salado", "furniture": "caro barato bonito pesado",
    "gift": "bonito caro", "home": "grande pequeño antiguo tranquilo caro",
}  # fmt: skip
_VERY = (NONE, ("muy", "very"), ("muy", "very"), ("bastante", "quite"))


@family(4)
def thing_that(d: Dice) -> Pair:
    """El libro que compré ayer es muy interesante."""
    name = d.pick(tuple(_MADE))
    head, made, who = ph.the(d.pick(ph.NOUNS[name])), d.pick(_MADE[name]), su.subject(d)
    while made.verb in ("alquilar", "vender", "reparar") and who.en in su.CHILDREN:
        who = su.subject(d)
    flags = "g" if name in ("vehicle", "home", "sight", "furniture") else "o"
    sub = also(clause(who, made, "pret"), when(d, flags, "past") if d.chance(0.6) else NONE)
    adj = d.pick(_SAID[name].split())
    tense = "pret" if name == "watch" else "imp" if made.base in ("sell", "rent") else "pres"
    verb, very = "ser", d.pick(_VERY)
    if name == "meal":
        verb, tense, very = "estar", "imp", NONE if adj == "delicioso" else very
    elif name == "sight":
        very = _VERY[1]
    is_es, is_en = es.verb(verb).tenses[tense][2], en.finite("be", tense, 2).positive
    left = join(head.es, "que", sub[0], is_es, very[0], es.adjective(adj, head.g, False))
    return say((left, join(head.en, "that", sub[1], is_en, very[1], lx.ADJECTIVES[adj])))


# what is done first, what is done next, and how the second follows:
# + the same person goes on, - the same person does not, o somebody else does it
_FOLLOW = {
    "lost": "perder/lose/encontrar/find/o buscar/look for/encontrar/find/- "
    "perder/lose/encontrar/find/-",
    "printed": "comprar/buy/leer/read/+ comprar/buy/perder/lose/+ comprar/buy/leer/read/o",
    "read": "leer/read/entender/understand/- empezar/start/terminar/finish/- "
    "escribir/write/leer/read/o",
    "clothes": "ver/see/comprar/buy/- probarse/try on/comprar/buy/- probarse/try on/comprar/buy/+",
    "vehicle": "reparar/fix/vender/sell/+ lavar/wash/vender/sell/+",
    "fruit": "comprar/buy/comer/eat/+ lavar/wash/comer/eat/+ comprar/buy/comer/eat/o",
    "mail": "recibir/receive/abrir/open/- recibir/receive/abrir/open/+",
    "write": "escribir/write/enviar/send/+ escribir/write/enviar/send/-",
    "fragile": "comprar/buy/romper/break/o",
    "mendable": "romper/break/reparar/fix/o reparar/fix/romper/break/o",
}
_STEPS = {
    name: [tuple(p for p in row.split("/")) for row in text.replace("look for", "look_for")
           .replace("try on", "try_on").split()]
    for name, text in _FOLLOW.items()
}  # fmt: skip


@family(4)
def points_back(d: Dice) -> Pair:
    """Perdí las llaves, pero mi hermano las encontró."""
    who = su.subject(d)
    name = d.pick(tuple(_STEPS))
    verb, base, verb2, base2, how = d.pick(_STEPS[name])
    noun = d.pick(ph.NOUNS[name])
    if name == "lost":
        thing = ph.my(noun, who.owner, d.chance(0.25))
    else:
        thing = d.pick(
            (ph.the(noun), ph.a(noun), ph.the(noun, True), ph.some(noun, d.between(2, 5)))
        )
    act = simple(verb, thing.es, f"{base.replace('_', ' ')} {thing.en}")
    left, right = clause(who, act, "pret")
    second = su.other(d, who, su.NAMES + su.KIN) if how == "o" else again(who)
    next_one = simple(verb2, "", f"{base2} {thing.it_en}")
    form = clause(second._replace(es=""), next_one, "pret")[0]
    after = join(second.es, "no" if how == "-" else "", thing.it_es, form)
    english = clause(second, next_one, "pret", how == "-")[1]
    if how == "+":
        return say((f"{left} y {after}", f"{right} and {english.split(' ', 1)[1]}"))
    good = base2 in ("read", "fix")
    es_link, en_link = ("y", "and") if good and how == "o" else ("pero", "but")
    return say((f"{left}{',' if es_link == 'pero' else ''} {es_link} {after}",
                f"{right}, {en_link} {english}"))  # fmt: skip


_ASKED_FOR = {
    "lost": acts("encontrar//find, ver//see, tener//have, perder//lose, necesitar//need"),
    "read": acts("leer//read, entender//understand"),
    "mail": acts("recibir//receive, leer//read, abrir//open"),
    "clothes": acts("comprar//buy, querer//want, necesitar//need, lavar//wash"),
    "vehicle": acts("vender//sell, reparar//fix, lavar//wash, necesitar//need"),
}
_MOMENTARY = ("querer", "necesitar", "tener", "entender")


@family(2.5)
def ask_and_answer(d: Dice) -> Pair:
    """¿Has visto mi paraguas? Sí, lo he visto."""
    name = d.pick(tuple(_ASKED_FOR))
    act, noun, many = d.pick(_ASKED_FOR[name]), d.pick(ph.NOUNS[name]), d.chance(0.35)
    asked, me = d.pick((su.PRONOUNS[2], su.PRONOUNS[6])), su.PRONOUNS[0]
    if act.verb == "leer" and noun.es in ("paquete", "regalo"):
        act = _ASKED_FOR["mail"][0]
    mine = name in ("lost", "vehicle") and d.chance(0.6)
    thing = ph.my(noun, "I", many) if mine else ph.this(noun, many, d.chance(0.4))
    tense = "pres" if act.verb in _MOMENTARY else d.pick(("pret", "perf", "perf"))
    with_thing = act._replace(tail_es=thing.es, tail_en=thing.en)
    ask = say(question(asked, with_thing, tense), "?")
    yes = d.chance(0.5)
    form = clause(me, act, tense)[0]
    english = clause(me, act._replace(tail_en=thing.it_en), tense, neg=not yes)[1]
    if yes:
        return f"{ask[0]} Sí, {thing.it_es} {form}.", f"{ask[1]} Yes, {english}."
    return f"{ask[0]} No, no {thing.it_es} {form}.", f"{ask[1]} No, {english}."
