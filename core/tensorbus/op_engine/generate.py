"""Writes one Python function and one node class for each row, when the op is first used.

The text does the common case: plain tensors of one kind, no mode. The rest goes to the
rooms beside: ``mixed_operands``, ``result_layouts``, ``failure``, ``rare``.
The text is registered with ``linecache``, so that tracebacks show it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any
from weakref import ref

from tensorbus._base.errors import no_tensor
from tensorbus._base.modes import RARE
from tensorbus._base.registered import make_core
from tensorbus._base.size import SIZES
from tensorbus._tensor import tensor as _tensor
from tensorbus._tensor.tensor import PERMUTED, Tensor
from tensorbus.autograd import node as nodes
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.autograd.several_results import GATHERING, result_edge
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.failure import failed
from tensorbus.op_engine.generate_nodes import (
    defined,
    node_text,
    record_text,
    record_view_text,
    save_text,
    wanted_text,
)
from tensorbus.op_engine.history import edge_of, saved_result
from tensorbus.op_engine.list_rows import take_step
from tensorbus.op_engine.mixed_operands import binary, promoted
from tensorbus.op_engine.parameter import Parameter
from tensorbus.op_engine.rare import rare
from tensorbus.op_engine.result_layouts import by_columns, laid_out, pointwise
from tensorbus.op_engine.rules import give_rules
from tensorbus.rows.recipes import UNRECORDED
from tensorbus.rows.registry import NEIGHBOURS, ROWS, Row

_RESULT_KINDS = {"same": "k", **{dtype: f"k.{name}" for dtype, name in NEIGHBOURS.items()}}


@make_core.provide
def _make(row: Row, names: dict[str, Any] | None = None) -> Callable[..., Any]:
    """The function of a row; *names* gives its text another view of the modes."""
    writers = {"binary": _binary, "unary": _unary, "view": _view, "list": _list}
    writer = writers.get(row.form, _general)
    namespace = _namespace(row)
    if names:
        namespace.update(names, mixed=promoted)
    source = "\n".join(writer(row)) + "\n"
    if row.rules:
        source = "\n".join(node_text(row)) + "\n\n\n" + source
        if row.form == "binary":
            source = "\n".join(node_text(row, scalar=True)) + "\n\n\n" + source
    function: Callable[..., Any]
    function = defined(f"<tensorbus op {row.name}>", source, namespace)[row.name]
    if row.rules:
        give_rules(row, namespace)
    function.__doc__ = row.doc
    return function


def source_of(name: str) -> str:
    """The generated text of an op's functions."""
    core(name)
    return "".join(linecache.cache[f"<tensorbus op {name}>"][2])  # type: ignore[misc]


def _namespace(row: Row) -> dict[str, Any]:
    return {
        "__name__": f"tensorbus.ops.generated.{row.name}",
        "Tensor": Tensor, "Parameter": Parameter, "PERMUTED": PERMUTED, "make": _tensor.make,
        "GRAD": GRAD, "THREAD": THREAD, "RARE": RARE, "ROW": row, "SIZES": SIZES,
        "UNRECORDED": UNRECORDED,
        "sequence": nodes.next_sequence, "Node": nodes.Node, "FREED": nodes.FREED,
        "flat": nodes.flat, "stale": nodes.stale, "stale_result": nodes.stale_result,
        "GATHERING": GATHERING, "result_edge": result_edge,
        "current": nodes.current, "pairs": nodes.pairs, "versions": nodes.versions, "ref": ref,
        "mixed": binary, "failed": failed, "no_tensor": no_tensor, "rare": rare, "edge_of": edge_of,
        "pointwise": pointwise, "laid_out": laid_out, "by_columns": by_columns,
        "finish": saved_result, "take_step": take_step,
    }  # fmt: skip


def _kind_of(x: str) -> list[str]:
    """Lines that look at the kind; a ``try`` costs nothing where nothing is raised."""
    return [
        "    try:",
        f"        k = {x}._k",
        "    except AttributeError:",
        f"        raise no_tensor(ROW.name, {x}) from None",
    ]


