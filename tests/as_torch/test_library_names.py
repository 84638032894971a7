"""Small names that libraries touch as they are imported or run."""

from __future__ import annotations

import collections
import io
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


def test_reductions_have_numbers() -> None:
    from tensorbus.nn import _reduction

    assert [_reduction.get_enum(r) for r in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="last is not a valid value for reduction"):
        _reduction.get_enum("last")
    for flags, meant in (((False, None), "sum"), ((None, False), "none"), ((True, True), "mean")):
        with pytest.warns(UserWarning, match=f"please use reduction='{meant}' instead"):
            assert _reduction.legacy_get_string(*flags) == meant
    assert _reduction.legacy_get_enum(False, None, emit_warning=False) == 2


def test_functions_that_initialisers_are_made_of() -> None:
    from tensorbus.nn import init

    x = torch.empty(2, 3, requires_grad=True)
    assert init._no_grad_fill_(x, 3.0) is x and x.tolist() == [[3.0] * 3] * 2
    assert init._no_grad_zero_(x).tolist() == [[0.0] * 3] * 2
    assert 1.0 <= init._no_grad_uniform_(x, 1.0, 2.0).min().item() < 2.0
    assert abs(init._no_grad_normal_(x, 50.0, 0.1).mean().item() - 50) < 1
    assert init._no_grad_trunc_normal_(x, 0.0, 1.0, -0.5, 0.5).abs().max().item() <= 0.5


def test_the_functional_module_under_its_short_name() -> None:
    from tensorbus.functional import F

    assert F is torch.nn.functional


def test_a_convolution_of_a_class_that_computes_its_weight() -> None:
    class Standardised(torch.nn.Conv2d):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            w = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
            return self._conv_forward(input, w, self.bias)

    x = torch.arange(50.0).reshape(1, 2, 5, 5)
    for mode in ("zeros", "circular"):
        m = Standardised(2, 3, 3, padding=(1, 2), padding_mode=mode)
        assert m._reversed_padding_repeated_twice == [2, 2, 1, 1]
        plain = torch.nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode=mode)
        plain.weight.data = m.weight.data - m.weight.data.mean((1, 2, 3), keepdim=True)
        plain.bias = m.bias
        assert torch.allclose(m(x), plain(x), atol=1e-5)


def test_the_padding_at_the_end_of_a_transposed_convolution() -> None:
    m = torch.nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = torch.ones(1, 1, 4, 4)
    wanted = m._output_padding(x, [10, 9], m.stride, m.padding, m.kernel_size, 2, m.dilation)
    assert list(wanted) == [1, 0] and m(x, [10, 9]).shape == (1, 1, 10, 9)
    assert list(m._output_padding(x, [10, 9], m.stride, m.padding, m.kernel_size, 2)) == [1, 0]


def test_storages_in_a_plain_pickle() -> None:
    import tensorbus.serialization.reading  # noqa: F401 - what a pickle of tensors imports

    x = torch.arange(4.0)
    for zipped in (False, True):
        held = io.BytesIO()
        torch.save(x.storage(), held, _use_new_zipfile_serialization=zipped)
        assert torch.storage._load_from_bytes(held.getvalue()).tolist() == [0.0, 1.0, 2.0, 3.0]
