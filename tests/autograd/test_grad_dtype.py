"""``grad_dtype``: the dtype of a leaf's ``.grad``, as PyTorch has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorbus


def leaf(torch: Any, dtype: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.grad_dtype = dtype
    return x


def shown(t: Any) -> Any:
    """What a tensor holds, or a dtype is called."""
    if isinstance(t, (list, tuple)):
        return [shown(v) for v in t]
    return (str(t.dtype), t.tolist()) if hasattr(t, "tolist") else str(t)


def accumulated(torch: Any) -> Any:
    x = leaf(torch, torch.float16)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(g.dtype))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.dtype))
    (x * 3 + x * 2).sum().backward()
    (x * x).sum().backward()
    return [x.grad, x.grad_dtype, *seen]


def assigned(torch: Any) -> Any:
    x = leaf(torch, torch.float64)
    x.grad = torch.ones(2, dtype=torch.float64)
    (x * 2).sum().backward()
    return x.grad


def assigned_to_any(torch: Any) -> Any:
    x = leaf(torch, None)
    x.grad = torch.ones(2, dtype=torch.float64)
    (x * 2).sum().backward()
    before = x.grad
    x.grad = torch.ones(2, dtype=torch.int64)
    return [before, x.grad, x.grad_dtype]


def complex_of_real(torch: Any) -> Any:
    x = leaf(torch, torch.complex64)
    (x * 2).sum().backward()
    return x.grad


def real_of_complex(torch: Any) -> Any:
    z = torch.tensor([1.0 + 2j], requires_grad=True)
    z.grad_dtype = torch.float32
    (z * z).abs().sum().backward()
    return z.grad.dtype


def by_grad(torch: Any) -> Any:
    x = leaf(torch, torch.float64)
    first = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    return [first, torch.autograd.grad(first[0].sum(), x)]


def with_graph(torch: Any) -> Any:
    x = leaf(torch, torch.float64)
    x.sum().backward()
    (x * x).sum().backward(create_graph=True)
    return [x.grad.detach(), x.grad.requires_grad, torch.autograd.grad(x.grad.sum(), x)]


def of_other_tensors(torch: Any) -> Any:
    x = leaf(torch, torch.float16)
    whole = torch.tensor([1, 2])
    found = [x.clone().detach().grad_dtype, torch.nn.Parameter(x).grad_dtype, whole.grad_dtype]
    x.requires_grad_(False)
    found.append(x.grad_dtype)
    x.requires_grad_()
    (x * 3).sum().backward()
    found.append(x.grad)
    x.data = x.data.double()
    return [*found, x.grad_dtype, leaf(torch, torch.float64).detach().grad_dtype]


def set_first(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    x.grad_dtype = torch.float64
    x.requires_grad_()
    (x * 3).sum().backward()
    return x.grad


def stepped(torch: Any) -> Any:
    x = leaf(torch, torch.float16)
    optimizer = torch.optim.SGD([x], lr=0.5)
    (x * x).sum().backward()
    optimizer.step()
    return x.detach()


PROGRAMS = (
    accumulated, assigned, assigned_to_any, complex_of_real, real_of_complex, by_grad, with_graph,
    of_other_tensors, set_first, stepped,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:Using backward:UserWarning", "ignore:Casting complex")
def test_gradients_have_the_dtype_that_a_leaf_wants(
    program: Callable[[Any], Any], oracle: Any
) -> None:
    assert shown(program(tensorbus)) == oracle(lambda torch: shown(program(torch)))


def read_of_a_result(torch: Any) -> Any:
    return (leaf(torch, None) * 2).grad_dtype


def set_of_a_result(torch: Any) -> Any:
    (leaf(torch, None) * 2).grad_dtype = torch.float16


def set_to_no_dtype(torch: Any) -> Any:
    leaf(torch, 3)


def set_beside_a_gradient(torch: Any) -> Any:
    x = leaf(torch, torch.float32)
    x.sum().backward()
    x.grad_dtype = None
    x.grad_dtype = torch.float32
    x.grad_dtype = torch.float64


def assigned_another(torch: Any) -> Any:
    leaf(torch, torch.float64).grad = torch.ones(2)


def assigned_from_elsewhere(torch: Any) -> Any:
    leaf(torch, None).grad = torch.ones(2, device="meta")


def hook_of_another(torch: Any) -> Any:
    x = leaf(torch, torch.float16)
    x.register_hook(lambda g: g.double())
    x.sum().backward()


REFUSED = (
    read_of_a_result, set_of_a_result, set_to_no_dtype, set_beside_a_gradient, assigned_another,
    assigned_from_elsewhere, hook_of_another,
)  # fmt: skip


def refusal(program: Callable[[Any], Any], torch: Any) -> str:
    """The error's class and how it begins, up to the dtypes, which are written another way."""
    try:
        program(torch)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).split(chr(39))[0]}"
    return "no error"


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")
def test_what_cannot_be_a_gradient_is_refused(program: Callable[[Any], Any], oracle: Any) -> None:
    assert refusal(program, tensorbus) == oracle(lambda torch: refusal(program, torch))


def test_gradients_have_no_integers():
    x = tensorbus.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"floating point or complex dtype.*torch\.int64"):
        x.grad_dtype = tensorbus.int64
