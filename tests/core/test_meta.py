"""The device ``meta``: programs run on shapes, dtypes and strides alone."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import tensorbus as torch
from tensorbus import discovery, nn

PROGRAMS = {
    "torch.empty(2, 3, device='meta')": "tensor(..., device='meta', size=(2, 3))",
    "torch.tensor([1, 2], device='meta:1')": (
        "tensor(..., device='meta', size=(2,), dtype=torch.int64)"
    ),
    "torch.ones(()).to('meta')": "tensor(..., device='meta', size=())",
    "torch.empty(0, device='meta')": "tensor(..., device='meta', size=(0,))",
    "nn.Parameter(x)": (
        "Parameter containing:\ntensor(..., device='meta', size=(2, 3), requires_grad=True)"
    ),
    "x * torch.ones((), requires_grad=True)": (
        "tensor(..., device='meta', size=(2, 3), grad_fn=<MulBackward0>)"
    ),
    "x.bfloat16() + torch.ones(2, 1, dtype=torch.complex64, device='meta')": (
        "tensor(..., device='meta', size=(2, 3), dtype=torch.complex64)"
    ),
    "(x.device, x.device.index, x.get_device(), x.is_meta, torch.ones(1).is_meta)": (
        "(device(type='meta'), None, -1, True, False)"
    ),
    "torch.device('meta', 0)": "device(type='meta', index=0)",
    "(x.data_ptr(), x.untyped_storage().data_ptr(), x.untyped_storage().nbytes())": "(0, 0, 24)",
    "x.untyped_storage()": "...\n[torch.storage.UntypedStorage(device=meta) of size 24]",
    "x.untyped_storage().copy_(torch.ones(6).untyped_storage()).nbytes()": "24",
    "x.t()[1:].stride()": "(1, 3)",
    "x.copy_(torch.ones(3)).shape": "torch.Size([2, 3])",
    "x.add_(1.5).mul_(2).shape": "torch.Size([2, 3])",
    "torch.add(x, 1, out=torch.empty(0, device='meta')).shape": "torch.Size([2, 3])",
    "x[i].shape, x[:, i].stride()": "(torch.Size([3, 3]), (3, 1))",
    "i // 0": "tensor(..., device='meta', size=(3,), dtype=torch.int64)",
    "torch.sort(x, 1).indices.dtype": "torch.int64",
    "torch.histc(x, 7).shape": "torch.Size([7])",
    "torch.gcd(i, i).shape": "torch.Size([3])",
    "torch.multinomial(x, 2).shape": "torch.Size([2, 2])",
    "torch.bernoulli(x).shape": "torch.Size([2, 3])",
    "torch.repeat_interleave(x, i[:2], 0, output_size=7).shape": "torch.Size([7, 3])",
    "nn.functional.one_hot(i, 5).shape": "torch.Size([3, 5])",
    "nn.functional.binary_cross_entropy(x, x).shape": "torch.Size([])",
    "torch.searchsorted(x[0], x[0], sorter=i).shape": "torch.Size([3])",
    "torch.accelerator.current_accelerator() == torch.device('meta')": "False",
    "torch.testing.assert_close(x, x)": "None",
    "s.item()": "RuntimeError: Tensor.item() cannot be called on meta tensors",
    "bool(s)": "RuntimeError: Tensor.item() cannot be called on meta tensors",
    "float(s)": "RuntimeError: Tensor.item() cannot be called on meta tensors",
    "3.0 in x": "RuntimeError: Tensor.item() cannot be called on meta tensors",
    "x.item()": "RuntimeError: a Tensor with 6 elements cannot be converted to Scalar",
    "torch.allclose(x, x)": "RuntimeError: Tensor.item() cannot be called on meta tensors",
    "format(s, '.2f')": "TypeError: unsupported format string passed to Tensor.__format__",
    "x.tolist()": "NotImplementedError: Cannot copy out of meta tensor; no data!",
    "x.cpu()": "NotImplementedError: Cannot copy out of meta tensor; no data!",
    "torch.ones(2, 3).copy_(x)": "NotImplementedError: Cannot copy out of meta tensor; no data!",
    "x.numpy(force=True)": "NotImplementedError: Cannot copy out of meta tensor; no data!",
    "x.numpy()": (
        "TypeError: can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the "
        "tensor to host memory first."
    ),
    "x.untyped_storage().tolist()": "NotImplementedError: Not available for 'meta' device type",
    "x.untyped_storage()[0]": "NotImplementedError: Not available for 'meta' device type",
    "torch.repeat_interleave(i)": (
        "RuntimeError: cannot repeat_interleave a meta tensor without output_size"
    ),
    "nn.Linear(2, 2, device='meta').to('cpu')": (
        "NotImplementedError: Cannot copy out of meta tensor; no data! Please use "
        "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from meta "
        "to a different device."
    ),
    "x.add_(torch.ones(2, 4, device='meta'))": "RuntimeError",
    "x @ x": "RuntimeError",
    "x + torch.ones(2, 3)": "RuntimeError",
    **dict.fromkeys(
        "torch.nonzero(x);torch.unique(x);torch.masked_select(x, x > 0);x[x > 0];torch.where(x);"
        "torch.bincount(i);torch.argwhere(x);torch.equal(x, x)".split(";"),
        "NotImplementedError",
    ),
}
"""Programs, and what they print or raise here as in PyTorch; of an error perhaps the type alone."""


def outcome(program: str, torch: Any, nn: Any) -> str:
    names = {
        "torch": torch,
        "nn": nn,
        "x": torch.empty(2, 3, device="meta"),
        "s": torch.empty((), device="meta"),
        "i": torch.empty(3, dtype=torch.int64, device="meta"),
    }
    try:
        return repr(eval(program, names))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_print_shapes_and_refuse_values(program: str) -> None:
    found, wanted = outcome(program, torch, nn), PROGRAMS[program]
    if wanted.endswith("Error"):
        found = found.partition(":")[0]
    assert found == wanted


def test_the_same_programs_in_pytorch(live_torch: Any) -> None:
    differing = {}
    for program, wanted in PROGRAMS.items():
        found = outcome(program, live_torch, live_torch.nn)
        if wanted.endswith("Error"):
            found = found.partition(":")[0]
        if found != wanted:
            differing[program] = found
    assert differing == {}


def test_sizes_that_no_memory_holds_cost_nothing() -> None:
    assert torch.randn(10**12, device="meta").exp().sum().shape == ()
    assert torch.randperm(10**12, device="meta").shape == (10**12,)
    layer = nn.Linear(10**6, 10**5, device="meta")
    x = torch.ones(10**6, 10**6, device="meta", requires_grad=True)
    y = nn.functional.dropout(layer(x))
    y.sum().backward()
    assert x.grad.shape == (10**6, 10**6) and layer.weight.grad.shape == (10**5, 10**6)
    assert layer.bias.grad.stride() == (1,) and y.stride() == (10**5, 1)
    with pytest.raises(torch.OutOfMemoryError, match="Storage size calculation overflowed"):
        torch.empty(2**61, device="meta")


def test_a_network_trains_in_shapes_and_gets_memory_later() -> None:
    with torch.device("meta"):
        net = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(8 * 15 * 15, 10),
        )  # fmt: skip
        x, y = torch.randn(4, 3, 32, 32), torch.zeros(4, dtype=torch.int64)
    optimiser = torch.optim.Adam(net.parameters())
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimiser.step()
    assert loss.shape == () and loss.is_meta and net[0].weight.grad.shape == (8, 3, 3, 3)
    assert all(p.device.type == "cpu" for p in net.to_empty(device="cpu").parameters())
    assert net(torch.ones(2, 3, 32, 32)).shape == (2, 10)


def test_state_is_assigned_to_a_module_without_data() -> None:
    source, target = nn.Linear(3, 2), nn.Linear(3, 2, device="meta")
    assert target.load_state_dict(source.state_dict(), assign=True).missing_keys == []
    assert target(torch.ones(1, 3)).tolist() == source(torch.ones(1, 3)).tolist()


def test_nothing_is_drawn_for_tensors_without_values() -> None:
    torch.manual_seed(3)
    wanted = torch.rand(2).tolist()
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(1)
    torch.randn(5, device="meta", generator=generator)
    nn.functional.dropout(nn.Linear(4, 4, device="meta")(torch.empty(2, 4, device="meta")))
    assert torch.rand(2).tolist() == wanted
    assert torch.equal(generator.get_state(), torch.Generator().manual_seed(1).get_state())


def test_a_file_keeps_shapes_and_strides_without_data() -> None:
    x = torch.empty(1000, 10**6, device="meta").t()
    file = io.BytesIO()
    torch.save({"x": x, "p": nn.Parameter(torch.empty(2, device="meta"))}, file)
    assert file.tell() < 5000
    file.seek(0)
    loaded = torch.load(file)
    for found in (loaded["x"], pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert (found.shape, found.stride(), found.is_meta) == (x.shape, x.stride(), True)
    assert loaded["p"].requires_grad and isinstance(loaded["p"], nn.Parameter)
    file = io.BytesIO()
    torch.save(torch.ones(2, 3), file)
    file.seek(0)
    assert repr(torch.load(file, map_location="meta")) == "tensor(..., device='meta', size=(2, 3))"


def test_the_device_is_there_whatever_is_left_out(monkeypatch, fresh_discovery) -> None:
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu")
    discovery.reset()
    assert discovery.backend_names() == ["cpu", "meta"]
    assert torch.empty(2, device="meta").shape == (2,)
