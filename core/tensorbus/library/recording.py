"""The formula for gradients that ``register_autograd`` gives an op, as an ``autograd.Function``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.modes import this_thread
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.api import grad
from tensorbus.autograd.function import Function
from tensorbus.autograd.function_node import counted
from tensorbus.autograd.grad_mode import enable_grad, is_grad_enabled
from tensorbus.library.arguments import Values, split, tensors_of
from tensorbus.library.calling import below_autograd, refuse_history
from tensorbus.library.operators import Operator
from tensorbus.library.tags import Tag
from tensorbus.op_engine.batches import deepest, in_current_batches


class Formula:
    """What was registered for an op."""

    def __init__(
        self,
        backward: Callable[..., Any] | None = None,
        setup_context: Callable[..., Any] | None = None,
    ):
        self.backward = backward
        self.setup_context = setup_context


def check_formula(op: Operator, shown: Any) -> None:
    """RuntimeError for an op that can have no formula; *shown* is what its error names."""
    if Tag.out in op.tags:
        raise RuntimeError(
            "Cannot register autograd formula for operator tagged with torch.Tag.out: "
            f"{shown}. Out variants do not support autograd."
        )
    if not op._schema.is_functional:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema "
            f"{op._schema}. Please create a functional operator and register an autograd formula "
            "for that."
        )


def recorded(op: Operator, formula: Formula) -> Callable[..., Any]:
    """The kernel for Autograd of an op with a formula, or with one that will come."""
    name = f"GeneratedBackwardFor_{op.namespace}_{op._opname}_{op._overloadname}"
    function = type(name, (_Generated,), {"op": op, "formula": formula})

    def run(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if Tag.out in op.tags:
            if is_grad_enabled() and any(t.requires_grad for t in tensors_of(values)):
                raise RuntimeError(
                    f"{op._opname}(): functions with out=... arguments don't support automatic "
                    "differentiation, but one of the arguments requires grad."
                )
            return below_autograd(op, values)
        tensors = tensors_of(args)
        followed = any(hasattr(h, "apply_function") for h in this_thread.handlers)
        if not followed and not (is_grad_enabled() and any(t.requires_grad for t in tensors)):
            return below_autograd(op, values)
        if formula.backward is None and deepest(tensors) is not None:
            return below_autograd(op, values)  # the rule for vmap may be made of other ops
        return function.record(values)  # type: ignore[attr-defined]

    return run


def _flat(values: Any) -> tuple[list[Any], list[int | None]]:
    """The values with the tensors of lists among them, and the length of each such list."""
    flat: list[Any] = []
    lengths: list[int | None] = []
    for value in values:
        listed = type(value) is list and any(isinstance(t, Tensor) for t in value)
        flat += value if listed else [value]
        lengths.append(len(value) if listed else None)
    return flat, lengths


def _nested(flat: Any, lengths: list[int | None]) -> tuple[Any, ...]:
    """What ``_flat`` was given."""
    rest = iter(flat)
    return tuple(next(rest) if n is None else [next(rest) for _ in range(n)] for n in lengths)


class _Form:
    """How the arguments and results of one call are nested."""

    def __init__(self, lengths: list[int | None]):
        self.inputs = lengths
        self.outputs: list[int | None] = []
        self.several = False


class _Generated(Function):
    op: Operator
    formula: Formula

    @classmethod
    def record(cls, values: Values) -> Any:
        """Call the op and make its node."""
        flat, lengths = _flat(values)
        form = _Form(lengths)
        made = cls.apply(cls, form, *flat)
        written = [v for a, v in zip(cls.op._schema.arguments, values, strict=True) if a.is_write]
        refuse_history(cls.op, written)
        results = _nested(made, form.outputs)
        return results if form.several else results[0] if results else None

    @staticmethod
    def forward(ctx: Any, cls: Any, form: _Form, *flat: Any) -> Any:
        ctx.cls, ctx.form = cls, form
        values = _nested(flat, form.inputs)
        made = below_autograd(cls.op, values)
        if cls.formula.setup_context is not None:
            args, kwargs = split(cls.op._schema, values)
            given: dict[str, Any] = {"ctx": ctx, "inputs": args, "output": made}
            if any(a.kwarg_only for a in cls.op._schema.arguments):
                given["keyword_only_inputs"] = kwargs
            cls.formula.setup_context(**given)
        form.several = isinstance(made, tuple)
        results, form.outputs = _flat(made if form.several else (made,))
        ctx.results = [(t._k, t._s) if isinstance(t, Tensor) else None for t in results]
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, None, *_gradients(ctx, grads))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Tangents by the formula: it is linear in the gradient, so its transpose is the result."""
        with enable_grad():
            seeds = [
                in_current_batches(from_array(r[0].zeros(tuple(r[1])), r[0])).requires_grad_()
                if r is not None and r[0].differentiable
                else None
                for r in ctx.results
            ]
            needed = ctx.needs_input_grad
            ctx.needs_input_grad = tuple(t is not None for t in tangents)
            try:
                found = _gradients(ctx, seeds)
            finally:
                ctx.needs_input_grad = needed
            pairs = [
                (g, t) for g, t in zip(found, tangents[2:], strict=True)
                if isinstance(g, Tensor) and g.requires_grad and t is not None
            ]  # fmt: skip
        leaves = [s for s in seeds if s is not None]
        made = iter(
            grad([g for g, _ in pairs], leaves, [t for _, t in pairs], allow_unused=True)
            if pairs and leaves
            else [None] * len(leaves)
        )
        return tuple(None if s is None else next(made) for s in seeds)


def _gradients(ctx: Any, grads: Any) -> list[Any]:
    """What the formula gives for each tensor of the arguments."""
    cls, form = ctx.cls, ctx.form
    op = cls.op
    if cls.formula.backward is None:
        raise RuntimeError(
            f"Trying to backward through {op} but no autograd formula was registered. Please use "
            "register_autograd to add one."
        )
    positional = sum(not a.kwarg_only for a in op._schema.arguments)
    needed = ctx.needs_input_grad
    try:
        ctx.needs_input_grad = _nested(needed[2:], form.inputs)[:positional]
        made = cls.formula.backward(ctx, *_nested(grads, form.outputs))
    finally:
        ctx.needs_input_grad = needed
    made = counted(made, positional, f"{cls.__name__}Backward")
    flat: list[Any] = []
    for g, n in zip((*made, *[None] * (len(form.inputs) - positional)), form.inputs, strict=True):
        if n is None:
            flat.append(g)
        elif g is None:
            flat += [None] * n
        elif isinstance(g, (list, tuple)) and len(g) == n:
            flat += g
        else:
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs: a "
                f"list of {n} gradients (or None) for a list of {n} tensors"
            )
    return flat
