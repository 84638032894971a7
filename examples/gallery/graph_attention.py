"""Graph attention: each node chooses which of its neighbours it listens to.

    $ python examples/gallery/graph_attention.py
    loss 0.07, accuracy 0.98

The sign that a node has to find is that of the sum of what its marked neighbours say; the others
are noise. A softmax along the rows of a sparse matrix of scores, one for each edge, learns whom to
trust. Reaches accuracy above 0.9.
"""

import sys

import tensorbus as torch
from tensorbus import nn, optim
from tensorbus.nn import functional as F


def graph(nodes=120, degree=8):
    """Edges to random neighbours, what each node says, whether it is marked, what is asked."""
    receivers, senders = (torch.rand(nodes, nodes) < degree / nodes).nonzero().unbind(1)
    says, marked = torch.randn(nodes), (torch.rand(nodes) < 0.4).float()
    heard = torch.zeros(nodes).index_add(0, receivers, (says * marked)[senders])
    return torch.stack([receivers, senders]), torch.stack([says, marked], 1), (heard > 0).long()


class GraphAttention(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.features = nn.Linear(inputs, outputs)
        self.scores = nn.Linear(2 * outputs, 1)

    def forward(self, edges, x):
        h = self.features(x)
        pairs = torch.cat([h[edges[0]], h[edges[1]]], 1)
        scores = F.leaky_relu(self.scores(pairs)[:, 0], 0.2)
        nodes = len(x)
        scores = torch.sparse_coo_tensor(
            edges, scores, (nodes, nodes), is_coalesced=True, check_invariants=False
        )
        attention = torch.sparse.softmax(scores, 1)
        return torch.sparse.mm(attention, h)


def main(device="cpu", steps=150):
    torch.manual_seed(0)
    edges, x, wanted = (t.to(device) for t in graph())
    layer, head = GraphAttention(2, 16).to(device), nn.Linear(16, 2).to(device)
    optimizer = optim.Adam([*layer.parameters(), *head.parameters()], lr=0.02)
    for _ in range(int(steps)):
        optimizer.zero_grad()
        logits = head(F.elu(layer(edges, x)))
        loss = F.cross_entropy(logits, wanted)
        loss.backward()
        optimizer.step()
    right = (logits.argmax(1) == wanted).float().mean().item()
    print(f"loss {loss.item():.2f}, accuracy {right:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
