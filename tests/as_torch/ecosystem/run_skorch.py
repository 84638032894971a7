"""skorch: a module as an estimator of scikit-learn, in a pipeline and a grid search."""

# /// script
# dependencies = ["numpy", "scipy", "scikit-learn", "tabulate", "tqdm"]
# [tool.ecosystem]
# alone = ["skorch==1.4.0"]
# ///
from __future__ import annotations

import numpy as np
from recorded import filled, same
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EpochScoring, LRScheduler
from torch import nn

X, y = make_classification(200, 20, n_informative=10, random_state=0)
X, y = X.astype(np.float32), y.astype(np.int64)


class Classifier(nn.Module):
    def __init__(self, units=10):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(20, units), nn.ReLU(), nn.Linear(units, 2), nn.Softmax(dim=-1)
        )
        filled(self)

    def forward(self, x):
        return self.net(x)


net = NeuralNetClassifier(
    Classifier,
    max_epochs=5,
    lr=0.1,
    verbose=0,
    callbacks=[EpochScoring("accuracy", name="acc"), LRScheduler("StepLR", step_size=3)],
)
net.fit(X, y)
same("losses", net.history[:, "train_loss"])
same("valid", net.history[:, "valid_loss"])
same("probabilities", net.predict_proba(X[:5]))
pipe = Pipeline([("scale", StandardScaler()), ("net", net)])
pipe.fit(X, y)
same("score", pipe.score(X, y))
search = GridSearchCV(net, {"lr": [0.02, 0.1], "module__units": [5, 10]}, cv=2, refit=False)
search.fit(X, y)
same("search", search.cv_results_["mean_test_score"].tolist(), atol=0.011)
regressor = NeuralNetRegressor(lambda: filled(nn.Linear(20, 1)), max_epochs=3, verbose=0)
regressor.fit(X, X[:, :1])
same("regression", regressor.history[:, "train_loss"])
