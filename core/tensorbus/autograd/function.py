"""Functions with a derivative of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.errors import freed_error
from tensorbus._tensor.tensor import PERMUTED, Tensor, bump, from_array, new, version_of, wrap_like
from tensorbus.autograd.grad_mode import is_grad_enabled, no_grad
from tensorbus.autograd.node import AccumulateGrad, Node, next_sequence, stale
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.in_place import check_leaf, rebase


class FunctionCtx:
    """What ``forward`` leaves for ``backward``; attributes of the user's own are welcome."""

    def __init__(self) -> None:
        self.to_save: tuple[Any, ...] = ()
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self.dirty_tensors: tuple[Tensor, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self._saved: list[Any] | None = []
        self._node: Any = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs; backward finds them in ``saved_tensors``."""
        self.to_save = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Tell which inputs ``forward`` changed in place."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Tell which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients reach ``backward`` as zeros (the default) or as None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was saved; RuntimeError after the graph was freed or a value was changed."""
        if self._saved is None:
            raise freed_error()
        return tuple(entry() for entry in self._saved)


def _keep_input(t: Tensor | None) -> Callable[[], Tensor | None]:
    if t is None:
        return lambda: None
    then = version_of(t)

    def read() -> Tensor:
        if version_of(t) != then:
            raise stale(t, then)
        return t

    return read


def _keep_output(t: Tensor, node: Any) -> Callable[[], Tensor]:
    """An output is kept as array and cell, not as the tensor, which holds the node."""
    if t._c is None:
        t._c = [0]
    array, kind, size, cell, then, plain = t._a, t._k, t._s, t._c, t._c[0], t._b is None

    def read() -> Tensor:
        made = new(Tensor)
        made._a, made._k, made._s, made._c = array, kind, size, cell
        made._e = node()
        made._b = None if plain else PERMUTED
        if cell[0] != then:
            raise stale(made, then)
        return made

    return read


class _Gradients(dict[int, Any]):
    """The gradients of several outputs on their way to one node."""

    def __add__(self, other: Any) -> _Gradients:
        return _Gradients({**self, **other})


class _Gathering:
    """Stands for a kind where gradients of several outputs meet."""

    @staticmethod
    def add(a: _Gradients, b: _Gradients) -> _Gradients:
        return a + b


class FunctionNode(Node):
    """The node of a ``Function``: its backward is the user's."""

    __slots__ = ("_edges", "ctx", "function", "outputs", "title")
    op = "function"
    _edges: tuple[Any, ...]
    ctx: FunctionCtx
    function: type[Function]
    outputs: list[tuple[Any, Any]]
    title: str

    def edges(self) -> tuple[Any, ...]:
        return self._edges

    def name(self) -> str:
        return self.title

    def _arrive(self, g: Any, create_graph: bool) -> list[Tensor | None]:
        given = g if isinstance(g, _Gradients) else {0: g}
        arrived: list[Tensor | None] = []
        for i, (kind, size) in enumerate(self.outputs):
            if i in given:
                value = given[i]
                if not create_graph:
                    value = kind.as_array(value) if not value.shape else value
                    value = wrap_like(value, kind, None)
                arrived.append(value)
            elif self.ctx.materialize_grads:
                arrived.append(from_array(kind.zeros(tuple(size)), kind))
            else:
                arrived.append(None)
        return arrived

    def _call(self, g: Any, create_graph: bool) -> tuple[Any, ...]:
        made = self.function.backward(self.ctx, *self._arrive(g, create_graph))
        made = made if isinstance(made, tuple) else (made,)
        n = len(self._edges)
        if len(made) > n and all(x is None for x in made[n:]):
            made = made[:n]
        if len(made) != n:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {n}, "
                f"got {len(made)})"
            )
        pairs: list[Any] = []
        for edge, value in zip(self._edges, made, strict=True):
            if edge is None or value is None:
                pairs += (None, None)
                continue
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"expected Variable or None (got {type(value).__name__}) as a gradient from "
                    f"{self.name()}"
                )
            pairs += (edge, value if create_graph else value._a)
        return tuple(pairs)

    def run(self, g: Any) -> tuple[Any, ...]:
        return self._call(g, False)

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self._call(g, True)

    def release(self) -> None:
        self.ctx._saved = None


class _Output(Node):
    """One of several outputs: hands its gradient on to the function's node."""

    __slots__ = ("e0", "place")
    arity = 1
    op = "function"
    e0: Any
    place: int

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, _Gradients({self.place: g})

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self.run(g)

    def name(self) -> str:
        return self.e0.name()


