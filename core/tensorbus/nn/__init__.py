"""Neural networks: modules, layers, losses, initialisation.

Example:
    >>> net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    >>> loss = nn.CrossEntropyLoss()(net(tensorbus.ones(32, 784)), tensorbus.zeros(32).long())
"""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import listing as _listing
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.nn import functional, init, modules, parameter, utils
from tensorbus.nn.modules.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from tensorbus.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm
from tensorbus.nn.modules.channelshuffle import ChannelShuffle
from tensorbus.nn.modules.container import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from tensorbus.nn.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from tensorbus.nn.modules.distance import CosineSimilarity, PairwiseDistance
from tensorbus.nn.modules.dropout import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from tensorbus.nn.modules.flatten import Flatten, Unflatten
from tensorbus.nn.modules.fold import Fold, Unfold
from tensorbus.nn.modules.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from tensorbus.nn.modules.linear import Bilinear, Identity, Linear
from tensorbus.nn.modules.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    NLLLoss,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
)
from tensorbus.nn.modules.margin_losses import (
    GaussianNLLLoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    TripletMarginWithDistanceLoss,
)
from tensorbus.nn.modules.module import Module
from tensorbus.nn.modules.normalization import (
    CrossMapLRN2d,
    GroupNorm,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)
from tensorbus.nn.modules.padding import (
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad1d,
    ZeroPad2d,
    ZeroPad3d,
)
from tensorbus.nn.modules.pixelshuffle import PixelShuffle, PixelUnshuffle
from tensorbus.nn.modules.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    FractionalMaxPool2d,
    FractionalMaxPool3d,
    LPPool1d,
    LPPool2d,
    LPPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
)
from tensorbus.nn.modules.sparse import Embedding, EmbeddingBag
from tensorbus.nn.modules.upsampling import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d
from tensorbus.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from tensorbus.nn import parallel as parallel
    from tensorbus.nn.functional.linear_classes import (
        LinearCrossEntropyOptions as LinearCrossEntropyOptions,
    )
    from tensorbus.nn.modules.adaptive import (
        AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss,
    )
    from tensorbus.nn.modules.attention import MultiheadAttention as MultiheadAttention
    from tensorbus.nn.modules.container import Container as Container
    from tensorbus.nn.modules.lazy_layers import LazyBatchNorm1d as LazyBatchNorm1d
    from tensorbus.nn.modules.lazy_layers import LazyBatchNorm2d as LazyBatchNorm2d
    from tensorbus.nn.modules.lazy_layers import LazyBatchNorm3d as LazyBatchNorm3d
    from tensorbus.nn.modules.lazy_layers import LazyConv1d as LazyConv1d
    from tensorbus.nn.modules.lazy_layers import LazyConv2d as LazyConv2d
    from tensorbus.nn.modules.lazy_layers import LazyConv3d as LazyConv3d
    from tensorbus.nn.modules.lazy_layers import LazyConvTranspose1d as LazyConvTranspose1d
    from tensorbus.nn.modules.lazy_layers import LazyConvTranspose2d as LazyConvTranspose2d
    from tensorbus.nn.modules.lazy_layers import LazyConvTranspose3d as LazyConvTranspose3d
    from tensorbus.nn.modules.lazy_layers import LazyInstanceNorm1d as LazyInstanceNorm1d
    from tensorbus.nn.modules.lazy_layers import LazyInstanceNorm2d as LazyInstanceNorm2d
    from tensorbus.nn.modules.lazy_layers import LazyInstanceNorm3d as LazyInstanceNorm3d
    from tensorbus.nn.modules.lazy_layers import LazyLinear as LazyLinear
    from tensorbus.nn.modules.rnn import GRU as GRU
    from tensorbus.nn.modules.rnn import LSTM as LSTM
    from tensorbus.nn.modules.rnn import RNN as RNN
    from tensorbus.nn.modules.rnn import GRUCell as GRUCell
    from tensorbus.nn.modules.rnn import LSTMCell as LSTMCell
    from tensorbus.nn.modules.rnn import RNNBase as RNNBase
    from tensorbus.nn.modules.rnn import RNNCell as RNNCell
    from tensorbus.nn.modules.sequence_losses import CTCLoss as CTCLoss
    from tensorbus.nn.modules.sequence_losses import (
        LinearCrossEntropyLoss as LinearCrossEntropyLoss,
    )
    from tensorbus.nn.modules.transformer import Transformer as Transformer
    from tensorbus.nn.modules.transformer import TransformerDecoder as TransformerDecoder
    from tensorbus.nn.modules.transformer import TransformerDecoderLayer as TransformerDecoderLayer
    from tensorbus.nn.modules.transformer import TransformerEncoder as TransformerEncoder
    from tensorbus.nn.modules.transformer import TransformerEncoderLayer as TransformerEncoderLayer
    from tensorbus.nn.modules.utils import factory_kwargs as factory_kwargs
    from tensorbus.nn.parallel import DataParallel as DataParallel
    from tensorbus.nn.uninitialized import UninitializedBuffer as UninitializedBuffer
    from tensorbus.nn.uninitialized import UninitializedParameter as UninitializedParameter

# What a program never touches is never imported: `parallel` brings `tensorbus.distributed`.
_LATER = {
    "AdaptiveLogSoftmaxWithLoss": "modules.adaptive",
    "Container": "modules.container",
    "CTCLoss": "modules.sequence_losses",
    "DataParallel": "parallel",
    "LinearCrossEntropyLoss": "modules.sequence_losses",
    "LinearCrossEntropyOptions": "functional.linear_classes",
    **dict.fromkeys(
        ("GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell"), "modules.rnn"
    ),
    "MultiheadAttention": "modules.attention",
    "factory_kwargs": "modules.utils",
    **dict.fromkeys(("UninitializedBuffer", "UninitializedParameter"), "uninitialized"),
    **dict.fromkeys(
        (
            *(f"Lazy{kind}Norm{n}d" for kind in ("Batch", "Instance") for n in (1, 2, 3)),
            *(f"LazyConv{kind}{n}d" for kind in ("", "Transpose") for n in (1, 2, 3)),
            "LazyLinear",
        ),
        "modules.lazy_layers",
    ),
    **dict.fromkeys(
        (f"Transformer{s}" for s in ("", "Decoder", "DecoderLayer", "Encoder", "EncoderLayer")),
        "modules.transformer",
    ),
}

if not TYPE_CHECKING:  # checkers would take it for a promise of any name
    __getattr__ = _attributes(__name__, _LATER)
    __dir__ = _listing(__name__, _LATER)

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "RNN",
    "SELU",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Buffer",
    "CTCLoss",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Container",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "CrossMapLRN2d",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LSTMCell",
    "LayerNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LeakyReLU",
    "Linear",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNNBase",
    "RNNCell",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "UninitializedBuffer",
    "UninitializedParameter",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
    "functional",
    "init",
    "modules",
    "parameter",
    "utils",
]

_show_pages(__name__, [(n, globals().get(n)) for n in __all__])
