"""Keys are kept as hashes, and clients are counted by the minute."""

import json
from pathlib import Path

import pytest

from transformer import cli
from transformer.config import UserError
from transformer.serving.authorization import ApiKeys, RateLimiter, new_api_key


def test_a_key_is_known_by_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    key, other = new_api_key(file, 0), new_api_key(file, 7)
    text = file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert key not in text
    assert other not in text
    assert [set(json.loads(line)) for line in text.splitlines()] == [{"sha256", "per_minute"}] * 2
    keys = ApiKeys(file)
    assert (keys.rate(key), keys.rate(other)) == (0, 7)
    assert keys.rate("guess") is None
    assert keys.rate("\ud800") is None


def test_the_command_line_makes_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--new-api-key", str(tmp_path / "keys"), "--per-minute", "3"]) == 0
    key = capsys.readouterr().out.strip()
    assert ApiKeys(tmp_path / "keys").rate(key) == 3
    assert cli.main(["--new-api-key", str(tmp_path / "no" / "keys")]) == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["nonsense", "[1]", '{"sha256": "x"}'])
def test_a_broken_file_of_keys_is_told_of(tmp_path: Path, content: str) -> None:
    (tmp_path / "keys").write_text(content)
    with pytest.raises(UserError, match=r"expected API keys in .*keys.*--new-api-key"):
        ApiKeys(tmp_path / "keys")
    with pytest.raises(UserError, match="expected API keys"):
        ApiKeys(tmp_path / "missing")


def test_a_client_may_come_so_often_in_a_minute() -> None:
    now = 100.0
    rates = RateLimiter(lambda: now)
    assert [rates.wait("a", 2) for _ in range(2)] == [0, 0]
    now = 110.0
    assert rates.wait("a", 2) == 50
    assert rates.wait("b", 2) == 0
    assert rates.wait("c", 0) == 0
    now = 160.0
    assert rates.wait("a", 2) == 0
    now = 1000.0
    assert rates.wait("d", 1) == 0
    assert list(rates._times) == ["d"]  # who has long gone is forgotten
