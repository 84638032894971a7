"""The special cases of the array API standard's element-wise functions, 2025.12, as data.

A line is what the operands are and what the result is. For an operand stands a number or the
name of a class of numbers in ``CLASSES``; for a result a number, ``x`` or ``y`` (the operand, or
the part of a complex one), ``~x`` (its negative), ``|x|`` (its magnitude), or ``?`` before a number
of which both signs are allowed. Complex numbers are ``real,imaginary``; the table states them for
imaginary parts of positive sign, and each f(conj(z)) is conj(f(z)).

Source: https://data-apis.org/array-api/2025.12/API_specification/elementwise_functions.html
"""

from __future__ import annotations

import math

CLASSES = {
    "any": (math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 2.0, -3.0, 2.5),
    "finite": (0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 2.0, -3.0, 2.5),
    "nonzero": (1.0, -1.0, 0.3, -0.7, 2.0, -3.0, 2.5),
    "pos": (1.0, 0.3, 2.0, 2.5),
    "neg": (-1.0, -0.7, -3.0),
    "+any": (math.inf, 1.0, 0.3, 2.0, 2.5),
    "-any": (-math.inf, -1.0, -0.7, -3.0),
    "number": (math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 2.0, -3.0, 2.5),
    "zero": (0.0, -0.0),
    "infinite": (math.inf, -math.inf),
    ">1": (1.5, 3.0, math.inf),
    "<-1": (-1.5, -3.0, -math.inf),
    "<1": (0.3, 0.0, -0.0, -0.7, -3.0, -math.inf),
    "<0": (-0.3, -3.0, -math.inf),
    "within": (0.3, -0.7, 0.0, -0.0),
    "odd": (1.0, 3.0, 5.0),
    "-odd": (-1.0, -3.0),
    "even": (2.0, 4.0, 2.5, 0.3),
    "-even": (-2.0, -4.0, -2.5, -0.3),
    "fraction": (0.3, 2.5, -0.7),
    "unit": (1.0, -1.0),
    "integral": (0.0, -0.0, 1.0, -3.0, 4.0),
    "half": (0.5, 1.5, 2.5, -0.5, -1.5),
}

REAL = {
    "abs": "nan nan; -0 0; -inf inf",
    "acos": "nan nan; >1 nan; <-1 nan; 1 0",
    "acosh": "nan nan; <1 nan; 1 0; inf inf",
    "asin": "nan nan; >1 nan; <-1 nan; 0 0; -0 -0",
    "asinh": "nan nan; 0 0; -0 -0; inf inf; -inf -inf",
    "atan": "nan nan; 0 0; -0 -0; inf pi/2; -inf -pi/2",
    "atanh": "nan nan; <-1 nan; >1 nan; -1 -inf; 1 inf; 0 0; -0 -0",
    "ceil": "integral x; inf inf; -inf -inf; 0 0; -0 -0; nan nan; -0.7 -0",
    "cos": "nan nan; 0 1; -0 1; infinite nan",
    "cosh": "nan nan; 0 1; -0 1; inf inf; -inf inf",
    "exp": "nan nan; 0 1; -0 1; inf inf; -inf 0",
    "expm1": "nan nan; 0 0; -0 -0; inf inf; -inf -1",
    "floor": "integral x; inf inf; -inf -inf; 0 0; -0 -0; nan nan",
    "log": "nan nan; <0 nan; zero -inf; 1 0; inf inf",
    "log10": "nan nan; <0 nan; zero -inf; 1 0; inf inf",
    "log1p": "nan nan; <-1 nan; -1 -inf; -0 -0; 0 0; inf inf",
    "log2": "nan nan; <0 nan; zero -inf; 1 0; inf inf",
    "reciprocal": "nan nan; inf 0; -inf -0; 0 inf; -0 -inf",
    "round": "integral x; inf inf; -inf -inf; 0 0; -0 -0; nan nan; 0.5 0; 1.5 2; 2.5 2; -0.5 -0; "
    "-1.5 -2",
    "sign": "nan nan; <0 -1; zero ?0; +any 1",
    "sin": "nan nan; 0 0; -0 -0; infinite nan",
    "sinh": "nan nan; 0 0; -0 -0; inf inf; -inf -inf",
    "sqrt": "nan nan; <0 nan; 0 0; -0 -0; inf inf",
    "square": "nan nan; infinite inf; zero 0",
    "tan": "nan nan; 0 0; -0 -0; infinite nan",
    "tanh": "nan nan; 0 0; -0 -0; inf 1; -inf -1",
    "trunc": "integral x; inf inf; -inf -inf; 0 0; -0 -0; nan nan; -0.7 -0",
}

_SUM = """nan any nan; any nan nan; inf -inf nan; -inf inf nan; inf inf inf; -inf -inf -inf;
    inf finite inf; -inf finite -inf; finite inf inf; finite -inf -inf; -0 -0 -0; -0 0 0; 0 -0 0;
    0 0 0; zero nonzero y; nonzero zero x; 2.5 -2.5 0"""
