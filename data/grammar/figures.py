"""Families about numbers: prices, measures, quantities, orders in a shop."""

from grammar import counting
from grammar import english as en
from grammar import lexicon as lx
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import NONE, also, clause, question, say, spanish_verb, when
from grammar.family import family
from grammar.phrases import Dice, Noun, Pair, Phrase, join
from grammar.statements import formerly_so
from grammar.subjects import Who
from grammar.tables import lines, pairs
from grammar.verbs import acts, simple, vp


def _noun(word: str, english: str, g: str = "m") -> Noun:
    return Noun(word, es.plural(word), g, english, en.plural(english))


def amount(d: Dice, n: int, noun: Noun) -> Phrase:
    """A number with its noun, in words or figures."""
    if n > 12 and d.chance(0.35):
        return Phrase(f"{n} {noun.es_many}", f"{n} {noun.en_many}", ph.gender(noun), True)
    return ph.some(noun, n)


_PRICES = {"clothes": (12, 95), "shoes": (20, 120), "printed": (8, 35), "fruit": (2, 3),
           "furniture": (60, 990), "grocery": (2, 6), "cup": (2, 6), "gift": (9, 180),
           "thing": (2, 60)}  # fmt: skip
_COINS = (_noun("euro", "euro"), _noun("dólar", "dollar"))


@family(3)
def price(d: Dice) -> Pair:
    """Esta camisa cuesta veinticinco euros; ¿cuánto cuestan las manzanas?"""
    name = d.pick(tuple(_PRICES))
    small = name in ("grocery", "cup")
    noun, many = d.pick(ph.NOUNS[name]), not small and (name == "shoes" or d.chance(0.2))
    phrase = ph.this(noun, many, d.chance(0.3)) if d.chance(0.5) else ph.the(noun, many)
    phrase = ph.a(noun) if small else phrase
    money = amount(d, d.between(*_PRICES[name]), d.pick(_COINS))
    kind = d.random()
    if kind < 0.3 and name != "fruit":
        tail = f"pay {money.en} for {phrase.en}"
        return say(
            clause(su.subject(d), simple("pagar", f"{money.es} por {phrase.es}", tail), "pret")
        )
    tense = "pres" if small else d.pick(("pres", "pres", "pret"))
    who = Who(phrase.es, phrase.es, phrase.en, 4 if many else 2, 1 if many else 2, "they")
    if kind < 0.5:
        cost = simple("costar", "", "cost")
        return say(question(who, cost, tense, wh=("cuánto", "how much")), "?")
    return say(clause(who, simple("costar", money.es, f"cost {money.en}"), tense))


_MEASURED = tuple(
    row.split("|")
    for row in lines("""
    el edificio tiene|the building has|ventana|window|f|20|400||
    el hotel tiene|the hotel has|habitación|room|f|12|650||
    este libro tiene|this book has|página|page|f|60|990||
    la novela tiene|the novel has|capítulo|chapter|m|10|60||
    el pueblo tiene|the village has|habitante|inhabitant|m|90|1000||
    la escuela tiene|the school has|alumno|student|m|50|900||
    la torre mide|the tower is|metro|meter|m|20|300|de alto|high
    el puente mide|the bridge is|metro|meter|m|30|800|de largo|long
    la caja pesa|the box weighs|kilo|kilo|m|2|60||
    el viaje dura|the trip takes|hora|hour|f|2|30||
    la película dura|the movie lasts|minuto|minute|m|70|190||
    el museo tiene|the museum has|cuadro|painting|m|40|1000||
    el tren lleva|the train carries|pasajero|passenger|m|50|800||
    la biblioteca tiene|the library has|libro|book|m|200|1000||
    el granjero tiene|the farmer has|oveja|sheep|f|10|300||
    hay|there are|silla|chair|f|20|500|en la sala|in the hall
    hay|there are|árbol|tree|m|20|900|en el parque|in the park
    """)
)
_ROUGHLY = pairs("más de/more than,unos/about,casi/almost")


