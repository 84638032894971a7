"""The examples in the docstrings of data-parallel training run."""

from __future__ import annotations

import doctest
import importlib
from types import ModuleType

import pytest

import tensorbus
from tensorbus import nn

MODULES = (
    "tensorbus.distributed.algorithms.ddp_comm_hooks.default_hooks",
    "tensorbus.distributed.algorithms.join",
    "tensorbus.distributed.optim.zero_redundancy_optimizer",
    "tensorbus.nn.modules.batchnorm",
    "tensorbus.nn.parallel.data_parallel",
    "tensorbus.nn.parallel.distributed",
    "tensorbus.nn.parallel.parallel_apply",
    "tensorbus.nn.parallel.replicate",
    "tensorbus.nn.parallel.scatter_gather",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    globs = {"tensorbus": tensorbus, "nn": nn}
    found = [t for t in doctest.DocTestFinder().find(module, extraglobs=globs) if t.examples]
    assert found
    for test in found:
        said: list[str] = []
        result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
        assert result.failed == 0, "".join(said)
