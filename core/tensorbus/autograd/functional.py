"""Products with Jacobians and Hessians of functions, and these matrices whole.

>>> import tensorbus
>>> from tensorbus.autograd.functional import jacobian
>>> jacobian(lambda x: x**2, tensorbus.tensor([1.0, 2.0]))
tensor([[2., 0.],
        [0., 4.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd import api
from tensorbus.autograd.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from tensorbus.autograd.strict_mode import (
    STRICT,
    Tensors,
    check_strategy,
    constant_gradient,
    constant_output,
    constant_slope,
    filled,
    no_curvature,
    no_gradient,
    no_tangent,
    own,
    require,
    single,
    tuple_of,
    vector,
)
from tensorbus.ops.creation.factories import zeros_like
from tensorbus.ops.joining.joining import stack

Strategy = Literal["reverse-mode", "forward-mode"]

_OUTPUTS = "outputs of the user-provided function"


def vjp(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """``func(*inputs)``, and the product of *v* with its Jacobian.

    *v* has the shapes of the outputs, the product those of *inputs*. *v* may be left out where
    there is one output of one element. With *create_graph* both results can be differentiated.
    Inputs that do not matter have zeros, with *strict* a RuntimeError.

    >>> import tensorbus
    >>> from tensorbus.autograd.functional import vjp
    >>> x = tensorbus.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> vjp(lambda x: (x * x).sum(1), x, tensorbus.tensor([1.0, 10.0]))
    (tensor([ 5., 25.]), tensor([[ 2.,  4.],
            [60., 80.]]))

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.vjp.html
    """
    with enable_grad():
        point = _Point("vjp", func, inputs, create_graph, strict)
        if v is not None:
            v = vector(v, point.outputs, point.several_out, "vjp", create_graph)
        elif len(point.outputs) != 1 or point.outputs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single "
                "Tensor with a single element."
            )
    return point.product(point.outputs, point.inputs, v, no_gradient)


def jvp(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """``func(*inputs)``, and the product of its Jacobian with *v*.

    *v* has the shapes of *inputs*, the product those of the outputs. *v* may be left out where
    there is one input of one element. It is computed by two backward passes: the first is linear
    in the gradient that it is given, the second differentiates with respect to that.

    >>> import tensorbus
    >>> from tensorbus.autograd.functional import jvp
    >>> x = tensorbus.tensor([1.0, 2.0, 3.0])
    >>> jvp(lambda x: x**2, x, tensorbus.tensor([1.0, 0.0, 10.0]))
    (tensor([1., 4., 9.]), tensor([ 2.,  0., 60.]))

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.jvp.html
    """
    with enable_grad():
        point = _Point("jvp", func, inputs, create_graph, strict, v)
        seeds, back = _linear(point.outputs, point.inputs, point.outputs)
        require(back, strict, no_gradient, constant_gradient)
    return point.product(back, seeds, point.v, no_tangent, as_outputs=True)


def vhp(
    func: Callable[..., Tensor],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """``func(*inputs)``, and the product of *v* with the function's Hessian.

    The function returns one tensor of one element; *v* and the product have the shapes of *inputs*.

    >>> import tensorbus
    >>> from tensorbus.autograd.functional import vhp
    >>> x = tensorbus.tensor([1.0, 2.0])
    >>> vhp(lambda x: (x**3).sum(), x, tensorbus.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.vhp.html
    """
    with enable_grad():
        point = _Point("vhp", func, inputs, create_graph, strict, v)
        slopes = _slopes(point)
    return point.product(slopes, point.inputs, point.v, no_curvature)


def hvp(
    func: Callable[..., Tensor],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """``func(*inputs)``, and the product of the function's Hessian with *v*.

    The function returns one tensor of one element; *v* and the product have the shapes of *inputs*.
    ``vhp`` gives the same where the Hessian is symmetric, and is faster.

    >>> import tensorbus
    >>> from tensorbus.autograd.functional import hvp
    >>> x = tensorbus.tensor([1.0, 2.0])
    >>> hvp(lambda x: x[0] ** 2 * x[1], x, tensorbus.tensor([1.0, 0.0]))
    (tensor(2.), tensor([4., 2.]))

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.hvp.html
    """
    with enable_grad():
        point = _Point("hvp", func, inputs, create_graph, strict, v)
        seeds, back = _linear(_slopes(point), point.inputs, point.inputs)
    return point.product(back, seeds, point.v, no_tangent)


def jacobian(
    func: Callable[..., Tensors],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: Strategy = "reverse-mode",
) -> Any:
    """The derivatives of each element of ``func(*inputs)`` with respect to each of the inputs.

    The shape is that of the output followed by that of the input; a tuple of outputs or inputs
    gives a tuple, both a tuple of tuples. Rows (in ``"forward-mode"`` columns, which PyTorch takes
    with *vectorize* alone) are computed one by one; *vectorize* changes no result.

    >>> import tensorbus
    >>> from tensorbus.autograd.functional import jacobian
    >>> jacobian(lambda x, y: x * y, (tensorbus.tensor([1.0, 2.0]), tensorbus.tensor(3.0)))
    (tensor([[3., 0.],
            [0., 3.]]), tensor([1., 2.]))

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html
    """
    check_strategy(strategy, create_graph, strict, vectorize)
    with enable_grad():
        point = _Point("jacobian", func, inputs, create_graph, strict)
        if strict and vectorize:
            raise RuntimeError(
                "jacobian: strict=True and vectorize=True are not supported together; set "
                "strict=False."
            )
        if strategy == "forward-mode":
            found = _columns(point)
        else:
            found = [_rows(point, i, out) for i, out in enumerate(point.outputs)]
    if not create_graph:
        found = [[t.detach() for t in row] for row in found]
    rows = tuple(tuple(row) if point.several_in else row[0] for row in found)
    return rows if point.several_out else rows[0]


def hessian(
    func: Callable[..., Tensor],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: Strategy = "reverse-mode",
) -> Any:
    """The second derivatives of a function that returns one tensor of one element.

    The shape is that of the input twice; a tuple of inputs gives a tuple of tuples.

    >>> import tensorbus
    >>> from tensorbus.autograd.functional import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1], tensorbus.tensor([1.0, 2.0]))
    tensor([[4., 2.],
            [2., 0.]])

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.hessian.html
    """
    several, _ = tuple_of(inputs, "inputs", "hessian")

    def value(*given: Tensor) -> Tensor:
        out = func(*given)
        several_out, outputs = tuple_of(out, _OUTPUTS, "hessian")
        require(outputs, strict, None, constant_output)
        return single(outputs, several_out, "hessian").squeeze()

    def slopes(*given: Tensor) -> Tensors:
        if outer_jacobian_strategy == "forward-mode":
            given = tuple(t.requires_grad_() for t in given)
        found: tuple[Tensor, ...] = jacobian(value, given, create_graph=True)
        require(found, strict, None, constant_slope)
        return found

    found = jacobian(slopes, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if several else found[0]


class _Point:
    """A function's outputs at inputs of its own, to which gradients flow.

    The inputs are always new tensors: a function may use the user's tensor besides.
    """

    def __init__(
        self,
        name: str,
        func: Callable[..., Tensors],
        inputs: Tensors,
        create_graph: bool,
        strict: bool,
        v: Tensors | Literal[False] | None = False,
    ) -> None:
        self.name, self.create_graph, self.strict = name, create_graph, strict
        self.several_in, given = tuple_of(inputs, "inputs", name)
        self.inputs = own(given, create_graph, True)
        self.v: tuple[Tensor, ...] | None = None
        if v is None and (len(given) != 1 or given[0].numel() != 1):
            raise RuntimeError(
                "The vector v can only be None if the input to the user-provided function is a "
                "single Tensor with a single element."
            )
        if v is not None and v is not False:
            self.v = vector(v, self.inputs, self.several_in, name, create_graph)
        self.several_out, self.outputs = tuple_of(func(*self.inputs), _OUTPUTS, name)
        require(self.outputs, strict, None, constant_output)

    def product(
        self,
        of: Sequence[Tensor | None],
        by: tuple[Tensor, ...],
        v: Sequence[Tensor] | None,
        absent: Callable[[int], str],
        as_outputs: bool = False,
    ) -> tuple[Tensors, Tensors]:
        """The outputs, and *v* times the derivatives of one part by another, zeros for None.

        The product has the shapes of *by*: those of the inputs, or of the outputs.
        """
        create_graph, strict = self.create_graph, self.strict
        with set_grad_enabled(create_graph or is_grad_enabled()):
            found = _grad(of, by, v, create_graph)
            product = filled(found, by, create_graph and strict, strict, absent)
        outputs = tuple(self.outputs)
        if not create_graph:
            outputs, product = (tuple(t.detach() for t in part) for part in (outputs, product))
        several = self.several_out if as_outputs else self.several_in
        return outputs if self.several_out else outputs[0], product if several else product[0]


def _slopes(point: _Point) -> tuple[Tensor | None, ...]:
    """The gradient of a function of one element, recorded."""
    single(point.outputs, point.several_out, point.name)
    found = _grad(point.outputs, point.inputs, None, True)
    require(found, point.strict, no_gradient, constant_slope)
    return found


def _linear(
    outputs: Sequence[Tensor | None], inputs: tuple[Tensor, ...], shaped: Sequence[Tensor]
) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """Gradients for *outputs*, which have the shapes of *shaped*, and those of *inputs* by them.

    The second are linear in the first: their derivatives by them are the Jacobian, transposed.
    """
    seeds = tuple(zeros_like(t, requires_grad=True) for t in shaped)
    return seeds, _grad(outputs, inputs, seeds, True)


def _grad(
    outputs: Sequence[Tensor | None],
    inputs: tuple[Tensor, ...],
    v: Sequence[Tensor] | None,
    create_graph: bool,
    keep: bool | None = None,
) -> tuple[Tensor | None, ...]:
    """Gradients of those outputs that record; None for inputs that do not matter."""
    wanted: Sequence[Tensor | None] = [None] * len(outputs) if v is None else v
    given = zip(outputs, wanted, strict=True)
    pairs = [(t, g) for t, g in given if t is not None and t.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    of, by = zip(*pairs, strict=True)
    return api.grad(of, inputs, by, keep, create_graph, allow_unused=True)


def _rows(point: _Point, number: int, out: Tensor) -> list[Tensor]:
    """The derivatives of one output."""
    create_graph, strict = point.create_graph, point.strict
    rows: list[tuple[Tensor, ...]] = []
    for element in out.reshape(-1).unbind():
        found = _grad((element,), point.inputs, None, create_graph, True)
        if strict and None in found:
            raise RuntimeError(
                f"Output {number} of the user-provided function is independent of input "
                f"{found.index(None)}. {STRICT}."
            )
        rows.append(filled(found, point.inputs, create_graph and strict, strict, no_gradient))
    shape = tuple(out.shape)
    return [
        (stack(each) if each else t.new_zeros((0, *t.shape))).view(*shape, *t.shape)
        for t, each in zip(
            point.inputs, zip(*rows, strict=True) if rows else [()] * len(point.inputs), strict=True
        )
    ]


def _columns(point: _Point) -> list[list[Tensor]]:
    """The derivatives with respect to one element of an input after the other."""
    seeds, back = _linear(point.outputs, point.inputs, point.outputs)
    found: list[list[Tensor]] = [[] for _ in point.outputs]
    for i, t in enumerate(point.inputs):
        columns: list[tuple[Tensor, ...]] = []
        for j in range(t.numel()):
            tangent = zeros_like(t).reshape(-1)
            tangent[j] = 1.0
            step = _grad((back[i],), seeds, (tangent.view(t.shape),), False, True)
            columns.append(filled(step, point.outputs, False, False, no_tangent))
        for row, out, at in zip(found, point.outputs, range(len(point.outputs)), strict=True):
            each = [c[at].reshape(-1) for c in columns]
            whole = stack(each, 1) if each else out.new_zeros((out.numel(), 0))
            row.append(whole.reshape(*out.shape, *t.shape))
    return found


__getattr__ = _attributes(__name__)
__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
show_pages(__name__, [(name, globals()[name]) for name in __all__])
