"""The folder of a checkpoint without its tensors: read without torch, written whole or not."""

import json
from pathlib import Path

import pytest

from transformer.checkpoint import weights
from transformer.checkpoint.locate import CONFIG, WEIGHTS, direction, find, read_config
from transformer.config import UserError
from transformer.files import write_text


def test_a_folder_is_described_without_its_tensors(random_checkpoint: Path, tmp_path: Path) -> None:
    opened = weights.load(random_checkpoint)
    config = (random_checkpoint / CONFIG).read_text(encoding="utf-8")
    write_text(tmp_path / CONFIG, config)
    assert not (tmp_path / WEIGHTS).exists()
    assert find(str(tmp_path)) == tmp_path
    assert read_config(tmp_path) == (opened.model.config, ((opened.src_lang, opened.tgt_lang),))


def test_a_run_is_known_by_its_best_then_by_its_last_checkpoint(tmp_path: Path) -> None:
    for name in ("last", "best"):
        (tmp_path / name).mkdir()
        with pytest.raises(UserError, match=r"a folder without config\.json"):
            find(tmp_path / name)
        (tmp_path / name / CONFIG).touch()
        assert find(tmp_path) == tmp_path / name


def test_the_predecessor_stands_in_after_a_crash(tmp_path: Path) -> None:
    (tmp_path / ".model.old").mkdir()
    (tmp_path / ".model.old" / CONFIG).touch()
    assert find(tmp_path / "model") == tmp_path / ".model.old"


def test_a_configuration_without_languages_is_an_error(
    random_checkpoint: Path, tmp_path: Path
) -> None:
    described = json.loads((random_checkpoint / CONFIG).read_text(encoding="utf-8"))
    del described["src_lang"]
    write_text(tmp_path / CONFIG, json.dumps(described))
    with pytest.raises(UserError, match=r"expected a model configuration in .*: 'src_lang'"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("src_lang", "tgt_lang", "expected"),
    [
        (None, None, ("es", "en")),
        ("es", None, ("es", "en")),
        ("en", None, ("en", "es")),
        (None, "es", ("en", "es")),
        ("en", "es", ("en", "es")),
    ],
)
def test_the_language_that_is_not_named_is_the_other_one(
    src_lang: str | None, tgt_lang: str | None, expected: tuple[str, str]
) -> None:
    assert direction(src_lang, tgt_lang) == expected
