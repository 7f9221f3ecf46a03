"""The sets of instructions that a test runs with."""

import ctypes

import pytest

from transformer.decoding import native

VARIANTS = ("generic", "avx2", "avxvnni", "avx512", "avx512vnni", "amx", "neon", "neondot")


def runs_here(name: str) -> bool:
    """Whether the library has a variant and this processor its instructions."""
    opened = native.load_library()
    if opened is None:
        return False
    shape = native._Shape(64, 64, 1, 1, 1, 64, 8, 0, 0, 0)
    handle = opened.decoder_open(ctypes.byref(shape), name.encode(), 1)
    opened.decoder_close(handle)
    return bool(handle)


@pytest.fixture(params=[name for name in VARIANTS if runs_here(name)])
def variant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each set of instructions that this processor has."""
    name: str = request.param
    monkeypatch.setenv(native.VARIANT_VARIABLE, name)
    return name
