"""Signs of life from work whose end cannot be foreseen."""

import re
import time

import pytest

from transformer.corpus.prepare import log_duration


def test_work_is_told_when_it_begins_goes_on_and_ends() -> None:
    said: list[str] = []
    with log_duration("counting", said.append, every=0.01):
        while len(said) < 3:
            time.sleep(0.005)
    assert said[0] == "counting"
    assert all(re.fullmatch(r"counting: \d+ s so far", line) for line in said[1:-1])
    assert re.fullmatch(r"counting: done in \d+\.\d s", said[-1])


def test_work_that_fails_is_not_told_as_done() -> None:
    said: list[str] = []
    with pytest.raises(ZeroDivisionError), log_duration("dividing", said.append):
        print(1 / 0)
    assert said == ["dividing"]
