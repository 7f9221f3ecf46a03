"""Amounts, times, and dates: the same figures on both sides, each in its own convention."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.corpus import numbers
from transformer.config import SentencePair
from transformer.corpus.readers import read_pairs

WITH_DIGITS = [kind for kind in dict.fromkeys(numbers.KINDS) if kind is not numbers.clock_time]


@pytest.mark.parametrize("kind", WITH_DIGITS, ids=lambda kind: kind.__name__)
def test_both_sides_have_the_same_digits(kind: Callable[[random.Random], SentencePair]) -> None:
    for seed in range(200):
        sides = kind(random.Random(seed))
        spanish, english = (sorted(re.findall(r"\d", side)) for side in sides)
        assert spanish == english, sides


def test_separators_and_signs_change_sides() -> None:
    drawn = {numbers.amount(random.Random(seed)) for seed in range(2000)}
    bare = [pair for pair in drawn if re.fullmatch(r"[\d.,]+ [€$£]", pair[0])]
    assert len(bare) > 500
    for spanish, english in bare:
        assert english[0] == spanish[-1]
        assert english[1:] == spanish[:-2].translate(str.maketrans(".,", ",."))


def test_hours_agree_in_number() -> None:
    times = {numbers.clock_time(random.Random(seed)) for seed in range(5000)}
    assert ("las cuatro menos cuarto", "a quarter to four") in times
    assert ("Es la una y media.", "It's half past one.") in times
    assert not any(re.search(r"[Ss]on la una|[Ee]s las", spanish) for spanish, _ in times)


def test_what_is_drawn_depends_on_the_seed_alone(tmp_path: Path) -> None:
    outputs = []
    for i, seed in enumerate("112"):
        path = tmp_path / f"{i}.tsv"
        assert numbers.main(["--lines", "80", "--seed", seed, "--output", str(path)]) == 0
        assert len(list(read_pairs(str(path), "es", "en"))) == 80
        outputs.append(path.read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]
