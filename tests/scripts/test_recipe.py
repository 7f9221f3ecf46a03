"""A phase's own weights stand before those of all phases."""

from pathlib import Path

import pytest

from scripts.corpus import recipe
from transformer.config import UserError


def given(folder: Path, mix: str, phase: str, *names: str) -> list[str]:
    """What a phase of a recipe asks of `train.py`, of sources with these names."""
    path = folder / "mix.toml"
    path.write_text(mix, encoding="utf-8")
    for name in names:
        (folder / f"{name}.tsv").write_text("es\ten\n", encoding="utf-8")
    flags = recipe.arguments(path, phase, [f"{folder}/{name}.tsv" for name in sorted(names)])
    return [part.removeprefix(f"{folder}/") for part in flags]


def test_a_phase_weighs_a_source_before_the_recipe_does(tmp_path: Path) -> None:
    mix = """[weights]
"news*" = 3
"*" = 1
[phase.end]
max-steps = 5
[phase.end.weights]
"books*" = 0
"news*" = 0.5
"""
    assert given(tmp_path, mix, "end", "news", "talk", "books") == [
        "--train", "news.tsv@0.5", "talk.tsv@1", "--max-steps", "5",
    ]  # fmt: skip


def test_a_phase_that_is_like_another_says_only_what_differs(tmp_path: Path) -> None:
    mix = """[phase.end]
max-steps = 5
both = true
[phase.end.weights]
"news" = 4
"talks" = 2
"*" = 0.5
[phase.polish]
like = "end"
times = 0.1
max-steps = 2
[phase.polish.weights]
"ne*" = 3
"*" = 0.05
"""
    assert given(tmp_path, mix, "polish", "news", "talk", "talks") == [
        "--train", "news.tsv@3", "talk.tsv@0.05", "talks.tsv@0.2", "--max-steps", "2", "--both",
    ]  # fmt: skip


def test_a_phase_is_like_one_above_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected a phase above 'end' that it is like; got 'end'"):
        given(tmp_path, '[phase.end]\nlike = "end"\n', "end")
