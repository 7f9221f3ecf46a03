"""Families of plain statements: one clause, any tense."""

from grammar import counting
from grammar import english as en
from grammar import frames as fr
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import NONE, also, clause, doing, say, when
from grammar.family import family
from grammar.phrases import Dice, Pair, join
from grammar.verbs import simple, vp


@family(4)
def habit(d: Dice) -> Pair:
    """Ana lee el periódico todos los días."""
    who = su.subject(d)
    v = vp(d, who, vb.HABITUAL)
    if d.chance(0.4):
        return say(clause(who, v, "pres", mid=d.pick(fr.OFTEN)))
    return say(also(clause(who, v, "pres"), when(d, v.flags, "habit"), d.chance(0.2), ","))


@family(3)
def habit_denied(d: Dice) -> Pair:
    """Nunca bebo café; no trabajo los lunes."""
    who = su.subject(d)
    v = vp(d, who, vb.HABITUAL, 0.3)
    if d.chance(0.4):
        return say(clause(who, v, "pres", mid=d.pick(fr.NEVER)))
    late = d.pick(fr.HABIT[2:10]) if d.chance(0.6) else NONE
    return say(also(clause(who, v, "pres", neg=True), late))


@family(5.5)
def past(d: Dice) -> Pair:
    """Ayer Ana compró una falda."""
    who = su.subject(d)
    v = vp(d, who, vb.EVENTS)
    return say(also(clause(who, v, "pret"), when(d, v.flags, "past"), d.chance(0.25)))


@family(3)
def past_denied(d: Dice) -> Pair:
    """No fuimos al mercado ayer."""
    who = su.subject(d)
    v = vp(d, who, vb.EVENTS, 0.3)
    late = when(d, v.flags + "!", "past")
    while late[0].startswith("hace"):
        late = when(d, v.flags + "!", "past")
    return say(also(clause(who, v, "pret", neg=True), late, d.chance(0.1)))


@family(2)
def for_hours(d: Dice) -> Pair:
    """Ana estudió toda la tarde."""
    who = su.subject(d)
    v = vp(d, who, vb.LASTING, 0.3)
    return say(also(clause(who, v, "pret"), when(d, v.flags, "long")))


def formerly_so(pair: Pair) -> Pair:
    """antes vivía / used to live."""
    return f"antes {pair[0]}", pair[1]


_YOUNG = tuple(f for f in vb.LEISURE if "A" not in f.flags)


@family(3)
def formerly(d: Dice) -> Pair:
    """Antes vivíamos en el campo; cuando tenía diez años, Ana nadaba en el río."""
    who = su.subject(d)
    shown, kind = who.p in (0, 2), d.random()
    v = vp(d, who, vb.HABITUAL + vb.STATES if kind < 0.4 else _YOUNG, 0.5)
    if kind < 0.4:
        return say(formerly_so(clause(who, v, "used", shown=shown)))
    plain = clause(who, v, "imp", shown=shown)
    if kind < 0.7:
        return say(also(plain, d.pick(fr.ONCE)))
    years = d.between(6, 12 if who.en in su.CHILDREN else 19)
    had = es.verb("tener").tenses["imp"][who.p]
    was = en.finite("be", "pret", who.e).positive
    age = (f"cuando {had} {counting.spanish(years)} años",
           f"when {who.key} {was} {counting.english(years)}")  # fmt: skip
    return say(also(plain, age, d.chance(0.4), ","))


@family(4)
def future(d: Dice) -> Pair:
    """Mañana visitaré a mi abuela."""
    who = su.subject(d)
    v = vp(d, who, vb.WILLED)
    neg = d.chance(0.2)
    return say(also(clause(who, v, "fut", neg), when(d, v.flags, "ahead"), d.chance(0.2)))


@family(4)
def going_to(d: Dice) -> Pair:
    """Vamos a ver una película esta noche."""
    who = su.subject(d)
    v = vp(d, who, vb.WILLED)
    while v.verb == "ir":
        v = vp(d, who, vb.WILLED)
    neg = d.chance(0.15)
    return say(also(clause(who, v, "goto", neg), when(d, v.flags, "ahead"), d.chance(0.15)))


