"""Families that compare, exclaim and tell what belongs to whom."""

from grammar import counting
from grammar import english as en
from grammar import lexicon as lx
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar.clauses import NONE, clause, say
from grammar.family import family
from grammar.persons import be, own
from grammar.phrases import Dice, Pair, Phrase, join
from grammar.subjects import whom
from grammar.tables import pairs, words
from grammar.things import ALL_NOUNS, is_, marked
from grammar.verbs import simple

_COMPARED = {
    "vehicle": "rápido lento caro barato nuevo grande",
    "home": "grande pequeño bonito caro tranquilo",
    "clothes": "caro barato bonito elegante",
    "read": "interesante aburrido largo corto divertido difícil",
    "watch": "interesante aburrido largo entretenido",
    "building": "alto antiguo moderno grande",
    "task": "difícil fácil importante interesante",
    "furniture": "caro barato pesado grande",
    "sight": "antiguo hermoso famoso grande",
}
_PEOPLE = words("alto joven amable inteligente trabajador divertido generoso tímido serio fuerte")
_BY_SIZE = tuple(
    ALL_NOUNS[w]
    for w in words("ratón pájaro conejo gato perro lobo cerdo oveja burro vaca caballo elefante")
)


@family(3)
def person_more(d: Dice) -> Pair:
    """Ana es más alta que Luis; era menos tímido que tú."""
    who = su.subject(d)
    second, adj = su.other(d, who), d.pick(_PEOPLE)
    left, right = be(d.pick(("pres", "pres", "imp")), who)
    more, english = ("más", f"{right} {en.compared(lx.ADJECTIVES[adj])[0]} than")
    if d.chance(0.15):
        more, english = "menos", f"{right} not as {lx.ADJECTIVES[adj]} as"
    word = es.adjective(adj, who.g, who.many)
    return say((f"{left} {more} {word} que {second.full}", f"{english} {whom(second)}"))


def _rival(d: Dice, first: Phrase) -> Phrase:
    """Another one of the same kind: el otro, ese, el mío, el de Ana."""
    article = ("las" if first.many else "la") if first.g == "f" else ("los" if first.many else "el")
    kind = d.between(0, 3)
    if kind == 0:
        other = es.adjective("otro", first.g, first.many)
        return Phrase(f"{article} {other}", "the other ones" if first.many else "the other one")
    if kind == 1:
        form = {"el": "ese", "la": "esa", "los": "esos", "las": "esas"}[article]
        return Phrase(form, "those" if first.many else "that one")
    if kind == 2:
        word, mine = d.pick(_MINE)
        return Phrase(f"{article} {es.adjective(word, first.g, first.many)}", mine)
    who = d.pick(su.NAMES)
    return Phrase(f"{article} de {who.es}", f"{who.en}'s")


_MINE = pairs("mío/mine,tuyo/yours,nuestro/ours")


@family(3)
def thing_more(d: Dice) -> Pair:
    """Este coche es mucho más rápido que el tuyo; los perros son más grandes que los gatos."""
    if d.chance(0.15):
        i = d.between(0, len(_BY_SIZE) - 2)
        small, big = _BY_SIZE[i], _BY_SIZE[d.between(i + 1, len(_BY_SIZE) - 1)]
        first, second, adj = d.pick(((big, small, "grande"), (small, big, "pequeño")))
        one, two = ph.the(first, True), ph.the(second, True)
        word = es.adjective(adj, one.g, True)
        more = en.compared(lx.ADJECTIVES[adj])[0]
        return say((f"{one.es} son más {word} que {two.es}",
                    f"{first.en_many} are {more} than {second.en_many}"))  # fmt: skip
    name = d.pick(tuple(_COMPARED))
    noun, many = d.pick(ph.NOUNS[name]), d.chance(0.25)
    first_one = ph.this(noun, many)
    rival = _rival(d, first_one)
    if name in ("vehicle", "furniture", "clothes") and d.chance(0.35):
        first_one = ph.the(noun, many)
        rival = ph.my(d.pick([n for n in ph.NOUNS[name] if n != noun]), d.pick(("I", "you", "we")))
    adj = d.pick(_COMPARED[name].split())
    left, right = is_(first_one)
    word, quality = es.adjective(adj, first_one.g, many), lx.ADJECTIVES[adj]
    if d.chance(0.15):
        return say((f"{first_one.es} {left} menos {word} que {rival.es}",
                    f"{first_one.en} {right} not as {quality} as {rival.en}"))  # fmt: skip
    much = ("mucho", "much") if d.chance(0.3) else NONE
    spanish = join(first_one.es, left, much[0], "más", word, "que", rival.es)
    english = join(first_one.en, right, much[1], en.compared(quality)[0], "than", rival.en)
    return say((spanish, english))


