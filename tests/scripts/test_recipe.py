"""A phase's own weights stand before those of all phases."""

from pathlib import Path

from scripts.corpus import recipe


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