@family(3)
def measure(d: Dice) -> Pair:
    """El hotel tiene ciento veinte habitaciones; hay más de 300 sillas en la sala."""
    row = d.pick(_MEASURED)
    noun, n = _noun(*row[2:5]), d.between(int(row[5]), int(row[6]))
    rough: Pair = NONE
    if n > 40 and d.chance(0.4):
        rough, n = d.pick(_ROUGHLY), n // 10 * 10
        rough = ("unas", rough[1]) if rough[0] == "unos" and row[4] == "f" else rough
    many = amount(d, n, noun)
    return say((join(row[0], rough[0], many.es, row[7]), join(row[1], rough[1], many.en, row[8])))


_STARTS = pairs(
    "el pueblo/the village,la playa/the beach,el aeropuerto/the airport,nuestra casa/our house,"
    "el hotel/the hotel,la estación/the station"
)
_ENDS = pairs(
    "de aquí/from here,de la ciudad/from the city,de la frontera/from the border,"
    "del mar/from the sea"
)


@family(1)
def distance(d: Dice) -> Pair:
    """El pueblo está a treinta kilómetros de la ciudad."""
    unit = d.pick((_noun("kilómetro", "kilometer"), _noun("metro", "meter")))
    far, start, end = amount(d, d.between(2, 90), unit), d.pick(_STARTS), d.pick(_ENDS)
    if d.chance(0.4):
        far, start = (
            amount(d, d.between(90, 999), _noun("kilómetro", "kilometer")),
            d.pick(lx.CITIES),
        )
        end = _ENDS[0]
    return say((f"{start[0]} está a {far.es} {end[0]}", f"{start[1]} is {far.en} {end[1]}"))


_LANGUAGES = _noun("idioma", "language")
_COUNTED = (
    ("kin", "tener", "have"), ("read", "leer", "read"), ("language", "hablar", "speak"),
    ("fruit", "comer", "eat"), ("clothes", "comprar", "buy"), ("pet", "tener", "have"),
    ("watch", "ver", "see"), ("printed", "comprar", "buy"), ("mail", "recibir", "receive"),
)  # fmt: skip


@family(2)
def how_many(d: Dice) -> Pair:
    """¿Cuántos libros leíste el año pasado?; ¿cuántos años tiene Ana?"""
    who = su.subject(d)
    while who.key in ("I", "we"):
        who = su.subject(d)
    if d.chance(0.15):
        old = f"how old {en.finite('be', 'pres', who.e).positive} {who.en}"
        return say((join("cuántos años", es.verb("tener").tenses["pres"][who.p], who.es), old), "?")
    name, verb, base = d.pick(_COUNTED)
    noun = _LANGUAGES if name == "language" else d.pick(ph.NOUNS[name])
    if name == "kin":
        noun = d.pick([n for n in ph.NOUNS["kin"] if n.es in ("hermano", "hijo", "primo", "amigo")])
    lasting = verb in ("tener", "hablar")
    tense = "pres" if lasting else d.pick(("pret", "pret", "perf"))
    kind = "lately" if tense == "perf" else "past"
    late = when(d, "", kind) if not lasting and d.chance(0.5) else NONE
    wh = (
        f"{es.adjective('cuánto', ph.gender(noun), True)} {noun.es_many}",
        f"how many {noun.en_many}",
    )
    return say(also(question(who, simple(verb, "", base), tense, wh=wh), late), "?")


_ORDER = pairs("quisiera/I would like,quiero/I want,deme/give me,queremos/we want,póngame/give me")


@family(1.5)
def order(d: Dice) -> Pair:
    """Quisiera un kilo de tomates y una botella de agua, por favor."""
    noun = d.pick(ph.NOUNS[d.pick(("grocery", "cup", "snack", "fruit"))])
    phrase = ph.a(noun) if d.chance(0.5) else ph.some(noun, d.between(2, 9))
    start = d.pick(_ORDER)
    left, right = f"{start[0]} {phrase.es}", f"{start[1]} {phrase.en}"
    if d.chance(0.4):
        kinds = ph.NOUNS[d.pick(("grocery", "cup"))]
        more = ph.a(d.pick([n for n in kinds if n != noun]))
        left, right = f"{left} y {more.es}", f"{right} and {more.en}"
    return say((f"{left}, por favor", f"{right}, please"))


