"""Kernels that programs write in the language of a device, launched on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tensorbus import discovery
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import canonical, kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.autograd.saved_mutation import increment_version
from tensorbus.library.signatures import Parameter, parameters


class CompiledKernel:
    """What ``compile_kernel`` returns: called with the kernel's arguments, it queues a launch."""

    def __init__(
        self, name: str, device: Device, signature: list[Parameter], launch: Callable[..., None]
    ):
        self.name = name
        self.device = device
        self._signature = signature
        self._launch = launch

    def __repr__(self) -> str:
        listed = ", ".join(parameter.text for parameter in self._signature)
        return f"<kernel {self.name}({listed}) on {self.device}>"

    def __call__(
        self,
        *arguments: Any,
        threads: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
    ) -> None:
        if len(arguments) != len(self._signature):
            raise TypeError(
                f"{self.name} takes {len(self._signature)} arguments, but {len(arguments)} were "
                f"given: {self!r}"
            )
        passed = [self._passed(p, x) for p, x in zip(self._signature, arguments, strict=True)]
        size, together = _extents(threads, "threads"), _extents(group, "group")
        if together and len(together) != len(size):
            raise ValueError(
                f"threads has {len(size)} dimensions and group {len(together)}: they have as many"
            )
        if 0 in together:
            raise ValueError("a group of no threads can't run: its sizes are 1 or more")
        if 0 in size:
            return
        self._launch(size, together, *passed)
        for p, x in zip(self._signature, arguments, strict=True):
            if p.written:
                increment_version(x)

    def _passed(self, p: Parameter, value: Any) -> Any:
        """What the backend gets for an argument: an array, or a number of the parameter's type."""
        if p.pointer:
            return self._array(p, value)
        assert p.type is not None
        if isinstance(value, Tensor):
            raise TypeError(
                f"{self.name}: '{p.text}' takes a Python number, not a tensor: pass {p.name}.item()"
            )
        try:
            return p.type.type(float(value) if p.type.kind == "f" else operator.index(value))
        except OverflowError:
            raise OverflowError(f"{self.name}: '{p.text}' has no number {value}") from None
        except (TypeError, ValueError):
            raise TypeError(f"{self.name}: '{p.text}' can't be {value!r}") from None

    def _array(self, p: Parameter, value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise TypeError(f"{self.name}: '{p.text}' takes a tensor, not {type(value).__name__}")
        k = value._k
        if k.device != self.device:
            raise RuntimeError(
                f"{self.name}: the tensor for '{p.text}' is on device {k.device}, but the kernel "
                f"was compiled for {self.device}"
            )
        if k is not kind_of(k.device, k.dtype):
            raise RuntimeError(
                f"{self.name}: the tensor for '{p.text}' has no memory of its own, such as a "
                "sparse one or one inside vmap"
            )
        if not p.takes(k.dtype.name):
            raise TypeError(
                f"{self.name}: '{p.text}' points to {p.type}, but the tensor is of {k.dtype}: "
                "convert it with .to(dtype)"
            )
        if value.requires_grad and is_grad_enabled():
            raise RuntimeError(
                f"{self.name}: the tensor for '{p.text}' requires grad, and a kernel records no "
                "gradient: launch it in the forward method of an autograd.Function, or under "
                "torch.no_grad()"
            )
        return value._a


def _extents(given: int | Sequence[int] | None, what: str) -> tuple[int, ...]:
    sizes = () if given is None else (given,) if isinstance(given, int) else tuple(given)
    if len(sizes) > 3 or not all(isinstance(n, int) and n >= 0 for n in sizes):
        raise ValueError(f"{what} is a number, or up to three of them, not {given!r}")
    return sizes


def compile_kernel(source: str, name: str, device: Any) -> CompiledKernel:
    """A kernel that the program wrote in the language of a device: OpenCL C, CUDA C++, C.

    *source* is its text, in which ``void name(...)`` has the parameters written out: pointers take
    tensors of their type, numbers Python numbers. A pointer that is not ``const`` counts as written
    to. It is compiled at once; RuntimeError with the compiler's message where that fails.

    ``kernel(*arguments, threads=n, group=None)`` queues it in the current stream. *threads* is how
    many run, a number or one for each of up to three dimensions, *group* how many of them together;
    where *group* does not divide them, more run. On a device whose language is C the function is
    called once, without *threads*. A tensor is passed as the address of its first element: strides
    are the kernel's to know. Nothing is recorded for gradients: put it into an
    ``autograd.Function``.

    >>> import tensorbus as torch
    >>> source = "void scale(float *x, float by, int n) { while (n--) x[n] *= by; }"
    >>> scale = torch.library.compile_kernel(source, "scale", "cpu")  # needs a C compiler
    >>> x = torch.tensor([1.0, 2.0])
    >>> scale(x, 3.0, len(x))
    >>> x
    tensor([3., 6.])
    """
    place = canonical(Device(device))
    build = discovery.offered(discovery.backend(place.type), "compile_source")
    signature = parameters(source, name)
    launch = None
    if build is not None:
        try:
            launch = build(source, name, place.index or 0)
        except Exception as error:
            raise RuntimeError(
                f"the kernel {name!r} could not be compiled for device {place}:\n{error}"
            ) from error
    if launch is None:
        raise NotImplementedError(
            f"device {place} takes no source: its backend has no compile_source"
        )
    return CompiledKernel(name, place, signature, launch)
