"""Writes what a row records: the lines that keep what its rules read, and its node class."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from typing import Any

from tensorbus.rows.registry import Row, rule_arguments


def defined(file: str, source: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """The namespace after a text has run in it, whose lines tracebacks show as those of *file*."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), namespace)
    return namespace


def edges_of(row: Row) -> list[str]:
    return [t for t in row.tensors if t in row.rules]


def edge_text(row: Row, t: str) -> str:
    """The expression for an operand's edge; that of a view may have to be made anew."""
    if t in row.sequences:
        return f"[t._e if t._b is None else edge_of(t) for t in {t}]"
    edge = f"{t}._e if {t}._b is None else edge_of({t})"
    return f"None if {t} is None else {edge}" if t in row.optional else edge


def wanted_text(row: Row, t: str) -> str:
    """The expression for whether an operand, or one of a sequence, has an edge."""
    if t in row.sequences:
        return f"any({edge_text(row, t)})"
    return f"({edge_text(row, t)}) is not None"


def record_text(row: Row) -> list[str]:
    inputs = edges_of(row)
    if row.form == "unary":  # ``pointwise`` has seen to views
        lines = [f"    e0 = {inputs[0]}._e"]
    else:
        lines = [f"    e{i} = {edge_text(row, t)}" for i, t in enumerate(inputs)]
    return [
        *lines,
        f"    if ({_any_edge(row, range(len(inputs)))}) and (GRAD.on or THREAD.on):",
        *_node_made(row, "GATHERING" if row.outputs else "o._k"),
    ]


def record_view_text(row: Row) -> list[str]:
    """The lines that make a view's node; its edge is known."""
    return _node_made(row, "k" if row.result == "same" else "o._k")


def _any_edge(row: Row, edges: Iterable[int]) -> str:
    """The test whether one of some edges leads anywhere; a sequence's are a list."""
    inputs = edges_of(row)
    return " or ".join(
        f"any(e{i})" if inputs[i] in row.sequences else f"e{i} is not None" for i in edges
    )


def _node_made(row: Row, kind: str) -> list[str]:
    return [
        f"        n = {row.node_name}()",
        "        n.q = sequence()",
        f"        n.k = {kind}",
        "        n.h = None",
        *(["        n.kind = k"] if row.outputs else []),
        *(f"        n.e{i} = e{i}" for i in range(len(edges_of(row)))),
        *save_text(row, "        "),
        *(_result_edges(row) if row.outputs else ["        o._e = n"]),
    ]


def _result_edges(row: Row) -> list[str]:
    """The lines that give each of several results its edge to the node."""
    lines, refs = [], []
    for i, dtype in enumerate(row.outputs.values()):
        recorded = dtype in ("same", "real", "complex")
        if recorded:
            lines.append(f"        o{i}._e = result_edge(n, {i}, o{i}._k)")
        refs.append(f"ref(o{i}._e)" if recorded else "None")
    if _kept_outputs(row):
        lines.append(f"        n.edge_refs = [{', '.join(refs)}]")
    return lines


def _kept_outputs(row: Row) -> list[str]:
    """Which of several results the rules read."""
    return [name for name in _needs(row, False) if name in row.outputs]


def _needs(row: Row, scalar: bool) -> dict[str, list[int]]:
    """What the rules read, and the edges each is read for."""
    needs: dict[str, list[int]] = {}
    for i, t in enumerate(edges_of(row)):
        if scalar and i:
            break
        for name in _read(row, t):
            needs.setdefault(name, []).append(i)
    return needs


def _read(row: Row, t: str) -> list[str]:
    """What the rule of an operand reads, and what it shares with others."""
    names = list(rule_arguments(row.rules[t]))
    if row.shared is not None and "shared" in names:
        names.remove("shared")
        names += [name for name in rule_arguments(row.shared) if name not in names]
    return names


