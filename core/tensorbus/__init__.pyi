# Made by scripts/stubs from the functions and methods in core/tensorbus: not edited.

import numpy as np
from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Literal
from typing import overload
from tensorbus import accelerator as accelerator
from tensorbus import amp as amp
from tensorbus import array_api as array_api
from tensorbus import as_torch as as_torch
from tensorbus import autograd as autograd
from tensorbus import backends as backends
from tensorbus import cli as cli
from tensorbus import compiler as compiler
from tensorbus import cpu as cpu
from tensorbus import cuda as cuda
from tensorbus import demo as demo
from tensorbus import discovery as discovery
from tensorbus import distributed as distributed
from tensorbus import distributions as distributions
from tensorbus import fft as fft
from tensorbus import func as func
from tensorbus import futures as futures
from tensorbus import fx as fx
from tensorbus import graph as graph
from tensorbus import hub as hub
from tensorbus import jit as jit
from tensorbus import legacy as legacy
from tensorbus import library as library
from tensorbus import linalg as linalg
from tensorbus import multiprocessing as multiprocessing
from tensorbus import nn as nn
from tensorbus import onnx as onnx
from tensorbus import op_engine as op_engine
from tensorbus import ops as ops
from tensorbus import optim as optim
from tensorbus import overrides as overrides
from tensorbus import plugin as plugin
from tensorbus import profiler as profiler
from tensorbus import quasirandom as quasirandom
from tensorbus import random as random
from tensorbus import return_types as return_types
from tensorbus import rows as rows
from tensorbus import serialization as serialization
from tensorbus import signal as signal
from tensorbus import sparse as sparse
from tensorbus import special as special
from tensorbus import storage as storage
from tensorbus import testing as testing
from tensorbus import torch_version as torch_version
from tensorbus import types as types
from tensorbus import utils as utils
from tensorbus import version as version
from tensorbus._C import AVG as AVG
from tensorbus._C import AggregationType as AggregationType
from tensorbus._C import DispatchKey as DispatchKey
from tensorbus._C import SUM as SUM
from tensorbus._C import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from tensorbus._base import dtypes
from tensorbus._base.asserting import _assert as _assert
from tensorbus._base.asserting import _check as _check
from tensorbus._base.asserting import _check_index as _check_index
from tensorbus._base.asserting import _check_type as _check_type
from tensorbus._base.asserting import _check_value as _check_value
from tensorbus._base.denormals import set_flush_denormal as set_flush_denormal
from tensorbus._base.deterministic import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from tensorbus._base.deterministic import get_deterministic_debug_mode as get_deterministic_debug_mode
from tensorbus._base.deterministic import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from tensorbus._base.deterministic import set_deterministic_debug_mode as set_deterministic_debug_mode
from tensorbus._base.deterministic import use_deterministic_algorithms as use_deterministic_algorithms
from tensorbus._base.dtypes import can_cast as can_cast
from tensorbus._base.dtypes import dtype as dtype
from tensorbus._base.dtypes import finfo as finfo
from tensorbus._base.dtypes import get_default_dtype as get_default_dtype
from tensorbus._base.dtypes import iinfo as iinfo
from tensorbus._base.dtypes import promote_types as promote_types
from tensorbus._base.dtypes import set_default_dtype as set_default_dtype
from tensorbus._base.errors import AcceleratorError as AcceleratorError
from tensorbus._base.errors import OutOfMemoryError as OutOfMemoryError
from tensorbus._base.formats import channels_last as channels_last
from tensorbus._base.formats import channels_last_3d as channels_last_3d
from tensorbus._base.formats import contiguous_format as contiguous_format
from tensorbus._base.formats import jagged as jagged
from tensorbus._base.formats import layout as layout
from tensorbus._base.formats import memory_format as memory_format
from tensorbus._base.formats import preserve_format as preserve_format
from tensorbus._base.formats import sparse_bsc as sparse_bsc
from tensorbus._base.formats import sparse_bsr as sparse_bsr
from tensorbus._base.formats import sparse_coo as sparse_coo
from tensorbus._base.formats import sparse_csc as sparse_csc
from tensorbus._base.formats import sparse_csr as sparse_csr
from tensorbus._base.formats import strided as strided
from tensorbus._base.matmul_precision import get_float32_matmul_precision as get_float32_matmul_precision
from tensorbus._base.matmul_precision import set_float32_matmul_precision as set_float32_matmul_precision
from tensorbus._base.size import Size as Size
from tensorbus._base.symbolic import SymBool as SymBool
from tensorbus._base.symbolic import SymFloat as SymFloat
from tensorbus._base.symbolic import SymInt as SymInt
from tensorbus._base.symbolic import sym_float as sym_float
from tensorbus._base.symbolic import sym_int as sym_int
from tensorbus._base.symbolic import sym_ite as sym_ite
from tensorbus._base.symbolic import sym_max as sym_max
from tensorbus._base.symbolic import sym_min as sym_min
from tensorbus._base.symbolic import sym_not as sym_not
from tensorbus._base.symbolic import sym_sqrt as sym_sqrt
from tensorbus._base.symbolic import sym_sum as sym_sum
from tensorbus._base.warning import is_warn_always_enabled as is_warn_always_enabled
from tensorbus._base.warning import set_warn_always as set_warn_always
from tensorbus._device.defaults import get_default_device as get_default_device
from tensorbus._device.defaults import set_default_device as set_default_device
from tensorbus._device.device import device as device
from tensorbus._device.device_module import get_device_module as get_device_module
from tensorbus._device.threads import get_num_interop_threads as get_num_interop_threads
from tensorbus._device.threads import get_num_threads as get_num_threads
from tensorbus._device.threads import init_num_threads as init_num_threads
from tensorbus._device.threads import set_num_interop_threads as set_num_interop_threads
from tensorbus._device.threads import set_num_threads as set_num_threads
from tensorbus._dispatch.fallback import fallback_counts as fallback_counts
from tensorbus._dispatch.fallback import get_fallback as get_fallback
from tensorbus._dispatch.fallback import set_fallback as set_fallback
from tensorbus._dispatch.fusion import get_fusion as get_fusion
from tensorbus._dispatch.fusion import set_fusion as set_fusion
from tensorbus._dispatch.streams import Event as Event
from tensorbus._dispatch.streams import Stream as Stream
from tensorbus._tensor.tensor import Tensor as Tensor
from tensorbus._tensor.tensor import _Operand
from tensorbus.amp.autocast_mode import autocast as autocast
from tensorbus.amp.grad_scaler import GradScaler as GradScaler
from tensorbus.amp.switches import autocast_decrement_nesting as autocast_decrement_nesting
from tensorbus.amp.switches import autocast_increment_nesting as autocast_increment_nesting
from tensorbus.amp.switches import clear_autocast_cache as clear_autocast_cache
from tensorbus.amp.switches import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from tensorbus.amp.switches import get_autocast_dtype as get_autocast_dtype
from tensorbus.amp.switches import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from tensorbus.amp.switches import is_autocast_cache_enabled as is_autocast_cache_enabled
from tensorbus.amp.switches import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from tensorbus.amp.switches import is_autocast_enabled as is_autocast_enabled
from tensorbus.amp.switches import set_autocast_cache_enabled as set_autocast_cache_enabled
from tensorbus.amp.switches import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from tensorbus.amp.switches import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from tensorbus.amp.switches import set_autocast_dtype as set_autocast_dtype
from tensorbus.amp.switches import set_autocast_enabled as set_autocast_enabled
from tensorbus.amp.switches import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from tensorbus.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from tensorbus.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from tensorbus.autograd.grad_mode import enable_grad as enable_grad
from tensorbus.autograd.grad_mode import inference_mode as inference_mode
from tensorbus.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from tensorbus.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from tensorbus.autograd.grad_mode import no_grad as no_grad
from tensorbus.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from tensorbus.compiler import compile as compile
from tensorbus.func import vmap as vmap
from tensorbus.func.control_flow import cond as cond
from tensorbus.func.control_flow import while_loop as while_loop
from tensorbus.futures import Future as Future
from tensorbus.jit import ScriptFunction as ScriptFunction
from tensorbus.jit import fork as fork
from tensorbus.jit import wait as wait
from tensorbus.library import Tag as Tag
from tensorbus.library.schema import parse_schema as parse_schema
from tensorbus.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from tensorbus.nn.functional import avg_pool1d as avg_pool1d
from tensorbus.nn.functional import bilinear as bilinear
from tensorbus.nn.functional import celu as celu
from tensorbus.nn.functional import celu_ as celu_
from tensorbus.nn.functional import channel_shuffle as channel_shuffle
from tensorbus.nn.functional import conv1d as conv1d
from tensorbus.nn.functional import conv2d as conv2d
from tensorbus.nn.functional import conv3d as conv3d
from tensorbus.nn.functional import conv_tbc as conv_tbc
from tensorbus.nn.functional import conv_transpose1d as conv_transpose1d
from tensorbus.nn.functional import conv_transpose2d as conv_transpose2d
from tensorbus.nn.functional import conv_transpose3d as conv_transpose3d
from tensorbus.nn.functional import cosine_similarity as cosine_similarity
from tensorbus.nn.functional import hardshrink as hardshrink
from tensorbus.nn.functional import pairwise_distance as pairwise_distance
from tensorbus.nn.functional import pdist as pdist
from tensorbus.nn.functional import pixel_shuffle as pixel_shuffle
from tensorbus.nn.functional import pixel_unshuffle as pixel_unshuffle
from tensorbus.nn.functional import prelu as prelu
from tensorbus.nn.functional import rms_norm as rms_norm
from tensorbus.nn.functional import rrelu as rrelu
from tensorbus.nn.functional import rrelu_ as rrelu_
from tensorbus.nn.functional import selu as selu
from tensorbus.nn.functional import selu_ as selu_
from tensorbus.nn.functional import threshold as threshold
from tensorbus.nn.functional import threshold_ as threshold_
from tensorbus.nn.functional.grid_sampling import affine_grid_generator as affine_grid_generator
from tensorbus.nn.recurrent_functions import gru as gru
from tensorbus.nn.recurrent_functions import gru_cell as gru_cell
from tensorbus.nn.recurrent_functions import lstm as lstm
from tensorbus.nn.recurrent_functions import lstm_cell as lstm_cell
from tensorbus.nn.recurrent_functions import rnn_relu as rnn_relu
from tensorbus.nn.recurrent_functions import rnn_relu_cell as rnn_relu_cell
from tensorbus.nn.recurrent_functions import rnn_tanh as rnn_tanh
from tensorbus.nn.recurrent_functions import rnn_tanh_cell as rnn_tanh_cell
from tensorbus.nn.torch_functions import adaptive_max_pool1d as adaptive_max_pool1d
from tensorbus.nn.torch_functions import alpha_dropout as alpha_dropout
from tensorbus.nn.torch_functions import alpha_dropout_ as alpha_dropout_
from tensorbus.nn.torch_functions import batch_norm as batch_norm
from tensorbus.nn.torch_functions import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from tensorbus.nn.torch_functions import constant_pad_nd as constant_pad_nd
from tensorbus.nn.torch_functions import cosine_embedding_loss as cosine_embedding_loss
from tensorbus.nn.torch_functions import ctc_loss as ctc_loss
from tensorbus.nn.torch_functions import dropout_ as dropout_
from tensorbus.nn.torch_functions import embedding as embedding
from tensorbus.nn.torch_functions import embedding_renorm_ as embedding_renorm_
from tensorbus.nn.torch_functions import feature_alpha_dropout as feature_alpha_dropout
from tensorbus.nn.torch_functions import feature_alpha_dropout_ as feature_alpha_dropout_
from tensorbus.nn.torch_functions import grid_sampler as grid_sampler
from tensorbus.nn.torch_functions import grid_sampler_2d as grid_sampler_2d
from tensorbus.nn.torch_functions import grid_sampler_3d as grid_sampler_3d
from tensorbus.nn.torch_functions import group_norm as group_norm
from tensorbus.nn.torch_functions import hinge_embedding_loss as hinge_embedding_loss
from tensorbus.nn.torch_functions import instance_norm as instance_norm
from tensorbus.nn.torch_functions import kl_div as kl_div
from tensorbus.nn.torch_functions import layer_norm as layer_norm
from tensorbus.nn.torch_functions import margin_ranking_loss as margin_ranking_loss
from tensorbus.nn.torch_functions import max_pool1d as max_pool1d
from tensorbus.nn.torch_functions import max_pool1d_with_indices as max_pool1d_with_indices
from tensorbus.nn.torch_functions import max_pool2d as max_pool2d
from tensorbus.nn.torch_functions import max_pool3d as max_pool3d
from tensorbus.nn.torch_functions import norm_except_dim as norm_except_dim
from tensorbus.nn.torch_functions import poisson_nll_loss as poisson_nll_loss
from tensorbus.nn.torch_functions import scalar_tensor as scalar_tensor
from tensorbus.nn.torch_functions import triplet_margin_loss as triplet_margin_loss
from tensorbus.op_engine.promotion import result_type as result_type
from tensorbus.ops.creation.typed_constructors import tensortype
from tensorbus.ops.joining.grids import broadcast_shapes as broadcast_shapes
from tensorbus.ops.tensor.foreach import _foreach_abs as _foreach_abs
from tensorbus.ops.tensor.foreach import _foreach_abs_ as _foreach_abs_
from tensorbus.ops.tensor.foreach import _foreach_acos as _foreach_acos
from tensorbus.ops.tensor.foreach import _foreach_acos_ as _foreach_acos_
from tensorbus.ops.tensor.foreach import _foreach_add as _foreach_add
from tensorbus.ops.tensor.foreach import _foreach_add_ as _foreach_add_
from tensorbus.ops.tensor.foreach import _foreach_addcdiv as _foreach_addcdiv
from tensorbus.ops.tensor.foreach import _foreach_addcdiv_ as _foreach_addcdiv_
from tensorbus.ops.tensor.foreach import _foreach_addcmul as _foreach_addcmul
from tensorbus.ops.tensor.foreach import _foreach_addcmul_ as _foreach_addcmul_
from tensorbus.ops.tensor.foreach import _foreach_asin as _foreach_asin
from tensorbus.ops.tensor.foreach import _foreach_asin_ as _foreach_asin_
from tensorbus.ops.tensor.foreach import _foreach_atan as _foreach_atan
from tensorbus.ops.tensor.foreach import _foreach_atan_ as _foreach_atan_
from tensorbus.ops.tensor.foreach import _foreach_ceil as _foreach_ceil
from tensorbus.ops.tensor.foreach import _foreach_ceil_ as _foreach_ceil_
from tensorbus.ops.tensor.foreach import _foreach_clamp_max as _foreach_clamp_max
from tensorbus.ops.tensor.foreach import _foreach_clamp_max_ as _foreach_clamp_max_
from tensorbus.ops.tensor.foreach import _foreach_clamp_min as _foreach_clamp_min
from tensorbus.ops.tensor.foreach import _foreach_clamp_min_ as _foreach_clamp_min_
from tensorbus.ops.tensor.foreach import _foreach_clone as _foreach_clone
from tensorbus.ops.tensor.foreach import _foreach_copy_ as _foreach_copy_
from tensorbus.ops.tensor.foreach import _foreach_cos as _foreach_cos
from tensorbus.ops.tensor.foreach import _foreach_cos_ as _foreach_cos_
from tensorbus.ops.tensor.foreach import _foreach_cosh as _foreach_cosh
from tensorbus.ops.tensor.foreach import _foreach_cosh_ as _foreach_cosh_
from tensorbus.ops.tensor.foreach import _foreach_div as _foreach_div
from tensorbus.ops.tensor.foreach import _foreach_div_ as _foreach_div_
from tensorbus.ops.tensor.foreach import _foreach_erf as _foreach_erf
from tensorbus.ops.tensor.foreach import _foreach_erf_ as _foreach_erf_
from tensorbus.ops.tensor.foreach import _foreach_erfc as _foreach_erfc
from tensorbus.ops.tensor.foreach import _foreach_erfc_ as _foreach_erfc_
from tensorbus.ops.tensor.foreach import _foreach_exp as _foreach_exp
from tensorbus.ops.tensor.foreach import _foreach_exp_ as _foreach_exp_
from tensorbus.ops.tensor.foreach import _foreach_expm1 as _foreach_expm1
from tensorbus.ops.tensor.foreach import _foreach_expm1_ as _foreach_expm1_
from tensorbus.ops.tensor.foreach import _foreach_floor as _foreach_floor
from tensorbus.ops.tensor.foreach import _foreach_floor_ as _foreach_floor_
from tensorbus.ops.tensor.foreach import _foreach_frac as _foreach_frac
from tensorbus.ops.tensor.foreach import _foreach_frac_ as _foreach_frac_
from tensorbus.ops.tensor.foreach import _foreach_lerp as _foreach_lerp
from tensorbus.ops.tensor.foreach import _foreach_lerp_ as _foreach_lerp_
from tensorbus.ops.tensor.foreach import _foreach_lgamma as _foreach_lgamma
from tensorbus.ops.tensor.foreach import _foreach_lgamma_ as _foreach_lgamma_
from tensorbus.ops.tensor.foreach import _foreach_log as _foreach_log
from tensorbus.ops.tensor.foreach import _foreach_log10 as _foreach_log10
from tensorbus.ops.tensor.foreach import _foreach_log10_ as _foreach_log10_
from tensorbus.ops.tensor.foreach import _foreach_log1p as _foreach_log1p
from tensorbus.ops.tensor.foreach import _foreach_log1p_ as _foreach_log1p_
from tensorbus.ops.tensor.foreach import _foreach_log2 as _foreach_log2
from tensorbus.ops.tensor.foreach import _foreach_log2_ as _foreach_log2_
from tensorbus.ops.tensor.foreach import _foreach_log_ as _foreach_log_
from tensorbus.ops.tensor.foreach import _foreach_max as _foreach_max
from tensorbus.ops.tensor.foreach import _foreach_maximum as _foreach_maximum
from tensorbus.ops.tensor.foreach import _foreach_maximum_ as _foreach_maximum_
from tensorbus.ops.tensor.foreach import _foreach_minimum as _foreach_minimum
from tensorbus.ops.tensor.foreach import _foreach_minimum_ as _foreach_minimum_
from tensorbus.ops.tensor.foreach import _foreach_mul as _foreach_mul
from tensorbus.ops.tensor.foreach import _foreach_mul_ as _foreach_mul_
from tensorbus.ops.tensor.foreach import _foreach_neg as _foreach_neg
from tensorbus.ops.tensor.foreach import _foreach_neg_ as _foreach_neg_
from tensorbus.ops.tensor.foreach import _foreach_norm as _foreach_norm
from tensorbus.ops.tensor.foreach import _foreach_pow as _foreach_pow
from tensorbus.ops.tensor.foreach import _foreach_pow_ as _foreach_pow_
from tensorbus.ops.tensor.foreach import _foreach_reciprocal as _foreach_reciprocal
from tensorbus.ops.tensor.foreach import _foreach_reciprocal_ as _foreach_reciprocal_
from tensorbus.ops.tensor.foreach import _foreach_round as _foreach_round
from tensorbus.ops.tensor.foreach import _foreach_round_ as _foreach_round_
from tensorbus.ops.tensor.foreach import _foreach_rsqrt as _foreach_rsqrt
from tensorbus.ops.tensor.foreach import _foreach_rsqrt_ as _foreach_rsqrt_
from tensorbus.ops.tensor.foreach import _foreach_sigmoid as _foreach_sigmoid
from tensorbus.ops.tensor.foreach import _foreach_sigmoid_ as _foreach_sigmoid_
from tensorbus.ops.tensor.foreach import _foreach_sign as _foreach_sign
from tensorbus.ops.tensor.foreach import _foreach_sign_ as _foreach_sign_
from tensorbus.ops.tensor.foreach import _foreach_sin as _foreach_sin
from tensorbus.ops.tensor.foreach import _foreach_sin_ as _foreach_sin_
from tensorbus.ops.tensor.foreach import _foreach_sinh as _foreach_sinh
from tensorbus.ops.tensor.foreach import _foreach_sinh_ as _foreach_sinh_
from tensorbus.ops.tensor.foreach import _foreach_sqrt as _foreach_sqrt
from tensorbus.ops.tensor.foreach import _foreach_sqrt_ as _foreach_sqrt_
from tensorbus.ops.tensor.foreach import _foreach_sub as _foreach_sub
from tensorbus.ops.tensor.foreach import _foreach_sub_ as _foreach_sub_
from tensorbus.ops.tensor.foreach import _foreach_tan as _foreach_tan
from tensorbus.ops.tensor.foreach import _foreach_tan_ as _foreach_tan_
from tensorbus.ops.tensor.foreach import _foreach_tanh as _foreach_tanh
from tensorbus.ops.tensor.foreach import _foreach_tanh_ as _foreach_tanh_
from tensorbus.ops.tensor.foreach import _foreach_trunc as _foreach_trunc
from tensorbus.ops.tensor.foreach import _foreach_trunc_ as _foreach_trunc_
from tensorbus.ops.tensor.foreach import _foreach_zero_ as _foreach_zero_
from tensorbus.ops.tensor.printing import get_printoptions as get_printoptions
from tensorbus.ops.tensor.printing import set_printoptions as set_printoptions
from tensorbus.random import Generator as Generator
from tensorbus.random import default_generator as default_generator
from tensorbus.random import get_rng_state as get_rng_state
from tensorbus.random import initial_seed as initial_seed
from tensorbus.random import manual_seed as manual_seed
from tensorbus.random import seed as seed
from tensorbus.random import set_rng_state as set_rng_state
from tensorbus.random import thread_safe_generator as thread_safe_generator
from tensorbus.serialization import load as load
from tensorbus.serialization import save as save
from tensorbus.sparse.construction import sparse_bsc_tensor as sparse_bsc_tensor
from tensorbus.sparse.construction import sparse_bsr_tensor as sparse_bsr_tensor
from tensorbus.sparse.construction import sparse_compressed_tensor as sparse_compressed_tensor
from tensorbus.sparse.construction import sparse_coo_tensor as sparse_coo_tensor
from tensorbus.sparse.construction import sparse_csc_tensor as sparse_csc_tensor
from tensorbus.sparse.construction import sparse_csr_tensor as sparse_csr_tensor
from tensorbus.sparse.products import dsmm as dsmm
from tensorbus.sparse.products import hsmm as hsmm
from tensorbus.sparse.products import hspmm as hspmm
from tensorbus.sparse.products import saddmm as saddmm
from tensorbus.sparse.products import smm as smm
from tensorbus.sparse.products import spmm as spmm
from tensorbus.sparse.products import sspaddmm as sspaddmm
from tensorbus.storage import BFloat16Storage as BFloat16Storage
from tensorbus.storage import BoolStorage as BoolStorage
from tensorbus.storage import ByteStorage as ByteStorage
from tensorbus.storage import CharStorage as CharStorage
from tensorbus.storage import ComplexDoubleStorage as ComplexDoubleStorage
from tensorbus.storage import ComplexFloatStorage as ComplexFloatStorage
from tensorbus.storage import DoubleStorage as DoubleStorage
from tensorbus.storage import FloatStorage as FloatStorage
from tensorbus.storage import HalfStorage as HalfStorage
from tensorbus.storage import IntStorage as IntStorage
from tensorbus.storage import LongStorage as LongStorage
from tensorbus.storage import ShortStorage as ShortStorage
from tensorbus.storage import Storage as Storage
from tensorbus.storage import TypedStorage as TypedStorage
from tensorbus.storage import UntypedStorage as UntypedStorage
from tensorbus.storage import is_storage as is_storage

