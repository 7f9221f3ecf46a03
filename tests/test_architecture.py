"""The agreed shape, checked on the syntax trees: floors, doors, sizes, and quiet imports."""

import ast
import functools
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "transformer"

# A module imports from lower floors only. The mathematical side knows tensors, the text side
# knows words; they meet in `translate` and in `training`.
FLOORS = (
    {"config", "words", "scheduler", "gauges", "marks"},  # settings, words, queues, counters
    # text; a server's parts
    {"serving", "admission", "wordfile", "accents", "spelling", "casing", "detect", "guard"},
    {"asking", "gate", "documents", "arguments"},
    {
        "attention",
        "positional",
        "loss",
        "optim",
        "tokenizer",
        "sources",
        "folder",
        "protect",
    },
    {
        "noise",
        "layers",
        "cleaning",
        "batching",
        "native",
        "slots",
        "released",
        "battery",
    },  # what is made of one; kernels, buffers
    {"model", "recipe", "packing"},  # the network; what a corpus is made of; packed maps
    {"engine", "graphs"},  # the network for decoding, on a CPU and on a GPU
    {
        "decoding",
        "checkpoint",
        "corpus",
        "segment",
        "evaluate",
        "plots",
        "marian",
        "objective",
    },  # using them
    {"bulk", "attempts"},  # many searches; the ways to put a sentence to them
    {"translate", "findings", "progress", "examples", "parity", "growth"},  # text in, text out
    {"report", "validation", "export", "insight", "careful", "selftest", "transfer"},
    {"systems", "runfolder", "launch", "directions", "explain"},  # whole tasks; a run's machine
    {"service"},  # many requests at once
    {"answers"},
    {"training"},
    {"server", "fit"},  # many clients; trial steps of training
    {"cli"},
    {
        "scripts/copy_model",
        "scripts/rivals",
        "scripts/training_rivals",
        "scripts/bench_tables",
        "scripts/pairs_out",
    },  # to be measured by; a corpus to write
    {
        "scripts/recurrent",
        "scripts/tour_lessons",
        "scripts/tour_digits",
        "scripts/tour_model",
        "scripts/tour_page",
        "scripts/tour_figures",
        "scripts/tour_words",
    },  # of the attention tour
    {"scripts/race"},  # the recurrent translator beside the Transformer
    {"scripts/tour_exhibits"},  # its pictures and tables
    {"scripts/tour_stops"},
    {"scripts/teams", "scripts/trainers"},  # engines in processes of their own; training loops
    {"scripts/alternation", "scripts/bench_profile"},  # that take turns; where a step's time goes
    {"scripts/training_teams"},  # training loops in processes of their own
    {"scripts/training_tables"},  # what they did
    {"scripts/bench_decoding", "scripts/bench_startup", "scripts/bench_training"},  # measured
    {"scripts/phrases"},  # which aligns a corpus
    {"scripts/rare"},  # which finds its rare words
    {
        "__main__",
        "scripts/train",
        "scripts/trials",
        "scripts/evaluate",
        "scripts/evaluate_release",
        "scripts/compute_types",
        "scripts/release",
        "scripts/diversify",
        "scripts/swap",
        "scripts/export",
        "scripts/benchmark",
        "scripts/load",
        "scripts/attention_tour",
    },  # for a person
)
FLOOR = {module: number for number, modules in enumerate(FLOORS) for module in modules}
# The one module that imports a library; torch and numpy are everywhere.
DOORS = {
    "accelerate": "launch",
    "ctranslate2": "export",
    "bs4": "documents",
    "datasets": "corpus",
    "docx": "wordfile",
    "fastapi": "server",
    "joeynmt": "scripts/training_rivals",
    "matplotlib": "plots",
    "prometheus_client": "gauges",
    "psutil": "launch",
    "sacrebleu": "evaluate",
    "safetensors": "checkpoint",
    "sentencepiece": "tokenizer",
    "srt": "documents",
    "starlette": "server",
    "sklearn": "scripts/tour_digits",
    "transformers": "marian",
    "uvicorn": "server",
}
MATHEMATICAL = {"attention", "positional", "layers", "model", "packing", "engine", "decoding",
                "loss", "optim", "native", "graphs", "slots"}  # fmt: skip
