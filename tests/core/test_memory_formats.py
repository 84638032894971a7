"""Memory formats: which strides tensors are made with, and which ops keep the channels last.

The strides are PyTorch's: where it is installed, the same table is run beside it.
"""

from __future__ import annotations

import importlib
import pickle
import types
import warnings
from typing import Any

import pytest

import tensorbus

# x has its channels last; y is row-major
KEPT = {
    "x + x": (60, 1, 15, 3),
    "x + 1": (60, 1, 15, 3),
    "x * torch.ones(3, 1, 1)": (60, 1, 15, 3),
    "x + y": (60, 1, 15, 3),
    "y + x": (60, 20, 5, 1),
    "x > 1": (60, 1, 15, 3),
    "x.double()": (60, 1, 15, 3),
    "x.clone()": (60, 1, 15, 3),
    "x.contiguous()": (60, 20, 5, 1),
    "x.exp()": (60, 1, 15, 3),
    "torch.where(x > 1, x, 0.0)": (60, 1, 15, 3),
    "x.sum(1, keepdim=True)": (20, 20, 5, 1),
    "x.softmax(1)": (60, 20, 5, 1),
    "x.cumsum(1)": (60, 20, 5, 1),
    "x.sort(1)[0]": (60, 1, 15, 3),
    "x.sort(1)[1]": (60, 1, 15, 3),
    "x.flip(1)": (60, 1, 15, 3),
    "x.roll(1, 1)": (60, 1, 15, 3),
    "x.repeat(1, 2, 1, 1)": (120, 20, 5, 1),
    "torch.cat([x, x])": (60, 1, 15, 3),
    "torch.cat([x, x], 1)": (120, 1, 30, 6),
    "torch.cat([x, y], 1)": (120, 20, 5, 1),
    "torch.cat([y, x], 1)": (120, 20, 5, 1),
    "torch.stack([x, x])": (120, 60, 1, 15, 3),
    "torch.stack([x, x], 1)": (120, 3, 1, 30, 6),
    "torch.stack([x, x], -1)": (120, 40, 10, 2, 1),
    "x[[0, 1]]": (60, 1, 15, 3),
    "x[:, [0, 1]]": (40, 20, 5, 1),
    "x[:, :, [0, 1]]": (30, 1, 3, 6),
    "x[[0, 1], :, [0, 1]]": (15, 1, 3),
    "x[torch.zeros(2, 2, dtype=torch.int64)]": (120, 60, 1, 15, 3),
    "x[torch.zeros(2, 3, dtype=torch.int64).t()]": (60, 180, 1, 15, 3),
    "x.index_select(0, torch.tensor([0, 1]))": (60, 20, 5, 1),
    "x.index_put((torch.tensor([0]),), x[0])": (60, 1, 15, 3),
    "x.index_fill(1, torch.tensor([0]), 2.0)": (60, 1, 15, 3),
    "x.masked_fill(x > 1, 0)": (60, 20, 5, 1),
    "x.masked_scatter(x > 1, x)": (60, 20, 5, 1),
    "torch.complex(x, x)": (60, 1, 15, 3),
    "torch.cross(x, x, dim=1)": (60, 20, 5, 1),
    "torch.renorm(x, 2, 0, 1.0)": (60, 20, 5, 1),
    "x.renorm_(2, 0, 1.0)": (60, 1, 15, 3),
    "F.relu(x)": (60, 1, 15, 3),
    "F.logsigmoid(x)": (60, 20, 5, 1),
    "F.glu(torch.cat([x, x], 1), 1)": (60, 1, 15, 3),
    "F.dropout(x, 0.5)": (60, 1, 15, 3),
    "F.dropout2d(x, 0.5)": (60, 1, 15, 3),
    "F.conv2d(x, torch.ones(4, 3, 1, 1))": (80, 1, 20, 4),
    "F.conv2d(x, torch.ones(4, 3, 1, 1), torch.ones(4))": (80, 1, 20, 4),
    "F.conv2d(y, torch.ones(4, 3, 2, 2).to(memory_format=torch.channels_last))": (48, 1, 16, 4),
    "F.conv2d(x, torch.ones(3, 1, 2, 2), groups=3)": (36, 1, 12, 3),
    "F.conv2d(x.double(), torch.ones(4, 3, 3, 3).double(), padding=1, stride=2)": (24, 1, 12, 4),
    "F.conv2d(x[0], torch.ones(4, 3, 1, 1))": (20, 5, 1),
    "F.conv_transpose2d(x, torch.ones(3, 4, 2, 2), stride=2)": (320, 1, 40, 4),
    "F.avg_pool2d(x, 2)": (12, 1, 6, 3),
    "F.max_pool2d(x, 2)": (12, 1, 6, 3),
    "F.max_pool2d(x, 2, return_indices=True)[1]": (12, 1, 6, 3),
    "F.adaptive_avg_pool2d(x, 2)": (12, 1, 6, 3),
    "F.adaptive_avg_pool2d(x, 1)": (3, 1, 3, 3),
    "F.adaptive_max_pool2d(x, 2)": (12, 1, 6, 3),
    "F.batch_norm(x, torch.zeros(3), torch.ones(3))": (60, 1, 15, 3),
    "F.batch_norm(x, None, None, training=True)": (60, 1, 15, 3),
    "F.instance_norm(x)": (60, 20, 5, 1),
    "F.layer_norm(x, (5,))": (60, 20, 5, 1),
    "F.group_norm(x, 3)": (60, 1, 15, 3),
    "F.pad(x, (1, 1, 1, 1))": (126, 1, 21, 3),
    'F.pad(x, (1, 1, 1, 1), mode="reflect")': (126, 1, 21, 3),
    'F.pad(x, (1, 1, 1, 1), mode="replicate")': (126, 1, 21, 3),
    'F.pad(x, (1, 1, 1, 1), mode="circular")': (126, 42, 7, 1),
    "F.pixel_shuffle(torch.cat([x, x, x, x], 1), 2)": (240, 1, 30, 3),
    "F.pixel_unshuffle(x[:, :, :, :4], 2)": (48, 1, 24, 12),
    'F.smooth_l1_loss(x, x, reduction="none")': (60, 1, 15, 3),
    'F.binary_cross_entropy_with_logits(x, x, reduction="none")': (60, 1, 15, 3),
    "F.one_hot(x.long())": (120, 40, 10, 2, 1),
    "torch.empty_like(x)": (60, 1, 15, 3),
    "torch.full_like(x, 2)": (60, 1, 15, 3),
    "torch.rand_like(x)": (60, 1, 15, 3),
    "torch.randn_like(x)": (60, 1, 15, 3),
    "torch.randint_like(x, 3)": (60, 1, 15, 3),
    "torch.zeros_like(x, memory_format=torch.contiguous_format)": (60, 20, 5, 1),
}
MADE = {
    "torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)": (60, 1, 15, 3),
    "torch.empty(2, 3, 4, 5, 6, memory_format=torch.channels_last_3d)": (360, 1, 90, 18, 3),
    "torch.empty(2, 3, 4, 5, memory_format=torch.contiguous_format)": (60, 20, 5, 1),
    "y.to(memory_format=torch.channels_last)": (60, 1, 15, 3),
    "y.to(torch.float64, memory_format=torch.channels_last)": (60, 1, 15, 3),
    'y.to("cpu", memory_format=torch.channels_last)': (60, 1, 15, 3),
    "x.to(memory_format=torch.contiguous_format)": (60, 20, 5, 1),
    "x.to(memory_format=torch.preserve_format)": (60, 1, 15, 3),
    "x.to(torch.float64, memory_format=torch.contiguous_format)": (60, 20, 5, 1),
    "y.double(memory_format=torch.channels_last)": (60, 1, 15, 3),
    "y.float(memory_format=torch.channels_last)": (60, 1, 15, 3),
    "y.cpu(memory_format=torch.channels_last)": (60, 1, 15, 3),
    "y.type(torch.float64, memory_format=torch.channels_last)": (60, 1, 15, 3),
    "y.contiguous(memory_format=torch.channels_last)": (60, 1, 15, 3),
    "x.contiguous(memory_format=torch.channels_last)": (60, 1, 15, 3),
    "x[:, :2].contiguous(memory_format=torch.channels_last)": (40, 1, 10, 2),
    "y.contiguous(memory_format=torch.preserve_format)": (60, 20, 5, 1),
    "y.clone(memory_format=torch.channels_last)": (60, 1, 15, 3),
    "x.clone(memory_format=torch.contiguous_format)": (60, 20, 5, 1),
    "torch.zeros_like(y, memory_format=torch.channels_last)": (60, 1, 15, 3),
    "torch.randn_like(y, memory_format=torch.channels_last)": (60, 1, 15, 3),
    "torch.zeros(2, 1, 4, 5).to(memory_format=torch.channels_last)": (20, 1, 5, 1),
    "torch.zeros(2, 1, 4, 5).to(memory_format=torch.channels_last).clone()": (20, 1, 5, 1),
    "torch.zeros(2, 3, 1, 1).to(memory_format=torch.channels_last)": (3, 1, 3, 3),
    "F.conv2d(one, torch.ones(3, 1, 2, 2))": (36, 1, 12, 3),
    "torch.zeros(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d) * 2": (360, 1, 90, 18, 3),
    "F.conv3d(volumes, torch.ones(4, 3, 2, 1, 1))": (360, 1, 120, 24, 4),
    "F.conv_transpose3d(volumes, torch.ones(3, 4, 2, 1, 1))": (600, 1, 120, 24, 4),
    "torch.cat([torch.zeros(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d)] * 2, 1)": (
        720,
        1,
        180,
        36,
        6,
    ),
    "torch.zeros(120).resize_(2, 3, 4, 5, memory_format=torch.channels_last)": (60, 1, 15, 3),
    "torch.zeros(1).resize_(2, 3, 4, 5, memory_format=torch.channels_last)": (60, 1, 15, 3),
    "torch.empty_permuted((2, 3, 4), (0, 2, 1))": (12, 1, 3),
    "torch.nn.Conv2d(3, 4, 2).to(memory_format=torch.channels_last).weight": (12, 1, 6, 3),
}

