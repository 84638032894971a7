"""The names of nodes are PyTorch's: programs and people look for them in prints."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

import tensorbus
from tensorbus.nn import functional as F

NODES = {
    "x + x": "AddBackward0",
    "x * torch.ones(3, 1, 1)": "MulBackward0",
    "x.exp()": "ExpBackward0",
    "x.double()": "ToCopyBackward0",
    "x.clone()": "CloneBackward0",
    "torch.where(x > 1, x, 0.0)": "WhereBackward0",
    "x.sum(1, keepdim=True)": "SumBackward1",
    "x.mean((2, 3), keepdim=True)": "MeanBackward1",
    "x.max(1, keepdim=True)[0]": "MaxBackward0",
    "x.softmax(1)": "SoftmaxBackward0",
    "x.log_softmax(1)": "LogSoftmaxBackward0",
    "x[:0].log_softmax(0)": "LogSoftmaxBackward0",
    "x.cumsum(1)": "CumsumBackward0",
    "x.sort(1)[0]": "SortBackward0",
    "x.topk(1, 1)[0]": "TopkBackward0",
    "x.flip(1)": "FlipBackward0",
    "x.roll(1, 1)": "RollBackward0",
    "x.repeat(1, 2, 1, 1)": "RepeatBackward0",
    "torch.cat([x, x])": "CatBackward0",
    "torch.stack([x, x])": "StackBackward0",
    "x[0]": "SelectBackward0",
    "x[:, 1:]": "SliceBackward0",
    "x[[0, 1]]": "IndexBackward0",
    "x.index_select(1, torch.tensor([0, 1]))": "IndexSelectBackward0",
    "x.gather(1, torch.zeros(2, 1, 4, 5, dtype=torch.int64))": "GatherBackward0",
    "x.scatter(1, torch.zeros(2, 1, 4, 5, dtype=torch.int64), 1.0)": "ScatterBackward1",
    "x.masked_fill(x > 1, 0)": "MaskedFillBackward0",
    "x.clamp(0, 1)": "ClampBackward1",
    "x.tril()": "TrilBackward0",
    "x.triu()": "TriuBackward0",
    "F.relu(x)": "ReluBackward0",
    "F.gelu(x)": "GeluBackward0",
    "F.silu(x)": "SiluBackward0",
    "F.hardswish(x)": "HardswishBackward0",
    "F.leaky_relu(x)": "LeakyReluBackward0",
    "F.elu(x)": "EluBackward0",
    "F.prelu(x, torch.ones(3))": "PreluKernelBackward0",
    "F.glu(torch.cat([x, x], 1), 1)": "GluBackward0",
    "F.threshold(x, 0.0, 1.0)": "ThresholdBackward0",
    "F.softplus(x)": "SoftplusBackward0",
    "F.logsigmoid(x)": "LogSigmoidBackward0",
    "F.hardtanh(x)": "HardtanhBackward0",
    "F.conv2d(x, w)": "ConvolutionBackward0",
    "F.conv2d(x[0], w)": "SqueezeBackward1",
    "F.unfold(x, 2)": "Im2ColBackward0",
    "F.unfold(x[0], 2)": "Im2ColBackward0",
    "F.fold(x[0, :, :, :4].permute(1, 0, 2).reshape(4, 12), (4, 5), 2)": "Col2ImBackward0",
    "F.conv3d(x[:, :, None], w[:, :, None])": "ConvolutionBackward0",
    "F.conv3d(x[0, :, None], w[:, :, None])": "SqueezeBackward1",
    "F.conv_transpose3d(x[:, :, None], w.transpose(0, 1)[:, :, None])": "ConvolutionBackward0",
    "F.conv_transpose3d(x[0, :, None], w.transpose(0, 1)[:, :, None])": "SqueezeBackward1",
    "F.conv_transpose2d(x[0], w.transpose(0, 1))": "SqueezeBackward1",
    "F.avg_pool2d(x, 2)": "AvgPool2DBackward0",
    "F.max_pool2d(x, 2)": "MaxPool2DWithIndicesBackward0",
    "F.adaptive_avg_pool2d(x, 2)": "AdaptiveAvgPool2DBackward0",
    "F.adaptive_max_pool2d(x, 2)": "AdaptiveMaxPool2DBackward0",
    "F.batch_norm(x, torch.zeros(3), torch.ones(3))": "NativeBatchNormBackward0",
    "F.instance_norm(x)": "ViewBackward0",
    "F.layer_norm(x, (5,))": "NativeLayerNormBackward0",
    "F.group_norm(x, 3)": "NativeGroupNormBackward0",
    "F.normalize(x)": "DivBackward0",
    "F.pad(x, (1, 1))": "ConstantPadNdBackward0",
    "F.pad(x, (1, 1, 1, 1), mode='reflect')": "ReflectionPad2DBackward0",
    "F.pad(x, (1, 1, 1, 1), mode='replicate')": "ReplicationPad2DBackward0",
    "F.pad(x, (1, 1, 1, 1), mode='circular')": "CopySlices",
    "F.pixel_shuffle(torch.cat([x, x, x, x], 1), 2)": "PixelShuffleBackward0",
    "F.pixel_unshuffle(torch.cat([x] * 1, 1)[:, :, :4, :4], 2)": "PixelUnshuffleBackward0",
    "F.linear(x, torch.ones(2, 5))": "UnsafeViewBackward0",
    "x.permute(0, 2, 3, 1)": "PermuteBackward0",
    "x.unsqueeze(0)": "UnsqueezeBackward0",
    "x.squeeze()": "SqueezeBackward0",
    "x.expand(2, 3, 4, 5)": "ExpandBackward0",
    "x.split(1, 1)[0]": "SplitBackward0",
    "x.lerp(x, 0.5)": "LerpBackward0",
    "torch.addcmul(x, x, x)": "AddcmulBackward0",
    "x.nan_to_num()": "NanToNumBackward0",
    "x.pow(2)": "PowBackward0",
    "torch.atan2(x, x)": "Atan2Backward0",
    "x.diff(dim=1)": "SubBackward0",
    "x.kthvalue(1, 1)[0]": "KthvalueBackward0",
    "x.cummax(1)[0]": "CummaxBackward0",
    "x.logcumsumexp(1)": "LogcumsumexpBackward0",
    "x.logsumexp(1, keepdim=True)": "LogsumexpBackward0",
    "x.var(1, keepdim=True)": "VarBackward0",
    "x.unfold(1, 2, 1)": "UnfoldBackward0",
    "x.fmod(2)": "FmodBackward0",
    "x.masked_scatter(x > 1, x)": "MaskedScatterBackward0",
    "x.index_add(1, torch.tensor([0]), x[:, :1])": "IndexAddBackward0",
    "x.index_copy(1, torch.tensor([0]), x[:, :1])": "IndexCopyBackward0",
    "x.index_fill(1, torch.tensor([0]), 2.0)": "IndexFillBackward0",
    "x.put(torch.tensor([0]), torch.tensor([1.0]))": "PutBackward0",
    "x.take(torch.tensor([0]))": "TakeBackward0",
    "x.rot90(1, (2, 3))": "Rot90Backward0",
    "x.erf()": "ErfBackward0",
    "F.mse_loss(x, x, reduction='none')": "MseLossBackward0",
    "F.l1_loss(x, x, reduction='none')": "AbsBackward0",
    "F.smooth_l1_loss(x, x, reduction='none')": "SmoothL1LossBackward0",
    "torch.rsub(x, 1)": "RsubBackward1",
    "1 - m": "RsubBackward1",
    "torch.rsub(m, m)": "RsubBackward0",
    "2 / m": "MulBackward0",
    "2**m": "PowBackward2",
    "torch.pow(2, m)": "PowBackward2",
    "torch.xlogy(m, 2.0)": "XlogyBackward2",
    "torch.xlogy(2.0, m)": "XlogyBackward1",
    "torch.div(m, 2, rounding_mode='floor')": "DivBackward2",
    "torch.div(m, m, rounding_mode='trunc')": "DivBackward2",
    "torch.diag(m)": "DiagonalBackward0_copy",
    "m.norm(2, 0, True)": "LinalgVectorNormBackward0",
    "torch.std_mean(m)[1]": "StdMeanBackward0",
    "torch.var_mean(m, 0)[0]": "VarMeanBackward0",
    "torch.vdot(v, v)": "VdotBackward0",
    "torch.kron(m, m)": "UnsafeViewBackward0",
    "torch.linalg.multi_dot([m, m, m])": "ViewBackward0",
    "torch.combinations(v)": "StackBackward0",
    "torch.mvlgamma(m + 3, 2)": "MvlgammaBackward0",
    "torch.einsum('ij,jk->ik', m, m)": "ViewBackward0",
    "torch.einsum('ij->ji', m)": "PermuteBackward0",
    "torch.einsum('ij->', m)": "SumBackward1",
    "torch.einsum('i,j->ij', v, v)": "MulBackward0",
    "(m + 0).fill_(2)": "FillBackward2",
    "(m + 0).fill_(m.sum())": "FillBackward3",
    "(m + 0).zero_()": "ZeroBackward0",
    "(m + 0).copy_(m)": "CopyBackwards",
    "(m + 0).normal_()": "NormalBackward0",
    "(m + 0).addcmul_(m, m)": "AddcmulBackward0",
    "(m + 0).index_add_(0, torch.tensor([0]), m[:1])": "IndexAddBackward0",
    "(m + 0).index_copy_(0, torch.tensor([0]), m[:1])": "IndexCopyBackward0",
    "(m + 0).scatter_(0, torch.tensor([[0]]), m)": "ScatterBackward0",
    "(m + 0).t_()": "TBackward1",
    "(m + 0).swapaxes_(0, 1)": "TransposeBackward1",
    "(m + 0).as_strided_((2, 2), (1, 4))": "AsStridedBackward1",
    "(m + 0).squeeze_()": "SqueezeBackward3",
    "(m + 0).squeeze_(0)": "SqueezeBackward4",
    "(m + 0).squeeze_(dim=(0, 1))": "SqueezeBackward5",
    "(m + 0).eq_(1)": "EqBackward0",
    "(m + 0).less_equal_(m)": "LeBackward1",
    "(m + 0).asinh_()": "AsinhBackward1",
    "(m + 2).arccosh_()": "AcoshBackward1",
    "(m / 4).atanh_()": "AtanhBackward1",
    "m.asinh()": "AsinhBackward0",
    "(m + 0).clamp_min_(1)": "ClampMinBackward0",
    "(m + 0).clamp_min_(m.detach())": "ClampMinBackward1",
    "m.clamp_max(m.detach())": "ClampMaxBackward1",
    "F.elu(m + 0, inplace=True)": "EluBackward1",
    "F.selu(m + 0, inplace=True)": "EluBackward1",
    "F.celu(m + 0, inplace=True)": "CeluBackward1",
    "F.leaky_relu(m + 0, inplace=True)": "LeakyReluBackward1",
    "F.threshold(m + 0, 0.1, 2.0, inplace=True)": "ThresholdBackward1",
    "F.mish(m + 0, inplace=True)": "MishBackward0",
    "(m + 0).unsqueeze_(0)": "UnsqueezeBackward1",
    "torch.block_diag(x[0, 0])": "BlockDiagBackward0",
    "torch.median(x, 1, keepdim=True)[0]": "MedianBackward1",
    "torch.mode(x, 1, keepdim=True)[0]": "ModeBackward0",
    "torch.prod(x, 1, keepdim=True)": "ProdBackward1",
    "torch.std(x, 1, keepdim=True)": "StdBackward0",
    "torch.amax(x, 1, keepdim=True)": "AmaxBackward0",
    "torch.aminmax(x, dim=1, keepdim=True)[0]": "AminmaxBackward0",
    "torch.nansum(x, 1, keepdim=True)": "NansumBackward0",
    "torch.sign(x)": "SignBackward0",
    "torch.trapezoid(x, dim=1)": "MulBackward1",
    "torch.cdist(x, x)": "CdistBackward0",
    "torch.cross(x, x, dim=1)": "LinalgCrossBackward0",
    "torch.dist(x, x)": "DistBackward0",
    "torch.hypot(x, x)": "HypotBackward0",
    "torch.copysign(x, x)": "CopysignBackward0",
    "torch.maximum(x, torch.ones(5))": "MaximumBackward0",
    "m @ v": "MvBackward0",
    "v @ v": "DotBackward0",
    "v @ m": "SqueezeBackward4",
    "m.mm(m)": "MmBackward0",
    "torch.bmm(x[0], x[0].transpose(1, 2))": "BmmBackward0",
    "torch.addmm(m, m, m)": "AddmmBackward0",
    "torch.addmv(v, m, v)": "AddmvBackward0",
    "torch.addr(m, v, v)": "AddrBackward0",
    "torch.baddbmm(x[0][:, :, :4], x[0], x[0].transpose(1, 2))": "BaddbmmBackward0",
    "torch.linalg.norm(m)": "LinalgVectorNormBackward0",
    "torch.trace(m)": "TraceBackward0",
    "torch.diagonal(m)": "DiagonalBackward0",
    "torch.diag(v)": "DiagEmbedBackward0",
    "m.t()": "TBackward0",
    "m.mT": "TransposeBackward0",
    "x.as_strided((2,), (1,))": "AsStridedBackward0",
    "x.split([1, 1])[0]": "SplitWithSizesBackward0",
    "x.unbind()[0]": "UnbindBackward0",
    "x.sum()": "SumBackward0",
    "x.mean()": "MeanBackward0",
    "x.prod()": "ProdBackward0",
    "x.max()": "MaxBackward1",
    "x.min()": "MinBackward1",
    "x.min(0)[0]": "MinBackward0",
    "x.amin()": "AminBackward0",
    "x.median()": "MedianBackward0",
    "x.nanmedian()": "NanmedianBackward0",
    "x.cumprod(0)": "CumprodBackward0",
    "x.cummin(0)[0]": "CumminBackward0",
    "x.exp2()": "Exp2Backward0",
    "x.expm1()": "Expm1Backward0",
    "x.log()": "LogBackward0",
    "x.log2()": "Log2Backward0",
    "x.log10()": "Log10Backward0",
    "x.log1p()": "Log1PBackward0",
    "x.sqrt()": "SqrtBackward0",
    "x.rsqrt()": "RsqrtBackward0",
    "x.sin()": "SinBackward0",
    "x.cos()": "CosBackward0",
    "x.tan()": "TanBackward0",
    "x.asin()": "AsinBackward0",
    "x.acos()": "AcosBackward0",
    "x.atan()": "AtanBackward0",
    "x.sinh()": "SinhBackward0",
    "x.cosh()": "CoshBackward0",
    "x.tanh()": "TanhBackward0",
    "x.asinh()": "AsinhBackward0",
    "(x + 2).acosh()": "AcoshBackward0",
    "(x / 3).atanh()": "AtanhBackward0",
    "x.sigmoid()": "SigmoidBackward0",
    "x.neg()": "NegBackward0",
    "x.sgn()": "SgnBackward0",
    "x.floor()": "FloorBackward0",
    "x.ceil()": "CeilBackward0",
    "x.round()": "RoundBackward0",
    "x.trunc()": "TruncBackward0",
    "x.frac()": "FracBackward0",
    "x.reciprocal()": "ReciprocalBackward0",
    "x.erfc()": "ErfcBackward0",
    "(x / 3).erfinv()": "ErfinvBackward0",
    "x.lgamma()": "LgammaBackward0",
    "x.digamma()": "DigammaBackward0",
    "x.polygamma(1)": "PolygammaBackward0",
    "x.sinc()": "SincBackward0",
    "x.logit()": "LogitBackward0",
    "x.clamp(x, x)": "ClampBackward0",
    "x.clamp_min(0)": "ClampMinBackward0",
    "x.clamp_max(0)": "ClampMaxBackward0",
    "x.pow(x)": "PowBackward1",
    "x.minimum(x)": "MinimumBackward0",
    "x.fmax(x)": "FmaxBackward0",
    "x.fmin(x)": "FminBackward0",
    "x.fmod(x)": "FmodBackward1",
    "x.remainder(2)": "RemainderBackward0",
    "x.remainder(x)": "RemainderBackward1",
    "x.copysign(1)": "CopysignBackward1",
    "x.nextafter(x)": "NextafterBackward0",
    "x.logaddexp(x)": "LogaddexpBackward0",
    "x.logaddexp2(x)": "Logaddexp2Backward0",
    "x.xlogy(x)": "XlogyBackward0",
    "x.ldexp(x)": "LdexpBackward0",
    "x.lerp(x, x)": "LerpBackward1",
    "x.addcdiv(x, x)": "AddcdivBackward0",
    "x.masked_fill(x > 0, x.sum())": "MaskedFillBackward1",
    "x.masked_select(x > 0)": "MaskedSelectBackward0",
    "x.index_fill(0, torch.tensor([0]), x.sum())": "IndexFillBackward1",
    "x.index_put((torch.tensor([0]),), x[0])": "IndexPutBackward0",
    "x.scatter(0, torch.zeros(1, 1, 1, 1, dtype=torch.int64), x)": "ScatterBackward0",
    "x.scatter_add(0, torch.zeros(1, 1, 1, 1, dtype=torch.int64), x)": "ScatterAddBackward0",
    "x.deg2rad()": "Deg2RadBackward0",
    "x.rad2deg()": "Rad2DegBackward0",
    "F.celu(x)": "CeluBackward0",
    "F.mish(x)": "MishBackward0",
    "F.softshrink(x)": "SoftshrinkBackward0",
    "F.hardshrink(x)": "HardshrinkBackward0",
    "F.hardsigmoid(x)": "HardsigmoidBackward0",
    "F.embedding(torch.tensor([0]), m)": "EmbeddingBackward0",
    "F.huber_loss(x, x.detach())": "HuberLossBackward0",
    "F.binary_cross_entropy(x / 10, (x / 10).detach())": "BinaryCrossEntropyBackward0",
    "F.cross_entropy(m, torch.tensor([0, 1, 2, 3]))": "NllLossBackward0",
    "F.soft_margin_loss(x, x.detach())": "SoftMarginLossBackward0",
    "F.pairwise_distance(m, m)": "NormBackward1",
    "x @ torch.ones(5, 2)": "UnsafeViewBackward0",
    "m @ m": "MmBackward0",
    "F.linear(m, m, v)": "AddmmBackward0",
    "F.linear(m, m)": "MmBackward0",
    "F.linear(x, torch.ones(2, 5), torch.ones(2))": "ViewBackward0",
    "x.sum(0)": "SumBackward1",
    "x.squeeze(0)": "SqueezeBackward1",
    "x ** 2": "PowBackward0",
    "x ** x": "PowBackward1",
}
"""What makes a tensor of x (2, 3, 4, 5), the vector v or the square matrix m, and its node."""


def made(torch: Any, program: str) -> Any:
    functional = importlib.import_module(f"{torch.__name__}.nn.functional")
    x = (torch.arange(120.0) / 120 + 0.1).reshape(2, 3, 4, 5).requires_grad_()
    names = {
        "torch": torch,
        "F": functional,
        "x": x.detach().requires_grad_(),
        "v": (torch.arange(4.0) + 1).requires_grad_(),
        "m": (torch.eye(4) * 2 + 0.1).requires_grad_(),
        "w": torch.ones(4, 3, 1, 1),
        "b": torch.ones(4),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(program, names)


@pytest.mark.parametrize("program", NODES)
def test_a_node_has_pytorchs_name(program: str) -> None:
    result = made(tensorbus, program)
    assert type(result.grad_fn).__name__ == NODES[program]
    assert f"grad_fn=<{NODES[program]}>" in repr(result)


def test_pytorch_has_these_names(live_torch: Any) -> None:
    found = {program: type(made(live_torch, program).grad_fn).__name__ for program in NODES}
    assert found == NODES


@pytest.mark.parametrize("program", [p for p in NODES if "drop" not in p])
def test_a_named_node_differentiates(program: str) -> None:
    """A name changes nothing: the graph is walked, and a second pass is refused or is equal."""
    result = made(tensorbus, program)
    if not result.is_complex():
        result.sum().backward()


def test_nodes_behind_another_are_named_too() -> None:
    """A node takes its name when somebody looks at it, from wherever it is seen, and stays one."""
    x = tensorbus.ones(3, requires_grad=True)
    y = x.clamp(0, 2)
    (seen, _), (none, _) = (y * 2).grad_fn.next_functions  # type: ignore[union-attr]
    assert type(seen).__name__ == "ClampBackward1" and none is None
    assert y.grad_fn is seen and repr(seen).startswith("<ClampBackward1 object at 0x")
    assert seen.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert (x.clamp(0, 2).grad_fn).name() == "ClampBackward1"  # type: ignore[union-attr]
    assert type(seen) is type(x.clamp(0, 2).grad_fn)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [tensorbus.float32, tensorbus.bfloat16])
def test_cross_entropies_have_the_nodes_of_their_last_steps(
    reduction: str, dtype: tensorbus.dtype
) -> None:
    for shape, classes, name in (
        ((4, 3), (4,), "NllLossBackward0"),
        ((3,), (), "NllLossBackward0"),
        ((4, 3, 2), (4, 2), "NllLoss2DBackward0"),
    ):
        x = tensorbus.ones(shape, dtype=dtype, requires_grad=True)
        y = tensorbus.zeros(classes, dtype=tensorbus.int64)
        loss = F.cross_entropy(x, y, reduction=reduction)
        assert loss.grad_fn.name() == name
        assert loss.shape == (classes if reduction == "none" else ())
        smooth = F.cross_entropy(x, y, reduction=reduction, label_smoothing=0.25)
        assert smooth.grad_fn.name() == "AddBackward0" and smooth.dtype is loss.dtype is dtype


def test_linear_maps_have_the_nodes_of_products() -> None:
    w, b = tensorbus.ones(5, 3, requires_grad=True), tensorbus.ones(5)
    for x, plain, with_bias in (
        (tensorbus.ones(4, 3), "MmBackward0", "AddmmBackward0"),
        (tensorbus.ones(3), "UnsafeViewBackward0", "ViewBackward0"),
        (tensorbus.ones(2, 2, 3), "UnsafeViewBackward0", "ViewBackward0"),
    ):
        assert F.linear(x, w).grad_fn.name() == plain
        assert F.linear(x, w, b).grad_fn.name() == with_bias
        added = F.linear(x, w, tensorbus.ones(1)).grad_fn
        assert added.name() == "AddBackward0" and added.next_functions[0][0].name() == plain