# -- the call --------------------------------------------------------------------------------
def _binary(row: Row) -> list[str]:
    name, (a, b) = row.name, row.arguments
    kind = _RESULT_KINDS[row.result]
    lines = [
        f"def {name}({a}, {b}):",
        *_kind_of(a),
        f"    t = type({b})",
        "    if t is Tensor or t is Parameter:",
        f"        if k is not {b}._k or RARE.on:",
        f"            return mixed(ROW, {a}, {b})",
        f"        s = {a}._s",
        "        try:",
        f"            if s is {b}._s and {a}._b is None and {b}._b is None:",
        f"                r = k.{name}({a}._a, {b}._a)",
        "                base = None",
        "            else:",
        f"                r, s, base = pointwise(ROW, k, {a}, {b})",
        "        except Exception as error:",
        f"            return failed(ROW, ({a}, {b}), error)",
        "    elif t in k.number_types and not RARE.on:",
        f"        s = {a}._s",
        f"        w = k.consts.get({b})",
        "        if w is None:",
        f"            w = k.const({b})",
        "        try:",
        f"            if {a}._b is None:",
        f"                r = k.{name}({a}._a, w)",
        "                base = None",
        "            else:",
        f"                r, s, base = pointwise(ROW, k, {a}, w)",
        "        except Exception as error:",
        f"            return failed(ROW, ({a}, {b}), error)",
    ]
    if row.rules:
        lines += [
            "        if not s:",
            f"            r = {kind}.as_array(r)",
            *_result(kind, "        ", base="base"),
            f"        e0 = {a}._e",
            "        if e0 is not None and (GRAD.on or THREAD.on):",
            f"            n = {row.node_name}S()",
            "            n.q = sequence()",
            "            n.k = k",
            "            n.h = None",
            "            n.e0 = e0",
            *save_text(row, "            ", scalar=True),
            "            o._e = n",
            "        return o",
        ]
    lines += ["    else:", f"        return mixed(ROW, {a}, {b})", "    if not s:"]
    lines += [f"        r = {kind}.as_array(r)", *_result(kind, "    ", base="base")]
    if row.rules:
        lines += [
            f"    e0 = {a}._e",
            f"    e1 = {b}._e",
            "    if (e0 is not None or e1 is not None) and (GRAD.on or THREAD.on):",
            f"        n = {row.node_name}()",
            "        n.q = sequence()",
            "        n.k = k",
            "        n.h = None",
            "        n.e0 = e0",
            "        n.e1 = e1",
            f"        n.sh = None if {a}._s is {b}._s else ({a}._s, {b}._s)",
            *save_text(row, "        "),
            "        o._e = n",
        ]
    return [*lines, "    return o"]


def _unary(row: Row) -> list[str]:
    name, x = row.name, row.arguments[0]
    rest = "".join(f", {p}" for p in row.arguments[1:])
    kind = _RESULT_KINDS[row.result]
    lines = [
        f"def {name}({x}{rest}):",
        *_kind_of(x),
        "    if RARE.on:",
        f"        return rare(ROW, ({x}{rest or ','}))",
        "    try:",
        f"        if {x}._b is None:",
        f"            r = k.{name}({x}._a{rest})",
        f"            s = {x}._s",
        "            base = None",
        "        else:",
        f"            r, s, base = pointwise(ROW, k, {x}{rest})",
        "    except Exception as error:",
        f"        return failed(ROW, ({x}{rest or ','}), error)",
        "    if not s:",
        f"        r = {kind}.as_array(r)",
        *_result(kind, "    ", base="base"),
    ]
    if row.rules:
        lines += record_text(row)
    return [*lines, "    return o"]


def _general(row: Row) -> list[str]:
    name = row.name
    own = [t for t in row.tensors if t not in row.optional]
    first = next(t for t in own if row.operands[t] == "same")
    called = ", ".join(_array_of(row, a) for a in row.arguments)
    everything = ", ".join(row.arguments) + ("," if len(row.arguments) == 1 else "")
    kind = _RESULT_KINDS[row.result]
    recorded = row.composite is not None and not row.rules and row.result == "same"
    lines = [
        f"def {name}({', '.join(row.arguments)}):",
        f"    k = {first}{'[0]' if first in row.sequences else ''}._k",
        "    if RARE.on:",
        f"        return rare(ROW, ({everything}))",
    ]
    if recorded:
        # A plain composite has no derivative of its own: its parts record.
        wanted = " or ".join(wanted_text(row, t) for t in row.tensors)
        lines += [
            f"    if ({wanted}) and (GRAD.on or THREAD.on):",
            f"        return ROW.composite(k.T, {', '.join(row.arguments)})",
        ]
    results = [f"r{i}" for i in range(len(row.outputs))] or ["r"]
    lines += [
        "    try:",
        f"        {', '.join(results)} = k.{name}({called})",
        "    except Exception as error:",
        f"        return failed(ROW, ({everything}), error)",
    ]
    if row.outputs:
        return [*lines, *_several(row)]
    lines += [
        "    if not r.shape:",
        f"        r = {kind}.as_array(r)",
        *(_laid_out(row, kind) if row.keeps_order else _row_major(row, kind)),
        *_result(kind, "    ", "SIZES[r.shape]", "base" if row.keeps_order else "None"),
    ]
    if row.rules:
        lines += record_text(row)
    return [*lines, "    return o"]


def _array_of(row: Row, argument: str) -> str:
    """What a kernel gets for an argument."""
    if argument in row.sequences:
        return f"[t._a for t in {argument}]"
    if argument in row.optional:
        return f"None if {argument} is None else {argument}._a"
    return f"{argument}._a" if argument in row.tensors else argument