RESIZED = {
    "torch.add(x, x, out=torch.empty(0))": (60, 1, 15, 3),
    "torch.add(x, y, out=torch.empty(0))": (60, 1, 15, 3),
    "torch.add(y, x, out=torch.empty(0))": (60, 20, 5, 1),
    "torch.exp(x, out=torch.empty(0))": (60, 1, 15, 3),
    "torch.exp(x, out=torch.empty(200)[:0])": (60, 1, 15, 3),
    "torch.exp(x[0].mT, out=torch.empty(2))": (1, 3, 15),
    "torch.exp(x, out=torch.empty(2, 3, 4, 5))": (60, 20, 5, 1),
    "torch.exp(y, out=torch.empty_like(x))": (60, 1, 15, 3),
    "torch.eq(x, x, out=torch.empty(0, dtype=torch.bool))": (60, 1, 15, 3),
    "torch.where(x > 1, x, x, out=torch.empty(0))": (60, 1, 15, 3),
    "torch.cat([x, x], out=torch.empty(0))": (60, 1, 15, 3),
    "torch.sort(x, 1, out=(torch.empty(0), torch.empty(0, dtype=torch.int64)))[1]": (
        60,
        1,
        15,
        3,
    ),
    "torch.softmax(x, 1, out=torch.empty(0))": (60, 20, 5, 1),
    "torch.cumsum(x, 1, out=torch.empty(0))": (60, 20, 5, 1),
    "torch.renorm(x, 2, 0, 1.0, out=torch.empty(0))": (60, 20, 5, 1),
}
"""Results that are put into a tensor of another shape give it their strides, too."""

