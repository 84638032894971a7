"""Counts of floating point operations: by hand, and as PyTorch 2.13 counts them."""

from __future__ import annotations

from typing import Any

import pytest

import tensorbus as torch
from tensorbus import nn
from tensorbus.utils.flop_counter import FlopCounterMode, register_flop_formula
from tensorbus.utils.module_tracker import ModuleTracker


def r(*shape: int) -> Any:
    return torch.rand(*shape, requires_grad=True)


def counted(f: Any, *given: Any) -> dict[str, dict[str, int]]:
    """What a function and its backward pass take, by module and op."""
    with FlopCounterMode(display=False) as counter:
        made = f(*given)
        (made[0] if isinstance(made, tuple) else made).sum().backward()
    counts = counter.get_flop_counts()
    assert counter.get_total_flops() == sum(counts["Global"].values())
    return {m: {str(op)[5:]: n for op, n in c.items()} for m, c in counts.items()}


@pytest.mark.parametrize(
    ("f", "given", "counts"),
    [
        (nn.Linear(3, 4), [r(2, 5, 3)], {"addmm": 240, "mm": 480}),
        (nn.Linear(3, 4, bias=False), [r(2, 5, 3)], {"mm": 720}),
        (torch.mv, [r(2, 3), r(3)], {"mm": 36}),
        (torch.bmm, [r(2, 2, 3), r(2, 3, 4)], {"bmm": 288}),
        (torch.matmul, [r(2, 1, 2, 3), r(2, 2, 3, 4)], {"bmm": 576}),
        (torch.matmul, [torch.rand(3), r(2, 3, 4)], {"bmm": 96}),
        (
            nn.Conv1d(2, 4, 3),
            [r(3, 2, 8)],
            {"convolution": 864, "convolution_backward": 1728},
        ),
        (
            nn.Conv2d(2, 4, 3, padding=1, stride=2, bias=False),
            [r(3, 2, 8, 8)],
            {"convolution": 6912, "convolution_backward": 13824},
        ),
        (
            nn.Conv2d(2, 4, 3, padding=1, stride=2),
            [torch.rand(3, 2, 8, 8)],  # no gradient of the input
            {"convolution": 6912, "convolution_backward": 6912},
        ),
        (
            nn.Conv2d(2, 4, 3, padding=1, stride=2, groups=2),
            [r(3, 2, 8, 8)],
            {"convolution": 3456, "convolution_backward": 6912},
        ),
        (
            nn.Conv3d(2, 4, 3, padding=1),
            [r(1, 2, 4, 4, 4)],
            {"convolution": 27648, "convolution_backward": 55296},
        ),
        (
            nn.ConvTranspose2d(2, 4, 3, stride=2),
            [r(3, 2, 8, 8)],
            {"convolution": 27648, "convolution_backward": 55296},
        ),
    ],
)
def test_counts(f: Any, given: Any, counts: dict[str, int]) -> None:
    assert counted(f, *given)["Global"] == counts


def test_modules_are_counted_forward_and_backward() -> None:
    inner = nn.Sequential(nn.ReLU(), nn.Linear(8, 2))
    found = counted(nn.Sequential(nn.Linear(4, 8), inner), torch.ones(10, 4))
    all_of_it = {"addmm": 960, "mm": 1280}
    last = {"addmm": 320, "mm": 640}
    assert found == {
        "Global": all_of_it,
        "Sequential": all_of_it,
        "Sequential.0": {"addmm": 640, "mm": 640},
        "Sequential.1": last,
        "Sequential.1.1": last,
    }


def test_a_transformers_layer() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    found = counted(layer, r(1, 5, 8))
    assert found["Global"] == {"addmm": 5120, "mm": 10240, "bmm": 2400}
    assert found["TransformerEncoderLayer.self_attn"] == {"addmm": 2560, "mm": 5120, "bmm": 2400}
    assert found["TransformerEncoderLayer.linear1"] == {"addmm": 1280, "mm": 2560}


