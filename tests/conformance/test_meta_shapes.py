"""The suite against ``meta``: shapes, dtypes and strides, and what is refused without values."""

from __future__ import annotations

import pytest

from tensorbus_conformance import run
from tensorbus_conformance.cases import shapes
from tensorbus_conformance.samples import all_ops

NO_VALUE = ("Cannot copy out of meta tensor; no data!", "cannot be called on meta tensors")


@pytest.mark.slow
def test_every_op_has_the_shapes_of_meta() -> None:
    report = run("cpu", None, "*/as-on-meta")
    assert report.ok, [f"{r.id}: {r.message}" for r in report.failures[:5]]
    assert len(report.results) > 1900
    assert sum(r.id.startswith("L3/") for r in report.results) > 400
    assert set(shapes.OF_VALUES) <= {op.name for op in all_ops()}


@pytest.mark.slow
def test_meta_refuses_what_all_devices_refuse_but_for_values() -> None:
    report = run("meta", None, "*/errors/*")
    wrong = [r for r in report.failures if not any(text in r.message for text in NO_VALUE)]
    # What a tensor prints is in one text, and there it has no values.
    assert [r.id for r in wrong] == ["L4/type/errors/programs"]
    assert len(report.results) - len(report.failures) > 1500


@pytest.mark.slow
def test_a_device_with_other_strides_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import tensorbus

    assert run("cpu", None, "L4/hypot/float32/as-on-meta").ok
    original = tensorbus.hypot

    def in_order(x: object, y: object) -> object:
        made = original(x, y)
        return made if made.is_meta else made.contiguous()

    monkeypatch.setattr(tensorbus, "hypot", in_order)
    report = run("cpu", None, "L4/hypot/float32/as-on-meta")
    (failure,) = report.failures
    assert "which is [((3, 4), 'float32', [1, 3])" in failure.message


@pytest.mark.slow
def test_a_device_with_other_strides_of_gradients_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import tensorbus

    assert run("cpu", None, "L3/hypot/float32/as-on-meta").ok
    original = tensorbus.autograd.grad

    def by_columns(*args: object, **kwargs: object) -> object:
        made = original(*args, **kwargs)
        return tuple(g if g.is_meta or g.dim() < 2 else g.t().contiguous().t() for g in made)

    monkeypatch.setattr(tensorbus.autograd, "grad", by_columns)
    report = run("cpu", None, "*/hypot/float32/as-on-meta")
    (failure,) = report.failures
    assert failure.id == "L3/hypot/float32/as-on-meta"
    assert "((3, 4), 'float32', [1, 3])" in failure.message
