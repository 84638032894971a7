"""Names that programs of the last years import from PyTorch's inner modules."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import nn
from tensorbus.func import functorch
from tensorbus.utils import parts_of_utils as _utils


def test_flat_tensors_are_cut_as_they_were_put_together() -> None:
    parts = [torch.arange(6.0).reshape(2, 3), torch.tensor(6.0), torch.arange(7.0, 9.0)]
    flat = _utils._flatten_dense_tensors(parts)
    assert flat.tolist() == list(range(9))
    again = _utils._unflatten_dense_tensors(flat, parts)
    assert [t.shape for t in again] == [t.shape for t in parts]
    again[2].zero_()
    assert flat.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0]
    assert _utils._flatten_dense_tensors(parts[:1]).data_ptr() == parts[0].data_ptr()
    assert list(_utils._accumulate([1, 2, 3])) == [1, 3, 6]


def test_tensors_are_taken_by_type_up_to_a_size() -> None:
    a, b, c = (torch.ones(n) for n in (2, 3, 1))
    d = torch.ones(1, dtype=torch.int64)
    taken = list(_utils._take_tensors([a, d, b, c], 16))
    assert [[id(t) for t in chunk] for chunk in taken] == [[id(a)], [id(b), id(c)], [id(d)]]
    ordered = _utils._reorder_tensors_as([a, b, c, d], [a, d, b, c])
    assert [id(t) for t in ordered] == [id(t) for t in (a, d, b, c)]


def test_exceptions_of_other_threads_are_raised_with_where_they_were() -> None:
    class Odd(Exception):
        def __init__(self, one: int, two: int):
            super().__init__(one, two)

    for raised, expected in ((ValueError("bad"), ValueError), (Odd(1, 2), RuntimeError)):
        try:
            raise raised
        except Exception:
            held = _utils.ExceptionWrapper(where="in thread 3")
        with pytest.raises(expected, match=r"Caught \w+ in thread 3.\nOriginal Traceback"):
            held.reraise()
    try:
        {}["a"]
    except KeyError:
        held = _utils.ExceptionWrapper(sys.exc_info())
    with pytest.raises(KeyError) as caught:
        held.reraise()
    assert "\n" in str(caught.value) and "\\n" not in str(caught.value)


def test_indices_of_devices() -> None:
    index = _utils._get_device_index
    assert index(3) == 3 and index("cuda:2") == 2 and index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
        index(torch.device("cpu"))
    with pytest.raises(ValueError, match="with a specified index or an integer, but got:None"):
        index(None)


def test_gradients_are_zeroed_as_before_1_8() -> None:
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    (x * 3).sum().backward()
    from tensorbus.autograd.gradcheck import zero_gradients

    zero_gradients([x, (y,)])
    assert x.grad.tolist() == [0.0, 0.0] and y.grad is None


def test_functions_that_may_write_to_their_input() -> None:
    class Round(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x, inplace):  # type: ignore[no-untyped-def]
            ctx.inplace = inplace
            if inplace:
                ctx.mark_dirty(x)
            return (x if inplace else x.clone()).round_()

        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def]
            return g, None

    x = torch.tensor([0.4, 1.6], requires_grad=True)
    for inplace in (False, True):
        made = Round.apply(x * 1, inplace)
        assert made.tolist() == [0.0, 2.0]
        assert torch.autograd.grad(made.sum(), x)[0].tolist() == [1.0, 1.0]


def test_storages_are_storages() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns once
        typed = torch.ones(1).storage()
    assert isinstance(typed, torch.Storage)
    assert isinstance(torch.ones(1).untyped_storage(), torch.storage._StorageBase)


def test_a_number_of_a_tensor_with_a_history_warns_in_two_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tensorbus._base.warning._SHOWN", set())
    with pytest.warns(UserWarning, match="unexpected behavior.\nConsider using tensor.detach"):
        float(torch.ones(1, requires_grad=True))


def test_moves_between_devices() -> None:
    from tensorbus.nn.parallel import _functions as moves

    x = torch.arange(6.0, requires_grad=True)
    parts = moves.Scatter.apply(["cpu", "cpu"], [2, 4], 0, x)
    assert [p.tolist() for p in parts] == [[0.0, 1.0], [2.0, 3.0, 4.0, 5.0]]
    assert [len(p) for p in moves.Scatter.apply(["cpu", "cpu"], None, 0, x)] == [3, 3]
    moves.Gather.apply("cpu", 0, *parts)[1:3].sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    copies = moves.Broadcast.apply(["cpu", "cpu"], x, x * 2)
    assert [c.sum().item() for c in copies] == [15.0, 30.0, 15.0, 30.0]
    sums = moves.ReduceAddCoalesced.apply("cpu", 2, *copies)
    assert [s.sum().item() for s in sums] == [30.0, 60.0] and moves._get_stream("cpu") is None


def test_a_job_without_a_group_has_no_default_group() -> None:
    from tensorbus.distributed.distributed_c10d import _get_default_group

    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        _get_default_group()
    assert torch.distributed.local.run(lambda: _get_default_group().size(), 2) == [2, 2]


def test_functions_are_chosen_by_an_argument() -> None:
    from tensorbus._jit_internal import Dict, List, Optional, boolean_dispatch, weak_module

    def both(x: int, y: bool = False) -> str:
        return f"both {x}"

    def one(x: int, y: bool = False) -> str:
        return f"one {x}"

    pick = boolean_dispatch("y", 1, False, both, one, __name__, "pick")
    assert [pick(1), pick(1, True), pick(1, y=True), pick(1, y=False)] == [
        "one 1", "both 1", "both 1", "one 1",
    ]  # fmt: skip
    assert (pick.__module__, pick.__name__) == (__name__, "pick")
    assert weak_module(nn.Linear) is nn.Linear and Optional[List[Dict[str, int]]] is not None


NAMES = {
    "_functorch.eager_transforms": "vjp jvp jacrev hessian",
    "_functorch.make_functional": "make_functional make_functional_with_buffers",
    "_six": "container_abcs string_classes int_classes inf PY3",
    "_vmap_internals": "vmap",
    "autograd.grad_mode": "_DecoratorContextManager",
    "cuda._utils": "_get_device_index",
    "nn.modules.linear": "_LinearWithBias",
    "optim.optimizer": "_params_t",
    "utils.data.dataloader": "_InfiniteConstantSampler",
}


@pytest.mark.parametrize("path", NAMES)
def test_names_are_there(path: str) -> None:
    module = importlib.import_module(f"tensorbus.{path}")
    assert all(getattr(module, name) is not None for name in NAMES[path].split())


class TestFunctorch:
    """The package of 1.11 to 2, on nets whose numbers NumPy gives."""

    def test_a_module_as_a_function_of_its_parameters(self) -> None:
        net = nn.Linear(2, 3)
        with pytest.warns(FutureWarning, match="`functorch.make_functional` is deprecated"):
            f, params = functorch.make_functional(net)
        assert all(
            p.requires_grad and p is not q for p, q in zip(params, net.parameters(), strict=True)
        )
        w, b = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 3.0])
        x = np.array([0.5, -1.0])
        out = f([torch.from_numpy(w), torch.from_numpy(b)], torch.from_numpy(x))
        assert np.allclose(out.numpy(), w @ x + b)
        with pytest.warns(FutureWarning, match=r"Please use `torch.func.grad` instead"):
            slope = functorch.grad(lambda p: f(p, torch.ones(2)).sum())(params)
        assert slope[0].tolist() == [[1.0, 1.0]] * 3 and slope[1].tolist() == [1.0] * 3
        with pytest.warns(FutureWarning):
            assert not functorch.make_functional(net, True)[1][0].requires_grad

    def test_buffers_are_written_to_where_the_module_writes(self) -> None:
        net = nn.BatchNorm1d(1)
        with pytest.warns(FutureWarning):
            f, params, buffers = functorch.make_functional_with_buffers(net)
        f(params, buffers, torch.tensor([[1.0], [3.0]]))
        assert buffers[0].item() == pytest.approx(0.2) and net.running_mean.item() == 0.0
        assert (f.param_names, f.buffer_names[0]) == (("weight", "bias"), "running_mean")
        with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="has buffers"):
            functorch.make_functional(net)

    def test_an_ensemble_runs_at_once(self) -> None:
        nets = [nn.Linear(2, 1) for _ in range(3)]
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        with pytest.warns(FutureWarning):
            f, params, buffers = functorch.combine_state_for_ensemble(nets)
            made = functorch.vmap(f, (0, 0, None))(params, buffers, x)
        for each, net in zip(made, nets, strict=True):
            wanted = x.numpy() @ net.weight.detach().numpy().T + net.bias.detach().numpy()
            assert np.allclose(each.detach().numpy(), wanted)
        for bad in (
            [],
            [nn.Linear(1, 1), nn.Identity()],
            [nn.Linear(1, 1), nn.Linear(1, 1).eval()],
        ):
            with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="Expected"):
                functorch.combine_state_for_ensemble(bad)

    def test_it_is_a_package_under_the_alias(self) -> None:
        program = (
            "import functorch, warnings; warnings.simplefilter('ignore'); import torch\n"
            "from functorch import make_functional, vmap, grad\n"
            "from torch._six import inf; from torch._utils import _flatten_dense_tensors\n"
            "print(vmap(grad(torch.sin))(torch.zeros(2)), functorch.__name__, inf)"
        )
        command = [sys.executable, "-m", "tensorbus.as_torch", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
        assert done.stdout == "tensor([1., 1.]) tensorbus.func.functorch inf\n", done.stderr
