"""Overlays: kernels for a backend that the plugin does not own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import discovery
from tensorbus.plugin import Overlay, OverlaySpec


class Log(list[Any]):
    """Overlay specs whose kernels answer with a number of their own, or decline."""

    def spec(
        self, name: str, device: str, ops: str, value: Any, priority: int = 0, supports: bool = True
    ) -> OverlaySpec:
        def asked(op: str, dtype: Any, index: int) -> bool:
            self.append(("supports", name, op, dtype.name))
            return supports

        def kernel(op: str, dtype: Any, index: int) -> Any:
            self.append(("kernel", name, op, dtype.name))
            if value is None:
                return None

            def run(x: Any, *_: Any, out: Any = None) -> Any:
                self.append(("run", name))
                if value is NotImplemented:
                    return NotImplemented
                result = type(x)(x._data * 0 + value)
                if out is None:
                    return result
                out._data[...] = result._data
                return out

            return run

        return OverlaySpec(name, device, tuple(ops.split()), kernel, priority, asked)


@pytest.fixture
def lay(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``lay(*specs)``: these overlays and no others are installed."""

    def install(*specs: OverlaySpec) -> None:
        monkeypatch.setattr(discovery._get(), "_overlays", list(specs))

    return install


def test_the_highest_priority_wins(plug: Any, boxed: Any, lay: Any) -> None:
    device, log = plug(boxed()), Log()
    lay(log.spec("low", device, "exp", 1, 1), log.spec("high", device, "exp", 2, 5))
    x = torch.zeros(2, device=device)
    assert x.exp().tolist() == [2.0, 2.0]
    assert ("run", "low") not in log


def test_what_it_does_not_list_or_support_is_left_to_the_backend(
    plug: Any, boxed: Any, lay: Any
) -> None:
    backend, log = boxed(), Log()
    device = plug(backend)
    lay(
        log.spec("no", device, "exp", 9, supports=False),
        log.spec("none", device, "exp", None, priority=1),
        log.spec("elsewhere", "cpu", "exp sin", 9, priority=2),
    )
    x = torch.zeros(2, device=device)
    assert x.exp().tolist() == [1.0, 1.0] and x.sin().tolist() == [0.0, 0.0]
    assert backend.called == ["exp", "sin"]


def test_it_is_asked_once_for_each_op_and_dtype(plug: Any, boxed: Any, lay: Any) -> None:
    device, log = plug(boxed()), Log()
    lay(log.spec("one", device, "exp", 3))
    x = torch.zeros(2, device=device)
    for _ in range(3):
        x.exp()
    x.double().exp()
    assert [e for e in log if e[0] != "run"] == [
        ("supports", "one", "exp", "float32"),
        ("kernel", "one", "exp", "float32"),
        ("supports", "one", "exp", "float64"),
        ("kernel", "one", "exp", "float64"),
    ]


@pytest.mark.parametrize("lacking", [[], ["exp"]], ids=["then-backend", "then-cpu"])
def test_a_kernel_that_declines_leaves_it_to_the_next(
    lacking: list[str], plug: Any, boxed: Any, lay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_fallback()
    torch.set_fallback("allow")
    device, log = plug(boxed(lacking=lacking)), Log()
    lay(
        log.spec("first", device, "exp", NotImplemented, 2),
        log.spec("second", device, "exp", NotImplemented, 1),
    )
    assert torch.zeros(2, device=device).exp().tolist() == [1.0, 1.0]
    assert [e[1] for e in log if e[0] == "run"] == ["first", "second"]
    torch.set_fallback(before)


def test_compositions_and_fused_rows_may_be_overlaid(plug: Any, boxed: Any, lay: Any) -> None:
    device, log = plug(boxed()), Log()
    lay(log.spec("fused", device, "sigmoid softmax", 4))
    x = torch.zeros(2, device=device, requires_grad=True)
    assert x.sigmoid().tolist() == [4.0, 4.0]
    y = x.softmax(0)
    assert y.tolist() == [4.0, 4.0]
    y.sum().backward()  # the fused row's own derivative, from the overlay's result
    assert x.grad is not None and x.grad.tolist() == [-28.0, -28.0]


def test_equal_priorities_are_an_error_that_names_both(plug: Any, boxed: Any, lay: Any) -> None:
    device, log = plug(boxed()), Log()
    lay(log.spec("left", device, "exp sin", 1), log.spec("right", device, "exp", 2))
    x = torch.zeros(2, device=device)
    with pytest.raises(RuntimeError, match=r"'left' and 'right'.*same priority 0 for exp"):
        x.exp()
    assert x.sin().tolist() == [1.0, 1.0]
    composed = torch.special.xlog1py(x, x)  # none of both has it
    assert composed.tolist() == [0.0, 0.0]


def test_compilers_of_equal_priority_are_asked_by_name(plug: Any, boxed: Any, lay: Any) -> None:
    class Compiler(Overlay):
        def __init__(self, name: str):
            self.name = name  # type: ignore[misc]

    backend = boxed()
    device = plug(backend)

    def spec(name: str, priority: int, graphs: bool) -> OverlaySpec:
        load = lambda _: Compiler(name)  # noqa: E731
        return OverlaySpec(name, device, ("exp",), load=load, priority=priority, graphs=graphs)

    lay(spec("b", 2, True), spec("a", 2, True), spec("first", 3, True), spec("kernels", 2, False))
    found = discovery.compilers(backend)
    assert [compile.__self__.name for compile in found] == ["first", "a", "b"]  # type: ignore[attr-defined]


def test_an_object_serves_as_a_function_does(plug: Any, boxed: Any, lay: Any) -> None:
    class Threes(Overlay):
        name = "threes"

        def __init__(self, backend: Any):
            self.backend = backend

        def kernel(self, op: str, dtype: Any, index: int) -> Any:
            assert op == "exp"
            return lambda x: self.backend.from_host(np.full(x.shape, 3, "f4"), dtype, index)

    backend = boxed()
    device = plug(backend)
    lay(OverlaySpec("threes", device, ("exp",), load=Threes))
    x = torch.zeros(2, device=device)
    assert x.exp().tolist() == [3.0, 3.0] and x.sin().tolist() == [0.0, 0.0]
    assert backend.called == ["sin"]
