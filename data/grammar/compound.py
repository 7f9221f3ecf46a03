"""Families of two clauses joined by a wish, a purpose, a condition, a time or a reason."""

from grammar import english as en
from grammar import phrases as ph
from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import NONE, again, also, clause, say, to_infinitive, when
from grammar.family import family
from grammar.phrases import Dice, Pair, join
from grammar.subjects import whom
from grammar.tables import pairs, words
from grammar.verbs import VP, Frame, acts, simple, vp


def _either_way(d: Dice, main: Pair, sub: Pair, front: float = 0.6) -> Pair:
    """Main clause and subordinate clause in one order or the other."""
    if d.chance(front):
        return say((f"{sub[0]}, {main[0]}", f"{sub[1]}, {main[1]}"))
    return say((f"{main[0]} {sub[0]}", f"{main[1]} {sub[1]}"))


@family(4)
def want_that(d: Dice) -> Pair:
    """Mi madre quiere que limpie mi habitación."""
    first = su.subject(d)
    second = su.other(d, first)
    v = vp(d, second, vb.WILLED, 0.25)
    past = d.chance(0.25)
    wish = d.pick((simple("querer", "", "want"), simple("querer", "", "want"),
                   simple("necesitar", "", "need")))  # fmt: skip
    main = clause(first, wish, "imp" if past else "pres", neg=d.chance(0.15),
                  shown=past and first.p == 0)  # fmt: skip
    sub = clause(second, v, "psubj" if past else "subj", shown=second.p in (0, 2))
    todo = to_infinitive(second, v)[1]
    return say((f"{main[0]} que {sub[0]}", f"{main[1]} {whom(second)} to {todo}"))


_LUCK = acts(
    "ganar/el partido/win the game, aprobar/el examen/pass the exam,"
    "encontrar/trabajo/find a job, llegar/a tiempo/arrive on time,"
    "venir/a la fiesta/come to the party, tener/suerte/be lucky, estar/bien/be well,"
    "decir/la verdad/tell the truth, volver/a casa/come back home, tener/razón/be right,"
    "encontrar/las llaves/find the keys, llamar/pronto/call soon, venir/con nosotros/come with us"
)
_HOPE = pairs("espero que/I hope,esperamos que/we hope,ojalá/I hope")
_UNTIMED = ("estar", "tener", "encontrar", "llamar")


@family(3)
def hope_that(d: Dice) -> Pair:
    """Espero que ganes el partido; ojalá Ana venga mañana."""
    who = su.subject(d)
    while who.key in ("I", "we"):
        who = su.subject(d)
    v = d.pick(_LUCK) if d.chance(0.6) else vp(d, who, vb.WILLED, 0.3)
    sub = clause(who, v, "subj")
    late = when(d, v.flags, "ahead") if d.chance(0.6) and v.verb not in _UNTIMED else NONE
    start = d.pick(_HOPE)
    return say(also((f"{start[0]} {sub[0]}", f"{start[1]} {sub[1]}"), late))


_DOUBT = pairs("no creo que/I don't think,dudo que/I doubt that")
_DUE = pairs("es importante que/it is important for,es necesario que/it is necessary for")


@family(2.5)
def judged(d: Dice) -> Pair:
    """Es importante que estudies para el examen; no creo que venga."""
    who = su.subject(d)
    v = d.pick(_LUCK) if d.chance(0.2) else vp(d, who, vb.WILLED, 0.3)
    sub = clause(who, v, "subj", shown=who.p in (0, 2))
    late = when(d, v.flags, "ahead") if d.chance(0.5) and v.verb not in _UNTIMED else NONE
    kind = d.random()
    if kind < 0.4 and who.key != "I":
        start, right = d.pick(_DOUBT), clause(who, v, "fut")[1]
    elif kind < 0.6:
        start, right = ("es posible que", "it is possible that"), clause(who, v, "fut")[1]
    elif kind < 0.75:
        start, right = ("es mejor que", "it is better if"), clause(who, v, "subj")[1]
    else:
        start, right = d.pick(_DUE), f"{whom(who)} to {to_infinitive(who, v)[1]}"
    return say(also((f"{start[0]} {sub[0]}", f"{start[1]} {right}"), late))


_BUY = tuple(f for f in vb.WILLED if f.verb == "comprar" and "g" not in f.flags)
_SENT = tuple(f for f in vb.WILLED if f.verb in ("viajar", "alquilar", "pagar"))
_GIVEN = acts("dar//give, prestar//lend, enviar//send")


@family(3)
def so_that(d: Dice) -> Pair:
    """Le di dinero a mi hijo para que comprara pan."""
    first = su.subject(d)
    second = su.other(d, first, su.NAMES + su.KIN)
    young = second.en in su.CHILDREN
    v = vp(d, second, _BUY if young or d.chance(0.6) else _SENT, 0.0)
    gift = d.pick(_GIVEN)
    tense, after, modal = d.pick((("pret", "psubj", "could"), ("fut", "subj", "can")))
    finite = es.verb(gift.verb).tenses[tense][first.p]
    gave = en.finite(gift.base, tense, first.e).positive
    goal = clause(again(second), v, after)[0]
    could = f"{second.key} {modal} {to_infinitive(second, v)[1]}"
    left = join(first.es, ph.DATIVE[second.p], finite, "dinero a", second.full, "para que", goal)
    return say((left, f"{first.en} {gave} {second.en} money so that {could}"))


