"""Entries made from traits: whatever a backend's kernels disclaim, results are those of cpu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.nn import functional as F

NARROW = {
    "broadcasts": False,
    "takes_empty": False,
    "contiguous_inputs": True,
    "strided_out": False,
    "negative_strides": False,
    "piece": 2,
    "max_rank": 3,
}


def real(device: str, *shape: int, seed: int = 1, low: float = -2.0, high: float = 2.0) -> Any:
    values = np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
    return torch.tensor(values.tolist()).reshape(shape).to(device)


def index(device: str, *shape: int, n: int = 3, seed: int = 2) -> Any:
    values = np.random.default_rng(seed).integers(0, n, shape)
    return torch.tensor(values.tolist(), dtype=torch.int64).reshape(shape).to(device)


def changed(x: Any, *steps: Callable[[Any], Any]) -> Any:
    """The tensor after some writes into it."""
    for step in steps:
        step(x)
    return x


def put(where: Any, value: Any) -> Callable[[Any], None]:
    return lambda x: x.__setitem__(where, value)


def seeded(draw: Callable[[], Any]) -> Any:
    torch.manual_seed(3)
    return draw()


def gradient(f: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[str], Any]:
    """The gradients of all inputs, one after the other."""

    def run(device: str) -> Any:
        inputs = [real(device, *s, seed=i).requires_grad_() for i, s in enumerate(shapes)]
        f(*inputs).sum().backward()
        return torch.cat([x.grad.reshape(-1) for x in inputs])

    return run


OPS: dict[str, Callable[[str], Any]] = {
    "bcast": lambda d: real(d, 3, 1) + real(d, 1, 4),
    "bcast0": lambda d: real(d, 3, 1) * real(d),
    "bcastT": lambda d: real(d, 4, 3).T + real(d, 3, 1),
    "num": lambda d: real(d, 3) * 2 + 1,
    "rnum": lambda d: 1 - real(d, 3, 2).T,
    "empty": lambda d: real(d, 0, 3) + real(d, 3),
    "emptyexp": lambda d: real(d, 0, 3).exp(),
    "emptysum": lambda d: real(d, 0, 3).sum(0),
    "emptysumall": lambda d: real(d, 0, 3).sum(),
    "emptyprod": lambda d: real(d, 2, 0).prod(1),
    "emptymean": lambda d: real(d, 2, 0).mean(1),
    "emptymm": lambda d: real(d, 2, 0) @ real(d, 0, 3),
    "emptymm2": lambda d: real(d, 0, 2) @ real(d, 2, 3),
    "emptycat": lambda d: torch.cat([real(d, 0, 3), real(d, 2, 3)]),
    "emptysort": lambda d: real(d, 0).sort()[0],
    "emptycumsum": lambda d: real(d, 0, 2).cumsum(0),
    "emptyidx": lambda d: real(d, 3, 2)[index(d, 0)],
    "emptymask": lambda d: real(d, 3, 2)[real(d, 3, 2) > 100],
    "emptymax": lambda d: real(d, 0, 3).max(1)[0],
    "emptyarange": lambda d: torch.arange(0, device=d),
    "emptywhere": lambda d: torch.where(real(d, 0) > 0, real(d, 0), real(d, 0)),
    "emptycmp": lambda d: real(d, 0) < 1,
    "emptygather": lambda d: real(d, 3, 2).gather(0, index(d, 0, 2)),
    "emptyscatter": lambda d: torch.zeros(3, 2, device=d).scatter_add(
        0, index(d, 0, 2), real(d, 0, 2)
    ),
    "emptyindexadd": lambda d: torch.zeros(3, 2, device=d).index_add(0, index(d, 0), real(d, 0, 2)),
    "sum": lambda d: real(d, 3, 4).sum((0, 1)),
    "sum0": lambda d: real(d, 3, 4).sum(0),
    "sumT": lambda d: real(d, 3, 4).T.sum(0),
    "mean": lambda d: real(d, 3, 4, 5).mean((0, 2)),
    "var": lambda d: real(d, 3, 4).var(1),
    "std": lambda d: real(d, 3, 4).std(),
    "amax": lambda d: real(d, 3, 4).T.amax(0),
    "argmax": lambda d: real(d, 3, 4).argmax(1),
    "argmaxall": lambda d: real(d, 3, 4).T.argmax(),
    "any": lambda d: (real(d, 3, 4) > 1).any(1),
    "all": lambda d: (real(d, 3, 4) > -3).all(),
    "prod": lambda d: real(d, 3, 4).prod(0),
    "lse": lambda d: real(d, 3, 4).logsumexp(1),
    "norm": lambda d: real(d, 3, 4).norm(),
    "cumsum": lambda d: real(d, 3, 4).T.cumsum(1),
    "cumprod": lambda d: real(d, 3, 4).cumprod(0),
    "cummax": lambda d: real(d, 3, 4).cummax(1)[0],
    "flip": lambda d: real(d, 3, 4).flip(0, 1),
    "flip1": lambda d: real(d, 3, 4).flip((1,)) + 1,
    "roll": lambda d: real(d, 3, 4).roll(1, 0),
    "rot90": lambda d: torch.rot90(real(d, 3, 4)),
    "mm": lambda d: real(d, 3, 4) @ real(d, 4, 5),
    "mmT": lambda d: real(d, 4, 3).T @ real(d, 5, 4).T,
    "bmm": lambda d: real(d, 2, 3, 4) @ real(d, 2, 4, 5),
    "bmmb": lambda d: real(d, 2, 3, 4) @ real(d, 4, 5),
    "bmmb2": lambda d: real(d, 2, 1, 3, 4) @ real(d, 5, 4, 2),
    "mv": lambda d: real(d, 3, 4) @ real(d, 4),
    "dot": lambda d: real(d, 4) @ real(d, 4),
    "outer": lambda d: torch.outer(real(d, 3), real(d, 4)),
    "idx": lambda d: real(d, 3, 4)[index(d, 5)],
    "idx2": lambda d: real(d, 3, 4)[index(d, 5), index(d, 5, n=4)],
    "idxT": lambda d: real(d, 4, 3).T[index(d, 5)],
    "mask": lambda d: real(d, 3, 4)[real(d, 3, 4) > 0],
    "maskrow": lambda d: real(d, 3, 4)[real(d, 3) > 0],
    "sel": lambda d: real(d, 3, 4)[1],
    "slstep": lambda d: real(d, 7)[1:6:2] + 1,
    "neg": lambda d: real(d, 3, 4)[-1, ..., None],
    "gather": lambda d: real(d, 3, 4).gather(0, index(d, 2, 4)),
    "gatherT": lambda d: real(d, 4, 3).T.gather(0, index(d, 4, 2).T),
    "scatter": lambda d: real(d, 3, 4).scatter(0, index(d, 2, 4), real(d, 2, 4, seed=3)),
    "scatteradd": lambda d: real(d, 3, 4).scatter_add(1, index(d, 3, 4), real(d, 4, 3).T),
    "index_select": lambda d: real(d, 3, 4).index_select(1, index(d, 2)),
    "index_add": lambda d: real(d, 3, 4).index_add(1, index(d, 4), real(d, 3, 4)),
    "conv": lambda d: F.conv2d(
        real(d, 2, 3, 6, 6), real(d, 4, 3, 3, 3), real(d, 4), padding=1, stride=2
    ),
    "convT": lambda d: F.conv2d(real(d, 3, 2, 6, 6).transpose(0, 1), real(d, 4, 3, 3, 3)),
    "convg": lambda d: F.conv2d(real(d, 2, 4, 5, 5), real(d, 4, 2, 3, 3), groups=2),
    "conv1": lambda d: F.conv1d(real(d, 2, 3, 6), real(d, 4, 3, 3)),
    "maxpool": lambda d: F.max_pool2d(real(d, 2, 3, 6, 6), 2),
    "avgpool": lambda d: F.avg_pool2d(real(d, 2, 3, 6, 6), 3, 2, 1),
    "softmax": lambda d: real(d, 3, 4).softmax(1),
    "softmaxT": lambda d: real(d, 3, 4).T.softmax(0),
    "logsoftmax": lambda d: real(d, 3, 4).log_softmax(0),
    "layer_norm": lambda d: F.layer_norm(real(d, 3, 4), (4,), real(d, 4), real(d, 4)),
    "batch_norm": lambda d: F.batch_norm(real(d, 3, 4, 2, 2), None, None, training=True),
    "gelu": lambda d: F.gelu(real(d, 3, 4)),
    "ce": lambda d: F.cross_entropy(real(d, 3, 4), index(d, 3, n=4)),
    "nll": lambda d: F.nll_loss(real(d, 3, 4), index(d, 3, n=4)),
    "mse": lambda d: F.mse_loss(real(d, 3, 4), real(d, 3, 4, seed=4)),
    "bce": lambda d: F.binary_cross_entropy_with_logits(
        real(d, 3, 4), real(d, 3, 4, low=0, high=1)
    ),
    "where": lambda d: torch.where(real(d, 3, 1) > 0, real(d, 1, 4), real(d)),
    "maskedfill": lambda d: real(d, 3, 4).masked_fill(real(d, 1, 4) > 0, 0.5),
    "clamp": lambda d: real(d, 3, 4).clamp(-1, 1),
    "clampT": lambda d: real(d, 3, 4).clamp(real(d, 4) - 1),
    "cat": lambda d: torch.cat([real(d, 3, 4), real(d, 4, 3).T], 1),
    "stack": lambda d: torch.stack([real(d, 3, 4), real(d, 3, 4)], 1),
    "sort": lambda d: real(d, 3, 4).sort(1, descending=True)[0],
    "argsort": lambda d: real(d, 4, 3).T.argsort(1),
    "topk": lambda d: real(d, 3, 4).topk(2)[0],
    "kthvalue": lambda d: real(d, 5).median(),
    "int": lambda d: index(d, 3, 4) // 2 + index(d, 4),
    "intmod": lambda d: (index(d, 3, 4) - 2) % 2,
    "bool": lambda d: (real(d, 3, 4) > 0) & (real(d, 4) < 1),
    "xor": lambda d: index(d, 3) ^ index(d, 3, seed=8),
    "pow": lambda d: real(d, 3, 4, low=0.1) ** real(d, 4),
    "sqrt": lambda d: real(d, 3, 4, low=0).sqrt(),
    "sigmoid": lambda d: real(d, 3, 4).T.sigmoid(),
    "tanh": lambda d: real(d, 3, 4)[:, ::2].tanh(),
    "repeat": lambda d: real(d, 3, 4).repeat(2, 1),
    "expand": lambda d: real(d, 3, 1).expand(3, 4) + 1,
    "expandsum": lambda d: real(d, 3, 1).expand(3, 4).sum(0),
    "reshape": lambda d: real(d, 3, 4).T.reshape(6, 2),
    "contig": lambda d: real(d, 3, 4).T.contiguous(),
    "tril": lambda d: real(d, 4, 4).tril(),
    "eye": lambda d: torch.eye(3, device=d),
    "linspace": lambda d: torch.linspace(0, 1, 5, device=d),
    "arange": lambda d: torch.arange(2, 9, 3, device=d),
    "unfold": lambda d: real(d, 7).unfold(0, 3, 2) * 2,
    "split": lambda d: real(d, 6).split(4)[1],
    "diag": lambda d: real(d, 3, 3).diagonal() + 1,
    "einsum": lambda d: torch.einsum("ij,kj->ik", real(d, 3, 4), real(d, 2, 4)),
    "unique": lambda d: index(d, 6).unique(),
    "nonzero": lambda d: (real(d, 3, 4) > 0).nonzero(),
    "bincount": lambda d: index(d, 6).bincount(),
    "searchsorted": lambda d: torch.searchsorted(real(d, 5).sort()[0], real(d, 3)),
    "to": lambda d: real(d, 3, 4).T.to(torch.int32),
    "tofloat": lambda d: index(d, 3, 4).float(),
    "erf": lambda d: torch.erf(real(d, 3, 4)),
    "lgamma": lambda d: torch.lgamma(real(d, 3, 4, low=0.5)),
    "atan2": lambda d: torch.atan2(real(d, 3, 1), real(d, 4)),
    "addmm": lambda d: torch.addmm(real(d, 5), real(d, 3, 4), real(d, 4, 5)),
    "baddbmm": lambda d: torch.baddbmm(real(d, 2, 3, 5), real(d, 2, 3, 4), real(d, 2, 4, 5)),
    "embedding": lambda d: F.embedding(index(d, 2, 3), real(d, 3, 4)),
    "onehot": lambda d: F.one_hot(index(d, 4), 3),
    "pad": lambda d: F.pad(real(d, 3, 4), (1, 2)),
    "upper": lambda d: real(d, 3, 4).clone().T.clone(),
    "cummax0": lambda d: real(d, 0, 3).cummax(0)[0],
    "cummax0i": lambda d: real(d, 0, 3).cummax(0)[1],
    "rand0": lambda d: torch.rand(0, device=d),
    "randperm0": lambda d: torch.randperm(0, device=d),
    "topk0": lambda d: real(d, 0, 3).topk(2, 1)[0],
    "mmb": lambda d: real(d, 2, 1, 3, 0) @ real(d, 5, 0, 4),
    "mmb0": lambda d: real(d, 0, 1, 3, 2) @ real(d, 5, 2, 4),
    "argmax0": lambda d: real(d, 0, 3).argmax(1),
    "amax0": lambda d: real(d, 0, 3).amax(1),
    "any0": lambda d: (real(d, 0, 3) > 0).any(),
    "all0": lambda d: (real(d, 0, 3) > 0).all(0),
    "conv0": lambda d: F.conv2d(real(d, 0, 3, 5, 5), real(d, 4, 3, 3, 3)),
    "sm0": lambda d: real(d, 0, 3).softmax(1),
    "lsm0": lambda d: real(d, 3, 0).log_softmax(1),
    "sort0": lambda d: real(d, 3, 0).sort(1)[1],
    "uniq0": lambda d: index(d, 0).unique(),
    "nz0": lambda d: real(d, 0, 3).nonzero(),
    "binc0": lambda d: index(d, 0).bincount(),
    "hypot": lambda d: torch.hypot(real(d, 3), real(d, 3, seed=4)),
    "gcdn": lambda d: torch.gcd(index(d, 4, n=30), index(d, 4, n=9, seed=5)),
    "xlogy": lambda d: torch.xlogy(real(d, 4), 2.5),
    "logicaland": lambda d: torch.logical_and(real(d, 4), real(d, 4)),
    "copysign": lambda d: torch.copysign(real(d, 4), -0.0),
    "fmod": lambda d: torch.fmod(real(d, 4), 0.7),
    "rem": lambda d: torch.remainder(real(d, 4), -0.7),
    "ge": lambda d: real(d, 4) >= 0.1,
    "logaddexp": lambda d: torch.logaddexp(real(d, 4), real(d, 1)),
    "divfloor": lambda d: torch.div(real(d, 4), 0.3, rounding_mode="floor"),
    "take_step": lambda d: real(d, 3, 7)[:, 1::3].sum(0),
    "deep": lambda d: real(d, 2, 3, 2, 1, 2, 3).permute(5, 0, 3, 1, 4, 2) + real(d, 2, 1),
    "deep where": lambda d: torch.where(real(d, 2, 3, 2, 1, 2) > 0, real(d, 2, 1, 2), 0.5),
    "deep sum": lambda d: real(d, 2, 3, 2, 3, 2).transpose(0, 3).sum((1, 3)),
    "deep sumall": lambda d: real(d, 2, 3, 2, 3, 2).sum(),
    "deep var": lambda d: real(d, 2, 3, 2, 3, 2).var((0, 4)),
    "deep argmax": lambda d: real(d, 2, 3, 2, 3, 2).argmax(3),
    "deep amin": lambda d: real(d, 2, 3, 2, 3, 2).amin((0, 2, 3)),
    "deep any": lambda d: (real(d, 2, 3, 2, 3, 2) > 1.5).any(2),
    "deep cumsum": lambda d: real(d, 2, 3, 2, 3, 2).transpose(1, 3).cumsum(2),
    "deep cummax": lambda d: real(d, 2, 3, 2, 3).cummax(1)[1],
    "deep sort": lambda d: real(d, 2, 3, 2, 3, 2).sort(1)[0],
    "deep mm": lambda d: real(d, 2, 1, 3, 2, 3) @ real(d, 2, 1, 3, 2),
    "deep idx": lambda d: real(d, 2, 2, 3, 2)[:, :, index(d, 4)],
    "deep gather": lambda d: real(d, 2, 2, 3, 2).gather(2, index(d, 1, 2, 5, 2)),
    "deep take_along": lambda d: torch.take_along_dim(real(d, 2, 2, 3, 2), index(d, 2, 2, 1, 2), 2),
    "deep scatteradd": lambda d: (
        real(d, 2, 2, 3, 2)
        .transpose(0, 3)
        .scatter_add(2, index(d, 2, 1, 4, 2), real(d, 2, 2, 4, 2))
    ),
    "deep index_add": lambda d: real(d, 2, 2, 3, 2).index_add(2, index(d, 4), real(d, 2, 2, 4, 2)),
    "deep index_add_": lambda d: changed(
        real(d, 2, 3, 2, 2),
        lambda x: x.transpose(0, 3).index_add_(1, index(d, 4), real(d, 2, 4, 2, 2)),
    ),
    "deep set": lambda d: changed(real(d, 2, 3, 2, 2), put((slice(None), index(d, 2)), 1.5)),
    "deep empty": lambda d: real(d, 2, 0, 2, 3, 2) * 2 + real(d, 2),
    "deep out": lambda d: changed(
        torch.zeros(2, 3, 2, 2, device=d),
        lambda x: torch.add(real(d, 2, 2, 3, 2), 1, out=x.transpose(1, 2)),
    ),
    "deep in place": lambda d: changed(real(d, 2, 3, 2, 4)[..., ::2], lambda x: x.mul_(x)),
    "deep int": lambda d: index(d, 2, 3, 2, 2) // 2 + index(d, 2),
    "deep zero-dim": lambda d: real(d, 2, 3, 2, 2) * real(d),
    "asT": lambda d: real(d, 2, 3, 4).permute(2, 0, 1).exp(),
    "bat": lambda d: real(d, 2, 3, 4).permute(2, 0, 1) + real(d, 2, 1),
    "heaviside": lambda d: torch.heaviside(real(d, 4), real(d, 4)),
    "interp": lambda d: torch.lerp(real(d, 4), real(d, 4, seed=3), 0.3),
    "median0": lambda d: real(d, 3, 4).median(1)[1],
    "cdist": lambda d: torch.cdist(real(d, 3, 4), real(d, 2, 4)),
    "avgp3": lambda d: F.adaptive_avg_pool2d(real(d, 1, 2, 5, 5), 2),
    "cmpT": lambda d: real(d, 3, 4).T > 0,
    "cmpTb": lambda d: torch.eq(real(d, 2, 3, 4).permute(2, 1, 0), real(d, 1)),
    "whereT": lambda d: torch.where(real(d, 3, 4).T > 0, real(d, 3, 4).T, 0.5),
    "complex": lambda d: (torch.complex(real(d, 3), real(d, 3)) * 2).real,
    "f64": lambda d: real(d, 3).double().exp(),
    "i32": lambda d: real(d, 3, low=0, high=9).to(torch.int32).T * 3,
    "u8": lambda d: real(d, 3, low=0, high=9).to(torch.uint8) - 7,
    "asstr": lambda d: torch.as_strided(real(d, 12), (3, 2), (4, 1), 1).clone(),
    "viewas": lambda d: real(d, 3, 4).view(torch.int32),
}

OPS |= {
    # writes
    "views": lambda d: changed(real(d, 4, 4), lambda x: x[:, 1:3].mul_(2), lambda x: x.T.add_(1),
                               lambda x: x[::2].zero_()),
    "permuted view": lambda d: changed(real(d, 2, 3, 4), lambda x: x.permute(1, 0, 2).exp_()),
    "copy": lambda d: changed(real(d, 3, 4), lambda x: x[1].copy_(real(d, 4, seed=5))),
    "set slice": lambda d: changed(real(d, 3, 4), put((slice(None), 1), 7)),
    "set row": lambda d: changed(real(d, 3, 4), put(0, real(d, 4, seed=9))),
    "set mask": lambda d: changed(real(d, 3, 4), lambda x: put(x > 0, 0.0)(x)),
    "set indices": lambda d: changed(real(d, 3, 4), put(index(d, 2), 1.5)),
    "set nothing": lambda d: changed(real(d, 3), put(index(d, 0), 1.0)),
    "cumsum_": lambda d: changed(real(d, 3, 4), lambda x: x[:, ::2].cumsum_(1)),
    "relu_": lambda d: changed(real(d, 3, 4), lambda x: x[:, ::2].relu_(), lambda x: x[1].sub_(1)),
    "out": lambda d: changed(torch.zeros(4, 3, device=d),
                             lambda x: torch.add(real(d, 3, 4), 1, out=x.T)),
    "out of steps": lambda d: changed(
        torch.zeros(3, 8, device=d),
        lambda x: torch.add(real(d, 3, 4), real(d, 3, 4), out=x[:, ::2])),
    "bool out": lambda d: changed(torch.zeros(4, 3, device=d, dtype=torch.bool),
                                  lambda x: torch.lt(real(d, 3, 4), 0.0, out=x.T)),
    # random streams
    "rand": lambda d: seeded(lambda: torch.rand(4, device=d)),
    "randn": lambda d: seeded(lambda: torch.randn(2, 5, device=d)),
    "randperm": lambda d: seeded(lambda: torch.randperm(6, device=d)),
    "dropout": lambda d: seeded(lambda: F.dropout(real(d, 8))),
    # gradients
    "d mul": gradient(lambda a, b: a * b * b, (3, 1), (1, 4)),
    "d matmul": gradient(lambda a, b: (a @ b) ** 2, (2, 3, 4), (4, 5)),
    "d conv2d": gradient(lambda a, b: F.conv2d(a, b, padding=1) ** 2, (2, 3, 5, 5), (4, 3, 3, 3)),
    "d softmax": gradient(lambda a: a.T.softmax(0) ** 2, (3, 4)),
    "d index": gradient(lambda a: a[[0, 0, 2]] ** 2, (3, 4)),
    "d amax": gradient(lambda a: a.amax(1), (3, 4)),
    "d max_pool2d": gradient(lambda a: F.max_pool2d(a, 2) ** 2, (2, 3, 4, 4)),
    "d layer_norm": gradient(lambda a, w: F.layer_norm(a, (4,), w) ** 3, (3, 4), (4,)),
    "d batch_norm": gradient(
        lambda a: F.batch_norm(a, None, None, training=True) ** 3, (3, 4, 2, 2)),
    "d nothing": gradient(lambda a: (a * 2).sum(), (0, 3)),
    "d cumsum": gradient(lambda a: a.cumsum(0) ** 2, (3, 4)),
    "d var": gradient(lambda a: a.var(1), (3, 4)),
    "d sort": gradient(lambda a: a.sort(1)[0] ** 2, (3, 4)),
    "d cross_entropy": gradient(
        lambda a: F.cross_entropy(a, torch.tensor([1, 0, 3]).to(a.device)), (3, 4)),
    "d view in place": gradient(lambda a: changed(a * 2, lambda y: y[:, 1].mul_(3)), (3, 4)),
    "d flip": gradient(lambda a: a.flip(0) * a, (3, 4)),
    "d prod": gradient(lambda a: a.prod(1), (3, 4)),
}  # fmt: skip


def agree(name: str, device: str) -> None:
    expected, found = OPS[name]("cpu"), OPS[name](device)
    assert found.device.type == device
    facts = lambda t: (t.dtype, t.shape, t.stride())  # noqa: E731
    assert facts(found) == facts(expected)
    np.testing.assert_allclose(
        found.cpu().numpy(), expected.numpy(), rtol=1e-5, atol=1e-6, equal_nan=True
    )


@pytest.fixture(scope="module", autouse=True)
def no_fallback() -> Any:
    policy = torch.get_fallback()
    torch.set_fallback("error")
    yield
    torch.set_fallback(policy)


@pytest.mark.parametrize("name", OPS)
def test_all_narrow_traits_at_once(name: str, shared: Callable[..., str]) -> None:
    agree(name, shared(**NARROW))


@pytest.mark.parametrize("trait", NARROW)
def test_each_narrow_trait(trait: str, shared: Callable[..., str]) -> None:
    device = shared(**{trait: NARROW[trait]})
    for name in OPS:
        agree(name, device)


def test_wide_traits_over_opaque_arrays(shared: Callable[..., str]) -> None:
    device = shared()
    for name in OPS:
        agree(name, device)


SIZED = ["amax", "amin", "argmax", "argmin"]


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("traits", [{}, NARROW], ids=["wide", "narrow"])
def test_extremes_of_nothing_raise_as_on_cpu(
    name: str, traits: dict[str, bool], shared: Callable[..., str]
) -> None:
    function = getattr(torch, name)
    errors = []
    for device in ("cpu", shared(**traits)):
        with pytest.raises(IndexError) as caught:
            function(torch.zeros(2, 0, device=device), 1)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    assert function(torch.zeros(0, 3, device=shared(**traits)), 1).shape == (0,)


def test_kernels_see_equal_dense_shapes_only_when_they_ask(plug: Any, boxed: Any) -> None:
    wide, narrow = boxed(), boxed(**NARROW)
    for backend in (wide, narrow):
        device = plug(backend)
        x = torch.ones(2, 1, device=device) + torch.ones(3, device=device)
        assert x.tolist() == [[2.0] * 3] * 2
        (torch.zeros(0, device=device) + 1).sum()
        torch.add(x.T, 1, out=torch.zeros(2, 3, device=device).T)
    assert wide.called.count("add") > narrow.called.count("add")


def test_a_kernel_that_is_handed_what_it_disclaims_is_noticed(plug: Any, boxed: Any) -> None:
    backend = boxed(broadcasts=False)
    x, y = backend.empty((2, 1), torch.float32, 0), backend.empty((3,), torch.float32, 0)
    with pytest.raises(Exception, match="shapes .* differ"):
        backend.kernel("add", torch.float32, 0)(x, y)
