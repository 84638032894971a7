"""Recommender: what 300 users think of 200 films, from a quarter of their ratings.

$ python examples/gallery/recommender.py
error 0.01

Reaches error below 0.3 over all ratings, which spread by 1.
"""

import sys

import tensorbus as torch
from tensorbus import nn

torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
torch.manual_seed(0)
ratings = torch.randn(300, 4) @ torch.randn(4, 200) / 2
known = torch.rand(300, 200).flatten().topk(15000).indices
users, films = nn.Embedding(300, 4), nn.Embedding(200, 4)  # a vector for each
optimizer = torch.optim.Adam([users.weight, films.weight], lr=0.05)
for _ in range(int(sys.argv[2]) if sys.argv[2:] else 600):
    pairs = known[torch.randint(len(known), (256,))]
    user, film = pairs // 200, pairs % 200
    guess = (users(user) * films(film)).sum(1)
    optimizer.zero_grad()
    nn.functional.mse_loss(guess, ratings[user, film]).backward()
    optimizer.step()
wrong = users.weight @ films.weight.T - ratings
print(f"error {wrong.square().mean().sqrt():.2f}")
