"""torchinfo, torchsummary, thop: tables of a model's layers, parameters and costs."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["torchinfo==1.8.0", "torchsummary==1.5.1", "thop==0.1.1.post2209072238"]
# ///
from __future__ import annotations

import contextlib
import io

import thop
from recorded import numbers, same
from torch import nn
from torchinfo import summary
from torchsummary import summary as older

net = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)
)
table = summary(net, input_size=(2, 3, 8, 8), verbose=0, col_names=("output_size", "num_params"))
same("parameters", [table.total_params, table.trainable_params, table.total_mult_adds])
same("table", str(table))
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    older(net, (3, 8, 8), device="cpu")
same("older", printed.getvalue())
same("macs", thop.profile(net, inputs=(numbers(1, 3, 8, 8),), verbose=False))
