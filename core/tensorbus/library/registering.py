"""What is registered for an op by its name, by its object, or by what ``custom_op`` made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.dtypes import dtype
from tensorbus._base.warning import warn_user
from tensorbus.library.arguments import bind
from tensorbus.library.calling import run_kernel
from tensorbus.library.custom_ops import DEFINITIONS, CustomOpDef, DeviceTypes, add_autocast
from tensorbus.library.libraries import KeySet, Library, add_fake, impl, library_for, where
from tensorbus.library.operators import (
    AUTOGRAD,
    DEFAULT,
    VMAP,
    Kernel,
    Operator,
    key_of,
    look_up,
    parse_name,
)
from tensorbus.library.recording import Formula, check_formula, recorded
from tensorbus.op_engine.op_objects import OpOverload

Op = str | OpOverload | CustomOpDef
Function = Callable[..., Any]


def _resolved(op: Any, function: str) -> CustomOpDef | str:
    if isinstance(op, CustomOpDef):
        return op
    if not isinstance(op, (str, OpOverload)):
        raise ValueError(f"{function}({op}): got unexpected type for op: {type(op)}")
    name = op if isinstance(op, str) else op.name()
    return DEFINITIONS.get(name, name)


def _operator(name: str) -> Operator:
    found = look_up(name)
    if not isinstance(found, Operator):
        raise NotImplementedError(
            f"{name} is an op of this library: what it does is not registered anew"
        )
    return found


def _refuse_keyword_tensors(op: Operator, function: str) -> None:
    if any(a.kwarg_only and a.type.is_tensor for a in op._schema.arguments):
        raise NotImplementedError(
            f"{function} with kwarg-only Tensor args. In the original definition of the op, please "
            f"make your tensors not kwarg-only. Got: {op._schema}"
        )


def register_kernel(
    op: Op,
    device_types: DeviceTypes,
    func: Function | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel of an op for device types, or for all with None.

    A decorator without *func*.

    >>> import tensorbus as torch
    >>> torch.library.define("example_kernel::one", "(Tensor x) -> Tensor")
    >>> torch.library.register_kernel("example_kernel::one", None, lambda x: x * 0 + 1)
    >>> torch.ops.example_kernel.one(torch.zeros(2))
    tensor([1., 1.])
    """
    found = _resolved(op, "register_kernel")
    if isinstance(found, CustomOpDef):
        return found.register_kernel(device_types, func)
    return impl(found, DEFAULT if device_types is None else device_types, func, lib=lib)


