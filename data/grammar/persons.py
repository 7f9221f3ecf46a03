"""Families about people: age, work, origin, looks, feelings, clothes, languages."""

from grammar import counting
from grammar import english as en
from grammar import lexicon as lx
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import NONE, again, also, clause, question, say, to_infinitive
from grammar.family import family
from grammar.phrases import Dice, Pair, join
from grammar.subjects import Who
from grammar.tables import pairs, words
from grammar.verbs import acts, simple, vp


def be(tense: str, who: Who, verb: str = "ser") -> Pair:
    """Subject and form of to be."""
    subject = who.full if tense == "imp" and who.p in (0, 2) else who.es
    english = en.finite("be", tense, who.e).positive
    return join(subject, es.verb(verb).tenses[tense][who.p]), f"{who.en} {english}"


def own(english: str, many: bool) -> str:
    """The ending of the English possessive."""
    return "'" if many and english.endswith("s") else "'s"


_IDIOMS = (
    ("hambre", "hungry", "mucha"), ("sed", "thirsty", "mucha"), ("frío", "cold", "mucho"),
    ("calor", "hot", "mucho"), ("sueño", "sleepy", "mucho"), ("miedo", "afraid", "mucho"),
    ("prisa", "in a hurry", ""), ("suerte", "lucky", "mucha"), ("razón", "right", ""),
    ("celos", "jealous", ""),
)  # fmt: skip
_AHEAD = (("cuidado", "careful", "mucho"), ("éxito", "successful", "mucho"),
          ("suerte", "lucky", "mucha"), ("frío", "cold", "mucho"))  # fmt: skip
_MOMENTS = {
    "pres": [*pairs("ahora/now,hoy/today"), NONE],
    "imp": pairs("ayer/yesterday,anoche/last night,esta mañana/this morning"),
    "fut": pairs("mañana/tomorrow,esta noche/tonight,esta vez/this time"),
}


@family(3.5)
def tener_idiom(d: Dice) -> Pair:
    """Los niños tienen mucha hambre."""
    who = su.subject(d)
    tense = d.pick(("pres", "pres", "imp", "fut"))
    noun, adj, much = d.pick(_AHEAD if tense == "fut" else _IDIOMS)
    very = bool(much) and d.chance(0.4)
    tail = join(much if very else "", noun), join("be", "very" if very else "", adj)
    v = simple("tener", *tail, "q")
    kind = d.random()
    if kind < 0.2 and tense != "fut" and who.key not in ("I", "we"):
        return say(question(who, v, tense), "?")
    neg = kind < 0.4 and not very
    late = d.pick(_MOMENTS[tense]) if d.chance(0.5) and noun not in ("razón", "éxito") else NONE
    return say(also(clause(who, v, tense, neg, shown=tense == "imp" and who.p in (0, 2)), late))


_YOUTH = acts(
    "mudarse/a Madrid/move to Madrid, aprender/a nadar/learn to swim, "
    "viajar/a Italia/travel to Italy,"
    "empezar/a tocar el piano/start to play the piano, escribir/un libro/write a book,"
    "aprender/a conducir/learn to drive, empezar/a trabajar/start to work, "
    "ganar/un premio/win a prize"
)
_BIRTHDAYS = pairs(
    "el año que viene/next year,en mayo/in May,la semana que viene/next week,mañana/tomorrow,"
    "el próximo lunes/next Monday,en octubre/in October"
)


@family(2.5)
def age(d: Dice) -> Pair:
    """Mi hermana tiene doce años; Luis cumplirá treinta años mañana."""
    who = su.subject(d)
    child = who.en in su.CHILDREN
    old = "grandfather" in who.en or "grandmother" in who.en or "old " in who.en
    n = d.between(4, 15) if child else d.between(62, 97) if old else d.between(18, 60)
    years = f"{counting.spanish(n)} años"
    v = simple("tener", years, f"be {counting.english(n)} years old")
    kind = d.random()
    if kind < 0.45 or child:
        return say(clause(who, v, "pres"))
    if kind < 0.75:
        left = join(who.es, es.verb("cumplir").tenses["fut"][who.p], years)
        return say(also((left, f"{who.en} will turn {counting.english(n)}"), d.pick(_BIRTHDAYS)))
    done, then = clause(who, d.pick(_YOUTH), "pret"), clause(again(who), v, "imp")
    return say((f"{done[0]} cuando {then[0]}", f"{done[1]} when {then[1]}"))