_GROUPS = {
    "chico": pairs("la clase/in the class,el grupo/in the group,el pueblo/in the village"),
    "alumno": pairs("la clase/in the class,la escuela/in the school,el curso/in the course"),
    "persona": pairs("la familia/in the family,el pueblo/in the village,la oficina/in the office"),
}


@family(1.2)
def person_most(d: Dice) -> Pair:
    """Ana es la chica más alta de la clase."""
    who, adj, kind = d.pick(su.NAMES), d.pick(_PEOPLE[:-2]), d.pick(tuple(_GROUPS))
    where = d.pick(_GROUPS[kind])
    g = "f" if kind == "persona" else who.g
    english = {"chico": "girl" if g == "f" else "boy", "alumno": "student", "persona": "person"}[
        kind
    ]
    noun = es.adjective(kind, g, False) if kind != "persona" else kind
    best = en.compared(lx.ADJECTIVES[adj])[1]
    left = f"{who.es} es {'la' if g == 'f' else 'el'} {noun} más {es.adjective(adj, g, False)}"
    return say((f"{left} de {where[0]}", f"{who.en} is the {best} {english} {where[1]}"))


_SCOPE = {
    "vehicle": pairs("la tienda/in the store"), "read": pairs("la biblioteca/in the library"),
    "watch": pairs("el año/of the year"), "furniture": pairs("la tienda/in the store"),
}  # fmt: skip
_ABROAD = pairs("la ciudad/in the city,el país/in the country,la región/in the region")
_LIVED = {"read": simple("leer", "", "read"), "watch": simple("ver", "", "see"),
          "sight": simple("visitar", "", "visit")}  # fmt: skip


@family(2)
def thing_most(d: Dice) -> Pair:
    """Es el libro más interesante que he leído; este hotel es el más caro de la ciudad."""
    name = d.pick(("vehicle", "building", "read", "watch", "home", "sight", "furniture"))
    noun, adj = d.pick(ph.NOUNS[name]), d.pick(_COMPARED[name].split())
    g, best = ph.gender(noun), en.compared(lx.ADJECTIVES[adj])[1]
    article, word = "la" if g == "f" else "el", es.adjective(adj, g, False)
    this = ph.this(noun, False, d.chance(0.4))
    if name in _LIVED and d.chance(0.7):
        who = d.pick([w for w in su.PRONOUNS if w.p != 2])
        have = clause(who, _LIVED[name], "perf", mid=("", "ever"))
        if d.chance(0.4):
            left = f"{this.es} es {article} más {word} que {have[0]}"
            return say((left, f"{this.en} is the {best} one {have[1]}"))
        left = f"es {article} {noun.es} más {word} que {have[0]}"
        return say((left, f"it is the {best} {noun.en} that {have[1]}"))
    where = d.pick(_SCOPE.get(name, _ABROAD))
    left = f"{this.es} es {article} más {word} de {where[0]}"
    return say((left, f"{this.en} is the {best} {where[1]}"))


@family(2)
def as_as(d: Dice) -> Pair:
    """Luis es tan alto como su padre; no tengo tantos libros como tú."""
    who = su.subject(d)
    second = su.other(d, who)
    if d.chance(0.55):
        adj = d.pick(_PEOPLE)
        word = es.adjective(adj, who.g, who.many)
        english = f"be as {lx.ADJECTIVES[adj]} as {whom(second)}"
        v = simple("ser", f"tan {word} como {second.full}", english)
        return say(clause(who, v, "pres", d.chance(0.4)))
    noun = d.pick(ph.NOUNS[d.pick(("printed", "clothes", "pet"))])
    if d.chance(0.4):
        many = es.adjective("tanto", ph.gender(noun), True)
        english = f"have as many {noun.en_many} as {whom(second)}"
        v = simple("tener", f"{many} {noun.es_many} como {second.full}", english)
        return say(clause(who, v, "pres", d.chance(0.5)))
    word, more = d.pick((("más", "more"), ("menos", "fewer")))
    english = f"have {more} {noun.en_many} than {whom(second)}"
    return say(
        clause(who, simple("tener", f"{word} {noun.es_many} que {second.full}", english), "pres")
    )


