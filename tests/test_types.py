"""Types that a user's script finds in the installed wheel, and in the source installed by -e."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """
import transformer
from transformer import DecodeConfig, ModelConfig, Tokenizer, Transformer, Translation, Translator

translator = transformer.load(guard=True)
best: Translation = translator.translate(["Hola."], DecodeConfig(beam_size=4))[0]
same: Translation = translator.translate("Hola.", to="en", beam_size=4)
score: float = best.candidates[0].score
texts: list[str] = [result.text for result in Translator.load("best").translate(["Hola."])]
model: Transformer = Transformer(ModelConfig())
size: int = Tokenizer.load("tokenizer.model").vocab_size
try:
    transformer.lode()
    text: int = best.text
except transformer.UserError:
    pass
"""


PIP = [sys.executable, "-m", "pip", "-q"]
OFFLINE = ["--no-deps", "--no-build-isolation"]


def built(tmp_path: Path, command: list[str], folder: str = "source") -> Path:
    """The environment of a user, after pip was called in a copy of the repository."""
    source, environment = tmp_path / folder, tmp_path / "environment"
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "run*", "tuned*")
    for name in ("transformer", "checkpoints"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    venv.create(environment)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    no_compiler = {**os.environ, "CC": "false", "CXX": "false"}  # types need none
    subprocess.run([*PIP, *command], cwd=source, env=no_compiler, check=True, capture_output=True)
    for wheel in source.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(site)
    return environment / "bin" / "python"


def run(tmp_path: Path, *command: str | Path) -> str:
    """What a program prints that a user starts in his folder."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=tmp_path, env=plain, capture_output=True, text=True)
    return done.stdout


def check(tmp_path: Path, python: Path) -> None:
    """A user's script has the types of the library, and no others."""
    (tmp_path / "user.py").write_text(SCRIPT)
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable")
    assert run(tmp_path, *mypy, python, "user.py").splitlines()[:-1] == [
        'user.py:13: error: Module has no attribute "lode"  [attr-defined]',
        'user.py:14: error: Incompatible types in assignment (expression has type "str", variable '
        'has type "int")  [assignment]',
    ]


@pytest.mark.slow
def test_a_users_script_is_checked_against_the_installed_wheel(tmp_path: Path) -> None:
    check(tmp_path, built(tmp_path, ["wheel", *OFFLINE, "."]))


@pytest.mark.slow
def test_a_clone_that_is_installed_in_place_is_found_from_any_folder(tmp_path: Path) -> None:
    """By type checkers, and by Python where the clone has the name of the package."""
    environment = tmp_path / "environment" / "bin" / "python"
    install = ["--python", str(environment), "install", *OFFLINE, "-e", "."]
    python = built(tmp_path, install, folder="transformer")
    check(tmp_path, python)
    code = "import transformer; print(transformer.__file__, transformer.load.__name__)"
    package = tmp_path / "transformer" / "transformer" / "__init__.py"
    assert run(tmp_path, python, "-c", code) == f"{package} load\n"
