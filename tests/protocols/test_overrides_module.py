"""``torch.overrides``: modes, objects that are no tensors, and what asks whom."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import tensorbus as torch
from tensorbus._base.modes import OVERRIDES
from tensorbus.nn import functional as F
from tensorbus.overrides import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    _pop_mode_temporarily,
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    is_tensor_like,
    is_tensor_method_or_property,
    redispatch_function,
    resolve_name,
    wrap_torch_function,
)

HANDLED: dict[Any, Callable[..., Any]] = {}


def implements(function: Any) -> Callable[..., Any]:
    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        HANDLED[function] = f
        return f

    return decorate


class Diagonal:
    """A multiple of the identity, which is no tensor."""

    def __init__(self, n: int, value: float):
        self.n, self.value = n, value

    def tensor(self) -> Any:
        return self.value * torch.eye(self.n)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, cls)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


@implements(torch.mean)
def mean(input: Any) -> float:
    return input.value / input.n


@implements(torch.exp)
def exp(input: Any) -> str:
    return f"exp of {input.value}"


@implements(torch.add)
def add(input: Any, other: Any) -> Any:
    a, b = (x.tensor() if isinstance(x, Diagonal) else x for x in (input, other))
    return torch.add(a, b)


@implements(torch.stack)
def stack(tensors: Any, dim: int = 0) -> Any:
    return torch.stack([x.tensor() if isinstance(x, Diagonal) else x for x in tensors], dim)


@implements(torch.Tensor.add)
def added(self: Any, other: Any) -> Any:
    return torch.add(self, other)


@implements(F.relu)
def relu(input: Any) -> Any:
    return Diagonal(input.n, max(input.value, 0))


@pytest.fixture
def forgetful() -> Any:
    """As in a program that has defined no class that overrides."""
    before = OVERRIDES.classes, OVERRIDES.on
    OVERRIDES.classes = OVERRIDES.on = False
    yield
    OVERRIDES.classes, OVERRIDES.on = before


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda d: torch.mean(d), 1.0),
        (lambda d: torch.exp(d), "exp of 2.0"),
        (lambda d: torch.add(d, d).tolist(), [[4.0, 0.0], [0.0, 4.0]]),
        (lambda d: torch.add(torch.ones(2, 2), d).tolist(), [[3.0, 1.0], [1.0, 3.0]]),
        (lambda d: (torch.ones(2, 2) + d).tolist(), [[3.0, 1.0], [1.0, 3.0]]),
        (lambda d: torch.stack([torch.ones(2, 2), d])[1].tolist(), [[2.0, 0.0], [0.0, 2.0]]),
        (lambda d: F.relu(d).value, 2.0),
    ],
)
def test_an_object_that_is_no_tensor_is_asked(
    forgetful: None, call: Callable[[Any], Any], wanted: Any
) -> None:
    for _ in range(2):  # the first such object of a program, and any later one
        assert call(Diagonal(2, 2.0)) == wanted


@pytest.mark.parametrize(
    "call", [lambda d: torch.mul(d, 3), lambda d: torch.sum(d), lambda d: torch.sqrt(d)]
)
def test_all_declining_is_an_error(forgetful: None, call: Callable[[Any], Any]) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="returned NotImplemented: .*Diagonal"):
            call(Diagonal(2, 2.0))


class Log(TorchFunctionMode):
    def __init__(self, name: str = "") -> None:
        self.name = name
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(self.name + str(resolve_name(func)))
        return func(*args, **(kwargs or {}))


class Sub(torch.Tensor):
    pass


def test_a_mode_sees_factories_functions_methods_and_properties() -> None:
    x = torch.ones(2, requires_grad=True)
    with Log() as log:
        y = torch.rand(2)
        z = x + y
        z = 1 - z
        z = torch.exp(z).sum()
        z.backward()
        z.shape  # noqa: B018
        z.item()
        F.relu(x)
        torch.linalg.norm(x)
        x[0]
        z += 1
        torch.Tensor.add(x, 1)
    assert log.seen == [
        "torch.rand",
        "torch.Tensor.add",
        "torch.Tensor.__rsub__",
        "torch.exp",
        "torch.Tensor.sum",
        "torch.Tensor.backward",
        "torch.Tensor.shape.__get__",
        "torch.Tensor.item",
        "torch.nn.functional.relu",
        "torch.linalg.norm",
        "torch.Tensor.__getitem__",
        "torch.Tensor.add_",
        "torch.Tensor.add",
    ]
    x + y  # seen by nobody
    assert len(log.seen) == 13


def test_methods_are_the_same_objects_in_and_behind_a_mode() -> None:
    names = ("add", "sum", "exp", "view", "mul_", "__add__", "shape", "backward")
    before = {name: getattr(torch.Tensor, name) for name in names}
    kept = {name: vars(torch.Tensor)[name] for name in names}
    with BaseTorchFunctionMode():
        assert {name: getattr(torch.Tensor, name) for name in names} == before
        assert (torch.ones(2) + 1).tolist() == [2.0, 2.0]
    assert {name: vars(torch.Tensor)[name] for name in names} == kept


def test_modes_are_asked_from_the_innermost() -> None:
    outer, inner = Log("outer "), Log("inner ")
    inner.seen = outer.seen
    with outer, inner:
        assert _get_current_function_mode() is inner
        torch.zeros(1)
        with _pop_mode_temporarily() as popped:
            assert popped is inner
            torch.ones(1)
        assert _get_current_function_mode_stack() == [outer, inner]
    assert outer.seen == ["inner torch.zeros", "outer torch.zeros", "outer torch.ones"]
    assert _get_current_function_mode() is None


def test_a_mode_comes_before_classes() -> None:
    x = torch.ones(2).as_subclass(Sub)
    with Log() as log:
        y = x * 2
    assert type(y) is Sub
    assert log.seen == ["torch.Tensor.mul"]
    with Log() as log, torch._C.DisableTorchFunctionSubclass():
        assert type(x * 2) is torch.Tensor
    assert log.seen == ["torch.Tensor.mul"]
    with Log() as log, torch._C.DisableTorchFunction():
        assert type(x * 2) is torch.Tensor
    assert log.seen == []


def test_a_mode_within_itself() -> None:
    class Twice(TorchFunctionMode):
        depth = 0
        seen = 0

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            Twice.seen += 1
            if self.depth:
                return func(*args, **(kwargs or {}))
            self.depth += 1
            try:
                with self:
                    return torch.neg(func(*args, **(kwargs or {})))
            finally:
                self.depth -= 1

    x = torch.ones(2)
    with Twice():
        y = x + 1
        z = x + 2
    assert (y.tolist(), z.tolist()) == ([-2.0, -2.0], [-3.0, -3.0])
    assert Twice.seen == 6
    assert OVERRIDES.modes == 0


@pytest.mark.parametrize("call", [lambda x: x + 1, torch.exp, lambda x: x.view(-1)])
def test_a_mode_that_raises_or_declines(call: Callable[[Any], Any]) -> None:
    class Refuses(TorchFunctionMode):
        answer: Any = None

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kw: Any = None) -> Any:
            if self.answer is None:
                raise KeyError("refused")
            return self.answer

    x = torch.ones(2)
    mode = Refuses()
    with pytest.raises(KeyError, match="refused"), mode:
        call(x)
    assert _get_current_function_mode_stack() == []
    mode.answer = NotImplemented
    with pytest.raises(TypeError), mode:
        call(x)
    assert OVERRIDES.modes == 0
    assert call(x).shape == (2,)


def test_modes_of_one_thread_are_not_those_of_another() -> None:
    log = Log()
    results: list[Any] = []
    with log:
        thread = threading.Thread(target=lambda: results.append((torch.ones(2) + 1).tolist()))
        thread.start()
        thread.join(60)
    assert results == [[2.0, 2.0]]
    assert log.seen == []


def test_who_overrides() -> None:
    x, d, s = torch.ones(1), Diagonal(1, 1), torch.ones(1).as_subclass(Sub)
    assert [is_tensor_like(v) for v in (x, d, s, 3, None)] == [True, True, True, False, False]
    assert [has_torch_function_unary(v) for v in (x, d, s, 3)] == [False, True, True, False]
    assert has_torch_function((x, s)) and not has_torch_function((x, 1))
    assert has_torch_function_variadic(x, 1, d) and not has_torch_function_variadic(x)
    assert not has_torch_function((torch.nn.Parameter(x),))
    with BaseTorchFunctionMode():
        assert has_torch_function((x,))
    assert F.has_torch_function is has_torch_function


def test_functions_of_programs_ask_too() -> None:
    @wrap_torch_function(lambda a, b: (a, b))
    def weighed(a: Any, b: Any) -> Any:
        """The sum."""
        return a + 2 * b

    assert weighed.__doc__ == "The sum."
    assert weighed(torch.ones(1), torch.ones(1)).tolist() == [3.0]
    HANDLED[weighed] = lambda a, b: "diagonal"
    assert weighed(torch.ones(1), Diagonal(1, 2)) == "diagonal"
    with Log() as log:
        weighed(torch.ones(1), torch.ones(1))
    assert log.seen == ["torch.ones", "torch.ones", "None"]


class Indented(torch.Tensor):
    lines: ClassVar[list[str]] = []
    depth = 0

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.lines.append("  " * cls.depth + func.__name__)
        cls.depth += 1
        try:
            return redispatch_function(func, types, args, kwargs)
        finally:
            cls.depth -= 1


def fused(a: Any, b: Any) -> Any:
    if has_torch_function((a, b)):
        return handle_torch_function(fused, (a, b), a, b)
    return a * b + 1


def test_redispatch_skips_one_level() -> None:
    Indented.lines.clear()
    made = fused(torch.tensor([3.0]).as_subclass(Indented), torch.tensor([4.0]))
    assert type(made) is torch.Tensor
    assert made.tolist() == [13.0]
    assert Indented.lines == ["fused", "  mul"]

    class Mode(TorchFunctionMode):
        lines: ClassVar[list[str]] = []

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.lines.append(func.__name__)
            with self:
                return redispatch_function(func, types, args, kwargs)

    a, b = torch.tensor([3.0]), torch.tensor([4.0])
    with Mode() as mode:
        made = fused(a, b)
    assert made.tolist() == [13.0]
    assert mode.lines == ["fused", "mul", "add"]


def test_lists_of_functions() -> None:
    listed = get_overridable_functions()
    assert torch.add in listed[torch]
    assert F.relu in listed[F]
    assert torch.Tensor.add in listed[torch.Tensor]
    assert listed[torch.Tensor.shape] == [torch.Tensor.shape.__get__]
    assert torch.linalg.norm in listed[torch.linalg]
    ignored = get_ignored_functions()
    assert {torch.ones, torch.tensor, torch.arange, torch.rand} <= ignored
    assert not ignored & {f for functions in listed.values() for f in functions}
    doubles = get_testing_overrides()
    assert doubles[torch.add](1, 2) == -1
    assert list(inspect.signature(doubles[torch.add]).parameters)[:2] == ["input", "other"]


@pytest.mark.parametrize(
    ("function", "name", "is_method"),
    [
        (torch.add, "torch.add", False),
        (torch.Tensor.add, "torch.Tensor.add", True),
        (torch.Tensor.shape.__get__, "torch.Tensor.shape.__get__", True),
        (F.relu, "torch.nn.functional.relu", False),
        (len, None, False),
        (functools.partial(len), None, False),
    ],
)
def test_names(function: Any, name: str | None, is_method: bool) -> None:
    assert resolve_name(function) == name
    assert is_tensor_method_or_property(function) is is_method
