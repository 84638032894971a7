"""Printing: the same text as PyTorch's for the same values."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np
import pytest

import tensorbus

CPU = tensorbus.discovery.backend("cpu").capabilities(0)
DTYPES = [d.name for d in tensorbus._base.dtypes.ALL if d in CPU.dtypes]


@pytest.fixture(autouse=True)
def default_options():
    yield
    tensorbus.set_printoptions(profile="default")


def random_values(draw: random.Random, dtype: str) -> np.ndarray:
    dims = draw.choice([0, 1, 1, 2, 2, 3, 4])
    sizes = [0, 1, 2, 3, 5, 6, 7, 8, 12, 30] if dims < 4 else [1, 2, 6, 7, 8]
    shape = tuple(draw.choice(sizes) for _ in range(dims))
    if dims == 1 and draw.random() < 0.2:
        shape = (draw.choice([999, 1000, 1001, 1500]),)
    numbers = np.random.default_rng(draw.randrange(1 << 30))

    def real() -> np.ndarray:
        values = numbers.standard_normal(shape)
        scale = draw.choice(["one", "whole", "wide whole", "large", "small", "spread"])
        if scale == "whole":
            values = np.rint(values * 5)
        elif scale == "wide whole":
            values = np.rint(values * draw.choice([300, 3000, 1e6, 1e9]))
        elif scale == "large":
            values = values * 10.0 ** draw.randint(1, 9)
        elif scale == "small":
            values = values * 10.0 ** -draw.randint(1, 9)
        elif scale == "spread":
            values = values * 10.0 ** numbers.integers(-3, 3, shape)
        special = numbers.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        return np.where(numbers.random(shape) < draw.choice([0.0, 0.0, 0.2]), special, values)

    if dtype.startswith("complex"):
        result = np.empty(shape, np.complex128)
        result.real, result.imag = real(), real()
        return result
    if "float" in dtype:
        return np.asarray(real())
    whole = np.nan_to_num(real(), nan=0, posinf=0, neginf=0)
    return np.asarray(np.clip(whole, -(2.0**60), 2.0**60).astype(np.int64))


def printed(library: Any, dtype: str, seed: int) -> str:
    """The text of a tensor of random values under random options, and these options."""
    draw = random.Random(f"{dtype}-{seed}")
    tensor = library.from_numpy(random_values(draw, dtype)).to(getattr(library, dtype))
    options: dict[str, Any] = {}
    if draw.random() < 0.3:
        options = {
            "precision": draw.choice([0, 1, 2, 6]),
            "threshold": draw.choice([0, 5, 50, 1000]),
            "edgeitems": draw.choice([0, 1, 2, 4]),
            "linewidth": draw.choice([20, 40, 120]),
        }
    if draw.random() < 0.2:
        options["sci_mode"] = draw.choice([True, False])
    if draw.random() < 0.3 and "float" in dtype:
        tensor.requires_grad_()
        if draw.random() < 0.5:
            tensor = tensor + 0
    library.set_printoptions(profile="default")
    library.set_printoptions(**options)
    try:
        text = f"{options}\n{tensor!r}"
        digest = hashlib.sha256(text.encode()).hexdigest()  # stands for what is too long to keep
        return text if len(text) < 1500 else text[:1000] + digest
    finally:
        library.set_printoptions(profile="default")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_tensors_print_as_in_pytorch(oracle: Any, dtype: str) -> None:
    expected = oracle(lambda torch: [printed(torch, dtype, seed) for seed in range(120)])
    assert len(expected) == 120
    for seed, text in enumerate(expected):
        assert printed(tensorbus, dtype, seed) == text, seed


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.tensor(3.5),
        lambda t: t.tensor(7),
        lambda t: t.tensor(True),
        lambda t: t.tensor([]),
        lambda t: t.empty(0, 3),
        lambda t: t.empty(2, 0, dtype=t.int32),
        lambda t: t.tensor([], dtype=t.int64),
        lambda t: t.tensor([float("nan"), 1.0, float("-inf")]),
        lambda t: t.tensor(1.0, requires_grad=True),
        lambda t: t.ones(2, requires_grad=True) * 2,
        lambda t: t.ones(2, 2, dtype=t.float64, requires_grad=True).sum(),
        lambda t: t.zeros(40, 40),
        lambda t: t.arange(24).reshape(2, 3, 4).permute(2, 0, 1),
        lambda t: t.ones(1).expand(3, 4),
        lambda t: t.nn.Parameter(t.ones(2, 2)),
        lambda t: t.nn.Parameter(t.ones(2), requires_grad=False),
        lambda t: t.tensor([1 + 2j, -0.5j]),
    ],
)
def test_named_cases_print_as_in_pytorch(oracle: Any, make: Any) -> None:
    assert repr(make(tensorbus)) == oracle(lambda torch: repr(make(torch)))


def test_what_is_not_default_is_told() -> None:
    assert repr(tensorbus.tensor([1.0])) == "tensor([1.])"
    assert repr(tensorbus.tensor([1.0], dtype=tensorbus.float64)) == (
        "tensor([1.], dtype=torch.float64)"
    )
    tensorbus.set_default_dtype(tensorbus.float64)
    try:
        assert repr(tensorbus.tensor([1.0])) == "tensor([1.])"
        assert repr(tensorbus.tensor([1.0], dtype=tensorbus.float32)) == (
            "tensor([1.], dtype=torch.float32)"
        )
    finally:
        tensorbus.set_default_dtype(tensorbus.float32)


def test_every_device_prints_the_same_values_and_its_name(device: str) -> None:
    for shape in ((3,), (2000,), (40, 50), (2, 3, 400)):
        values = tensorbus.arange(int(np.prod(shape))).reshape(shape)
        text = repr(values.to(device))
        if device == "cpu":
            assert "device" not in text
        else:
            assert text.endswith(f"device='{device}:0')")
        bare = text.replace(f", device='{device}:0'", "").replace(
            f",\n       device='{device}:0'", ""
        )
        assert bare == repr(values)


def test_printing_a_large_tensor_reads_only_its_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    original = tensorbus.ops.tensor.printing._host_array

    def counted(t: Any) -> np.ndarray:
        read.append(t.numel())
        return original(t)

    monkeypatch.setattr(tensorbus.ops.tensor.printing, "_host_array", counted)
    assert "..." in repr(tensorbus.zeros(500, 500))
    assert sum(read) == 36


def test_a_subclass_prints_its_own_name() -> None:
    class Celsius(tensorbus.Tensor):
        pass

    assert repr(tensorbus.tensor([1.0]).as_subclass(Celsius)) == "Celsius([1.])"


def test_options_are_set_kept_and_restored() -> None:
    tensorbus.set_printoptions(precision=2, sci_mode=False)
    options = tensorbus.get_printoptions()
    assert (options["precision"], options["sci_mode"], options["edgeitems"]) == (2, False, 3)
    tensorbus.set_printoptions(linewidth=50)
    options = tensorbus.get_printoptions()
    assert (options["precision"], options["sci_mode"], options["linewidth"]) == (2, None, 50)
    with tensorbus.ops.tensor.printing.printoptions(profile="full"):
        assert tensorbus.get_printoptions()["threshold"] == float("inf")
    assert tensorbus.get_printoptions()["precision"] == 2


def test_an_unknown_profile_is_refused_and_changes_nothing() -> None:
    before = tensorbus.get_printoptions()
    with pytest.raises(ValueError, match=r"unknown profile 'long'; use one of \['default', 'full'"):
        tensorbus.set_printoptions(profile="long")
    assert tensorbus.get_printoptions() == before
