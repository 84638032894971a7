"""The messages that a ``SummaryWriter`` writes: one function for each sort of value."""

from __future__ import annotations

import io
import wave
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import tensorbus
from tensorbus._base.warning import warn_user
from tensorbus.utils.tensorboard.arrays import Array, make_np
from tensorbus.utils.tensorboard.hyperparameters import hparams
from tensorbus.utils.tensorboard.images import image, image_boxes, make_image, video
from tensorbus.utils.tensorboard.meshes import mesh
from tensorbus.utils.tensorboard.packages import (
    Summary,
    TensorProto,
    for_plugin,
    message,
    one_value,
    shape_of,
)
from tensorbus.utils.tensorboard.pr_curves import compute_curve, pr_curve, pr_curve_raw

__all__ = [
    "audio",
    "compute_curve",
    "custom_scalars",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "make_histogram",
    "make_image",
    "mesh",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]


def scalar(
    name: str,
    tensor: Any,
    collections: Any = None,
    new_style: bool = False,
    double_precision: bool = False,
) -> Any:
    """One number: as a plain field, or as a tensor with *new_style*."""
    array = make_np(tensor).squeeze()
    if array.ndim:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions). "
            f"Was given size: {array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not new_style:
        return one_value(name, simple_value=number)
    if double_precision:
        proto = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        proto = TensorProto(float_val=[number], dtype="DT_FLOAT")
    return one_value(name, tensor=proto, metadata=for_plugin("scalars"))


def _stored(dtype: tensorbus.dtype) -> tuple[str, str, tensorbus.dtype] | None:
    """TensorBoard's name of a dtype, the field for its values, and the dtype they are stored as."""
    name = str(dtype).removeprefix("torch.")
    match name:
        case "float32" | "float64":
            stored = {"float32": "float", "float64": "double"}[name]
            return f"DT_{stored.upper()}", f"{stored}_val", dtype
        case "float16" | "bfloat16":  # the bits of the number
            return {"float16": "DT_HALF"}.get(name, "DT_BFLOAT16"), "half_val", tensorbus.int16
        case "int8" | "int16" | "int32" | "uint8":
            return f"DT_{name.upper()}", "int_val", dtype
        case "int64" | "bool":
            return f"DT_{name.upper()}", f"{name}_val", dtype
        case "complex64":
            return "DT_COMPLEX64", "scomplex_val", dtype
        case "complex128":
            return "DT_COMPLEX128", "dcomplex_val", dtype
    return None


def tensor_proto(tag: str, tensor: tensorbus.Tensor) -> Any:
    """A whole tensor, which no page of TensorBoard shows: its readers give it back.

    ValueError for two gigabytes and more, and for dtypes that TensorBoard lacks.
    """
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    stored = _stored(tensor.dtype)
    if stored is None:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    dtype, field, as_dtype = stored
    values = tensor.detach().cpu().contiguous()
    if field == "half_val":
        values = values.view(as_dtype).to(tensorbus.int32) & 0xFFFF
    elif tensor.is_complex():
        values = tensorbus.view_as_real(values)
    numbers = {field: values.flatten().tolist()}
    proto = TensorProto(dtype=dtype, tensor_shape=shape_of(*tensor.shape), **numbers)
    return one_value(tag, tensor=proto, metadata=for_plugin("tensor"))


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: int,
    sum: float,
    sum_squares: float,
    bucket_limits: Sequence[float],
    bucket_counts: Sequence[float],
) -> Any:
    """A histogram that the caller has counted."""
    counted = message("summary", "HistogramProto")(
        min=min,
        max=max,
        num=num,
        sum=sum,
        sum_squares=sum_squares,
        bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )
    return one_value(name, histo=counted)


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """A histogram of all values of a tensor."""
    counted = make_histogram(make_np(values).astype(float), bins, max_bins)
    return one_value(name, histo=counted)


def make_histogram(values: Array, bins: Any, max_bins: int | None = None) -> Any:
    """Values counted into *bins*, as ``numpy.histogram`` takes them; at most about *max_bins*.

    ValueError where there are no values, or none within the bins.
    """
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        together = len(counts) // max_bins
        starts = np.arange(0, len(counts), together)
        counts = np.add.reduceat(counts, starts)
        limits = np.append(limits[starts], limits[-1])
    (filled,) = counts.nonzero()
    if not filled.size:
        raise ValueError("The histogram is empty: no value lies within its bins.")
    first, last = filled[0], filled[-1]
    # TensorBoard knows right limits alone: an empty bin before the first brings its left one.
    return message("summary", "HistogramProto")(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits[first : last + 2].tolist(),
        bucket=[0, *counts[first : last + 1].tolist()],
    )


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """A sound of one channel: values from -1 to 1, of any shape with one dimension above 1."""
    array = make_np(tensor).squeeze()
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    if np.abs(array).max() > 1:
        warn_user("audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    samples = (array * np.iinfo(np.int16).max).astype(np.int16)
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes(samples.tobytes())
    return one_value(
        tag,
        audio=Summary.Audio(
            sample_rate=sample_rate,
            num_channels=1,
            length_frames=samples.size,
            encoded_audio_string=file.getvalue(),
            content_type="audio/wav",
        ),
    )


def text(tag: str, text: str) -> Any:
    """A text, which may be Markdown."""
    content = message("text", "TextPluginData")(version=0).SerializeToString()
    proto = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=shape_of(1))
    return one_value(f"{tag}/text_summary", tensor=proto, metadata=for_plugin("text", content))


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Any:
    """Which scalars one chart shows: ``{category: {title: ["Multiline" or "Margin", tags]}}``."""
    chart_of = message("layout", "Chart")
    categories = []
    for category, charts in layout.items():
        made = []
        for title, (sort, tags, *_) in charts.items():
            if sort == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
                margin = message("layout", "MarginChartContent")
                value, lower, upper = tags
                series = margin.Series(value=value, lower=lower, upper=upper)
                made.append(chart_of(title=title, margin=margin(series=[series])))
            else:
                lines = message("layout", "MultilineChartContent")(tag=tags)
                made.append(chart_of(title=title, multiline=lines))
        categories.append(message("layout", "Category")(title=category, chart=made))
    whole = message("layout", "Layout")(category=categories).SerializeToString()
    return one_value(
        "custom_scalars__config__",
        tensor=TensorProto(dtype="DT_STRING", string_val=[whole], tensor_shape=shape_of()),
        metadata=for_plugin("custom_scalars"),
    )