_FINE = pairs("hace buen tiempo/the weather is good,hace sol/it is sunny,no llueve/it doesn't rain")
_FOUL = pairs(
    "llueve/it rains,hace mal tiempo/the weather is bad,hace frío/it is cold,nieva/it snows,"
    "hace mucho viento/it is very windy"
)
_OPEN_AIR = words("jugar nadar caminar pasear regar montar salir dar correr")
_OUTSIDE = tuple(f for f in vb.HABITUAL if f.verb in _OPEN_AIR)
_INSIDE = tuple(f for f in vb.LEISURE if f.verb in ("leer", "escuchar", "cocinar", "ver", "tocar"))
_HAVING = acts(
    "tener/tiempo/have time, tener/dinero/have money, terminar/pronto/finish early,"
    "volver/temprano/come back early, encontrar/trabajo/find a job, "
    "tener/vacaciones/have a vacation"
)


def _enabled(v: VP) -> tuple[Frame, ...]:
    """What one can do with the money, or with the time, that a condition grants."""
    money = v.tail_es == "dinero" or v.verb == "encontrar"
    return vb.COSTLY if money else vb.WILLED


@family(3.5)
def if_real(d: Dice) -> Pair:
    """Si llueve, leeremos en casa; si tengo tiempo, visitaré a mi abuela."""
    who = su.subject(d)
    if d.chance(0.45):
        fine = d.chance(0.5)
        day = d.pick((("mañana", "tomorrow"), NONE, ("el sábado", "on Saturday")))
        left, right = also(d.pick(_FINE if fine else _FOUL), day)
        v = vp(d, who, _OUTSIDE if fine else _INSIDE, 0.3)
        main = clause(who, v, d.pick(("fut", "fut", "goto")))
    else:
        having = d.pick(_HAVING)
        left, right = clause(again(who), having, "pres")
        main = clause(who, vp(d, who, _enabled(having), 0.3), "fut")
    return _either_way(d, main, (f"si {left}", f"if {right}"))


_UNREAL = acts(
    "tener/más dinero/have more money, ganar/la lotería/win the lottery,"
    "tener/más tiempo/have more time, tener/un día libre/have a day off,"
    "vivir/cerca del mar/live near the sea, vivir/en el campo/live in the country, poder//can"
)


@family(3.5)
def if_unreal(d: Dice) -> Pair:
    """Si tuviera más dinero, compraría una casa."""
    who = su.subject(d)
    v_if = d.pick(_UNREAL)
    group = vb.LEISURE
    if v_if.tail_es in ("más dinero", "la lotería"):
        group = vb.COSTLY
    elif v_if.verb == "vivir":
        group = _OUTSIDE
    left, right = clause(again(who), v_if, "psubj")
    if v_if.verb == "poder":
        right = f"{who.key} could"
    main = clause(who, vp(d, who, group, 0.3), "cond", shown=who.p == 0 and d.chance(0.5))
    return _either_way(d, main, (f"si {left}", f"if {right}"), 0.7)


_LATER = acts(
    "llegar/a casa/get home, terminar/el trabajo/finish work, tener/tiempo/have time,"
    "volver/de vacaciones/come back from vacation, salir/del trabajo/leave work,"
    "tener/dinero/have money, llegar/al hotel/get to the hotel, terminar/los deberes/finish {},"
    "ser/mayor/be older, volver/a casa/go back home"
)


@family(3)
def when_ahead(d: Dice) -> Pair:
    """Cuando llegue a casa, llamaré a Ana."""
    who = su.subject(d)
    having = d.pick(_LATER)
    child = who.en in su.CHILDREN
    while (having.verb == "ser" and not child) or ("{}" in having.tail_en and who.en in su.GROWN):
        having = d.pick(_LATER)
    if "{}" in having.tail_en:
        having = having._replace(tail_en=f"{who.my} homework")
    if having.verb == "ser":
        having = having._replace(tail_es="mayores" if who.many else "mayor")
        v = d.pick(_AMBITIONS)
    else:
        v = vp(d, who, _enabled(having), 0.2)
    left, right = clause(again(who), having, "subj")
    main = clause(who, v, d.pick(("fut", "fut", "goto")))
    return _either_way(d, main, (f"cuando {left}", f"when {right}"))


_AMBITIONS = acts(
    "vivir/en otro país/live in another country, viajar/por todo el mundo/travel around the world,"
    "escribir/libros/write books, trabajar/en un hospital/work in a hospital,"
    "estudiar/medicina/study medicine, tener/una casa grande/have a big house,"
    "trabajar/con animales/work with animals, comprar/un coche rojo/buy a red car"
)


@family(2.5)
def when_both(d: Dice) -> Pair:
    """Cuando vuelva a casa, Ana preparará la cena y leerá un libro en el sofá."""
    who, having = su.subject(d), d.pick(_ARRIVED)
    one, two = vp(d, who, vb.LEISURE, 0.5), vp(d, who, vb.LEISURE, 0.5)
    while one.verb == two.verb:
        two = vp(d, who, vb.LEISURE, 0.5)
    left, right = clause(again(who), having, "subj")
    main, after = clause(who, one, "fut"), clause(again(who), two, "fut")
    y = "e" if after[0].startswith("i") else "y"
    both = f"{main[0]} {y} {after[0]}", f"{main[1]} and {join(two.base, two.tail_en)}"
    return _either_way(d, both, (f"cuando {left}", f"when {right}"))


_ARRIVED = acts(
    "volver/de vacaciones/come back from vacation, tener/tiempo/have time,"
    "terminar/la clase/finish class, tener/vacaciones/have a vacation, terminar/pronto/finish early"
)
