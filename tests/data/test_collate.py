"""Batches from samples, as PyTorch makes them."""

from __future__ import annotations

import importlib
from collections import OrderedDict, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

import tensorbus
from tensorbus.utils.data import DataLoader, TensorDataset, default_collate, default_convert
from tensorbus.utils.data.collate import collate, default_collate_fn_map

Pair = namedtuple("Pair", "x y")


def told(value, library):
    """Container types, keys, dtypes, shapes and values, leaf by leaf."""
    if isinstance(value, library.Tensor):
        return "Tensor", str(value.dtype), tuple(value.shape), value.tolist()
    kind = type(value).__name__
    if isinstance(value, dict | MappingProxyType):
        return kind, [(key, told(v, library)) for key, v in value.items()]
    if isinstance(value, list | tuple):
        return kind, [told(v, library) for v in value]
    return kind, value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


SAMPLES = {
    "tensors": lambda t: [t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])],
    "numbers": lambda t: [1, 2],
    "floats": lambda t: [1.5, 2.5],
    "truths": lambda t: [True, False],
    "texts": lambda t: ["a", "b"],
    "bytes": lambda t: [b"a", b"b"],
    "arrays": lambda t: [np.array([1, 2], np.int16), np.array([3, 4], np.int16)],
    "numpy scalars": lambda t: [np.float32(1), np.float32(2)],
    "tuples": lambda t: [(1, "a"), (2, "b")],
    "lists": lambda t: [[1, 2.0], [3, 4.0]],
    "named tuples": lambda t: [Pair(1, 2.0), Pair(3, 4.0)],
    "dicts": lambda t: [{"x": t.tensor(1), "y": [1, 2]}, {"x": t.tensor(2), "y": [3, 4]}],
    "ordered dicts": lambda t: [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)],
    "read-only mappings": lambda t: [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
    "ranges": lambda t: [range(2), range(1, 3)],
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_the_result_is_pytorchs(name, function, oracle):
    def program(library):
        return told(getattr(library.utils.data, function)(SAMPLES[name](library)), library)

    assert program(tensorbus) == oracle(program)


def test_what_cannot_be_a_batch_is_refused():
    with pytest.raises(TypeError, match=r"batch must contain tensors, numpy arrays.*object"):
        default_collate([object(), object()])
    with pytest.raises(TypeError, match="found an array of object"):
        default_collate([np.array([None]), np.array([None])])
    with pytest.raises(RuntimeError, match=r"of equal size, but the sizes are \[1, 2\]"):
        default_collate([[1], [1, 2]])


def test_converting_leaves_what_is_no_number_alone():
    text = np.array(["a"])
    assert default_convert(text) is text
    assert default_convert("a") == "a"
    assert default_convert(None) is None


class Point:
    def __init__(self, x):
        self.x = x


def test_other_types_have_functions_of_their_own(oracle):
    def points(batch, *, collate_fn_map):
        return collate_fn_map[float]([p.x for p in batch], collate_fn_map=collate_fn_map)

    def program(library):
        path = f"{library.__name__}.utils.data._utils.collate"
        room = importlib.import_module(path)
        functions = {Point: points, **room.default_collate_fn_map}
        batch = [(Point(1.0), {"a": [Point(2.0), "t"]}), (Point(3.0), {"a": [Point(4.0), "u"]})]
        return told(room.collate(batch, collate_fn_map=functions), library)

    assert program(tensorbus) == oracle(program)
    with pytest.raises(TypeError, match="found <class 'int'>"):
        collate([1, 2])


def test_the_default_map_may_be_changed(monkeypatch):
    def summed(batch, *, collate_fn_map):
        return sum(batch[1:], batch[0])

    data = TensorDataset(tensorbus.arange(4))
    monkeypatch.setitem(default_collate_fn_map, tensorbus.Tensor, summed)
    assert [batch[0].item() for batch in DataLoader(data, batch_size=2)] == [1, 5]


def test_sparse_samples_are_refused():
    x = tensorbus.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="Batches of sparse tensors are not currently"):
        default_collate([x, x])


@pytest.mark.parametrize("cls", [np.str_, np.bytes_])
def test_numpys_texts_stay_a_list(cls):
    batch = [cls("a"), cls("b")] if cls is np.str_ else [cls(b"a"), cls(b"b")]
    assert default_collate(batch) is batch
