"""tensorbus: a PyTorch-style tensor library whose hardware and communication plug in.

>>> import tensorbus as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

import math as _math
import sys as _sys
from typing import Any as _Any

from tensorbus import _C as _C
from tensorbus._base import dtypes as _dtypes
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import listing as _listing
from tensorbus._base.dtypes import (
    can_cast,
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
    set_default_dtype,
)
from tensorbus._base.errors import AcceleratorError, OutOfMemoryError
from tensorbus._base.module_paths import install as _install_paths
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._base.public_place import show_in as _show_in
from tensorbus._base.refused_names import refused as _refused
from tensorbus._base.size import Size
from tensorbus._device.defaults import (
    get_default_device,
    set_default_device,
)
from tensorbus._device.device import device
from tensorbus._dispatch.fallback import fallback_counts, get_fallback, set_fallback
from tensorbus._dispatch.fusion import get_fusion, set_fusion
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tensorbus.op_engine import public as _public
from tensorbus.op_engine.promotion import result_type
from tensorbus.ops import families as _families
from tensorbus.ops.creation.typed_constructors import device_namespace as _device_namespace
from tensorbus.ops.joining.grids import broadcast_shapes
from tensorbus.ops.tensor.foreach import NAMES as _FOREACH
from tensorbus.version import __version__

_install_paths()
_families.load()
_CLASSES = (Tensor, Size, dtype, device, finfo, iinfo, AcceleratorError, OutOfMemoryError)
_show_in("tensorbus", [(c.__name__, c) for c in _CLASSES])
_public.refuse_absent(Tensor)
globals().update({d.name: d for d in (*_dtypes.ALL, *_dtypes.STORED)})
globals().update(
    {
        name: getattr(_dtypes, name)
        for name in "half float double chalf cfloat cdouble short int long bool".split()
    }
)

e, pi, inf, nan = _math.e, _math.pi, _math.inf, _math.nan
newaxis = None

# What programs ask before they call functions that PyTorch may be built without: linear algebra and
# transforms work on every device; the libraries are not used here, though a backend may use them.
has_lapack, has_spectral, has_mkl, has_openmp = True, True, False, False

# What a program never touches is never imported: submodules are found by __getattr__ too.
_LATER = {
    "Tag": "library",
    "save": "serialization",
    "load": "serialization",
    "Generator": "random",
    "manual_seed": "random",
    "seed": "random",
    "initial_seed": "random",
    "get_rng_state": "random",
    "set_rng_state": "random",
    "default_generator": "random",
    "set_printoptions": "ops.tensor.printing",
    "get_printoptions": "ops.tensor.printing",
    "set_num_threads": "_device.threads",
    "get_num_threads": "_device.threads",
    "init_num_threads": "_device.threads",
    **dict.fromkeys(
        "SymBool SymFloat SymInt sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt "
        "sym_sum".split(),
        "_base.symbolic",
    ),
    **dict.fromkeys("cond while_loop".split(), "func.control_flow"),
    "compile": "compiler",
    "Stream": "_dispatch.streams",
    "Event": "_dispatch.streams",
    "get_device_module": "_device.device_module",
    "autocast": "amp.autocast_mode",
    "GradScaler": "amp.grad_scaler",
    "is_warn_always_enabled": "_base.warning",
    "set_warn_always": "_base.warning",
    "set_flush_denormal": "_base.denormals",
    "thread_safe_generator": "random",
    **dict.fromkeys(
        "autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache "
        "get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype "
        "is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
        "set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled "
        "set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype".split(),
        "amp.switches",
    ),
    **dict.fromkeys(_FOREACH, "ops.tensor.foreach"),
    "Future": "futures",
    "vmap": "func",
    **dict.fromkeys("ScriptFunction fork wait".split(), "jit"),
    **dict.fromkeys("AVG AggregationType DispatchKey SUM compiled_with_cxx11_abi".split(), "_C"),
    "parse_schema": "library.schema",
    **dict.fromkeys(
        "_assert _check _check_index _check_type _check_value".split(), "_base.asserting"
    ),
    "set_num_interop_threads": "_device.threads",
    "get_num_interop_threads": "_device.threads",
    "set_float32_matmul_precision": "_base.matmul_precision",
    "get_float32_matmul_precision": "_base.matmul_precision",
    **dict.fromkeys(
        "adaptive_avg_pool1d avg_pool1d bilinear celu celu_ channel_shuffle conv1d conv2d conv3d "
        "conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink "
        "pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu rrelu rrelu_ selu selu_ "
        "threshold threshold_".split(),
        "nn.functional",
    ),
    **dict.fromkeys(
        "adaptive_max_pool1d alpha_dropout alpha_dropout_ batch_norm "
        "binary_cross_entropy_with_logits constant_pad_nd cosine_embedding_loss ctc_loss dropout_ "
        "embedding embedding_renorm_ feature_alpha_dropout feature_alpha_dropout_ "
        "grid_sampler grid_sampler_2d grid_sampler_3d group_norm hinge_embedding_loss "
        "instance_norm kl_div layer_norm margin_ranking_loss max_pool1d max_pool1d_with_indices "
        "max_pool2d max_pool3d norm_except_dim poisson_nll_loss scalar_tensor "
        "triplet_margin_loss".split(),
        "nn.torch_functions",
    ),
    "affine_grid_generator": "nn.functional.grid_sampling",
    "rms_norm": "nn.functional",
    **dict.fromkeys(
        "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell".split(),
        "nn.recurrent_functions",
    ),
    **dict.fromkeys(
        "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor "
        "sparse_csc_tensor sparse_csr_tensor".split(),
        "sparse.construction",
    ),
    **dict.fromkeys("dsmm hsmm hspmm saddmm smm spmm sspaddmm".split(), "sparse.products"),
    "is_anomaly_enabled": "autograd.anomaly_mode",
    "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    **dict.fromkeys(
        "use_deterministic_algorithms are_deterministic_algorithms_enabled "
        "is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode "
        "get_deterministic_debug_mode".split(),
        "_base.deterministic",
    ),
    **dict.fromkeys(
        "UntypedStorage TypedStorage is_storage BFloat16Storage BoolStorage ByteStorage "
        "CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage FloatStorage "
        "HalfStorage IntStorage LongStorage ShortStorage Storage".split(),
        "storage",
    ),
    **dict.fromkeys(
        "layout strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged "
        "memory_format contiguous_format preserve_format channels_last channels_last_3d".split(),
        "_base.formats",
    ),
}


def _others(name: str) -> _Any:
    if name == "torch":  # as in torch.torch.Tensor, which libraries write
        return _sys.modules[__name__]
    return _device_namespace(name) or _refused("_C", name)


__getattr__ = _attributes(__name__, _LATER, _others, _public.FUNCTIONS)
__dir__ = _listing(__name__, _LATER, _public.FUNCTIONS)


__all__ = [
    "AcceleratorError",
    "OutOfMemoryError",
    "Size",
    "Tensor",
    "__version__",
    "broadcast_shapes",
    "can_cast",
    "device",
    "dtype",
    "enable_grad",
    "fallback_counts",
    "finfo",
    "get_default_device",
    "get_default_dtype",
    "get_fallback",
    "get_fusion",
    "iinfo",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "promote_types",
    "result_type",
    "set_default_device",
    "set_default_dtype",
    "set_fallback",
    "set_fusion",
    "set_grad_enabled",
]

_show_pages(__name__, [(n, globals()[n]) for n in __all__])
