"""Methods of Tensor that a program replaces stay replaced, whatever is imported later."""

from __future__ import annotations

import subprocess
import sys

STAYS = """
import tensorbus
from tensorbus.op_engine.names import METHODS

def mine(self):
    return "mine"

later = [name for name in METHODS.awaited() if not name.startswith("__")]
assert {"uniform_", "softmax"} <= {*later}, "nothing waits any more: choose others"
for name in later:
    setattr(tensorbus.Tensor, name, mine)
METHODS.complete()
lost = [name for name in later if getattr(tensorbus.Tensor, name) is not mine]
assert not lost, lost
"""

COMES_BACK = """
from unittest import mock
import tensorbus
from tensorbus.op_engine.names import METHODS

x = tensorbus.ones(2)
with mock.patch.object(tensorbus.Tensor, "softmax", lambda self: "mine"):
    METHODS["softmax"]
    assert x.softmax() == "mine"
assert x.softmax(0).tolist() == [0.5, 0.5]
with mock.patch.object(tensorbus.Tensor, "softmax", lambda self: "mine"):
    assert x.softmax() == "mine"
assert x.softmax(0).tolist() == [0.5, 0.5]
"""


def check(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_modules_that_are_imported_later_replace_nothing() -> None:
    check(STAYS)


def test_what_was_replaced_for_a_while_is_found_again() -> None:
    check(COMES_BACK)
