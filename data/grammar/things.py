"""Families about things, places and animals: what they are like, where they are, what there is."""

from grammar import english as en
from grammar import lexicon as lx
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar.clauses import NONE, clause, say
from grammar.family import family
from grammar.persons import own
from grammar.phrases import Dice, Noun, Pair, Phrase, join
from grammar.tables import lines, pairs, words
from grammar.verbs import simple

ALL_NOUNS = {n.es: n for rows in ph.NOUNS.values() for n in rows}
_SHARED = frozenset(
    n.en for c in ("home", "vehicle", "furniture", "room", "pet", "animal") for n in ph.NOUNS[c]
)


def is_(phrase: Phrase, tense: str = "pres", verb: str = "ser") -> Pair:
    """The forms of to be that agree with a thing."""
    english = en.finite("be", tense, 1 if phrase.many else 2).positive
    return es.verb(verb).tenses[tense][4 if phrase.many else 2], english


def marked(d: Dice, noun: Noun, many: bool = False) -> Phrase:
    """A definite thing: this, that, my, the."""
    kind = d.random()
    if kind < 0.35:
        return ph.this(noun, many, d.chance(0.4))
    if kind < 0.75:
        return ph.my(noun, d.pick(("I", "you", "we") if noun.en in _SHARED else ("I", "you")), many)
    return ph.the(noun, many)


def of_person(d: Dice, noun: Noun, many: bool = False) -> Phrase:
    """el coche de Juan / Juan's car."""
    who = su.named(d)
    while who.en.startswith("the ") and d.chance(0.7):
        who = su.named(d)
    thing = ph.the(noun, many)
    english = f"{who.en}{own(who.en, who.many)} {thing.en[4:]}"
    return Phrase(f"{thing.es} de {who.es}", english, thing.g, many)


@family(0.8)
def noun_phrase(d: Dice) -> Pair:
    """La casa roja."""
    name = d.pick([n for n in lx.SUITS if lx.SUITS[n] and n not in ("job", "jobf")])
    noun, adj = d.pick(ph.NOUNS[name]), d.pick(lx.SUITS[name].split())
    if name == "fresh":
        phrase = ph.the(noun, False, adj)
    elif d.chance(0.2):
        phrase = ph.a(noun, adj)
    else:
        many = d.chance(0.35)
        rows = [ph.the(noun, many, adj), ph.this(noun, many, d.chance(0.5), adj)]
        if name != "folk":
            rows += [
                ph.my(noun, d.pick(("I", "you")), many, adj),
                ph.some(noun, d.between(2, 12), adj),
            ]
        phrase = d.pick(rows)
    return say((phrase.es, phrase.en), "")


_QUALITIES = {
    "read": "interesante aburrido largo corto divertido",
    "watch": "interesante aburrido largo entretenido",
    "clothes": "nuevo caro barato bonito elegante viejo rojo azul negro blanco verde",
    "shoes": "nuevo caro cómodo barato negro marrón",
    "vehicle": "nuevo viejo rápido lento caro barato rojo blanco azul",
    "home": "grande pequeño bonito antiguo tranquilo caro",
    "room": "grande pequeño luminoso oscuro tranquilo",
    "furniture": "nuevo viejo grande pequeño pesado barato caro",
    "lost": "nuevo viejo negro rojo pequeño",
    "sight": "antiguo hermoso famoso grande",
    "building": "alto moderno antiguo grande",
    "task": "difícil fácil importante interesante",
    "animal": "grande pequeño fuerte hermoso peligroso rápido",
    "gift": "bonito caro barato nuevo",
}
_STATES = {
    "opening": "abierto cerrado", "room": "limpio sucio vacío", "dish": "limpio sucio",
    "fragile": "roto", "clothes": "limpio sucio", "shoes": "limpio sucio",
    "vehicle": "sucio limpio",
}  # fmt: skip
_PLAIN = words("rojo azul verde negro blanco amarillo gris marrón roto nuevo abierto cerrado vacío")
_POINTED = ("sight", "building", "animal", "watch", "task")
_OWNED = ("clothes", "shoes", "vehicle", "home", "lost", "furniture")
_DEGREES = (NONE, *pairs("muy/very,bastante/quite,demasiado/too"))
_EXCESS = words(
    "caro grande pequeño largo corto rápido lento viejo pesado difícil fácil alto oscuro"
)


