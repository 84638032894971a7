"""Recurrent layers: all steps of a sequence, in one direction or in both, are one op.

The elements of a step lie together and their number is in *sizes*, so packed batches, whose
sequences get shorter, are nothing else: a step changes the first rows of the state. What the input
gives to the gates is one product for all steps, before their loop.

States, and what is kept for the backward pass, have a first dimension for the directions, of which
the second begins with the last step. Weights are a sequence: of each direction those of the input
and of the state, their biases if there are any, and that of a projection.
"""

from __future__ import annotations

from tensorbus.ops.nn.recurrent_steps import (
    gru,
    gru_backward,
    lstm,
    lstm_backward,
    of_input,
    of_lstm,
    of_weights,
    products,
    rnn,
    rnn_backward,
)
from tensorbus.rows.registry import row

# fmt: off
row("lstm_layer", "x:T, h:T, c:T, weights:T*, sizes",
    results="y:same hn:same cn:same gates:same cells:same", domain="float",
    autocast="lower",
    doc="The hidden states *y* of an LSTM, and its last states *hn* and *cn*: with the *weights* "
        "w, u, b, d, p of a direction, in each step ``z = x @ w.T + b + h @ u.T + d``; sigmoid of "
        "its first, second and last quarter and tanh of its third are the *gates* i, f, o and g; "
        "then ``c = f * c + i * g``, one of the *cells*, and ``h = o * tanh(c)``, or ``h @ p.T`` "
        "of that; step t has ``sizes[t]`` rows of *x*.",
    composite=lambda F, x, h, c, weights, sizes: lstm(F, x, h, c, weights, sizes),
    shared=lambda F, g, gates, cells, c, weights, sizes:
        F.lstm_layer_backward(*g, gates, cells, c, weights, sizes),
    x=lambda F, g, shared, weights: of_input(F, shared[0], weights),
    h=lambda F, g, shared: shared[1],
    c=lambda F, g, shared: shared[2],
    weights=lambda F, g, shared, x, y, h, gates, cells, weights, sizes, weights_wanted:
        of_lstm(F, g, shared[0], x, y, h, gates, cells, weights, sizes, weights_wanted))
row("lstm_layer_backward",
    "gy:T?, gh:T?, gc:T?, gg:T?, gcells:T?, gates:T, cells:T, c:T, weights:T*, sizes",
    results="gz:same first:same cell:same", domain="float",
    doc="The derivatives of ``lstm_layer`` for z and for both states, from those of its results.",
    composite=lambda F, gy, gh, gc, gg, gcells, gates, cells, c, weights, sizes:
        lstm_backward(F, gy, gh, gc, gg, gcells, gates, cells, c, weights, sizes))
row("gru_layer", "x:T, h:T, weights:T*, sizes",
    results="y:same hn:same gates:same inner:same", domain="float", autocast="lower",
    doc="The hidden states *y* of a GRU, and its last state *hn*: with the *weights* w, u, b, d of "
        "a direction, in each step, of ``v = x @ w.T + b`` and ``s = h @ u.T + d``, the *gates* r "
        "and z, sigmoid of ``v + s`` in its first two thirds; n, tanh of ``v + r * s`` in the "
        "last, where s is *inner*; and ``h = n + z * (h - n)``, with *sizes* as of ``lstm_layer``.",
    composite=lambda F, x, h, weights, sizes: gru(F, x, h, weights, sizes),
    shared=lambda F, g, y, gates, inner, h, weights, sizes:
        F.gru_layer_backward(*g, y, gates, inner, h, weights, sizes),
    x=lambda F, g, shared, weights: of_input(F, shared[0], weights),
    h=lambda F, g, shared: shared[2],
    weights=lambda F, g, shared, x, y, h, weights, sizes, weights_wanted:
        of_weights(F, shared[0], shared[1], x, y, h, weights, sizes, weights_wanted))
row("gru_layer_backward",
    "gy:T?, gh:T?, gg:T?, gi:T?, y:T, gates:T, inner:T, h:T, weights:T*, sizes",
    results="gv:same gs:same first:same", domain="float",
    doc="The derivatives of ``gru_layer`` for v, for s and for the state *h*, from those of its "
        "results.",
    composite=lambda F, gy, gh, gg, gi, y, gates, inner, h, weights, sizes:
        gru_backward(F, gy, gh, gg, gi, y, gates, inner, h, weights, sizes))
row("rnn_layer", "x:T, h:T, weights:T*, relu, sizes",
    results="y:same hn:same", domain="float", autocast="lower",
    doc="The hidden states *y* of a recurrent network, and its last state *hn*: with the *weights* "
        "w, u, b, d of a direction, in each step ``h = tanh(x @ w.T + b + h @ u.T + d)``, or the "
        "relu of that, with *sizes* as of ``lstm_layer``.",
    composite=lambda F, x, h, weights, relu, sizes: rnn(F, x, h, weights, relu, sizes),
    shared=lambda F, g, y, h, weights, relu, sizes:
        F.rnn_layer_backward(*g, y, h, weights, relu, sizes),
    x=lambda F, g, shared, weights: of_input(F, shared[0], weights),
    h=lambda F, g, shared: shared[1],
    weights=lambda F, g, shared, x, y, h, weights, sizes, weights_wanted:
        of_weights(F, shared[0], shared[0], x, y, h, weights, sizes, weights_wanted))
row("rnn_layer_backward", "gy:T?, gh:T?, y:T, h:T, weights:T*, relu, sizes",
    results="gz:same first:same", domain="float",
    doc="The derivatives of ``rnn_layer`` for what tanh or relu is of, and for the state, from "
        "those of its results.",
    composite=lambda F, gy, gh, y, h, weights, relu, sizes:
        rnn_backward(F, gy, gh, y, h, weights, relu, sizes))
row("recurrent_products", "gz:T, gs:T, x:T, y:T, h:T, sizes, back",
    results="gw:same gu:same", domain="float",
    doc="The derivatives of a direction's weights w and u: the products, over all elements, of "
        "*gz*, which is of what the input gives, and *x*, and of *gs*, which is of what the state "
        "does, and the state that each finds: of *y* and, at first, *h*; with *sizes* as of "
        "``lstm_layer``, from the last step where it goes *back*.",
    composite=lambda F, gz, gs, x, y, h, sizes, back: products(F, gz, gs, x, y, h, sizes, back))
# fmt: on
