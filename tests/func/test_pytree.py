"""Trees of containers: what PyTorch 2.13 makes of them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from tensorbus.utils._pytree import (
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_structure,
    tree_unflatten,
)

Point = namedtuple("Point", "x y")

TREES = [
    (7, [7], "*"),
    (None, [None], "*"),
    ((), [], "TreeSpec(tuple, None, [])"),
    ({}, [], "TreeSpec(dict, [], [])"),
    (
        (1, (2, [3])),
        [1, 2, 3],
        "TreeSpec(tuple, None, [*,\n  TreeSpec(tuple, None, [*,\n    TreeSpec(list, None, [*])])])",
    ),
    ({"b": 1, "a": 2}, [1, 2], "TreeSpec(dict, ['b', 'a'], [*,\n  *])"),
    (OrderedDict(z=1, a=2), [1, 2], "TreeSpec(OrderedDict, ['z', 'a'], [*,\n  *])"),
    (
        defaultdict(list, {"k": 1}),
        [1],
        "TreeSpec(defaultdict, [<class 'list'>, ['k']], [*])",
    ),
    (deque([1, 2], 5), [1, 2], "TreeSpec(deque, 5, [*,\n  *])"),
    (Point(1, 2), [1, 2], f"TreeSpec(namedtuple, {Point}, [*,\n  *])"),
]


@pytest.mark.parametrize(("tree", "leaves", "shown"), TREES, ids=lambda x: str(x)[:20])
def test_a_tree_is_taken_apart_and_put_together(tree, leaves, shown):
    found, spec = tree_flatten(tree)
    assert found == leaves
    assert repr(spec) == shown
    assert spec.num_leaves == len(leaves)
    made = tree_unflatten(found, spec)
    assert made == tree
    assert type(made) is type(tree)
    assert tree_structure(made) == spec


def test_structures_differ_by_container_and_keys():
    specs = [tree_structure(t) for t in ((1, 2), [1, 2], (1, (2,)), {"a": 1}, {"b": 1}, (1,), 1)]
    for i, one in enumerate(specs):
        for j, other in enumerate(specs):
            assert (one == other) is (i == j)


def test_maps_over_several_trees_match_dicts_by_key():
    assert tree_map(lambda x, y: (x, y), {"b": 1, "a": 2}, {"a": 3, "b": 4}) == {
        "b": (1, 4),
        "a": (2, 3),
    }
    assert tree_map(lambda x, y: len(y) * x, [2, 3], ["ab", "c"]) == [4, 3]
    assert tree_map_only(int, lambda x: -x, [1, "a", (2.5,)]) == [-1, "a", (2.5,)]


@pytest.mark.parametrize(
    ("tree", "rest", "text"),
    [
        ((1, 2), [1, 2], "Node type mismatch; expected <class 'tuple'>, but got <class 'list'>"),
        ((1, 2), (1,), "Node arity mismatch; expected 2, but got 1"),
        ({"a": 1}, {"b": 1}, r"Node keys mismatch; expected \['a'\], but got \['b'\]"),
        ([[1]], [1], "Node type mismatch; expected <class 'list'>, but got <class 'int'>"),
    ],
)
def test_other_structures_are_refused(tree, rest, text):
    with pytest.raises(ValueError, match=text):
        tree_map(lambda x, y: x, tree, rest)


def test_another_number_of_leaves_is_refused():
    with pytest.raises(ValueError, match="has length 1 but the spec refers to a pytree that holds"):
        tree_unflatten([1], tree_structure((1, 2)))


def test_a_class_is_made_known_once():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pair = Pair(1, [2, 3])
    assert tree_leaves(pair) == [pair]
    register_pytree_node(Pair, lambda p: ((p.a, p.b), "known"), lambda c, _: Pair(*c))
    assert tree_leaves([pair, 4]) == [1, 2, 3, 4]
    made = tree_map(lambda x: x * 2, pair)
    assert (type(made), made.a, made.b) == (Pair, 2, [4, 6])
    with pytest.raises(ValueError, match="already registered"):
        register_pytree_node(Pair, lambda p: ((), None), lambda c, _: pair)


def test_a_predicate_stops_the_descent():
    assert tree_leaves([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]