FREE_OF_FILES = {"os", "io", "pathlib", "shutil", "json", "tempfile", "subprocess", "re"}
# Imports inside a function, each with its reason.
LATE = {
    ("cli", "transformer.directions"),  # --help and mistakes answer before torch is there
    ("cli", "transformer.selftest"),
    ("cli", "transformer.explain"),
    ("cli", "transformer.server"),  # needs an extra
    ("cli", "transformer.admission"),  # only to make a key
    ("documents", "bs4"),  # extras
    ("documents", "bs4.element"),
    ("wordfile", "docx"),
    ("wordfile", "docx.text.paragraph"),
    ("documents", "srt"),
    ("plots", "matplotlib"),
    ("plots", "matplotlib.figure"),
    ("export", "ctranslate2"),
    ("marian", "transformers"),
    ("scripts/training_rivals", "joeynmt"),
    ("scripts/tour_digits", "sklearn"),
}
SERVE = {"fastapi", "prometheus_client", "starlette", "uvicorn"}  # imported at once where needed
EXTRAS = {name for _, name in LATE if name in DOORS} | SERVE
TOP = {"LICENSE", "README.md", "checkpoints", "data", "pyproject.toml", "scripts", "tests",
       "transformer"}  # fmt: skip
MAY_BE = {"README.es.md", "build", "dist"}  # the last two are made by the installation
MAX_LINES, MAX_FUNCTION_LINES, MAX_ARGUMENTS = 300, 60, 7

FILES = {
    **{path.stem: path for path in sorted(PACKAGE.glob("*.py"))},
    **{f"scripts/{path.stem}": path for path in sorted((ROOT / "scripts").glob("*.py"))},
}
TREES = {
    name: ast.parse(path.read_text(encoding="utf-8"), str(path)) for name, path in FILES.items()
}
MODULES = [name for name in FILES if "/" not in name]
SCRIPTS = {name.removeprefix("scripts/") for name in FILES if "/" in name}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def names_of(node: ast.AST) -> list[str]:
    """The modules that an import statement names: `from transformer import x` names x."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert not node.level, "imports are absolute"
        if node.module == "transformer":
            return [f"transformer.{alias.name}" for alias in node.names]
        return [str(node.module)]
    return []


def for_types_only(tree: ast.AST) -> set[ast.AST]:
    """The nodes under `if TYPE_CHECKING`, which never run."""
    guarded = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {inner for node in guarded for inner in ast.walk(node)}


@functools.cache
def imports(name: str) -> set[str]:
    """What a file imports, wherever in it, except for types only."""
    tree = TREES[name]
    skipped = for_types_only(tree)
    return {found for node in ast.walk(tree) if node not in skipped for found in names_of(node)}


def own_imports(name: str) -> set[str]:
    """The modules of the package among them, without its name; for a script, scripts too."""
    found = imports(name)
    scripts = {f"scripts/{other}" for other in found & SCRIPTS if "/" in name}
    return scripts | {one.split(".")[1] for one in found if one.startswith("transformer.")}


def libraries(name: str) -> set[str]:
    """The third-party packages among them."""
    tops = {found.split(".")[0] for found in imports(name)}
    return tops - sys.stdlib_module_names - {"transformer"} - (SCRIPTS if "/" in name else set())


def functions(name: str) -> Iterator[Function]:
    for node in ast.walk(TREES[name]):
        if isinstance(node, Function):
            yield node


def test_the_table_of_floors_names_every_module() -> None:
    assert set(FLOOR) == set(FILES) - {"__init__"}
    assert len(FLOOR) == sum(map(len, FLOORS)), "a module stands on two floors"


@pytest.mark.parametrize("name", FLOOR)
def test_a_module_imports_from_lower_floors_only(name: str) -> None:
    higher = {other for other in own_imports(name) if FLOOR[other] >= FLOOR[name]}
    assert not higher, f"{name} (floor {FLOOR[name]}) imports {higher}"


def test_importing_the_package_imports_none_of_its_modules() -> None:
    assert not own_imports("__init__")


@pytest.mark.parametrize(("library", "module"), DOORS.items())
def test_a_library_is_imported_by_one_module(library: str, module: str) -> None:
    assert [name for name in FILES if library in libraries(name)] == [module]


def test_there_are_no_other_libraries() -> None:
    assert set().union(*map(libraries, FILES)) == {"numpy", "torch", *DOORS}


@pytest.mark.parametrize("name", sorted(MATHEMATICAL - {"native"}))  # it keeps a compiled file
def test_the_mathematical_side_knows_tensors_only(name: str) -> None:
    assert own_imports(name) <= MATHEMATICAL | {"config"}
    assert libraries(name) == {"torch"} or not libraries(name)
    assert not imports(name) & FREE_OF_FILES


def test_imports_inside_functions_are_the_listed_ones() -> None:
    found = {
        (name, imported)
        for name in FILES
        for function in functions(name)
        for node in ast.walk(function)
        for imported in names_of(node)
    }
    assert found == LATE


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_what_it_is_named_for(name: str) -> None:
    assert name not in {"utils", "util", "helpers", "common", "base", "misc"}
    others = {*sys.stdlib_module_names, *DOORS, "torch", "numpy", "tokenizers", "transformers"}
    assert name not in others - {"__main__"}
    assert ast.get_docstring(TREES[name])


@pytest.mark.parametrize("name", FILES)
def test_what_is_public_has_a_docstring(name: str) -> None:
    silent = [
        node.name
        for node in TREES[name].body
        if isinstance(node, Function | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert not silent


@pytest.mark.parametrize("name", FILES)
def test_files_and_functions_are_small(name: str) -> None:
    assert len(FILES[name].read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    for function in functions(name):
        n_lines = (function.end_lineno or 0) - function.lineno + 1
        assert n_lines <= MAX_FUNCTION_LINES, f"{function.name} has {n_lines} lines"
        a = function.args
        names = [one.arg for one in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
        n_arguments = len(names) - (names[:1] in (["self"], ["cls"]))
        assert n_arguments <= MAX_ARGUMENTS, f"{function.name} has {n_arguments} arguments"


@pytest.mark.parametrize("name", sorted({*MODULES} - {"cli"}))
def test_only_the_command_line_prints(name: str) -> None:
    calls = (node for node in ast.walk(TREES[name]) if isinstance(node, ast.Call))
    assert not [node.lineno for node in calls if ast.unparse(node.func) == "print"]


def python(code: str) -> None:
    """Runs a program in a fresh interpreter; it must say nothing and end well."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_package_and_the_command_line_start_without_torch() -> None:
    python(
        "import sys, transformer, transformer.cli\n"
        "transformer.cli.parser().format_help()\n"
        f"heavy = sys.modules.keys() & { ({'torch', 'numpy', *DOORS})!r}\n"
        "assert not heavy, heavy"
    )