def save_text(row: Row, indent: str, scalar: bool = False) -> list[str]:
    lines = []
    edges = edges_of(row)
    for name, users in _needs(row, scalar).items():
        if name == "out":
            lines += [
                f"{indent}n.r_out = r",
                f"{indent}n.c_out = o._c = [0]"
                if row.form != "view"
                else f"{indent}n.c_out = cell",
                f"{indent}n.v_out = n.c_out[0]",
            ]
        elif name in row.outputs:
            i = list(row.outputs).index(name)
            lines += [
                f"{indent}n.r_{name} = r{i}",
                f"{indent}n.c_{name} = o{i}._c = [0]",
                f"{indent}n.v_{name} = 0",
            ]
        elif name.endswith("_shape"):
            t = name.removesuffix("_shape")
            shapes = f"[t._s for t in {t}]" if t in row.sequences else f"{t}._s"
            lines.append(f"{indent}n.p_{name} = {shapes}")
        elif name.endswith("_wanted"):
            pass  # the edges say it
        elif name in row.tensors and not (scalar and name == row.arguments[1]):
            guard = _any_edge(row, users)
            inner = indent
            if len(users) < len(edges) and not scalar:
                lines.append(f"{indent}if {guard}:")
                inner += "    "
            if name in row.sequences:
                lines += [
                    f"{inner}n.t_{name} = tuple({name})",
                    f"{inner}n.v_{name} = versions({name})",
                ]
            elif name in row.optional:
                lines += [
                    f"{inner}n.t_{name} = {name}",
                    f"{inner}n.v_{name} = 0 if {name} is None or {name}._c is None "
                    f"else {name}._c[0]",
                ]
            else:
                lines += [
                    f"{inner}n.t_{name} = {name}",
                    f"{inner}cell = {name}._c",
                    f"{inner}n.v_{name} = 0 if cell is None else cell[0]",
                ]
        elif scalar and name == row.arguments[1]:
            lines += [f"{indent}n.p_{name} = {name}", f"{indent}n.c_{name} = w"]
        elif name.endswith("_number"):
            if scalar:
                lines.append(f"{indent}n.p_{name} = {row.arguments[1]}")
        else:
            lines.append(f"{indent}n.p_{name} = {name}")
    return lines


# -- the node --------------------------------------------------------------------------------
def node_text(row: Row, scalar: bool = False) -> list[str]:
    edges = edges_of(row)[:1] if scalar else edges_of(row)
    needs = _needs(row, scalar)
    slots = [f"e{i}" for i in range(len(edges))]
    if row.form == "binary" and not scalar:
        slots.append("sh")
    if row.outputs:
        slots += ["kind", "edge_refs"] if _kept_outputs(row) else ["kind"]
    release = []
    for name in needs:
        if name == "out" or name in row.outputs:
            slots += [f"r_{name}", f"c_{name}", f"v_{name}"]
            release += [f"        self.r_{name} = None", f"        self.c_{name} = FREED"]
        elif name in row.tensors and not (scalar and name == row.arguments[1]):
            slots += [f"t_{name}", f"v_{name}"]
            if name not in row.constants.split():
                release.append(f"        self.t_{name} = FREED")
        elif scalar or not name.endswith(("_number", "_wanted")):
            slots.append(f"p_{name}")
            if scalar and name == row.arguments[1]:
                slots.append(f"c_{name}")
    title = row.node_name + ("S" if scalar else "")
    lines = [f"class {title}(Node):", f"    __slots__ = ({', '.join(map(repr, slots))},)",
             f"    arity = {len(edges)}", "    op = ROW.name", ""]  # fmt: skip
    if row.written_node_name:
        lines.insert(-1, f"    written = {row.written_node_name!r}")
    if scalar and row.number_inputs:
        lines.insert(-1, f"    numbers = {row.number_inputs}")
    if row.outputs:
        lines.insert(-1, f"    results = {tuple(row.outputs)!r}")
        lines += ["    def result_kinds(self):", "        return ROW.result_kinds(self.kind)", ""]
    if row.sequences:
        every = ", ".join(f"{'*' * (t in row.sequences)}self.e{i}" for i, t in enumerate(edges))
        lines += ["    def edges(self):", f"        return ({every},)", ""]
    lines += _run(row, edges, scalar, raw=True)
    lines += _run(row, edges, scalar, raw=False)
    if release:
        lines += ["    def release(self):", *release]
    if scalar:
        shown = row.number_node_name or row.node_name
        lines += ["", "", f"{title}.__name__ = {title}.__qualname__ = {shown!r}"]
    return lines