_QUOTIENT = """nan any nan; any nan nan; infinite infinite nan; zero zero nan; 0 +any 0; -0 +any -0;
    0 -any -0; -0 -any 0; +any 0 inf; +any -0 -inf; -any 0 -inf; -any -0 inf; inf pos inf;
    inf neg -inf; -inf pos -inf; -inf neg inf"""

BINARY = {
    "add": _SUM,
    "subtract": """nan any nan; any nan nan; inf inf nan; -inf -inf nan; inf -inf inf;
        -inf inf -inf; inf finite inf; finite inf -inf; -0 0 -0; -0 -0 0; 0 0 0; 0 nonzero ~y;
        nonzero zero x; 2.5 2.5 0""",
    "multiply": """nan any nan; any nan nan; infinite zero nan; zero infinite nan; inf inf inf;
        inf -inf -inf; -inf -inf inf; inf pos inf; inf neg -inf; -inf pos -inf; -inf neg inf;
        pos inf inf; neg inf -inf; neg -inf inf; 0 pos 0; -0 pos -0; 0 neg -0; -0 neg 0""",
    "divide": _QUOTIENT + "; pos inf 0; pos -inf -0; neg inf -0; neg -inf 0",
    # Where the standard allows Python's answers too, ours are those of the quotient rounded down.
    "floor_divide": """nan any nan; any nan nan; infinite infinite nan; zero zero nan; 0 pos 0;
        -0 pos -0; 0 neg -0; -0 neg 0; +any 0 inf; +any -0 -inf; -any 0 -inf; -any -0 inf;
        pos inf 0; neg -inf 0""",
    "remainder": """nan any nan; any nan nan; infinite infinite nan; zero zero nan; 0 pos 0;
        -0 pos ?0; 0 neg ?0; -0 neg -0; nonzero zero nan; infinite finite nan; pos inf x;
        neg -inf x; neg inf inf; pos -inf -inf""",
    "pow": """<0 nan nan; 0.3 nan nan; 2 nan nan; any 0 1; any -0 1; nan nonzero nan;
        nan infinite nan; >1 inf inf; <-1 inf inf; >1 -inf 0; <-1 -inf 0; unit inf 1; unit -inf 1;
        1 number 1; 1 nan 1; within inf 0; within -inf inf; inf pos inf; inf neg 0; -inf odd -inf;
        -inf even inf; -inf -odd -0; -inf -even 0; 0 pos 0; 0 neg inf; -0 odd -0; -0 even 0;
        -0 -odd -inf; -0 -even inf; neg fraction nan""",
    "atan2": """nan any nan; any nan nan; +any 0 pi/2; +any -0 pi/2; 0 +any 0; 0 0 0; 0 -0 pi;
        0 -any pi; -0 +any -0; -0 0 -0; -0 -0 -pi; -0 -any -pi; -any 0 -pi/2; -any -0 -pi/2;
        pos inf 0; pos -inf pi; neg inf -0; neg -inf -pi; inf finite pi/2; -inf finite -pi/2;
        inf inf pi/4; inf -inf 3pi/4; -inf inf -pi/4; -inf -inf -3pi/4""",
    "hypot": """infinite any inf; any infinite inf; finite nan nan; nan finite nan; nan nan nan;
        zero pos y; pos zero x; zero zero 0""",
    "logaddexp": "nan any nan; any nan nan; inf number inf; number inf inf; -inf -inf -inf",
    "maximum": "nan any nan; any nan nan; inf number inf; -inf number y",
    "minimum": "nan any nan; any nan nan; -inf number -inf; inf number y",
    "nextafter": "nan any nan; any nan nan; -0 0 0; 0 -0 -0",
    "copysign": """pos pos x; pos neg ~x; pos -0 ~x; pos 0 x; inf -inf -inf; 0 neg -0; -0 pos 0;
        nan any nan""",
    "equal": """nan any 0; any nan 0; inf inf 1; -inf -inf 1; inf -inf 0; zero zero 1; inf finite 0;
        2.5 2.5 1; 2 2.5 0""",
    "not_equal": "nan any 1; any nan 1; inf inf 0; inf -inf 1; zero zero 0; 2 2.5 1",
    "less": "nan any 0; any nan 0; -inf finite 1; finite inf 1; zero zero 0",
    "greater_equal": "nan any 0; any nan 0; inf number 1; zero zero 1; number -inf 1",
}  # fmt: skip

