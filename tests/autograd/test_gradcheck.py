"""``gradcheck`` and ``gradgradcheck``: each check passes what is right and finds what is wrong."""

from __future__ import annotations

import warnings
from typing import Any

import tensorbus

ALL = {
    "check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True,
    "check_grad_dtypes": True,
}  # fmt: skip


def squares(torch: Any, backward: float = 2, jvp: float = 2) -> Any:
    """x^2, with factors of its derivatives of which 2 is the right one."""

    class Square(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward * g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return jvp * t * ctx.saved_tensors[0]

    return Square.apply


def batched_wrongly(torch: Any, forward: bool) -> Any:
    """A function whose derivative, in a batch alone, is another."""

    class Batch(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(g: Any) -> Any:
            return g * 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

        @staticmethod
        def vmap(info: Any, in_dims: Any, g: Any) -> Any:
            return g * 2, in_dims[0]

    class Once(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g if forward else Batch.apply(g)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return Batch.apply(t)

    Once.generate_vmap_rule = True
    return Once.apply


def outcomes(torch: Any) -> dict[str, str]:
    check, twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    wide = {"dtype": torch.float64, "requires_grad": True}
    x = torch.tensor([0.5, 2.0, -1.0], **wide)
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    matrices = torch.ones(2, 2, **wide), torch.ones(3, 2, **wide)
    f32 = torch.ones(2, requires_grad=True)
    loose = {"atol": 0.1, "rtol": 0.1, "eps": 1e-3}

    def of_complex(x: Any) -> Any:
        return torch.view_as_complex(torch.stack([x, x * x], -1))

    calls = {
        "two results": lambda: check(lambda x: (x.sin() * x.sum(), x**3), x, **ALL),
        "complex": lambda: check(lambda z: z.exp() * z.abs(), z, **ALL),
        "complex results": lambda: check(of_complex, x, **ALL),
        "two inputs": lambda: check(lambda x, y: x @ y.t(), matrices, **ALL),
        "empty": lambda: check(lambda x: x * 2, torch.ones(0, **wide), **ALL),
        "fast": lambda: check(lambda x: x**2, x, fast_mode=True),
        "unknown": lambda: check(lambda x: x**2, x, foo=1),
        "neither": lambda: check(lambda x: x**2, x, check_backward_ad=False),
        "batched without backward": lambda: check(
            lambda x: x, x, check_backward_ad=False, check_forward_ad=True, check_batched_grad=True
        ),
        "batched without forward": lambda: check(
            lambda x: x * 2, x, check_batched_forward_grad=True
        ),
        "float32": lambda: check(lambda x: x**2, f32, **loose),
        "constant": lambda: check(lambda x: x.detach() * 1, x, check_forward_ad=True),
        "right": lambda: check(squares(torch), x, check_forward_ad=True),
        "wrong backward": lambda: check(squares(torch, backward=3), x),
        "wrong backward, not asked": lambda: check(
            squares(torch, backward=3), x, check_forward_ad=True, check_backward_ad=False
        ),
        "wrong jvp": lambda: check(squares(torch, jvp=3), x, check_forward_ad=True),
        "wrong jvp, not asked": lambda: check(squares(torch, jvp=3), x),
        "wrong jvp, told": lambda: check(
            squares(torch, jvp=3), x, check_forward_ad=True, raise_exception=False
        ),
        "gradients": lambda: twice(lambda x: x**3, x, check_batched_grad=True),
        "forward over backward": lambda: twice(
            lambda x: x**3, x, check_fwd_over_rev=True, check_batched_grad=True
        ),
        "forward over backward alone": lambda: twice(
            lambda x: x.exp() * x, x, check_fwd_over_rev=True, check_rev_over_rev=False,
            check_undefined_grad=False,
        ),
        "undefined without backward": lambda: twice(
            lambda x: x, x, check_fwd_over_rev=True, check_rev_over_rev=False
        ),
        "neither of both": lambda: twice(lambda x: x, x, check_rev_over_rev=False),
    }  # fmt: skip
    found = {}
    for name, call in calls.items():
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                found[name] = str(call())  # type: ignore[no-untyped-call]
            except (AssertionError, TypeError, RuntimeError) as error:
                found[name] = f"{type(error).__name__}: {error}".split("\n")[0]
        found[name] += "".join(
            f" ({w.message})" for w in warned if str(w.message).startswith("Input #")
        )
    return found


def test_checks_are_pytorchs(oracle: Any) -> None:
    assert outcomes(tensorbus) == oracle(outcomes)


def test_batches_of_gradients_are_compared_with_single_ones() -> None:
    x = tensorbus.ones(2, dtype=tensorbus.float64, requires_grad=True)
    backward, forward = (batched_wrongly(tensorbus, way) for way in (False, True))
    check = tensorbus.autograd.gradcheck
    assert check(backward, x) and check(forward, x, check_forward_ad=True)
    assert check(forward, x, check_batched_grad=True)
    for function, ways in (
        (backward, {"check_batched_grad": True}),
        (forward, {"check_forward_ad": True, "check_batched_forward_grad": True}),
    ):
        assert not check(function, x, raise_exception=False, **ways)


def test_grad_names_the_output_without_history_first(oracle: Any) -> None:
    def told(torch: Any) -> list[str]:
        texts = []
        x, y = torch.ones(2), torch.ones(2, requires_grad=True)
        for outputs, inputs in ((x, x), ([y.sum(), x.sum()], y), (y.sum(), x)):
            try:
                torch.autograd.grad(outputs, inputs)
            except RuntimeError as error:
                texts.append(str(error))
        return texts

    assert told(tensorbus) == oracle(told)
