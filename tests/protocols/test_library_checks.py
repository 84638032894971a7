"""``torch.library.opcheck``: what it passes, and what it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.protocols.library_ops import cubed

import tensorbus as torch
from tensorbus import library

Tensor = torch.Tensor
pytestmark = pytest.mark.usefixtures("nothing_left")
X = np.array([0.5, -1.0, 2.0])


# -- opcheck ---------------------------------------------------------------------------------
def test_opcheck_of_a_good_op(lib: Any) -> None:
    op = cubed("good")
    x = torch.tensor(X, requires_grad=True)
    passed = dict.fromkeys(
        ("test_schema", "test_autograd_registration", "test_faketensor",
         "test_aot_dispatch_dynamic"), "SUCCESS",
    )  # fmt: skip
    assert library.opcheck(op, (x,)) == passed
    assert library.opcheck(op, (torch.ones(2, 3).T,), test_utils="test_schema") == {
        "test_schema": "SUCCESS"
    }
    lib.define("nonzero(Tensor x) -> Tensor")
    lib.impl("nonzero", lambda x: x.nonzero(), "CPU")

    @library.register_fake("calls::nonzero", lib=lib)
    def _(x: Any) -> Any:
        count = library.get_ctx().new_dynamic_size(max=5)
        return x.new_empty([count, x.dim()], dtype=torch.int64)

    assert library.opcheck(torch.ops.calls.nonzero, (torch.tensor([0, 1, 2, 0]),)) == passed
    with pytest.raises(library.checks.OpCheckError, match="stands for a size that is 6"):
        library.opcheck(torch.ops.calls.nonzero, (torch.ones(6),))


@pytest.mark.parametrize(
    ("kernel", "schema", "failing", "told"),
    [
        (lambda x: x.add_(1).clone(), "(Tensor x) -> Tensor", "test_schema",
         "Argument x is not defined as mutable but was mutated"),
        (lambda x: x.view(-1), "(Tensor x) -> Tensor", "test_schema",
         "Argument x is not defined to alias output but was aliasing"),
        (lambda x: (y := x + 1, y), "(Tensor x) -> (Tensor, Tensor)", "test_schema",
         "Outputs 0 and 1 alias unexpectedly"),
        (lambda x: x.double(), "(Tensor x) -> Tensor", "test_faketensor",
         "mismatched tensor metadata: Dtypes torch.float64 and torch.float32 are not equal!"),
        (lambda x: x.T.clone(), "(Tensor x) -> Tensor", "test_faketensor",
         "mismatched tensor metadata: Shapes torch.Size([3, 2]) and torch.Size([2, 3])"),
        (lambda x: x.T.contiguous().T, "(Tensor x) -> Tensor", "test_faketensor",
         "mismatched tensor metadata: Stride mismatch! Strides are (1, 2) and (3, 1) (mismatched "
         "at 0)!"),
    ],
)  # fmt: skip
def test_opcheck_finds_what_is_wrong(
    lib: Any, kernel: Any, schema: str, failing: str, told: str
) -> None:
    lib.define(f"wrong{schema}")
    lib.impl("wrong", kernel, "CPU")
    two = "Tensor, Tensor" in schema
    fake = (lambda x: (x.clone(), x.clone())) if two else torch.clone
    library.register_fake("calls::wrong", fake, lib=lib)
    x = torch.arange(6.0).reshape(2, 3)
    found = library.opcheck(torch.ops.calls.wrong, (x,), raise_exception=False)
    assert told in str(found[failing])
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]  # checked on copies
    with pytest.raises(library.checks.OpCheckError, match=f"{failing} failed with"):
        library.opcheck(torch.ops.calls.wrong, (x,), test_utils=failing)


def test_opcheck_of_gradients(lib: Any) -> None:
    lib.define("inner(Tensor x) -> Tensor")
    lib.impl("inner", lambda x: x * 2, "CPU")
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        found = library.opcheck(torch.ops.calls.inner, (x,), raise_exception=False)
    assert "does not have an autograd kernel defined" in str(found["test_autograd_registration"])
    op = cubed("gradients")
    op.register_autograd(lambda ctx, g: torch.from_numpy(g.numpy() * 2))
    found = library.opcheck(op, (x,), raise_exception=False)
    assert "meta" in str(found["test_aot_dispatch_dynamic"])
    op.register_autograd(lambda ctx, g: (_ for _ in ()).throw(KeyError("formula")))
    with pytest.raises(library.checks.OpCheckError, match="formula"):
        library.opcheck(op, (x,))


def test_opcheck_wants_an_op_and_known_checks(lib: Any) -> None:
    op = cubed("wanted")
    x = torch.ones(1)
    with pytest.raises(ValueError, match="op must be instance of"):
        library.opcheck(3, (x,))
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        library.opcheck(op, (x,), test_utils="foo")
    with pytest.raises(ValueError, match="you must specify both"):
        library.opcheck(op, (x,), rtol=1)
    lib.define("two(Tensor x) -> Tensor")
    lib.define("two.b(Tensor x, Tensor y) -> Tensor")
    with pytest.raises(RuntimeError, match="without overloads"):
        library.opcheck(torch.ops.calls.two, (x,))
