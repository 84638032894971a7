"""Ops of programs: their gradients, in batches, under modes and autocast, on devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.protocols.library_ops import cubed

import tensorbus as torch
from tensorbus import library
from tensorbus.utils._python_dispatch import TorchDispatchMode

Tensor = torch.Tensor
pytestmark = pytest.mark.usefixtures("nothing_left")
X = np.array([0.5, -1.0, 2.0])


class Log(TorchDispatchMode):
    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


# -- gradients -------------------------------------------------------------------------------
def test_gradients_of_both_orders_and_forward_mode() -> None:
    op = cubed()
    x = torch.tensor(X, requires_grad=True)
    assert torch.autograd.gradcheck(op, (x,))
    assert torch.autograd.gradgradcheck(op, (x,))
    made, along = torch.func.jvp(op, (x.detach(),), (torch.tensor([1.0, 2.0, 0.0]).double(),))
    np.testing.assert_allclose(made.numpy(), X**3)
    np.testing.assert_allclose(along.numpy(), 3 * X**2 * [1, 2, 0])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_gradients_in_batches_and_batches_of_gradients(order: tuple[int, ...]) -> None:
    op = cubed()
    x = torch.tensor(X)
    of_each = torch.vmap(torch.func.grad(op))
    of_all = torch.func.grad(lambda x: torch.vmap(op)(x).sum())
    found = (of_each, of_all)[order[0]](x)
    np.testing.assert_allclose(found.numpy(), 3 * X**2)
    twice = torch.vmap(torch.func.grad(torch.func.grad(op)))(x)
    np.testing.assert_allclose(twice.numpy(), 6 * X)
    jacobian = torch.func.jacrev(torch.vmap(op))(x)
    np.testing.assert_allclose(jacobian.numpy(), np.diag(3 * X**2))
    np.testing.assert_allclose(torch.func.jacfwd(op)(x).numpy(), np.diag(3 * X**2))


def test_an_op_without_a_formula_refuses_its_backward_pass() -> None:
    @library.custom_op("calls::plain", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x * 2

    x = torch.ones(2, requires_grad=True)
    y = op(x)
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="Trying to backward through calls.plain.default but no"):
        y.sum().backward()


def test_a_defined_op_without_a_formula_warns(lib: Any) -> None:
    lib.define("quiet(Tensor x) -> Tensor")
    lib.impl("quiet", lambda x: x.detach() * 2, "CPU")
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.calls.quiet(x)
    assert y.requires_grad
    with pytest.warns(UserWarning, match="calls::quiet: an autograd kernel was not registered"):
        y.sum().backward()
    assert x.grad is None


def test_backward_must_fit_the_arguments() -> None:
    @library.custom_op("calls::several", mutates_args=())
    def op(xs: list[Tensor], y: Tensor) -> Tensor:
        return xs[0] + xs[1] + y

    x = torch.ones(2, requires_grad=True)
    op.register_autograd(lambda ctx, g: g)
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        op([x, x], x).sum().backward()
    op.register_autograd(lambda ctx, g: ([g], g))
    with pytest.raises(RuntimeError, match="same structure as the inputs"):
        op([x, x], x).sum().backward()
    op.register_autograd(lambda ctx, g: ([g, 2 * g], 3 * g))
    op([x, x.detach()], x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [4.0, 4.0]
    op.register_autograd(lambda ctx, g: (None, g))
    x.grad = None
    op([x, x], x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_gradients_through_what_an_op_wrote_to_are_refused() -> None:
    @library.custom_op("calls::sine_", mutates_args={"x"})
    def op(x: Tensor) -> None:
        x.copy_(x.sin())

    leaf = torch.ones(2, requires_grad=True)
    y = leaf * 2
    op(y)
    np.testing.assert_allclose(y.detach().numpy(), np.sin([2.0, 2.0]), rtol=1e-6)
    with pytest.raises(RuntimeError, match="calls.sine_.default, which writes to a tensor"):
        y.sum().backward()
    saved = torch.ones(2)
    z = leaf * saved
    op(saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="non-functional operator"):
        op.register_autograd(lambda ctx, g: g)


def test_a_composed_op_is_seen_through(lib: Any) -> None:
    lib.define("doubled(Tensor x) -> Tensor")
    lib.impl("doubled", lambda x: x * 2)
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.calls.doubled(x)
    assert y.grad_fn is not None and y.grad_fn.name() == "MulBackward0"
    assert torch.vmap(torch.ops.calls.doubled)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert torch.ops.calls.doubled(torch.ones(2, device="meta")).shape == (2,)
    seen: list[str] = []
    with Log(seen):
        torch.ops.calls.doubled(torch.ones(2))
    assert seen == ["aten.mul.Tensor"]


# -- batches ---------------------------------------------------------------------------------
def test_a_batch_without_a_rule_is_computed_element_by_element(lib: Any) -> None:
    lib.define("pair(Tensor x, Tensor[] ys, float c) -> (Tensor, Tensor[])")
    calls: list[Any] = []

    def pair(x: Any, ys: Any, c: float) -> Any:
        calls.append(tuple(x.shape))
        return x * c, [y + 1 for y in ys]

    lib.impl("pair", pair, "CPU")
    x, y = torch.arange(6.0).reshape(3, 2), torch.arange(2.0)
    with pytest.warns(UserWarning, match="not yet implemented the batching rule for calls::pair"):
        made, (first, second) = torch.vmap(
            lambda x: torch.ops.calls.pair(x, [x, y], 2.0)
        )(x)  # fmt: skip
    assert calls == [(2,)] * 3
    np.testing.assert_allclose(made.numpy(), 2 * x.numpy())
    np.testing.assert_allclose(first.numpy(), x.numpy() + 1)
    np.testing.assert_allclose(second.numpy(), np.tile(y.numpy() + 1, (3, 1)))
    lib.define("write(Tensor(a!) x) -> ()")
    lib.impl("write", lambda x: None, "CPU")
    with pytest.raises(RuntimeError, match="the fallback path doesn't work on out= or view ops"):
        torch.vmap(lambda x: (torch.ops.calls.write(x), x)[1])(torch.ones(2))


def test_a_rule_that_fails_leaves_nothing_behind(lib: Any) -> None:
    op = cubed("failing")

    def fails(info: Any, in_dims: Any, x: Any) -> Any:
        raise KeyError("no rule")

    op.register_vmap(fails)
    with pytest.raises(KeyError, match="no rule"):
        torch.vmap(op)(torch.ones(2))
    op.register_vmap(lambda info, in_dims, x: x)
    with pytest.raises(RuntimeError, match="must return two values, the output and its out_dims"):
        torch.vmap(op)(torch.ones(2))
    op.register_vmap(lambda info, in_dims, x: ((x, x), (0,)))
    with pytest.raises(ValueError, match="2 results and out_dims for 1"):
        torch.vmap(op)(torch.ones(2))


def test_a_rule_is_told_of_randomness_and_of_nested_batches() -> None:
    op = cubed("told")
    seen: list[Any] = []

    def rule(info: Any, in_dims: Any, x: Any) -> Any:
        seen.append((tuple(info), in_dims, tuple(x.shape)))
        return op(x), in_dims[0]

    op.register_vmap(rule)
    x = torch.arange(6.0).reshape(2, 3)
    made = torch.vmap(torch.vmap(op), randomness="different")(x)
    np.testing.assert_allclose(made.numpy(), x.numpy() ** 3)
    assert [told for told, _, _ in seen] == [(3, "error"), (2, "different")]
    outer = torch.vmap(lambda a: torch.vmap(lambda b: op(a) + b)(torch.ones(2)))
    np.testing.assert_allclose(outer(x[0]).numpy(), np.tile(x[0].numpy() ** 3 + 1, (2, 1)).T)


# -- devices ---------------------------------------------------------------------------------
def test_kernels_for_devices_of_plugins(device: str, lib: Any) -> None:
    lib.define("where_from(Tensor x) -> Tensor")
    library.impl("calls::where_from", "default", lambda x: x * 0 - 1, lib=lib)
    library.impl("calls::where_from", device, lambda x: x * 0 + 1, lib=lib)
    library.impl("calls::where_from", "meta", lambda x: x.new_empty(7), lib=lib)
    assert torch.ops.calls.where_from(torch.ones(1, device=device)).tolist() == [1.0]
    assert torch.ops.calls.where_from(torch.ones(1, device="meta")).shape == (7,)
    both = cubed(f"on_{device}")
    x = torch.tensor(X, device=device, dtype=torch.float32, requires_grad=True)
    both(x).sum().backward()
    assert x.grad is not None and x.grad.device.type == device
    np.testing.assert_allclose(x.grad.cpu().numpy(), 3 * X**2, rtol=1e-6)


def test_a_device_without_a_kernel_is_an_error(lib: Any) -> None:
    lib.define("absent(Tensor x, Tensor? y=None) -> Tensor")
    x = torch.ones(1)
    with pytest.raises(NotImplementedError, match="Could not run 'calls::absent' with arguments "
                       "from the 'CPU' backend"):  # fmt: skip
        torch.ops.calls.absent(x)
    lib.impl("absent", lambda x, y=None: x + 1, "CPU")
    assert torch.ops.calls.absent(x).tolist() == [2.0]
    with pytest.raises(NotImplementedError, match="attempted to run this operator with Meta"):
        torch.ops.calls.absent(x.to("meta"))
    with pytest.raises(NotImplementedError, match="attempted to run this operator with Meta"):
        torch.ops.calls.absent(x, x.to("meta"))
    with pytest.raises(RuntimeError, match="device type at start of device string: nowhere"):
        library.impl("calls::absent", "nowhere", lambda x: x)

    lib.define("listed(Tensor[] xs) -> Tensor")
    lib.impl("listed", torch.stack, "CPU")
    with pytest.raises(NotImplementedError, match="There were no tensor arguments to this"):
        torch.ops.calls.listed([])

    @library.custom_op("calls::made", mutates_args=(), device_types="cpu")
    def made(device: torch.device) -> Tensor:
        return torch.ones(1)

    assert made("cpu").tolist() == [1.0]
    with pytest.raises(RuntimeError, match="made does not have a kernel registered for opencl"):
        made("opencl")


def test_meta_without_a_fake_kernel_says_so() -> None:
    @library.custom_op("calls::unfaked", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(RuntimeError, match="no fake impl registered for <CustomOpDef"):
        op(torch.ones(2, device="meta"))

    @op.register_fake
    def _(x: Any) -> Any:
        ctx = library.get_ctx()
        return x.new_empty(ctx.new_dynamic_size())

    with pytest.raises(RuntimeError, match="data-dependent shape"):
        op(torch.ones(2, device="meta"))
    assert library.get_ctx() is None


# -- modes -----------------------------------------------------------------------------------
def test_modes_see_the_op_and_not_its_kernel() -> None:
    op = cubed("watched")
    seen: list[str] = []
    with Log(seen):
        op(torch.ones(1))
    assert seen == ["calls.watched.default"]
    seen.clear()
    with Log(seen):
        torch.vmap(op)(torch.ones(2))
    assert [name for name in seen if name.startswith("calls")] == ["calls.watched.default"]


def test_a_class_answers_for_an_op_and_its_gradients() -> None:
    op = cubed("held")

    class Held(torch.Tensor):
        inner: Any
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, inner: Any, requires_grad: bool = False) -> Any:
            return torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, device=inner.device,
                requires_grad=requires_grad,
            )  # fmt: skip

        def __init__(self, inner: Any, requires_grad: bool = False) -> None:
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
            seen.append(str(func))
            plain = [a.inner if isinstance(a, cls) else a for a in args]
            return cls(func(*plain, **(kwargs or {})))

    seen: list[str] = []
    h = Held(torch.tensor(X), requires_grad=True)
    y: Any = op(h)
    assert type(y) is Held and seen == ["calls.held.default"]
    np.testing.assert_allclose(y.inner.numpy(), X**3)
    (g,) = torch.autograd.grad(y, h, Held(torch.ones(3, dtype=torch.float64)))
    np.testing.assert_allclose(g.inner.numpy(), 3 * X**2)  # type: ignore[attr-defined]
    library.register_torch_dispatch(op, Held, lambda cls, f, types, args, kwargs: args[0].inner)
    assert op(h).tolist() == X.tolist()


def test_autocast_converts_the_arguments_on_its_device_type_alone() -> None:
    seen: list[Any] = []

    @library.custom_op("calls::dtypes", mutates_args=())
    def op(xs: list[Tensor], n: int) -> Tensor:
        seen.append([x.dtype for x in xs])
        return xs[0] @ xs[0].T

    library.register_autocast(op, "cpu", torch.bfloat16)
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        made = op([x, x.double(), x.long()], 1)
        assert (x @ x).dtype is torch.bfloat16
    assert made.dtype is torch.bfloat16 and op([x], 1).dtype is torch.float32
    assert seen[0] == [torch.bfloat16, torch.float64, torch.int64]
    x.requires_grad_()
    op.register_autograd(lambda ctx, g: ([g.sum() * torch.ones(2, 2)], None))
    with torch.autocast("cpu"):
        op([x], 1).sum().backward()
    assert x.grad is not None and x.grad.dtype is torch.float32


def test_profiles_name_the_op() -> None:
    op = cubed("timed")
    with torch.profiler.profile() as p:
        op(torch.ones(1))
    assert "calls::timed" in [e.name for e in p.events()]


def test_ops_of_no_library_are_as_before() -> None:
    assert torch.ops.aten.sin(torch.zeros(1)).tolist() == [0.0]
    with torch.no_grad():
        x = torch.ones(2, requires_grad=True)
        assert x.numpy().tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        x.numpy()