@family(1.5)
def older_better(d: Dice) -> Pair:
    """Mi hermana es dos años mayor que yo."""
    who = su.single(d)
    second = su.other(d, who)
    while second.many or who.many or "grand" in second.en + who.en:
        who = su.single(d)
        second = su.other(d, who)
    word, english = d.pick((("mayor", "older"), ("menor", "younger")))
    left, right = be("pres", who)
    n = d.between(1, 9)
    years = (f"{counting.spanish(n)} {'año' if n == 1 else 'años'}",
             f"{counting.english(n)} {'year' if n == 1 else 'years'}")  # fmt: skip
    years = NONE if d.chance(0.4) else years
    return say((join(left, years[0], word, "que", second.full),
                join(right, years[1], english, "than", whom(second))))  # fmt: skip


@family(2)
def belongs(d: Dice) -> Pair:
    """Este paraguas es mío; ¿de quién son estas llaves?"""
    name = d.pick(("lost", "clothes", "thing", "vehicle", "printed"))
    noun, many = d.pick(ph.NOUNS[name]), d.chance(0.35)
    phrase = ph.this(noun, many, d.chance(0.4))
    left, right = is_(phrase)
    kind = d.random()
    if kind < 0.2:
        this, _, thing = phrase.en.partition(" ")
        return say((f"de quién {left} {phrase.es}", f"whose {thing} {right} {this}"), "?")
    if kind < 0.45:
        word, mine = d.pick(_MINE)
        owner: Pair = (es.adjective(word, phrase.g, many), mine)
    else:
        who = su.named(d)
        owner = (f"de {who.es}", who.en + own(who.en, who.many))
    if d.chance(0.2):
        return say((f"{left} {owner[0]} {phrase.es}", f"{right} {phrase.en} {owner[1]}"), "?")
    if d.chance(0.3):
        return say((f"{phrase.es} no {left} {owner[0]}", f"{phrase.en} {right}n't {owner[1]}"))
    return say((f"{phrase.es} {left} {owner[0]}", f"{phrase.en} {right} {owner[1]}"))


@family(1.5)
def exclaim(d: Dice) -> Pair:
    """¡Qué jardín tan hermoso!; ¡qué cara es esta falda!"""
    name = d.pick(tuple(_COMPARED))
    noun, adj = d.pick(ph.NOUNS[name]), d.pick(_COMPARED[name].split())
    if d.chance(0.5):
        one = ph.a(noun, adj)
        return say((f"qué {noun.es} tan {es.adjective(adj, one.g, False)}", f"what {one.en}"), "!")
    many = d.chance(0.3)
    this = ph.this(noun, many, d.chance(0.3))
    left, right = is_(this)
    spanish = f"qué {es.adjective(adj, this.g, many)} {left} {this.es}"
    return say((spanish, f"how {lx.ADJECTIVES[adj]} {this.en} {right}"), "!")


_STUFF = (
    ("mesa silla cama escritorio puerta caja casa puente barco", "de madera", "made of wood"),
    ("puente torre casa castillo iglesia", "de piedra", "made of stone"),
    ("vaso botella mesa", "de cristal", "made of glass"),
    ("bolso cinturón chaqueta cartera", "de cuero", "made of leather"),
    ("jersey bufanda abrigo alfombra", "de lana", "made of wool"),
    ("anillo reloj", "de oro", "made of gold"),
    ("camisa camiseta sábana", "de algodón", "made of cotton"),
)


@family(1.2)
def made_of(d: Dice) -> Pair:
    """Esta mesa es de madera."""
    words, stuff, english = d.pick(_STUFF)
    phrase = marked(d, ALL_NOUNS[d.pick(words.split())], d.chance(0.25))
    left, right = is_(phrase)
    if d.chance(0.15):
        return say((f"{left} {stuff} {phrase.es}", f"{right} {phrase.en} {english}"), "?")
    return say((f"{phrase.es} {left} {stuff}", f"{phrase.en} {right} {english}"))