def test_devices_without_values_are_counted_as_well() -> None:
    net = nn.Linear(300, 3000, device="meta")
    with FlopCounterMode(display=False) as counter:
        net(torch.ones(1000, 300, device="meta"))
    assert counter.get_total_flops() == 2 * 1000 * 300 * 3000
    assert counter.get_table().splitlines() == [
        "Module              FLOP    % Total",
        "-------------  ---------  ---------",
        "Linear         1800.000M    100.00%",
        " - aten.addmm  1800.000M    100.00%",
    ]


def test_the_table_is_printed(capsys: Any) -> None:
    net = nn.Sequential(nn.Sequential(nn.Linear(2, 2)))
    with FlopCounterMode(depth=1) as counter:
        net(torch.ones(1, 2))
        torch.ones(2, 2) @ torch.ones(2, 2)
    lines = [
        "Module           FLOP    % Total",
        "-------------  ------  ---------",
        "Global             24    100.00%",
        " - aten.addmm       8     33.33%",
        " - aten.mm         16     66.67%",
        "Sequential          8     33.33%",
        " - aten.addmm       8     33.33%",
    ]
    assert capsys.readouterr().out.splitlines() == lines
    deeper = counter.get_table(3).splitlines()
    assert deeper[0].startswith("Module") and deeper[-2].startswith("  Sequential.0.0 ")
    with counter:  # begins again
        torch.ones(3) + 1
    assert counter.get_total_flops() == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["Global         0         0%"]


def test_formulas_of_ones_own() -> None:
    @torch.library.custom_op("counted::scaled", mutates_args=())
    def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    op: Any = torch.ops.counted.scaled
    register_flop_formula(op)(lambda x, n, out_shape: x[0] * n * out_shape[0])
    for packet in (op, torch.ops.aten.mm):
        with pytest.raises(RuntimeError, match="duplicate registrations"):
            register_flop_formula([packet])
            register_flop_formula([packet])(len)
    with pytest.raises(ValueError, match="to be OpOverloadPacket"):
        register_flop_formula(3)(len)
    with FlopCounterMode(display=False) as counter:
        scaled(torch.ones(3), 7)
    assert counter.get_flop_counts() == {"Global": {op: 63}}

    raw: Any = lambda x, n, out_val: int(out_val.sum())  # noqa: E731
    raw._get_raw = True
    shapes = {op: raw, torch.ops.aten.bmm: lambda a, b, out_shape: sum(out_shape)}
    with FlopCounterMode(display=False, custom_mapping=shapes) as counter:
        scaled(torch.ones(3), 7)
        torch.bmm(torch.ones(2, 2, 2), torch.ones(2, 2, 2))
    assert counter.get_flop_counts() == {"Global": {op: 21, torch.ops.aten.bmm: 6}}


def test_modules_given_have_no_effect() -> None:
    with pytest.warns(UserWarning, match="mods argument is not needed anymore"):
        FlopCounterMode(nn.Linear(1, 1))


def test_the_tracker_knows_what_runs() -> None:
    seen: list[Any] = []

    class Inner(nn.Module):
        def forward(self, x: Any) -> Any:
            seen.append((set(tracker.parents), tracker.is_bw))
            y = x * 2
            y.register_hook(lambda _: seen.append((set(tracker.parents), tracker.is_bw)))
            return y * 3

    net = nn.Sequential(Inner(), nn.ReLU())
    x = torch.ones(2, requires_grad=True)
    with ModuleTracker() as tracker:
        for run in (lambda y: y.backward(), lambda y: torch.autograd.grad(y, x)):
            run(net(x).sum())
            assert tracker.parents == {"Global"} and not tracker.is_bw
    inside = {"Global", "Sequential", "Sequential.0"}
    assert seen == [(inside, False), (inside, True)] * 2
    net(x).sum().backward()
    assert seen[-2:] == [({"Global"}, False), ({"Global"}, True)]


def test_a_pass_that_fails_leaves_nothing() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[0].weight.register_hook(lambda g: 1 / 0)
    with ModuleTracker() as tracker:
        with pytest.raises(ZeroDivisionError):
            net(torch.ones(1, 2)).sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
