"""Families of two clauses joined by time or reason: while, when, because."""

from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import again, clause, say
from grammar.family import family
from grammar.phrases import Dice, Pair, join
from grammar.subjects import Who
from grammar.tables import lines, pairs
from grammar.verbs import VP, acts, vp

_QUIET = tuple(f for f in vb.ONGOING if "h" in f.flags and not f.reflexive)


@family(3)
def meanwhile(d: Dice) -> Pair:
    """Mientras Ana leía, Pedro preparaba la cena."""
    first = su.subject(d)
    second = su.other(d, first)
    one, two = vp(d, first, _QUIET, 0.2), vp(d, second, _QUIET, 0.2)
    while two.verb == one.verb:
        two = vp(d, second, _QUIET, 0.2)
    tense_es, tense_en = ("imp", "pprog") if d.chance(0.7) else ("pres", "prog")
    left = clause(first, one, tense_es, shown=True)[0], clause(first, one, tense_en)[1]
    right = clause(second, two, tense_es, shown=True)[0], clause(second, two, tense_en)[1]
    return say((f"mientras {left[0]}, {right[0]}", f"while {left[1]}, {right[1]}"))


_SUDDEN = pairs(
    "sonó el teléfono/the phone rang,llegó {}/{} arrived,empezó a llover/it started to rain,"
    "se apagó la luz/the light went out,{} llamó a la puerta/{} knocked on the door,"
    "oímos un ruido/we heard a noise,entró {}/{} came in,alguien gritó/someone shouted,"
    "{} abrió la puerta/{} opened the door,llegaron los invitados/the guests arrived"
)


@family(3)
def interrupted(d: Dice) -> Pair:
    """Estábamos cenando cuando sonó el teléfono."""
    who = su.subject(d)
    v = vp(d, who, vb.ONGOING, 0.3)
    left, right = clause(who, v, "pprog", shown=who.p in (0, 2))
    third = su.other(d, who, su.NAMES + su.KIN)
    while third.many:
        third = su.other(d, who, su.NAMES + su.KIN)
    event = d.pick(_SUDDEN)
    happened = event[0].replace("{}", third.es), event[1].replace("{}", third.en)
    return say((f"{left} cuando {happened[0]}", f"{right} when {happened[1]}"))


_REASONS = tuple(
    acts(row)
    for row in lines("""
    quedarse/en casa/stay home, estar/enfermo/be sick
    quedarse/en casa/stay home, tener/mucho trabajo/have a lot of work
    quedarse/en la cama/stay in bed, tener/fiebre/have a fever
    comer/dos bocadillos/eat two sandwiches, tener/mucha hambre/be very hungry
    beber/un vaso de agua/drink a glass of water, tener/mucha sed/be very thirsty
    ponerse/un jersey/put on a sweater, tener/frío/be cold
    abrir/la ventana/open the window, tener/calor/be hot
    acostarse/temprano/go to bed early, estar/muy cansado/be very tired
    irse/a la cama/go to bed, tener/sueño/be sleepy
    llegar/tarde/arrive late, perder/el autobús/miss the bus
    coger/un taxi/take a taxi, tener/prisa/be in a hurry
    ir/a la farmacia/go to the pharmacy, necesitar/medicinas/need medicine
    ir/al dentista/go to the dentist, tener/dolor de muelas/have a toothache
    estar/contento/be happy, ganar/el partido/win the game
    estar/contento/be happy, aprobar/el examen/pass the exam
    estar/triste/be sad, perder/el partido/lose the game
    estar/preocupado/be worried, perder/las llaves/lose the keys
    ahorrar/dinero/save money, querer/comprar un coche/want to buy a car
    estudiar/mucho/study a lot, querer/aprobar el examen/want to pass the exam
    aprender/español/learn Spanish, querer/vivir en Madrid/want to live in Madrid
    vender/el coche/sell the car, necesitar/dinero/need money
    llamar/al médico/call the doctor, estar/enfermo/be sick
    comprar/un abrigo/buy a coat, tener/frío/be cold
    estar/nervioso/be nervous, tener/un examen/have an exam
    levantarse/temprano/get up early, tener/una reunión/have a meeting
    """)
)
_STATES = ("tener", "querer", "necesitar", "estar")


def _fit(v: VP, who: Who) -> VP:
    """The phrase with its adjective made to agree with the subject."""
    if v.verb != "estar":
        return v
    before, _, last = v.tail_es.rpartition(" ")
    return v._replace(tail_es=join(before, es.adjective(last, who.g, who.many)))


@family(2.5)
def because(d: Dice) -> Pair:
    """Ana se quedó en casa porque estaba enferma."""
    who = su.subject(d)
    act, reason = d.pick(_REASONS)
    lasting = act.verb in ("ahorrar", "estudiar", "aprender")
    now = d.chance(0.4) and (lasting or act.verb == "estar") and reason.verb in _STATES
    tense = "imp" if act.verb == "estar" else "pret"
    why = "imp" if reason.verb in _STATES else "pperf" if tense == "imp" else "pret"
    if now:
        tense, why = "prog" if lasting else "pres", "pres"
    shown = tense == "imp" and who.p in (0, 2)
    left = clause(who, _fit(act, who), tense, shown=shown)
    right = clause(again(who), _fit(reason, who), why)
    return say((f"{left[0]} porque {right[0]}", f"{left[1]} because {right[1]}"))


_GOING = tuple(
    f for f in vb.WILLED
    if (f.verb, f.particle) == ("ir", "to") or f.verb in ("salir", "correr", "visitar", "asistir")
    if "g" not in f.flags
)  # fmt: skip
_WEAK = acts(
    "estar/enfermo/be sick, estar/cansado/be tired, estar/ocupado/be busy, "
    "tener/fiebre/have a fever,"
    "tener/mucho trabajo/have a lot of work, tener/que trabajar/have to work,"
    "tener/que estudiar/have to study, tener/otros planes/have other plans"
)
_OBSTACLES = pairs(
    "llovía/it was raining,hacía mucho frío/it was very cold,hacía mal tiempo/the weather was bad,"
    "era demasiado tarde/it was too late,nevaba/it was snowing,hacía mucho calor/it was very hot"
)


@family(2.5)
def did_not_go(d: Dice) -> Pair:
    """No fui al parque porque llovía."""
    who = su.subject(d)
    left = clause(who, vp(d, who, _GOING, 0.2), "pret", neg=True)
    why = (
        d.pick(_OBSTACLES) if d.chance(0.4) else clause(again(who), _fit(d.pick(_WEAK), who), "imp")
    )
    return say((f"{left[0]} porque {why[0]}", f"{left[1]} because {why[1]}"))
