"""Keys are kept as hashes, and clients are counted by the minute."""

import hashlib
import json
from pathlib import Path

import pytest
from starlette.requests import Request

from transformer import cli
from transformer.config import ServeConfig, UserError
from transformer.serving.authorization import Authorizer, RateLimiter, new_api_key, read_api_keys
from transformer.serving.errors import RequestError


def hashed(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def test_a_key_is_known_by_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    key, other = new_api_key(file, 0), new_api_key(file, 7)
    text = file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert key not in text
    assert other not in text
    assert [set(json.loads(line)) for line in text.splitlines()] == [{"sha256", "per_minute"}] * 2
    assert read_api_keys(file) == {hashed(key): 0, hashed(other): 7}
    authorizer = Authorizer(ServeConfig(api_keys=str(file)))
    request = Request({"type": "http", "client": None})
    authorizer.check_key(request, key)
    for wrong in ("guess", "\ud800"):
        with pytest.raises(RequestError, match="Invalid API key"):
            authorizer.check_key(request, wrong)


def test_the_command_line_makes_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--new-api-key", str(tmp_path / "keys"), "--per-minute", "3"]) == 0
    key = capsys.readouterr().out.strip()
    assert read_api_keys(tmp_path / "keys") == {hashed(key): 3}
    assert cli.main(["--new-api-key", str(tmp_path / "no" / "keys")]) == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["nonsense", "[1]", '{"sha256": "x"}'])
def test_a_broken_file_of_keys_is_told_of(tmp_path: Path, content: str) -> None:
    (tmp_path / "keys").write_text(content)
    with pytest.raises(UserError, match=r"expected API keys in .*keys.*--new-api-key"):
        read_api_keys(tmp_path / "keys")
    with pytest.raises(UserError, match="expected API keys"):
        read_api_keys(tmp_path / "missing")


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
