"""Subclasses of Tensor: results keep the class, ``__torch_function__`` sees what was called."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import tensorbus as torch
from tensorbus.nn import functional as F
from tensorbus.op_engine.override import DisableTorchFunctionSubclass, disabled_torch_function


class Plain(torch.Tensor):
    """Leaves everything to the default."""


class Derived(Plain):
    pass


class Other(torch.Tensor):
    pass


Seen = list[tuple[Any, tuple[type, ...], tuple[Any, ...], dict[str, Any]]]
SEEN: Seen = []


class Logged(torch.Tensor):
    """Writes down each call, then leaves it to the default."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append((func, types, args, kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)


class Declines(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_: Any) -> Any:
        return NotImplemented


def make(cls: type, *shape: int) -> Any:
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape).as_subclass(cls)


def seen(call: Callable[[], Any]) -> tuple[Any, Seen]:
    SEEN.clear()
    result = call()
    return result, list(SEEN)


KEEPING: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, p: x + 1,
    "radd": lambda x, p: 1 + x,
    "add plain": lambda x, p: x + p,
    "plain add": lambda x, p: p + x,
    "plain sub": lambda x, p: p - x,
    "plain matmul": lambda x, p: p @ x,
    "plain.add": lambda x, p: p.add(x),
    "plain.mul": lambda x, p: p.mul(x),
    "plain.matmul": lambda x, p: p.matmul(x),
    "plain.where": lambda x, p: p.where(p > 1, x),
    "neg": lambda x, p: -x,
    "eq": lambda x, p: x == p,
    "index": lambda x, p: x[0],
    "slice": lambda x, p: x[:, 1:],
    "mask": lambda x, p: x[x > 2],
    "plain indexed": lambda x, p: p[x.long() - 1 < 2],
    "plain indexed twice": lambda x, p: p[0, x.long()[0] - 1],
    "method": lambda x, p: x.sum(dim=0),
    "view": lambda x, p: x.view(-1),
    "property": lambda x, p: x.T,
    "function": lambda x, p: torch.exp(x),
    "function of two": lambda x, p: torch.add(p, x, alpha=2),
    "list": lambda x, p: torch.cat([p, x]),
    "stack": lambda x, p: torch.stack([x, p]),
    "keyword": lambda x, p: torch.sum(input=x),
    "functional": lambda x, p: F.relu(x),
    "functional of two": lambda x, p: F.linear(p, x),
    "like": lambda x, p: torch.zeros_like(x),
    "new": lambda x, p: x.new_zeros(2),
    "to": lambda x, p: x.to(torch.float64),
    "detach": lambda x, p: x.detach(),
    "clone": lambda x, p: x.clone(),
    "data": lambda x, p: x.data,
    "item of list": lambda x, p: next(iter(x)),
    "max": lambda x, p: x.max(dim=0).values,
    "split": lambda x, p: x.split(1)[1],
    "sort": lambda x, p: torch.sort(x)[1],
    "super": lambda x, p: super(Plain, x).mul(2),
}


@pytest.mark.parametrize("name", KEEPING)
def test_results_keep_the_class_and_the_values(name: str) -> None:
    x, p = make(Plain, 2, 2), make(torch.Tensor, 2, 2)
    assert type(p) is torch.Tensor
    result = KEEPING[name](x, p)
    assert type(result) is Plain
    if name != "super":
        assert result.tolist() == KEEPING[name](make(torch.Tensor, 2, 2), p).tolist()
    assert type(p) is torch.Tensor


def test_named_tuples_and_tuples_hold_instances() -> None:
    x = make(Plain, 2, 3)
    found = torch.max(x, 1)
    assert type(found).__name__ == "max" and found._fields == ("values", "indices")
    assert [type(r) for r in found] == [Plain, Plain]
    assert [type(r) for r in x.unbind()] == [Plain, Plain]
    assert type(x.shape) is torch.Size and x.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_the_more_derived_class_wins_and_unrelated_classes_decline() -> None:
    assert type(make(Plain, 2) + make(Derived, 2)) is Derived
    assert type(make(Derived, 2) + make(Plain, 2)) is Derived
    with pytest.raises(TypeError, match="unsupported operand"):
        make(Plain, 2) + make(Other, 2)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'cat'.*Plain.*Other"):
        torch.cat([make(Plain, 2), make(Other, 2)])
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'exp'"):
        torch.exp(make(Declines, 2))


