"""Types that a user's script finds in the installed wheel."""

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


@pytest.mark.slow
def test_a_users_script_is_checked_against_the_installed_wheel(tmp_path: Path) -> None:
    source, environment = tmp_path / "source", tmp_path / "environment"
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "run*", "tuned*")
    for name in ("transformer", "checkpoints"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "."]
    no_compiler = {**os.environ, "CC": "false", "CXX": "false"}  # types need none
    subprocess.run(build, cwd=source, env=no_compiler, check=True, capture_output=True)
    venv.create(environment)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    (wheel,) = source.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    (tmp_path / "user.py").write_text(SCRIPT)
    check = [sys.executable, "-m", "mypy", "--strict", "--python-executable",
             str(environment / "bin" / "python"), "user.py"]  # fmt: skip
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(check, cwd=tmp_path, env=plain, capture_output=True, text=True)
    assert done.stdout.splitlines()[:-1] == [
        'user.py:12: error: Module has no attribute "lode"  [attr-defined]',
        'user.py:13: error: Incompatible types in assignment (expression has type "str", variable '
        'has type "int")  [assignment]',
    ]
