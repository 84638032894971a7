"""Out of memory is one error on every device, in the same words, and the next op works."""

import pickle
import traceback

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.plugin import Backend, IndexFault, OutOfMemoryError

PLACES = ["cpu", "strict", "null"]

REQUESTS = {
    "empty": ("torch.empty(2**58, device=d)", 2**60),
    "several sizes": ("torch.ones(2**29, 2**29, device=d)", 2**60),
    "int64": ("torch.full((2**58,), 3, device=d)", 2**61),
    "eye": ("torch.eye(2**29, device=d)", 2**60),
    "new": ("x.new_empty(2**58)", 2**60),
    "storage": ("torch.UntypedStorage(2**60, device=d)", 2**60),
    "strides": ("torch.empty_strided((2, 2), (2**58, 1), device=d)", (2**58 + 2) * 4),
    "resize": ("x.resize_(2**58)", 2**60),
    "clone": ("x.expand(2**58).clone()", 2**60),
    "unary": ("x.expand(2**58).exp()", 2**60),
    "binary": ("x.expand(2**58) + x.expand(2**58)", 2**60),
    "a number": ("x.expand(2**58) * 2", 2**60),
    "cast": ("x.expand(2**58).long()", 2**61),
    "broadcast": ("x.expand(2**29, 1) - x.expand(1, 2**29)", 2**60),
    "product": ("x.expand(2**27, 1) @ x.expand(1, 2**27)", 2**56),
    "cat": ("torch.cat([x.expand(2**58)] * 2)", 2**61),
    "repeat": ("x.repeat(2**58)", 2**60),
    "layer": ("torch.nn.Linear(2**29, 2**29, device=d)", 2**60),
}

BEYOND = [
    "torch.empty(2**62, device=d)",
    "torch.zeros(2**31, 2**31, 2**31, device=d)",
    "torch.eye(2**31, device=d)",
    "torch.arange(2**61, device=d)",
    "x.expand(2**40, 1) - x.expand(1, 2**40)",
    "x.repeat(2**62)",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("request_", REQUESTS)
def test_how_much_was_asked_and_where(place, request_):
    program, asked = REQUESTS[request_]
    x = torch.ones(1, device=place)
    with pytest.raises(torch.OutOfMemoryError) as caught:
        eval(program, {"torch": torch, "d": place, "x": x})
    text = str(caught.value)
    assert f"{place.upper()} out of memory. Tried to allocate " in text
    assert f" on device {x.device}" in text
    assert f"({asked} bytes)" in text
    assert type(caught.value) is torch.OutOfMemoryError is torch.cuda.OutOfMemoryError
    assert x.shape == (1,)
    y = x + x  # the device works on
    assert y.shape == (1,) and (place == "null" or y.item() == 2)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("program", BEYOND)
def test_more_than_can_be_addressed(place, program):
    x = torch.ones(1, device=place)
    with pytest.raises(torch.OutOfMemoryError, match="Storage size calculation overflowed"):
        eval(program, {"torch": torch, "d": place, "x": x})


def test_bytes_in_words():
    with pytest.raises(RuntimeError, match=r"Tried to allocate 1\.00 EiB \(1152921504606846976 b"):
        torch.empty(2**58)


@pytest.mark.parametrize(
    "call", ["torch.arange(2**58)", "torch.rand(2**58)", "torch.randperm(2**58)"]
)
def test_factories_that_compute(call):
    with pytest.raises(torch.OutOfMemoryError, match="on device cpu"):
        eval(call)


def test_in_place_leaves_the_tensor():
    x = torch.ones(4)
    y = x.expand(4).as_strided((2**58,), (0,))
    with pytest.raises(torch.OutOfMemoryError):
        x[0:1].mul_(y.add(1))
    assert x.tolist() == [1, 1, 1, 1]


def test_in_a_backward_pass():
    x = torch.ones(1, requires_grad=True)
    small = torch.ones(1)

    class Grows(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            np.empty(2**59)  # what a kernel of NumPy does

    for call in (lambda: Grows.apply(x).backward(), lambda: torch.autograd.grad(Grows.apply(x), x)):
        with pytest.raises(torch.OutOfMemoryError, match=f"{2**62} bytes"):
            call()
    assert x.grad is None and torch.is_grad_enabled()
    (x * small).backward()
    assert x.grad.tolist() == [1]


def test_other_errors_stay():
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2) + torch.ones(3)
    assert type(caught.value) is RuntimeError
    with pytest.raises(RuntimeError, match="negative"):
        torch.empty(-1)


def test_a_plugin_says_how_much():
    from tensorbus import discovery

    class Full(type(discovery.backend("strict"))):
        name = "full"

        def empty(self, shape, dtype, index):
            raise OutOfMemoryError(4096)

    assert issubclass(Full, Backend)
    with discovery.plugged(Full()) as place, pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(3, device=place)
    assert "Tried to allocate 4.00 KiB (4096 bytes) on device full" in str(caught.value)


def test_a_bad_index_prints_as_an_index_error():
    with pytest.raises(IndexFault) as caught:
        torch.ones(2)[torch.tensor([5])]
    printed = traceback.format_exception_only(caught.value)
    assert printed == ["IndexError: index 5 is out of bounds for dimension 0 with size 2\n"]
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is IndexFault and (again.value, again.dim, again.n) == (5, 0, 2)