@family(2)
def origin(d: Dice) -> Pair:
    """Los turistas son franceses; Ana es de Chile."""
    who = su.subject(d)
    left, right = be("pres", who)
    if d.chance(0.5):
        nation = d.pick(lx.NATIONS)
        return say((f"{left} {es.adjective(nation[0], who.g, who.many)}", f"{right} {nation[1]}"))
    place = d.pick(lx.CITIES + lx.COUNTRIES)
    return say((f"{left} de {place[0]}", f"{right} from {place[1]}"))


@family(2)
def profession(d: Dice) -> Pair:
    """Mi tía es abogada; mi padre era cocinero."""
    who = su.subject(d)
    while who.en in su.CHILDREN or who.en.startswith("the ") or who.many or who.en == "you":
        who = su.subject(d)
    noun = d.pick(ph.NOUNS["jobf" if who.g == "f" else "job"])
    if d.chance(0.2):
        left, right = be("imp", who)
        return say((f"{left} {noun.es} antes", f"{who.en} used to be {en.a(noun.en)}"))
    left, right = be("pres", who)
    if d.chance(0.4):
        phrase = ph.a(noun, d.pick(lx.SUITS["job"].split()))
        return say((f"{left} {phrase.es}", f"{right} {phrase.en}"))
    city = d.pick(lx.CITIES) if d.chance(0.5) else NONE
    place = (f"en {city[0]}", f"in {city[1]}") if city[0] else NONE
    return say(also((f"{left} {noun.es}", f"{right} {en.a(noun.en)}"), place))


_TRAITS = words(
    "alto simpático amable inteligente trabajador divertido generoso tímido serio paciente joven "
    "fuerte delgado valiente educado alegre"
)
_MOODS = words(
    "cansado enfermo contento triste preocupado ocupado nervioso enfadado orgulloso listo"
)
_PLEASANT = {*_TRAITS, "contento", "orgulloso", "listo"} - {"tímido", "serio"}


@family(4)
def trait_or_mood(d: Dice) -> Pair:
    """Ana es muy simpática; los niños están cansados."""
    who = su.subject(d)
    lasting = d.chance(0.5)
    adj = d.pick(_TRAITS if lasting else _MOODS)
    tense = d.pick(("pres", "pres", "imp"))
    words = es.adjective(adj, who.g, who.many), lx.ADJECTIVES[adj]
    kind = d.random()
    if kind > 0.7:
        ways = pairs("muy/very,bastante/quite,un poco/a little")
        very = d.pick(ways[:2] if adj in _PLEASANT else ways)
        very = ("casi", "almost") if adj == "listo" else very
        words = f"{very[0]} {words[0]}", f"{very[1]} {words[1]}"
    v = simple("ser" if lasting else "estar", words[0], f"be {words[1]}")
    if kind < 0.2 and who.key not in ("I", "we"):
        return say(question(who, v, tense), "?")
    late = NONE if lasting or d.chance(0.5) else d.pick(_MOMENTS[tense])
    shown = tense == "imp" and who.p in (0, 2)
    return say(also(clause(who, v, tense, neg=kind < 0.35, shown=shown), late))


_ACHES = {
    "pres": [*pairs("hoy/today,mucho/a lot,un poco/a little"), NONE],
    "pret": pairs("ayer/yesterday,toda la noche/all night,anoche/last night"),
    "imp": pairs("esta mañana/this morning,mucho/a lot"),
}


