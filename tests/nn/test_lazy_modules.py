"""Lazy modules beside PyTorch: shapes from the first input, states, errors, copies, conversions."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tensorbus
from tensorbus import nn

LAYERS = {
    "LazyLinear": ((3,), {}, (2, 5)),
    "LazyLinear unbiased": ((3, False), {}, (4, 2, 5)),
    "LazyConv1d": ((4, 3), {"padding": 1}, (2, 6, 8)),
    "LazyConv2d": ((4, (3, 2)), {"groups": 2, "stride": 2}, (2, 6, 8, 7)),
    "LazyConv2d unbatched": ((4, 3), {"padding": "same", "padding_mode": "reflect"}, (6, 8, 7)),
    "LazyConv3d": ((4, 2), {"dilation": 2, "bias": False}, (1, 2, 5, 6, 4)),
    "LazyConvTranspose1d": ((4, 3), {"stride": 2, "output_padding": 1}, (2, 6, 5)),
    "LazyConvTranspose2d": ((4, 3, 2, 1, 0, 2), {}, (2, 6, 5, 4)),
    "LazyConvTranspose3d": ((2, 2), {"bias": False}, (1, 3, 2, 3, 2)),
    "LazyBatchNorm1d": ((), {}, (4, 3)),
    "LazyBatchNorm2d": ((1e-3, 0.2), {}, (4, 3, 2, 2)),
    "LazyBatchNorm3d": ((), {"affine": False}, (2, 3, 2, 2, 2)),
    "LazyInstanceNorm1d": ((), {"track_running_stats": False}, (2, 3, 5)),
    "LazyInstanceNorm2d": ((), {"bias": False}, (2, 3, 4, 4)),
    "LazyInstanceNorm3d": ((), {}, (2, 3, 2, 3, 2)),
}


def tried(f):
    try:
        return repr(f())
    except Exception as error:
        return type(error).__name__, str(error)


def given(lib, shape):
    return lib.tensor(np.random.default_rng(1).normal(size=shape)).double()


@pytest.mark.parametrize("case", LAYERS)
def test_the_first_call_gives_shapes_and_then_it_is_an_ordinary_layer(case, oracle, device):
    name, (args, options, shape) = case.split()[0], LAYERS[case]

    def program(lib, device="cpu"):
        layer = getattr(lib.nn, name)(*args, **options)
        before = repr(layer), repr(layer.state_dict()), layer.has_uninitialized_params()
        layer = layer.double()
        x = given(lib, shape)
        layer(x)
        rng = np.random.default_rng(0)
        with lib.no_grad():
            for t in [*layer.parameters(), *layer.buffers()]:
                if t.is_floating_point():
                    t.copy_(lib.tensor(rng.uniform(0.2, 2, tuple(t.shape))))
        layer = layer.to(device) if device == "cpu" else layer.float().to(device)
        x = (x if device == "cpu" else x.float().to(device)).requires_grad_()
        out = layer(x)
        (out * out.detach()).sum().backward()
        grads = [x.grad, *(p.grad for p in layer.parameters())]
        states = [t.detach().cpu().double() for t in layer.state_dict().values()]
        after = repr(layer), type(layer).__name__, list(layer.state_dict())
        return before, after, [out.detach().cpu(), *(g.cpu() for g in grads), *states]

    ours, theirs = program(tensorbus, device), oracle(program)
    assert ours[0] == tuple(theirs[0])
    assert [*ours[1]] == [*theirs[1]]
    exact = device == "cpu"
    for mine, other in zip(ours[2], theirs[2], strict=True):
        # the device computes in float32: sums of some dozen products, normalised
        np.testing.assert_allclose(
            mine.double().numpy(), other.values, rtol=1e-9 if exact else 3e-4,
            atol=1e-11 if exact else 3e-4,
        )  # fmt: skip


def test_initial_values_are_drawn_as_the_ordinary_layer_s():
    tensorbus.manual_seed(3)
    lazy = nn.LazyLinear(4)
    lazy(tensorbus.ones(1, 9))
    tensorbus.manual_seed(3)
    layer = nn.Linear(9, 4)
    assert lazy.weight.tolist() == layer.weight.tolist()
    assert lazy.bias.tolist() == layer.bias.tolist()
    norm = nn.LazyBatchNorm1d()
    norm.eval()(tensorbus.ones(2, 3))
    assert [t.tolist() for t in norm.state_dict().values()] == [
        [1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1], 0,
    ]  # fmt: skip


def test_what_an_uninitialised_parameter_does_and_refuses(oracle):
    def program(lib):
        n = lib.nn
        p, b = n.UninitializedParameter(), n.UninitializedBuffer(dtype=lib.float64)
        base = lib.nn.parameter.UninitializedTensorMixin
        facts = [
            repr(p), repr(b), p.requires_grad, b.requires_grad, str(p.dtype), str(b.dtype),
            isinstance(p, n.Parameter), isinstance(b, n.Buffer), isinstance(p, base),
            n.parameter.is_lazy(b), n.parameter.is_lazy(n.Parameter()), p.grad is None, p.is_leaf,
            str(p.device), list(p.size()), b.persistent,
        ]  # fmt: skip
        refused = [
            tried(lambda: p.shape),
            tried(lambda: p.share_memory_()),
            *(
                (type_, text.split(" in <")[0], text.split(">")[-1][-150:])
                for type_, text in [
                    tried(lambda: p + 1),
                    tried(lambda: lib.add(p, 1)),
                    tried(lambda: p.dim()),
                    tried(lambda: n.init.zeros_(p)),
                    tried(lambda: n.functional.linear(lib.ones(2, 2), p)),
                    tried(lambda: b.requires_grad_()),
                ]
            ),
        ]
        p.materialize((2, 3), dtype=lib.float64)
        b.materialize([4])
        made = [type(p).__name__, type(b).__name__, list(p.shape), list(b.shape)]
        return facts, refused, [*made, str(p.dtype), str(b.dtype), p.requires_grad]

    ours, theirs = program(tensorbus), oracle(program)
    assert ours[0] == list(theirs[0])
    assert [tuple(r) for r in ours[1]] == [tuple(r) for r in theirs[1]]
    assert ours[2] == list(theirs[2])


def test_states_go_between_modules_that_know_their_shapes_and_those_that_do_not(oracle):
    def program(lib):
        n = lib.nn
        known = n.Linear(2, 3)
        lazy = n.LazyLinear(3)
        found = [
            tried(lambda: lazy.load_state_dict(n.LazyLinear(3).state_dict())),
            tried(lambda: n.Linear(2, 3).load_state_dict(n.LazyLinear(3).state_dict())),
            tried(lambda: n.LazyLinear(3, bias=False).load_state_dict(known.state_dict())),
            repr(lazy.load_state_dict(known.state_dict())),
            lib.equal(lazy.weight, known.weight),
            repr(lazy),
            lazy.has_uninitialized_params(),
            tried(lambda: lazy(lib.ones(1, 5))),
            tuple(lazy(lib.ones(1, 2)).shape),
            repr(lazy),
        ]
        norm, full = n.LazyBatchNorm2d(), n.BatchNorm2d(3)
        full.running_mean.fill_(2)
        norm.load_state_dict(full.state_dict())
        assigned = n.LazyLinear(3)
        given = known.state_dict()
        assigned.load_state_dict(given, assign=True)
        return [*found, norm.running_mean.tolist(), tuple(assigned.weight.shape)]

    assert program(tensorbus) == list(oracle(program))


def test_errors_of_first_calls(oracle):
    def program(lib):
        n = lib.nn

        class Bare(n.modules.lazy.LazyModuleMixin, n.Linear):
            def __init__(self):
                super().__init__(0, 0)
                self.weight = n.UninitializedParameter()

        class Forgetful(Bare):
            def initialize_parameters(self, x):
                pass

        ones = lib.ones
        return [
            tried(lambda: Bare()(ones(1))),
            tried(lambda: Forgetful()(ones(1))),
            tried(lambda: n.LazyConv2d(4, 3)(ones(2, 4))),
            tried(lambda: n.LazyConvTranspose2d(4, 3)(ones(1, 4))),
            tried(lambda: n.LazyConv2d(4, 3, groups=2)(ones(1, 3, 4, 4))),
            tried(lambda: n.LazyBatchNorm2d()(ones(2, 3))),
            tried(lambda: n.LazyInstanceNorm1d()(ones(2, 4))),
            tried(lambda: n.LazyLinear(2).share_memory()),
            tried(lambda: n.LazyLinear(2)._replicate_for_data_parallel()),
        ]

    assert [tuple(r) for r in program(tensorbus)] == [tuple(r) for r in oracle(program)]


def test_hooks_run_after_the_shapes_are_known_and_keywords_reach_the_initialiser(oracle):
    def program(lib):
        n, seen = lib.nn, []

        class Scale(n.modules.lazy.LazyModuleMixin, n.Module):
            def __init__(self):
                super().__init__()
                self.scale = n.UninitializedParameter()

            def initialize_parameters(self, x, flag=None):
                seen.append(("initialise", flag))
                self.scale.materialize((x.shape[-1],))

            def forward(self, x, flag=None):
                return (x * self.scale).shape

        module = Scale()
        module.register_forward_pre_hook(lambda m, a: seen.append(("hook", list(m.scale.shape))))
        module(lib.ones(2, 3), flag=7)
        module(lib.ones(2, 3), flag=8)
        return [*map(list, seen), type(module).__name__, len(module._forward_pre_hooks)]

    assert program(tensorbus) == [list(x) if isinstance(x, tuple) else x for x in oracle(program)]


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))]
)
def test_copies_are_lazy_and_apart(copied):
    net = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()).double()
    twin = copied(net)
    twin(tensorbus.ones(2, 4, dtype=twin[0].weight.dtype))
    assert [tuple(p.shape) for p in twin.parameters()] == [(3, 4), (3,), (3,), (3,)]
    assert net[0].has_uninitialized_params() and net[1].has_uninitialized_params()
    assert [type(m).__name__ for m in net] == ["LazyLinear", "LazyBatchNorm1d"]


def test_files_keep_them_under_pytorch_s_name():
    file = io.BytesIO()
    tensorbus.save(nn.LazyBatchNorm1d().state_dict(), file)
    assert b"torch.nn.parameter\nUninitializedBuffer" in file.getvalue()
    file.seek(0)
    state = tensorbus.load(file, weights_only=False)
    assert [nn.parameter.is_lazy(v) for v in state.values()] == [True, True, True, True, False]


def test_optimisers_take_them_and_step_once_they_have_values():
    net = nn.LazyLinear(2)
    optimizer = tensorbus.optim.SGD(net.parameters(), lr=1.0)
    before = net.weight
    net(tensorbus.ones(1, 3)).sum().backward()
    start = net.weight.tolist()
    optimizer.step()
    assert net.weight is before
    np.testing.assert_allclose(net.weight.tolist(), np.subtract(start, 1), rtol=0, atol=1e-6)


def test_devices_and_dtypes_before_the_first_call(device):
    layer = nn.LazyConv1d(2, 1, device=device)
    assert layer.weight.device.type == device
    assert layer(tensorbus.ones(1, 3, 4, device=device)).device.type == device
    moved = nn.LazyBatchNorm1d().to(device).half()
    assert (moved.running_mean.device.type, moved.weight.dtype) == (device, tensorbus.float16)
    assert moved.num_batches_tracked.dtype is tensorbus.int64


def test_a_program_without_them_has_no_class_that_overrides():
    code = (
        "import tensorbus.nn as nn\n"
        "from tensorbus._base.modes import OVERRIDES\n"
        "assert not nn.parameter.is_lazy(nn.Linear(1, 1).weight) and not OVERRIDES.on\n"
        "assert not issubclass(nn.UninitializedParameter, nn.UninitializedBuffer)\n"
        "assert not OVERRIDES.on\n"
        "nn.LazyLinear(2)\n"
        "assert OVERRIDES.on"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pytorch_s_modules_have_the_names_of_their_layers():
    from tensorbus.nn.modules import LSTM, Linear, utils
    from tensorbus.nn.modules.batchnorm import LazyBatchNorm2d
    from tensorbus.nn.modules.conv import LazyConv2d
    from tensorbus.nn.modules.loss import CTCLoss

    assert (LSTM, Linear, CTCLoss) == (nn.LSTM, nn.Linear, nn.CTCLoss)
    assert (LazyBatchNorm2d, LazyConv2d) == (nn.LazyBatchNorm2d, nn.LazyConv2d)
    assert utils.__name__ == "tensorbus.nn.modules.utils"
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        from tensorbus.nn.modules import Nonsense  # noqa: F401


def test_the_older_container_warns():
    with pytest.warns(FutureWarning, match="`nn.Container` is deprecated"):
        made = nn.Container(a=nn.Linear(1, 2))
    assert isinstance(made.a, nn.Linear)
