"""The native decoder: against the plain model, against integer arithmetic, and against misuse."""

import itertools
import random
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from tests.processes import python, shipped
from transformer.checkpoint.tensors import open_checkpoint
from transformer.config import ComputeType, DecodeConfig, UserError
from transformer.decoding import decoder as decoder_module
from transformer.decoding import native
from transformer.decoding.decoder import decoder_from_model, open_decoder
from transformer.decoding.hypothesis import Hypothesis
from transformer.decoding.native import NativeDecoder
from transformer.decoding.search import BatchDecoder
from transformer.model import Transformer

Make = Callable[..., Transformer]
Searched = tuple[Transformer, DecodeConfig, list[list[Hypothesis]]]
SIZES = {"d_model": 64, "n_heads": 4, "d_ff": 128, "vocab_size": 197, "max_len": 40}
SHAPES: Sequence[dict[str, Any]] = (
    {"norm": "post"},
    {"norm": "pre", "activation": "gelu", "n_heads": 1},
    {"norm": "post", "activation": "gelu", "positions": "learned", "n_decoder_layers": 3},
    {"norm": "pre", "positions": "learned", "n_encoder_layers": 1, "vocab_size": 64},
    {"norm": "pre", "d_model": 192, "n_heads": 4, "n_decoder_layers": 1},
)
SOURCES = [[4 + (7 * i + j * j) % 60 for j in range(1 + 5 * i % 23)] for i in range(29)] + [[]]
CONFIGS = (
    DecodeConfig(scores=False),
    DecodeConfig(),
    DecodeConfig(beam_size=4, n_best=4),
    DecodeConfig(beam_size=3, n_best=2, no_repeat_ngram=2, alpha=1.0, max_ratio=0.7),
    DecodeConfig(no_repeat_ngram=1, max_ratio=3.0, batch_tokens=30),
)
pytestmark = pytest.mark.skipif(
    native.load_library() is None, reason="the native decoder was not built"
)


def small_model(make_model: Make, **changes: Any) -> Transformer:
    """Wide enough for vectors, with signals of the usual size."""
    model = make_model(**{**SIZES, **changes})
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "embedding" not in name and "positions" not in name:
                parameter.mul_(0.3)
    return model


def assert_alike(found: list[list[Hypothesis]], right: list[list[Hypothesis]]) -> None:
    assert [[h.ids for h in own] for own in found] == [[h.ids for h in own] for own in right]
    for own, others in zip(found, right, strict=True):
        scores = [h.score for h in others]
        assert [h.score for h in own] == pytest.approx(scores, abs=2e-4, rel=1e-5, nan_ok=True)


@pytest.fixture(scope="module", params=itertools.product(SHAPES, CONFIGS))
def searched(request: pytest.FixtureRequest, make_model: Make) -> Searched:
    """A model, settings, and what the plain model finds with them."""
    shape, config = request.param
    model = small_model(make_model, **shape)
    return model, config, BatchDecoder(model).search(SOURCES, config)


def test_float32_finds_what_the_plain_model_finds(variant: str, searched: Searched) -> None:
    model, config, right = searched
    assert_alike(decoder_from_model(model, "float32").search(SOURCES, config), right)
    assert len({h.ids for own in right for h in own}) > len(SOURCES) // 2


