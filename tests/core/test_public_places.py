"""Where classes and functions say that they live, as prints and pickles show it."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import types
import warnings
from collections import OrderedDict
from typing import Any

import pytest

import tensorbus
from tensorbus import nn, optim

PUBLIC = (
    "tensorbus tensorbus.linalg tensorbus.autograd tensorbus.nn tensorbus.nn.functional "
    "tensorbus.nn.init tensorbus.nn.utils tensorbus.optim tensorbus.optim.lr_scheduler "
    "tensorbus.utils.data tensorbus.random tensorbus.serialization tensorbus.distributed"
).split()

PRINTED = {
    "Tensor": "<class 'torch.Tensor'>",
    "Size": "<class 'torch.Size'>",
    "dtype": "<class 'torch.dtype'>",
    "device": "<class 'torch.device'>",
    "layout": "<class 'torch.layout'>",
    "memory_format": "<class 'torch.memory_format'>",
    "finfo": "<class 'torch.finfo'>",
    "nn.Parameter": "<class 'torch.nn.parameter.Parameter'>",
    "nn.Linear": "<class 'torch.nn.modules.linear.Linear'>",
    "nn.BatchNorm2d": "<class 'torch.nn.modules.batchnorm.BatchNorm2d'>",
    "nn.ParameterList": "<class 'torch.nn.modules.container.ParameterList'>",
    "nn.PixelShuffle": "<class 'torch.nn.modules.pixelshuffle.PixelShuffle'>",
    "optim.SGD": "<class 'torch.optim.sgd.SGD'>",
    "optim.AdamW": "<class 'torch.optim.adamw.AdamW'>",
    "optim.RMSprop": "<class 'torch.optim.rmsprop.RMSprop'>",
    "optim.lr_scheduler.StepLR": "<class 'torch.optim.lr_scheduler.StepLR'>",
    "UntypedStorage": "<class 'torch.storage.UntypedStorage'>",
    "return_types.max": "<class 'torch.return_types.max'>",
}
"""What PyTorch prints for these classes."""


def found(torch: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(torch, types.ModuleType) and not hasattr(torch, part):
            importlib.import_module(f"{torch.__name__}.{part}")
        torch = getattr(torch, part)
    return torch


def public() -> list[tuple[str, Any]]:
    """Every public function and class of the public modules."""
    objects = []
    for name in PUBLIC:
        module = importlib.import_module(name)
        for attribute in sorted({*dir(module), *getattr(module, "__all__", ())}):
            shown = None if attribute.startswith("_") else getattr(module, attribute)
            if isinstance(shown, (types.FunctionType, type)):
                objects.append((f"{name}.{attribute}", shown))
    return objects


@pytest.mark.parametrize("path", PRINTED)
def test_classes_print_as_in_pytorch(path):
    assert repr(found(tensorbus, path)).replace("tensorbus", "torch") == PRINTED[path]


def test_pytorch_prints_them_so(live_torch):
    assert {path: repr(found(live_torch, path)) for path in PRINTED} == PRINTED


def test_every_public_function_and_class_pickles_by_its_name():
    objects = public()
    assert len(objects) > 700
    lost = []
    for name, shown in objects:
        try:
            same = pickle.loads(pickle.dumps(shown)) is shown
        except Exception:
            same = False
        if not same:
            lost.append(name)
    assert lost == []


def test_every_method_of_tensors_pickles():
    methods = inspect.getmembers(tensorbus.Tensor, lambda v: isinstance(v, types.FunctionType))
    assert len(methods) > 500
    for name, method in methods:
        if not name.startswith("_"):
            assert pickle.loads(pickle.dumps(method)) is method, name


def test_functions_name_the_module_that_users_know():
    assert tensorbus.add.__module__ == tensorbus.zeros.__module__ == "tensorbus"
    assert nn.functional.relu.__module__ == "tensorbus.nn.functional"
    assert tensorbus.linalg.norm.__module__ == "tensorbus.linalg"
    assert tensorbus.Tensor.add_.__qualname__ == "Tensor.add_"


def test_generators_pickle_and_copy_with_their_state():
    g = tensorbus.Generator().manual_seed(3)
    tensorbus.rand(5, generator=g)
    others = [pickle.loads(pickle.dumps(g)), copy.deepcopy(g), copy.copy(g), g.clone_state()]
    expected = tensorbus.rand(4, generator=g).tolist()
    for other in others:
        assert other.initial_seed() == 3 and other.device == g.device
        assert tensorbus.rand(4, generator=other).tolist() == expected


def _double(module: Any, args: Any, output: Any) -> Any:
    return output * 2


def test_modules_with_hooks_optimizers_and_schedules_pickle():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    net.register_forward_hook(_double)
    x = tensorbus.randn(4, 2)
    optimizer = optim.Adam(net.parameters(), lr=0.5)
    schedule = optim.lr_scheduler.StepLR(optimizer, 2)
    net(x).sum().backward()
    optimizer.step()
    schedule.step()
    net.eval()
    again, stepped, later = pickle.loads(pickle.dumps((net, optimizer, schedule)))
    assert tensorbus.equal(again(x), net(x))
    assert stepped.state_dict()["state"].keys() == optimizer.state_dict()["state"].keys()
    assert later.last_epoch == schedule.last_epoch == 1
    assert later.optimizer is stepped
    assert stepped.param_groups[0]["params"][0] is next(again.parameters())


def test_state_dicts_are_ordered_dicts_with_metadata():
    state = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict()
    assert type(state) is OrderedDict
    assert list(state)[:3] == ["0.weight", "0.bias", "1.weight"]
    assert dict(state._metadata) == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}}
    again = pickle.loads(pickle.dumps(state))
    assert type(again) is OrderedDict and again._metadata == state._metadata


# -- .grad -----------------------------------------------------------------------------------
def warned(read: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert read() is None
    assert all(w.category is UserWarning and w.filename == __file__ for w in told)
    return [str(w.message) for w in told]


def test_reading_the_gradient_of_what_is_no_leaf_warns():
    x = tensorbus.ones(2, requires_grad=True)
    y = x * 2
    (text,) = warned(lambda: y.grad)
    assert "not a leaf Tensor" in text and "retain_grad()" in text
    y.sum().backward()
    assert len(warned(lambda: y.grad)) == 1
    assert x.grad.tolist() == [2.0, 2.0]


def test_reading_the_gradient_of_others_does_not_warn():
    x = tensorbus.ones(2, requires_grad=True)
    assert warned(lambda: x.grad) == warned(lambda: tensorbus.ones(2).grad) == []
    assert warned(lambda: (x * 2).detach().grad) == []
    retained = x * 2
    retained.retain_grad()
    assert warned(lambda: retained.grad) == []
    given = x * 2
    given.grad = tensorbus.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert given.grad.tolist() == [1.0, 1.0]
        retained.sum().backward()
        assert retained.grad.tolist() == [1.0, 1.0]


def test_a_gradient_can_be_deleted():
    x = tensorbus.ones(2, requires_grad=True)
    (x * x).sum().backward()
    del x.grad
    assert x.grad is None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# -- nodes -----------------------------------------------------------------------------------
class Half(tensorbus.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, g):
        return g / 2


def test_nodes_print_as_in_pytorch():
    x = tensorbus.ones(2, requires_grad=True)
    y = x + x
    assert repr(type(y.grad_fn)) == "<class 'AddBackward0'>"
    assert repr(y.grad_fn).startswith("<AddBackward0 object at 0x")
    leaf = y.grad_fn.next_functions[0][0]
    assert repr(type(leaf)) == "<class 'AccumulateGrad'>"
    assert leaf.name() == "torch::autograd::AccumulateGrad"
    h = Half.apply(x)
    assert repr(type(h.grad_fn)) == "<class 'tensorbus.autograd.function.HalfBackward'>"
    assert h.grad_fn.name() == "HalfBackward"
    assert repr(h) == "tensor([0.5000, 0.5000], grad_fn=<HalfBackward>)"
    y[0] = 3
    assert type(y.grad_fn).__name__ == "CopySlices"
    assert repr(y) == "tensor([3., 2.], grad_fn=<CopySlices>)"
