"""Transforms of random variables, with inverses and the logarithms of their slopes.

>>> import tensorbus
>>> tensorbus.distributions.transforms.SigmoidTransform().inv(tensorbus.tensor([0.5]))
tensor([0.])
"""

from __future__ import annotations

from tensorbus._base.page import show_pages as _show_pages
from tensorbus.distributions.array_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)
from tensorbus.distributions.joined_transforms import CatTransform, StackTransform
from tensorbus.distributions.pointwise_transforms import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from tensorbus.distributions.pointwise_transforms import (
    clipped_sigmoid as _clipped_sigmoid,  # noqa: F401
)
from tensorbus.distributions.transform import (
    ComposeTransform,
    IndependentTransform,
    Transform,
    identity_transform,
)
from tensorbus.distributions.transform import (
    _InverseTransform as _InverseTransform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

_show_pages(__name__, [(n, globals()[n]) for n in __all__])
