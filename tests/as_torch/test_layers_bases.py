"""What programs build their own layers on: the bases of PyTorch's, and its helpers beside them."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import nn
from tensorbus.nn import functional as F
from tensorbus.nn.modules.conv import _ConvNd, _ConvTransposeMixin, _ConvTransposeNd, _pair


class OwnConv(_ConvNd):
    """A convolution written as programs of 2017 to today write it."""

    def __init__(self, ins, outs, size, stride=1, padding=0, dilation=1, groups=1, *mode):  # type: ignore[no-untyped-def]
        super().__init__(
            ins, outs, _pair(size), _pair(stride), _pair(padding), _pair(dilation), False,
            _pair(0), groups, True, *mode
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.conv2d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


@pytest.mark.parametrize("mode", [(), ("zeros",), ("circular",)])
def test_an_own_convolution_passes_what_pytorchs_base_takes(mode: tuple[str, ...]) -> None:
    own = OwnConv(4, 6, 3, 2, (1, 0), 1, 2, *mode)
    plain = nn.Conv2d(4, 6, 3, stride=2, padding=(1, 0), groups=2)
    plain.load_state_dict(own.state_dict())
    x = torch.arange(200.0).reshape(1, 4, 5, 10) / 100
    assert torch.equal(own(x), plain(x)) and not own.transposed
    assert own.padding_mode == (mode[0] if mode else "zeros")
    assert own.extra_repr().startswith("4, 6, kernel_size=(3, 3), stride=(2, 2), padding=(1, 0)")


def test_an_own_transposed_convolution() -> None:
    class Own(_ConvTransposeNd):
        def forward(self, x: torch.Tensor, size: list[int]) -> torch.Tensor:
            rest = self._output_padding(
                x, size, self.stride, self.padding, self.kernel_size, 2, self.dilation
            )
            return F.conv_transpose2d(x, self.weight, self.bias, 2, 0, rest, self.groups)

    given = (2, 4, (3, 3), (2, 2), (0, 0), (1, 1), True, (0, 0), 2, False)
    own = Own(*given, "zeros")
    assert own.weight.shape == (2, 2, 3, 3) and own.bias is None
    assert own(torch.ones(1, 2, 4, 4), [10, 9]).shape == (1, 4, 10, 9)
    assert _ConvTransposeMixin is _ConvTransposeNd and isinstance(
        nn.ConvTranspose1d(1, 1, 1), _ConvTransposeNd
    )
    with pytest.raises(ValueError, match='Only "zeros" padding mode is supported for Own'):
        Own(*given, "circular")


def test_instance_norms_are_no_batch_norms() -> None:
    from tensorbus.nn.modules.batchnorm import _BatchNorm, _NormBase

    for made in (nn.InstanceNorm1d(2), nn.InstanceNorm2d(2), nn.LazyInstanceNorm3d()):
        assert isinstance(made, _NormBase) and not isinstance(made, _BatchNorm)
    assert isinstance(nn.BatchNorm2d(2), _BatchNorm) and issubclass(_BatchNorm, _NormBase)
    net = nn.Sequential(nn.BatchNorm2d(2), nn.InstanceNorm2d(2, affine=True))
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert [type(m) for m in made] == [nn.SyncBatchNorm, nn.InstanceNorm2d]


def test_averages_of_weights_leave_the_estimates_of_instance_norms() -> None:
    net = nn.Sequential(nn.InstanceNorm1d(1, track_running_stats=True), nn.BatchNorm1d(1))
    torch.optim.swa_utils.update_bn([torch.tensor([[[1.0, 3.0]], [[5.0, 7.0]]])] * 2, net)
    assert net[0].running_mean.item() == pytest.approx(4 * (1 - 0.9**2))
    assert net[1].num_batches_tracked.item() == 2


BASES = {
    "pooling._MaxPoolNd": ("MaxPool1d", "MaxPool2d", "MaxPool3d"),
    "pooling._AvgPoolNd": ("AvgPool1d", "AvgPool2d", "AvgPool3d"),
    "pooling._AdaptiveAvgPoolNd": ("AdaptiveAvgPool1d", "AdaptiveAvgPool3d"),
    "pooling._AdaptiveMaxPoolNd": ("AdaptiveMaxPool1d", "AdaptiveMaxPool2d"),
    "pooling._MaxUnpoolNd": ("MaxUnpool1d", "MaxUnpool3d"),
    "pooling._LPPoolNd": ("LPPool1d", "LPPool2d"),
    "dropout._DropoutNd": ("Dropout", "Dropout2d", "AlphaDropout", "FeatureAlphaDropout"),
    "padding._ConstantPadNd": ("ConstantPad1d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"),
    "padding.ConstantPad2d": ("ZeroPad2d",),
    "padding._ReflectionPadNd": ("ReflectionPad1d", "ReflectionPad3d"),
    "padding._ReplicationPadNd": ("ReplicationPad1d", "ReplicationPad3d"),
    "padding._CircularPadNd": ("CircularPad1d", "CircularPad3d"),
}


@pytest.mark.parametrize("path", BASES)
def test_layers_have_pytorchs_bases(path: str) -> None:
    module, name = path.split(".")
    base = getattr(importlib.import_module(f"tensorbus.nn.modules.{module}"), name)
    assert all(issubclass(getattr(nn, layer), base) for layer in BASES[path])


def test_zero_pads_are_shown_and_pad_as_before() -> None:
    wide = nn.ZeroPad1d(1)
    assert wide(torch.ones(1, 2)).tolist() == [[0.0, 1.0, 1.0, 0.0]] and wide.value == 0.0
    assert repr(nn.ZeroPad2d((1, 1, 2, 0))) == "ZeroPad2d((1, 1, 2, 0))"
    assert nn.ZeroPad3d(1)(torch.ones(1, 2, 2, 2)).sum() == 8


NAMES = {
    "activation": "MultiheadAttention NonDynamicallyQuantizableLinear xavier_uniform_ constant_",
    "container": "_addindent",
    "linear": "NonDynamicallyQuantizableLinear",
    "loss": "_Reduction",
    "module": "_addindent",
    "padding": "_ntuple _pair _quadruple",
    "pooling": "_pair _single _triple",
    "rnn": "PackedSequence apply_permutation",
    "transformer": "Dropout LayerNorm Linear MultiheadAttention _get_activation_fn _get_clones "
    "xavier_uniform_",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_that_programs_import_from_the_modules_of_layers(module: str) -> None:
    names = NAMES[module].split()
    space: dict[str, object] = {}
    exec(f"from tensorbus.nn.modules.{module} import {', '.join(names)}", space)
    assert all(space[name] is not None for name in names)


def test_parts_of_transformers_and_permutations() -> None:
    from tensorbus.nn.modules.rnn import apply_permutation
    from tensorbus.nn.modules.transformer import _get_activation_fn, _get_clones

    layer = nn.Linear(2, 2)
    first, second = _get_clones(layer, 2)
    assert torch.equal(first.weight, layer.weight) and first.weight is not second.weight
    assert _get_activation_fn("relu") is F.relu
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
        _get_activation_fn("tanh")
    with pytest.warns(FutureWarning, match="use `tensor.index_select"):
        picked = apply_permutation(torch.tensor([[1, 2, 3]]), torch.tensor([2, 0, 1]))
    assert picked.tolist() == [[3, 1, 2]]


def test_projections_of_attention() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((3, 2, 4)) for _ in range(3))
    w, b = rng.standard_normal((12, 4)), rng.standard_normal(12)
    t = torch.from_numpy
    parts = [x @ m.T + c for x, m, c in zip((q, k, v), np.split(w, 3), np.split(b, 3), strict=True)]
    packed = F._in_projection_packed(t(q), t(k), t(v), t(w), t(b))
    ws, bs = np.split(w, 3), np.split(b, 3)
    single = F._in_projection(t(q), t(k), t(v), *map(t, ws), *map(t, bs))
    for made in (packed, single):
        for got, wanted in zip(made, parts, strict=True):
            assert np.allclose(got.numpy(), wanted)
    with pytest.raises(AssertionError, match=r"expecting w_k shape of \(4, 4\)"):
        F._in_projection(t(q), t(k), t(v), t(ws[0]), t(w), t(ws[2]))
    with pytest.raises(AssertionError, match=r"expecting b_v shape of \(4,\)"):
        F._in_projection(t(q), t(k), t(v), *map(t, ws), b_v=t(b))


def test_checks_of_sizes_and_dimensions() -> None:
    F._verify_batch_size([1, 3, 2])
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        F._verify_batch_size([1, 3, 1])
    with pytest.raises(ValueError, match="more than 1 spatial element"):
        F._verify_spatial_size([2, 3, 1, 1])
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        assert [F._get_softmax_dim("softmax", n, 3) for n in (0, 1, 2, 3, 4)] == [0, 0, 1, 0, 1]
    assert F._none_or_dtype(None) is None and F._none_or_dtype(torch.ones(1)) is torch.float32
    with pytest.raises(RuntimeError, match="must be None or torch.Tensor"):
        F._none_or_dtype(3)
    x = torch.ones(2, 3, 4)
    assert F._mha_shape_check(x, x, x, None, None, 2)
    mask = F._canonical_mask(torch.tensor([True, False]), "m", None, "", torch.float64)
    assert mask.tolist() == [-np.inf, 0.0] and mask.dtype is torch.float64
    assert F._Reduction.get_enum("mean") == 1 and F._pair(3) == (3, 3)
