"""Embeddings for TensorBoard's projector, which reads them from text files in a run's folder."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorbus.utils.tensorboard.arrays import Array, make_np
from tensorbus.utils.tensorboard.images import as_bytes, make_grid, pillow_module


def write_embedding(
    folder: str,
    subfolder: str,
    points: Array,
    metadata: Sequence[Any] | None,
    pictures: Any,
    tensor_name: str,
    header: Sequence[str] | None,
) -> str:
    """Write the files of one embedding; what the projector's configuration says of it is given."""
    if metadata is not None and points.shape[0] != len(metadata):
        raise AssertionError("#labels should equal with #data points")
    if pictures is not None and points.shape[0] != pictures.shape[0]:
        raise AssertionError("#images should equal with #data points")
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    said = {"tensor_name": tensor_name, "tensor_path": f"{subfolder}/tensors.tsv"}
    path = os.path.join(folder, subfolder)
    os.makedirs(path, exist_ok=True)
    _write_table(os.path.join(path, "tensors.tsv"), points.tolist())
    if metadata is not None:
        if header:
            if len(header) != len(metadata[0]):
                raise AssertionError(
                    "len of header must be equal to the number of columns in metadata"
                )
            rows = [header, *metadata]
        else:
            rows = [[label] for label in metadata]
        _write_table(os.path.join(path, "metadata.tsv"), rows)
        said["metadata_path"] = f"{subfolder}/metadata.tsv"
    lines = [f"  {key}: {json.dumps(value)}" for key, value in said.items()]
    if pictures is not None:
        height, width = pictures.shape[2:]
        _write_sprite(os.path.join(path, "sprite.png"), make_np(pictures))
        lines += [
            "  sprite {",
            f"    image_path: {json.dumps(f'{subfolder}/sprite.png')}",
            f"    single_image_dim: {width}",
            f"    single_image_dim: {height}",
            "  }",
        ]
    return "\n".join(["embeddings {", *lines, "}", ""])


def _write_table(path: str, rows: Sequence[Sequence[Any]]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(str(entry) for entry in row) + "\n" for row in rows)


def _write_sprite(path: str, pictures: Array) -> None:
    """All pictures in one, which has as many rows of them as columns: the projector wants that."""
    side = math.ceil(len(pictures) ** 0.5)
    places = np.zeros((side * side, *pictures.shape[1:]), pictures.dtype)
    places[: len(pictures)] = pictures
    grid = as_bytes(make_grid(places, ncols=side))
    pillow_module("Image").fromarray(grid.transpose(1, 2, 0)).save(path, format="PNG")