_SEEK = pairs(
    "busco/I am looking for,estoy buscando/I am looking for,quiero comprar/I want to buy,"
    "necesito/I need"
)
_WARES = ("i.clothes", "i.gift", "i.furniture", "i.printed")


@family(1.5)
def at_the_shop(d: Dice) -> Pair:
    """Busco una camisa azul para mi hermana; ¿tienen ustedes una mesa redonda?"""
    one = d.pick(ph.objects(d.pick(_WARES), ""))
    kind, start = d.random(), d.pick(_SEEK)
    if kind < 0.2:
        return say((f"tienen ustedes {one.es}", f"do you have {one.en}"), "?")
    left, right = f"{start[0]} {one.es}", f"{start[1]} {one.en}"
    if kind < 0.6:
        who = d.pick([w for w in su.KIN if w.en.startswith("my ")])
        return say((f"{left} para {who.es}", f"{right} for {who.en}"))
    money = amount(d, d.between(10, 90), d.pick(_COINS))
    return say((f"{left} por menos de {money.es}", f"{right} for less than {money.en}"))


@family(0.8)
def floor(d: Dice) -> Pair:
    """Vivimos en el tercer piso; antes trabajaba en el quinto piso."""
    ordinal, who = d.pick(lx.ORDINALS), su.subject(d)
    verb, base = d.pick((("vivir", "live"), ("vivir", "live"), ("trabajar", "work")))
    v = simple(verb, f"en el {ordinal[0]} piso", f"{base} on the {ordinal[1]} floor")
    if d.chance(0.3):
        return say(formerly_so(clause(who, v, "used", shown=who.p in (0, 2))))
    return say(clause(who, v, "pres"))


_AGAIN = acts(
    "montar/a caballo/ride a horse, ver/la nieve/see snow, comer/aquí/eat here, "
    "venir/aquí/come here"
)


@family(1.3)
def which_time(d: Dice) -> Pair:
    """Es la segunda vez que visito Roma."""
    ordinal = d.pick(lx.ORDINALS[:6])
    word = {"primer": "primera", "tercer": "tercera"}.get(ordinal[0], ordinal[0][:-1] + "a")
    who = d.pick([w for w in su.PRONOUNS if w.p != 2] + su.NAMES)
    place = d.pick(lx.CITIES + lx.COUNTRIES)
    v = d.pick((simple("visitar", place[0], f"visit {place[1]}"), d.pick(_AGAIN),
                simple("viajar", f"a {place[0]}", f"travel to {place[1]}"),
                vp(d, who, vb.SELDOM, 0.0)))  # fmt: skip
    first = spanish_verb(v.verb, v.reflexive, "pres", who.p)[0]
    left = f"es la {word} vez que {join(who.es, first, v.tail_es)}"
    return say((left, f"it is the {ordinal[1]} time that {clause(who, v, 'perf')[1]}"))


_WHOLES = pairs(
    "alumnos en la clase/students in the class,personas en el grupo/people in the group,"
    "turistas en el autobús/tourists on the bus,invitados en la boda/guests at the wedding,"
    "chicas en el equipo/girls on the team"
)
_PARTS = pairs(
    "hablan inglés/speak English,saben nadar/can swim,viven en el centro/live downtown,"
    "tienen coche/have a car,tocan el piano/play the piano,son de aquí/are from here"
)


@family(1)
def only_some(d: Dice) -> Pair:
    """Hay veinticinco alumnos en la clase, pero solo tres hablan inglés."""
    many, few = d.between(11, 45), d.between(2, 9)
    whole, part = d.pick(_WHOLES), d.pick(_PARTS)
    feminine = whole[0].startswith(("personas", "chicas"))
    n = counting.spanish(many, "f" if feminine else "m")
    left = f"hay {n} {whole[0]}, pero solo {counting.spanish(few)} {part[0]}"
    right = (
        f"there are {counting.english(many)} {whole[1]}, but only {counting.english(few)} {part[1]}"
    )
    return say((left, right))