def _run(row: Row, edges: list[str], scalar: bool, raw: bool) -> list[str]:
    lines = [f"    def {'run' if raw else 'run_t'}(self, g):"]
    lines.append(f"        F = self.{'kind' if row.outputs else 'k'}" + ("" if raw else ".T"))
    if row.outputs:
        each = ", ".join(f"g.get({i})" for i in range(len(row.outputs)))
        lines.append(f"        g = ({each},)")
    broadcasts = row.form == "binary" and not scalar
    if broadcasts:
        lines.append("        sh = self.sh")
    if row.holomorphic:
        lines += [
            "        conjugates = F.is_complex",
            "        if conjugates:",
            "            g = F.conj(g)",
        ]
    single = len(edges) == 1
    lines += [f"        e{i} = self.e{i}" for i in range(len(edges))]
    if row.shared is not None:
        lines += _shared(row, row.shared, raw)
    for i, t in enumerate(edges):
        names = [name for name in rule_arguments(row.rules[t]) if name != "shared"]
        indent = "        "
        if not single:
            nothing = f"[None] * len(e{i})" if t in row.sequences else "None"
            lines += [f"{indent}g{i} = {nothing}", f"{indent}if {_any_edge(row, [i])}:"]
            indent += "    "
        for name in names:
            if name.endswith("_wanted"):
                lines.append(f"{indent}{name} = [e is not None for e in e{i}]")
            else:
                lines += _load(row, name, scalar, raw, indent)
        arguments = "".join(f", {name}" for name in rule_arguments(row.rules[t]))
        lines.append(f"{indent}g{i} = rule_{t}(F, g{arguments})")
        if row.outputs and t not in row.sequences:
            lines += [f"{indent}if g{i} is None:", f"{indent}    e{i} = None"]
        if broadcasts:
            lines += [
                f"{indent}if sh is not None and sh[{i}] is not sh[{1 - i}]:",
                f"{indent}    g{i} = F.sum_to(g{i}, sh[{i}])",
            ]
        if row.holomorphic:
            lines += [f"{indent}if conjugates:", f"{indent}    g{i} = F.conj(g{i})"]
        if row.piecewise_linear and not raw:
            lines.append(f"{indent}g{i} = flat(g{i}, e{i})")
    if single and row.sequences:
        return [*lines, "        return pairs(e0, g0)", ""]
    both = ", ".join(
        f"*pairs(e{i}, g{i})" if t in row.sequences else f"e{i}, g{i}" for i, t in enumerate(edges)
    )
    return [*lines, f"        return {both}", ""]


def _shared(row: Row, shared: Callable[..., Any], raw: bool) -> list[str]:
    """The lines that compute what several rules need, where one of them is wanted."""
    users = [i for i, t in enumerate(edges_of(row)) if "shared" in rule_arguments(row.rules[t])]
    lines = [f"        if {_any_edge(row, users)}:"]
    for name in rule_arguments(shared):
        lines += _load(row, name, scalar=False, raw=raw, indent="            ")
    arguments = "".join(f", {name}" for name in rule_arguments(shared))
    return [*lines, f"            shared = rule_shared(F, g{arguments})"]


# -- all gradients at once -------------------------------------------------------------------
_HANDS_ON = (lambda F, g: g).__code__.co_code


def joined(row: Row) -> dict[str, int]:
    """The operands whose gradients may be computed together, with the numbers of their edges.

    A rule that hands the gradient on computes nothing.
    """
    rules = [(t, row.rules[t].__code__) for t in edges_of(row)]
    return {t: i for i, (t, code) in enumerate(rules) if code.co_code != _HANDS_ON}


