"""``use_deterministic_algorithms``: what it says, and what it changes where orders vary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus_conformance import run as run_suite
from tensorbus_conformance.devices.strict import StrictArray

PLACES, COUNT = 4, 300
DTYPES = [getattr(torch, d) for d in "bool uint8 int8 int32 int64 float16 float32 float64".split()]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    torch.set_deterministic_debug_mode("default")
    torch.utils.deterministic.fill_uninitialized_memory = True


@pytest.fixture
def shuffling(plug: Any, boxed: Any) -> Callable[[bool], str]:
    """A device that writes in the other order at every second call; its trait may say so."""

    class Shuffling(boxed):
        name = "shuffling"
        calls = 0

        def kernel(self, op: str, dtype: Any, index: int) -> Any:
            kernel = super().kernel(op, dtype, index)
            if op not in ("put", "scatter"):
                return kernel

            def call(out: Any, dim: int, i: Any, src: Any, *more: Any) -> Any:
                self.calls += 1
                if self.calls % 2 and isinstance(src, StrictArray):
                    axis = 0 if op == "put" else dim
                    i, src = (
                        StrictArray(np.flip(a._data, d).copy()) for a, d in ((i, axis), (src, dim))
                    )
                return kernel(out, dim, i, src, *more)

            return call

    return lambda honest: plug(Shuffling(deterministic_scatter=not honest, dtypes=DTYPES))


def operands(d: str, dtype: Any) -> tuple[Any, Any, Any]:
    """Places, indices with many repeats, and values of very different sizes."""
    random = np.random.default_rng(5)
    sizes = 10.0 ** random.uniform(-3, 3, (COUNT, 2))
    values = [torch.ones(PLACES, 2), torch.tensor(random.integers(0, PLACES, COUNT).tolist()),
              torch.tensor(sizes.tolist(), dtype=torch.float64).to(dtype)]  # fmt: skip
    x, i, src = (v.to(d) for v in values)
    return x.to(dtype), i, src


WRITES: dict[str, Callable[..., Any]] = {
    "index_add_": lambda x, i, v: x.index_add_(0, i, v),
    "index_put_": lambda x, i, v: x.index_put_((i - PLACES,), v, accumulate=True),
    "assignment": lambda x, i, v: x.index_put_((i,), v),
    "into columns": lambda x, i, v: x.T.contiguous().index_add_(1, i, v.T),
    "into a view": lambda x, i, v: torch.zeros(2, PLACES, dtype=x.dtype, device=x.device).T
                   .index_add_(0, i, v),
    "index_copy_": lambda x, i, v: x.index_copy_(0, i, v),
    "scatter_": lambda x, i, v: x.scatter_(0, i[:, None].expand(-1, 2), v),
    "scatter_add_": lambda x, i, v: x.scatter_add_(0, i[:, None].expand(-1, 2), v),
    "scatter_add_ of some": lambda x, i, v: x.scatter_add_(0, i[:, None], v),
    "gradient": lambda x, i, v: _gradient(x, i, v),
}  # fmt: skip


def _gradient(x: Any, i: Any, v: Any) -> Any:
    x.requires_grad_()
    (x[i] * v).sum().backward()
    return x.grad


def run(name: str, d: str, dtype: Any = torch.float32) -> np.ndarray:
    return WRITES[name](*operands(d, dtype)).detach().cpu().numpy()


def test_the_device_has_another_order_each_time(shuffling: Any) -> None:
    for honest in (True, False):
        d = shuffling(honest)
        if not honest:  # the trait says that the kernel is enough: the frontend believes it
            torch.use_deterministic_algorithms(True)
        assert run("index_add_", d).tobytes() != run("index_add_", d).tobytes()


@pytest.mark.parametrize("honest", [True, False])
def test_the_suite_finds_a_trait_that_is_not_true(honest: bool, shuffling: Any) -> None:
    report = run_suite(shuffling(honest), pattern="L2/deterministic/float32/*", gaps=())
    wrong = {r.id.rpartition("/")[2] for r in report.failures}
    sums = {"index_add", "index_put", "scatter_reduce-sum", "gather-backward"}
    last = {"index_put-set", "scatter"}
    assert wrong >= sums | last if not honest else not wrong
    assert len(report.results) == 9


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64], ids=str)
def test_equal_bits_at_every_run(name: str, dtype: Any, shuffling: Any) -> None:
    d, writes_once = shuffling(True), name in ("assignment", "index_copy_", "scatter_")
    torch.use_deterministic_algorithms(True)
    first = run(name, d, dtype)
    assert all(run(name, d, dtype).tobytes() == first.tobytes() for _ in range(3))
    exact = run(name, "cpu", torch.float64)
    if writes_once:  # the last one stays, as on the cpu
        assert (first == exact.astype(first.dtype)).all()
    else:
        rounding = np.finfo(first.dtype).eps
        np.testing.assert_allclose(first.astype(np.float64), exact, rtol=20 * rounding)


@pytest.mark.parametrize("op", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.uint8], ids=str)
def test_every_way_to_join(op: str, dtype: Any, shuffling: Any) -> None:
    torch.use_deterministic_algorithms(True)
    i = torch.tensor([[0, 2, 0], [1, 0, 1], [0, 2, 2], [0, 0, 0]])
    v = torch.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9], [3, 2, 1]], dtype=dtype)
    found = []
    for d in ("cpu", shuffling(True)):
        x = torch.full((3, 3), 2, dtype=dtype, device=d)
        found.append(x.scatter_reduce(0, i.to(d), v.to(d), op).tolist())
    assert found[0] == found[1]


def test_wrong_indices_are_named_and_nothing_is_written(shuffling: Any) -> None:
    torch.use_deterministic_algorithms(True)
    x = torch.zeros(3, 2, device=shuffling(True))
    for bad in (3, -4):
        i = torch.tensor([0, bad, 0], device=x.device)
        text = f"index {bad} is out of bounds for dimension 0 with size 3"
        with pytest.raises(IndexError, match=text):
            x.index_put_((i,), torch.ones(3, 2, device=x.device), accumulate=True)
    assert not x.cpu().numpy().any()


def test_few_values_and_none(shuffling: Any) -> None:
    torch.use_deterministic_algorithms(True)
    d = shuffling(True)
    one = torch.zeros(3, device=d)
    one[torch.tensor([1], device=d)] = torch.tensor([2.0], device=d)
    assert one.tolist() == [0.0, 2.0, 0.0]
    none = torch.zeros(0, dtype=torch.int64, device=d)
    assert one.index_add(0, none, torch.zeros(0, device=d)).tolist() == [0.0, 2.0, 0.0]
    one[torch.tensor([0, 0], device=d)] = 5.0
    assert one.tolist() == [5.0, 2.0, 0.0]


# -- the settings ----------------------------------------------------------------------------
def settings() -> tuple[int, bool, bool]:
    return (
        torch.get_deterministic_debug_mode(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def test_the_settings_are_those_of_pytorch() -> None:
    assert settings() == (0, False, False)
    for call, expected in {
        "use_deterministic_algorithms(True)": (2, True, False),
        "use_deterministic_algorithms(True, warn_only=True)": (1, True, True),
        "use_deterministic_algorithms(False, warn_only=True)": (0, False, True),
        "set_deterministic_debug_mode(1)": (1, True, True),
        "set_deterministic_debug_mode('error')": (2, True, False),
        "set_deterministic_debug_mode(True)": (1, True, True),
        "set_deterministic_debug_mode('default')": (0, False, False),
        "set_deterministic_debug_mode(2)": (2, True, False),
    }.items():
        eval(f"torch.{call}", {"torch": torch})
        assert settings() == expected, call


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        ("use_deterministic_algorithms(1)", TypeError, "'mode' (position 1) must be bool, not int"),
        ("use_deterministic_algorithms(True, warn_only=0)", TypeError, "must be bool, not int"),
        ("use_deterministic_algorithms(True, True)", TypeError, "1 positional argument but 2"),
        ("set_deterministic_debug_mode(3)", RuntimeError, "expected 0, 1, or 2, but got 3"),
        ("set_deterministic_debug_mode('x')", RuntimeError, "`error`, but got x"),
        ("set_deterministic_debug_mode(1.0)", TypeError, "must be str or int"),
    ],
)  # fmt: skip
def test_other_settings_are_refused(call: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        eval(f"torch.{call}", {"torch": torch})
    assert text in str(caught.value)
    assert settings() == (0, False, False)


NEW_MEMORY = [
    "torch.empty(2, dtype=dtype, device=d)",
    "torch.empty_like(torch.zeros(2, dtype=dtype, device=d))",
    "torch.empty_strided((2,), (3,), dtype=dtype, device=d)",
    "torch.empty_permuted((1, 2), (1, 0), dtype=dtype, device=d)",
    "torch.zeros(1, dtype=dtype, device=d).new_empty(2)",
    "torch.zeros(1, dtype=dtype, device=d).new_empty_strided((2,), (1,))",
    "torch.zeros(1, dtype=dtype, device=d).resize_(3)[1:]",
]


@pytest.mark.parametrize("program", NEW_MEMORY)
def test_new_memory_is_filled(program: str, device: str) -> None:
    torch.use_deterministic_algorithms(True)
    for dtype, value in {torch.int8: 127, torch.uint8: 255, torch.bool: True,
                         torch.int64: 2**63 - 1}.items():  # fmt: skip
        found = eval(program, {"torch": torch, "dtype": dtype, "d": device})
        assert found.flatten().tolist() == [value, value]
    x = eval(program, {"torch": torch, "dtype": torch.float32, "d": device})
    assert x.isnan().all().item()


def test_new_memory_is_left_alone_if_told_so() -> None:
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    x = torch.zeros(1, dtype=torch.int64)
    assert x.resize_(1).tolist() == [0]
    kind = x._k
    assert kind.given_out(kind.full((3,), 5)).tolist() == [5, 5, 5]
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        torch.utils.deterministic.fill_uninitialized_memory = 1
    assert torch.utils.deterministic.fill_uninitialized_memory is False