def test_imports_have_no_effects() -> None:
    modules = sorted({*MODULES} - {"__init__", "__main__"})
    there = {name for name in SERVE if importlib.util.find_spec(name)}
    modules = [name for name in modules if libraries(name) & SERVE <= there]
    python(
        "import importlib, logging, os, random, signal, warnings\n"
        f"import numpy, torch, {', '.join(sorted({*DOORS} - EXTRAS | there))}\n"
        "def snapshot():\n"
        "    return (dict(os.environ), os.getcwd(), torch.get_num_threads(),\n"
        "            torch.get_default_dtype(), torch.random.get_rng_state().tolist(),\n"
        "            str(numpy.random.get_state()), random.getstate(), list(warnings.filters),\n"
        "            logging.getLogger().level, list(logging.getLogger().handlers),\n"
        "            [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)])\n"
        "before = snapshot()\n"
        f"for name in {modules!r}:\n"
        "    importlib.import_module(f'transformer.{name}')\n"
        "for one, other in zip(before, snapshot()):\n"
        "    assert one == other, (one, other)\n"
    )


def test_the_package_gives_its_names_when_they_are_asked_for() -> None:
    python(
        "import transformer\n"
        "for name in transformer.__all__:\n"
        "    assert getattr(transformer, name), name\n"
        "try:\n"
        "    transformer.Decoder\n"
        "except AttributeError as error:\n"
        "    assert 'Decoder' in str(error)\n"
        "else:\n"
        "    raise SystemExit('a name that is not there')\n"
    )


def test_the_top_of_the_repository_holds_nothing_else() -> None:
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "__"))}
    found = {name for name in found if not name.endswith(".egg-info")}
    assert found >= TOP
    assert found <= TOP | MAY_BE
