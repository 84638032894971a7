"""Small names that libraries touch as they are imported or run."""

from __future__ import annotations

import collections
import typing
from pathlib import Path

import pytest

import tensorbus as torch
from tensorbus.utils import _pytree


def test_nodes_of_trees_are_those_that_libraries_flatten_with() -> None:
    Point = collections.namedtuple("Point", "x y")
    for tree in ([1, 2], (3,), {"a": 4, "b": 5}, Point(6, 7), collections.OrderedDict(c=8)):
        node = _pytree.SUPPORTED_NODES[_pytree._get_node_type(tree)]
        children, context = node.flatten_fn(tree)
        assert node.unflatten_fn(list(children), context) == tree
    assert _pytree.tree_structure([1, (2, {"a": 3})]).num_nodes == 6
    assert _pytree._get_node_type(3) not in _pytree.SUPPORTED_NODES
    assert _pytree.tree_structure(3) == _pytree.LeafSpec() == _pytree.tree_structure("x")
    pairs, keys = _pytree._dict_flatten_with_keys({"a": 1})
    assert (pairs, keys) == ([(_pytree.MappingKey("a"), 1)], ["a"])


def test_untyped_storages_map_a_number_of_bytes_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(10)))
    assert list(torch.UntypedStorage.from_file(str(file), nbytes=4)) == [0, 1, 2, 3]


def test_ops_of_aten_that_libraries_register_for() -> None:
    aten = torch.ops.aten
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert aten.index.Tensor(x, [None, torch.tensor([1])]).tolist() == [[2.0], [4.0]]
    assert aten.add_.Tensor(x, 1.0) is x and x[0, 0] == 2.0
    assert aten._to_copy.default is aten._to_copy.default
    with pytest.raises(NotImplementedError, match="_sparse_addmm can be seen, but not called"):
        aten._sparse_addmm.default(x, x, x)
    for name in ("share_memory_", "nothing_", "__len__"):
        with pytest.raises(AttributeError, match=name):
            getattr(aten, name)


def test_loaders_iterators_have_pytorchs_names() -> None:
    from tensorbus.utils.data import DataLoader
    from tensorbus.utils.data.dataloader import (
        _BaseDataLoaderIter,
        _MultiProcessingDataLoaderIter,
        _SingleProcessDataLoaderIter,
    )

    made = iter(DataLoader([1, 2, 3]))
    assert isinstance(made, _SingleProcessDataLoaderIter) and isinstance(made, _BaseDataLoaderIter)
    assert not isinstance(made, _MultiProcessingDataLoaderIter)


def test_print_options_are_read_as_they_are_now() -> None:
    from tensorbus._tensor_str import PRINT_OPTS, _add_suffixes, _tensor_str

    before = PRINT_OPTS.precision
    torch.set_printoptions(precision=2)
    try:
        assert PRINT_OPTS.precision == 2
    finally:
        torch.set_printoptions(precision=before)
    assert PRINT_OPTS.precision == before == 4
    text = _add_suffixes("own(" + _tensor_str(torch.ones(2), 4), ["n=1"], 4)
    assert text == "own([1., 1.], n=1)"


def test_tensors_say_that_they_are_on_no_device_of_another_type() -> None:
    x = torch.ones(1)
    for kind in "ipu maia mps mtia vulkan xla xpu cuda meta".split():
        assert getattr(x, f"is_{kind}") is False, kind
    assert not torch.is_autocast_enabled("mps")
    with pytest.raises(RuntimeError, match="nothing"):
        torch.is_autocast_enabled("nothing")
    assert x.is_cpu and torch.Future is torch.futures.Future


def test_the_types_of_all_layers_attributes_can_be_read() -> None:
    for name in dir(torch.nn):
        layer = getattr(torch.nn, name)
        if isinstance(layer, type) and issubclass(layer, torch.nn.Module):
            typing.get_type_hints(layer)
    assert typing.get_type_hints(torch.nn.Module)["training"] is bool
    assert torch._dynamo.eval_frame.OptimizedModule is torch._dynamo.OptimizedModule


def test_what_a_call_of_to_asks_for_is_read_as_in_pytorch() -> None:
    from tensorbus._C._nn import _parse_to

    assert torch._C._nn._parse_to is _parse_to
    assert _parse_to("cpu", torch.float64) == (torch.device("cpu"), torch.float64, False, None)
    given = _parse_to(torch.ones(1, dtype=torch.int8), non_blocking=True)
    assert given == (torch.device("cpu"), torch.int8, True, None)
    wanted = _parse_to(memory_format=torch.channels_last)
    assert wanted == (None, None, False, torch.channels_last)
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        _parse_to("cpu", "cpu", 3, 4, 5)
    assert torch._C._nn.gelu is torch.nn.functional.gelu


def test_factors_of_precisions_have_pytorchs_names() -> None:
    from tensorbus.distributions.multivariate_normal import (
        _batch_mahalanobis,
        _batch_mv,
        _precision_to_scale_tril,
    )

    precision = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64)
    factor, x = _precision_to_scale_tril(precision), torch.tensor([1.0, -2.0]).double()
    assert torch.allclose(factor @ factor.mT, precision.inverse())
    assert torch.allclose(_batch_mahalanobis(factor, x), x @ precision @ x)
    assert torch.allclose(_batch_mv(precision, x), precision @ x)
