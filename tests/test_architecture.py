"""The agreed shape, checked on the syntax trees: one order of packages, sizes, quiet imports."""

import ast
import fnmatch
import functools
import importlib.util
import sys
from pathlib import Path

import pytest

from tests.processes import ROOT, quiet

PACKAGE = ROOT / "transformer"
# A package imports itself and those before it.
ORDER = ("config", "files", "command", "plots", "text", "model", "checkpoint", "corpus", "decoding",
         "translation", "evaluation", "explain", "training", "export", "documents", "serving",
         "flags", "cli")  # fmt: skip
# The one package that imports a library; torch and numpy are everywhere, but see WITHOUT_TORCH.
HOMES = {"accelerate": "training", "ctranslate2": "export", "datasets": "corpus",
         "docutils": "documents", "fastapi": "serving", "fluent": "documents",
         "iniparse": "documents", "javaproperties": "documents", "lxml": "documents",
         "markdown_it": "documents", "matplotlib": "plots", "prometheus_client": "serving",
         "psutil": "training",
         "polib": "documents", "pyarrow": "corpus", "pydantic": "serving",
         "pylatexenc": "documents", "pypdf": "documents",
         "pysubs2": "documents",
         "sacrebleu": "evaluation", "safetensors": "checkpoint", "sentencepiece": "text",
         "shtab": "cli", "starlette": "serving", "tqdm": "command", "transformers": "export",
         "tree_sitter": "documents", "tree_sitter_php": "documents",
         "typing_extensions": "serving", "uvicorn": "serving", "yaml": "documents"}  # fmt: skip
TORCH_FREE = ("locate", "tensors")  # of the package checkpoint
WITHOUT_TORCH = ("config", "files", "command", "plots", "text", "flags", "cli")
TOP = {"LICENSE", "README.md", "README.es.md", "checkpoints", "data", "pyproject.toml", "scripts",
       "tests", "transformer"}  # fmt: skip
MAX_LINES, MAX_FUNCTION_LINES, MAX_ARGUMENTS = 400, 60, 7

LIBRARY = sorted(PACKAGE.rglob("*.py"))
MODULES = [path for path in LIBRARY if path.name not in ("__init__.py", "__main__.py")]
FILES = [*LIBRARY, *sorted((ROOT / "scripts").rglob("*.py"))]
# Parsed before any test: in the process of a test that drove a browser, Python 3.11 may refuse to.
TREES = {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in FILES}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """The modules that a file imports, wherever in it, except for types only."""
    names: set[str] = set()
    for_types = {
        inner
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in {*ast.walk(TREES[path])} - for_types:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def home_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_package_imports_itself_and_those_before_it(path: Path) -> None:
    own = {name.split(".")[1] for name in imported(path) if name.startswith("transformer.")}
    later = {name for name in own if ORDER.index(name) > ORDER.index(home_of(path))}
    assert not later


def test_a_library_is_imported_by_one_package() -> None:
    homes: dict[str, set[str]] = {}
    for path in LIBRARY:
        for name in {name.split(".")[0] for name in imported(path)}:
            homes.setdefault(name, set()).add(home_of(path))
    others = homes.keys() - sys.stdlib_module_names - {"transformer", "torch", "numpy"}
    assert {name: homes[name] for name in others} == {name: {home} for name, home in HOMES.items()}


@pytest.mark.parametrize("path", FILES, ids=str)
def test_files_and_functions_are_small_and_documented(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    assert ast.get_docstring(TREES[path])
    public = [node for node in TREES[path].body if isinstance(node, Function | ast.ClassDef)]
    assert all(ast.get_docstring(node) for node in public if not node.name.startswith("_"))
    for node in ast.walk(TREES[path]):
        if isinstance(node, Function):
            assert (node.end_lineno or 0) - node.lineno < MAX_FUNCTION_LINES, node.name
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            names = [argument.arg for argument in arguments]
            assert len(names) - (names[:1] in (["self"], ["cls"])) <= MAX_ARGUMENTS, node.name


@pytest.mark.parametrize("path", [path for path in MODULES if path.stem != "cli"], ids=str)
def test_only_the_command_line_prints(path: Path) -> None:
    calls = (node for node in ast.walk(TREES[path]) if isinstance(node, ast.Call))
    to_stderr = {"command.py"}  # why a command ends
    assert path.name in to_stderr or not [c for c in calls if ast.unparse(c.func) == "print"]


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_the_command_starts_without_torch() -> None:
    light = [dotted(path) for path in MODULES if home_of(path) in WITHOUT_TORCH]
    light += ["transformer", *(f"transformer.checkpoint.{name}" for name in TORCH_FREE)]
    quiet(f"import sys, {', '.join(light)}\nassert 'torch' not in sys.modules")
    quiet(f"import sys, transformer.cli\nassert not sys.modules.keys() & { ({*HOMES, 'numpy'})!r}")


def test_imports_have_no_effects() -> None:
    able = [path for path in MODULES if all(
        importlib.util.find_spec(name.split(".")[0]) for name in imported(path))]  # fmt: skip
    quiet(
        "import importlib, logging, os, random, signal, warnings, numpy, torch, accelerate\n"
        "def seen():\n"
        "    return (dict(os.environ), os.getcwd(), torch.get_num_threads(),\n"
        "            torch.random.get_rng_state().tolist(), str(numpy.random.get_state()),\n"
        "            random.getstate(), logging.getLogger().handlers[:],\n"
        "            [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)])\n"
        "import datasets\nbefore = seen()\n"
        f"for name in {[dotted(path) for path in able]!r}:\n    importlib.import_module(name)\n"
        "assert before == seen()"
    )


def top_level() -> set[str]:
    """Return the visible names at the top, but those in .gitignore, which commands made."""
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    made = [name for line in lines if "/" not in (name := line.strip("/"))]
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "__"))}
    return {name for name in names if not any(fnmatch.fnmatch(name, each) for each in made)}


def test_the_top_of_the_repository_holds_nothing_else() -> None:
    assert top_level() == TOP
