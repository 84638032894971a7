"""PyTorch's module of Python 2 and 3, which it had until 2.0: programs of those years import it."""

from __future__ import annotations

import builtins
import collections.abc as container_abcs  # noqa: F401 -- a name that programs import, as below
import queue  # noqa: F401
from io import StringIO  # noqa: F401
from math import inf, nan  # noqa: F401

PY2, PY3, PY37 = False, True, True
string_classes = (str, bytes)
int_classes = int
FileNotFoundError = builtins.FileNotFoundError