def _qualified(d: Dice, name: str, many: bool) -> Phrase:
    noun = d.pick(ph.NOUNS[name])
    if name in _POINTED:
        return ph.this(noun, many, d.chance(0.4))
    return of_person(d, noun, many) if name in _OWNED and d.chance(0.4) else marked(d, noun, many)


@family(4)
def thing_is(d: Dice) -> Pair:
    """Esta falda es muy cara; el coche de Juan es rojo; la puerta está abierta."""
    state = d.chance(0.25)
    table = _STATES if state else _QUALITIES
    name = d.pick(tuple(table))
    many = d.chance(0.3) or name == "shoes"
    phrase, adj = _qualified(d, name, many), d.pick(table[name].split())
    word = es.adjective(adj, phrase.g, many)
    tense = d.pick(("pres", "pres", "pres", "imp"))
    left, right = is_(phrase, tense, "estar" if state else "ser")
    kind = d.random()
    if kind < 0.15:
        return say((f"{left} {word} {phrase.es}", f"{right} {phrase.en} {lx.ADJECTIVES[adj]}"), "?")
    if kind < 0.3:
        pair = f"{phrase.es} no {left} {word}", f"{phrase.en} {right}n't {lx.ADJECTIVES[adj]}"
        return say(pair)
    degrees = _DEGREES if adj in _EXCESS else _DEGREES[:3]
    very = NONE if adj in _PLAIN else d.pick(degrees)
    return say((join(phrase.es, left, very[0], word),
                join(phrase.en, right, very[1], lx.ADJECTIVES[adj])))  # fmt: skip


_AROUND = pairs(
    "delante de/in front of,detrás de/behind,cerca de/near,al lado de/next to,lejos de/far from"
)
_ON = pairs("sobre/on,en/on,debajo de/under,al lado de/next to")
_IN = pairs("en/in,dentro de/inside")
_TOP = tuple(n for n in ph.NOUNS["furniture"] if n.es in (
    "mesa", "silla", "cama", "sofá", "escritorio", "alfombra"))  # fmt: skip
_HOLLOW = tuple(ALL_NOUNS[w] for w in ("maleta", "bolsa", "mochila", "caja", "cajón"))
SMALL = ("printed", "press", "thing", "lost", "fruit")


def near_place(d: Dice, but: Noun) -> Pair:
    """A preposition and a place other than the one given."""
    noun = d.pick([n for n in ph.NOUNS["place"] if n != but])
    prep, place = d.pick(_AROUND), ph.the(noun)
    return f"{prep[0]} {place.es}", f"{prep[1]} {place.en}"


def spot(d: Dice, but: Noun) -> Pair:
    """A preposition and a piece of furniture or a container that can hold small things."""
    hollow = d.chance(0.3) and but not in _HOLLOW
    thing = ph.the(d.pick(_HOLLOW if hollow else _TOP))
    prep = d.pick(_IN if hollow else _ON)
    return f"{prep[0]} {thing.es}", f"{prep[1]} {thing.en}"


@family(2)
def place_is(d: Dice) -> Pair:
    """La farmacia está cerca de la iglesia; ¿dónde está el museo más cercano?"""
    noun = d.pick(ph.NOUNS["place"])
    place = ph.the(noun)
    kind = d.random()
    if kind < 0.65:
        where = near_place(d, noun)
        return say((f"{place.es} está {where[0]}", f"{place.en} is {where[1]}"))
    if kind < 0.85:
        return say((f"dónde está {place.es}", f"where is {place.en}"), "?")
    nearest = f"{place.es} más {es.adjective('cercano', place.g, False)}"
    return say((f"dónde está {nearest}", f"where is the nearest {noun.en}"), "?")


