"""Programs on complex tensors that record, with what PyTorch 2.13 gives for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus

X = "x = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)\n"
R = "r = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)\n"

# Programs that leave their answers, lists of gradients or values, in ``found``.
PROGRAMS: dict[str, tuple[str, str]] = {
    "a square": (X, "found = grad((x * x).sum(), x, torch.tensor(1 + 1j))"),
    "a size, three times": (
        X,
        "g = grad((x.exp() * x).abs().sum(), x, create_graph=True)[0]\n"
        "h = grad(g.abs().sum(), x, create_graph=True)[0]\n"
        "found = g, h, grad(h.real.sum(), x)[0]",
    ),
    "a direction, three times": (
        X,
        "g = grad(x.sgn().imag.sum(), x, create_graph=True)[0]\n"
        "h = grad(g.abs().sum(), x, create_graph=True)[0]\n"
        "found = g, h, grad(h.real.sum(), x)[0]",
    ),
    "a real factor": (X + R, "found = grad((x * r + r.sum()).exp().abs().sum(), (x, r))"),
    "a real number of another precision": (
        X,
        "r = torch.tensor(2.0, requires_grad=True)\n"
        "found = grad((x * r).abs().sum(), (x, r))",
    ),
    "a real tensor written": (
        X + R,
        "y = x * 2\ny[0] = r[1]\ny.real.mul_(r)\nfound = grad((y * y).abs().sum(), (x, r))",
    ),
    "parts written": (X, "y = x * 1\ntorch.view_as_real(y)[0].exp_()\n"
                         "found = grad((y * y).real.sum(), x)"),
    "pairs written": (R, "y = r * 1\ntorch.view_as_complex(y).mul_(1 + 2j)\n"
                         "found = grad((y ** 3).sum(), r)"),
    "a view made before a write": (X, "y = x * 1\nv = y.imag\ny.mul_(2j)\n"
                                      "found = grad((v * v).sum(), x)"),
    "a view of a base reshaped in place": (
        X,
        "y = x * 1\nv = torch.view_as_real(y)\ny.unsqueeze_(0)\nv.mul_(3)\n"
        "found = grad((y * y).imag.sum(), x)",
    ),
    "pairs of a base reshaped in place": (
        R,
        "y = r * 1\nv = torch.view_as_complex(y)\ny.unsqueeze_(0)\nv.mul_(2j)\n"
        "found = grad((y ** 2).sum(), r)",
    ),
    "a hook": (X, "y = x * 2\ny.register_hook(lambda g: g * 1j)\nfound = grad(y.abs().sum(), x)"),
    "what is retained": (X, "y = x * 2\ny.retain_grad()\ny.abs().sum().backward()\n"
                            "found = y.grad, x.grad"),
    "what accumulates": (X, "x.abs().sum().backward()\nx.real.sum().backward()\nfound = (x.grad,)"),
    "numbers that are equal": (X, "found = grad((x * 0 + 1).std(), x)"),
    "a norm beside zeros": (
        "x = torch.tensor([1 + 2j, 0j], dtype=torch.complex128, requires_grad=True)\n",
        "g = grad(torch.linalg.vector_norm(x), x, create_graph=True)[0]\n"
        "found = g, grad((g * (1 - 1j)).real.sum(), x)[0]",
    ),
    "a power of a power": (X, "found = grad(((1 + 1j) ** x).real.sum(), x)"),
    "a layer": (X, "w = torch.tensor([[1j, 2], [1, 1 - 1j]], dtype=torch.complex128, "
                   "requires_grad=True)\n"
                   "found = grad(torch.nn.functional.linear(x, w).abs().sum(), (x, w))"),
    "several gradients": (X, "found = grad(x * x, x, torch.eye(2, dtype=torch.complex128), "
                             "is_grads_batched=True)"),
    "names": (X, "found = [f(x).grad_fn.name() for f in (torch.abs, torch.angle, torch.conj, "
                 "torch.sgn, torch.view_as_real, torch.std, torch.var, torch.conj_physical, "
                 "lambda x: torch.polar(x.real, x.imag), "
                 "lambda x: torch.complex(x.real, x.imag), torch.real)]"),
}  # fmt: skip

ANSWERS: dict[str, Any] = {
    "a square": [("torch.complex128", [(6 - 2j), (-1 + 3j)])],
    "a size, three times": [
        (
            "torch.complex128",
            [(7.293915540524217 + 2.4313051801747387j), (2.5806569860647235 - 1.4746611348941279j)],
        ),
        (
            "torch.complex128",
            [(9.610577570397792 + 1.9221155140795585j), (4.344093558795834 - 0.9145460123780702j)],
        ),
        (
            "torch.complex128",
            [(12.013221962997239 + 1.4415866355596687j), (5.997311350402346 - 0.4924478528189601j)],
        ),
    ],
    "a direction, three times": [
        (
            "torch.complex128",
            [
                (-0.17888543819998315 + 0.08944271909999159j),
                (0.3577708763999663 + 0.17888543819998318j),
            ],
        ),
        (
            "torch.complex128",
            [
                (0.11999999999999998 - 0.15999999999999998j),
                (0.4799999999999999 + 0.6399999999999999j),
            ],
        ),
        (
            "torch.complex128",
            [
                (-0.17599999999999993 - 0.031999999999999994j),
                (-1.4079999999999995 + 0.25599999999999995j),
            ],
        ),
    ],
    "a real factor": [
        (
            "torch.complex128",
            [
                (10.042768461593836 + 9.792614550984717e-16j),
                (66.23090391738462 - 1.9771279271897026e-15j),
            ],
        ),
        ("torch.float64", [73.28652580506765, 69.75871486122614]),
    ],
    "a real number of another precision": [
        (
            "torch.complex128",
            [
                (0.8944271909999159 + 1.7888543819998317j),
                (0.8944271909999159 - 1.7888543819998317j),
            ],
        ),
        ("torch.float32", 3.3541018962860107),
    ],
    "a real tensor written": [("torch.complex128", [0j, (16 - 8j)]), ("torch.float64", [4.0, 5.0])],
    "parts written": [("torch.complex128", [(14.778112197861299 - 109.19630006628849j), (1 + 2j)])],
    "pairs written": [("torch.float64", [90.75, -46.5])],
    "a view made before a write": [("torch.complex128", [(8 + 0j), (4 + 0j)])],
    "a view of a base reshaped in place": [("torch.complex128", [(36 + 18j), (-18 + 9j)])],
    "pairs of a base reshaped in place": [("torch.float64", [4.0, 16.0])],
    "a hook": [
        (
            "torch.complex128",
            [
                (-1.7888543819998317 + 0.8944271909999159j),
                (1.7888543819998317 + 0.8944271909999159j),
            ],
        )
    ],
    "what is retained": [
        (
            "torch.complex128",
            [
                (0.4472135954999579 + 0.8944271909999159j),
                (0.4472135954999579 - 0.8944271909999159j),
            ],
        ),
        (
            "torch.complex128",
            [
                (0.8944271909999159 + 1.7888543819998317j),
                (0.8944271909999159 - 1.7888543819998317j),
            ],
        ),
    ],
    "what accumulates": [
        (
            "torch.complex128",
            [
                (1.4472135954999579 + 0.8944271909999159j),
                (1.4472135954999579 - 0.8944271909999159j),
            ],
        )
    ],
    "numbers that are equal": [("torch.complex128", [0j, 0j])],
    "a norm beside zeros": [
        ("torch.complex128", [(0.4472135954999579 + 0.8944271909999159j), 0j]),
        (
            "torch.complex128",
            [
                (0.1788854381999832 - 0.08944271909999152j),
                (0.4472135954999579 + 0.4472135954999579j),
            ],
        ),
    ],
    "a power of a power": [
        (
            "torch.complex128",
            [
                (-0.22052843511847509 - 0.12272478427878346j),
                (0.8085382986665369 - 2.088027757812258j),
            ],
        )
    ],
    "a layer": [
        ("torch.complex128", [1.414213562373095j, (-1.414213562373095 + 0j)]),
        (
            "torch.complex128",
            [
                [
                    (-2.1213203435596424 + 0.7071067811865475j),
                    (0.35355339059327373 - 1.0606601717798212j),
                ],
                [
                    (2.1213203435596424 - 0.7071067811865475j),
                    (-0.35355339059327373 + 1.0606601717798212j),
                ],
            ],
        ),
    ],
    "several gradients": [("torch.complex128", [[(2 - 4j), 0j], [0j, (1 + 2j)]])],
    "names": [
        "AbsBackward0",
        "AngleBackward0",
        "ConjBackward0",
        "SgnBackward0",
        "ViewAsRealBackward0",
        "StdBackward0",
        "VarBackward0",
        "ConjPhysicalBackward0",
        "PolarBackward0",
        "ComplexBackward0",
        "SelectBackward0",
    ],
}
"""Dtypes and values, printed by PyTorch; names of nodes."""

REFUSED = {
    "(x * x).sum().backward()":
        "grad can be implicitly created only for real scalar outputs but got torch.complex128",
    "grad((x * x).sum(), x, torch.tensor(1.0))":
        "For complex Tensors, both grad_output and output are required to have the same dtype. "
        "Mismatch in dtype: grad_output[0] has a dtype of torch.float32 and output[0] has a dtype "
        "of torch.complex128.",
    "grad(x.abs().sum(), x, torch.tensor(1j))":
        "For complex Tensors, both grad_output and output are required to have the same dtype. "
        "Mismatch in dtype: grad_output[0] has a dtype of torch.complex64 and output[0] has a "
        "dtype of torch.float64.",
    "torch.autograd.functional.jacobian(lambda x: x * x, x)":
        "grad can be implicitly created only for real scalar outputs but got torch.complex128",
    "x.real.add_(1)":
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
}  # fmt: skip


def _run(program: str, torch: Any) -> list[Any]:
    names: dict[str, Any] = {"torch": torch, "grad": torch.autograd.grad}
    exec(program, names)
    return [
        x if isinstance(x, str) else (str(x.dtype), x.detach().resolve_conj().tolist())
        for x in names["found"]
    ]


def _compare(got: list[Any], expected: list[Any]) -> None:
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        if isinstance(b, str):
            assert a == b
        else:
            assert a[0] == b[0]
            np.testing.assert_allclose(a[1], b[1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(name: str) -> None:
    _compare(_run("".join(PROGRAMS[name]), tensorbus), ANSWERS[name])


@pytest.mark.parametrize("line", REFUSED)
def test_a_refusal(line: str) -> None:
    names: dict[str, Any] = {"torch": tensorbus, "grad": tensorbus.autograd.grad}
    exec(X, names)
    with pytest.raises(RuntimeError) as raised:
        exec(line, names)
    assert str(raised.value) == REFUSED[line]


def test_the_answers_are_pytorchs(live_torch: Any) -> None:
    for name, (setting, body) in PROGRAMS.items():
        _compare(_run(setting + body, live_torch), ANSWERS[name])


def test_gradcheck_of_real_and_complex_operands() -> None:
    grad_of = tensorbus.autograd
    x = tensorbus.tensor([1 + 2j, 0.5j], dtype=tensorbus.complex128, requires_grad=True)
    r = tensorbus.tensor([0.3, 0.4], dtype=tensorbus.float64, requires_grad=True)

    def f(x: Any, r: Any) -> Any:
        return x * r, (x * r).abs(), r.exp()

    assert grad_of.gradcheck(f, (x, r))
    assert grad_of.gradgradcheck(f, (x, r))


def test_a_real_argument_takes_no_complex_gradient_of_a_function() -> None:
    class Turned(tensorbus.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1j

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * -1j

    r = tensorbus.tensor([0.3, 0.4], requires_grad=True)
    with pytest.raises(RuntimeError, match="got a complex one, but the argument is real"):
        Turned.apply(r).real.sum().backward()