REFUSED = {
    "torch.empty(2, 3, memory_format=torch.channels_last)": "RuntimeError",
    "torch.empty(2, 3, 4, 5, memory_format=torch.channels_last_3d)": "RuntimeError",
    "torch.empty(2, memory_format=torch.preserve_format)": "RuntimeError",
    "torch.empty(2, memory_format='channels_last')": "TypeError",
    "torch.empty(2, 3, 4, 5, out=y, memory_format=torch.channels_last)": "RuntimeError",
    "y[0].contiguous(memory_format=torch.channels_last)": "RuntimeError",
    "y.t().contiguous(memory_format=torch.preserve_format)": "RuntimeError",
    "x.contiguous(memory_format=torch.preserve_format)": "RuntimeError",
    "y[0].clone(memory_format=torch.channels_last)": "RuntimeError",
    "y[0].to(memory_format=torch.channels_last)": "RuntimeError",
    "y.to(memory_format=3)": "TypeError",
    "y.contiguous(torch.channels_last)": "TypeError",
    "y.is_contiguous(memory_format='x')": "TypeError",
    "y.half(memory_format=torch.channels_last_3d)": "RuntimeError",
    "torch.zeros_like(y[0], memory_format=torch.channels_last)": "RuntimeError",
    "y.resize_(2, 3, memory_format=torch.channels_last)": "RuntimeError",
    "torch.memory_format()": "TypeError",
}