@family(3.5)
def located(d: Dice) -> Pair:
    """Las llaves están sobre la mesa; ¿dónde está mi paraguas?"""
    kind, many = d.random(), d.chance(0.3)
    noun = d.pick(ph.NOUNS[d.pick(SMALL)])
    if kind < 0.15:
        noun = d.pick(ph.NOUNS[d.pick(("lost", "thing"))])
        thing = ph.my(noun, d.pick(("I", "you")), many)
        left, right = is_(thing, d.pick(("pres", "pres", "imp")), "estar")
        return say((f"dónde {left} {thing.es}", f"where {right} {thing.en}"), "?")
    if kind < 0.3:
        pet = marked(d, d.pick(ph.NOUNS["pet"][:2]))
        does = d.pick(pairs("está/is,duerme/sleeps,está durmiendo/is sleeping,se escondió/hid"))
        on = d.pick(_ON)
        top = ph.the(d.pick(_TOP))
        return say((f"{pet.es} {does[0]} {on[0]} {top.es}", f"{pet.en} {does[1]} {on[1]} {top.en}"))
    fruit = noun in ph.NOUNS["fruit"]
    thing, where = ph.the(noun, many) if fruit else marked(d, noun, many), spot(d, noun)
    left, right = is_(thing, d.pick(("pres", "pres", "imp")), "estar")
    if d.chance(0.15):
        return say((f"{thing.es} no {left} {where[0]}", f"{thing.en} {right}n't {where[1]}"))
    return say((f"{thing.es} {left} {where[0]}", f"{thing.en} {right} {where[1]}"))


_TENSES = (("hay", "is", "are"), ("hay", "is", "are"), ("había", "was", "were"))
_TOWN = pairs("cerca de aquí/near here,en este barrio/in this neighborhood,"
              "en el pueblo/in the village,"
              "en esta calle/on this street")  # fmt: skip
_LARDER = pairs(
    "en la nevera/in the fridge,en casa/at home,en la mesa/on the table,en la cocina/in the kitchen"
)


@family(2.5)
def there_is(d: Dice) -> Pair:
    """No hay leche en la nevera; ¿hay un banco cerca de aquí?"""
    tense = d.pick(_TENSES)
    if d.chance(0.5):
        one, near = ph.a(d.pick(ph.NOUNS["place"])), d.pick(_TOWN)
        if d.chance(0.5):
            return say((f"hay {one.es} {near[0]}", f"is there {one.en} {near[1]}"), "?")
        return say((f"{tense[0]} {one.es} {near[0]}", f"there {tense[1]} {one.en} {near[1]}"))
    noun, where = d.pick(ph.NOUNS[d.pick(("food", "fresh", "drink"))]), d.pick(_LARDER)
    g = ph.gender(noun)
    much, little = es.adjective("mucho", g, False), es.adjective("poco", g, False)
    no, some, english = d.pick(
        (("no", "", "no"), ("no", "", "no"), ("", much, "a lot of"), ("", little, "little"),
         ("", "un poco de", "a little"))
    )  # fmt: skip
    return say((join(no, tense[0], some, noun.es, where[0]),
                f"there {tense[1]} {english} {noun.en} {where[1]}"))  # fmt: skip


_CROWDS = pairs(
    "en la plaza/in the square,en la calle/on the street,en la fiesta/at the party,"
    "en el museo/in the museum,en la estación/at the station,en el parque/in the park"
)
_FARM = tuple(n for n in ph.NOUNS["animal"][:13] if n.es not in ("pez", "ratón"))
_FIELDS = pairs(
    "en el campo/in the field,en la granja/on the farm,en el jardín/in the garden,"
    "cerca del río/near the river"
)