COMPLEX = {
    "abs": "infinite,any inf; any,infinite inf; zero,finite |y|; finite,zero |x|; nan,finite nan; "
    "finite,nan nan; nan,nan nan",
    "acos": """zero,0 pi/2,-0; zero,nan pi/2,nan; finite,inf pi/2,-inf; nonzero,nan nan,nan;
        -inf,pos pi,-inf; inf,pos 0,-inf; -inf,inf 3pi/4,-inf; inf,inf pi/4,-inf;
        infinite,nan nan,?inf; nan,finite nan,nan; nan,inf nan,-inf; nan,nan nan,nan""",
    "acosh": """zero,0 0,pi/2; finite,inf inf,pi/2; nonzero,nan nan,nan; 0,nan nan,?pi/2;
        -inf,pos inf,pi; inf,pos inf,0; -inf,inf inf,3pi/4; inf,inf inf,pi/4; infinite,nan inf,nan;
        nan,finite nan,nan; nan,inf inf,nan; nan,nan nan,nan""",
    "asinh": """0,0 0,0; pos,inf inf,pi/2; finite,nan nan,nan; inf,pos inf,0; inf,inf inf,pi/4;
        nan,0 nan,0; nan,nonzero nan,nan; nan,inf ?inf,nan; nan,nan nan,nan""",
    "atanh": """0,0 0,0; 0,nan 0,nan; 1,0 inf,0; pos,inf 0,pi/2; nonzero,nan nan,nan;
        inf,pos 0,pi/2; inf,inf 0,pi/2; inf,nan 0,nan; nan,finite nan,nan; nan,inf ?0,pi/2;
        nan,nan nan,nan""",
    "cosh": """0,0 1,0; 0,inf nan,?0; 0,nan nan,?0; nonzero,inf nan,nan; nonzero,nan nan,nan;
        inf,0 inf,0; inf,inf ?inf,nan; inf,nan inf,nan; nan,zero nan,?0; nan,nonzero nan,nan;
        nan,nan nan,nan""",
    "exp": """zero,0 1,0; finite,inf nan,nan; finite,nan nan,nan; inf,0 inf,0; -inf,inf ?0,?0;
        inf,inf ?inf,nan; -inf,nan ?0,?0; inf,nan ?inf,nan; nan,0 nan,0; nan,nonzero nan,nan;
        nan,nan nan,nan; -inf,1 0,0; inf,1 inf,inf; inf,2 -inf,inf""",
    "expm1": """zero,0 ?0,0; finite,inf nan,nan; finite,nan nan,nan; inf,0 inf,0; -inf,inf -1,?0;
        inf,inf ?inf,nan; -inf,nan -1,?0; inf,nan ?inf,nan; nan,0 nan,0; nan,nonzero nan,nan;
        nan,nan nan,nan""",
    "log": """-0,0 -inf,pi; 0,0 -inf,0; finite,inf inf,pi/2; finite,nan nan,nan; -inf,pos inf,pi;
        inf,pos inf,0; -inf,inf inf,3pi/4; inf,inf inf,pi/4; infinite,nan inf,nan;
        nan,finite nan,nan; nan,inf inf,nan; nan,nan nan,nan""",
    "log1p": """-1,0 -inf,0; finite,inf inf,pi/2; finite,nan nan,nan; -inf,pos inf,pi;
        inf,pos inf,0; -inf,inf inf,3pi/4; inf,inf inf,pi/4; infinite,nan inf,nan;
        nan,finite nan,nan; nan,inf inf,nan; nan,nan nan,nan""",
    "sinh": """0,0 0,0; 0,inf ?0,nan; 0,nan ?0,nan; pos,inf nan,nan; nonzero,nan nan,nan;
        inf,0 inf,0; inf,inf ?inf,nan; inf,nan ?inf,nan; nan,0 nan,0; nan,nonzero nan,nan;
        nan,nan nan,nan; inf,1 inf,inf""",
    "sqrt": """zero,0 0,0; any,inf inf,inf; finite,nan nan,nan; -inf,pos 0,inf; inf,pos inf,0;
        -inf,nan nan,?inf; inf,nan inf,nan; nan,finite nan,nan;
        nan,nan nan,nan""",
    "tanh": """0,0 0,0; nonzero,inf nan,nan; 0,inf 0,nan; nonzero,nan nan,nan; 0,nan 0,nan;
        inf,pos 1,?0; inf,inf 1,?0; inf,nan 1,?0; nan,0 nan,0; nan,nonzero nan,nan;
        nan,nan nan,nan""",
    "sign": "zero,zero ?0,?0; nan,any nan,nan; any,nan nan,nan",
    "isfinite": "nan,any 0; any,nan 0; infinite,any 0; any,infinite 0; finite,finite 1",
    "isinf": "infinite,any 1; any,infinite 1; finite,finite 0; nan,finite 0; finite,nan 0",
    "isnan": "nan,any 1; any,nan 1; number,number 0",
}  # fmt: skip


def value(word: str) -> float:
    """The number that a word stands for."""
    sign, word = (-1.0, word[1:]) if word.startswith("-") else (1.0, word)
    if "pi" not in word:
        return sign * float(word)
    times, _, over = word.partition("pi")
    return sign * float(times or 1) * math.pi / float(over.lstrip("/") or 1)


def meant(word: str) -> tuple[float, ...]:
    """The numbers that an operand stands for."""
    return CLASSES[word] if word in CLASSES else (value(word),)


def result(word: str, x: float, y: float) -> tuple[float, bool]:
    """A result, and whether its sign may be another."""
    free = word.startswith("?")
    word = word.removeprefix("?")
    if word[-1] not in "xy|":
        return value(word), free
    found = x if "x" in word else y
    return (abs(found) if word[0] == "|" else -found if word[0] == "~" else found), free