def test_in_place_changes_the_object_itself() -> None:
    x = make(Plain, 3)
    assert x.add_(1) is x and operator.imul(x, 2) is x
    x[0] = 7
    assert type(x) is Plain and x.tolist() == [7.0, 6.0, 8.0]
    p = torch.zeros(3)
    written = p.copy_(x)  # the other operand is asked, which makes its own of the result
    assert type(written) is Plain and written.data_ptr() == p.data_ptr()
    assert type(p) is torch.Tensor and p.tolist() == x.tolist()
    out = torch.empty(3)
    assert torch.exp(x, out=out) is out or type(out) is torch.Tensor


def test_storage_versions_and_views_are_shared() -> None:
    p = torch.zeros(4)
    x = p.as_subclass(Plain)
    x[1] = 5
    assert p.tolist() == [0, 5, 0, 0] and p._version == x._version
    x.view(2, 2)[1].fill_(3)
    assert p.tolist() == [0, 5, 3, 3]
    assert x.view(2, 2)._base is x


def test_gradients_flow_through_subclasses() -> None:
    x = make(Plain, 3).requires_grad_()
    y = x * x
    y[0] = 4 * y[0]  # a write through a view rebases the instance's history
    (y + make(torch.Tensor, 3)).sum().backward()
    assert x.grad.tolist() == [8.0, 4.0, 6.0] and x.is_leaf and type(x.grad) is torch.Tensor
    p = torch.ones(2, requires_grad=True)
    (p.as_subclass(Plain) * 3).sum().backward()
    assert p.grad.tolist() == [3.0, 3.0]
    (second,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert torch.autograd.grad(second.sum(), x)[0].tolist() == [6.0, 12.0, 18.0]


def test_a_saved_instance_that_was_written_to_is_noticed() -> None:
    x = make(Plain, 3)
    w = torch.ones(3, requires_grad=True)
    y = (w * x).sum()
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


CALLS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[], Any], tuple[str, ...]]] = {
    "function": (lambda x, p: torch.add(p, x), lambda: torch.add, ("Tensor", "Logged")),
    "unary function": (lambda x, p: torch.exp(x), lambda: torch.exp, ("Logged",)),
    "family function": (lambda x, p: torch.softmax(x, 0), lambda: torch.softmax,
                        ("Logged", "int")),
    "list": (lambda x, p: torch.cat([p, x]), lambda: torch.cat, ("list",)),
    "functional": (lambda x, p: F.relu(x), lambda: F.relu, ("Logged",)),
    "method": (lambda x, p: x.add(p), lambda: torch.Tensor.add, ("Logged", "Tensor")),
    "operator": (lambda x, p: x + p, lambda: torch.Tensor.add, ("Logged", "Tensor")),
    "reflected number": (lambda x, p: 2 * x, lambda: torch.Tensor.mul, ("Logged", "int")),
    "reflected tensor": (lambda x, p: p - x, lambda: torch.Tensor.sub, ("Tensor", "Logged")),
    "plain method": (lambda x, p: p.add(x), lambda: torch.Tensor.add, ("Tensor", "Logged")),
    "in place": (lambda x, p: operator.iadd(x, 1), lambda: torch.Tensor.add_, ("Logged", "int")),
    "matmul": (lambda x, p: x @ p, lambda: torch.Tensor.matmul, ("Logged", "Tensor")),
    "index": (lambda x, p: x[0], lambda: torch.Tensor.__getitem__, ("Logged", "int")),
    "write": (lambda x, p: operator.setitem(x, 0, 1), lambda: torch.Tensor.__setitem__,
              ("Logged", "int", "int")),
    "property": (lambda x, p: x.shape, lambda: torch.Tensor.shape.__get__, ("Logged",)),
    "setter": (lambda x, p: setattr(x, "grad", None), lambda: torch.Tensor.grad.__set__,
               ("Logged", "NoneType")),
    "unbound": (lambda x, p: super(Logged, x).exp(), lambda: torch.Tensor.exp, ("Logged",)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_an_override_sees_the_public_function_once(name: str) -> None:
    call, function, arguments = CALLS[name]
    x, p = make(Logged, 2), make(torch.Tensor, 2)
    _, calls = seen(lambda: call(x, p))
    assert len(calls) == 1, [c[0] for c in calls]
    func, types, args, kwargs = calls[0]
    assert func == function()
    assert types == (Logged,)
    assert tuple(type(a).__name__ for a in args) == arguments and kwargs == {}


def test_keywords_arrive_as_they_were_given() -> None:
    x = make(Logged, 2, 2)
    _, calls = seen(lambda: x.sum(dim=0, keepdim=True))
    assert calls[0][2:] == ((x,), {"dim": 0, "keepdim": True})
    p = make(torch.Tensor, 2, 2)
    _, calls = seen(lambda: torch.add(p, x, alpha=3))
    assert calls[0][0] is torch.add and calls[0][3] == {"alpha": 3}
    out = torch.empty(2, 2)
    _, calls = seen(lambda: torch.exp(x, out=out))
    assert calls[0][0] is torch.exp and calls[0][3]["out"] is out


def test_names_are_those_of_the_public_functions() -> None:
    x = make(Logged, 2)
    for name in "add exp sum view long __len__ __repr__ transpose requires_grad_ tolist".split():
        assert getattr(torch.Tensor, name).__name__ == name
    _, calls = seen(lambda: (len(x), repr(x), 1 - x))
    assert [c[0].__name__ for c in calls] == ["__len__", "__repr__", "__rsub__"]


def test_a_handler_table_keyed_by_function() -> None:
    handled: dict[Any, Callable[..., Any]] = {torch.mean: lambda x: "mean of a handler"}

    class Table(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            if func in handled:
                return handled[func](*args, **(kwargs or {}))
            return super().__torch_function__(func, types, args, kwargs)

    x = make(Table, 2)
    assert torch.mean(x) == "mean of a handler"
    assert type(torch.sum(x)) is Table
    assert torch.mean(make(torch.Tensor, 2)).item() == 1.5


def test_a_user_method_and_a_mixin_come_before_the_default() -> None:
    class Doubling:
        def exp(self) -> str:
            return "of the mixin"

    class Own(Doubling, torch.Tensor):
        def add(self, other: Any) -> Any:
            return super().add(other).add_(1)  # type: ignore[misc]

    x = make(Own, 2)
    assert x.exp() == "of the mixin"
    assert x.add(1).tolist() == [3.0, 4.0] and type(x.add(1)) is Own


def test_disabling() -> None:
    x = make(Logged, 2)
    with DisableTorchFunctionSubclass():
        result, calls = seen(lambda: torch.cat([x + 1, x.exp()]))
    assert type(result) is torch.Tensor and calls == []
    assert type(x + 1) is Logged

    class Off(torch.Tensor):
        __torch_function__ = disabled_torch_function

    y = make(Off, 2)
    assert type(y) is Off and type(y + y) is type(1 + y) is type(torch.exp(y)) is torch.Tensor
    assert ((torch.ones(2) + y) * y).tolist() == [2.0, 6.0]


def test_parameters_do_not_override() -> None:
    class Special(torch.nn.Parameter):
        pass

    for p in (torch.nn.Parameter(torch.ones(2)), Special(torch.ones(2))):
        result = torch.ones(2) * p + p
        assert type(result) is torch.Tensor
        result.sum().backward()
        assert p.grad.tolist() == [2.0, 2.0]
    assert type(make(Plain, 2) * torch.nn.Parameter(torch.ones(2))) is Plain


def test_construction_and_as_subclass() -> None:
    assert type(Plain([1.0, 2.0])) is Plain and Plain([1.0, 2.0]).tolist() == [1.0, 2.0]
    x = make(Derived, 2)
    assert type(x.as_subclass(torch.Tensor)) is torch.Tensor
    assert type(x.as_subclass(Plain)) is Plain
    assert isinstance(x, torch.Tensor) and torch.is_tensor(make(Declines, 2))
    with pytest.raises(TypeError, match="is not a subclass of Tensor"):
        x.as_subclass(int)


def test_attributes_copies_and_pickles() -> None:
    x = make(Plain, 3)
    x.note = "kept"
    assert type(copy.deepcopy(x)) is Plain and copy.deepcopy(x).tolist() == x.tolist()
    again = pickle.loads(pickle.dumps(x))
    assert type(again) is Plain and again.note == "kept" and again.tolist() == x.tolist()


def test_a_class_with_slots_of_its_own() -> None:
    class Slotted(torch.Tensor):
        __slots__ = ("unit",)

    x = make(Slotted, 2)
    x.unit = "m"
    y = x * 2
    assert type(y) is Slotted and y.tolist() == [2.0, 4.0] and not hasattr(y, "unit")


def test_an_operand_that_is_returned_keeps_its_class() -> None:
    p, x = torch.ones(2), make(Plain, 2)
    assert p.type_as(x) is not p and type(p) is torch.Tensor


def test_modules_pass_subclasses_on() -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    x = make(Plain, 4, 2)
    y = layer(x)
    assert type(y) is Plain
    y.sum().backward()
    plain = [p.grad.tolist() for p in layer.parameters()]
    layer.zero_grad()
    layer(x.as_subclass(torch.Tensor)).sum().backward()
    assert plain == [p.grad.tolist() for p in layer.parameters()]


def test_against_torch(oracle: Callable[..., Any]) -> None:
    def names(lib: Any) -> list[tuple[str, list[str], str]]:
        log: list[tuple[str, list[str]]] = []

        class Noted(lib.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
                log.append((func.__name__, [type(a).__name__ for a in args]))
                return super().__torch_function__(func, types, args, kwargs or {})

        m, p = lib.ones(2, 2).as_subclass(Noted), lib.ones(2, 2)
        calls: list[Callable[[], Any]] = [
            lambda: m + 1, lambda: 1 + m, lambda: p + m, lambda: p.add(m), lambda: p - m,
            lambda: lib.add(p, m), lambda: m / 2, lambda: m % 2, lambda: m**2,
            lambda: m @ p, lambda: -m, lambda: m < p, lambda: m != p, lambda: m.shape,
            lambda: m[0], lambda: m.sum(0), lambda: lib.cat([p, m]), lambda: m.T,
            lambda: m.detach(), lambda: m.to(lib.float64), lambda: m.tolist(), lambda: len(m),
            lambda: lib.zeros_like(m), lambda: m.new_zeros(2), lambda: lib.nn.functional.relu(m),
            lambda: operator.imul(m, 2), lambda: operator.itruediv(m, 2), lambda: m.size(),
            lambda: list(m), lambda: m.requires_grad, lambda: m.numel(),
        ]  # fmt: skip
        found = []
        for call in calls:
            log.clear()
            kind = type(call()).__name__
            found.append((*log[0], kind))
        return found

    assert names(torch) == oracle(names)


IN_PLACE: dict[str, tuple[str, dict[str, Any]]] = {
    "add": ("add_", {}), "add alpha": ("add_", {"alpha": 2.0}), "sub alpha": ("sub_", {"alpha": 3}),
    "mul": ("mul_", {}), "div": ("div_", {}), "rounded": ("div_", {"rounding_mode": "floor"}),
    "pow": ("pow_", {}), "eq": ("eq_", {}), "copy": ("copy_", {}), "atan2": ("atan2_", {}),
    "clamp": ("clamp_", {}), "index_add": ("index_add_", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_method_in_place_asks_its_other_operand(name: str) -> None:
    method, options = IN_PLACE[name]
    other = make(Logged, 3)
    x, y = torch.ones(3), torch.ones(3)
    first = (0, torch.arange(3)) if method == "index_add_" else ()
    result, calls = seen(lambda: getattr(x, method)(*first, other, **options))
    func, _, args, kwargs = calls[0]
    assert func.__name__ == method and args[0] is x and args[-1] is other and kwargs == options
    assert type(result) is Logged
    getattr(y, method)(*first, other.as_subclass(torch.Tensor), **options)
    assert torch.equal(x, y)
