"""Tables that hold objects weakly."""

from __future__ import annotations

import gc

from tensorbus._base.weak import WeakKeys, WeakValues


class Thing:
    """What can be held weakly, and is equal to all others."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def test_keys_are_told_apart_by_identity_and_leave_with_their_values():
    table: WeakKeys[Thing, Thing] = WeakKeys()
    things, values = [Thing() for _ in range(3)], [Thing() for _ in range(3)]
    for thing, value in zip(things, values, strict=True):
        table[thing] = value
    assert all(table.get(t) is v for t, v in zip(things, values, strict=True))
    table[things[0]] = values[2]
    assert table.get(things[0]) is values[2] and len(table) == 3
    table.pop(things[0])
    table.pop(things[0])
    assert table.get(things[0]) is None and table.get(things[0], 7) == 7 and len(table) == 2
    del thing, things[2]
    assert len(table) == 1
    table.clear()
    assert table.get(things[1]) is None


def test_a_key_in_a_cycle_leaves_when_it_is_collected():
    table: WeakKeys[Thing, int] = WeakKeys()
    thing = Thing()
    thing.me = thing
    table[thing] = 1
    del thing
    gc.collect()
    assert len(table) == 0


def test_values_that_are_gone_are_not_there_and_their_keys_are_dropped():
    table: WeakValues[int, Thing] = WeakValues()
    kept = Thing()
    table[0] = kept
    for i in range(1, 1000):
        table[i] = Thing()
    assert table.get(0) is kept and table.get(5) is None and table.get(5, 7) == 7
    assert len(table._entries) < 64
    assert table.items() == [(0, kept)] and table.values()[0] is kept
    again = Thing()
    table[0] = again
    del kept
    assert table.get(0) is again