class Function:
    """An operation with a derivative of the user's own: subclass it, call ``apply``.

    ``forward(ctx, *args)`` computes; ``backward(ctx, *grads)`` gives a gradient, or None, for each
    argument. Backward may be differentiated again when it is written with tensor operations.

    >>> import tensorbus as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * g
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)

    Source: https://pytorch.org/docs/stable/autograd.html#function
    """

    def __init__(self, *args: Any, **kwargs: Any):
        raise RuntimeError(
            f"{type(self).__name__}: functions are not made into objects. Write forward and "
            "backward as static methods and call apply()."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results; the first argument is ctx unless ``setup_context`` is defined."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Fill ctx after ``forward``, which is then called without it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and record it."""
        ctx = FunctionCtx()
        tensors = [x if isinstance(x, Tensor) else None for x in args]
        ctx.needs_input_grad = tuple(t is not None and t.requires_grad for t in tensors)
        recording = is_grad_enabled() and any(ctx.needs_input_grad)
        edges = tuple(
            edge_of(t) if t is not None and needed else None
            for t, needed in zip(tensors, ctx.needs_input_grad, strict=True)
        )
        with no_grad():
            if cls.setup_context is Function.setup_context:
                outputs = cls.forward(ctx, *args, **kwargs)
            else:
                outputs = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, outputs)
        single = not isinstance(outputs, tuple)
        made = [outputs] if single else list(outputs)
        if recording:
            made = _record(cls, ctx, edges, [t for t in tensors if t is not None], made)
        return made[0] if single else tuple(made)


def _record(
    cls: type[Function], ctx: FunctionCtx, edges: Any, inputs: list[Tensor], made: list[Any]
) -> list[Any]:
    node = FunctionNode()
    node.q = next_sequence()
    node.h = None
    node.ctx = ctx
    node.function = cls
    node._edges = edges
    node.title = f"{cls.__name__}Backward"
    node.outputs = []
    dirty = {id(t) for t in ctx.dirty_tensors}
    skipped = {id(t) for t in ctx.non_differentiable}
    given = {id(t) for t in inputs}
    chosen = [isinstance(t, Tensor) and t._k.differentiable and id(t) not in skipped for t in made]
    several = sum(chosen) > 1 or len(made) > 1
    results: list[Any] = []
    renamed: dict[int, Any] = {}
    for t, differentiable in zip(made, chosen, strict=True):
        node.outputs.append((t._k, t._s) if isinstance(t, Tensor) else (None, ()))
        if not differentiable:
            results.append(t)
            continue
        out = t
        if id(t) in given and id(t) not in dirty:
            out = t.detach()
        edge: Any = node
        if several:
            edge = _Output()
            edge.q = next_sequence()
            edge.h = None
            edge.k = t._k
            edge.e0 = node
            edge.place = len(results)
        renamed[id(t)] = (out, edge)
        results.append(out)
    node.k = _Gathering if several else made[0]._k
    import weakref

    ctx._saved = [
        _keep_output(renamed[id(t)][0], weakref.ref(renamed[id(t)][1]))
        if t is not None and id(t) in renamed and id(t) not in given
        else _keep_input(t)
        for t in ctx.to_save
    ]
    ctx.to_save = ()
    _attach(results, renamed, dirty)
    return results


def _attach(results: list[Any], renamed: dict[int, Any], dirty: set[int]) -> None:
    for out, edge in renamed.values():
        if id(out) in dirty:
            check_leaf(out)
            bump(out)
            rebase(out, edge)
        else:
            if type(out._e) is AccumulateGrad:
                raise RuntimeError("a leaf that forward made cannot be its output too; detach it")
            out._e = edge


def once_differentiable(f: Callable[..., Any]) -> Callable[..., Any]:
    """For a ``backward`` that cannot be differentiated again: doing so is then an error."""
    import functools

    @functools.wraps(f)
    def call(ctx: Any, *args: Any) -> Any:
        wanted = is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in args)
        with no_grad():
            made = f(ctx, *args)
        if not wanted:
            return made
        results = made if isinstance(made, tuple) else (made,)
        refused = tuple(
            _Refuse.apply(x.detach().requires_grad_()) if isinstance(x, Tensor) else x
            for x in results
        )
        return refused if isinstance(made, tuple) else refused[0]

    return call


class _Refuse(Function):
    """Lets values through and refuses gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
