"""keras: a small net of Keras on its backend for torch: compiled, fitted, evaluated, predicted."""

# /// script
# dependencies = [
#   "numpy", "absl-py", "rich", "namex", "h5py", "optree", "ml-dtypes", "packaging",
# ]
# [tool.ecosystem]
# alone = ["keras==3.15.1"]
# ///
from __future__ import annotations

import os

os.environ.update(KERAS_BACKEND="torch", KERAS_TORCH_DEVICE="cpu", CUDA_VISIBLE_DEVICES="")

import keras
import numpy as np
from recorded import same

stream = np.random.RandomState(0)
x = stream.standard_normal((24, 8, 8, 1)).astype("float32")
y = (x.mean((1, 2, 3)) > 0).astype("int32")
net = keras.Sequential(
    [
        keras.layers.Input((8, 8, 1)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(2),
    ]
)
net.set_weights([stream.standard_normal(w.shape) * 0.3 for w in net.get_weights()])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
net.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
kept = net.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0)
same("losses", kept.history["loss"], rtol=1e-3)
same("evaluated", net.evaluate(x, y, verbose=0), rtol=1e-3)
same("predicted", net.predict(x[:4], verbose=0), rtol=1e-3, atol=1e-4)
