"""Whether an op was registered as it behaves: ``opcheck``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.api import grad
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.library.arguments import Values, bind, tensors_of
from tensorbus.library.calling import place_of
from tensorbus.library.custom_ops import CustomOpDef
from tensorbus.library.fakes import sizes_from
from tensorbus.library.operators import AUTOGRAD, COMPOSED, Operator, Packet
from tensorbus.random import fork_rng, get_rng_state, set_rng_state
from tensorbus.testing import assert_close


class OpCheckError(Exception):
    """An op is not as it was registered."""


class MetadataMismatchError(Exception):
    """A fake kernel gives another shape, dtype or layout than the kernel."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check with sample arguments that an op does what was registered for it.

    ``test_schema``: it writes to the arguments that the schema says, and to no others, and its
    results share memory as the schema says. ``test_autograd_registration``: gradients come from a
    formula. ``test_faketensor``: the fake kernel gives as many results as the kernel, of the same
    shapes, dtypes, strides and need of gradients, which share memory as the kernel's do, and the
    same numbers. ``test_aot_dispatch_dynamic`` (and ``_static``): called again, from the same state
    of the random stream, it gives the same results and gradients; and its formula runs without
    values and gives gradients of the same form.

    Returns ``"SUCCESS"`` for each, or with *raise_exception* false its error. OpCheckError else.

    >>> import tensorbus as torch
    >>> @torch.library.custom_op("example_check::grown", mutates_args=())
    ... def grown(x: torch.Tensor) -> torch.Tensor:
    ...     return x.add_(1).clone()
    >>> found = torch.library.opcheck(grown, (torch.ones(2),), raise_exception=False)
    >>> found["test_schema"]
    RuntimeError('Argument x is not defined as mutable but was mutated')
    """
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    checked = _operator(op)
    wanted = (test_utils,) if isinstance(test_utils, str) else test_utils
    if wanted == ("ALL",):
        wanted = tuple(_CHECKS)
    if not isinstance(wanted, (tuple, list)) or not set(wanted) <= set(_CHECKS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={wanted}), expected test_utils to be subset of "
            f"{tuple(_CHECKS)} but it was not"
        )
    found: dict[str, Any] = {}
    for name in wanted:
        values = bind(checked._schema, args, kwargs or {})
        try:
            _CHECKS[name](checked, _apart(values), {"rtol": rtol, "atol": atol})
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            found[name] = error
    return found


def _operator(op: Any) -> Operator:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, Packet):
        if len(op.own) != 1:
            raise RuntimeError(
                "opcheck can only test operators without overloads. Got the following overloads "
                f"for {op._qualified_op_name}: {op.overloads()}"
            )
        return next(iter(op.own.values()))
    if isinstance(op, Operator):
        return op
    raise ValueError(
        "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. "
        f"torch.ops.mylib.sin.default, got {type(op)}"
    )


def _apart(values: Values) -> Values:
    """The values with leaves of their own, so that a check changes none that the caller has."""
    return tuple([_copied(t) for t in v] if isinstance(v, list) else _copied(v) for v in values)


def _copied(t: Any) -> Any:
    if not isinstance(t, Tensor):
        return t
    made = t.detach().clone()
    if made.stride() != t.stride():
        made = t.new_empty_strided(tuple(t.shape), t.stride()).copy_(t.detach())
    return made.requires_grad_(t.requires_grad)


def _results(made: Any) -> list[Tensor]:
    return tensors_of(made if isinstance(made, tuple) else (made,))


# -- the checks ------------------------------------------------------------------------------
def _check_schema(op: Operator, values: Values, tolerances: dict[str, Any]) -> None:
    with no_grad():
        before = _apart(values)
        made = op.run_values(values)
    schema = op._schema
    for a, was, now in zip(schema.arguments, before, values, strict=True):
        pairs = zip(tensors_of([was]), tensors_of([now]), strict=True)
        if not a.is_write and any(_differ(x, y) for x, y in pairs):
            raise RuntimeError(f"Argument {a.name} is not defined as mutable but was mutated")
        for i, t in enumerate(_results(made)):
            shared = any(_same_storage(t, x) for x in tensors_of([now]))
            result = schema.returns[min(i, len(schema.returns) - 1)]
            if shared and (result.alias_info is None or a.alias_info is None):
                raise RuntimeError(
                    f"Argument {a.name} is not defined to alias output but was aliasing"
                )
    results = _results(made)
    for i, x in enumerate(results):
        for j in range(i + 1, len(results)):
            if _same_storage(x, results[j]):
                raise RuntimeError(f"Outputs {i} and {j} alias unexpectedly")


def _differ(x: Tensor, y: Tensor) -> bool:
    if x.shape != y.shape or x.stride() != y.stride():
        return True
    if x.device.type == "meta":
        return False
    same = (x == y) | ((x != x) & (y != y))
    return not bool(same.all())


def _same_storage(x: Tensor, y: Tensor) -> bool:
    if x is y:
        return True
    if x._k.device is not y._k.device or not x.numel() or not y.numel():
        return False
    return bool(x._k.layout(x._a)[0] == y._k.layout(y._a)[0])


def _check_autograd(op: Operator, values: Values, tolerances: dict[str, Any]) -> None:
    given = tensors_of(values)
    if not any(t.requires_grad for t in given):
        return
    found = op.registered
    if any(found.find(key) for key in (AUTOGRAD, AUTOGRAD + place_of(op, values), COMPOSED)):
        return
    made = op.run_values(values)
    for t in _results(made):
        named = t.grad_fn.name() if t.grad_fn is not None else ""
        if t.requires_grad and not named.startswith("WarnNotImplemented"):
            raise AssertionError(
                f"{op.name()}: at least one output of this operator has requires_grad=True but the "
                "operator does not have an autograd kernel defined at an autograd key (e.g. "
                "DispatchKey::Autograd). This could mean that you have incorrectly registered an "
                "autograd kernel to a non-Autograd DispatchKey, which may lead to silently "
                "incorrect results. If your operator consists of regular PyTorch operations, "
                "consider not using an operator at all or registering your operator as "
                "CompositeImplicitAutograd. If you have an autograd.Function registered to a "
                "backend (CPU/CUDA/XPU) key, the correct location for it is the Autograd key."
            )


def _check_fake(op: Operator, values: Values, tolerances: dict[str, Any]) -> None:
    _compare_forms(op, values, op.run_values(_apart(values)))


def _compare_forms(op: Operator, values: Values, real: Any) -> None:
    """Run the op without values, and compare what it gives with the real results."""
    sizes = _Sizes()
    with sizes_from(sizes.next):
        made = op.run_values(_without_values(values))
    if sizes.made:
        sizes.learn(_results(made), _results(real))
        with sizes_from(sizes.again):
            made = op.run_values(_without_values(values))
    told = f"When comparing the output of {op} on FakeTensor and concrete Tensors, found"
    fakes, reals = _results(made), _results(real)
    if len(fakes) != len(reals):
        raise AssertionError(f"{told} mismatch in number of returns {len(fakes)} != {len(reals)}")
    if not reals and made != real:
        raise AssertionError(f"{told} different returns {made!r} and {real!r}")
    for fake, t in zip(fakes, reals, strict=True):
        _compare(f"{told} mismatched tensor metadata: ", fake, t)
    for i in range(len(reals)):
        for j in range(i):
            given, wanted = _same_storage(fakes[i], fakes[j]), _same_storage(reals[i], reals[j])
            if given != wanted:
                raise MetadataMismatchError(
                    f"{told} mismatch in outputs_alias_each_other check {given} != {wanted}"
                )


def _compare(told: str, fake: Tensor, real: Tensor) -> None:
    for what, x, y in (("Dtypes", real.dtype, fake.dtype), ("Shapes", real.shape, fake.shape)):
        if x != y:
            raise MetadataMismatchError(f"{told}{what} {x} and {y} are not equal!")
    strides = zip(real.stride(), fake.stride(), real.shape, strict=True)
    for d, (own, other, n) in enumerate(strides if real.numel() else ()):
        if own != other and n > 1:
            raise MetadataMismatchError(
                f"{told}Stride mismatch! Strides are {real.stride()} and {fake.stride()} "
                f"(mismatched at {d})!"
            )
    if real.storage_offset() != fake.storage_offset():
        raise MetadataMismatchError(
            f"{told} mismatched storage offset: {real.storage_offset()} and {fake.storage_offset()}"
        )
    if real.requires_grad != fake.requires_grad:
        raise MetadataMismatchError(
            f"{told} mismatched requires_grad-ness of outputs. This usually means that you have "
            "added autograd support for your operator at a dispatch key other than Autograd, which "
            "will lead to problems"
        )


def _without_values(values: Values) -> Values:
    def fake(t: Any) -> Any:
        if not isinstance(t, Tensor):
            return t
        made = t.new_empty_strided(tuple(t.shape), t.stride(), device="meta")
        return made.requires_grad_(t.requires_grad)

    return tuple([fake(t) for t in v] if isinstance(v, list) else fake(v) for v in values)


class _Sizes:
    """Sizes that hang on values: first unlikely numbers, then what the real results had there."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.found: list[int] = []
        self.given = 0

    def next(self, low: int, high: int | None) -> int:
        """A number that no other dimension is likely to have."""
        self.made.append(max(low, 10007 + 2 * len(self.made)))
        return self.made[-1]

    def learn(self, fakes: list[Tensor], reals: list[Tensor]) -> None:
        """Read the sizes off the real results."""
        known: dict[int, int] = {}
        for fake, real in zip(fakes, reals, strict=False):
            for size, own in zip(fake.shape, real.shape, strict=False):
                if size in self.made:
                    known[size] = own
        self.found = [known.get(size, size) for size in self.made]

    def again(self, low: int, high: int | None) -> int:
        """The same sizes as in the real results; RuntimeError outside of the bounds."""
        size = self.found[self.given]
        self.given += 1
        if size < low or (high is not None and size > high):
            raise RuntimeError(
                f"new_dynamic_size(min={low}, max={high}) stands for a size that is {size}"
            )
        return size