__version__: str

_default: dtype
bfloat16: dtype
bool: dtype
cdouble: dtype
cfloat: dtype
chalf: dtype
complex128: dtype
complex32: dtype
complex64: dtype
double: dtype
float: dtype
float16: dtype
float32: dtype
float64: dtype
float8_e4m3fn: dtype
float8_e4m3fnuz: dtype
float8_e5m2: dtype
float8_e5m2fnuz: dtype
half: dtype
int: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
long: dtype
short: dtype
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
e: _float
inf: _float
nan: _float
pi: _float
newaxis: None
BFloat16Tensor: tensortype
BoolTensor: tensortype
ByteTensor: tensortype
CharTensor: tensortype
ComplexDoubleTensor: tensortype
ComplexFloatTensor: tensortype
DoubleTensor: tensortype
FloatTensor: tensortype
HalfTensor: tensortype
IntTensor: tensortype
LongTensor: tensortype
ShortTensor: tensortype
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value, element by element; *out* receives the result where given."""
def abs_(input: Tensor) -> Tensor:
    """In-place version of ``abs``: the method as a function."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value, element by element; *out* receives the result where given."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The arc cosine, element by element; *out* receives the result where given."""
def acos_(input: Tensor) -> Tensor:
    """In-place version of ``acos``: the method as a function."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine, element by element; *out* receives the result where given."""
def acosh_(input: Tensor) -> Tensor:
    """In-place version of ``acosh``: the method as a function."""
def add(input: _Operand, other: _Operand, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input + other``; the operands broadcast."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * sum over the batch of (batch1 @ batch2)``."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 / tensor2`` in the dtype of the result; the operands broadcast."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 * tensor2`` in the dtype of the result; the operands broadcast."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; *input* broadcasts."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``; *input* broadcasts."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _complex = 1, alpha: _complex = 1) -> Tensor:
    """In-place version of ``addmv``: the method as a function."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, complex numbers conjugated."""
def all(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements are true."""
def allclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether all elements are close: ``abs(input - other) <= atol + rtol * abs(other)``."""
def amax(input: Tensor, dim: _int | Sequence[_int] | None = (), keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value over some dimensions; the gradient is shared among equals."""
def amin(input: Tensor, dim: _int | Sequence[_int] | None = (), keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest value over some dimensions; the gradient is shared among equals."""
def aminmax(input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, out: Any = None) -> return_types.aminmax:
    """(min, max) of all elements or along a dimension."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of a complex number; of a real one pi where it is negative, else 0."""
def any(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether any element is true."""
def arange(start: Any = None, end: Any = None, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """``start``, ``start + step``... before ``end``; int64 where all three are integers."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The arc cosine, element by element; *out* receives the result where given."""
def arccos_(input: Tensor) -> Tensor:
    """In-place version of ``arccos``: the method as a function."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine, element by element; *out* receives the result where given."""
def arccosh_(input: Tensor) -> Tensor:
    """In-place version of ``arccosh``: the method as a function."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The arc sine, element by element; *out* receives the result where given."""
def arcsin_(input: Tensor) -> Tensor:
    """In-place version of ``arcsin``: the method as a function."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine, element by element; *out* receives the result where given."""
def arcsinh_(input: Tensor) -> Tensor:
    """In-place version of ``arcsinh``: the method as a function."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The arc tangent, element by element; *out* receives the result where given."""
def arctan2(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point ``(other, input)``; the operands broadcast."""
def arctan_(input: Tensor) -> Tensor:
    """In-place version of ``arctan``: the method as a function."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent, element by element; *out* receives the result where given."""
def arctanh_(input: Tensor) -> Tensor:
    """In-place version of ``arctanh``: the method as a function."""
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index of the largest value, int64; the first among equals."""
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index of the smallest value, int64; the first among equals."""
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, out: Tensor | None = None) -> Tensor:
    """The indices of the elements in order along a dimension; always stable."""
def argwhere(input: Tensor) -> Tensor:
    """The coordinates of what is not zero, a row for each."""
def as_strided(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """A view with any shape, strides and offset within the storage."""
def as_strided_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """In-place version of ``as_strided``: no element moves."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """A copy of *input* with *src* at the elements that size, strides and offset select."""
def as_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, sharing memory where nothing has to change."""
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: _bool | None = None, requires_grad: _bool | None = None) -> Tensor:
    """Anything that has numbers as a tensor, sharing memory where that is possible."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The arc sine, element by element; *out* receives the result where given."""
def asin_(input: Tensor) -> Tensor:
    """In-place version of ``asin``: the method as a function."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine, element by element; *out* receives the result where given."""
def asinh_(input: Tensor) -> Tensor:
    """In-place version of ``asinh``: the method as a function."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The arc tangent, element by element; *out* receives the result where given."""
def atan2(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point ``(other, input)``; the operands broadcast."""
def atan_(input: Tensor) -> Tensor:
    """In-place version of ``atan``: the method as a function."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent, element by element; *out* receives the result where given."""
def atanh_(input: Tensor) -> Tensor:
    """In-place version of ``atanh``: the method as a function."""
@overload
def atleast_1d(tensor: Tensor, /) -> Tensor:
    """The tensors, those of no dimension as vectors of one element."""
@overload
def atleast_1d(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, those of no dimension as vectors of one element."""
@overload
def atleast_2d(tensor: Tensor, /) -> Tensor:
    """The tensors, those of fewer than two dimensions as matrices of one row."""
@overload
def atleast_2d(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, those of fewer than two dimensions as matrices of one row."""
@overload
def atleast_3d(tensor: Tensor, /) -> Tensor:
    """The tensors, those of fewer than three dimensions with new ones of size 1."""
@overload
def atleast_3d(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, those of fewer than three dimensions with new ones of size 1."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Bartlett's window: a triangle that is 0 at the ends."""
def bernoulli(input: Tensor, p: _float = ..., *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability that *input* (or *p*) says, else 0."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of *count* trials succeed, each with probability *prob*: random counts."""
def bitwise_and(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input & other``; the operands broadcast."""
def bitwise_left_shift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input << other``; the operands broadcast."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``~input``, element by element; *out* receives the result where given."""
def bitwise_or(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input | other``; the operands broadcast."""
def bitwise_right_shift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input >> other``; the operands broadcast."""
def bitwise_xor(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input ^ other``; the operands broadcast."""
def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Blackman's window: a sum of two cosines."""
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two batches of matrices."""
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded, without a copy, to the shape that they broadcast to."""
def broadcast_to(input: Tensor, size: _int | Sequence[_int]) -> Tensor:
    """``expand`` as a function."""
def btrifact(input: Tensor, pivot: _bool = True) -> Any:
    """Deprecated: ``linalg.lu_factor`` of a batch of matrices, as a tuple."""
def btrifact_with_info(input: Tensor, pivot: _bool = True) -> Any:
    """Deprecated: ``linalg.lu_factor_ex`` of a batch of matrices, as a tuple."""
def btrisolve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Deprecated: ``linalg.lu_solve``; a vector for each matrix is solved for, too."""
def btriunpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True) -> Any:
    """Deprecated: ``lu_unpack`` under its older name."""
def bucketize(input: Tensor | _complex, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """The number of the bucket between boundaries that each value lies in."""
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element of each vector, as rows."""
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along a dimension; the other sizes must be equal."""
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The *p*-norm distances of all pairs of rows: (..., n, k) x (..., m, k) -> (..., n, m)."""
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer not below, element by element; *out* receives the result where given."""
def ceil_(input: Tensor) -> Tensor:
    """In-place version of ``ceil``: the method as a function."""
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices, in the order that costs least."""
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``linalg.cholesky`` under its older name."""
def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is *input*, lower or *upper*."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution of ``A @ X = input`` by A's Cholesky factor *input2*, lower or *upper*."""
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Views of at most *chunks* pieces of one size, the last smaller where it must be."""
def clamp(input: Tensor, min: Tensor | _complex | None = None, max: Tensor | _complex | None = None, *, out: Tensor | None = None) -> Tensor:
    """The values cut to [min, max]; either may be missing, a number or a tensor."""
def clamp_(input: Tensor, min: Tensor | _complex | None = None, max: Tensor | _complex | None = None) -> Tensor:
    """In-place version of ``clamp``: the method as a function."""
def clamp_max(input: Tensor, max: Tensor | _complex, *, out: Tensor | None = None) -> Tensor:
    """The values, and *max* where they are above; *max* is a number or a tensor."""
def clamp_max_(input: Tensor, max: Tensor | _complex) -> Tensor:
    """In-place version of ``clamp_max``: the method as a function."""
def clamp_min(input: Tensor, min: Tensor | _complex, *, out: Tensor | None = None) -> Tensor:
    """The values, and *min* where they are below; *min* is a number or a tensor."""
def clamp_min_(input: Tensor, min: Tensor | _complex) -> Tensor:
    """In-place version of ``clamp_min``: the method as a function."""
def clip(input: Tensor, min: Tensor | _complex | None = None, max: Tensor | _complex | None = None, *, out: Tensor | None = None) -> Tensor:
    """The values cut to [min, max]; either may be missing, a number or a tensor."""
def clip_(input: Tensor, min: Tensor | _complex | None = None, max: Tensor | _complex | None = None) -> Tensor:
    """In-place version of ``clip``: the method as a function."""
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy, which gradients flow through; dense tensors keep their order of dimensions."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the columns; vectors are columns."""
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All choices of *r* elements of a vector, as rows, in the vector's order."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers of the given real and imaginary parts, which broadcast."""
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along a dimension; the other sizes must be equal."""
def concatenate(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along a dimension; the other sizes must be equal."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor itself."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate; a real tensor itself."""
def conj_physical_(input: Tensor) -> Tensor:
    """In-place version of ``conj_physical``: the method as a function."""
def copysign(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The size of *input* with the sign of *other*; the operands broadcast."""
def corrcoef(input: Tensor) -> Tensor:
    """The matrix of correlation coefficients of variables in rows."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine, element by element; *out* receives the result where given."""
def cos_(input: Tensor) -> Tensor:
    """In-place version of ``cos``: the method as a function."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine, element by element; *out* receives the result where given."""
def cosh_(input: Tensor) -> Tensor:
    """In-place version of ``cosh``: the method as a function."""
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """How many elements are not zero, of all or along some dimensions."""
def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables in rows, observations in columns."""
def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The vector product along a dimension of size 3: the given one, or the first such."""
def cummax(input: Tensor, dim: _int, *, out: Any = None) -> return_types.cummax:
    """(values, indices) of the largest element so far; its last place among equals."""
def cummin(input: Tensor, dim: _int, *, out: Any = None) -> return_types.cummin:
    """(values, indices) of the smallest element so far; its last place among equals."""
def cumprod(input: Tensor, dim: _int, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running products along a dimension; integers give int64."""
def cumsum(input: Tensor, dim: _int, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running sums along a dimension; integers give int64."""
def cumulative_trapezoid(y: Tensor, x: Tensor = ..., *, dx: _complex = 1, dim: _int = -1) -> Tensor:
    """The running integrals along a dimension by the trapezoidal rule."""
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees in radians, element by element; *out* receives the result where given."""
def deg2rad_(input: Tensor) -> Tensor:
    """In-place version of ``deg2rad``: the method as a function."""
def dequantize(input: Tensor) -> Tensor:
    """The tensor as float32, which is all that is left to do where none is quantised."""
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices: (..., n, n) -> (...)."""
def detach(input: Tensor) -> Tensor:
    """The same storage and versions without the history."""
def detach_(input: Tensor) -> Tensor:
    """In-place version of ``detach``: the method as a function."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A vector as a matrix's diagonal, or a matrix's diagonal as a vector."""
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The last dimension on a diagonal of new matrices that are zero elsewhere."""
def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """All elements as the diagonal of a matrix."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The diagonal of two dimensions as a new last one, without a copy."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of *input* with *src* on a diagonal."""
def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Differences of neighbours along a dimension, taken *n* times."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of ``lgamma``, element by element; *out* receives the result where given."""
def dist(input: Tensor, other: Tensor, p: _complex = 2) -> Tensor:
    """The *p*-norm of ``input - other``; the operands broadcast."""
def div(input: _Operand, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """``input / other``; the operands broadcast."""
def divide(input: _Operand, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """``input / other``; the operands broadcast."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors."""
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Zero elements with probability *p* and scale the others by ``1 / (1 - p)``."""
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Views of that many equal pieces, or of the pieces between the indices listed, along the dimension that the stack of that name joins."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along dimension 2."""
def eig(input: Tensor, eigenvectors: _bool = False) -> Any:
    """Deprecated: ``linalg.eig`` of one matrix; of real numbers, with real numbers."""
def einsum(*args: Any) -> Tensor:
    """Products of tensors summed over the letters that the result does not name."""
def empty(*size: Any, out: Tensor | None = None, memory_format: memory_format | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of any values: ``empty(2, 3)``, ``empty((2, 3))`` or ``empty(size=(2, 3))``."""
def empty_like(input: Tensor, *, memory_format: memory_format | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of any values in the shape of another tensor, with its dtype and device if not given."""
def empty_permuted(size: Any, physical_layout: Any, *, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A dense tensor of any values whose dimensions lie in the given order, outermost first."""
def empty_strided(size: Any, stride: Any, *, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of any values with the given strides, in elements."""
def eq(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input == other``; the operands broadcast."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether both have the same shape and the same values."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function, element by element; *out* receives the result where given."""
def erf_(input: Tensor) -> Tensor:
    """In-place version of ``erf``: the method as a function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(input)``, exact where erf is near 1, element by element; *out* receives the result where given."""
def erfc_(input: Tensor) -> Tensor:
    """In-place version of ``erfc``: the method as a function."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the error function, element by element; *out* receives the result where given."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential, element by element; *out* receives the result where given."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Two to the power, element by element; *out* receives the result where given."""
def exp2_(input: Tensor) -> Tensor:
    """In-place version of ``exp2``: the method as a function."""
def exp_(input: Tensor) -> Tensor:
    """In-place version of ``exp``: the method as a function."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input) - 1``, exact near 0, element by element; *out* receives the result where given."""
def expm1_(input: Tensor) -> Tensor:
    """In-place version of ``expm1``: the method as a function."""
def eye(n: _int, m: _int | None = None, *, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The matrix (n, m or n) with ones on its diagonal and zeros elsewhere."""
def fill(input: Tensor, value: Any) -> Tensor:
    """One value everywhere, in a copy: a number, or a 0-dim tensor."""
def fill_(input: Tensor, value: Any) -> Tensor:
    """In-place version of ``fill``: the method as a function."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integer part, element by element; *out* receives the result where given."""
def fix_(input: Tensor) -> Tensor:
    """In-place version of ``fix``: the method as a function."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """The dimensions from *start_dim* to *end_dim* joined into one."""
def flip(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """The order of some dimensions reversed, in a copy."""
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order."""
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order."""
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent`` computed in float64, or complex128."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer not above, element by element; *out* receives the result where given."""
def floor_(input: Tensor) -> Tensor:
    """In-place version of ``floor``: the method as a function."""
def floor_divide(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input // other``, rounded towards minus infinity; the operands broadcast."""
def fmax(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger of both, the other one where either is NaN; the operands broadcast."""
def fmin(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller of both, the other one where either is NaN; the operands broadcast."""
def fmod(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The remainder of division with the sign of *input*; the operands broadcast."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The part behind the point, element by element; *out* receives the result where given."""
def frac_(input: Tensor) -> Tensor:
    """In-place version of ``frac``: the method as a function."""
def frexp(input: Tensor, *, out: Any = None) -> return_types.frexp:
    """(mantissa, exponent) with ``input = mantissa * 2**exponent``; exponents are int32."""
def frobenius_norm(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``linalg.vector_norm`` along at most two dimensions."""
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: _bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, or of a DLPack capsule."""
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A CPU tensor over a NumPy array's own memory: changes to one show in the other."""
def frombuffer(buffer: Any, *, dtype: Any, count: _int = -1, offset: _int = 0, requires_grad: _bool = False) -> Tensor:
    """A 1-dim tensor over the memory of an object with Python's buffer protocol."""
def full(size: Any, fill_value: Any, *, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor with one value everywhere, whose dtype the value decides."""
def full_like(input: Tensor, fill_value: Any, *, memory_format: memory_format | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """One value in the shape of another tensor, with its dtype and device if not given."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``: one element for each index."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisors of integers, by Euclid's algorithm; the operands broadcast."""
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of ``gcd``: the method as a function."""
def ge(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input >= other``; the operands broadcast."""
def geqrf(input: Tensor, *, out: Any = None) -> return_types.geqrf:
    """(a, tau): the QR factorization with Q as a product of reflections."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``outer`` under its older name."""
def gesv(input: Tensor, A: Tensor) -> Any:
    """Deprecated: ``linalg.solve`` with its arguments the other way round, and the LU factors."""
def gradient(input: Tensor, *, spacing: Any = None, dim: _int | Sequence[_int] | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]:
    """The slopes of sampled values along each dimension, or along those of *dim*."""
def greater(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input > other``; the operands broadcast."""
def greater_equal(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input >= other``; the operands broadcast."""
def gt(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input > other``; the operands broadcast."""
def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Hamming's window: ``alpha - beta * cos(2 * pi * n / N)``."""
def hann_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Hann's window: a raised cosine that is 0 at the ends."""
def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: _bool = False, mode: _int = 0, out: Tensor | None = None) -> Tensor:
    """The exclusive or of the elements' bits along some dimensions, all by default, as uint64."""
def heaviside(input: Tensor, values: Tensor, **keywords: Any) -> Tensor:
    """0 below 0, 1 above, *values* at 0; both of one dtype."""
def histc(input: Tensor, bins: _int = 100, min: _complex = 0, max: _complex = 0, *, out: Tensor | None = None) -> Tensor:
    """How many values lie in each of equal bins from *min* to *max*, or from least to greatest."""
def histogram(input: Tensor, bins: _int | Tensor = 100, *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False, out: Any = None) -> return_types.histogram:
    """(hist, bin_edges): how many values lie in each bin, or the sum of their weights."""
def histogramdd(input: Tensor, bins: Any, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> return_types.histogramdd:
    """(hist, bin_edges) of points, which are the rows along the last dimension."""
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Views of that many equal pieces, or of the pieces between the indices listed, along the dimension that the stack of that name joins."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the columns: dimension 1, or 0 for vectors."""
def hypot(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``sqrt(input**2 + other**2)`` without overflow; the operands broadcast."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0, element by element; *out* receives the result where given."""
def i0_(input: Tensor) -> Tensor:
    """In-place version of ``i0``: the method as a function."""
def igamma(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function; the operands broadcast."""
def igammac(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function; the operands broadcast."""
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, sharing memory; RuntimeError for a real dtype."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``index_add_`` on a copy."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``index_copy_`` on a copy."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Any) -> Tensor:
    """``index_fill_`` on a copy."""
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
    """``index_put_`` on a copy."""
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
    """In-place version of ``index_put``: the method as a function."""
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """A copy with the slices of *source* reduced at their indices along a dimension."""
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whole slices at the indices of a vector; negative ones are out of range."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner products along the last dimensions: (..., k) x (---, k) -> (..., ---)."""
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``linalg.inv`` under its older name."""
def is_complex(input: Tensor) -> _bool:
    """Whether its dtype is complex."""
def is_conj(input: Tensor) -> _bool:
    """False: conjugates are always computed at once here."""
def is_distributed(input: Tensor) -> _bool:
    """False: no tensor is spread over several machines."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether its dtype is float16, bfloat16, float32 or float64."""
def is_inference(input: Tensor) -> _bool:
    """Whether the tensor was made in inference mode: it never enters a graph."""
def is_neg(input: Tensor) -> _bool:
    """False: negations are always computed at once here."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not zero; RuntimeError for any other number of elements."""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether both have the same shape."""
def is_signed(input: Tensor) -> _bool:
    """Whether its dtype has negative values."""
def is_tensor(obj: Any) -> _bool:
    """Whether it is a Tensor."""
def isclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
    """Where ``abs(input - other) <= atol + rtol * abs(other)``; the operands broadcast."""
def isfinite(input: Tensor) -> Tensor:
    """Whether it is neither NaN nor infinite, element by element."""
def isin(elements: Tensor | _complex, test_elements: Tensor | _complex, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None) -> Tensor:
    """Whether each element is among the test elements."""
def isinf(input: Tensor) -> Tensor:
    """Whether it is infinite, element by element."""
def isnan(input: Tensor) -> Tensor:
    """Whether it is NaN, element by element."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where a value is negative infinity."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where a value is positive infinity."""
def isreal(input: Tensor) -> Tensor:
    """Where a value has no imaginary part: everywhere, unless the dtype is complex."""
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
    """The signal whose windows have these Fourier transforms: the inverse of ``stft``."""
def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Kaiser's window of the shape *beta*: the larger, the narrower."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: every element of *input* times all of *other*."""
def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> return_types.kthvalue:
    """(values, indices) of the *k*-th smallest along a dimension; *k* counts from 1."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiples of integers; the operands broadcast."""
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of ``lcm``: the method as a function."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * 2**other``."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of ``ldexp``: the method as a function."""
def le(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input <= other``; the operands broadcast."""
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """``input + weight * (end - input)``, exact at both ends; the operands broadcast."""
def less(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input < other``; the operands broadcast."""
def less_equal(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input <= other``; the operands broadcast."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function, element by element; *out* receives the result where given."""
def linspace(start: Any, end: Any, steps: _int, *, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """*steps* numbers from *start* to *end*, both included, in equal distances."""
def lobpcg(A: Tensor, k: _int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: _int | None = None, iK: Tensor | None = None, niter: _int | None = None, tol: _float | None = None, largest: _bool | None = None, method: str | None = None, tracker: Callable[[Any], Any] | None = None, ortho_iparams: Mapping[str, _int] | None = None, ortho_fparams: Mapping[str, _float] | None = None, ortho_bparams: Mapping[str, _bool] | None = None) -> tuple[Tensor, Tensor]:
    """The *k* largest eigenvalues of Hermitian matrices, and their vectors: ``A @ x = E * x``."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm, element by element; *out* receives the result where given."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10, element by element; *out* receives the result where given."""
def log10_(input: Tensor) -> Tensor:
    """In-place version of ``log10``: the method as a function."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + input)``, exact near 0, element by element; *out* receives the result where given."""
def log1p_(input: Tensor) -> Tensor:
    """In-place version of ``log1p``: the method as a function."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2, element by element; *out* receives the result where given."""
def log2_(input: Tensor) -> Tensor:
    """In-place version of ``log2``: the method as a function."""
def log_(input: Tensor) -> Tensor:
    """In-place version of ``log``: the method as a function."""
def log_softmax(input: Tensor, dim: _int, dtype: dtypes.dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(softmax(input))`` along a dimension, without overflow."""
def logaddexp(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``log(exp(input) + exp(other))`` without overflow; the operands broadcast."""
def logaddexp2(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``log2(2**input + 2**other)`` without overflow; the operands broadcast."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the running sums of exponentials along a dimension, without overflow."""
def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants: NaN for a negative one, -inf for 0."""
def logical_and(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether both are true; the operands broadcast."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether it is zero, element by element; *out* receives the result where given."""
def logical_or(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether either is true; the operands broadcast."""
def logical_xor(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one is true; the operands broadcast."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(input / (1 - input))``; *input* is cut to [eps, 1 - eps] where *eps* is given."""
def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """In-place version of ``logit``: the method as a function."""
def logspace(start: Any, end: Any, steps: _int, base: _float = 10.0, *, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """*base* to the power of *steps* exponents from *start* to *end*, both included."""
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``log(sum(exp(input)))`` over some dimensions, without overflow."""
def lshift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input << other``; the operands broadcast."""
def lstsq(input: Tensor, A: Tensor) -> Any:
    """Deprecated: ``linalg.lstsq`` with its arguments the other way round, of one matrix."""
def lt(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input < other``; the operands broadcast."""
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False) -> Any:
    """``linalg.lu_factor_ex`` under its older name; without *get_infos* no info is returned."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``linalg.lu_solve(LU_data, LU_pivots, input)`` under its older name."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: Any = None) -> Any:
    """P, L and U from what ``linalg.lu_factor`` gives; what is not wanted is an empty tensor."""
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """*value*, a number or a 0-dim tensor, where the mask is true; the mask broadcasts."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements of *source*, in order, where the mask is true."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the mask is true, in one dimension; both broadcast."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; vectors count as rows or columns, leading dimensions broadcast."""
def matrix_exp(input: Tensor) -> Tensor:
    """``linalg.matrix_exp``."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied with itself *n* times; its inverse *-n* times where n < 0."""
def matrix_rank(input: Tensor, tol: _float | None = None, symmetric: _bool = False) -> Tensor:
    """Deprecated: ``linalg.matrix_rank`` of one matrix; *symmetric* is *hermitian* there."""
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest element; with *dim* (values, indices), the first among equals."""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest element; with *dim* (values, indices), the first among equals."""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Any = None) -> return_types.max:
    """The largest element; with *dim* (values, indices), the first among equals."""
def maximum(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger of both, NaN where either is; the operands broadcast."""
def mean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of all elements, or over some dimensions; floating point or complex only."""
@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower median, NaN if any element is; with *dim* (values, indices)."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Any = None) -> return_types.median:
    """The lower median, NaN if any element is; with *dim* (values, indices)."""
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of all points of a grid, one tensor for each of the given vectors."""
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest element; with *dim* (values, indices), the first among equals."""
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest element; with *dim* (values, indices), the first among equals."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Any = None) -> return_types.min:
    """The smallest element; with *dim* (values, indices), the first among equals."""
def minimum(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller of both, NaN where either is; the operands broadcast."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> return_types.mode:
    """(values, indices) of the most frequent value, the smallest of several; its last place."""
def moveaxis(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Dimensions moved to other positions, the rest in their order."""
def movedim(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Dimensions moved to other positions, the rest in their order."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sorted along the first dimension."""
def mul(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input * other``; the operands broadcast."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Indices drawn by rows of weights, int64."""
def multiply(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input * other``; the operands broadcast."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of *p* dimensions."""
def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """NaN and the infinities replaced: by 0, and by the dtype's largest and smallest numbers."""
def nan_to_num_(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
    """In-place version of ``nan_to_num``: the method as a function."""
def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of the values that are not NaN."""
@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower median of what is not NaN; with *dim* (values, indices)."""
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Any = None) -> return_types.nanmedian:
    """The lower median of what is not NaN; with *dim* (values, indices)."""
def nanquantile(input: Tensor, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """``quantile`` of the values that are not NaN; NaN where all are."""
def nansum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The sum with NaN counted as 0."""
def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
    """*length* indices of one dimension from *start* on, without a copy."""
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
    """``narrow``, with a memory of its own."""
def ne(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input != other``; the operands broadcast."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``, element by element; *out* receives the result where given."""
def neg_(input: Tensor) -> Tensor:
    """In-place version of ``neg``: the method as a function."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``, element by element; *out* receives the result where given."""
def negative_(input: Tensor) -> Tensor:
    """In-place version of ``negative``: the method as a function."""
def nelement(input: Tensor) -> _int:
    """The number of elements."""
def nextafter(input: Tensor, other: Tensor, **keywords: Any) -> Tensor:
    """The next floating point number after *input* towards *other*."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor:
    """The coordinates of what is not zero: a matrix, or one vector for each dimension."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True], out: Any = None) -> tuple[Tensor, ...]:
    """The coordinates of what is not zero: a matrix, or one vector for each dimension."""
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
    """The indices of the first *size* elements other than 0; *fill_value* where there are fewer."""
def norm(input: Any, p: Any = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, out: Tensor | None = None, dtype: dtypes.dtype | None = None) -> Tensor:
    """The *p*-norm of all elements, or along some dimensions."""
def normal(mean: Any = None, std: Any = None, size: Any = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Normal random numbers with means and standard deviations given as tensors or numbers."""
def not_equal(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input != other``; the operands broadcast."""
def nuclear_norm(input: Tensor, dim: _int | Sequence[_int] | _bool = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``linalg.matrix_norm`` with the order ``'nuc'``; a bool *dim* is *keepdim*."""
def numel(input: Tensor) -> _int:
    """The number of elements."""
def ones(*size: Any, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of ones, in the shape given as numbers, a tuple, or ``size=``."""
def ones_like(input: Tensor, *, memory_format: memory_format | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of ones in the shape of another tensor, with its dtype and device if not given."""
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``linalg.householder_product`` under its older name."""
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``Q @ input3``, Q being the square product of the reflections of *input* and tau, *input2*."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All products of the elements of two vectors."""
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of the rows of *A*: ``svd_lowrank`` of *A* less their mean."""
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """The dimensions in another order, without a copy."""
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """``linalg.pinv`` under its older name: *rcond* is relative to the largest singular value."""
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Random counts of events, each of Poisson's distribution with the rate that *input* says."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers of the given absolute values and angles, which broadcast."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The *n*-th derivative of ``digamma``."""
def positive(input: Tensor) -> Tensor:
    """The tensor itself; RuntimeError for truth values."""
def potrf(input: Tensor, upper: _bool = True) -> Tensor:
    """Deprecated: ``linalg.cholesky``, the upper factor unless told otherwise."""
def potri(input: Tensor, upper: _bool = True) -> Tensor:
    """Deprecated: ``cholesky_inverse``, of an upper factor unless told otherwise."""
def potrs(input: Tensor, input2: Tensor, upper: _bool = True) -> Tensor:
    """Deprecated: ``cholesky_solve``, of an upper factor unless told otherwise."""
def pow(input: _Operand, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``; the operands broadcast, and one of them may be a number."""
def prod(input: Tensor, dim: _int = ..., keepdim: _bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The product of all elements, or over one dimension; integers give int64."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """``put_`` on a copy."""
def qr(input: Tensor, some: _bool = True, *, out: Any = None) -> return_types.qr:
    """``linalg.qr`` under its older name: reduced where *some*, else complete."""
def quantile(input: Tensor, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """The values below which the parts *q* lie, of all elements or along a dimension."""
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians in degrees, element by element; *out* receives the result where given."""
def rad2deg_(input: Tensor) -> Tensor:
    """In-place version of ``rad2deg``: the method as a function."""
def rand(*size: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Uniform random numbers in [0, 1); equal seeds give equal bits on every device."""
def rand_like(input: Tensor, *, generator: Generator | None = None, memory_format: memory_format | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """``rand`` in the shape of another tensor."""
def randint(low: Any = None, high: Any = None, size: Any = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Random integers in [low, high): ``randint(high, size)`` or ``randint(low, high, size)``."""
def randint_like(input: Tensor, low: _int | Tensor = ..., high: _int | Tensor = ..., *, generator: Generator | None = None, memory_format: memory_format | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """``randint`` in the shape of another tensor."""
def randn(*size: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Random numbers of the standard normal distribution."""
def randn_like(input: Tensor, *, generator: Generator | None = None, memory_format: memory_format | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """``randn`` in the shape of another tensor."""
def randperm(n: _int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A random order of 0..n-1: the order of *n* random words."""
def range(start: Any, end: Any, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False) -> Tensor:
    """Deprecated: ``start``, ``start + step``... up to and including ``end``; use ``arange``."""
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, row-major."""
def real(input: Tensor) -> Tensor:
    """The real parts, sharing memory; a real tensor itself."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / input``, element by element; *out* receives the result where given."""
def reciprocal_(input: Tensor) -> Tensor:
    """In-place version of ``reciprocal``: the method as a function."""
def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``, NaN kept, element by element."""
def relu_(input: Tensor) -> Tensor:
    """In-place version of ``relu``: the method as a function."""
def remainder(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The remainder of division with the sign of *other*; the operands broadcast."""
def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = None) -> Tensor:
    """The slices along a dimension scaled down to a norm of *maxnorm* where theirs is larger."""
def repeat_interleave(input: Tensor, repeats: _int | Tensor = ..., dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
    """Each slice several times: a count for all, or one for each; flat without *dim*."""
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor:
    """The same elements in another shape: a view where the layout allows it, else a copy."""
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor another's shape, in place; memory is kept as ``resize_`` does it."""
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are always computed at once here."""
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negations are always computed at once here."""
def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ()) -> Tensor:
    """Elements shifted along some dimensions, those at the end going to the front; or flat."""
def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
    """A quarter turn in the plane of two dimensions, *k* times, from the first to the second."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest integer, or the nearest number of so many decimals; halves to even."""
def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """In-place version of ``round``: the method as a function."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the rows; vectors are rows."""
def rshift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input >> other``; the operands broadcast."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / sqrt(input)``, element by element; *out* receives the result where given."""
def rsqrt_(input: Tensor) -> Tensor:
    """In-place version of ``rsqrt``: the method as a function."""
def rsub(input: Tensor, other: Any, *, alpha: _complex = 1) -> Tensor:
    """``other - alpha * input``."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Tensor | None = None) -> Tensor:
    """A copy with ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``; *src* may be a number."""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy with every element of *src* added at its index; each duplicate counts."""
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """A copy with the elements of *src* reduced at their indices."""
def searchsorted(sorted_sequence: Tensor, input: Tensor | _complex | None = None, *, out_int32: _bool = False, right: _bool = False, side: str | None = None, sorter: Tensor | None = None, values: Tensor | _complex | None = None, out: Tensor | None = None) -> Tensor:
    """Where each value would be put in a sorted sequence, before equal ones or, *right*, behind."""
def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _int = 0, unsafe: _bool = False, initial: Any = None) -> Tensor:
    """``sum``, ``mean``, ``max``, ``min`` or ``prod`` of segments of *data* along *axis*."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """One index of a dimension, which disappears; without a copy."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of *input* with *src* at an index of a dimension."""
def set_default_tensor_type(t: Any) -> None:
    """Set dtype and device of new tensors by a typed constructor or its name; deprecated."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input / abs(input)``, 0 where it is 0: for real numbers the sign."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / (1 + exp(-input))``, element by element; *out* receives the result where given."""
def sigmoid_(input: Tensor) -> Tensor:
    """In-place version of ``sigmoid``: the method as a function."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1, element by element; *out* receives the result where given."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign is set: of -0.0 and of a negative NaN too, element by element; *out* receives the result where given."""
def silu(input: Tensor) -> Tensor:
    """``input * sigmoid(input)``, element by element."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine, element by element; *out* receives the result where given."""
def sin_(input: Tensor) -> Tensor:
    """In-place version of ``sin``: the method as a function."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi * input) / (pi * input)``, 1 at 0, element by element; *out* receives the result where given."""
def sinc_(input: Tensor) -> Tensor:
    """In-place version of ``sinc``: the method as a function."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine, element by element; *out* receives the result where given."""
def sinh_(input: Tensor) -> Tensor:
    """In-place version of ``sinh``: the method as a function."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of *input* with *src* at the indices from *start* to *end* of a dimension."""
def slogdet(input: Tensor, *, out: Any = None) -> tuple[Tensor, Tensor]:
    """``linalg.slogdet``."""
def softmax(input: Tensor, dim: _int, dtype: dtypes.dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension."""
def solve(input: Tensor, A: Tensor) -> Any:
    """Deprecated: ``linalg.solve`` with its arguments the other way round, and the LU factors."""
def sort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, out: Any = None) -> return_types.sort:
    """(values, indices) in order along a dimension; NaN counts as largest."""
def split(tensor: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of one size (the last may be smaller), or of the sizes listed."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of the sizes listed, which must add up to that of the dimension."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root, element by element; *out* receives the result where given."""
def sqrt_(input: Tensor) -> Tensor:
    """In-place version of ``sqrt``: the method as a function."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * input``, element by element; *out* receives the result where given."""
def square_(input: Tensor) -> Tensor:
    """In-place version of ``square``: the method as a function."""
def squeeze(input: Tensor, dim: _int | Sequence[_int] = ...) -> Tensor:
    """Without the dimensions of size 1, or without those named where their size is 1."""
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape along a new dimension."""
def std(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool = ..., keepdim: _bool = False, *, correction: _complex | None = None, out: Tensor | None = None) -> Tensor:
    """The standard deviation, with Bessel's correction unless ``correction=0``."""
def std_mean(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool = ..., keepdim: _bool = False, *, correction: _complex | None = None) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean, of all elements or over some dimensions."""
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
    """The Fourier transforms of windows of *n_fft* samples, *hop_length* apart."""
def sub(input: _Operand, other: _Operand, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input - other``; the operands broadcast."""
def subtract(input: Any, other: Any, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """``sub`` under its longer name."""
def sum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtypes.dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of all elements, or over some dimensions; integers give int64."""
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> return_types.svd:
    """(U, S, V) with ``input = U @ diag(S) @ V.mH``: ``linalg.svd`` under its older name."""
def svd_lowrank(A: Tensor, q: _int | None = 6, niter: _int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with about ``A = U @ diag(S) @ V.mH``: the *q* greatest singular values."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """``transpose`` under NumPy's name."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions exchanged, without a copy."""
def symeig(input: Tensor, eigenvectors: _bool = False, upper: _bool = True) -> Any:
    """Deprecated: ``linalg.eigh``, of the upper triangle unless told otherwise."""
def t(input: Tensor) -> Tensor:
    """A matrix transposed; tensors of fewer dimensions as they are."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at indices of the flattened tensor; negative ones count from the end."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """``gather`` whose operands broadcast in the other dimensions; flat without *dim*."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent, element by element; *out* receives the result where given."""
def tan_(input: Tensor) -> Tensor:
    """In-place version of ``tan``: the method as a function."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent, element by element; *out* receives the result where given."""
def tanh_(input: Tensor) -> Tensor:
    """In-place version of ``tanh``: the method as a function."""
def tensor(data: Any, *, dtype: dtype | type | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor with a copy of the data: numbers, nested sequences, arrays."""
def tensor_split(input: Tensor, indices_or_sections: Any, dim: _int = 0) -> tuple[Tensor, ...]:
    """Views of that many nearly equal pieces, or of the pieces between the indices listed."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """Products summed over pairs of dimensions: the last *dims* of *a* with the first of *b*."""
def tile(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """``repeat`` where missing counts are 1."""
def to_dlpack(tensor: Tensor) -> Any:
    """An unversioned DLPack capsule over a tensor's memory, to be consumed once."""
def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Any = None) -> return_types.topk:
    """(values, indices) of the *k* largest, or smallest, along a dimension, in order."""
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's main diagonal."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions exchanged, without a copy."""
def trapezoid(y: Tensor, x: Tensor = ..., *, dx: _complex = 1, dim: _int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule."""
def trapz(y: Tensor, x: Tensor = ..., *, dx: _complex = 1, dim: _int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: Any = None) -> Any:
    """The solution of ``A @ x = input`` for triangular *A*, and a copy of *A*."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrices (..., n, m) with zeros above a diagonal, counted to the right from the main."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The indices (2, n) on and below a diagonal of a matrix, row by row."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrices (..., n, m) with zeros below a diagonal, counted to the right from the main."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The indices (2, n) on and above a diagonal of a matrix, row by row."""
def trtrs(input: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> Any:
    """Deprecated: ``triangular_solve`` under its older name."""
def true_divide(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """``input / other``; integers give floats."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integer part, element by element; *out* receives the result where given."""
def trunc_(input: Tensor) -> Tensor:
    """In-place version of ``trunc``: the method as a function."""
def typename(obj: Any, /) -> str:
    """The full name of an object's type: ``torch.FloatTensor`` for such a tensor."""
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """Views of all slices of a dimension, which disappears."""
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """One dimension split into several; one of the sizes may be -1."""
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
    """The different elements in order, or slices of a dimension; with inverse and counts."""
@overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
    """The different elements in order, or slices of a dimension; with inverse and counts."""
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
    """The first element of each run of equal ones; with inverse and counts."""
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
    """The first element of each run of equal ones; with inverse and counts."""
def unravel_index(indices: Tensor, shape: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """The coordinates, one tensor for each dimension, of flat indices into a shape."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """``chunk`` whose pieces may be written to in place, although they share memory."""
def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """``split`` whose pieces may be written to in place, although they share memory."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """``split_with_sizes`` whose pieces may be written to in place, although they share memory."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """A new dimension of size 1."""
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """Powers of a vector's elements as columns, the highest first unless *increasing*."""
def var(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool = ..., keepdim: _bool = False, *, correction: _complex | None = None, out: Tensor | None = None) -> Tensor:
    """The variance, with Bessel's correction unless ``correction=0``."""
def var_mean(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool = ..., keepdim: _bool = False, *, correction: _complex | None = None) -> tuple[Tensor, Tensor]:
    """The variance and the mean, of all elements or over some dimensions."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors, the first one conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs in the last dimension as complex numbers, sharing memory."""
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor's real and imaginary parts, in a new last dimension of 2."""
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Views of that many equal pieces, or of the pieces between the indices listed, along the dimension that the stack of that name joins."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the rows; vectors are rows."""
@overload
def where(condition: Tensor, *, out: Any = None) -> tuple[Tensor, ...]:
    """*input* where the condition holds, else *other*; the three broadcast."""
@overload
def where(condition: Tensor, input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None) -> Tensor:
    """*input* where the condition holds, else *other*; the three broadcast."""
def xlogy(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, 0 where *input* is 0; the operands broadcast."""
def xlogy_(input: Tensor, other: _Operand) -> Tensor:
    """In-place version of ``xlogy``: the method as a function."""
def zero_(input: Tensor) -> Tensor:
    """In-place version of ``zero``: the method as a function."""
def zeros(*size: Any, out: Tensor | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of zeros, in the shape given as numbers, a tuple, or ``size=``."""
def zeros_like(input: Tensor, *, memory_format: memory_format | None = None, dtype: dtype | type | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of zeros in the shape of another tensor, with its dtype and device if not given."""

__all__ = ['AcceleratorError', 'OutOfMemoryError', 'Size', 'Tensor', '__version__', 'broadcast_shapes', 'can_cast', 'device', 'dtype', 'enable_grad', 'fallback_counts', 'finfo', 'get_default_device', 'get_default_dtype', 'get_fallback', 'get_fusion', 'iinfo', 'inference_mode', 'is_grad_enabled', 'is_inference_mode_enabled', 'no_grad', 'promote_types', 'result_type', 'set_default_device', 'set_default_dtype', 'set_fallback', 'set_fusion', 'set_grad_enabled']
