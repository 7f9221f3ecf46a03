"""Families about going places, knowing, somebody and nobody."""

from grammar import english as en
from grammar import frames as fr
from grammar import lexicon as lx
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import NONE, also, clause, question, say, spanish_verb, when
from grammar.family import family
from grammar.phrases import Dice, Pair, join
from grammar.questions import without_owner
from grammar.statements import formerly_so
from grammar.subjects import Who
from grammar.tables import lines, pairs
from grammar.verbs import acts, simple, vp

_FAR = pairs("en tren/by train,en autobús/by bus,en coche/by car,en avión/by plane")
_NEAR = pairs(
    "en autobús/by bus,en coche/by car,en bicicleta/by bicycle,a pie/on foot,en metro/by subway"
)


def _goal(d: Dice, who: Who) -> Pair:
    kind = d.random()
    if kind < 0.2 and who.en not in su.CHILDREN:
        return "al trabajo", "to work"
    if kind < 0.35 and who.en not in su.GROWN:
        return "a la escuela", "to school"
    place = ph.the(d.pick(ph.NOUNS["place"]))
    return f"a {place.es}", f"to {place.en}"


@family(3.5)
def goes_by(d: Dice) -> Pair:
    """Mañana iremos a Sevilla en tren."""
    who, far = su.subject(d), d.chance(0.4)
    city = d.pick(lx.CITIES)
    goal = (f"a {city[0]}", f"to {city[1]}") if far else _goal(d, who)
    means = d.pick(_FAR if far else _NEAR)
    v = simple("ir", f"{goal[0]} {means[0]}", f"go {goal[1]} {means[1]}")
    tense = d.pick(
        ("pret", "fut", "want") if far else ("pret", "fut", "want", "used", "pres", "pres")
    )
    if tense == "used":
        return say(formerly_so(clause(who, v, tense, shown=who.p in (0, 2))))
    kind = {"pres": "habit", "pret": "past"}.get(tense, "ahead")
    late = when(d, "g" if far else "xh", kind) if d.chance(0.7) else NONE
    if d.chance(0.15):
        return say(also(question(who, v, tense), late), "?")
    return say(also(clause(who, v, tense), late, d.chance(0.2)))


_ADVENTURES = acts(
    "montar/a caballo/ride a horse, viajar/en avión/travel by plane, "
    "nadar/en el mar/swim in the sea,"
    "comer/pescado crudo/eat raw fish, subir/a esa montaña/climb that mountain, "
    "ver/la nieve/see snow,"
    "probar/la comida japonesa/try Japanese food, ganar/un premio/win a prize,"
    "escribir/un poema/write a poem, dormir/en una tienda de campaña/sleep in a tent"
)
_TIMES = pairs("dos veces/twice,muchas veces/many times,tres veces/three times,una vez/once")


@family(1.7)
def ever(d: Dice) -> Pair:
    """¿Has estado alguna vez en Perú?; nunca he visto un oso."""
    who, kind = su.subject(d), d.random()
    v = d.pick(_ADVENTURES)
    if kind < 0.5:
        place = d.pick(lx.CITIES + lx.COUNTRIES)
        v = simple("estar", f"en {place[0]}", f"be to {place[1]}")
    elif kind < 0.75:
        one = ph.a(d.pick(ph.NOUNS["animal"][9:]))
        v = simple("ver", one.es, f"see {one.en}")
    if d.chance(0.4) and who.key not in ("I", "we"):
        first, rest = spanish_verb(v.verb, False, "perf", who.p)
        f = en.finite(v.base, "perf", who.e)
        left = join(first, rest, who.es, "alguna vez", v.tail_es)
        return say((left, join(f.auxiliary, who.en, "ever", f.rest, v.tail_en)), "?")
    if d.chance(0.6):
        return say(clause(who, v, "perf", mid=("nunca", "never")))
    return say(also(clause(who, v, "perf"), d.pick(_TIMES)))


@family(0.6)
def capital(d: Dice) -> Pair:
    """Lima es la capital de Perú."""
    city, country = (text.split("/") for text in d.pick(lx.CAPITALS))
    of = f"la capital de {country[0]}", f"the capital of {country[1]}"
    kind = d.between(0, 3)
    if kind == 0:
        return say((f"cuál es {of[0]}", f"what is {of[1]}"), "?")
    if kind == 1:
        return say((f"{of[0]} es {city[0]}", f"{of[1]} is {city[1]}"))
    if kind == 2:
        return say((f"{city[0]} es {of[0]}", f"{city[1]} is {of[1]}"))
    return say((f"sabías que {city[0]} es {of[0]}", f"did you know that {city[1]} is {of[1]}"), "?")


_NOBODY = acts(
    "ver/a nadie/see anyone, hablar/con nadie/talk to anyone, comer/nada/eat anything,"
    "comprar/nada/buy anything, decir/nada/say anything, hacer/nada/do anything,"
    "llamar/a nadie/call anyone, beber/nada/drink anything, invitar/a nadie/invite anyone"
)
_NOTHING = acts(
    "entender/nada/understand anything, encontrar/nada/find anything, oír/nada/hear anything,"
    "conocer/a nadie/meet anyone, perder/nada/lose anything"
)
_LATE = {
    "pret": [*fr.PAST[:3], *fr.PAST_DAYPART, NONE], "perf": [*fr.LATELY[:2], NONE, NONE],
    "want": [NONE],
}  # fmt: skip


