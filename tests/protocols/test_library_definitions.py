"""Ops of programs: what they take and return, how long they live, what is refused."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.protocols.library_ops import cubed

import tensorbus as torch
from tensorbus import library

Tensor = torch.Tensor
pytestmark = pytest.mark.usefixtures("nothing_left")
X = np.array([0.5, -1.0, 2.0])


# -- results ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f",
    [lambda x: x, lambda x: x[:1], lambda x: (y := x + 1, y)],
    ids=["argument", "view", "twice"],
)
def test_results_are_new(f: Callable[[Any], Any]) -> None:
    many = isinstance(f(torch.ones(1)), tuple)
    op = library.custom_op(
        "calls::shared", f, mutates_args=(),
        schema="(Tensor x) -> (Tensor, Tensor)" if many else "(Tensor x) -> Tensor",
    )  # fmt: skip
    with pytest.raises(RuntimeError, match=r"shared \(with implementation .*The output of this "
                       r"custom operator \(1\) must not also be an input"):  # fmt: skip
        op(torch.ones(2))


def test_results_without_elements_share_nothing() -> None:
    op = library.custom_op("calls::none", torch.clone, mutates_args=(),
                           schema="(Tensor x) -> Tensor")  # fmt: skip
    assert op(torch.ones(0)).shape == (0,)


@pytest.mark.parametrize(
    ("returns", "made", "told"),
    [
        ("Tensor", 3, "Unable to cast 3 to Tensor"),
        ("(Tensor, Tensor)", 3, "must return 2 values, but it returned an object of type 'int'"),
        ("(Tensor, Tensor)", (1, 2, 3), "must return 2 values, but it returned 3"),
        ("()", 3, "to return None but it returned int"),
        ("Tensor[]", [1], "Unable to cast"),
        ("int", "a", "Unable to cast 'a' to int"),
    ],
)
def test_a_kernel_returns_what_the_schema_says(
    lib: Any, returns: str, made: Any, told: str
) -> None:
    lib.define(f"bad(Tensor x) -> {returns}")
    lib.impl("bad", lambda x: made, "CPU")
    with pytest.raises(RuntimeError, match=told):
        torch.ops.calls.bad(torch.ones(1))


# -- arguments -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((), {}, "is missing value for argument 'x'. Declaration: calls::typed(Tensor x, "),
        ((3,), {}, "Expected a value of type 'Tensor' for argument 'x' but instead found type "
         "'int'.\nPosition: 0\nValue: 3\nDeclaration: "),
        ((1, 2, 3, 4, 5, 6), {}, "expected at most 5 argument(s) but received 6 argument(s)"),
        (("T", 1, [1.0], 5), {}, "takes 3 positional argument(s) but 4 was/were given."),
        (("T", 1.5), {}, "Expected a value of type 'int' for argument 'n' but instead found type "
         "'float'"),
        (("T", 1, [1, "a"]), {}, "Expected a value of type 'List[float]' for argument 'fs'"),
        (("T",), {"q": 1}, "Unknown keyword argument 'q' for operator 'calls::typed'. Schema: "),
        (("T",), {"x": 1}, "Argument 'x' specified both as positional and keyword argument."),
        (("T",), {"s": 1}, "Expected a value of type 'str' for argument 's'"),
        (("T",), {"d": 1}, "Expected a value of type 'Optional[dtype]' for argument 'd'"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(lib: Any, args: Any, kwargs: Any, told: str) -> None:
    lib.define(
        "typed(Tensor x, int n=1, float[] fs=[], *, str s='a', ScalarType? d=None) -> Tensor"
    )
    lib.impl("typed", lambda x, n, fs, *, s, d: x * n, "CPU")
    given = tuple(torch.ones(1) if a == "T" else a for a in args)
    with pytest.raises(RuntimeError) as error:
        torch.ops.calls.typed(*given, **kwargs)
    assert told in str(error.value)
    assert torch.ops.calls.typed(torch.ones(1), torch.tensor(3), (1, 2)).tolist() == [3.0]


def test_no_overload_fits(lib: Any) -> None:
    for text in ("many(Tensor x) -> Tensor", "many.two(Tensor x, Tensor y) -> Tensor"):
        lib.define(text)
        lib.impl(text.split("(")[0], lambda *xs: sum(xs), "CPU")
    x = torch.ones(1)
    assert torch.ops.calls.many(x, x).tolist() == [2.0]
    with pytest.raises(RuntimeError) as error:
        torch.ops.calls.many(x, x, x)
    assert str(error.value).startswith(
        "Overloaded torch operator invoked from Python failed to match any schema:\n"
        "calls::many() expected at most 1 argument(s) but received 3 argument(s). Declaration: "
        "calls::many(Tensor x) -> Tensor\n"
    )
    with pytest.raises(AttributeError, match="of 'calls.many' has no overload name 'three'"):
        torch.ops.calls.many.three  # noqa: B018


# -- definitions -----------------------------------------------------------------------------
def test_an_op_lives_as_long_as_its_library() -> None:
    made = library.Library("fleeting", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x + 1, "CPU")
    other = library.Library("fleeting", "IMPL", "CPU")
    other.impl("f", lambda x: x + 2)
    x = torch.zeros(1)
    assert torch.ops.fleeting.f(x).tolist() == [2.0]
    del other
    gc.collect()
    assert torch.ops.fleeting.f(x).tolist() == [1.0]
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used"):
        library.Library("fleeting", "DEF")
    del made
    gc.collect()
    with pytest.raises(AttributeError, match="'_OpNamespace' 'fleeting' object has no attribute"):
        torch.ops.fleeting.f  # noqa: B018
    again = library.Library("fleeting", "DEF")
    again.define("f(Tensor x, int n) -> Tensor")
    assert len(torch.ops.fleeting.f.default._schema.arguments) == 2


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: library.define("f", "() -> ()"), ValueError, 'of the form "namespace::name"'),
        (lambda: library.define(3, "() -> ()"), ValueError, "to be instance of str"),
        (lambda: library.define("calls::f", "x"), ValueError, "expected schema to look like"),
        (lambda: library.define("calls::f", "(Tnsor x) -> Tensor"), RuntimeError,
         "unknown type specifier"),
        (lambda: library.define("calls::f", "(int y=) -> Tensor"), RuntimeError,
         "expected number but found ')' here:\nf(int y=) -> Tensor\n        ~ <--- HERE"),
        (lambda: library.define("prim::f", "() -> ()"), ValueError, "reserved namespace"),
        (lambda: library.define("linalg::f", "() -> ()"), ValueError, "reserved namespace"),
        (lambda: library.define("aten::sin", "(Tensor x) -> Tensor"), RuntimeError, "Tried"),
        (lambda: library.Library("calls", "FOO"), ValueError, "Unsupported kind: FOO"),
        (lambda: library.Library("calls", "IMPL", "Foo"), RuntimeError, "could not parse"),
        (lambda: library.Library("aten", "IMPL").impl("sin", torch.cos, "CPU"),
         NotImplementedError, "A plugin gives them kernels"),
        (lambda: library.Library("_", "IMPL").fallback(torch.cos, "CPU"), NotImplementedError,
         "TorchDispatchMode sees each op"),
        (lambda: library.Library("calls", "IMPL").define("f() -> ()"), RuntimeError,
         "Cannot define an operator inside"),
        (lambda: library.get_kernel("calls::nothing", "CPU"), RuntimeError, "does not exist"),
        (lambda: library.get_kernel("aten::sin", "Foo"), ValueError, "Invalid dispatch key: Foo"),
        (lambda: library.get_kernel(3, "CPU"), ValueError,  # type: ignore[arg-type]
         "unexpected type for op"),
        (lambda: library.register_fake(3, torch.cos), ValueError,  # type: ignore[arg-type]
         "unexpected type for op"),
        (lambda: library.register_vmap("calls::nothing", torch.cos), AttributeError, "nothing"),
        (lambda: library.fallthrough_kernel(), NotImplementedError, "should never be called"),
        (lambda: library.custom_op("calls::f", torch.cos, mutates_args=(),
         schema="(Tensor(a!) x) -> Tensor"), ValueError, "make these consistent"),
        (lambda: library.custom_op("calls::f", torch.cos, mutates_args=(),
         schema="(Tensor x, *, Tensor y) -> Tensor"), NotImplementedError, "kwarg-only Tensor"),
        (lambda: library.custom_op("calls::f", torch.cos, mutates_args=(), device_types="cpu",
         schema="(int n) -> Tensor"), ValueError, "required to have a `device: torch.device`"),
        (lambda: library.custom_op("calls::f", torch.cos, mutates_args={"x"},
         schema="(Tensor(a!) x) -> Tensor", tags=torch.Tag.inplace), ValueError, "must alias"),
        (lambda: library.custom_op("calls::f", torch.cos, mutates_args={"x"},
         schema="(Tensor(a!) x) -> Tensor(a!)", tags=torch.Tag.out), ValueError, "keyword-only"),
        (lambda: cubed("cast").register_autocast("nowhere", torch.float16), RuntimeError,
         "device type at start of device string: nowhere"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error) as found:
        call()
    assert told in str(found.value)


def test_what_is_registered_twice(lib: Any) -> None:
    lib.define("once(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="multiple times.*Original registration: registered at "
                       ".*test_library_definitions.py"):  # fmt: skip
        lib.define("once(Tensor x) -> Tensor")
    lib.impl("once", lambda x: x + 1, "CPU")
    with pytest.raises(RuntimeError, match="already a kernel registered from python overriding"):
        lib.impl("once", lambda x: x + 2, "CPU", allow_override=False)
    kernel = library.get_kernel("calls::once", "CPU")
    lib.impl("once", lambda keys, x: kernel.call_boxed(keys, x) * 10, "CPU", with_keyset=True)
    assert torch.ops.calls.once(torch.zeros(1)).tolist() == [10.0]
    library.register_fake("calls::once", torch.empty_like, lib=lib)
    with pytest.raises(RuntimeError, match="already has a fake impl registered at .*py"):
        library.register_fake("calls::once", torch.empty_like, lib=lib, allow_override=False)


def test_kernels_may_come_before_the_op(lib: Any) -> None:
    library.impl("calls::later", "cpu", lambda x: x + 1, lib=lib)
    lib.define("later(Tensor x) -> Tensor")
    assert torch.ops.calls.later(torch.zeros(1)).tolist() == [1.0]