def names(torch: Any) -> dict[str, Any]:
    """What the programs name."""
    functional = importlib.import_module(f"{torch.__name__}.nn.functional")
    x = torch.arange(120.0).reshape(2, 4, 5, 3).permute(0, 3, 1, 2) / 60
    one = torch.zeros(2, 1, 4, 5).to(memory_format=torch.channels_last)
    return {
        "torch": torch, "F": functional, "x": x, "y": torch.zeros(2, 3, 4, 5), "one": one,
        "volumes": torch.zeros(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d),
    }  # fmt: skip


def strides(torch: Any, programs: dict[str, Any]) -> dict[str, Any]:
    return {program: tuple(eval(program, names(torch)).stride()) for program in programs}


def error(torch: Any, program: str) -> str:
    """The built-in class of a program's error."""
    try:
        eval(program, names(torch))
    except Exception as e:
        return next(c.__name__ for c in type(e).__mro__ if c.__module__ == "builtins")
    return ""


@pytest.mark.parametrize("program", KEPT)
def test_ops_keep_the_channels_last_as_pytorch_does(program):
    assert strides(tensorbus, {program: ()}) == {program: KEPT[program]}


@pytest.mark.parametrize("program", MADE)
def test_formats_asked_for_give_pytorchs_strides(program):
    assert strides(tensorbus, {program: ()}) == {program: MADE[program]}


@pytest.mark.parametrize("program", RESIZED)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_what_is_resized_for_a_result_gets_its_strides(program):
    assert strides(tensorbus, {program: ()}) == {program: RESIZED[program]}


def test_values_are_written_by_the_strides_of_the_result(device):
    x = tensorbus.arange(6.0, device=device).reshape(2, 3).t()
    out = tensorbus.empty(0, device=device)
    held = tensorbus.neg(x, out=out)
    assert held is out and out.stride() == (1, 3) and not out.is_contiguous()
    assert out.tolist() == [[0, -3], [-1, -4], [-2, -5]]
    assert out.untyped_storage().nbytes() == 24
    room = tensorbus.zeros(8, device=device)
    part = room[2:3]
    with pytest.warns(UserWarning, match="was resized"):
        tensorbus.neg(x, out=part)
    assert part.stride() == (1, 3) and part.storage_offset() == 2
    assert room.tolist() == [0, 0, -0.0, -1, -2, -3, -4, -5]


@pytest.mark.parametrize("program", REFUSED)
def test_formats_that_do_not_go_with_a_tensor_are_refused(program):
    assert error(tensorbus, program) == REFUSED[program]


def test_the_tables_are_pytorchs(live_torch):
    torch = live_torch
    torch.set_num_threads(max(2, torch.get_num_threads()))  # by one thread conv3d is row-major
    assert strides(torch, KEPT) == KEPT
    assert strides(torch, MADE) == MADE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert strides(torch, RESIZED) == RESIZED
    assert {program: error(torch, program) for program in REFUSED} == REFUSED


WITHOUT_CHANCE = [p for p in KEPT if not any(w in p for w in ("drop", "rand", "empty"))]


