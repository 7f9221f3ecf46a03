"""What is found in the lines of a test set: buckets, lengths, faults, examples."""

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.evaluation import analysis
from transformer.evaluation.analysis import (
    N_EXAMPLES,
    analyse,
    fault_indices,
    length_ratios,
    one_line,
    score_by_length,
)
from transformer.evaluation.metrics import scores, sentence_chrf

SOURCES = tuple(" ".join(["palabra"] * n) for n in (0, 1, 5, 6, 10, 11, 20, 21, 40, 41, 99))
REFERENCES = tuple(" ".join(f"word{i}" for i in range(n)) for n in range(1, 12))
HYPOTHESES = tuple(text.replace("word2", "wird") for text in REFERENCES)
TEXTS = analysis.TestSet(
    name="set", spec="set.tsv", sources=SOURCES, references=REFERENCES, hypotheses=HYPOTHESES
)


def test_buckets_hold_every_sentence_once() -> None:
    found = score_by_length(TEXTS)
    assert [b.words for b in found] == ["1-5", "6-10", "11-20", "21-40", "41+"]
    assert [b.sentences for b in found] == [3, 2, 2, 2, 2]


def test_a_bucket_is_scored_like_a_test_set_of_its_own() -> None:
    last = score_by_length(TEXTS, n_bootstrap=50)[-1]
    assert last.scores == scores(HYPOTHESES[-2:], REFERENCES[-2:], 50)[:2]


def test_an_empty_bucket_has_no_scores() -> None:
    short = analysis.TestSet(
        name="s", spec="s", sources=("a",), references=("a",), hypotheses=("a",)
    )
    assert [len(b.scores) for b in score_by_length(short)] == [2, 0, 0, 0, 0]


def test_length_ratios_count_every_sentence() -> None:
    counts = length_ratios(["", "a", "a b c d", "a"], ["a", "b", "b", ""])
    assert len(counts) == 20
    assert (counts[0], counts[10], counts[19]) == (1, 2, 1)


def test_faults_are_counted_as_the_guard_sees_them() -> None:
    loop, copy = ("una casa", "a house " * 4), ("una casa grande y bonita", "una casa grande y fea")
    pairs = [("uno", ""), ("dos", " "), loop, copy, ("", ""), ("una casa", "a house")]
    found = fault_indices(*zip(*pairs, strict=True))
    assert found == {"empty": [0, 1], "copied source": [3], "repetition": [2]}


def test_some_sentences_are_drawn_and_those_with_faults_are_shown() -> None:
    many = dataclasses.replace(
        TEXTS, sources=SOURCES * 30, hypotheses=("", "", *HYPOTHESES * 30)[:-2],
        references=REFERENCES * 30, baseline=None,
    )  # fmt: skip
    found, again = (analyse(many, n_bootstrap=0) for _ in range(2))
    assert found.sampled == again.sampled
    lines = [s.line for s in found.sampled]
    assert lines == sorted({*lines})
    assert len(lines) == N_EXAMPLES < len(SOURCES) * 30
    assert found.faulty["empty"][0].line == 2
    assert found.faults["empty"] >= len(found.faulty["empty"])


def test_the_worst_sentences_come_first() -> None:
    worst = analyse(TEXTS, n_bootstrap=0).worst
    assert len(worst) == min(N_EXAMPLES, len(SOURCES))
    assert [s.chrf for s in worst] == sorted(s.chrf for s in worst)
    assert worst[0].chrf == min(sentence_chrf(HYPOTHESES, REFERENCES))
    assert worst[0].hypothesis == HYPOTHESES[worst[0].line - 1]


def test_a_comparison_counts_and_shows_what_changed() -> None:
    texts = analysis.TestSet(
        name="s",
        spec="s",
        sources=("a", "b", "c", "d"),
        references=("one", "two", "three", "four"),
        hypotheses=("one", "too", "three", "four"),
        baseline=("won", "two", "tree", "four"),
    )
    found = analyse(texts, baseline="old", n_bootstrap=20).comparison
    assert found is not None
    assert (found.baseline, found.better, found.worse) == ("old", 2, 1)
    assert {s.line for s in found.gains} == {1, 3}
    assert [(s.line, s.baseline) for s in found.losses] == [(2, "two")]
    assert found.gains[0].gain == max(s.gain or 0 for s in found.gains)


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_one_line_is_one_line_and_stays_so(text: str) -> None:
    line = one_line(text)
    assert len(f"{line}\n".splitlines()) == 1
    assert one_line(line) == line
    assert line.split() == " ".join(text.splitlines()).split()


def test_one_line_can_be_written_to_a_file() -> None:
    assert one_line("a\ud800b\u2028c\r\nd \n") == "a?b c d"


def test_the_commands_name_the_files() -> None:
    texts = analysis.TestSet(name="s", spec="s", sources=("a",), references=("b",), baseline=("c",))
    for command in texts.sacrebleu_commands():
        named = [word for word in command.split() if word.startswith("s.")]
        assert named
        assert set(named) <= set(texts.files())
