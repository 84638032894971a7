"""The rows: one for each op, from which functions, methods, nodes and tables are derived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from typing import Any

from tensorbus._base.dtypes import BOOL, COMPLEX, FLOAT, INTEGER

ROWS: dict[str, Row] = {}

RESERVED = frozenset("F base cell e0 e1 e2 error g0 g1 g2 how k n o r s self sh t".split())
"""Names that generated functions use for themselves."""

DOMAINS = {
    "any": (BOOL, COMPLEX),
    "number": (INTEGER, COMPLEX),
    "integral": (BOOL, INTEGER),
    "float": (FLOAT, COMPLEX),
    "rounding": (INTEGER, FLOAT),
    "ordered": (BOOL, FLOAT),
    "ordered number": (INTEGER, FLOAT),
    "ordered float": (FLOAT, FLOAT),
}
"""The first and the last category of dtypes that a row takes as they are."""

TABLES: list[Any] = []
"""The kinds made so far: a row declared later gets a place in each."""


@dataclass(eq=False)
class Row:
    """One op over prepared operands: tensors of one kind, dims non-negative, shapes checked.

    ``signature`` names the arguments in order; those marked ``:T`` are tensors, ``:T?`` tensors or
    None, the others parameters. ``rules`` maps the name of a tensor argument to its derivative: a
    function whose first parameters are ``F`` (kernels or tensor functions) and ``g`` (the result's
    gradient) and whose others are named after what it needs: an argument, ``out``, or
    ``NAME_shape`` for a shape alone, or ``NAME_number`` for the Python number that stood there
    (None where a tensor did). Only what is named is kept for the backward pass.
    """

    name: str
    signature: str
    form: str
    """``unary``, ``binary`` (pointwise, may broadcast), ``view`` or ``general``."""
    result: str = "same"
    """The result's dtype: ``same`` as the first tensor's, ``bool``, or ``int64``."""
    domain: str = "any"
    """The dtypes it takes, one of ``DOMAINS``: where that begins with floating point, integers are
    converted; with ``rounding`` they stay as they are; ``ordered`` means no complex numbers."""
    composite: Callable[..., Any] | None = None
    """``f(F, *args)`` for an op that is not a primitive."""
    rules: dict[str, Callable[..., Any]] = field(default_factory=dict)
    otherwise: Callable[..., Any] | None = None
    """What to call with the operands where the common case raised: another way, or the error."""
    outside: Callable[..., Any] | None = None
    """What to call with a tensor of a dtype outside the domain, where it is not just converted."""
    keeps_order: bool = False
    """Whether a ``general`` op is pointwise all the same: its result has its operands' layout."""
    number_inputs: int = 0
    """How many inputs its node has, as hooks see them, for a number in the place of an operand."""
    piecewise_linear: bool = False
    """Whether a gradient, differentiated again, is zero in each operand, not unrelated to it: so
    PyTorch has it of ops such as ``relu``, and not of all whose slope is constant."""
    node_name: str = ""
    tensors: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names, tensors, optional = [], [], []
        for part in self.signature.split(","):
            name, _, mark = part.strip().partition(":")
            names.append(name)
            if mark:
                tensors.append(name)
            if mark == "T?":
                optional.append(name)
        self.arguments, self.tensors, self.optional = tuple(names), tuple(tensors), tuple(optional)
        taken = RESERVED.intersection(names)
        if taken and self.rules:
            raise ValueError(f"row {self.name}: {sorted(taken)} are names of the generated text")
        if not self.node_name:
            self.node_name = "".join(p.capitalize() for p in self.name.split("_")) + "Backward0"

    @property
    def saves(self) -> set[str]:
        """The arguments (and ``out``) that some rule reads."""
        return {name for rule in self.rules.values() for name in rule_arguments(rule)}


def rule_arguments(rule: Callable[..., Any]) -> tuple[str, ...]:
    """What a derivative rule wants after ``F`` and ``g``."""
    code = rule.__code__
    return code.co_varnames[2 : code.co_argcount]


def no_derivative(name: str) -> dict[str, Any]:
    """Rules that refuse: an op without a derivative is told in backward, not passed over."""

    def refuse(F: Any, g: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return {"x": refuse, "y": refuse}


def row(name: str, signature: str, form: str = "general", **fields: Any) -> Row:
    """Declare an op; further keywords named after tensor arguments are derivative rules.

    ``row("exp", "x:T", "unary", x=lambda F, g, out: F.mul(g, out))`` is a whole op.
    """
    known = {f.name for f in fields_of(Row)} - {"name", "signature", "form", "rules"}
    rules = {k: fields.pop(k) for k in list(fields) if k not in known}
    made = Row(name, signature, form, rules=rules, **fields)
    unknown = set(rules) - set(made.tensors)
    if unknown:
        raise ValueError(f"row {name}: derivatives for {sorted(unknown)}, which are no tensors")
    if name in ROWS:
        raise ValueError(f"row {name} is declared twice")
    ROWS[name] = made
    for kind in TABLES:
        kind.add_row(made)
    return made