def register_fake(
    op: Op,
    func: Function | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """Register what an op gives for tensors without values, as those of ``device="meta"``.

    *func* takes the op's arguments and returns results of the right shape, dtype and strides. A
    decorator without it.

    >>> import tensorbus as torch
    >>> torch.library.define("example_fake::outer", "(Tensor x, Tensor y) -> Tensor")
    >>> @torch.library.register_fake("example_fake::outer")
    ... def outer(x, y):
    ...     return x.new_empty(x.shape[0], y.shape[0])
    >>> x = torch.ones(2, device="meta")
    >>> torch.ops.example_fake.outer(x, x).shape
    torch.Size([2, 2])
    """
    found = _resolved(op, "register_fake")
    place = where()
    if isinstance(found, CustomOpDef):
        return found.register_fake if func is None else found.register_fake(func)
    name = found

    def register(func: Function) -> Function:
        used = library_for(parse_name(name)[0], lib)
        before = used.kernels(name, "meta")
        if before and not allow_override:
            raise RuntimeError(
                f"register_fake(...): the operator {name} already has a fake impl registered at "
                f"{before[-1].place}."
            )
        add_fake(used, name, func, place)
        return func

    return register if func is None else register(func)


def impl_abstract(qualname: Op, func: Function | None = None, *, lib: Library | None = None) -> Any:
    """``register_fake`` under its older name; deprecated.

    >>> import warnings
    >>> import tensorbus as torch
    >>> torch.library.define("example_abstract::f", "(Tensor x) -> Tensor")
    >>> with warnings.catch_warnings(record=True):
    ...     f = torch.library.impl_abstract("example_abstract::f", lambda x: x.clone())
    >>> torch.ops.example_abstract.f(torch.ones(3, device="meta")).shape
    torch.Size([3])
    """
    warn_user(
        "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use "
        "that instead; we will remove `torch.library.impl_abstract` in a future version of "
        "PyTorch.",
        FutureWarning,
    )
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Op,
    backward: Function,
    /,
    *,
    setup_context: Function | None = None,
    lib: Library | None = None,
) -> None:
    """Register the formula for gradients of an op that only computes new results.

    ``backward(ctx, *grads)`` gives a gradient, or None, for each argument by position, and a list
    of them for a list of tensors. ``setup_context(ctx, inputs, output)`` keeps in *ctx* what it
    needs; it gets ``keyword_only_inputs`` too where the op has such arguments. RuntimeError for ops
    that write to arguments or return views.

    >>> import tensorbus as torch
    >>> torch.library.define("example_grad::twice", "(Tensor x) -> Tensor")
    >>> torch.library.impl("example_grad::twice", "default", lambda x: x * 2)
    >>> torch.library.register_autograd("example_grad::twice", lambda ctx, grad: grad * 2)
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.ops.example_grad.twice(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    found = _resolved(op, "register_autograd")
    if isinstance(found, CustomOpDef):
        found.register_autograd(backward, setup_context=setup_context)
        return
    target = _operator(found)
    check_formula(target, target)
    _refuse_keyword_tensors(target, "register_autograd")
    kernel = recorded(target, Formula(backward, setup_context))
    library_for(target.namespace, lib).add_kernel(target._name, AUTOGRAD, kernel, where())


def register_vmap(op: Op, func: Function | None = None, /, *, lib: Library | None = None) -> Any:
    """Register the rule for an op inside ``vmap``; without one it is called for each element.

    ``func(info, in_dims, *args)`` gets the arguments with the batch, along the dimensions *in_dims*
    (None where a tensor is the same for all), and returns the result and its ``out_dims``.
    ``info`` has ``batch_size`` and ``randomness``. A decorator without *func*.

    >>> import tensorbus as torch
    >>> torch.library.define("example_vmap::total", "(Tensor x) -> Tensor")
    >>> torch.library.impl("example_vmap::total", "default", lambda x: x.sum())
    >>> @torch.library.register_vmap("example_vmap::total")
    ... def total(info, in_dims, x):
    ...     return x.movedim(in_dims[0], 0).flatten(1).sum(1), 0
    >>> torch.vmap(torch.ops.example_vmap.total)(torch.ones(2, 3))
    tensor([3., 3.])
    """
    found = _resolved(op, "register_vmap")
    if isinstance(found, CustomOpDef):
        return found.register_vmap(func)
    target = _operator(found)
    _refuse_keyword_tensors(target, "register_vmap")
    place = where()

    def register(func: Function) -> None:
        library_for(target.namespace, lib).add_kernel(target._name, VMAP, func, place)

    return register if func is None else register(func)


def register_autocast(
    op: Op, device_type: str, cast_inputs: dtype, /, *, lib: Library | None = None
) -> None:
    """Register the dtype in which an op computes under ``autocast`` on a device type.

    Its floating point arguments there, float64 excepted, are converted; inside it autocast is off.

    >>> import tensorbus as torch
    >>> torch.library.define("example_cast::same", "(Tensor x) -> Tensor")
    >>> torch.library.impl("example_cast::same", "default", lambda x: x.clone())
    >>> torch.library.register_autocast("example_cast::same", "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     torch.ops.example_cast.same(torch.ones(2)).dtype
    torch.bfloat16
    """
    found = _resolved(op, "register_autocast")
    if isinstance(found, CustomOpDef):
        found.register_autocast(device_type, cast_inputs)
        return
    target = _operator(found)
    used = library_for(target.namespace, lib)
    add_autocast(used, target, device_type, cast_inputs, where())


def register_torch_dispatch(
    op: Op,
    torch_dispatch_class: Any,
    func: Function | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register what answers for an op instead of ``__torch_dispatch__`` of a class or mode.

    It is called as ``func(mode, op, types, args, kwargs)``; for a class of tensors the class comes
    first. A decorator without *func*.

    >>> import tensorbus as torch
    >>> from tensorbus.utils._python_dispatch import TorchDispatchMode
    >>> class Zeros(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {}))
    >>> torch.library.define("example_rule::same", "(Tensor x) -> Tensor")
    >>> torch.library.impl("example_rule::same", "default", lambda x: x.clone())
    >>> @torch.library.register_torch_dispatch("example_rule::same", Zeros)
    ... def zeros(mode, func, types, args, kwargs):
    ...     return args[0] * 0
    >>> with Zeros():
    ...     torch.ops.example_rule.same(torch.ones(2))
    tensor([0., 0.])
    """
    found = _resolved(op, "register_torch_dispatch")
    if isinstance(found, CustomOpDef):
        return found.register_torch_dispatch(torch_dispatch_class, func)
    name = found

    def register(func: Function) -> Function:
        library_for(parse_name(name)[0], lib).add_rule(name, torch_dispatch_class, func)
        return func

    return register if func is None else register(func)


class SafeKernelFunction:
    """What ``get_kernel`` finds: call it, or ``call_boxed`` with a key set first, to run it."""

    def __init__(self, function: Function, place: str):
        self._function = function
        self._place = place

    def call_boxed(self, keyset: KeySet, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='{self._place}')"


def get_kernel(op: str | OpOverload, dispatch_key: str) -> SafeKernelFunction:
    """What an op runs for a key now, such as ``"CPU"``; it stays that when another comes.

    RuntimeError for an op that does not exist or has no such kernel, ValueError for other keys.

    >>> import tensorbus as torch
    >>> kernel = torch.library.get_kernel("aten::sin", "CPU")
    >>> kernel.call_boxed(None, torch.zeros(2))
    tensor([0., 0.])
    """
    if not isinstance(op, (str, OpOverload)):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    try:
        key = key_of(dispatch_key, device=False)
    except RuntimeError:
        raise ValueError(f"Invalid dispatch key: {dispatch_key}") from None
    name = op if isinstance(op, str) else op.name()
    try:
        found = look_up(name)
    except AttributeError:
        raise RuntimeError(f"operator {name} does not exist") from None
    if not isinstance(found, Operator):
        return SafeKernelFunction(found, f"the op {name} of this library")
    kernel = found.registered.find(key) or found.registered.find(DEFAULT)
    if kernel is None:
        raise RuntimeError(f"operator {name} has no kernel for {dispatch_key}")
    return SafeKernelFunction(_bound(found, kernel), f"registered at {kernel.place}")


def _bound(op: Operator, kernel: Kernel) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        return run_kernel(op, bind(op._schema, args, kwargs), kernel)

    return run
