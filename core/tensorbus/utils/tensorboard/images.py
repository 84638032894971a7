"""Pictures for TensorBoard: images, grids of them, boxes, figures of matplotlib, videos as GIF."""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorbus.utils.tensorboard.arrays import Array, make_np
from tensorbus.utils.tensorboard.packages import Summary, one_value


def pillow_module(module: str) -> Any:
    """A module of Pillow, imported when a picture is drawn."""
    try:
        return importlib.import_module(f"PIL.{module}")
    except ImportError as error:
        raise ModuleNotFoundError(
            f"images for TensorBoard need Pillow, which can't be imported ({error}): "
            "pip install 'tensorbus[tensorboard]'",
            name="PIL",
        ) from error


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """One image, or a grid of several: floats from 0 to 1, or bytes.

    *dataformats* names the dimensions; AssertionError where the tensor has others.
    """
    picture = as_bytes(convert_to_HWC(make_np(tensor), dataformats))
    return one_value(tag, image=make_image(picture, rescale=rescale))


def image_boxes(
    tag: str,
    tensor_image: Any,
    tensor_boxes: Any,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: Sequence[str] | None = None,
) -> Any:
    """An image with rectangles on it, each given by its left, top, right and bottom."""
    picture = as_bytes(convert_to_HWC(make_np(tensor_image), dataformats))
    boxes = make_np(tensor_boxes)
    return one_value(tag, image=make_image(picture, rescale=rescale, rois=boxes, labels=labels))


def as_bytes(picture: Array) -> Array:
    """Values from 0 to 255: bytes as they are, others times 255 and clipped."""
    if picture.dtype == np.uint8:
        return picture
    return (picture.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


def make_image(
    tensor: Array,
    rescale: float = 1,
    rois: Array | None = None,
    labels: Sequence[str] | None = None,
) -> Any:
    """The message for bytes of shape (height, width, channels), as PNG."""
    height, width, channels = tensor.shape
    pillow = pillow_module("Image")
    drawn = pillow.fromarray(tensor)
    if rois is not None:
        for number, box in enumerate(rois.tolist()):
            _draw_box(drawn, box, labels[number] if labels is not None else "")
    size = int(width * rescale), int(height * rescale)
    if size != (width, height):
        drawn = drawn.resize(size, pillow.Resampling.LANCZOS)
    file = io.BytesIO()
    drawn.save(file, format="PNG")
    return _encoded(height, width, channels, file)


def _encoded(height: int, width: int, channels: int, file: io.BytesIO) -> Any:
    return Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue()
    )


def _draw_box(drawn: Any, box: Sequence[float], label: str) -> None:
    draw, font = pillow_module("ImageDraw").Draw(drawn), pillow_module("ImageFont").load_default()
    left, top, right, bottom = box
    corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
    draw.line(corners, width=2, fill="red")
    if label:
        x0, y0, x1, y1 = font.getbbox(label)
        above = bottom - (y1 - y0) * 1.1
        draw.rectangle([(left, above), (left + x1 - x0, bottom)], fill="red")
        draw.text((left, above - y0), label, fill="black", font=font)


def make_grid(images: Array, ncols: int = 8) -> Array:
    """Images of shape (N, 1 or 3, H, W) beside and below each other: (3, rows, columns)."""
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    count, _, height, width = images.shape
    columns = min(count, ncols)
    rows = math.ceil(count / columns)
    places = np.zeros((rows * columns, 3, height, width), images.dtype)
    places[:count] = images  # one channel is repeated
    places = places.reshape(rows, columns, 3, height, width)
    return places.transpose(2, 0, 3, 1, 4).reshape(3, rows * height, columns * width)


def convert_to_HWC(tensor: Array, input_format: str) -> Array:
    """An array whose dimensions *input_format* names, as (height, width, channels)."""
    if len({*input_format}) != len(input_format):
        raise AssertionError(
            f"You can not use the same dimension shorthand twice. input_format: {input_format}"
        )
    if tensor.ndim != len(input_format):
        raise AssertionError(
            "size of input tensor and input format are different. "
            f"tensor shape: {tensor.shape}, input_format: {input_format}"
        )
    wanted = {4: "NCHW", 3: "HWC", 2: "HW"}.get(tensor.ndim, "")
    order = input_format.upper()
    if sorted(order) != sorted(wanted):
        raise AssertionError(
            f"input_format: {input_format} should name the dimensions of "
            "'NCHW', 'CHW' or 'HW', in any order"
        )
    tensor = tensor.transpose([order.index(name) for name in wanted])
    if wanted == "NCHW":
        return make_grid(tensor).transpose(1, 2, 0)
    if wanted == "HW":
        tensor = tensor[:, :, None]
    return np.repeat(tensor, 3, axis=2) if tensor.shape[2] == 1 else tensor


def figure_to_image(figures: Any, close: bool = True) -> Array:
    """A figure of matplotlib as bytes of shape (3, H, W), a list of figures as (N, 3, H, W)."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def drawn(figure: Any) -> Array:
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1)
        if close:
            pyplot.close(figure)
        return pixels

    if isinstance(figures, list):
        return np.stack([drawn(figure) for figure in figures])
    return drawn(figures)


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Films of shape (N, frames, channels, height, width) beside each other, as an animated GIF."""
    frames = as_bytes(_frames(make_np(tensor)))
    _, height, width, channels = frames.shape
    pillow = pillow_module("Image")
    first, *others = [pillow.fromarray(f[:, :, 0] if channels == 1 else f) for f in frames]
    file = io.BytesIO()
    first.save(file, format="GIF", save_all=True, append_images=others, duration=1000 / fps, loop=0)
    return one_value(tag, image=_encoded(height, width, channels, file))


def _frames(films: Array) -> Array:
    """(frames, height, width, channels): the films in a grid whose sides are powers of two."""
    if films.ndim != 5:
        raise AssertionError(
            "a video has five dimensions (N, frames, channels, height, width), "
            f"but was given {films.ndim}"
        )
    count, frames, channels, height, width = films.shape
    places = 1 << (count - 1).bit_length()
    padded = np.zeros((places, *films.shape[1:]), films.dtype)
    padded[:count] = films
    rows = 2 ** ((count.bit_length() - 1) // 2)
    columns = places // rows
    grid = padded.reshape(rows, columns, frames, channels, height, width)
    return grid.transpose(2, 0, 4, 1, 5, 3).reshape(
        frames, rows * height, columns * width, channels
    )