@family(3)
def there_are(d: Dice) -> Pair:
    """Hay tres libros sobre la mesa; había muchos turistas en la plaza."""
    tense, kind = d.pick(_TENSES), d.random()
    if kind < 0.3:
        noun, n, where = d.pick(ph.NOUNS["folk"]), d.between(2, 40), d.pick(_CROWDS)
    elif kind < 0.5:
        noun, n, where = d.pick(_FARM), d.between(2, 20), d.pick(_FIELDS)
    else:
        noun, n = d.pick(ph.NOUNS[d.pick(SMALL)]), d.between(2, 9)
        where = spot(d, noun)
        if d.chance(0.3):
            one = ph.a(noun, d.pick(("", "pequeño")))
            return say((f"{tense[0]} {one.es} {where[0]}", f"there {tense[1]} {one.en} {where[1]}"))
    phrase = ph.some(noun, n)
    if d.chance(0.35):
        many = d.pick((*ph.MANY[:2], ph.MANY[3]))
        plain = ph.bare(noun, True)
        phrase = Phrase(
            f"{es.adjective(many[0], plain.g, True)} {plain.es}", f"{many[1]} {plain.en}"
        )
    return say((f"{tense[0]} {phrase.es} {where[0]}", f"there {tense[2]} {phrase.en} {where[1]}"))


# who / verb / object / English verb phrase / time or place; = marks those that suit 'is doing'
_HABITS = tuple(
    row.split("|")
    for row in lines("""
    perro gato|dormir||sleep|=bajo la mesa/under the table,en mi cama/in my bed,todo el día/all day
    perro|correr||run|=por el parque/through the park,=por la playa/along the beach
    perro|ladrar||bark|por la noche/at night,=a los gatos/at the cats,mucho/a lot
    perro gato conejo|comer||eat|=en la cocina/in the kitchen,mucho/a lot
    gato|cazar|ratones|hunt mice|por la noche/at night,=en el jardín/in the garden
    gato|beber|leche|drink milk|todas las mañanas/every morning,=en la cocina/in the kitchen
    vaca oveja burro|comer|hierba|eat grass|=en el campo/in the field,todo el día/all day
    pájaro|cantar||sing|=en el árbol/in the tree,por la mañana/in the morning
    pájaro águila|volar||fly|=sobre el río/over the river,=sobre el bosque/over the forest
    pato pez|nadar||swim|=en el lago/in the lake,=en el río/in the river
    mono|comer|plátanos|eat bananas|=en el árbol/in the tree,todos los días/every day
    león tigre lobo oso|dormir||sleep|=bajo un árbol/under a tree,durante el día/during the day
    conejo caballo|comer|zanahorias|eat carrots|=en el jardín/in the garden
    gallina|dormir||sleep|=en el árbol/in the tree,por la noche/at night
    pájaro|beber|agua|drink water|=en la fuente/at the fountain,=en el río/at the river
    caballo|correr||run|=por el campo/across the field,=por la playa/along the beach
    """)
)


@family(3)
def animal_does(d: Dice) -> Pair:
    """El gato duerme bajo la mesa."""
    words, verb, tail, english, places = d.pick(_HABITS)
    noun, many = ALL_NOUNS[d.pick(words.split())], d.chance(0.35)
    kind = d.random()
    phrase = ph.the(noun, many)
    if noun in ph.NOUNS["pet"] and kind < 0.4:
        phrase = ph.my(noun, d.pick(("I", "you", "we")), many)
    elif kind < 0.6 and noun.es not in ("león", "tigre", "pez"):
        phrase = ph.the(noun, many, d.pick(("pequeño", "grande", "blanco", "negro", "viejo")))
    who = su.Who(phrase.es, phrase.es, phrase.en, 4 if many else 2, 1 if many else 2, "they")
    where, _, place = d.pick(places.split(",")).partition("/")
    v = simple(verb, join(tail, where.removeprefix("=")), f"{english} {place}")
    tenses = ("pres", "prog", "pret", "pprog") if where[0] == "=" else ("pres",)
    return say(clause(who, v, d.pick(tenses)))
