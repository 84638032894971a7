"""snntorch: a net of spiking neurons over some steps, with a surrogate gradient."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["snntorch==1.0.0"]
# ///
from __future__ import annotations

import snntorch as snn
import torch
from recorded import filled, numbers, same
from snntorch import functional as SF
from snntorch import surrogate
from torch import nn

slope = surrogate.fast_sigmoid(slope=25)
first, second = filled(nn.Linear(6, 8)), filled(nn.Linear(8, 3), seed=2)
leaky, synaptic = snn.Leaky(beta=0.9, spike_grad=slope), snn.Synaptic(0.9, 0.8, spike_grad=slope)
membrane, (current, potential) = leaky.init_leaky(), synaptic.init_synaptic()
spikes, potentials = [], []
for x in numbers(8, 4, 6) * 2:
    fired, membrane = leaky(first(x), membrane)
    fired, current, potential = synaptic(second(fired), current, potential)
    spikes.append(fired)
    potentials.append(potential)
labels = torch.tensor([0, 1, 2, 0])
loss = SF.ce_rate_loss()(torch.stack(spikes), labels)
loss = loss + SF.ce_max_membrane_loss()(torch.stack(potentials), labels)
loss.backward()
same("spikes", torch.stack(spikes).sum(0))
same("loss", loss)
same("gradient", first.weight.grad, rtol=1e-3, atol=1e-4)