def _check_again(op: Operator, values: Values, tolerances: dict[str, Any]) -> None:
    state = get_rng_state()
    first, first_grads = _with_gradients(op, _apart(values), state)
    again, again_grads = _with_gradients(op, _apart(values), state)
    assert_close(again, first, **tolerances, equal_nan=True)
    assert_close(again_grads, first_grads, **tolerances, equal_nan=True)
    _compare_forms(op, values, op.run_values(_apart(values)))
    sizes = _Sizes()
    with sizes_from(sizes.next):
        _, fake_grads = _with_gradients(op, _without_values(values), state)
    told = f"The formula for gradients of {op} gives"
    if len(fake_grads) != len(first_grads):
        raise AssertionError(
            f"{told} {len(fake_grads)} gradients without values, and {len(first_grads)} with them"
        )
    for fake, real in zip(fake_grads, first_grads, strict=True):
        if (fake.shape, fake.dtype) != (real.shape, real.dtype):
            raise MetadataMismatchError(
                f"{told} another gradient without values: {fake.dtype} of {list(fake.shape)}, not "
                f"{real.dtype} of {list(real.shape)}"
            )


def _with_gradients(op: Operator, values: Values, state: Tensor) -> tuple[list[Any], list[Tensor]]:
    """The results, and the gradients of the sum of their elements.

    An op may draw random numbers, from *state* on. A formula for gradients may not: those of one
    call would differ from those of the next.
    """
    with fork_rng():
        set_rng_state(state)
        returned = op.run_values(values)
    made = _results(returned)
    leaves = [t for t in tensors_of(values) if t.requires_grad]
    followed = [t.abs().sum() for t in made if t.requires_grad]
    results = [t.detach() for t in made] if made else [returned]
    if not leaves or not followed:
        return results, []
    total = followed[0]
    for t in followed[1:]:
        total = total + t.to(total.dtype)
    found = grad(total, leaves, allow_unused=True)
    return results, [g for g in found if g is not None]


_CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_static": _check_again,
    "test_aot_dispatch_dynamic": _check_again,
}
