"""Meshes and point clouds, for TensorBoard's plugin of that name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tensorbus.utils.tensorboard.arrays import make_np
from tensorbus.utils.tensorboard.packages import (
    Summary,
    TensorProto,
    for_plugin,
    message,
    shape_of,
)


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: Mapping[str, Any] | None,
    display_name: str | None = None,
    description: str | None = None,
) -> Any:
    """Points, the triangles between them and their colours, each of shape (batch, count, 3).

    ValueError for other shapes.
    """
    data = message("mesh", "MeshPluginData")
    parts = {"VERTEX": vertices, "FACE": faces, "COLOR": colors}
    given = {name: make_np(part) for name, part in parts.items() if part is not None}
    # The field 7, which tensorboardX's message lacks: which parts there are.
    components = bytes((7 << 3, sum(1 << data.ContentType.Value(name) for name in given)))
    values = []
    for name, array in given.items():
        if array.ndim != 3:
            raise ValueError(f"Tensor shape should be of shape BxNx3, but got {array.shape}.")
        content = data(
            version=0,
            name=tag,
            content_type=data.ContentType.Value(name),
            shape=array.shape,
            json_config=json.dumps(config_dict or {}, sort_keys=True),
        )
        texts = {"display_name": display_name, "summary_description": description}
        values.append(
            Summary.Value(
                tag=f"{tag}_{name}",
                tensor=TensorProto(
                    dtype="DT_FLOAT",
                    float_val=array.reshape(-1).tolist(),
                    tensor_shape=shape_of(*array.shape),
                ),
                metadata=for_plugin("mesh", content.SerializeToString() + components, **texts),
            )
        )
    return Summary(value=values)
