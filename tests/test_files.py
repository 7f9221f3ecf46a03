"""Files and folders that appear whole or not at all."""

from pathlib import Path

import pytest

from transformer.files import replaced_folder, write_text


def test_a_failing_block_replaces_neither_folder_nor_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/text").write_text("old")

    def fail(folder: Path) -> None:
        with replaced_folder(folder) as new:
            (new / "text").write_text("new")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail(tmp_path / "a")
    assert (tmp_path / "a/text").read_text() == "old"
    write_text(tmp_path / "b", "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "b", "new \ud800")
    assert (tmp_path / "b").read_text() == "old"
    write_text(tmp_path / "b", "new ñ\n")
    assert (tmp_path / "b").read_text(encoding="utf-8") == "new ñ\n"
