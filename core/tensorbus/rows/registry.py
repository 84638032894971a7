"""The rows: one for each op, from which functions, methods, nodes and tables are derived."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tensorbus._base.dtypes import BOOL, COMPLEX, FLOAT, INTEGER
from tensorbus._base.table import Table
from tensorbus.plugin import shape_rules
from tensorbus.plugin.primitives import PRIMITIVE_TABLE
from tensorbus.rows.autocast_policies import policy_on

ROWS = Table()
"""The rows by their names."""

RESERVED = frozenset(
    "F base cell conjugates e0 e1 e2 e3 e4 each error g0 g1 g2 g3 g4 k made n now o o0 o1 o2 o3 o4 "
    "r r0 r1 r2 r3 r4 s self sh shared t then together".split()
)
"""Names that generated functions use for themselves."""

DOMAINS = {
    "any": (BOOL, COMPLEX),
    "number": (INTEGER, COMPLEX),
    "integral": (BOOL, INTEGER),
    "integer": (INTEGER, INTEGER),
    "float": (FLOAT, COMPLEX),
    "complex": (COMPLEX, COMPLEX),
    "rounding": (INTEGER, FLOAT),
    "ordered": (BOOL, FLOAT),
    "ordered number": (INTEGER, FLOAT),
    "ordered float": (FLOAT, FLOAT),
}
"""The first and the last category of dtypes that a row takes as they are."""

_OPERANDS = {"T": "same", "bool": "bool", "int32": "int32", "int64": "int64"}
NEIGHBOURS = {
    "bool": "bool", "int32": "i32", "int64": "i64", "real": "real", "complex": "complex"
}  # fmt: skip
"""What kinds call the kind of the same device with such a dtype."""

_DESCRIPTIONS = {
    "": "parameter",
    "T": "tensor",
    "T?": "tensor, or None",
    "T*": "sequence of tensors",
    "T*!": "sequence of tensors, which are written to",
    "number": "number",
    "bool": "tensor of truth values",
    "int32": "tensor of int32 words",
    "int64": "tensor of int64 indices",
}
"""What the argument is that has such a mark in a signature."""

TABLES: list[Any] = []
"""The kinds made so far: a row declared later gets a slot in each."""


@dataclass(eq=False)
class Row:
    """One op over prepared operands: tensors of one kind, dims non-negative, shapes checked.

    ``signature`` names the arguments in order; those marked ``:T`` are tensors, ``:bool`` tensors
    of truth values and ``:int64`` of indices; ``:T?`` may be None, ``:T*`` is a sequence of
    tensors, and ``:T*!`` one whose tensors are written to; ``:number`` is a Python number that may
    be another at each call; the others are parameters. ``rules`` maps the name of a tensor argument
    to its derivative: a function whose first parameters are ``F`` (kernels or tensor functions) and
    ``g`` (the result's gradient) and whose others are named after what it needs: an argument,
    ``out``, or ``NAME_shape`` for a shape alone, or ``NAME_number`` for the Python number that
    stood there (None where a tensor did). Only what is named is kept for the backward pass.

    Where there are several ``results``, ``g`` is the tuple of their gradients, None for those to
    which none came; a rule names a result to get it, and may give None. The rule of a sequence
    gives a list of gradients; it gets lists, and ``NAME_wanted`` says which of them matter.
    """

    name: str
    signature: str
    form: str
    """``unary``, ``binary`` (pointwise, may broadcast), ``view``, ``general``, or ``list``: all its
    operands are sequences, whose members at one place have one shape. It writes and returns
    nothing. Its composition is of one member of each sequence, None where that is empty: it is
    pointwise, writes nothing, and returns a tuple of what is to be written, in the order of the
    operands marked so, with None for those that it is not given."""
    doc: str
    """What it computes: one sentence, in which the arguments have their names."""
    result: str = "same"
    """The result's dtype: ``same`` as the first tensor's, ``bool``, ``int32``, ``int64``, or its
    ``real`` or ``complex`` counterpart."""
    results: str = ""
    """The names and dtypes of several results, as ``Q:same R:same``: kernel, composition and
    function give a tuple. Such a row is ``general``."""
    column_major: str = ""
    """Those of several results whose matrices lie column by column in memory."""
    domain: str = "any"
    """The dtypes it takes, one of ``DOMAINS``: where that begins with floating point, integers are
    converted; with ``rounding`` they stay as they are; ``ordered`` means no complex numbers."""
    composite: Callable[..., Any] | None = None
    """``f(F, *args)`` for an op that is not a primitive."""
    rules: dict[str, Callable[..., Any]] = field(default_factory=dict)
    shared: Callable[..., Any] | None = None
    """What several rules need, with parameters as theirs: it is computed once for those that are
    wanted, which get it under the name ``shared``."""
    otherwise: Callable[..., Any] | None = None
    """What to call with the operands where the common case raised: another way, or the error."""
    outside: Callable[..., Any] | None = None
    """What to call with a tensor of a dtype outside the domain, where it is not just converted."""
    keeps_order: bool = False
    """Whether a ``general`` op is pointwise all the same: its result has its operands' layout."""
    check: Callable[..., None] | None = None
    """What to call with operands of different kinds, or outside the domain: it may refuse them."""
    identities: tuple[Any, Any] = (0, 0)
    """What a primitive makes of no elements, of numbers and of truth values; None: an error."""
    kernel: str | None = ""
    """The name under which a backend is asked for it, where that is another; None: never asked."""
    takes_dtype: bool = False
    """Whether the backend's kernel gets the result's dtype behind the other arguments."""
    writes: bool = False
    """Whether the first operand is written to, and returned."""
    divides: bool = False
    """Whether 0 as the second operand is an error for integers."""
    on_bool: str = ""
    """The op that it means on truth values, where the backend has no kernel for them."""
    commutes: bool = False
    """Whether a binary op gives the same with its operands exchanged."""
    composes_numbers: bool = False
    """Whether the composition of a binary op takes Python numbers as they are."""
    number_inputs: int = 0
    """How many inputs its node has, as hooks see them, for a number instead of an operand."""
    piecewise_linear: bool = False
    """Whether a gradient, differentiated again, is zero in each operand, not unrelated to it: so
    PyTorch has it of ops such as ``relu``, and not of all whose slope is constant."""
    holomorphic: bool = False
    """Whether its rules, which hold for real numbers, multiply the gradient with derivatives of a
    function that is holomorphic: on complex numbers a rule is run as ``conj(rule(conj(g)))``."""
    in_float32: bool = False
    """Whether its composition on float16 and bfloat16 computes in float32 and rounds once, as it
    does where the domain begins with floating point; not where it moves elements."""
    constants: str = ""
    """Operands without a history that the library makes for the call: a backward pass leaves them
    where they are, so that another one may follow."""
    autocast: str = ""
    """In which dtype it computes under autocast: the words of ``autocast_policies.py``."""
    node_name: str = ""
    number_node_name: str = ""
    """The node's name where the second operand is a Python number, if it is another."""
    left_number_node_name: str = ""
    """The same where the first operand is one."""
    written_node_name: str = ""
    """The same of the in-place form."""
    tensors: tuple[str, ...] = field(init=False)
    optional: tuple[str, ...] = field(init=False)
    arguments: tuple[str, ...] = field(init=False)
    operands: dict[str, str] = field(init=False)
    """The dtype of each tensor: ``same`` as the op's, ``bool`` or ``int64``."""
    sequences: tuple[str, ...] = field(init=False)
    written: tuple[str, ...] = field(init=False)
    """The sequences that a row of form ``list`` writes to."""
    written_places: tuple[int, ...] = field(init=False)
    """Which of the tensors these are."""
    numbers: tuple[str, ...] = field(init=False)
    outputs: dict[str, str] = field(init=False)
    """The dtype of each of several results; empty where there is one."""
    shape: Callable[..., tuple[int, ...]] | None = field(init=False)
    """The shape rule: of a primitive that of its table, of what is pointwise broadcasting."""

    def __post_init__(self) -> None:
        parts = self._parts()
        self.numbers = tuple(name for name, mark in parts if mark == "number")
        self.operands = {
            name: _OPERANDS[mark.rstrip("?*!")]
            for name, mark in parts
            if mark and name not in self.numbers
        }
        self.arguments, self.tensors = tuple(name for name, _ in parts), tuple(self.operands)
        self.optional = tuple(name for name, mark in parts if mark.endswith("?"))
        self.written = tuple(name for name, mark in parts if mark.endswith("!"))
        self.written_places = tuple(self.tensors.index(name) for name in self.written)
        self.sequences = tuple(name for name, mark in parts if "*" in mark)
        self.outputs = dict(part.split(":") for part in self.results.split())
        unknown = {self.result, *self.outputs.values()}.difference(["same", *NEIGHBOURS])
        if unknown:
            raise ValueError(f"row {self.name}: {sorted(unknown)} are no dtypes of results")
        if not set(self.column_major.split()) <= set(self.outputs):
            raise ValueError(f"row {self.name}: column_major= is for names of several results")
        if self.form == "list":
            if self.rules or not self.written or self.sequences != self.tensors:
                raise ValueError(f"row {self.name}: form list has sequences alone, and writes some")
            first = *self.tensors, *self.numbers
            if self.arguments[: len(first)] != first:
                raise ValueError(
                    f"row {self.name}: the sequences of form list come first, then its numbers"
                )
        elif self.written or self.numbers:
            raise ValueError(f"row {self.name}: operands that are written to are for form list")
        elif (self.outputs or self.sequences) and (self.form != "general" or self.holomorphic):
            raise ValueError(f"row {self.name}: several results or sequences are for form general")
        taken = RESERVED.intersection((*self.arguments, *self.outputs))
        if taken and self.rules:
            raise ValueError(f"row {self.name}: {sorted(taken)} are names of the generated text")
        uses = any("shared" in rule_arguments(rule) for rule in self.rules.values())
        if uses != (self.shared is not None) or (uses and not self.outputs):
            raise ValueError(f"row {self.name}: rules of several results share what shared= gives")
        policy_on(self.autocast, True)
        if DOMAINS[self.domain][0] == FLOAT and self.form not in ("view", "list"):
            self.in_float32 = True
        if self.kernel == "":
            self.kernel = self.name
        primitive = PRIMITIVE_TABLE.get(self.kernel or "")
        pointwise = shape_rules.broadcast if self.form in ("unary", "binary") else None
        self.shape = primitive.shape if primitive else pointwise
        if not self.node_name:
            # A letter behind a digit is a capital too: Log1PBackward0.
            name = "".join(p.capitalize() for p in self.name.split("_"))
            self.node_name = re.sub("[0-9][a-z]", lambda m: m[0].upper(), name) + "Backward0"

    def _parts(self) -> list[tuple[str, str]]:
        """The name and the mark of each argument."""
        parts = (part.strip().partition(":") for part in self.signature.split(","))
        return [(name, mark) for name, _, mark in parts]

    @property
    def documentation(self) -> str:
        """The sentence, and below it what each argument is."""
        lines = [f"{name}: {_DESCRIPTIONS[mark]}" for name, mark in self._parts()]
        if self.form == "binary":
            lines[1] += " or number"
        if self.outputs:
            lines.append(f"It gives {', '.join(self.outputs)}.")
        if self.takes_dtype:
            lines.append("A kernel gets the dtype of the result as a last argument.")
        return "\n".join([self.doc, "", *lines])

    def operand_kind(self, argument: str, kind: Any) -> Any:
        """The kind of an operand of the op on *kind*."""
        return of_same_device(kind, self.operands.get(argument, "same"))

    def result_kind(self, kind: Any) -> Any:
        """The kind of the op's result on *kind*."""
        return of_same_device(kind, self.result)

    def result_kinds(self, kind: Any) -> tuple[Any, ...]:
        """The kinds of the op's results on *kind*, also where there is one."""
        return tuple(of_same_device(kind, d) for d in self.outputs.values() or (self.result,))


def of_same_device(kind: Any, dtype: str) -> Any:
    """The kind of the same device with the dtype that a row names, as ``Row.result`` does."""
    return kind if dtype == "same" else getattr(kind, NEIGHBOURS[dtype])


def rule_arguments(rule: Callable[..., Any]) -> tuple[str, ...]:
    """What a derivative rule wants after ``F`` and ``g``."""
    code = rule.__code__
    return code.co_varnames[2 : code.co_argcount]


def no_derivative(name: str) -> dict[str, Any]:
    """Rules that refuse: an op without a derivative is refused in backward, not passed over."""

    def refuse(F: Any, g: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return {"x": refuse, "y": refuse}


def underivable(function: str) -> Callable[..., Any]:
    """A rule that refuses the gradient of one operand, where PyTorch has that of others only."""

    def refuse(F: Any, g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{function}' is not implemented.")

    return refuse


_FIELDS = {f.name for f in dataclasses.fields(Row) if f.init and f.name != "rules"}


def row(name: str, signature: str, form: str = "general", *, doc: str = "", **fields: Any) -> Row:
    """Declare an op; further keywords named after tensor arguments are derivative rules.

    ``row("exp", "x:T", "unary", doc="e to the power *x*.", x=lambda F, g, out: F.mul(g, out))``
    is a whole op.
    """
    if not doc:
        raise ValueError(f"row {name}: doc= must say what it computes")
    rules = {k: fields.pop(k) for k in list(fields) if k not in _FIELDS}
    made = Row(name, signature, form, doc, rules=rules, **fields)
    unknown = set(rules) - set(made.tensors)
    if unknown:
        raise ValueError(f"row {name}: derivatives for {sorted(unknown)}, which are no tensors")
    awaited = name in ROWS.homes  # each kind has a slot for it
    if not awaited and name in ROWS:
        raise ValueError(f"row {name} is declared twice")
    ROWS[name] = made
    for kind in () if awaited else TABLES:
        kind.add_row(made)
    return made
