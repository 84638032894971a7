"""``__torch_dispatch__``: modes and classes below autograd, row by row."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pytest
from tests.autograd.test_rules import CASES, SAMPLES
from tests.autograd.test_rules import _arranged as arranged

import tensorbus as torch
from tensorbus._base.modes import RARE, this_thread
from tensorbus.op_engine.cores import core
from tensorbus.utils._python_dispatch import (
    TorchDispatchMode,
    is_traceable_wrapper_subclass,
    is_traceable_wrapper_subclass_type,
)
from tensorbus.utils._pytree import tree_map


@pytest.fixture(autouse=True)
def alone() -> Any:
    """No tensor of such a class lives on behind a test: ops look for them no more."""
    yield
    torch.ones(1).exp()
    if RARE.classes is not None:
        gc.collect()
        torch.ones(1).exp()
    assert RARE.classes is None
    assert not RARE.on


class Log(TorchDispatchMode):
    def __init__(self, name: str = "", seen: list[str] | None = None) -> None:
        self.name = name
        self.seen = [] if seen is None else seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(f"{self.name}{func}")
        return func(*args, **(kwargs or {}))


class Wrapped(torch.Tensor):
    """Holds another tensor, and counts what is done to it."""

    inner: Any
    calls = 0

    @staticmethod
    def __new__(cls, inner: Any, requires_grad: bool = False) -> Any:
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=inner.device,
            requires_grad=requires_grad,
        )  # fmt: skip

    def __init__(self, inner: Any, requires_grad: bool = False) -> None:
        self.inner = inner

    def __repr__(self, **_: Any) -> str:
        return f"Wrapped({self.inner})"

    def __tensor_flatten__(self) -> Any:
        return ["inner"], None

    @classmethod
    def __tensor_unflatten__(cls, inner: Any, *_: Any) -> Any:
        return cls(inner["inner"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert not torch.is_grad_enabled()
        cls.calls += 1
        args, kwargs = tree_map(cls.unwrap, (args, kwargs or {}))
        return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, func(*args))

    @classmethod
    def unwrap(cls, t: Any) -> Any:
        return t.inner if isinstance(t, cls) else t


def test_a_mode_sees_forward_and_backward() -> None:
    x = torch.arange(4.0, requires_grad=True)
    with Log() as log:
        y = (x * 2).exp().sum()
        forward = list(log.seen)
        y.backward()
    assert forward == ["aten.mul.Tensor", "aten.exp.default", "aten.sum.default"]
    assert log.seen[3:].count("aten.mul.Tensor") == 2
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2 * np.arange(4.0)), rtol=1e-6)
    assert not x.grad.requires_grad


def test_modes_are_asked_from_the_innermost_and_left_by_errors() -> None:
    seen: list[str] = []
    with Log("outer ", seen), Log("inner ", seen) as inner:
        torch.ones(1).exp()
        assert inner.seen is seen
    assert seen == ["inner aten.exp.default", "outer aten.exp.default"]

    class Refuses(TorchDispatchMode):
        def __torch_dispatch__(self, *_: Any, **__: Any) -> Any:
            raise KeyError("refused")

    before = this_thread.handlers
    with pytest.raises(KeyError, match="refused"), Refuses():
        torch.ones(1).exp()
    assert this_thread.handlers == before


def test_a_mode_answers_for_an_op() -> None:
    class Zeros(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.ops.aten.exp.default:
                return torch.zeros(2)
            return func(*args, **(kwargs or {}))

    with Zeros():
        assert (torch.ones(2).exp() + 1).tolist() == [1.0, 1.0]


def test_a_wrapper_has_no_values_but_what_it_claims() -> None:
    w = Wrapped(torch.arange(6.0).reshape(2, 3).t(), requires_grad=True)
    assert (w.shape, w.stride(), w.dtype, str(w.device)) == ((3, 2), (1, 3), torch.float32, "cpu")
    assert (w.requires_grad, w.is_leaf, w.is_cpu, w.is_meta) == (True, True, True, False)
    with pytest.raises(NotImplementedError, match="no data"):
        w.tolist()
    assert is_traceable_wrapper_subclass(w) and is_traceable_wrapper_subclass_type(Wrapped)
    assert not is_traceable_wrapper_subclass(torch.ones(1))

    class Without(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Without, (2,))


def test_a_wrapper_through_autograd() -> None:
    w = Wrapped(torch.tensor([1.0, 2.0]), requires_grad=True)
    Wrapped.calls = 0
    y = (torch.sin(w) * w + 1).sum()
    assert Wrapped.calls >= 4
    assert type(y) is Wrapped and y.requires_grad and not y.inner.requires_grad
    y.backward()
    assert type(w.grad) is Wrapped
    a = np.array([1.0, 2.0])
    np.testing.assert_allclose(w.grad.inner.numpy(), np.cos(a) * a + np.sin(a), rtol=1e-6)


def test_a_wrapper_beside_plain_tensors_and_in_a_mode() -> None:
    w, p = Wrapped(torch.ones(2)), torch.full((2,), 3.0)
    for made in (w + p, p + w, p.add(w), torch.where(p > 2, w, p)):
        assert type(made) is Wrapped
    assert (p + w).inner.tolist() == [4.0, 4.0]
    assert w.double().inner.dtype is torch.float64
    with torch.no_grad():
        w.add_(p)
    assert w.inner.tolist() == [4.0, 4.0]
    with Log() as log:
        w.exp()
    assert log.seen == ["aten.exp.default"]  # what the class does with it is its own


def test_second_order_through_a_wrapper() -> None:
    w = Wrapped(torch.tensor([0.5, 1.5], dtype=torch.float64), requires_grad=True)
    (g,) = torch.autograd.grad((w.exp() * w).sum(), w, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), w)
    a = np.array([0.5, 1.5])
    np.testing.assert_allclose(h.inner.numpy(), np.exp(a) * (2 + a), rtol=1e-12)


def weighted(made: Any) -> Any:
    total: Any = 0.0
    for t in made if isinstance(made, tuple) else (made,):
        if not t.dtype.is_floating_point and not t.is_complex():
            continue
        c = torch.tensor(np.cos(np.arange(t.numel())).reshape(tuple(t.shape)))
        part = (t * c).sum()
        total = total + (torch.real(part) if t.is_complex() else part)
    return total


def _real(case: tuple[str, int]) -> bool:
    """Whether no leaf is complex: parts of complex numbers are views."""
    name, n = case
    return not any(t.is_complex() for t in arranged(SAMPLES[name][n])[0])


_REAL = [case for case in CASES if _real(case)]


@pytest.mark.parametrize(("name", "n"), _REAL, ids=[f"{name}-{n}" for name, n in _REAL])
def test_gradients_of_each_row_through_a_wrapper(name: str, n: int) -> None:
    leaves, _, function = arranged(SAMPLES[name][n])
    expected = torch.autograd.grad(weighted(function(name)(*leaves)), leaves, allow_unused=True)
    wrapped = [Wrapped(t.detach(), requires_grad=True) for t in leaves]
    made = weighted(function(name)(*wrapped))
    found = torch.autograd.grad(made, wrapped, allow_unused=True)
    for e, f in zip(expected, found, strict=True):
        assert (e is None) == (f is None)
        if e is not None:
            np.testing.assert_allclose(Wrapped.unwrap(f).numpy(), e.numpy(), rtol=1e-9, atol=1e-9)


class Counted(torch.Tensor):
    """Has values of its own."""

    seen: tuple[str, ...] = ()

    @staticmethod
    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        return torch.Tensor._make_subclass(cls, data, requires_grad)

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Counted.seen += (str(func),)
        return func(*tree_map(lambda t: t.data if isinstance(t, cls) else t, args))


def test_a_class_with_values() -> None:
    c = Counted(torch.tensor([1.0, 4.0]), True)
    assert c.requires_grad and c.is_leaf and c.tolist() == [1.0, 4.0]
    Counted.seen = ()
    y = (c.sqrt() + 1).sum()
    assert type(y) is torch.Tensor and y.item() == 5.0
    assert "aten.sqrt.default" in Counted.seen
    y.backward()
    assert c.grad is not None
    np.testing.assert_allclose(c.grad.numpy(), [0.5, 0.25])


def test_all_declining_is_an_error() -> None:
    class Declines(Counted):
        @classmethod
        def __torch_dispatch__(cls, *_: Any, **__: Any) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'aten.exp.default'"):
        Declines(torch.ones(1)).exp()


def test_ops_have_names() -> None:
    op = torch.ops.aten.add.Tensor
    assert (str(op), op.name(), op.__name__) == (
        "aten.add.Tensor",
        "aten::add.Tensor",
        "add.Tensor",
    )
    assert repr(op) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert torch.ops.aten.add.Scalar is op and op.overloadpacket is torch.ops.aten.add
    assert str(torch.ops.aten.add) == "aten.add"
    assert pickle.loads(pickle.dumps(op)) is op
    assert op(torch.ones(2), 1).tolist() == [2.0, 2.0]
    assert torch.ops.aten.sum.dim_IntList(torch.ones(2, 3), [-1]).tolist() == [3.0, 3.0]
    assert torch.ops.aten.cat(([torch.ones(1), torch.zeros(1)]), 0).tolist() == [1.0, 0.0]
    assert torch.ops.aten.mean(torch.ones(2)).item() == 1.0
    with pytest.raises(AttributeError, match="no_such_op"):
        torch.ops.aten.no_such_op  # noqa: B018
    assert torch.ops.linalg.__name__ == "tensorbus.ops.linalg"
    assert core("add") is not op


def test_layers_over_wrappers() -> None:
    w = Wrapped(torch.ones(2, 3), requires_grad=True)
    layer = torch.nn.Linear(3, 2)
    loss = torch.nn.functional.relu(layer(w) @ torch.ones(2, 2)).sum()
    loss.backward()
    plain = torch.ones(2, 3, requires_grad=True)
    expected = torch.nn.functional.relu(layer(plain) @ torch.ones(2, 2)).sum()
    np.testing.assert_allclose(loss.inner.item(), expected.item(), rtol=1e-6)
    found = layer.weight.grad
    layer.zero_grad()
    expected.backward()
    np.testing.assert_allclose(
        Wrapped.unwrap(found).numpy(), Wrapped.unwrap(layer.weight.grad).numpy(), rtol=1e-6
    )
    np.testing.assert_allclose(w.grad.inner.numpy(), plain.grad.numpy(), rtol=1e-6)


def test_a_recorded_write_into_a_wrapper_is_refused() -> None:
    w = Wrapped(torch.ones(2), requires_grad=True) * 1
    with pytest.raises(NotImplementedError, match="writes into tensors of Wrapped"):
        w.add_(1)
    assert (w + 1).inner.tolist() == [2.0, 2.0]


def test_the_default_runs_the_op_on_plain_tensors() -> None:
    seen: list[str] = []

    class Noted(torch.Tensor):
        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x.as_subclass(Noted).sqrt() * 3
    assert type(y) is torch.Tensor and y.tolist() == [3.0, 6.0]
    assert seen == ["aten.sqrt.default"]  # its result is plain
    y.sum().backward()
    np.testing.assert_allclose(x.grad, [1.5, 0.75])
    with pytest.raises(RuntimeError):
        torch.Tensor.__torch_dispatch__(torch.ops.aten.add.Tensor, (), (x, torch.ones(3)), {})
    seen.clear()
    x.as_subclass(Noted).exp()  # asked again after the error
    assert seen == ["aten.exp.default"]


def test_a_class_that_dispatches_does_not_override_unless_it_says_so() -> None:
    class Held(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, *_: Any, **__: Any) -> Any:
            return torch.zeros(1)

    class Both(Held):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kw: Any = None) -> Any:
            return "asked"

    default: Any = Held.__torch_function__
    assert default is torch._C._disabled_torch_function_impl
    assert type(torch.ones(1).as_subclass(Held) + 1) is torch.Tensor
    assert torch.ones(1).as_subclass(Both) + 1 == "asked"
