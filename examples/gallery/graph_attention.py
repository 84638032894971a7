"""Graph attention: each node chooses whom it listens to. Reaches accuracy above 0.9.

$ python examples/gallery/graph_attention.py
accuracy 0.98
"""

import sys

import tensorbus as torch
from tensorbus import nn

torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
torch.manual_seed(0)
torch.sparse.check_sparse_tensor_invariants.disable()  # each check would wait for the device
graph = (torch.rand(120, 120) < 1 / 15).float().to_sparse()  # each node hears eight others
says, marked = torch.randn(120, 1), (torch.rand(120, 1) < 0.4).float()
wanted = (graph @ (says * marked) > 0).long().flatten()  # those without a mark are noise
edges, x = graph.indices(), torch.cat([says, marked], 1)
features, head = nn.Linear(2, 16), nn.Sequential(nn.ELU(), nn.Linear(16, 2))
score = nn.Sequential(nn.Linear(32, 1), nn.LeakyReLU(0.2), nn.Flatten(0))
optimizer = torch.optim.Adam(nn.ModuleList([features, head, score]).parameters(), lr=0.02)
for _ in range(int(sys.argv[2]) if sys.argv[2:] else 150):
    h = features(x)
    scores = score(torch.cat([*h[edges]], 1))  # of each edge: a softmax among those of its node
    scores = torch.sparse_coo_tensor(edges, scores, graph.shape, is_coalesced=True)
    logits = head(torch.sparse.mm(torch.sparse.softmax(scores, 1), h))
    optimizer.zero_grad()
    nn.functional.cross_entropy(logits, wanted).backward()
    optimizer.step()
print(f"accuracy {(logits.argmax(1) == wanted).float().mean():.2f}")
