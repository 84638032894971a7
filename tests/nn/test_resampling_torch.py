"""Interpolation, sampling and further pools beside PyTorch: values, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus
from tensorbus.nn.functional.resampling_tables import tables

SHAPES = {"line": (2, 3, 7), "plane": (2, 2, 7, 5), "volume": (1, 2, 4, 5, 3),
          "grid": (2, 3, 4, 2), "grid3": (1, 2, 3, 2, 3), "theta": (2, 2, 3)}  # fmt: skip

PROGRAMS = """
F.interpolate(line, scale_factor=1.3, mode='linear')
F.interpolate(line, scale_factor=2.6, mode='linear', recompute_scale_factor=True)
F.interpolate(line, 12, mode='linear', align_corners=True)
F.interpolate(line, 3, mode='nearest-exact')
F.interpolate(plane, scale_factor=(0.7, 1.7))
F.interpolate(plane, (11, 4), mode='bilinear')
F.interpolate(plane, (11, 4), mode='bilinear', align_corners=True)
F.interpolate(plane, 3, mode='bilinear', antialias=True)
F.interpolate(plane, 3, mode='bilinear', antialias=True, align_corners=True)
F.interpolate(plane, scale_factor=1.6, mode='bicubic')
F.interpolate(plane, (3, 9), mode='bicubic', align_corners=True)
F.interpolate(plane, (3, 9), mode='bicubic', antialias=True)
F.interpolate(plane, (3, 4), mode='lanczos', antialias=True)
F.interpolate(plane, (3, 4), mode='area')
F.interpolate(volume, (7, 2, 3), mode='trilinear')
F.interpolate(volume, 2, mode='trilinear', align_corners=True)
F.interpolate(volume, 2, mode='area')
F.interpolate((plane * 20 + 90).to(torch.uint8), 9, mode='nearest')
F.grid_sample(plane, grid, align_corners=False)
F.grid_sample(plane, grid, 'bilinear', 'border', True)
F.grid_sample(plane, grid, 'bilinear', 'reflection', False)
F.grid_sample(plane, grid, 'nearest', 'reflection', True)
F.grid_sample(plane, grid, 'bicubic', 'zeros', False)
F.grid_sample(plane, grid, 'bicubic', 'reflection', True)
F.grid_sample(volume, grid3, 'bilinear', 'zeros', False)
F.grid_sample(volume, grid3, 'nearest', 'border', True)
F.affine_grid(theta, (2, 1, 3, 4), False)
F.affine_grid(theta, (2, 1, 1, 4), True)
F.max_pool3d(volume, (2, 3, 1), 1, (1, 1, 0), (1, 2, 1))
F.avg_pool3d(volume, 3, 2, 1, True, False)
F.fractional_max_pool2d(plane, 2, (4, 3), _random_samples=torch.tensor([[[0.3, 0.8]] * 2] * 2))
F.fractional_max_pool3d(volume, 2, (2, 3, 1), _random_samples=torch.tensor([[[0.3, 0.8, 0.1]] * 2]))
F.max_unpool2d(*F.max_pool2d(plane, 2, return_indices=True), 2, output_size=plane.shape)
F.lp_pool2d(plane.abs() + 1, 3, 2)
F.lp_pool1d(line, -float('inf'), 3, 1)
""".strip().splitlines()


def _answer(torch, program):
    """The result and the gradients of what it is made of."""
    random = np.random.default_rng(4)
    values = {n: random.normal(size=s) for n, s in SHAPES.items()}
    names = {n: torch.tensor(v.astype("f4"), requires_grad=True) for n, v in values.items()}
    y = eval(program, {"F": torch.nn.functional, "torch": torch, **names})
    if y.requires_grad:
        weights = torch.arange(float(y.numel())).reshape(y.shape).cos()
        (y * weights).sum().backward()
    found = [y.detach(), *(t.grad for t in names.values() if t.grad is not None)]
    return [t.numpy() for t in found]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_gradients(program, oracle):
    expected = oracle(lambda torch: _answer(torch, program))
    found = _answer(tensorbus, program)
    assert len(found) == len(expected)
    for have, want in zip(found, expected, strict=True):
        # PyTorch has places and weights in float32, whose errors grow with the slopes here.
        np.testing.assert_allclose(have, want, rtol=2e-5, atol=2e-4)


ERRORS = """
F.interpolate(line, 0)
F.interpolate(line)
F.interpolate(line, 2, 2.0)
F.interpolate(line, (2, 3))
F.interpolate(plane, scale_factor=(2.0,))
F.interpolate(line, 2, align_corners=True)
F.interpolate(line, 2, recompute_scale_factor=True)
F.interpolate(line, 2, mode='bilinear')
F.interpolate(line, 2, mode='bicubic')
F.interpolate(line, 2, mode='linear', antialias=True)
F.interpolate(plane, 2, mode='lanczos')
F.interpolate(plane[:, :0], 2)
F.interpolate(plane.bool(), 2)
F.grid_sample(plane, grid, 'cubic')
F.grid_sample(plane, grid, padding_mode='same')
F.grid_sample(plane, grid3, align_corners=False)
F.grid_sample(plane, grid[:1], align_corners=False)
F.grid_sample(plane, grid.double(), align_corners=False)
F.grid_sample(volume, grid3, 'bicubic', align_corners=False)
F.affine_grid(theta, (2, 1, 3), False)
F.affine_grid(theta.long(), (2, 1, 3, 4), False)
F.affine_grid(theta, (2, 1, 0, 4), False)
F.fractional_max_pool2d(plane, 2, 5)
F.fractional_max_pool2d(plane, 2)
F.fractional_max_pool3d(volume, 2, 2, _random_samples=torch.zeros(1, 2, 2))
F.max_unpool2d(plane, plane.int(), 2)
F.max_unpool2d(plane, plane[:1].long(), 2)
F.max_unpool2d(plane[0, 0], plane[0, 0].long(), 2)
F.max_unpool2d(plane * 0, plane.long() * 0 - 1, 2)
F.max_unpool2d(plane, plane.long(), 2, output_size=(3,))
F.max_pool3d(line, 2)
F.avg_pool3d(volume, 2, divisor_override=0)
F.adaptive_max_pool3d(volume.long(), 2)
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2, 2, 0.5)
nn.FractionalMaxPool3d(2, output_ratio=1.5)
nn.CrossMapLRN2d(2)(line)
F.feature_alpha_dropout(line[0, 0], 0.5, True)
""".strip().splitlines()


def _refusal(torch, program):
    names = {n: torch.ones(s) for n, s in SHAPES.items()}
    functions = {"F": torch.nn.functional, "nn": torch.nn, "torch": torch}
    try:
        eval(program, {**functions, **names})
    except Exception as error:
        return [type(error).__name__, " ".join(str(error).splitlines()[0].split())]
    return None


@pytest.mark.parametrize("program", ERRORS)
def test_bad_arguments_have_the_texts_of_pytorch(program, oracle):
    assert _refusal(tensorbus, program) == oracle(lambda torch: _refusal(torch, program))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "cubic", "lanczos"])
@pytest.mark.parametrize(("n", "size"), [(5, 12), (12, 5), (1, 4), (4, 1), (6, 6)])
def test_the_table_of_the_derivative_is_the_transposed_one(mode, n, size):
    forth, back, _ = tables(mode, n, size, False, None, mode == "lanczos", True)

    def dense(table, rows, columns):
        index, weights = table
        made = np.zeros((rows, columns))
        shares = np.ones(index.shape) if weights is None else weights
        np.add.at(made, (np.broadcast_to(np.arange(rows), index.shape), index), shares)
        return made

    matrix = dense(forth, size, n)
    np.testing.assert_allclose(matrix.sum(1), 1, rtol=1e-12)
    # A column without a weight has one of 0 somewhere.
    np.testing.assert_allclose(dense(back, n, size), matrix.T, rtol=1e-12, atol=1e-15)


def test_infinities_reach_only_their_neighbours():
    x = tensorbus.zeros(1, 1, 9, requires_grad=True)
    y = tensorbus.nn.functional.interpolate(x, 4)  # elements 0, 2, 4 and 6
    (g,) = tensorbus.autograd.grad(y, x, tensorbus.tensor([[[float("inf"), 1.0, 2.0, 3.0]]]))
    assert g.tolist() == [[[float("inf"), 0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0]]]
    x = tensorbus.tensor([[[1.0, 1.0, float("nan"), 1.0, 1.0]]])
    wide = tensorbus.nn.functional.interpolate(x, 10, mode="linear").isnan().tolist()[0][0]
    assert wide == [3 <= i <= 6 for i in range(10)]


def test_outside_of_planes_nothing_is_read():
    x = tensorbus.full((1, 1, 2, 2), float("nan"))
    far = tensorbus.full((1, 1, 1, 2), 5.0)
    sample = tensorbus.nn.functional.grid_sample
    assert sample(x, far, align_corners=False).item() == 0.0
    assert np.isnan(sample(x, far, padding_mode="border", align_corners=False).item())


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 9])
def test_cross_map_lrn_is_that_of_pytorch(size, oracle):
    x = np.random.default_rng(size).normal(size=(1, 8, 2, 3)).astype("f4")
    expected = oracle(
        lambda torch: torch.nn.CrossMapLRN2d(size, 0.3, 0.6, 1.2)(torch.tensor(x)).numpy()
    )
    found = tensorbus.nn.CrossMapLRN2d(size, 0.3, 0.6, 1.2)(tensorbus.tensor(x))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_layers_print_as_those_of_pytorch(oracle):
    def shown(nn):
        return [
            repr(layer)
            for layer in (
                nn.FractionalMaxPool2d(2, 2), nn.MaxUnpool2d(2), nn.LPPool3d(2, 3, 2, True),
                nn.Upsample(scale_factor=2), nn.UpsamplingBilinear2d((3, 3)),
                nn.LocalResponseNorm(2), nn.CrossMapLRN2d(2), nn.RReLU(inplace=True),
                nn.FeatureAlphaDropout(0.3), nn.MaxPool3d(2), nn.AvgPool3d(2, 1),
            )
        ]  # fmt: skip

    assert shown(tensorbus.nn) == oracle(lambda torch: shown(torch.nn))


def test_a_hard_gumbel_draw_has_the_gradient_of_the_soft_one():
    logits = tensorbus.tensor([[0.5, 1.5, -0.5]], requires_grad=True)
    weights = tensorbus.tensor([[1.0, -2.0, 3.0]])
    gradients = []
    for hard in (False, True):
        tensorbus.manual_seed(3)
        y = tensorbus.nn.functional.gumbel_softmax(logits, 0.7, hard)
        gradients.append(tensorbus.autograd.grad((y * weights).sum(), logits)[0].numpy())
    assert sorted(y.tolist()[0]) == pytest.approx([0.0, 0.0, 1.0])
    np.testing.assert_array_equal(*gradients)
