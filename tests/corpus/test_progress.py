"""Signs of life from work whose end cannot be foreseen."""

import re
import time

import pytest

from transformer.corpus.prepare import log_duration


def test_work_is_told_when_it_begins_goes_on_and_ends() -> None:
    messages: list[str] = []
    with log_duration("counting", messages.append, every=0.01):
        while len(messages) < 3:
            time.sleep(0.005)
    assert messages[0] == "counting"
    assert all(re.fullmatch(r"counting: \d+ s so far", line) for line in messages[1:-1])
    assert re.fullmatch(r"counting: done in \d+\.\d s", messages[-1])


def test_work_that_fails_is_not_told_as_done() -> None:
    messages: list[str] = []
    with pytest.raises(ZeroDivisionError), log_duration("dividing", messages.append):
        print(1 / 0)
    assert messages == ["dividing"]
