"""What users allow checkpoints to name, and files they trust as a whole."""

from __future__ import annotations

import io
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

import tensorbus
from tensorbus.serialization import UnsafeCheckpointError

serialization = tensorbus.serialization


class Point:
    def __init__(self, x: int):
        self.x = x


def double(x: int) -> int:
    return 2 * x


class Doubled:
    def __reduce__(self) -> Any:
        return double, (4,)


@pytest.fixture(autouse=True)
def nothing_allowed() -> Iterator[None]:
    """What other tests of this process allowed does not count here, nor the other way round."""
    with serialization.safe_globals([]):
        serialization.clear_safe_globals()
        yield


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    # Test files are imported under a name that pickle cannot always find again.
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this_module())


def _this_module() -> Any:
    module = types.ModuleType(__name__)
    module.__dict__.update(globals())
    return module


def test_users_may_allow_their_own_classes_and_functions(importable: None) -> None:
    file = io.BytesIO()
    tensorbus.save([Point(3), Doubled()], file)
    with pytest.raises(UnsafeCheckpointError, match="Point"):
        tensorbus.load(file)
    with serialization.safe_globals([Point, (double, f"{__name__}.double")]):
        point, eight = tensorbus.load(file)
        assert (type(point), point.x, eight) == (Point, 3, 8)
        assert serialization.get_safe_globals() == [Point, double]
    with pytest.raises(UnsafeCheckpointError):
        tensorbus.load(file)
    serialization.add_safe_globals([Point, double])
    assert tensorbus.load(file)[0].x == 3
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    with pytest.raises(TypeError, match="is neither a class nor a function"):
        serialization.add_safe_globals([3])
    with pytest.raises(ValueError, match="a tuple must be"):
        serialization.add_safe_globals([(Point, 3)])


def test_trusted_files_may_hold_anything(importable: None) -> None:
    file = io.BytesIO()
    tensorbus.save([Point(3), Doubled()], file)
    point, eight = tensorbus.load(file, weights_only=False)
    assert (point.x, eight) == (3, 8)
