"""Captum: attributions of inputs, layers and neurons of a small net."""

# /// script
# dependencies = ["numpy", "packaging", "tqdm", "matplotlib"]
# [tool.ecosystem]
# alone = ["captum==0.9.0"]
# ///
from __future__ import annotations

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GuidedBackprop,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    NeuronGradient,
    Occlusion,
    Saliency,
)
from recorded import filled, numbers, same
from torch import nn

net = filled(nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2))).eval()
x, base = numbers(4, 3), torch.zeros(4, 3)
values, delta = IntegratedGradients(net).attribute(x, base, target=1, return_convergence_delta=True)
same("integrated", values)
same("delta", delta, atol=1e-4)
same("saliency", Saliency(net).attribute(x, target=0))
same("deeplift", DeepLift(net).attribute(x, base, target=1))
same("ablation", FeatureAblation(net).attribute(x, base, target=1))
same("guided", GuidedBackprop(net).attribute(x, target=1))
same("conductance", LayerConductance(net, net[0]).attribute(x, base, target=1))
same("neuron", NeuronGradient(net, net[0]).attribute(x, (2,)))
images = filled(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)))
picture = numbers(1, 1, 8, 8)
same("occlusion", Occlusion(images).attribute(picture, (1, 3, 3), target=0))
same("gradcam", LayerGradCam(images, images[0]).attribute(picture, target=1))
