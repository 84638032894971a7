"""What ``benchmarks.fused_rows`` calls: the suite's samples at other sizes, and what has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorbus as torch
from tensorbus_conformance import formats
from tensorbus_conformance.bench import flatten
from tensorbus_conformance.op import Op, Sample, T

Call = Callable[[], object]
F = torch.nn.functional
D = formats.FLOAT32


Maker = Callable[[str, int], Call]
"""``make(device, elements)`` prepares a call there."""


def of_op(op: Op) -> Iterator[tuple[str, Maker]]:
    """An op's first sample with operands of about so many elements, forward and backward."""
    sample = next((s for s in op.samples if s.takes(D)), None)
    if sample is None or D not in op.dtypes:
        return
    operands = sample.operands()
    if any(t.data is not None for t in operands) or not any(
        n > 1 for t in operands for n in t.shape
    ):
        return
    yield op.name, lambda device, elements: _forward(op, _scaled(sample, elements), device)
    if op.gradient and any(t.grad for t in operands):
        name = f"{op.name}, backward"
        yield name, lambda device, elements: _backward(op, _scaled(sample, elements), device)


def _scaled(sample: Sample, elements: int) -> Sample:
    """The same call with larger operands, their sizes equal where the sample's are."""
    largest = max(sample.operands(), key=lambda t: _count(t.shape))
    long = [n for n in largest.shape if n > 1]
    factor = max(1.0, (elements / _count(largest.shape)) ** (1 / len(long)))

    def larger(t: T) -> T:
        shape = (n if n < 2 else round(n * factor) for n in t.shape)
        return T(*shape, of=t.of, dtype=t.dtype, grad=t.grad)

    args, kwargs = sample.replace(larger)
    return Sample(sample.variant, tuple(args), kwargs)


def _count(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())


def _given(op: Op, sample: Sample, device: str, wanted: bool) -> tuple[Any, Any, list[Any]]:
    placed: list[Any] = []

    def make(t: T) -> Any:
        x = torch.from_numpy(t.make(D, op.name, len(placed)).copy()).to(device)
        placed.append(x.requires_grad_() if wanted and t.grad else x)
        return placed[-1]

    args, kwargs = sample.replace(make, dtype=D, device=device)
    return args, kwargs, [x for x in placed if x.requires_grad]


def _forward(op: Op, sample: Sample, device: str) -> Call:
    args, kwargs, _ = _given(op, sample, device, False)
    function = op.function()
    return lambda: function(*args, **kwargs)


def _backward(op: Op, sample: Sample, device: str) -> Call:
    """The pass alone, again and again over one history."""
    args, kwargs, wanted = _given(op, sample, device, True)
    made = [y for y in flatten(op.function()(*args, **kwargs)) if y.requires_grad]
    gradients = [torch.ones_like(y) for y in made]
    return lambda: torch.autograd.grad(
        made, wanted, gradients, retain_graph=True, allow_unused=True
    )


# -- ops whose parameters hang on sizes -----------------------------------------------------------
def _normal(*shape: int, device: str) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(device)


def _along(function: Callable[..., Any]) -> Maker:
    """A function of rows of 256."""

    def make(device: str, elements: int) -> Call:
        x = _normal(elements // 256, 256, device=device)
        return lambda: function(x)

    return make


def _both_ways(function: Callable[..., Any], *shapes: Any) -> Maker:
    """A function of images of 16 channels, or of rows of 256, and its backward pass."""

    def make(device: str, elements: int) -> Call:
        operands = [_normal(*shape(elements), device=device).requires_grad_() for shape in shapes]
        y = function(*operands)
        g = torch.ones_like(y)
        return lambda: (
            function(*operands), torch.autograd.grad(y, operands, g, retain_graph=True),
        )  # fmt: skip

    return make


def _rows(n: int) -> tuple[int, int]:
    return n // 256, 256


def _images(n: int) -> tuple[int, int, int, int]:
    return n // 1024, 16, 8, 8


def _of_row(n: int) -> tuple[int]:
    return (256,)


def _of_channel(n: int) -> tuple[int]:
    return (16,)


def _loss(device: str, elements: int) -> Call:
    x = _normal(elements // 256, 256, device=device).requires_grad_()
    classes = (torch.arange(elements // 256) % 256).to(device)

    def run() -> Any:
        return torch.autograd.grad(F.cross_entropy(x, classes), x)

    return run


def _step(kind: Callable[..., Any], **options: Any) -> Maker:
    def make(device: str, elements: int) -> Call:
        p = torch.nn.Parameter(_normal(elements, device=device))
        p.grad = _normal(elements, device=device)
        return kind([p], lr=1e-3, **options).step  # type: ignore[no-any-return]

    return make


CASES: dict[str, Maker] = {
    "layer_norm": _both_ways(
        lambda x, w, b: F.layer_norm(x, (256,), w, b), _rows, _of_row, _of_row
    ),
    "rms_norm": _both_ways(lambda x, w: F.rms_norm(x, (256,), w), _rows, _of_row),
    "batch_norm": _both_ways(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        _images, _of_channel, _of_channel,
    ),
    "group_norm": _both_ways(
        lambda x, w, b: F.group_norm(x, 4, w, b), _images, _of_channel, _of_channel
    ),
    "instance_norm": _both_ways(F.instance_norm, _images),
    "cross_entropy": _loss,
    "softmax of columns": _along(lambda x: torch.softmax(x, 0)),
    "std of columns": _along(lambda x: x.std(0)),
    "std of all": _along(lambda x: x.std()),
    "logsumexp of all": _along(lambda x: torch.logsumexp(x, (0, 1))),
    "norm of all": _along(lambda x: torch.linalg.vector_norm(x)),
    "SGD with momentum": _step(torch.optim.SGD, momentum=0.9),
    "Adam": _step(torch.optim.Adam),
    "AdamW": _step(torch.optim.AdamW),
    "RMSprop": _step(torch.optim.RMSprop),
    "Adagrad": _step(torch.optim.Adagrad),
}  # fmt: skip