def joined_names(row: Row) -> list[str]:
    """What the rules of these operands read."""
    return list(_needs(row, False))


def joined_text(row: Row) -> list[str]:
    """A ``run`` that asks ``together`` for what computes all gradients that are wanted, and is
    ``each``, the node's own, where that is None."""
    edges = edges_of(row)
    numbers = joined(row).values()
    lines = ["def run(self, g):", f"    F = self.{'kind' if row.outputs else 'k'}"]
    lines += [f"    e{i} = self.e{i}" for i in range(len(edges))]
    lines += [
        f"    made = together(F, ({', '.join(f'e{i} is not None' for i in numbers)}))",
        "    if made is None:",
        "        return each(self, g)",
    ]
    for name, users in _needs(row, False).items():
        lines += [f"    {name} = None", f"    if {_any_edge(row, users)}:"]
        lines += _load(row, name, scalar=False, raw=True, indent="        ")
    given = [f"g.get({i})" for i in range(len(row.outputs))] or ["g"]
    lines.append(f"    made = iter(made({', '.join([*given, *joined_names(row)])}))")
    for i in range(len(edges)):
        found = "next(made)" if i in numbers else "g"
        lines.append(f"    g{i} = None if e{i} is None else {found}")
        if row.outputs:
            lines += [f"    if g{i} is None:", f"        e{i} = None"]
        if row.form == "binary":
            lines += [
                f"    if e{i} is not None and self.sh and self.sh[{i}] is not self.sh[{1 - i}]:",
                f"        g{i} = F.sum_to(g{i}, self.sh[{i}])",
            ]
    return [*lines, f"    return {', '.join(f'e{i}, g{i}' for i in range(len(edges)))}"]


def _load(row: Row, name: str, scalar: bool, raw: bool, indent: str) -> list[str]:
    if name == "out":
        check = [
            f"{indent}if self.c_out[0] != self.v_out:",
            f"{indent}    raise stale_result(self, self.r_out, self.c_out[0], self.v_out)",
        ]
        if raw:
            return [*check, f"{indent}out = self.r_out"]
        return [*check, f"{indent}out = finish(self)"]
    if name in row.outputs:
        i = list(row.outputs).index(name)
        kept = f"self.r_{name}" if raw else f"finish(self, {name!r})"
        return [
            f"{indent}if self.c_{name}[0] != self.v_{name}:",
            f"{indent}    now, then = self.c_{name}[0], self.v_{name}",
            f"{indent}    raise stale_result(self, self.r_{name}, now, then, {i})",
            f"{indent}{name} = {kept}",
        ]
    if name in row.sequences:
        loaded = [f"{indent}{name} = current(self.t_{name}, self.v_{name})"]
        return [*loaded, f"{indent}{name} = [t._a for t in {name}]"] if raw else loaded
    if name.endswith("_number") and not scalar:
        return [f"{indent}{name} = None"]
    if name not in row.tensors:
        return [f"{indent}{name} = self.p_{name}"]
    if scalar and name == row.arguments[1]:
        return [f"{indent}{name} = self.{'c' if raw else 'p'}_{name}"]
    if name in row.optional:
        return [
            f"{indent}{name} = self.t_{name}",
            f"{indent}if {name} is not None:",
            f"{indent}    cell = {name}._c",
            f"{indent}    if cell is not None and cell[0] != self.v_{name}:",
            f"{indent}        raise stale({name}, self.v_{name})",
            *([f"{indent}    {name} = {name}._a"] if raw else []),
        ]
    return [
        f"{indent}{name} = self.t_{name}",
        f"{indent}cell = {name}._c",
        f"{indent}if cell is not None and cell[0] != self.v_{name}:",
        f"{indent}    raise stale({name}, self.v_{name})",
        *([f"{indent}{name} = {name}._a"] if raw else []),
    ]
