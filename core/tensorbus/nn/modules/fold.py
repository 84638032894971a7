"""Windows of planes as columns, and planes from columns."""

from __future__ import annotations

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules._shared import Shown

Pairs = int | tuple[int, ...]


class Unfold(Shown):
    """The windows of planes, each as a column.

    Args:
        kernel_size, dilation, padding, stride: of the windows; one int, or one for height and one
            for width.

    Shapes: (N, C, H, W) to (N, C kh kw, windows), or without N.
    """

    _shown = ("kernel_size", "dilation", "padding", "stride")

    def __init__(
        self, kernel_size: Pairs, dilation: Pairs = 1, padding: Pairs = 0, stride: Pairs = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Shown):
    """Planes from the columns of their windows, added where windows overlap.

    Args:
        output_size: of the planes; one int, or height and width.
        kernel_size, dilation, padding, stride: of the windows, as for ``Unfold``.

    Shapes: (N, C kh kw, windows) to (N, C, H, W), or without N.
    """

    _shown = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(
        self,
        output_size: Pairs,
        kernel_size: Pairs,
        dilation: Pairs = 1,
        padding: Pairs = 0,
        stride: Pairs = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )
