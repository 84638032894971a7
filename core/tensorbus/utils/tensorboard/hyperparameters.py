"""Hyperparameters of a run, for TensorBoard's plugin of that name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorbus
from tensorbus.utils.tensorboard.packages import for_plugin, message, number_of, one_value

_SORTS = (
    (bool, "bool_value", "DATA_TYPE_BOOL"),
    (int | float, "number_value", "DATA_TYPE_FLOAT64"),
    (str, "string_value", "DATA_TYPE_STRING"),
)
"""What a hyperparameter may be, and where a message keeps it; bool is an int to Python."""


def hparams(
    hparam_dict: Mapping[str, Any] | None = None,
    metric_dict: Mapping[str, Any] | None = None,
    hparam_domain_discrete: Mapping[str, list[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """Three messages: which hyperparameters and metrics there are, the start of a run, its end."""
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    assert hparam_dict is not None and metric_dict is not None  # for the type checker
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for key, values in domains.items():
        if (
            key not in hparam_dict
            or not isinstance(values, list)
            or not all(isinstance(value, type(hparam_dict[key])) for value in values)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{key}] should be a list of same type as "
                f"hparam_dict[{key}]."
            )
    start = message("hparams", "SessionStartInfo")()
    infos = []
    for key, value in hparam_dict.items():
        if value is None:
            continue
        value = value.item() if isinstance(value, tensorbus.Tensor) else value
        found = [sort for sort in _SORTS if isinstance(value, sort[0])]
        if not found:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        _, field, dtype = found[0]
        setattr(start.hparams[key], field, value)
        domain = None
        if key in domains:
            one, several = message("values", "Value"), message("values", "ListValue")
            domain = several(values=[one(**{field: v}) for v in domains[key]])
        info = message("hparams_api", "HParamInfo")
        infos.append(info(name=key, type=number_of("DataType", dtype), domain_discrete=domain))
    metric, metric_name = (message("hparams_api", n) for n in ("MetricInfo", "MetricName"))
    experiment = message("hparams_api", "Experiment")(
        hparam_infos=infos, metric_infos=[metric(name=metric_name(tag=k)) for k in metric_dict]
    )
    end = message("hparams", "SessionEndInfo")(status=number_of("Status", "STATUS_SUCCESS"))
    return (
        _said("experiment", experiment),
        _said("session_start_info", start),
        _said("session_end_info", end),
    )


def _said(field: str, content: Any) -> Any:
    data = message("hparams", "HParamsPluginData")(version=0, **{field: content})
    metadata = for_plugin("hparams", data.SerializeToString())
    return one_value(f"_hparams_/{field}", metadata=metadata)
