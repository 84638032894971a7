"""Checkpoints of whole programs, written by PyTorch: they load, and compute what PyTorch does."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.serialization import (
    UnsafeCheckpointError,
    get_unsafe_globals_in_checkpoint,
    safe_globals,
)
from tensorbus.serialization.archive import ArchiveWriter


def resnet(nn: Any) -> Any:
    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outer)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outer)
            self.downsample = None
            if stride > 1:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
                )

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + (x if self.downsample is None else self.downsample(x)))

    return nn.Sequential(
        nn.Conv2d(3, 4, 7, 2, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        Block(4, 4, 1),
        Block(4, 6, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, 5),
    )


def tagger(nn: Any) -> Any:
    class Tagger(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 4)
            self.lstm = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(6, 5)

        def forward(self, words: Any) -> Any:
            return self.head(self.lstm(self.embed(words))[0])

    return Tagger()


def gpt2(nn: Any) -> Any:
    """Shaped and named as GPT-2: learned positions, pre-norm blocks, weights tied to the head."""

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(8), nn.LayerNorm(8)
            self.attn = nn.ModuleDict({"c_attn": nn.Linear(8, 24), "c_proj": nn.Linear(8, 8)})
            self.mlp = nn.Sequential(nn.Linear(8, 32), nn.GELU("tanh"), nn.Linear(32, 8))

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = (
                part.view(b, t, 2, c // 2).transpose(1, 2)
                for part in self.attn["c_attn"](self.ln_1(x)).split(c, dim=2)
            )
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.attn["c_proj"](y.transpose(1, 2).reshape(b, t, c))
            return x + self.mlp(self.ln_2(x))

    class GPT2(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(13, 8), nn.Embedding(6, 8)
            self.h = nn.ModuleList([Block(), Block()])
            self.ln_f = nn.LayerNorm(8)
            self.lm_head = nn.Linear(8, 13, bias=False)
            self.lm_head.weight = self.wte.weight

        def forward(self, words: Any) -> Any:
            x = self.wte(words) + self.wpe.weight[: words.shape[1]]
            for block in self.h:
                x = block(x)
            return self.lm_head(self.ln_f(x))

    return GPT2()


WORDS = [[1, 2, 3, 4, 5], [5, 0, 2, 2, 10]]
MODELS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "resnet": (resnet, lambda t: (t.arange(1536) % 19 / 8.0).view(2, 3, 16, 16)),
    "lstm": (tagger, lambda t: t.tensor(WORDS)),
    "gpt2": (gpt2, lambda t: t.tensor(WORDS)),
}
ZIP, LEGACY = True, False


def settle(torch: Any, model: Any, optimizer: Any) -> None:
    """Give both values that every processor computes alike: few bits, nothing rounded."""

    def ramp(t: Any, by: int) -> Any:
        return ((torch.arange(t.numel()) * by % 17 - 8) / 32).reshape(t.shape)

    for p in model.parameters():
        p.grad = ramp(p, 5)
    optimizer.step()
    with torch.no_grad():
        for t in model.state_dict().values():
            if t.is_floating_point():
                t.copy_(ramp(t, 3).abs() + 1 if t.ndim == 1 else ramp(t, 3))


@pytest.mark.parametrize("form", [ZIP, LEGACY], ids=["zip", "legacy"])
@pytest.mark.parametrize("name", MODELS)
def test_a_training_checkpoint_gives_pytorchs_outputs(
    oracle: Callable[..., Any], save_modules: Callable[..., None], name: str, form: bool
) -> None:
    make, sample = MODELS[name]

    def program(torch: Any) -> Any:
        """A checkpoint in the middle of training, and a step after it."""
        model, x = make(torch.nn), sample(torch)
        optimizer = torch.optim.AdamW(model.parameters(), lr=2**-7, betas=(0.5, 0.75))
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
        settle(torch, model, optimizer)
        schedule.step()
        schedule.step()
        file = io.BytesIO()
        state = {name: part.state_dict() for name, part in parts.items()}
        torch.manual_seed(1)
        state["random"] = torch.get_rng_state()
        save_modules(torch, state, file, _use_new_zipfile_serialization=form)
        return file.getvalue(), further(model, optimizer, schedule, x)

    def further(model: Any, optimizer: Any, schedule: Any, x: Any) -> list[Any]:
        """What the model says as it was trained, after one more step, and at rest."""
        before = model(x)
        optimizer.zero_grad()
        before.square().mean().backward()
        optimizer.step()
        schedule.step()
        after = model(x)
        return [t.detach().numpy().astype(np.float64) for t in (before, after, model.eval()(x))]

    recorded, expected = oracle(program, rtol=1e-3)
    for weights_only in (True, None, False):
        state = tensorbus.load(io.BytesIO(recorded), weights_only=weights_only)
        model, x = make(tensorbus.nn), sample(tensorbus)
        optimizer = tensorbus.optim.AdamW(model.parameters(), lr=1.0)
        schedule = tensorbus.optim.lr_scheduler.StepLR(optimizer, 9)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        assert schedule.get_last_lr() == [2**-8] and state["random"].dtype is tensorbus.uint8
        for got, wanted in zip(further(model, optimizer, schedule, x), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises((RuntimeError, TypeError), match="state"):
        tensorbus.set_rng_state(state["random"])  # of another generator


def layers(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"),
        nn.BatchNorm2d(2),
        nn.GELU(approximate="tanh"),
        nn.Flatten(2),
        nn.TransformerEncoderLayer(16, 2, 8, dropout=0.0, batch_first=True, activation="gelu"),
        nn.GRU(16, 3, bidirectional=True, batch_first=True),
    )


@pytest.mark.parametrize("form", [ZIP, LEGACY], ids=["zip", "legacy"])
def test_whole_modules_and_optimizers_load_as_ours(
    oracle: Callable[..., Any], save_modules: Callable[..., None], form: bool
) -> None:
    def sample(t: Any) -> Any:
        return (t.arange(32) % 7 / 4.0).view(2, 1, 4, 4)

    def program(torch: Any) -> Any:
        net = layers(torch.nn)
        optimizer = torch.optim.SGD(net.parameters(), lr=2**-7, momentum=0.5)
        settle(torch, net, optimizer)
        # Whether pickle finds a text again depends on which texts are one object.
        net[5]._flat_weights_names = [*map(sys.intern, net[5]._flat_weights_names)]
        net[5]._all_weights = [[*map(sys.intern, names)] for names in net[5]._all_weights]
        file = io.BytesIO()
        save_modules(torch, (net, optimizer), file, _use_new_zipfile_serialization=form)
        return file.getvalue(), step(net, optimizer, sample(torch))

    def step(net: Any, optimizer: Any, x: Any) -> Any:
        y = net(x)[0]
        optimizer.zero_grad()
        y.square().sum().backward()
        optimizer.step()
        return net(x)[0].detach().numpy().astype(np.float64)

    recorded, expected = oracle(program, rtol=1e-3)
    with pytest.raises(UnsafeCheckpointError, match=r"torch\.nn\.modules\.container\.Sequential"):
        tensorbus.load(io.BytesIO(recorded), weights_only=True)
    unsafe = get_unsafe_globals_in_checkpoint(io.BytesIO(recorded))
    assert {"torch.nn.modules.conv.Conv2d", "torch.optim.sgd.SGD"} < set(unsafe)
    for weights_only in (None, False):
        net, optimizer = tensorbus.load(io.BytesIO(recorded), weights_only=weights_only)
        assert isinstance(net, tensorbus.nn.Sequential)
        assert isinstance(optimizer, tensorbus.optim.SGD)
        assert optimizer.param_groups[0]["params"][0] is net[0].weight
        got = step(net, optimizer, sample(tensorbus))
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_modules_of_the_user_are_allowed_by_name(oracle: Callable[..., Any]) -> None:
    def program(torch: Any) -> Any:
        net = torch.nn.Sequential(torch.nn.Linear(2, 1, bias=False))
        torch.nn.init.constant_(net[0].weight, 0.75)
        file = io.BytesIO()
        torch.save(net, file)
        return file.getvalue(), 1.5

    recorded, expected = oracle(program)
    nn = tensorbus.nn
    with safe_globals([nn.Linear, nn.Sequential]):
        net = tensorbus.load(io.BytesIO(recorded), weights_only=True)
    assert net(tensorbus.ones(1, 2)).item() == pytest.approx(expected, abs=1e-6)
    with safe_globals([nn.Linear]), pytest.raises(UnsafeCheckpointError, match="Sequential"):
        tensorbus.load(io.BytesIO(recorded), weights_only=True)


def test_our_own_modules_come_back() -> None:
    net = layers(tensorbus.nn)
    optimizer = tensorbus.optim.Adam(net.parameters())
    for form in (ZIP, LEGACY):
        file = io.BytesIO()
        tensorbus.save((net, optimizer), file, _use_new_zipfile_serialization=form)
        again, steps = tensorbus.load(file)
        assert str(again) == str(net) and again is not net
        assert steps.param_groups[0]["params"][0] is next(again.parameters())


HOSTILE = {
    "a parameter that is a text": {"_parameters": {"weight": "x"}},
    "a module that is a number": {"_modules": {"0": 3}},
    "a buffer that is a list": {"_buffers": {"b": []}},
    "tables that are lists": {"_parameters": []},
    "no tables": {"training": True},
    "no dict": [1],
    "names that are numbers": {1: 2},
}
EMPTY = {"_parameters": {}, "_buffers": {}, "_modules": {}}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_module_of_a_hostile_file_is_refused(case: str) -> None:
    state = HOSTILE[case]
    if isinstance(state, dict) and len(state) == 1 and next(iter(state)) in EMPTY:
        state = {**EMPTY, **state}
    head = b"\x80\2ctensorbus.nn.modules.linear\nLinear\n)\x81"
    file = io.BytesIO()
    archive = ArchiveWriter(file, "archive")
    archive.add("data.pkl", head + pickle.dumps(state, 2)[2:-1] + b"b.")
    archive.finish()
    with pytest.raises(tensorbus.serialization.CheckpointError, match="Linear"):
        tensorbus.load(file)


def test_hooks_of_a_saved_module_are_kept_where_they_are_allowed(
    oracle: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    def program(torch: Any) -> Any:
        # A file has the numbers of its hooks, which count up in a process.
        torch.utils.hooks.RemovableHandle.next_id = 0
        net = torch.nn.Linear(1, 1)
        torch.nn.init.constant_(net.weight, 0.5)
        torch.nn.init.constant_(net.bias, 0.5)
        net.register_forward_hook(print)
        file = io.BytesIO()
        torch.save(net, file)
        return file.getvalue()

    recorded = oracle(program)
    with pytest.raises(UnsafeCheckpointError, match="print"):
        tensorbus.load(io.BytesIO(recorded))
    with safe_globals([print]):
        trusted = [tensorbus.load(io.BytesIO(recorded))]
    trusted.append(tensorbus.load(io.BytesIO(recorded), weights_only=False))
    for net in trusted:
        assert list(net._forward_hooks.values()) == [print]
        assert net(tensorbus.ones(1)).item() == 1
        assert "Linear(in_features=1, out_features=1, bias=True)" in capsys.readouterr().out
