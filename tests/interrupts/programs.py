"""Programs to interrupt: what each leaves in the library must be what was there before."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import tensorbus as torch
from tensorbus import nn
from tensorbus.nn import functional as F
from tensorbus.op_engine.row_handlers import handling
from tensorbus.utils._python_dispatch import TorchDispatchMode
from tensorbus.utils._pytree import tree_map
from tensorbus.utils.checkpoint import (
    checkpoint,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

PROGRAMS: dict[str, Callable[[], None]] = {}
LONG = ("profiles", "several_directions", "wrappers")
"""Those for the slow lane alone."""
LONG = ("profiles", "several_directions", "wrappers")
"""Those for the slow lane alone."""


def program(f: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[f.__name__] = f
    return f


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 + x * 0


class Marked(torch.Tensor):
    pass


@program
def perceptron() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loss = F.cross_entropy(net(torch.ones(2, 3)), torch.tensor([0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@program
def profiled() -> None:
    w = torch.ones(3, requires_grad=True)
    with torch.profiler.profile(), torch.profiler.record_function("block"):
        (w * w).sum().backward()


@program
def mixed_precision() -> None:
    w = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.mse_loss(w @ w, torch.zeros(2, 2))
        with torch.autocast("cpu", enabled=False):
            w @ w
    loss.backward()


@program
def adam() -> None:
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.Adam([w])
    (w * w).sum().backward()
    optimizer.step()


@program
def convolution() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(0.5))
    net(torch.ones(1, 1, 5, 5)).square().mean().backward()


@program
def hooks() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g + 1)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y.sum().backward()


@program
def function() -> None:
    x = torch.ones(2, requires_grad=True)
    Doubled.apply(x).sum().backward()


@program
def second_order() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    g.sum().backward()


@program
def modes() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            y = x * 2
            with torch.inference_mode():
                y = x + y
                with torch.inference_mode(False):
                    y = x * 2
    torch.no_grad()(lambda: x * 2)()
    again = torch.no_grad()
    with again, again:
        y = x * 2


@program
def row_handlers() -> None:
    x = torch.ones(2, requires_grad=True)
    with handling(_passed), handling(_passed):
        y = (x * 2).sum()
        y.backward()


def _passed(row: Any, arguments: Any, proceed: Any) -> Any:
    return proceed(row, arguments)


@program
def function_modes() -> None:
    x = torch.ones(2)
    with torch.overrides.BaseTorchFunctionMode(), Nested():
        torch.exp(x + 1)
        with torch._C.DisableTorchFunction():
            x + 1


class Nested(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch.overrides.BaseTorchFunctionMode():
            return func(*args, **(kwargs or {}))


@program
def saved_tensors() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = x * x
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            y = y.exp()
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            (x * x).sum().backward()
    with torch.autograd.graph.disable_saved_tensors_hooks("none"):
        y = y * x
    handle = torch.autograd.graph.register_multi_grad_hook([x, y], lambda grads: None)
    y.sum().backward()
    handle.remove()


@program
def checkpoints() -> None:
    x = torch.ones(2, requires_grad=True)
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    for reentrant in (True, False):
        checkpoint(net, x, use_reentrant=reentrant).sum().backward()
    with set_checkpoint_early_stop(False), set_checkpoint_debug_enabled(True):
        checkpoint(net, x, use_reentrant=False).sum().backward()


@program
def anomalies() -> None:
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(), torch.autograd.set_detect_anomaly(True, False):
            (x * x).sum().backward()


@program
def devices() -> None:
    with torch.device("cpu"):
        torch.ones(2)


@program
def in_place() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    y[1:3].mul_(2)
    y.add_(x)
    y.sum().backward()


@program
def subclass() -> None:
    x = torch.ones(2).as_subclass(Marked)
    (x + x).mul(3).sum()


@program
def clipping() -> None:
    net = nn.Linear(2, 2)
    net(torch.ones(1, 2)).sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    copy.deepcopy(net)


@program
def data() -> None:
    numbers = torch.utils.data.TensorDataset(torch.arange(6.0))
    for (batch,) in torch.utils.data.DataLoader(numbers, batch_size=2, shuffle=True):
        batch + 1


@program
def batches() -> None:
    x = torch.ones(2, 3)
    torch.vmap(torch.vmap(lambda row: row * 2 + torch.rand(()), randomness="same"),
               randomness="different")(x)  # fmt: skip
    torch.vmap(torch.func.grad(lambda row: (row * row).sum()))(x)


@program
def forward_mode() -> None:
    x = torch.ones(2)
    torch.func.jvp(torch.exp, (x,), (x,))
    torch.func.hessian(lambda t: (t**3).sum())(x)
    with torch.autograd.forward_ad.dual_level():
        y = torch.autograd.forward_ad.make_dual(x, x).exp()
        torch.autograd.forward_ad.unpack_dual(y)


@program
def transforms() -> None:
    x = torch.ones(2)
    value, pull = torch.func.vjp(torch.sin, x)
    pull(value)
    torch.func.grad_and_value(lambda t: (t * t).sum())(x)
    torch.func.jacrev(torch.exp)(x)


@program
def dispatch_modes() -> None:
    x = torch.ones(2, requires_grad=True)
    with Seen(), Seen():
        (x * 2).sum().backward()


class Seen(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@program
def profiles() -> None:
    net, x = nn.Linear(2, 2), torch.ones(1, 2)
    cycle = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
    with torch.profiler.profile(
        schedule=cycle, with_modules=True, on_trace_ready=torch.profiler.profile.key_averages
    ) as p:
        for _ in range(2):
            net(x)
            p.step()
    with torch.autograd.profiler.profile(profile_memory=True, with_stack=True):
        net(x).sum().backward()


@program
def wrappers() -> None:
    x = Wrapped(torch.ones(2), True)
    (x * x).sum().backward()


class Wrapped(torch.Tensor):
    inner: Any

    @staticmethod
    def __new__(cls, inner: Any, requires_grad: bool = False) -> Any:
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), dtype=inner.dtype, device=inner.device, requires_grad=requires_grad
        )

    def __init__(self, inner: Any, requires_grad: bool = False) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = tree_map(lambda v: v.inner if isinstance(v, Wrapped) else v,
                                (args, kwargs or {}))  # fmt: skip
        return tree_map(
            lambda v: Wrapped(v) if isinstance(v, torch.Tensor) else v, func(*args, **kwargs)
        )


@torch.library.custom_op("interrupted::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


double.register_kernel("cpu")(lambda x: x + x)
double.register_fake(torch.empty_like)
double.register_autograd(lambda ctx, g: g * 2)
double.register_vmap(lambda info, in_dims, x: (double(x), in_dims[0]))
double.register_vmap(lambda info, in_dims, x: (double(x), in_dims[0]))


@program
def library_ops() -> None:
    double(torch.ones(2, requires_grad=True)).sum().backward()
    torch.vmap(double)(torch.ones(2, 2))
    double(torch.ones(2, device="meta"))
    with double.set_kernel_enabled("cpu", False), torch.autocast("cpu"):
        double(torch.ones(2))


@program
def several_directions() -> None:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad(x * x, x, torch.eye(2), is_grads_batched=True)
    torch.func.jacfwd(torch.exp)(torch.ones(2))
    torch.func.linearize(torch.sin, torch.ones(2))[1](torch.ones(2))
    torch.autograd.functional.jacobian(torch.exp, torch.ones(2), vectorize=True)
