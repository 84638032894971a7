"""The derivatives that generated nodes call: as they are declared, until a plugin compiles some.

Then those of one node are compiled as one, for each set of operands that want a gradient, and each
by itself where no plugin takes them together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._base import registered
from tensorbus._dispatch import fusion
from tensorbus._dispatch.kinds import Kind
from tensorbus.op_engine.generate_nodes import defined, joined, joined_names, joined_text
from tensorbus.rows.registry import Row, rule_arguments

Rule = Callable[..., Any]
Entry = Callable[..., Any]


class _Given:
    """The namespaces of generated nodes, whose names ``rule_NAME`` are the derivatives."""

    def __init__(self) -> None:
        self.namespaces: list[tuple[Row, dict[str, Any]]] = []
        self.compiled = False


_given = _Given()
_tables: list[dict[Any, Any]] = []


def give_rules(row: Row, namespace: dict[str, Any]) -> None:
    """Give the nodes of a row their derivatives, now and when a plugin begins to compile.

    Until then nothing stands before them, so that they cost programs without such a plugin nothing.
    """
    namespace |= {f"rule_{name}": rule for name, rule in row.rules.items()}
    if row.shared is not None:
        namespace["rule_shared"] = row.shared
        return
    results = set(row.outputs.values()) or {row.result}
    if row.sequences or results != {"same"} or row.form == "view":
        return
    _given.namespaces.append((row, namespace))
    if _given.compiled:
        _compile(row, namespace)


@registered.composition_compiles.listen
def _compile_all() -> None:
    if not _given.compiled:
        _given.compiled = True
        for row, namespace in _given.namespaces:
            _compile(row, namespace)


def _compile(row: Row, namespace: dict[str, Any]) -> None:
    for name, rule in row.rules.items():
        namespace[f"rule_{name}"] = _by_kind(row, rule)
    if len(joined(row)) > 1:
        node = namespace[row.node_name]
        namespace |= {"each": node.run, "together": _by_wanted(row, namespace)}
        source = "\n".join(joined_text(row)) + "\n"
        node.run = defined(f"<tensorbus gradients of {row.name}>", source, namespace)["run"]


def _by_kind(row: Row, rule: Rule) -> Rule:
    """A derivative that is compiled on the kinds whose backends compile."""
    table: dict[Any, Entry] = {}
    _tables.append(table)
    names = rule_arguments(rule)
    run = _run(row, names, [(rule, names)])

    def alone(F: Any, *args: Any) -> Any:
        return run(F, *args)[0]

    def entry(F: Any, g: Any, *args: Any) -> Any:
        found = table.get(F)
        if found is None:
            compiled = _compiled(F, row, names, alone, functools.partial(alone, F))
            found = table[F] = functools.partial(rule, F) if compiled is None else compiled
            if row.outputs and compiled is not None:
                found = table[F] = lambda g, *args: compiled(*g, *args)
        return found(g, *args)

    return entry


def _by_wanted(row: Row, namespace: dict[str, Any]) -> Callable[..., Entry | None]:
    """What computes several gradients on a kind, by which of them are wanted; None where each rule
    is to run by itself."""
    table: dict[Any, dict[tuple[bool, ...], Entry | None]] = {}
    _tables.append(table)
    names = joined_names(row)

    def made(F: Any, wanted: tuple[bool, ...]) -> Entry | None:
        chosen = [t for t, is_wanted in zip(joined(row), wanted, strict=True) if is_wanted]
        if len(chosen) < 2 or (row.holomorphic and F.is_complex):
            return None
        arguments = [rule_arguments(row.rules[t]) for t in chosen]
        rules = [row.rules[t] for t in chosen]
        each = [namespace[f"rule_{t}"] for t in chosen]
        run = _run(row, names, list(zip(rules, arguments, strict=True)))
        compose = _run(row, names, list(zip(each, arguments, strict=True)))
        return _compiled(F, row, names, run, functools.partial(compose, F), several=True)

    def together(F: Any, wanted: tuple[bool, ...]) -> Entry | None:
        found = table.get(F)
        if found is None:
            found = table[F] = {}
        if wanted not in found:
            found[wanted] = made(F, wanted)
        return found[wanted]

    return together


def _run(
    row: Row, names: Sequence[str], rules: Sequence[tuple[Rule, Sequence[str]]]
) -> Callable[..., tuple[Any, ...]]:
    """A function of ``F``, the gradients of the row's results and what *names* are, that calls
    rules, each of which reads some of these."""
    results = len(row.outputs) or 1

    def run(F: Any, *args: Any) -> tuple[Any, ...]:
        g = args[:results] if row.outputs else args[0]
        given = dict(zip(names, args[results:], strict=True))
        return tuple([rule(F, g, *[given[name] for name in read]) for rule, read in rules])

    return run


def _compiled(
    F: Any,
    row: Row,
    names: Sequence[str],
    run: Callable[..., Any],
    compose: Entry,
    several: bool = False,
) -> Entry | None:
    """What runs as one kernel where a plugin compiles *run*, else *compose*; None for a kind whose
    plugins compile nothing."""
    asked = fusion.compilers(F.backend) if isinstance(F, Kind) and F.rule_for is None else []
    if not asked:
        return None
    # Here and not above: a program whose plugins compile nothing never imports it.
    from tensorbus.graph.compiled_rows import Callee, Compiled

    known = {**row.operands, **row.outputs, "out": "same"}
    roles = ["shape" if name.endswith("_shape") else known.get(name) for name in names]
    results = row.outputs.values() or ("same",)
    callee = Callee(f"the gradient of {row.name}", (*results, *roles), run, several)
    return Compiled(F, callee, compose, asked)


@registered.device_forgotten.listen
def _forget(type: str) -> None:
    for table in _tables:
        for kind in [kind for kind in table if kind.device.type == type]:
            del table[kind]


@registered.fusion_switched.listen
def _forget_all() -> None:
    for table in _tables:
        table.clear()