@family(2)
def nobody_object(d: Dice) -> Pair:
    """No vi a nadie en la calle; no he comido nada hoy."""
    who, v = su.subject(d), d.pick(_NOBODY + _NOTHING)
    tense = d.pick(("pret", "pret", "perf") if v in _NOTHING else ("pret", "pret", "perf", "want"))
    return say(also(clause(who, v, tense, True), d.pick(_LATE[tense])))


_FREE = {name: without_owner(group) for name, group in (("done", vb.EVENTS), ("todo", vb.WILLED))}


@family(2)
def nobody_subject(d: Dice) -> Pair:
    """Nadie quiere lavar los platos; alguien ha roto la ventana."""
    none = d.chance(0.5)
    who = Who(
        *(("nadie", "nadie", "nobody") if none else ("alguien", "alguien", "someone")), 2, 2, "they"
    )
    tense = d.pick(("pret", "perf", "want", "fut") if none else ("pret", "perf", "goto"))
    group = _FREE["done" if tense in ("pret", "perf") else "todo"]
    v = vp(d, who, group, 0.3)
    while " con " in v.tail_es:
        v = vp(d, who, group, 0.3)
    kind = {"pret": "past", "fut": "ahead", "goto": "ahead"}.get(tense, "")
    return say(
        also(clause(who, v, tense), when(d, v.flags, kind) if kind and d.chance(0.5) else NONE)
    )


_SPOKEN = pairs(
    "aquí/here,en este hotel/in this hotel,en esta tienda/in this store,en mi familia/in my family,"
    "en mi oficina/in my office,en muchos países/in many countries,en esta ciudad/in this city"
)
_SOLD = pairs(
    "aquí/here,en esta tienda/in this store,en esta calle/on this street,"
    "en el mercado/at the market"
)


@family(0.9)
def notices(d: Dice) -> Pair:
    """Aquí se venden bicicletas viejas; en este hotel se habla español."""
    if d.chance(0.4):
        tongue, place = d.pick(ph.NOUNS["language"]), d.pick(_SPOKEN)
        return say((f"{place[0]} se habla {tongue.es}", f"{tongue.en} is spoken {place[1]}"))
    name, place = (
        d.pick(("vehicle", "furniture", "clothes", "printed", "shoes", "gift")),
        d.pick(_SOLD),
    )
    phrase = ph.bare(d.pick(ph.NOUNS[name]), True, d.pick([*lx.SUITS[name].split(), ""]))
    return say((f"{place[0]} se venden {phrase.es}", f"{phrase.en} are sold {place[1]}"))


_FOUNDED = {"construir": "was built", "abrir": "opened", "cerrar": "closed", "vender": "was sold"}
_PUBLIC = [n for n in ph.NOUNS["place"] if n.en not in ("park", "beach", "square", "castle")]


@family(0.9)
def was_built(d: Dice) -> Pair:
    """El museo se construyó en 1905."""
    verb = d.pick(tuple(_FOUNDED))
    opens = verb in ("abrir", "cerrar")
    thing = ph.the(d.pick(_PUBLIC if opens else ph.NOUNS["building"]))
    year = d.between(1890, 2020)
    left = f"{thing.es} se {es.verb(verb).tenses['pret'][2]} en {year}"
    return say((left, f"{thing.en} {_FOUNDED[verb]} in {year}"))


# question word / verb and object / English / tense
_WONDERED = tuple(
    row.split("|")
    for row in lines("""
    dónde|where|vivir//live|pres
    dónde|where|trabajar//work|pres
    dónde|where|estar//be|pres
    cuándo|when|llegar//arrive|fut
    cuándo|when|volver//come back|fut
    cuándo|when|salir//leave|fut
    por qué|why|llorar//cry|prog
    por qué|why|estar/enfadado/be angry|pres
    por qué|why|no_venir//come|pret
    qué|what|querer//want|pres
    qué|what|decir//say|pret
    qué|what|comprar//buy|pret
    qué|what|hacer//do|pret
    qué|what|necesitar//need|pres
    adónde|where|ir//go|pret
    cómo|how|volver/a casa/get home|pret
    con quién|who|vivir//live with|pres
    a qué hora|what time|llegar//arrive|fut
    cuánto|how much|pagar//pay|pret
    """)
)
_WONDER = pairs(
    "no sé/I don't know,quiero saber/I want to know,nadie sabe/nobody knows,sabes/do you know,"
    "no recuerdo/I don't remember,dime/tell me"
)


@family(2.5)
def knows_where(d: Dice) -> Pair:
    """No sé dónde vive Ana; ¿sabes cuándo llegará tu hermano?"""
    who = d.pick(su.NAMES + su.KIN)
    wh, english, words, tense = d.pick(_WONDERED)
    v = acts(words.removeprefix("no_"))[0]
    neg = words.startswith("no_")
    tail = es.adjective(v.tail_es, who.g, who.many) if v.base == "be" and v.tail_es else v.tail_es
    first, rest = spanish_verb(v.verb, False, tense, who.p)
    left = join(wh, "no" if neg else "", first, rest, tail, who.es)
    right = f"{english} {clause(who, v, tense, neg)[1]}"
    start = d.pick(_WONDER)
    return say((f"{start[0]} {left}", f"{start[1]} {right}"), "?" if start[0] == "sabes" else ".")
