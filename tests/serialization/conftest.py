"""Files that PyTorch wrote, as recorded."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def pytorch_file(oracle: Callable[..., Any]) -> Callable[..., io.BytesIO]:
    """``pytorch_file(make, **options)``: what ``torch.save(make(torch), **options)`` writes."""

    def record(make: Callable[[Any], Any], **options: Any) -> io.BytesIO:
        def write(torch: Any) -> bytes:
            file = io.BytesIO()
            torch.save(make(torch), file, **options)
            return file.getvalue()

        return io.BytesIO(oracle(write))

    return record