@family(2)
def ache(d: Dice) -> Pair:
    """Me duele la cabeza; a mis padres les dolían las piernas."""
    who, noun = su.single(d), d.pick(ph.NOUNS["body"])
    many = who.many
    tense = d.pick(tuple(_ACHES))
    hurts = {"pres": "hurt" if many else "hurts", "pret": "hurt",
             "imp": "were hurting" if many else "was hurting"}[tense]  # fmt: skip
    owner = who.my if who.en == who.key else who.en + own(who.en, who.many)
    left = join(su.to_dative(who), es.verb("doler").tenses[tense][2], ph.the(noun).es)
    right = f"{owner} {noun.en_many if many else noun.en} {hurts}"
    return say(also((left, right), d.pick(_ACHES[tense]) if d.chance(0.6) else NONE))


_UNITS = pairs("euro/euro,dólar/dollar,minuto/minute,día de vacaciones/day of vacation")


@family(1)
def have_left(d: Dice) -> Pair:
    """A Ana le quedan diez euros."""
    who, n, unit = su.single(d), d.between(2, 60), d.pick(_UNITS)
    words = f"{counting.spanish(n)} {es.plural(unit[0])}"
    have = en.finite("have", "pres", who.e).positive
    right = f"{who.en} {have} {counting.english(n)} {en.plural(unit[1])} left"
    return say((join(su.to_dative(who), es.verb("quedar").tenses["pres"][4], words), right))


_FOR_HER, _FOR_HIM = ("falda", "vestido", "blusa"), ("corbata", "traje")


@family(2)
def wears(d: Dice) -> Pair:
    """Ana lleva una falda azul y zapatos negros."""
    who = su.named(d)
    while who.many:
        who = su.named(d)
    unfit = _FOR_HIM if who.g == "f" else _FOR_HER
    noun = d.pick([n for n in ph.NOUNS["clothes"] if n.es not in unfit])
    one = ph.a(noun, d.pick(lx.SUITS["clothes"].split()) if d.chance(0.6) else "")
    left, right = f"{who.es} lleva {one.es}", f"{who.en} is wearing {one.en}"
    if d.chance(0.4):
        shoes = d.pick(ph.objects("B.shoes", ""))
        left, right = f"{left} y {shoes.es}", f"{right} and {shoes.en}"
    return say(also((left, right), d.pick((("hoy", "today"), NONE, NONE))))


_SKILLS = tuple(
    f for f in vb.HABITUAL
    if f.verb in ("nadar", "tocar", "bailar", "montar", "cantar")
    or (f.verb == "jugar" and f.prep == "a")
)  # fmt: skip


@family(1.3)
def skill(d: Dice) -> Pair:
    """Ana sabe tocar el piano; ¿sabes nadar?"""
    who = su.subject(d)
    todo = to_infinitive(who, vp(d, who, _SKILLS, 0.0))
    v = simple("saber", todo[0], f"know how to {todo[1]}")
    if d.chance(0.3):
        return say(question(who, v, "pres"), "?")
    return say(clause(who, v, "pres", d.chance(0.35)))


def _speak(spanish: str, english: str) -> vb.VP:
    return simple("hablar", spanish, f"speak {english}")


@family(1.5)
def speaks(d: Dice) -> Pair:
    """Mi padre habla bien inglés; hablo alemán, pero no hablo ruso."""
    who, one, two = su.subject(d), d.pick(ph.NOUNS["language"]), d.pick(ph.NOUNS["language"])
    kind = d.random()
    if one == two or kind < 0.2:
        return say(clause(who, _speak(f"un poco de {one.es}", f"a little {one.en}"), "pres"))
    if kind < 0.5:
        how = d.pick((("muy bien", "very well"), ("bien", "well")))
        v = _speak(f"{how[0]} {one.es}", f"{one.en} {how[1]}")
        return say(clause(who, v, "pres", how[0] == "bien" and d.chance(0.3)))
    if kind < 0.75:
        y = "e" if two.es.startswith("i") else "y"
        return say(clause(who, _speak(f"{one.es} {y} {two.es}", f"{one.en} and {two.en}"), "pres"))
    yes = clause(who, _speak(one.es, one.en), "pres")
    no = clause(again(who), _speak(two.es, two.en), "pres", True)
    return say((f"{yes[0]}, pero {no[0]}", f"{yes[1]}, but {no[1]}"))
