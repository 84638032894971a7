"""Named situations whose error text is PyTorch's, to the letter."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

import tensorbus

# ruff: noqa: E501  (the texts stand here as they are read)


def twice(m: Any) -> None:
    y = m.ones(2, requires_grad=True).exp().sum()
    y.backward()
    y.backward()


def saved(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def computed(m: Any) -> None:
    y = m.ones(2, requires_grad=True) * 2
    y.requires_grad = False


def view_detached(m: Any) -> None:
    m.ones(2, requires_grad=True).clone()[0].detach_()


# What happens: the program, the type of the error, its text.
SITUATIONS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    'broadcast': (lambda m: m.ones(2, 2) + m.ones(2, 3), RuntimeError, 'The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1'),
    'broadcast in place': (lambda m: m.ones(2).add_(m.ones(3, 2)), RuntimeError, "output with shape [2] doesn't match the broadcast shape [3, 2]"),
    'view of a transposed tensor': (lambda m: m.ones(2, 3).t().view(6), RuntimeError, "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead."),
    'view of another number of elements': (lambda m: m.ones(2, 3).view(4), RuntimeError, "shape '[4]' is invalid for input of size 6"),
    'reshape of another number of elements': (lambda m: m.ones(2, 3).reshape(4), RuntimeError, "shape '[4]' is invalid for input of size 6"),
    'reshape with two unknown extents': (lambda m: m.ones(2, 3).reshape(-1, -1), RuntimeError, 'only one dimension can be inferred'),
    'expand to another extent': (lambda m: m.ones(2, 3).expand(2, 4), RuntimeError, 'The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 1.  Target sizes: [2, 4].  Tensor sizes: [2, 3]'),
    'expand to fewer dimensions': (lambda m: m.ones(2, 3).expand(3), RuntimeError, 'expand(torch.FloatTensor{[2, 3]}, size=[3]): the number of sizes provided (1) must be greater or equal to the number of dimensions in the tensor (2)'),
    'permute with too few dimensions': (lambda m: m.ones(2, 3).permute(0), RuntimeError, 'permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = 2 is not equal to len(dims) = 1'),
    'permute with a repeated dimension': (lambda m: m.ones(2, 3).permute(0, 0), RuntimeError, 'permute(): duplicate dims are not allowed.'),
    't of three dimensions': (lambda m: m.ones(2, 3, 4).t(), RuntimeError, 't() expects a tensor with <= 2 dimensions, but self is 3D'),
    'dimension out of range': (lambda m: m.ones(2, 3).sum(2), IndexError, 'Dimension out of range (expected to be in range of [-2, 1], but got 2)'),
    'squeeze out of range': (lambda m: m.ones(2, 3).squeeze(5), IndexError, 'Dimension out of range (expected to be in range of [-2, 1], but got 5)'),
    'dimension given twice': (lambda m: m.ones(2, 3).sum((0, 0)), RuntimeError, 'dim 0 appears multiple times in the list of dims'),
    'index out of bounds': (lambda m: m.ones(2, 3)[2], IndexError, 'index 2 is out of bounds for dimension 0 with size 2'),
    'index tensor out of bounds': (lambda m: m.ones(2, 3)[m.tensor([5])], IndexError, 'index 5 is out of bounds for dimension 0 with size 2'),
    'too many indices': (lambda m: m.ones(2, 3)[0, 0, 0], IndexError, 'too many indices for tensor of dimension 2'),
    'index of a 0-dim tensor': (lambda m: m.tensor(1.0)[0], IndexError, 'invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number'),
    'slice with a negative step': (lambda m: m.ones(3)[::-1], ValueError, 'step must be greater than zero'),
    'narrow beyond the end': (lambda m: m.ones(4).narrow(0, 3, 2), RuntimeError, 'start (3) + length (2) exceeds dimension size (4).'),
    'matrix product': (lambda m: m.ones(2, 3) @ m.ones(2, 3), RuntimeError, 'mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)'),
    'matrix product of dtypes': (lambda m: m.ones(2, 3) @ m.ones(3, 2).double(), RuntimeError, 'expected m1 and m2 to have the same dtype, but got: float != double'),
    'matrix product of a 0-dim tensor': (lambda m: m.tensor(1.0) @ m.ones(2), RuntimeError, 'both arguments to matmul need to be at least 1D, but they are 0D and 1D'),
    'batched product': (lambda m: m.bmm(m.ones(2, 2, 3), m.ones(2, 2, 3)), RuntimeError, 'Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 2].'),
    'linear': (lambda m: m.nn.functional.linear(m.ones(2, 3), m.ones(4, 5)), RuntimeError, 'mat1 and mat2 shapes cannot be multiplied (2x3 and 5x4)'),
    'cat of other extents': (lambda m: m.cat([m.ones(2, 3), m.ones(2, 4)]), RuntimeError, 'Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the list.'),
    'cat of other ranks': (lambda m: m.cat([m.ones(2, 3), m.ones(2)]), RuntimeError, 'Tensors must have same number of dimensions: got 2 and 1'),
    'stack of other shapes': (lambda m: m.stack([m.ones(2), m.ones(3)]), RuntimeError, 'stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1'),
    'split into wrong sizes': (lambda m: m.ones(4).split([1, 2]), RuntimeError, "split_with_sizes expects split_sizes to sum exactly to 4 (input tensor's size at dimension 0), but got split_sizes=[1, 2]"),
    'gather out of bounds': (lambda m: m.gather(m.ones(2), 0, m.tensor([2])), RuntimeError, 'index 2 is out of bounds for dimension 0 with size 2'),
    'item of many elements': (lambda m: m.ones(2).item(), RuntimeError, 'a Tensor with 2 elements cannot be converted to Scalar'),
    'truth of many elements': (lambda m: bool(m.ones(2)), RuntimeError, 'Boolean value of Tensor with more than one value is ambiguous'),
    'truth of no elements': (lambda m: bool(m.ones(0)), RuntimeError, 'Boolean value of Tensor with no values is ambiguous'),
    'float of many elements': (lambda m: float(m.ones(2)), ValueError, 'only one element tensors can be converted to Python scalars'),
    'len of a 0-dim tensor': (lambda m: len(m.tensor(1.0)), TypeError, 'len() of a 0-d tensor'),
    'iteration over a 0-dim tensor': (lambda m: list(m.tensor(1.0)), TypeError, 'iteration over a 0-d tensor'),
    'numpy of a tensor that requires grad': (lambda m: m.ones(2, requires_grad=True).numpy(), RuntimeError, "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."),
    'integers that require grad': (lambda m: m.ones(2, dtype=m.int64, requires_grad=True), RuntimeError, 'Only Tensors of floating point and complex dtype can require gradients'),
    'integers told to require grad': (lambda m: m.ones(2, dtype=m.int64).requires_grad_(), RuntimeError, 'only Tensors of floating point dtype can require gradients'),
    'no gradient function': (lambda m: m.ones(2).sum().backward(), RuntimeError, 'element 0 of tensors does not require grad and does not have a grad_fn'),
    'backward of many elements': (lambda m: m.ones(2, requires_grad=True).mul(2).backward(), RuntimeError, 'grad can be implicitly created only for scalar outputs'),
    'backward a second time': (twice, RuntimeError, 'Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.'),
    'leaf changed in place': (lambda m: m.ones(2, requires_grad=True).add_(1), RuntimeError, 'a leaf Variable that requires grad is being used in an in-place operation.'),
    'saved value changed in place': (saved, RuntimeError, 'one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2]], which is output 0 of Exp, is at version 1; expected version 0 instead.'),
    'requires_grad of a computed tensor': (computed, RuntimeError, "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."),
    'gradient of another shape': (lambda m: setattr(m.ones(2), "grad", m.ones(3)), RuntimeError, "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'. Please ensure that the gradient and the tensor are the same size"),
    'out= with gradients': (lambda m: m.add(m.ones(2, requires_grad=True), 1, out=m.ones(2)), RuntimeError, "add(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    'deepcopy of a computed tensor': (lambda m: copy.deepcopy(m.ones(2, requires_grad=True) * 2), RuntimeError, 'Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001'),
    'detach_ of a view': (view_detached, RuntimeError, "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."),
    'difference of truth values': (lambda m: m.ones(2, dtype=m.bool) - m.ones(2, dtype=m.bool), RuntimeError, 'Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.'),
    'difference with truth values': (lambda m: m.ones(2) - m.ones(2, dtype=m.bool), RuntimeError, 'Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.'),
    'negative truth values': (lambda m: -m.ones(2, dtype=m.bool), RuntimeError, 'Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.'),
    'inverted floats': (lambda m: ~m.ones(2), TypeError, '~ (operator.invert) is only implemented on integer and Boolean-type tensors'),
    'negative powers of integers': (lambda m: m.ones(2, dtype=m.int64) ** -1, RuntimeError, 'Integers to negative integer powers are not allowed.'),
    'integers divided in place': (lambda m: m.ones(2, dtype=m.int64).div_(2), RuntimeError, "result type Float can't be cast to the desired output type Long"),
    'division of integers by zero': (lambda m: m.ones(2, dtype=m.int64) // 0, RuntimeError, 'ZeroDivisionError'),
    'mean of integers': (lambda m: m.ones(2, dtype=m.int64).mean(), RuntimeError, 'mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long'),
    'deviation of integers': (lambda m: m.ones(2, dtype=m.int64).std(), RuntimeError, 'std and var only support floating point and complex dtypes'),
    'softmax of integers': (lambda m: m.softmax(m.ones(2, dtype=m.int64), 0), NotImplementedError, '"softmax_lastdim_kernel_impl" not implemented for \'Long\''),
    'largest of nothing': (lambda m: m.ones(0).max(), RuntimeError, "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."),
    'argmax of nothing': (lambda m: m.ones(0).argmax(), IndexError, 'argmax(): Expected reduction dim to be specified for input.numel() == 0.'),
    'write to memory that overlaps': (lambda m: m.ones(1).expand(3).add_(1), RuntimeError, 'unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation.'),
    'mask of another shape': (lambda m: m.ones(2, 3)[m.ones(3, dtype=m.bool)], IndexError, 'The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3] at index 0'),
    'unknown rounding mode': (lambda m: m.div(m.ones(2), 2, rounding_mode="up"), RuntimeError, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'"),
    'step of zero': (lambda m: m.arange(0, 5, 0), RuntimeError, 'step must be nonzero'),
    'range in the wrong direction': (lambda m: m.arange(5, 0), RuntimeError, 'upper bound and lower bound inconsistent with step sign'),
    'ragged sequences': (lambda m: m.tensor([[1, 2], [3]]), ValueError, 'expected sequence of length 2 at dim 1 (got 1)'),
    'negative extent': (lambda m: m.zeros(-1), RuntimeError, 'zeros: Dimension size must be non-negative.'),
    'malformed device': (lambda m: m.zeros(2, device="cpu:x"), RuntimeError, "Invalid device string: 'cpu:x'"),
    'convolution of other channels': (lambda m: m.nn.functional.conv2d(m.ones(1, 2, 5, 5), m.ones(3, 4, 3, 3)), RuntimeError, 'Given groups=1, weight of size [3, 4, 3, 3], expected input[1, 2, 5, 5] to have 4 channels, but got 2 channels instead'),
    'convolution beyond the input': (lambda m: m.nn.functional.conv2d(m.ones(1, 2, 2, 2), m.ones(3, 2, 3, 3)), RuntimeError, "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be greater than actual input size"),
    'cross entropy of another batch': (lambda m: m.nn.functional.cross_entropy(m.ones(2, 3), m.tensor([0])), ValueError, 'Expected input batch_size (2) to match target batch_size (1).'),
    'class out of bounds': (lambda m: m.nn.functional.cross_entropy(m.ones(1, 3), m.tensor([3])), IndexError, 'Target 3 is out of bounds.'),
    'dropout probability': (lambda m: m.nn.functional.dropout(m.ones(2), 2.0), ValueError, 'dropout probability has to be between 0 and 1, but got 2.0'),
    'state dict of another model': (lambda m: m.nn.Linear(2, 3).load_state_dict(m.nn.Linear(2, 4).state_dict()), RuntimeError, 'Error(s) in loading state_dict for Linear:\n\tsize mismatch for weight: copying a param with shape torch.Size([4, 2]) from checkpoint, the shape in current model is torch.Size([3, 2]).\n\tsize mismatch for bias: copying a param with shape torch.Size([4]) from checkpoint, the shape in current model is torch.Size([3]).'),
    'batch norm of one value': (lambda m: m.nn.BatchNorm1d(2)(m.ones(1, 2)), ValueError, 'Expected more than 1 value per channel when training, got input size torch.Size([1, 2])'),
    'optimizer without parameters': (lambda m: m.optim.SGD([], lr=0.1), ValueError, 'optimizer got an empty parameter list'),
    'negative learning rate': (lambda m: m.optim.SGD([m.ones(2, requires_grad=True)], lr=-1.0), ValueError, 'Invalid learning rate: -1.0'),
}  # fmt: skip


def raised(program: Callable[[Any], Any], library: Any) -> Exception:
    with pytest.raises(Exception) as caught:
        program(library)
    return caught.value


def comparable(text: str) -> str:
    """Without the hint, and with a node called as PyTorch's newest release calls it."""
    return re.sub(r" Hint: .*", "", text).replace("ExpBackward0", "Exp")


