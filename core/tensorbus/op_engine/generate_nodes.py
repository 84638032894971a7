"""Writes what a row records: the lines that keep what its rules read, and its node class."""

from __future__ import annotations

from tensorbus.rows.registry import Row, rule_arguments


def edges_of(row: Row) -> list[str]:
    return [t for t in row.tensors if t in row.rules]


def edge_text(row: Row, t: str) -> str:
    """The expression for an operand's edge; that of a view may have to be made anew."""
    edge = f"{t}._e if {t}._b is None else edge_of({t})"
    return f"None if {t} is None else {edge}" if t in row.optional else edge


def record_text(row: Row) -> list[str]:
    inputs = edges_of(row)
    if row.form == "unary":  # ``pointwise`` has seen to views
        lines = [f"    e0 = {inputs[0]}._e"]
    else:
        lines = [f"    e{i} = {edge_text(row, t)}" for i, t in enumerate(inputs)]
    wanted = " or ".join(f"e{i} is not None" for i in range(len(inputs)))
    return [
        *lines,
        f"    if ({wanted}) and (GRAD.on or THREAD.on):",
        *_node_made(row, "o._k"),
    ]


def record_view_text(row: Row) -> list[str]:
    """The lines that make a view's node; its edge is known."""
    return _node_made(row, "k" if row.result == "same" else "o._k")


def _node_made(row: Row, kind: str) -> list[str]:
    return [
        f"        n = {row.node_name}()",
        "        n.q = sequence()",
        f"        n.k = {kind}",
        "        n.h = None",
        *(f"        n.e{i} = e{i}" for i in range(len(edges_of(row)))),
        *save_text(row, "        "),
        "        o._e = n",
    ]


def _needs(row: Row, scalar: bool) -> dict[str, list[int]]:
    """What the rules read, and the edges each is read for."""
    needs: dict[str, list[int]] = {}
    for i, t in enumerate(edges_of(row)):
        if scalar and i:
            break
        for name in rule_arguments(row.rules[t]):
            needs.setdefault(name, []).append(i)
    return needs


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
        elif name.endswith("_shape"):
            t = name.removesuffix("_shape")
            lines.append(f"{indent}n.p_{name} = {t}._s")
        elif name in row.tensors and not (scalar and name == row.arguments[1]):
            guard = " or ".join(f"e{i} is not None" for i in users)
            inner = indent
            if len(users) < len(edges) and not scalar:
                lines.append(f"{indent}if {guard}:")
                inner += "    "
            if name in row.optional:
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
    release = []
    for name in needs:
        if name == "out":
            slots += ["r_out", "c_out", "v_out"]
            release += ["        self.r_out = None", "        self.c_out = FREED"]
        elif name in row.tensors and not (scalar and name == row.arguments[1]):
            slots += [f"t_{name}", f"v_{name}"]
            release.append(f"        self.t_{name} = FREED")
        elif scalar or not name.endswith("_number"):
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
    lines.append("        F = self.k" + ("" if raw else ".T"))
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
    for i, t in enumerate(edges):
        names = rule_arguments(row.rules[t])
        indent = "        "
        lines.append(f"{indent}e{i} = self.e{i}")
        if not single:
            lines += [f"{indent}g{i} = None", f"{indent}if e{i} is not None:"]
            indent += "    "
        for name in names:
            lines += _load(row, name, scalar, raw, indent)
        arguments = "".join(f", {name}" for name in names)
        lines.append(f"{indent}g{i} = rule_{t}(F, g{arguments})")
        if broadcasts:
            lines += [
                f"{indent}if sh is not None and sh[{i}] is not sh[{1 - i}]:",
                f"{indent}    g{i} = F.sum_to(g{i}, sh[{i}])",
            ]
        if row.holomorphic:
            lines += [f"{indent}if conjugates:", f"{indent}    g{i} = F.conj(g{i})"]
        if row.piecewise_linear and not raw:
            lines.append(f"{indent}g{i} = flat(g{i}, e{i})")
    pairs = ", ".join(f"e{i}, g{i}" for i in range(len(edges)))
    return [*lines, f"        return {pairs}", ""]


def _load(row: Row, name: str, scalar: bool, raw: bool, indent: str) -> list[str]:
    if name == "out":
        check = [
            f"{indent}if self.c_out[0] != self.v_out:",
            f"{indent}    raise stale_result(self, self.r_out, self.c_out[0], self.v_out)",
        ]
        if raw:
            return [*check, f"{indent}out = self.r_out"]
        return [*check, f"{indent}out = finish(self)"]
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