def _several(row: Row) -> list[str]:
    """The lines that make tensors of several results, and one node for them all."""
    lines = []
    by_columns = row.column_major.split()
    for i, (name, dtype) in enumerate(row.outputs.items()):
        kind, r, base = _RESULT_KINDS[dtype], f"r{i}", "None"
        if name in by_columns:
            base = f"b{i}"
            lines += [f"    {r}, {base} = by_columns({kind}, {r})"]
        else:
            lines += [f"    if not {r}.shape:", f"        {r} = {kind}.as_array({r})"]
            lines += [f"    elif not {kind}.is_contiguous({r}):"]
            lines += [f"        {r} = {kind}.clone({r})"]
        lines += _result(kind, "    ", f"SIZES[{r}.shape]", base, str(i))
    if row.rules:
        lines += record_text(row)
    return [*lines, f"    return {', '.join(f'o{i}' for i in range(len(row.outputs)))}"]


def _list(row: Row) -> list[str]:
    lists = ", ".join(row.tensors)
    rest = "".join(f"{a}, " for a in row.arguments if a not in row.tensors)
    return [
        f"def {row.name}({', '.join(row.arguments)}):",
        f"    take_step(ROW, ({lists}), ({rest}))",
    ]


def _view(row: Row) -> list[str]:
    return view_text(row, row.name, ", ".join(row.arguments), [], "SIZES[r.shape]")


def view_text(
    row: Row, name: str, parameters: str, first: list[str], size: str, plain: bool = False
) -> list[str]:
    """A function that makes a view; *first* stands before it, *size* says the view's Size.

    With *plain* the lines before have seen to it that the tensor is row-major and no view.
    """
    x = row.arguments[0]
    values = "".join(f", {a}" for a in row.arguments[1:])
    params = "".join(f"{a}, " for a in row.arguments[1:])
    lines = [
        f"def {name}({parameters}):",
        *first,
        *_kind_of(x),
        "    if RARE.on:",
        f"        return rare(ROW, ({x}{values or ','}))",
        "    try:",
        f"        r = k.fast_{row.name}({x}._a{values})",
        "    except Exception as error:",
        f"        return failed(ROW, ({x}{values or ','}), error)",
        f"    cell = {x}._c",
        "    if cell is None:",
        f"        cell = {x}._c = [0]",
    ]
    if plain:
        lines += [f"    e0 = {x}._e", "    o = make()", f"    o._b = {x}"]
        lines += [f"    o._r = (ROW, {params})"]
    else:
        lines += [
            "    o = make()",
            f"    b = {x}._b",
            "    if b is None or b is PERMUTED:",
            f"        o._b = {x}",
            f"        o._r = (ROW, {params})",
            f"        e0 = {x}._e",
            "    else:",
            "        o._b = b",
            f"        how = {x}._r",
            "        if how:",
            f"            o._r = (ROW, {params}how)",
            "        else:",
            "            o._r = how",
            "            o._v = cell[0] if type(cell) is list else 0",
            f"        e0 = edge_of({x})",
        ]
    kind = _RESULT_KINDS[row.result]
    lines += ["    o._a = r", f"    o._k = {kind}", f"    o._s = {size}", "    o._c = cell"]
    if not row.rules:
        return [*lines, "    o._e = None", "    return o"]
    return [
        *lines,
        "    if not (GRAD.on or THREAD.on):",
        "        # A view made in no_grad is cut off from its base's history for good.",
        "        o._e = None",
        "        o._r = UNRECORDED",
        "        o._v = cell[0] if type(cell) is list else 0",
        "    elif e0 is None:",
        "        o._e = None",
        "    else:",
        *record_view_text(row),
        "        o._v = cell[0]",
        "    return o",
    ]


def shortcut(
    name: str, parameters: str, first: list[str], size: str, **names: Any
) -> Callable[..., Any]:
    """A method that makes a view by a row, with its arguments prepared by the lines *first*.

    Behind these the tensor is row-major and no view. One function where a method that calls the
    row's own would be two.
    """
    row = ROWS[name]
    namespace = {**core(name).__globals__, **names}
    source = "\n".join(view_text(row, "method", parameters, first, size, plain=True)) + "\n"
    return defined(f"<tensorbus method for {name}>", source, namespace)["method"]


def _row_major(row: Row, kind: str) -> list[str]:
    """Lines that copy a result of another layout, behind a test for one without dimensions."""
    test = f"not {kind}.is_contiguous(r)"
    if row.composite is None and not row.optional and not row.sequences:
        # Kernels give row-major results for row-major inputs; compositions may give views.
        test = f"({' or '.join(f'{t}._b is not None' for t in row.tensors)}) and {test}"
    return [f"    elif {test}:", f"        r = {kind}.clone(r)"]


def _laid_out(row: Row, kind: str) -> list[str]:
    """Lines that give a result the layout of the operands."""
    return [
        "    base = None",
        f"    if {' or '.join(f'{t}._b is not None' for t in row.tensors)}:",
        f"        r, base = laid_out({kind}, r, {', '.join(row.tensors)})",
    ]


def _result(kind: str, indent: str, size: str = "s", base: str = "None", i: str = "") -> list[str]:
    o = f"o{i}"
    lines = [
        f"{o} = make()", f"{o}._a = r{i}", f"{o}._k = {kind}", f"{o}._s = {size}", f"{o}._c = None",
        f"{o}._e = None", f"{o}._b = {base}",
    ]  # fmt: skip
    return [indent + line for line in lines]
