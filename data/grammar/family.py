"""The list of sentence families: a function from dice to a pair of sentences, with its weight."""

from collections.abc import Callable

from grammar.phrases import Dice, Pair

Maker = Callable[[Dice], Pair]

FAMILIES: dict[str, tuple[Maker, float]] = {}


def family(weight: float) -> Callable[[Maker], Maker]:
    """Enter a function in the list under its own name."""

    def enter(maker: Maker) -> Maker:
        FAMILIES[maker.__name__] = (maker, weight)
        return maker

    return enter