def test_many_sources_are_searched_some_at_a_time_and_stay_in_order(
    make_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder = decoder_from_model(small_model(make_model), "float32")
    assert isinstance(decoder, NativeDecoder)
    whole, calls = decoder.search(SOURCES, CONFIGS[1]), Mock(wraps=decoder._search)
    monkeypatch.setattr(native, "SOURCES_PER_CALL", 2)
    monkeypatch.setattr(decoder, "n_threads", 1)
    monkeypatch.setattr(decoder, "_search", calls)
    assert decoder.search(SOURCES, CONFIGS[1]) == whole
    assert max(len(call.args[0]) for call in calls.call_args_list) == 2


@pytest.mark.parametrize("config", CONFIGS[1:3], ids=["greedy", "beams"])
def test_a_forced_prefix_is_continued_as_the_plain_model_does(
    make_model: Make, config: DecodeConfig
) -> None:
    model, prefix = small_model(make_model), [10, 4, 7, 5] * 10
    for n in (1, 3, 20, 38):
        found = decoder_from_model(model, "float32").search(SOURCES, config, prefix=prefix[:n])
        right = BatchDecoder(model).search(SOURCES, config, prefix=prefix[:n])
        assert_alike(found, right)


def released(name: str, number: int) -> tuple[Any, list[list[int]]]:
    """A released model, opened, and sentences of the test set that lies in the repository."""
    opened, langs = open_checkpoint(name), (name[:2], name[3:])
    texts = [pair[name.startswith("en")] for pair in shipped("test")[:number]]
    tags = opened.tokenizer.direction_tags(langs, opened.directions)
    return opened, [tags + opened.tokenizer.encode(text) for text in texts]


@pytest.mark.parametrize("config", CONFIGS[1:3], ids=["greedy", "beams"])
@pytest.mark.parametrize("name", ["es-en", "en-es"])
def test_the_released_models_say_in_float32_what_the_plain_model_says(
    name: str, config: DecodeConfig
) -> None:
    opened, sources = released(name, 30)
    decoder = open_decoder(opened, "cpu", "float32")
    assert_alike(
        decoder.search(sources, config), BatchDecoder(decoder.model).search(sources, config)
    )


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS[:4], ids=["bare", "greedy", "beams", "no repeats"])
@pytest.mark.parametrize("name", ["es-en", "en-es"])
def test_the_released_models_say_so_of_a_whole_test_set(name: str, config: DecodeConfig) -> None:
    opened, sources = released(name, 500)
    decoder = open_decoder(opened, "cpu", "float32")
    assert_alike(
        decoder.search(sources, config), BatchDecoder(decoder.model).search(sources, config)
    )
    int8 = open_decoder(opened, "cpu", "int8").search(sources, config)
    plain = decoder.search(sources, config)
    same = sum(own[0].ids == others[0].ids for own, others in zip(int8, plain, strict=True))
    assert same > 0.85 * len(sources)


@pytest.mark.parametrize("kind", ["float32", "int8"])
@pytest.mark.parametrize("config", CONFIGS[:3], ids=["bare", "greedy", "beams"])
def test_a_sentence_has_the_result_that_it_has_alone(
    make_model: Make, variant: str, kind: ComputeType, config: DecodeConfig
) -> None:
    """To the last bit of the score: whatever the batch, the threads, and who shares a product."""
    decoder = decoder_from_model(small_model(make_model), kind)
    assert isinstance(decoder, NativeDecoder)
    decoder.n_threads = 1
    alone = [decoder.search([source], config)[0] for source in SOURCES]
    for n_threads in (1, 2, 3):
        decoder.n_threads = n_threads
        assert_same(decoder.search(SOURCES, config), alone)
        assert_same(decoder.search(SOURCES[:1], config), alone[:1])


def assert_same(found: list[list[Hypothesis]], right: list[list[Hypothesis]]) -> None:
    assert repr(found) == repr(right)  # in which no number is what is not a number


