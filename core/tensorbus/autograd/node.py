"""Nodes of the recorded graph, and what they keep for the backward pass."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._base import registered
from tensorbus._base.errors import freed_error, interrupted_error, stale_error
from tensorbus._base.modes import RARE, InferenceCell, in_inference
from tensorbus._tensor.tensor import GRAD_DTYPE, PERMUTED, Tensor, from_array
from tensorbus.autograd.grad_mode import GRAD, THREAD, enable_grad
from tensorbus.utils.hooks import HookTable, RemovableHandle

next_sequence = itertools.count(-1, -1).__next__
"""Sequence numbers count down, so that the newest node is the least of a heap."""


class Node:
    """One recorded operation: a function of the gradient of its result.

    ``e0``, ``e1``... are the edges to what made its inputs (None where no gradient is wanted).
    ``k`` is the result's kind, ``q`` the sequence number, ``h`` the hooks.
    """

    __slots__ = ("__weakref__", "h", "k", "meta", "q", "title")
    arity = 0
    numbers = 0
    """How many inputs after those with edges were numbers, which hooks see, too."""
    takes_none = False
    """Whether it runs though no gradient came."""
    packs = False
    """Whether hooks packed what it keeps, so that reading it calls them."""
    shows_saved = False
    """Of a class: whether it has ``_saved_self`` and the like."""
    position = 0
    """Which of an operation's results it is the edge of."""
    results: tuple[str, ...] = ("out",)
    """The names of the operation's results, under which it keeps what its rules read of them."""
    k: Any
    q: int
    h: Hooks | None
    title: str
    """Another name than the class has, if it was given one."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__module__ = "builtins"  # so that ``type(x.grad_fn)`` prints as <class 'AddBackward0'>

    def run(self, g: Any) -> tuple[Any, ...]:
        """Edges and gradients, in turn, from an array."""
        raise NotImplementedError

    def run_t(self, g: Any) -> tuple[Any, ...]:
        """Edges and gradients, in turn, from a tensor; records."""
        raise NotImplementedError

    def release(self) -> None:
        """Forget what was kept for the backward pass."""

    def edges(self) -> tuple[Any, ...]:
        """What made the inputs, in order."""
        return tuple(getattr(self, f"e{i}") for i in range(self.arity))

    def operation(self) -> Node:
        """The node that users see: itself, or that of which it is the edge of one result."""
        return self

    def result_kinds(self) -> tuple[Any, ...]:
        """The kind of each result, of an operation with several; None for what has no gradient."""
        return (self.k,)

    @property
    def hook_kind(self) -> Any:
        """The kind of the gradient as its hooks see it."""
        return self.k

    def name(self) -> str:
        """The node's name, as errors give it."""
        return getattr(self, "title", type(self).__name__)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes of the inputs, as PyTorch shows them."""
        edges = (None if type(edge) is Untracked else edge for edge in self.edges())
        made = tuple((None, 0) if edge is None else (shown(edge), edge.position) for edge in edges)
        return made + ((None, 0),) * self.numbers

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's notes on this node."""
        try:
            return self.meta
        except AttributeError:
            self.meta: dict[Any, Any] = {}
            return self.meta

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node ran."""
        return hooks_of(self).add("post", hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(grad_outputs)`` before this node runs."""
        return hooks_of(self).add("pre", hook)

    def __repr__(self) -> str:
        cls = type(self)
        home = "" if cls.__module__ == "builtins" else f"{cls.__module__}."
        return f"<{home}{cls.__name__} object at {id(self):#x}>"


class AccumulateGrad(Node):
    """The edge of a leaf: its gradient arrives in ``.grad``."""

    __slots__ = ("leaf",)

    def name(self) -> str:
        """The node's name, which PyTorch qualifies."""
        return "torch::autograd::AccumulateGrad"

    def __init__(self, leaf: Tensor):
        self.leaf = weakref.ref(leaf)
        self.k = leaf._k
        self.h = None

    @property
    def variable(self) -> Tensor | None:
        """The leaf, while it lives."""
        return self.leaf()

    @property
    def hook_kind(self) -> Any:
        """The kind of the leaf's ``.grad``, to which gradients that arrive are converted."""
        leaf = self.leaf()
        wanted = None if leaf is None else leaf.__dict__.get(GRAD_DTYPE)
        own = self.k if leaf is None else leaf._k
        return own if wanted is None else own.of(wanted)


class Untracked(Node):
    """The edge of a view that requires gradients as its base does, and leads nowhere.

    It was made while nothing recorded, or before its base required gradients.
    """

    __slots__ = ()

    def __init__(self, kind: Any):
        self.k = kind
        self.q = next_sequence()
        self.h = None

    def run(self, g: Any) -> tuple[Any, ...]:
        return ()

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return ()


def is_leaf_edge(edge: Any) -> bool:
    """Whether the tensor of an edge was not made by a recorded operation."""
    return edge is None or type(edge) is AccumulateGrad or type(edge) is Untracked


class UnrecordedWrite(Node):
    """The edge of what was being written when an interrupt came: no backward pass may use it.

    *sources* are the edges of what was there before, and of what was written.
    """

    __slots__ = ("shape", "sources")
    shape: Any
    sources: tuple[Any, ...]

    def edges(self) -> tuple[Any, ...]:
        return self.sources

    def run(self, g: Any) -> tuple[Any, ...]:
        raise interrupted_error(_typename(self.k, self.k.dtype.legacy), self.shape)

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self.run(g)


