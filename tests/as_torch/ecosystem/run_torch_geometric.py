"""PyTorch Geometric: convolutions of graphs, without its extensions."""

# /// script
# dependencies = [
#     "numpy",
#     "scipy",
#     "tqdm",
#     "jinja2",
#     "requests",
#     "pyparsing",
#     "psutil",
#     "aiohttp",
#     "fsspec",
#     "xxhash",
# ]
# [tool.ecosystem]
# alone = ["torch_geometric==2.8.1"]
# ///
from __future__ import annotations

import torch
import torch.nn.functional as F
from recorded import filled, numbers, same
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, to_dense_adj

edges = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
data = Data(x=numbers(4, 3), edge_index=edges, y=torch.tensor([0, 1, 0, 1]))
for layer in (
    GCNConv(3, 5),
    SAGEConv(3, 5),
    GATConv(3, 5, heads=2),
    GINConv(nn.Linear(3, 5)),
):
    out = filled(layer)(data.x, data.edge_index)
    same(type(layer).__name__, out, rtol=1e-3, atol=1e-4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(3, 8), GCNConv(8, 2)

    def forward(self, data):
        return self.second(self.first(data.x, data.edge_index).relu(), data.edge_index)


net = filled(Net())
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(data), data.y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
same("losses", losses, rtol=1e-3)
batch = Batch.from_data_list([data, data])
same("pooled", global_mean_pool(net(batch), batch.batch), rtol=1e-3, atol=1e-3)
same("degree", degree(edges[0], 4))
same("dense", to_dense_adj(add_self_loops(edges)[0])[0])
