"""What libraries import and tensorbus lacks: importing works, using it is refused with words."""

from __future__ import annotations

import importlib
import pickle

import pytest

import tensorbus as torch
from tensorbus._base.refused_names import REFUSED
from tensorbus.nn.modules.module import Module


@pytest.mark.parametrize("path", REFUSED)
def test_each_name_can_be_imported_and_is_refused_when_called(path: str) -> None:
    names, advice = REFUSED[path]
    module = importlib.import_module(f"tensorbus.{path}")
    for name in names.split():
        found = getattr(module, name)
        assert found is getattr(module, name) and not isinstance(torch.ones(1), found)
        with pytest.raises(NotImplementedError) as caught:
            found(1, option=2)
        assert str(caught.value) == f"torch.{path}.{name} is not supported: {advice}"


def test_attributes_and_subclasses_are_refused_as_well() -> None:
    from tensorbus.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy

    with pytest.raises(AttributeError, match="ShardingStrategy is not supported: each rank"):
        ShardingStrategy.FULL_SHARD  # noqa: B018
    assert not hasattr(FullyShardedDataParallel, "summon_full_params")

    class Own(FullyShardedDataParallel):  # type: ignore[misc, valid-type]
        pass

    assert not issubclass(Module, FullyShardedDataParallel)
    with pytest.raises(NotImplementedError, match="torch.distributed.fsdp.FullySharded"):
        Own()


def test_only_what_the_table_has_is_there() -> None:
    from tensorbus.distributed import checkpoint

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        checkpoint.nothing  # noqa: B018
    assert "FileSystemReader" in dir(checkpoint) and torch.torch is torch
    assert torch.PyTorchFileReader is torch._C.PyTorchFileReader
    assert pickle.loads(pickle.dumps(torch.PyTorchFileReader)) is torch.PyTorchFileReader
    assert pickle.loads(pickle.dumps(checkpoint.FileSystemReader)) is checkpoint.FileSystemReader
    with pytest.raises(ModuleNotFoundError, match="tensorbus.ao.nothing"):
        importlib.import_module("tensorbus.ao.nothing")


def test_what_is_never_compiled_says_so() -> None:
    from tensorbus._dynamo.utils import is_compile_supported
    from tensorbus._subclasses.fake_tensor import is_fake
    from tensorbus.fx.experimental.symbolic_shapes import free_symbols, guard_or_true

    assert not is_compile_supported("cpu") and not is_fake(torch.ones(1))
    assert free_symbols(torch.ones(1).shape) == set() and not guard_or_true(2 > 3)
    with pytest.raises(NotImplementedError, match="graph of a traced module"):
        torch.jit._get_trace_graph(abs)