def test_int8_is_the_same_where_its_inputs_have_as_many_bits() -> None:
    opened, sources = released("es-en", 40)
    found: dict[bool, list[list[Hypothesis]]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("avx2", "avx512", "avxvnni", "avx512vnni", "amx"):
            patch.setenv(native.VARIANT_VARIABLE, name)
            try:
                decoder = open_decoder(opened, "cpu", "int8")
            except UserError:
                continue
            results = decoder.search(sources, DecodeConfig(scores=False))
            right = found.setdefault(name in ("avx2", "avx512"), results)
            same = [one[0].ids == other[0].ids for one, other in zip(results, right, strict=True)]
            assert sum(same) >= 0.9 * len(sources)  # exponentials are summed up in another order


@pytest.mark.parametrize("prefix", [(), (10, 4)])
@pytest.mark.parametrize(("beam_size", "branches"), [(1, 0), (3, 0), (1, 5)])
def test_alignment_and_probabilities_are_those_of_the_plain_model(
    make_model: Make, beam_size: int, branches: int, prefix: tuple[int, ...]
) -> None:
    model = small_model(make_model, n_decoder_layers=3)
    config = DecodeConfig(beam_size=beam_size, n_best=beam_size, scores=beam_size > 1)
    found, right = (
        decoder.search(SOURCES[2::3], config, prefix=prefix, aligned=True, branches=branches)
        for decoder in (decoder_from_model(model, "float32"), BatchDecoder(model))
    )
    if branches or beam_size > 1:
        assert_alike(found, right)
    for own, other in zip(itertools.chain(*found), itertools.chain(*right), strict=True):
        np.testing.assert_allclose(own.alignment, other.alignment, atol=2e-5)
        np.testing.assert_allclose(own.log_probs, other.log_probs, atol=2e-4)


def test_each_branch_begins_with_another_of_the_likeliest_tokens(make_model: Make) -> None:
    decoder = decoder_from_model(small_model(make_model), "float32")
    branches = decoder.search(SOURCES[:3], DecodeConfig(), prefix=[9], branches=6, aligned=True)
    for source, own in zip(SOURCES, branches, strict=False):
        assert len({h.ids[:2] for h in own}) == 6
        assert [sum(h.log_probs[1:]) for h in own] == pytest.approx([h.score for h in own])
        (greedy,) = decoder.search([source], DecodeConfig(), prefix=[9])[0]
        likeliest = max(own, key=lambda h: h.log_probs[1])
        assert likeliest.ids[: len(greedy.ids)] == greedy.ids


def test_the_native_decoder_takes_what_it_can_compute(make_model: Make) -> None:
    wide, narrow = small_model(make_model), make_model()
    assert isinstance(decoder_from_model(wide), NativeDecoder)
    assert decoder_from_model(wide).compute_type == "int8"
    assert isinstance(decoder_from_model(wide, "bfloat16"), BatchDecoder)
    assert decoder_from_model(narrow).compute_type == "float32"
    with pytest.raises(UserError, match="expected widths that 64 divides for int8; use float32"):
        decoder_from_model(narrow, "int8")


def test_a_variant_that_does_not_run_here_is_said(
    make_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(native.VARIANT_VARIABLE, "z80")
    with pytest.raises(UserError, match="TRANSFORMER_MARCH=z80: this processor cannot run"):
        decoder_from_model(small_model(make_model))


def test_without_the_library_the_plain_model_translates_and_says_so_once(
    make_model: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(native, "load_library", lambda: None)
    decoder_module._warn_missing_library.cache_clear()
    model = small_model(make_model)
    for _ in range(2):
        assert isinstance(decoder_from_model(model), BatchDecoder)
    (record,) = caplog.records
    assert "Install g++, then this project again" in record.getMessage()
    with pytest.raises(UserError, match="native decoder, which was not built for int8"):
        decoder_from_model(model, "int8")


def weights_of(model: Transformer) -> dict[str, Any]:
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def test_weights_of_another_model_are_refused(make_model: Make) -> None:
    model = small_model(make_model, norm="pre")
    weights = weights_of(model)
    weights["decoder_norm.bias"] = np.ones(3)
    with pytest.raises(ValueError, match=r"decoder_norm.bias of shape \(64,\), got"):
        NativeDecoder(model.config, weights.items(), "int8", lambda: model)
    del weights["decoder_norm.bias"]
    with pytest.raises(ValueError, match=r"expected weights named decoder_norm.bias"):
        NativeDecoder(model.config, weights.items(), "int8", lambda: model)


@pytest.mark.parametrize(
    ("sources", "prefix", "message"),
    [
        ([[4, 10**6]], (), "expected ids below 197, got 1000000"),
        ([[4], [-1]], (), "expected ids below 197, got -1"),
        ([[4] * 40], (), "expected a source of at most 39 tokens, got 40"),
        ([[4]], [5] * 39, "expected a prefix of at most 38 tokens, got 39"),
        ([[4]], [197], "expected ids below 197, got 197"),
    ],
)
def test_what_the_model_cannot_read_is_an_error_not_a_crash(
    make_model: Make, sources: list[list[int]], prefix: Sequence[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        decoder_from_model(small_model(make_model)).search(sources, DecodeConfig(), prefix=prefix)


def test_weights_that_overflow_end_the_search(make_model: Make) -> None:
    model = small_model(make_model, norm="pre")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1e30)
    for kind in ("float32", "int8"):
        for config in CONFIGS:
            found = NativeDecoder(model.config, weights_of(model).items(), kind, lambda: model)
            assert all(own for own in found.search(SOURCES, config))


@pytest.mark.parametrize("n_calls", [1500, pytest.param(100_000, marks=pytest.mark.slow)])
def test_any_calls_end_in_results_or_an_error(make_model: Make, n_calls: int) -> None:
    """Lengths and settings at and beyond their bounds."""
    decoder = decoder_from_model(small_model(make_model, max_len=12))
    rng = random.Random(1)
    errors = 0
    for _ in range(n_calls):
        beams = rng.choice((1, 1, 2, 5))
        config = DecodeConfig(
            beam_size=beams, n_best=rng.randint(1, beams), no_repeat_ngram=rng.choice((0, 0, 1, 2)),
            max_ratio=rng.choice((0.01, 1.0, 50.0)), batch_tokens=rng.choice((1, 40, 4096)),
            scores=rng.random() < 0.5,
        )  # fmt: skip
        most = 196 if rng.random() < 0.9 else 200
        sources = [
            [rng.randint(-(most > 196), most) for _ in range(rng.choice((0, 1, 5, 10, 11, 11)))]
            for _ in range(rng.choice((0, 1, 2, 7)))
        ]
        prefix = [rng.randint(0, 196) for _ in range(rng.choice((0, 0, 0, 3, 10, 11)))]
        right = all(0 <= i < 197 for source in sources for i in source) and len(prefix) <= 10
        try:
            branches = rng.choice((0, 0, 1, 3))
            found = decoder.search(
                sources, config, prefix=prefix, aligned=rng.random() < 0.3, branches=branches
            )
        except ValueError:
            errors += 1
            assert not right
            continue
        assert right
        most = max(config.n_best, branches)
        assert [1 <= len(own) <= most for own in found] == [True] * len(sources)
        assert all(list(h.ids[: len(prefix)]) == prefix for own in found for h in own)
    assert n_calls / 30 < errors < n_calls / 2.5


def test_a_translation_imports_no_torch() -> None:
    done = python(
        "-c",
        "import sys\nfrom transformer.cli import main\n"
        "assert main(['hola']) == 0\nassert main(['--selftest', '--from', 'es']) == 0\n"
        "assert 'torch' not in sys.modules, 'torch was imported'",
    )
    assert done.returncode == 0, done.stderr


KERNELS = Path(native.__file__).parent / "kernels"
FLAGS = ("-std=c++17", "-g", "-O1", "-fPIC", "-shared", "-pthread", "-w")


def compiled(compiler: str, folder: Path, *flags: str) -> Path:
    """The library, compiled in another way."""
    sources = [str(path) for path in (*KERNELS.glob("*.cpp"), *KERNELS.glob("variants/*.cpp"))]
    built = folder / "_native.so"
    subprocess.run([compiler, *FLAGS, *flags, "-o", str(built), *sources], check=True)
    return built


def passes(built: Path, **environment: str) -> None:
    """Runs what matters of this file with another library."""
    code = (
        "import sys, pathlib, pytest\nfrom transformer.decoding import native\n"
        "native.LIBRARY_PATHS = [pathlib.Path(sys.argv[1])]\n"
        "sys.exit(pytest.main(['-q', '-x', '-p', 'no:cacheprovider', "
        "'-k', 'calls or read or overflow or alone or prefix or alignment', sys.argv[2]]))"
    )
    done = python("-c", code, built, __file__, **environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.slow
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    """The tests of this file, with a library that watches its memory and its arithmetic."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    built = compiled(compiler, tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover")
    runtimes = [
        subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    passes(built, LD_PRELOAD=" ".join(runtimes), ASAN_OPTIONS="detect_leaks=0")


@pytest.mark.slow
def test_what_clang_makes_of_it_passes(tmp_path: Path) -> None:
    compiler = shutil.which("clang++")
    if compiler is None:
        pytest.skip("needs clang++")
    passes(compiled(compiler, tmp_path))


@pytest.mark.slow
def test_arm_finds_what_the_plain_model_finds(make_model: Make, tmp_path: Path) -> None:
    """By a cross compiler and an emulator: plain C++, NEON, and NEON with products of bytes."""
    compiler, emulator = map(shutil.which, ("aarch64-linux-gnu-g++", "qemu-aarch64-static"))
    if compiler is None or emulator is None:
        pytest.skip("needs aarch64-linux-gnu-g++ and qemu-aarch64-static")
    program = tmp_path / "search"
    sources = [*KERNELS.glob("*.cpp"), *KERNELS.glob("variants/*.cpp"),
               Path(__file__).with_name("search.cpp")]  # fmt: skip
    flags = ("-std=c++17", "-O2", "-static", "-pthread", "-w", f"-I{KERNELS}", "-o", str(program))
    subprocess.run([compiler, *flags, *map(str, sources)], check=True)
    model = small_model(make_model, norm="pre")
    decoder = decoder_from_model(model, "float32")
    assert isinstance(decoder, NativeDecoder)
    weights = weights_of(model)
    settings = native._Settings(4, 1, 0, 1, 0, 0, 2, 4096, 0.6, 2.0)
    numbers = [np.array([len(SOURCES), *map(len, SOURCES)]), *map(np.array, SOURCES)]
    given = b"".join([
        bytes(decoder._shape),
        *(weights[name].astype(np.float32).tobytes() for name in decoder._parameters()),
        bytes(settings),
        *(one.astype(np.int32).tobytes() for one in numbers),
    ])  # fmt: skip
    found = BatchDecoder(model).search(SOURCES, DecodeConfig(beam_size=4))
    right = [list(own[0].ids) for own in found]
    for name, kind in itertools.product(("generic", "neon", "neondot"), ("float32", "int8")):
        command = [emulator, str(program), name, kind]
        lines = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout
        ids = [[int(i) for i in line.split()] for line in lines.decode().splitlines()]
        same = sum(one == other for one, other in zip(ids, right, strict=True))
        assert same == len(right) if kind == "float32" else same > 0.8 * len(right)