@pytest.mark.parametrize("program", WITHOUT_CHANCE)
def test_values_do_not_depend_on_the_format(program):
    """The same program over a row-major tensor of the same values gives the same values."""
    given = names(tensorbus)
    laid_out = eval(program, given)
    row_major = eval(program, {**given, "x": given["x"].contiguous()})
    assert laid_out.shape == row_major.shape
    assert tensorbus.allclose(
        tensorbus.view_as_real(laid_out) if laid_out.is_complex() else laid_out.double(),
        tensorbus.view_as_real(row_major) if row_major.is_complex() else row_major.double(),
        rtol=1e-6,
    )


def test_what_is_contiguous_depends_on_the_format():
    x, y = names(tensorbus)["x"], names(tensorbus)["y"]
    last = tensorbus.channels_last
    assert not x.is_contiguous() and x.is_contiguous(memory_format=last)
    assert y.is_contiguous() and not y.is_contiguous(memory_format=last)
    assert not y[0].is_contiguous(memory_format=last)
    assert not x.is_contiguous(memory_format=tensorbus.channels_last_3d)
    one = tensorbus.zeros(2, 1, 4, 5)  # one channel is last and is not
    assert one.is_contiguous() and one.is_contiguous(memory_format=last)


def test_a_tensor_that_has_the_format_is_not_copied():
    x, y = names(tensorbus)["x"], names(tensorbus)["y"]
    assert x.contiguous(memory_format=tensorbus.channels_last) is x
    assert x.to(memory_format=tensorbus.channels_last) is x
    assert y.contiguous(memory_format=tensorbus.contiguous_format) is y
    assert y.to("cpu", memory_format=tensorbus.preserve_format) is y
    assert x.to(memory_format=tensorbus.channels_last, copy=True) is not x


def test_gradients_pass_through_formats_and_lie_as_their_leaf_does():
    leaf = tensorbus.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    for made, node in (
        (leaf.contiguous(memory_format=tensorbus.channels_last), "CloneBackward0"),
        (leaf.clone(memory_format=tensorbus.channels_last), "CloneBackward0"),
        (leaf.to(memory_format=tensorbus.channels_last), "ToCopyBackward0"),
    ):
        leaf.grad = None
        assert made.grad_fn.name() == node
        (made * tensorbus.arange(24.0).reshape(1, 2, 3, 4)).sum().backward()
        assert leaf.grad.flatten().tolist() == list(range(24))
        assert leaf.grad.stride() == (24, 12, 4, 1)
    last = leaf.detach().to(memory_format=tensorbus.channels_last).requires_grad_()
    (last * leaf.detach()).sum().backward()
    assert last.grad.stride() == last.stride() == (24, 1, 8, 2)
    assert last.grad.flatten().tolist() == list(range(24))


def test_a_module_trains_with_its_channels_last():
    def trained(format: Any) -> tuple[Any, Any]:
        tensorbus.manual_seed(0)
        net = tensorbus.nn.Sequential(
            tensorbus.nn.Conv2d(3, 4, 3, padding=1), tensorbus.nn.BatchNorm2d(4),
            tensorbus.nn.ReLU(), tensorbus.nn.MaxPool2d(2), tensorbus.nn.Conv2d(4, 2, 1),
        ).to(memory_format=format)  # fmt: skip
        x = tensorbus.randn(2, 3, 4, 4).to(memory_format=format)
        y = net(x)
        y.square().mean().backward()
        return y, net[0].weight

    y, weight = trained(tensorbus.channels_last)
    assert y.stride() == (8, 1, 4, 2)
    assert weight.stride() == weight.grad.stride() == (27, 1, 9, 3)
    plain, same = trained(tensorbus.contiguous_format)
    assert plain.stride() == (8, 4, 2, 1)
    assert tensorbus.allclose(y, plain, atol=1e-6)
    assert tensorbus.allclose(weight.grad, same.grad, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged contiguous_format "
    "preserve_format channels_last channels_last_3d".split(),
)
def test_formats_and_layouts_are_constants_that_pickle(name):
    constant = getattr(tensorbus, name)
    assert pickle.loads(pickle.dumps(constant)) is constant
    assert repr(constant) == f"torch.{name}"
    assert not isinstance(constant, types.FunctionType)