def test_there_are_thirty_situations() -> None:
    assert len(SITUATIONS) >= 30


@pytest.mark.parametrize("name", SITUATIONS)
def test_text(name: str) -> None:
    program, kind, text = SITUATIONS[name]
    error = raised(program, tensorbus)
    assert isinstance(error, kind)
    assert comparable(str(error)) == text


def test_pytorch_says_the_same(oracle: Callable[..., Any]) -> None:
    def programs(torch: Any) -> dict[str, tuple[str, str]]:
        errors = {name: raised(program, torch) for name, (program, _, _) in SITUATIONS.items()}
        return {name: (type(e).__name__, comparable(str(e))) for name, e in errors.items()}

    assert oracle(programs) == {
        name: (kind.__name__, text) for name, (_, kind, text) in SITUATIONS.items()
    }


def test_unknown_device_type_names_what_is_installed() -> None:
    with pytest.raises(
        RuntimeError, match="^Expected one of .*cpu.* device type at start of device string: abc"
    ):
        tensorbus.zeros(2, device="abc")


@pytest.mark.parametrize("device", ["opencl"], indirect=True)
def test_operands_on_two_devices(device: str) -> None:
    a, b = tensorbus.ones(2), tensorbus.ones(2, device=device)
    with pytest.raises(RuntimeError) as caught:
        a + b
    assert str(caught.value) == (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{a.device} and {b.device}!"
    )