class FlatBackward0(Node):
    """The node of a gradient that does not change with the operand which it belongs to."""

    __slots__ = ("e0", "e1")
    arity = 2
    e0: Any
    e1: Any

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, g, self.e1, self.e1.k.zeros(tuple(g.shape))

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self.e0, g, self.e1, self.e1.k.T.zeros(tuple(g.shape))


def flat(g: Tensor, edge: Any) -> Tensor:
    """The gradient for *edge*, recorded as a function of its operand whose derivative is zero."""
    if edge is None or not (GRAD.on or THREAD.on):
        return g
    if g._b is not None and g._b is not PERMUTED:
        g = g.clone()
    n = FlatBackward0()
    n.q = next_sequence()
    n.k, n.h = g._k, None
    n.e0, n.e1 = g._e, edge
    made = from_array(g._a, g._k)
    made._b, made._e = g._b, n
    if RARE.on:
        registered.tensor_replaced(made, g)
    return made


def refuse_inference(t: Tensor) -> None:
    """RuntimeError for an inference tensor outside inference mode, which can be no leaf."""
    if type(t._c) is InferenceCell and not in_inference():
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        )


class Hooks:
    """The hooks of one node, by when they run."""

    __slots__ = ("table",)

    def __init__(self) -> None:
        self.table = HookTable()

    def add(self, when: str, hook: Callable[..., Any]) -> RemovableHandle:
        """Keep a hook and return its handle."""
        return self.table.add((when, hook))

    def at(self, when: str) -> list[Callable[..., Any]]:
        """The hooks of one moment, in order."""
        return [hook for moment, hook in list(self.table.values()) if moment == when]


def hooks_of(node: Node) -> Hooks:
    """The node's hooks, made at the first one."""
    if node.h is None:
        node.h = Hooks()
    return node.h


class Retain:
    """The hook of ``retain_grad``: adds the gradient to ``.grad`` of a tensor that is no leaf."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor):
        self.tensor = weakref.ref(tensor)

    def __call__(self, g: Tensor) -> None:
        t = self.tensor()
        if t is not None:
            before = t.grad
            t._g = g.clone() if before is None else before + g


def name_node(t: Tensor, name: str) -> None:
    """Call the node that made a new tensor by another name, as ``shown`` does when it is read."""
    node = t._e
    if not is_leaf_edge(node):
        node.operation().title = name


UNKNOWN = "NotImplemented"
"""The name of the node of what PyTorch's autograd does not know at all."""


def is_unknown(t: Tensor) -> bool:
    """Whether a tensor has the node of what PyTorch's autograd does not know: it may go into
    ``out=``, which then refuses backward passes too."""
    node = t._e
    return not is_leaf_edge(node) and getattr(node.operation(), "title", None) == UNKNOWN


def shown(node: Any) -> Any:
    """The node of an edge as users see it: of a class that has its name."""
    node = node.operation()
    cls: Any = type(node)
    name = getattr(node, "title", None)
    if name is not None and cls.__name__ != name:
        node.__class__ = cls = _named(cls, name)
    if "shows_saved" not in vars(cls):
        # Not by ``__getattr__``: a class that has one finds all its attributes more slowly.
        registered.show_saved(cls)
        cls.shows_saved = True
    return node


@functools.cache
def _named(cls: type, name: str) -> type:
    return type(name, (cls,), {"__slots__": ()})


def follow(t: Tensor, edge: Any) -> None:
    """Give a tensor a new edge; what retains its gradient goes with it."""
    before = t._e
    t._e = edge
    if before is None or before.h is None:
        return
    for id, (when, hook) in list(before.h.table.items()):
        if when == "retain" and hook.tensor() is t:
            hooks_of(edge).table[id] = before.h.table.pop(id)


class _Freed:
    """Stands in a node for what was released."""

    __slots__ = ()

    @property
    def _c(self) -> Any:
        raise freed_error()

    def __getitem__(self, _: int) -> Any:
        raise freed_error()


FREED: Any = _Freed()


def versions(tensors: Sequence[Tensor]) -> list[int]:
    """The versions of the tensors of a sequence."""
    return [0 if t._c is None else t._c[0] for t in tensors]


def current(tensors: Sequence[Tensor], then: Sequence[int]) -> Sequence[Tensor]:
    """The saved tensors of a sequence, if none was written to since."""
    for t, version in zip(tensors, then, strict=True):
        if t._c is not None and t._c[0] != version:
            raise stale(t, version)
    return tensors


_NOTHING = (None, None)


def pairs(edges: Sequence[Any], gradients: Sequence[Any]) -> list[Any]:
    """Edges and gradients of a sequence of operands, in turn."""
    made: list[Any] = []
    for edge, g in zip(edges, gradients, strict=True):
        made += _NOTHING if g is None else (edge, g)
    return made


def stale(tensor: Any, then: int) -> RuntimeError:
    """The error for a saved input that was written to; a view may have got a history by that."""
    with enable_grad():
        edge = registered.edge_of(tensor)
    source = None if is_leaf_edge(edge) else edge.name()
    now, position = tensor._c[0], 0 if edge is None else edge.position
    name = tensor._k.dtype.legacy
    return stale_error(_typename(tensor._k, name), tensor._s, source, now, then, position)


def stale_result(node: Node, array: Any, now: int, then: int, position: int = 0) -> RuntimeError:
    """The error for a saved result that was written to."""
    kind = node.result_kinds()[position]
    name = _typename(kind, kind.dtype.legacy)
    return stale_error(name, array.shape, node.name(), now, then, position)


def _typename(kind: Any, legacy: str) -> str:
    return legacy if kind.device.type == "cpu" else f"{kind.device.type}.{legacy}"