@family(4)
def perfect(d: Dice) -> Pair:
    """Ya he leído este libro; Ana no ha comido carne esta semana."""
    who = su.subject(d)
    kind = d.random()
    group = vb.EVENTS + vb.TRIFLES if kind < 0.55 else vb.SELDOM if kind < 0.7 else vb.EVENTS
    v = vp(d, who, group, 0.2)
    if kind < 0.35:
        return say(clause(who, v, "perf", mid=("ya", "already")))
    if kind < 0.55:
        left, right = clause(who, v, "perf", neg=True)
        return say((f"{left} todavía" if who.es else f"todavía {left}", f"{right} yet"))
    if kind < 0.7:
        return say(clause(who, v, "perf", mid=("nunca", "never")))
    return say(also(clause(who, v, "perf", neg=kind > 0.9), when(d, v.flags, "lately")))


@family(4)
def progress(d: Dice) -> Pair:
    """Los niños están jugando en el parque ahora."""
    who = su.subject(d)
    v = vp(d, who, vb.ONGOING, 0.5)
    late = d.pick(fr.NOW) if d.chance(0.5) else NONE
    return say(also(clause(who, v, "prog", d.chance(0.2)), late, d.chance(0.15)))


_WISHES = (
    "can", "should", "haveto", "haveto", "want", "want", "need", "hope", "try", "wanted", "hadto",
    "could",
)  # fmt: skip


@family(5)
def wish_or_duty(d: Dice) -> Pair:
    """Tenemos que limpiar la casa; no puedo ir a la playa."""
    who = su.subject(d)
    tense = d.pick(_WISHES)
    v = vp(d, who, vb.WILLED)
    while tense == "hope" and v.verb == "esperar":
        v = vp(d, who, vb.WILLED)
    kind = {"wanted": "", "hadto": "past", "try": ""}.get(tense, "ahead")
    late = when(d, v.flags, kind) if kind and d.chance(0.6) else NONE
    neg = d.chance(0.25) and tense not in ("hope", "try", "could")
    shown = tense in ("wanted", "could") and who.p in (0, 2)
    return say(also(clause(who, v, tense, neg, shown=shown), late))


_HARD = vb.of("abrir encender terminar reparar vender alquilar cerrar coger traducir")
_DULL = vb.of("comprar llamar pagar cerrar apagar enviar contestar lavar regar sacar hacer limpiar")


@family(3)
def start_or_stop(d: Dice) -> Pair:
    """Ana acaba de vender su coche; dejamos de trabajar."""
    who = su.subject(d)
    tense = d.pick(("just", "just", "decided", "started", "still", "stopped", "managed", "forgot"))
    group = {"just": vb.EVENTS, "decided": vb.WILLED, "managed": _HARD, "forgot": _DULL}
    v = vp(d, who, group.get(tense, vb.LASTING), 0.2)
    late = NONE
    if tense in ("decided", "started", "forgot", "managed") and "g" not in v.flags:
        late = when(d, v.flags, "past") if d.chance(0.4) else late
    return say(also(clause(who, v, tense), late))


_LASTED = vb.acts(
    "trabajar/en un banco/work in a bank, vivir/en el campo/live in the country,"
    "trabajar/en esta empresa/work for this company, vivir/aquí/live here,"
    "tocar/el piano/play the piano, jugar/al tenis/play tennis, vivir/solo/live alone,"
    "trabajar/en un hospital/work in a hospital, tocar/la guitarra/play the guitar,"
    "vivir/en esta calle/live on this street, trabajar/como taxista/work as a taxi driver"
)


@family(3)
def since(d: Dice) -> Pair:
    """Hace tres años que trabajo en un banco."""
    who = su.subject(d)
    v = d.pick(_LASTED)
    if d.chance(0.4):
        city = d.pick(ph.objects("c.", ""))
        v = simple("vivir", f"en {city.es}", f"live in {city.en}")
    elif d.chance(0.3):
        tongue = d.pick(ph.objects("o.language", ""))
        v = simple("estudiar", tongue.es, f"study {tongue.en}")
    if v.tail_es == "solo":
        v = v._replace(tail_es=es.adjective("solo", who.g, who.many))
    n = d.between(2, 30)
    unit = d.pick((("años", "years"), ("años", "years"), ("meses", "months")))
    n = n if unit[0] == "años" else n % 10 + 2
    have = "has" if who.e == 2 else "have"
    right = f"{who.en} {have} been {doing(v)} for {counting.english(n)} {unit[1]}"
    span = f"{counting.spanish(n)} {unit[0]}"
    finite = es.verb(v.verb).tenses["pres"][who.p]
    if d.chance(0.5):
        return say((f"hace {span} que {join(who.es, finite, v.tail_es)}", right))
    return say((f"{join(who.es, finite, v.tail_es)} desde hace {span}", right))
