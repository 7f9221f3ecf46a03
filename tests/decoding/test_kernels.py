"""The native products: against integer arithmetic and PyTorch, with every set of instructions."""

from typing import Any

import numpy as np
import pytest
import torch

from transformer.decoding import native

LIMITS = {"avx2": 63, "avx512": 63}  # of quantised inputs; 127 elsewhere


def product(
    variant: str, int8: bool, x: Any, weight: Any, bias: Any, after: int = 0
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """x W^T + b by the library: (R, D_in), (D_out, D_in), (D_out,) -> (R, D_out)."""
    opened = native.load_library()
    assert opened is not None
    y = np.empty((len(x), len(weight)), dtype=np.float32)
    numbers = [np.ascontiguousarray(one, dtype=np.float32) for one in (weight, bias, x)]
    weight, bias, x = numbers
    done = opened.decoder_product(
        variant.encode(), int8, weight.ctypes.data, bias.ctypes.data, *weight.shape,
        x.ctypes.data, len(x), after, y.ctypes.data,
    )  # fmt: skip
    assert done, opened.decoder_error()
    return y


def rounded_product(x: Any, weight: Any, bias: Any, limit: int) -> Any:
    """What int8 should give: both sides rounded to integers, their product exact."""
    scale = np.abs(weight).max(1, keepdims=True).clip(1e-12) / 127
    step = np.abs(x).max(1, keepdims=True).clip(1e-20) / limit
    return np.rint(x / step) @ np.rint(weight / scale).T * step * scale.T + bias


@pytest.mark.parametrize("n_rows", [*range(1, 9), 16, 17, 33, 247])  # tiles of 5, 6, 16 and 32
@pytest.mark.parametrize("n_out", [1, 63, 65, 200])
def test_the_product_is_that_of_the_integers(variant: str, n_rows: int, n_out: int) -> None:
    random = np.random.default_rng(n_rows)
    limit = LIMITS.get(variant, 127)
    x = random.integers(-limit, limit + 1, (n_rows, 128)).astype(np.float64)
    x[:, 3] = limit
    x *= 2.0 ** random.integers(-8, 9, (n_rows, 1))
    weight = random.integers(-127, 128, (n_out, 128)).astype(np.float64)
    weight[:, 5] = 127
    weight *= 2.0 ** random.integers(-4, 4, (n_out, 1))
    bias = random.standard_normal(n_out)
    found = product(variant, True, x, weight, bias)
    np.testing.assert_allclose(found, rounded_product(x, weight, bias, limit), 1e-5, 1e-4)
    np.testing.assert_allclose(
        product(variant, False, x, weight, bias), x @ weight.T + bias, 1e-5, 1e-4
    )


@pytest.mark.parametrize("size", [1e-30, 1e-15, 1.0, 1e15, 1e30])
def test_rows_of_any_size_keep_their_precision(variant: str, size: float) -> None:
    """Below 1e-20 a row counts as zeros."""
    random = np.random.default_rng(4)
    weight, x = random.standard_normal((100, 256)), random.standard_normal((7, 256)) * size
    found = product(variant, True, x, weight, np.zeros(100))
    if size < 1e-20:
        assert not found.any()
    else:
        right = x @ weight.T
        assert np.linalg.norm(found - right) < 0.02 * np.linalg.norm(right)


def test_the_largest_numbers_do_not_overflow(variant: str) -> None:
    """All inputs and weights at their extremes: sums of pairs come near to 16 bits."""
    for sign in (1.0, -1.0):
        found = product(variant, True, np.full((7, 2048), sign), np.ones((64, 2048)), np.zeros(64))
        np.testing.assert_allclose(found, np.full((7, 64), sign * 2048), 1e-5)


@pytest.mark.parametrize("after", [2, 3])
def test_the_activation_follows_the_product(variant: str, after: int) -> None:
    random = np.random.default_rng(after)
    weight, x, bias = (random.standard_normal(shape) for shape in ((70, 64), (9, 64), 70))
    y = torch.from_numpy(product(variant, False, x / 8, weight, bias))
    right = y.relu() if after == 2 else torch.nn.functional.gelu(y)
    found = torch.from_numpy(product(variant, False, x / 8, weight, bias, after))
    torch.testing.assert_close(found, right, rtol=1e-5, atol=1e-5)
