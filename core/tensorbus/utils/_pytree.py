"""Trees of Python containers: tuples, lists, dicts and their like, with anything else as leaves.

What takes or returns "a tree of tensors" flattens it here, and puts it together again.

>>> from tensorbus.utils._pytree import tree_flatten, tree_map, tree_unflatten
>>> leaves, spec = tree_flatten({"w": [1, 2], "b": (3,)})
>>> leaves
[1, 2, 3]
>>> tree_unflatten([x * 10 for x in leaves], spec)
{'w': [10, 20], 'b': (30,)}
>>> tree_map(lambda x: -x, (1, [2]))
(-1, [-2])
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

PyTree = Context = Any
Predicate = Callable[[Any], bool]


class NodeDef(NamedTuple):
    """How a class of containers is taken apart and put together."""

    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]]
    """A container's children, and what else is to be known of it."""
    unflatten_fn: Callable[[Iterable[Any], Any], Any]


class TreeSpec:
    """The structure of a tree: all but its leaves.

    ``type`` is the class of the outermost container, None for a leaf; ``context`` what has to be
    known of it besides (the keys of a dict); ``num_leaves`` the number of leaves.
    """

    __slots__ = ("_children", "context", "num_leaves", "type")

    def __init__(self, type: Any, context: Any, children: Iterable[TreeSpec]):
        self.type = type
        self.context = context
        self._children = tuple(children)
        self.num_leaves: int = 1 if type is None else sum(c.num_leaves for c in self._children)

    def is_leaf(self) -> bool:
        """Whether the tree is a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the children."""
        return list(self._children)

    @property
    def num_nodes(self) -> int:
        """How many containers and leaves there are."""
        return 1 + sum(child.num_nodes for child in self._children)

    @property
    def num_children(self) -> int:
        """How many children the outermost container has."""
        return len(self._children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves; ValueError for another number of them."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._filled(iter(given))

    def _filled(self, leaves: Any) -> Any:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn(
            [child._filled(leaves) for child in self._children], self.context
        )

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree that stand where this structure has leaves.

        ValueError where the tree does not have this structure down to there.
        """
        if self.type is None:
            return [tree]
        kind = _container_of(tree)
        if kind is not self.type and not {kind, self.type} <= _DICTS:
            raise ValueError(f"Node type mismatch; expected {_class(self)}, but got {type(tree)}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        found = list(children)
        if kind in _DICTS:
            keys, given = _keys(self.context), _keys(context)
            if set(keys) != set(given):
                raise ValueError(f"Node keys mismatch; expected {keys}, but got {given}.")
            found = [tree[key] for key in keys]
        elif len(found) != len(self._children):
            raise ValueError(
                f"Node arity mismatch; expected {len(self._children)}, but got {len(found)}."
            )
        elif context != self.context:
            raise ValueError(
                f"Node context mismatch for custom node type {_class(self)}: expected "
                f"{self.context}, but got {context}."
            )
        pairs = zip(self._children, found, strict=True)
        return [x for child, part in pairs for x in child.flatten_up_to(part)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine, theirs = ((s.type, s.context, s._children) for s in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), self._children))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        children = ",\n  ".join(repr(c).replace("\n", "\n  ") for c in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, ())


class namedtuple:
    """Stands for all classes of named tuples; the class itself is the context."""


def _class(spec: TreeSpec) -> Any:
    return spec.context if spec.type is namedtuple else spec.type


def _keys(context: Any) -> list[Any]:
    """The keys of a dict, from its context: that of a defaultdict has its factory before them."""
    if len(context) == 2 and isinstance(context[1], list) and callable(context[0] or list):
        return list(context[1])
    return list(context)


class MappingKey(NamedTuple):
    """A step down a tree: to the value of a key."""

    key: Any


class SequenceKey(NamedTuple):
    """A step down a tree: to a place in a sequence."""

    idx: int


def _dict_flatten(d: Any) -> tuple[list[Any], list[Any]]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


SUPPORTED_NODES: dict[Any, NodeDef] = {
    tuple: NodeDef(lambda x: (x, None), lambda parts, _: tuple(parts)),
    list: NodeDef(lambda x: (x, None), lambda parts, _: list(parts)),
    dict: NodeDef(_dict_flatten, _dict_unflatten),
    OrderedDict: NodeDef(
        _dict_flatten, lambda parts, keys: OrderedDict(zip(keys, parts, strict=True))
    ),
    defaultdict: NodeDef(
        lambda x: (x.values(), [x.default_factory, list(x)]),
        lambda parts, known: defaultdict(known[0], zip(known[1], parts, strict=True)),
    ),
    deque: NodeDef(lambda x: (x, x.maxlen), lambda parts, n: deque(parts, maxlen=n)),
    namedtuple: NodeDef(lambda x: (x, type(x)), lambda parts, made: made(*parts)),
}
_DICTS = {dict, OrderedDict, defaultdict}


def _container_of(x: Any) -> Any:
    """Under what a container is known; None for a leaf."""
    kind = type(x)
    if kind in SUPPORTED_NODES:
        return kind
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        return namedtuple
    return None


def _get_node_type(tree: Any) -> Any:
    """Under what a container is known; the class of a leaf."""
    return _container_of(tree) or type(tree)


def register_pytree_node(
    cls: Any,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    **_: Any,
) -> None:
    """Make a class of containers known.

    ``flatten_fn(x)`` gives the children and a context, from which ``unflatten_fn(children,
    context)`` makes another. ValueError for a class that is known already.

    >>> from tensorbus.utils._pytree import register_pytree_node, tree_map
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda c, _: Pair(*c))
    >>> tree_map(lambda x: x + 1, Pair(1, 2)).b
    3
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn)


def tree_flatten(tree: Any, is_leaf: Predicate | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree in order, and its structure; None is a leaf.

    *is_leaf* says of a container that it is to be taken as a leaf.
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


_LEAF = LeafSpec()


def _flatten(tree: Any, leaves: list[Any], is_leaf: Predicate | None) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else _container_of(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of a structure with these leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Predicate | None = None) -> list[Any]:
    """The leaves of a tree in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Predicate | None = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Predicate | None = None
) -> Any:
    """The tree of what *func* makes of each leaf, and of what stands there in the *rests*.

    ValueError where one of these does not have the structure of *tree*.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(map(func, leaves, *others))


def tree_map_only(
    type_or_types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Predicate | None = None
) -> Any:
    """The tree of what *func* makes of the leaves of these types; other leaves stay."""
    return tree_map(lambda x: func(x) if isinstance(x, type_or_types) else x, tree, is_leaf=is_leaf)
