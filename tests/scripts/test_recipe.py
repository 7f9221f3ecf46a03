"""A phase's own weights stand before those of all phases."""

from pathlib import Path

import pytest

from scripts.corpus import recipe
from transformer.config import UserError


def test_a_phase_weighs_a_source_before_the_recipe_does(tmp_path: Path) -> None:
    mix = tmp_path / "mix.toml"
    mix.write_text(
        """[weights]
"news*" = 3
"*" = 1
[phase.end]
max-steps = 5
[phase.end.weights]
"books*" = 0
"news*" = 0.5
""",
        encoding="utf-8",
    )
    for name in ("news.tsv", "books.tsv", "talk.tsv"):
        (tmp_path / name).write_text("es\ten\n", encoding="utf-8")
    given = recipe.arguments(mix, "end", [str(tmp_path)])
    sources = [Path(source).name for source in given[1:3]]
    assert (given[0], sources, given[3:]) == (
        "--train", ["news.tsv@0.5", "talk.tsv@1"], ["--max-steps", "5"],
    )  # fmt: skip


def test_a_phase_that_is_like_another_says_only_what_differs(tmp_path: Path) -> None:
    mix = tmp_path / "mix.toml"
    mix.write_text(
        """[phase.end]
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
""",
        encoding="utf-8",
    )
    for name in ("news.tsv", "talk.tsv", "talks.tsv"):
        (tmp_path / name).write_text("es\ten\n", encoding="utf-8")
    given = recipe.arguments(mix, "polish", [str(tmp_path)])
    sources = [Path(source).name for source in given[1:4]]
    assert sources == ["news.tsv@3", "talk.tsv@0.05", "talks.tsv@0.2"]
    assert given[4:] == ["--max-steps", "2", "--both"]


def test_a_phase_is_like_one_above_it(tmp_path: Path) -> None:
    mix = tmp_path / "mix.toml"
    mix.write_text('[phase.end]\nlike = "end"\n', encoding="utf-8")
    with pytest.raises(UserError, match="expected a phase above 'end' that it is like; got 'end'"):
        recipe.arguments(mix, "end", [str(tmp_path)])
