"""What runs for an op: the backend, a composition, the CPU, or a readable error."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import tensorbus as torch
from tensorbus._dispatch import fallback, kinds
from tensorbus.nn import functional as F
from tensorbus.plugin import PRIMITIVES


@pytest.fixture(autouse=True)
def policy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_fallback()
    monkeypatch.setattr(fallback, "_fell_back", type(fallback._fell_back)())
    torch.set_fallback("warn")
    yield
    torch.set_fallback(before)


def test_the_backend_is_asked_once_for_each_op_and_dtype(plug: Any, boxed: Any) -> None:
    backend = boxed()
    device = plug(backend)
    x = torch.ones(2, device=device)
    for _ in range(3):
        x + x
        x.double() + x.double()
    assert backend.asked.count(("add", "float32")) == 1
    assert backend.asked.count(("add", "float64")) == 1
    assert backend.called.count("add") == 6


def test_a_kernel_of_the_backend_comes_before_the_composition(plug: Any, boxed: Any) -> None:
    class Own(boxed):
        def kernel(self, op: str, dtype: Any, index: int) -> Any:
            if op == "sigmoid":
                return lambda x, out=None: type(x)(x._data * 0 + 7)
            return super().kernel(op, dtype, index)

    assert torch.ones(2, device=plug(Own())).sigmoid().tolist() == [7.0, 7.0]
    plain = boxed()
    assert torch.zeros(2, device=plug(plain)).sigmoid().tolist() == [0.5, 0.5]
    assert "exp" in plain.called


def test_fallback_warns_once_for_each_op_at_the_users_line(plug: Any, boxed: Any) -> None:
    device = plug(boxed(lacking=["exp", "sin"]))
    x = torch.zeros(2, device=device)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        assert x.exp().tolist() == [1.0, 1.0]
        x.exp()
        x.double().exp()
        torch.sin(x)
    assert [str(w.message).split(" with ")[0] for w in told] == [
        "no kernel for exp",
        "no kernel for sin",
    ]
    assert told[0].filename == __file__ and told[0].lineno == line
    assert device in str(told[0].message) and "runs on the CPU" in str(told[0].message)
    assert torch.fallback_counts() == {f"exp on {device}": 3, f"sin on {device}": 1}


def test_the_users_line_is_found_behind_a_check_of_arguments(plug: Any, boxed: Any) -> None:
    device = plug(boxed(lacking=["matmul"]))
    x = torch.ones(1, 1, 3, 3, device=device)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        assert torch.nn.functional.conv2d(x, x[:, :, :2, :2]).tolist() == [[[[4, 4], [4, 4]]]]
    assert [(w.filename, w.lineno) for w in told] == [(__file__, line)]


def test_fallback_that_is_allowed_is_silent_but_counted(plug: Any, boxed: Any) -> None:
    torch.set_fallback("allow")
    device = plug(boxed(lacking=["exp"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.zeros(2, device=device).exp()
    assert torch.fallback_counts() == {f"exp on {device}": 1}


def test_fallback_that_is_an_error_names_op_device_and_ways_out(plug: Any, boxed: Any) -> None:
    torch.set_fallback("error")
    device = plug(boxed(lacking=["exp"]))
    with pytest.raises(NotImplementedError) as caught:
        torch.zeros(2, device=device).exp()
    text = str(caught.value)
    for fact in ("exp", "float32", device, "overlay", ".to('cpu')", "set_fallback('warn')"):
        assert fact in text
    assert torch.fallback_counts() == {}


def test_the_policy_may_change_after_an_error(plug: Any, boxed: Any) -> None:
    torch.set_fallback("error")
    x = torch.zeros(2, device=plug(boxed(lacking=["exp"])))
    with pytest.raises(NotImplementedError):
        x.exp()
    torch.set_fallback("allow")
    assert x.exp().tolist() == [1.0, 1.0]
    torch.set_fallback("error")
    with pytest.raises(NotImplementedError):
        x.exp()


def test_an_unknown_policy(plug: Any, boxed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="error, warn or allow, not 'maybe'"):
        torch.set_fallback("maybe")
    monkeypatch.setattr(fallback, "_policy", "maybe")  # as the environment variable may be
    with pytest.raises(ValueError, match="TENSORBUS_FALLBACK is error, warn or allow, not 'maybe'"):
        torch.zeros(2, device=plug(boxed(lacking=["exp"]))).exp()
    monkeypatch.undo()


def test_writes_through_the_fallback_reach_the_same_storage(plug: Any, boxed: Any) -> None:
    torch.set_fallback("allow")
    device = plug(boxed(lacking=["put", "scatter", "mul", "add"]))
    x = torch.arange(6.0, device=device).reshape(2, 3)
    row = x[1]
    x[:, torch.tensor([0, 2], device=device)] = 9.0
    assert x.tolist() == [[9, 1, 9], [9, 4, 9]] and row.tolist() == [9, 4, 9]
    row.mul_(2)
    assert x.tolist() == [[9, 1, 9], [18, 8, 18]]
    index = torch.tensor([[0, 0, 1]], device=device)
    x.T.scatter_add_(0, index.T, torch.ones(3, 1, device=device))
    assert x.tolist() == [[11, 2, 9], [18, 8, 18]]
    assert sum(torch.fallback_counts().values()) >= 3


def test_results_of_other_dtypes_come_back(plug: Any, boxed: Any) -> None:
    torch.set_fallback("allow")
    device = plug(boxed(lacking=["lt", "argmax", "where", "gather"]))
    x = torch.tensor([[1.0, 3.0], [2.0, 0.0]], device=device)
    assert (x < 2).tolist() == [[True, False], [False, True]]
    assert x.argmax(1).tolist() == [1, 0] and x.argmax(1).dtype is torch.int64
    assert torch.where(x < 2, x, 0.0).tolist() == [[1, 0], [0, 0]]
    assert x.gather(1, x.argmax(1, keepdim=True)).tolist() == [[3], [2]]


def test_a_runtime_alone_trains_a_network(plug: Any, boxed: Any) -> None:
    torch.set_fallback("allow")
    backend = boxed(lacking=PRIMITIVES)
    device = plug(backend)

    def train(where: str) -> list[float]:
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(8, 3)
        ).to(where)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
        x, y = torch.randn(16, 4).to(where), (torch.arange(16) % 3).to(where)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    expected = train("cpu")
    assert train(device) == pytest.approx(expected, rel=1e-5)
    assert expected[-1] < expected[0]
    assert backend.called == []


def test_a_missing_op_on_cpu_names_the_dtype() -> None:
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        torch.ones(2) & torch.ones(2)


def test_errors_of_kernels_reach_the_user(plug: Any, boxed: Any) -> None:
    class Broken(boxed):
        def kernel(self, op: str, dtype: Any, index: int) -> Any:
            def fail(*_: Any, **__: Any) -> Any:
                raise MemoryError("the device is full")

            return fail if op == "exp" else super().kernel(op, dtype, index)

    x = torch.ones(2, device=plug(Broken()))
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError, match="the device is full"):
            x.exp()


def test_devices_with_few_dtypes_say_so(plug: Any, boxed: Any) -> None:
    few = frozenset({torch.float32, torch.int64, torch.bool})
    device = plug(boxed(dtypes=few))
    x = torch.ones(2, device=device)
    for attempt in (
        lambda: x.double(),
        lambda: x.to(torch.bfloat16),
        lambda: torch.zeros(2, dtype=torch.float64, device=device),
        lambda: torch.ones(2, dtype=torch.float64).to(device),
    ):
        with pytest.raises(TypeError, match=rf"device {device}(:0)? has no \w+; it has bool, "):
            attempt()
    assert (x * 2.5).tolist() == [2.5, 2.5] and x.mean().item() == 1.0
    assert (torch.arange(3, device=device) / 2).tolist() == [0.0, 0.5, 1.0]


def test_devices_meet_in_an_error_that_names_both(plug: Any, boxed: Any) -> None:
    device = plug(boxed())
    x, y = torch.ones(2, device=device), torch.ones(2)
    with pytest.raises(RuntimeError, match=rf"(?s)cpu.*{device}|{device}.*cpu"):
        x + y
    assert (x + torch.tensor(1.0)).tolist() == [2.0, 2.0]


def test_rows_declared_later_reach_tables_that_exist() -> None:
    from tensorbus.op_engine.cores import core
    from tensorbus.rows.registry import ROWS, row

    x = torch.ones(2)
    row("added_by_a_test", "x:T", "unary", doc="Twice *x*.", composite=lambda F, x: F.add(x, x))
    try:
        assert core("added_by_a_test")(x).tolist() == [2.0, 2.0]
    finally:
        torch.set_fusion(torch.get_fusion())  # forgets what was composed: none is found anew
        del ROWS["added_by_a_test"]
    with pytest.raises(ValueError, match="declared twice"):
        row("exp", "x:T", "unary", doc="e to the power *x*.")
    with pytest.raises(ValueError, match="which are no tensors"):
        row("another", "x:T, count", doc="Another.", count=lambda F, g: g)
    with pytest.raises(ValueError, match="row another: doc= must say what it computes"):
        row("another", "x:T")
    assert "another" not in ROWS


def test_several_results_and_sequences_come_back_from_the_fallback(plug: Any, boxed: Any) -> None:
    from tensorbus.op_engine.cores import core
    from tensorbus.rows.registry import ROWS, row

    device = plug(boxed())
    row("joined_test", "xs:T*, i:int64", doc="Joined, and turned.", results="a:same b:int64")
    host = kinds.kind_of(torch.device("cpu"), torch.float32)
    host.__dict__["joined_test"] = lambda xs, i: (xs[0] + xs[1], i + 1)
    try:
        xs = [torch.ones(2, device=device), torch.full((2,), 4.0, device=device)]
        with pytest.warns(UserWarning, match="no kernel for joined_test"):
            a, b = core("joined_test")(xs, torch.tensor([1, 2], device=device))
    finally:
        del ROWS["joined_test"]
    assert a.tolist() == [5.0, 5.0] and b.tolist() == [2, 3] and b.dtype is torch.int64
    assert str(a.device) == str(b.device) == f"{device}:0"


def test_the_table_keeps_what_was_resolved() -> None:
    kind = kinds.kind_of(torch.device("cpu"), torch.float32)
    kind.maximum(kind.full((), 1), kind.full((), 2))
    assert kind.__dict__["maximum"] is kind.maximum
    assert "_first_call" not in repr(kind.__dict__["maximum"])


def test_sums_and_products_of_bools_are_or_and_and(plug: Any, boxed: Any) -> None:
    class Numbers(boxed):
        def kernel(self, op: str, dtype: Any, index: int) -> Any:
            none = dtype is torch.bool and op in ("add", "mul")
            return None if none else super().kernel(op, dtype, index)

    torch.set_fallback("error")
    x = torch.tensor([[True, False], [True, False]], device=plug(Numbers()))
    assert (x + x.t()).tolist() == [[True, True], [True, False]]
    assert (x * x.t()).tolist() == [[True, False], [False, False]]
    assert (x * True).tolist() == x.tolist() and (x + x[0, 0]).all()
    x.t()[0] *= False
    assert x.tolist() == [[False, False], [False, False]]
