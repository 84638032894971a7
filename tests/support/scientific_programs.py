"""What SciPy and scikit-learn compute with: programs over arrays, run with ours and with NumPy's.

Run with a device's name it prints, for each program, whether the tensors' results on that device
are NumPy's: ``ok``, or what happened instead.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

# A, B are (6, 4), V, W are (32,), all between 0.5 and 2; M is positive definite, I an image.
SCIPY = {
    "special": "logsumexp(A, axis=1); softmax(A, axis=0); log_softmax(A, axis=0); expit(A); "
    "logit(A / 3); gammaln(A); gamma(A); erf(A); erfc(A); ndtr(A); log_ndtr(A); ndtri(A / 3); "
    "i0(A); i0e(A); i1(A); i1e(A); xlogy(A, B); entr(A); rel_entr(A, B); kl_div(A, B); digamma(A); "
    "betaln(A, B); gammainc(A, B); gammaincc(A, B); betainc(A, B, B / 3); chdtr(A, B); "
    "stdtr(A, B); poch(A, B); j0(A); j1(A); sinc(A); polygamma(1, A); zeta(A + 1, B); "
    "binom(A + 2, B); xlog1py(A, B); multigammaln(A + 3, 2)",
    "stats": "zscore(A); zmap(A, B); gzscore(A); skew(A); kurtosis(A); gmean(A); hmean(A); "
    "pmean(A, 2); variation(A); moment(A, 2); describe(A); sem(A); tmean(V, (0.6, 1.9)); "
    "tvar(V, (0.6, 1.9)); tstd(V, (0.6, 1.9)); tsem(V, (0.6, 1.9)); tmin(V, 0.6); tmax(V, 1.9); "
    "entropy(A); differential_entropy(V); circmean(A); circvar(A); circstd(A); "
    "directional_stats(A); pearsonr(V, W); spearmanr(V, W); kendalltau(V, W); linregress(V, W); "
    "ttest_1samp(A, 1.0); ttest_ind(A, B); ttest_rel(A, B); f_oneway(V, W); bartlett(V, W); "
    "levene(V, W); fligner(V, W); mannwhitneyu(V, W); wilcoxon(V - W); kruskal(V, W); "
    "friedmanchisquare(V, W, V * W); brunnermunzel(V, W); mood(V, W); ansari(V, W); "
    "ks_1samp(V, lambda x: x / 3); ks_2samp(V, W); cramervonmises(V, lambda x: x / 3); "
    "chisquare(V); power_divergence(V); jarque_bera(V); normaltest(V); skewtest(V); "
    "kurtosistest(V); shapiro(V); combine_pvalues(V / 3); false_discovery_control(V / 3); "
    "trim_mean(V, 0.1); sigmaclip(V); iqr(V); median_abs_deviation(V); rankdata(V); "
    "quantile(V, A[0, :] / 3); expectile(V); mode(V); lmoment(V); gstd(V); "
    "boxcox_llf(0.5, V); yeojohnson_llf(0.5, V)",
    "fft": "rfft(V); rfftn(A); fftshift(A); dct(A); dst(A); fht(V, 1.0, 0.5)",
    "signal": "convolve(V, A[0, :]); correlate(V, A[0, :]); fftconvolve(V, A[0, :]); "
    "oaconvolve(V, A[0, :]); convolve2d(I, M); lfilter(A[0, :], B[0, :], V); detrend(V); "
    "hilbert(V); resample(V, 16); resample_poly(V, 1, 2); decimate(V, 2); medfilt(V, 3); "
    "wiener(I); welch(V, nperseg=16); periodogram(V); csd(V, W, nperseg=16); "
    "coherence(V, W, nperseg=16); savgol_filter(V, 5, 2); envelope(V); freqz(V); "
    "upfirdn(A[0, :], V)",
    "ndimage": "gaussian_filter(I, 1.0); uniform_filter(I, 3); median_filter(I, 3); sobel(I); "
    "laplace(I); maximum_filter(I, 3); convolve(I, M); zoom(I, 2.0); rotate(I, 30.0); "
    "shift(I, 0.5); label(I > 0.5); center_of_mass(I); binary_erosion(I > 0.2); "
    "distance_transform_edt(I > 0.5); fourier_gaussian(I, 1.0)",
    "cluster.vq": "whiten(A); vq(A, B); kmeans(A, B[:2, :], rng=0); "
    "kmeans2(A, B[:2, :], minit='matrix', rng=0)",
    "cluster.hierarchy": "linkage(A); cophenet(scipy.cluster.hierarchy.linkage(A))",
    "integrate": "trapezoid(A); simpson(A); cumulative_trapezoid(A); cumulative_simpson(A); "
    "tanhsinh(lambda x: x * x, A * 0, A); romb(V[:17])",
    "optimize.elementwise": "find_root(lambda x: x * x - 2, (A * 0, A * 0 + 3)); "
    "find_minimum(lambda x: (x - 1) ** 2, (A * 0, A * 0 + 0.5, A * 0 + 3))",
    "optimize": "rosen(V); rosen_der(V); rosen_hess(V)",
    "linalg": "det(M); inv(M); solve(M, A[0, :]); svd(M); expm(M); cholesky(M); lu(M); eigh(M); "
    "lstsq(M, A[0, :]); pinv(M); norm(M); toeplitz(A[0, :]); block_diag(M, M)",
    "spatial.distance": "cdist(A, B); pdist(A)",
}

# X is (60, 5), P positive, y a target, c and c3 classes, guess, likely and several what a model
# says of them.
SKLEARN = {
    "metrics": "accuracy_score(c, cp); balanced_accuracy_score(c, cp); cohen_kappa_score(c, cp); "
    "f1_score(c, cp); fbeta_score(c, cp, beta=0.5); precision_score(c, cp); recall_score(c, cp); "
    "jaccard_score(c, cp); zero_one_loss(c, cp); hamming_loss(c, cp); confusion_matrix(c, cp); "
    "multilabel_confusion_matrix(c, cp); precision_recall_fscore_support(c, cp); "
    "precision_recall_curve(c, likely); average_precision_score(c, likely); det_curve(c, likely); "
    "brier_score_loss(c, likely); log_loss(c, likely); roc_auc_score(c, likely); "
    "mean_squared_error(y, guess); mean_absolute_error(y, guess); r2_score(y, guess); "
    "explained_variance_score(y, guess); max_error(y, guess); median_absolute_error(y, guess); "
    "mean_absolute_percentage_error(y, guess); mean_pinball_loss(y, guess); "
    "root_mean_squared_error(y, guess); mean_squared_log_error(P[:, 0], P[:, 1]); "
    "mean_tweedie_deviance(y, guess); mean_gamma_deviance(P[:, 0], P[:, 1]); "
    "mean_poisson_deviance(P[:, 0], P[:, 1]); d2_tweedie_score(y, guess); "
    "calinski_harabasz_score(X, c3); davies_bouldin_score(X, c3); silhouette_score(X, c3)",
    "metrics.pairwise": "euclidean_distances(P, X); cosine_similarity(P, X); "
    "cosine_distances(P, X); additive_chi2_kernel(P, P); chi2_kernel(P, P); linear_kernel(P, X); "
    "polynomial_kernel(P, X); rbf_kernel(P, X); sigmoid_kernel(P, X); laplacian_kernel(P, X); "
    "manhattan_distances(P, X); paired_cosine_distances(P, X); paired_euclidean_distances(P, X); "
    "paired_manhattan_distances(P, X); pairwise_distances(P, X); pairwise_kernels(P, X)",
    "preprocessing": "StandardScaler().fit_transform(X); MinMaxScaler().fit_transform(X); "
    "MaxAbsScaler().fit_transform(X); Normalizer().fit_transform(X); Binarizer().fit_transform(X); "
    "KernelCenterer().fit_transform(X @ X.T); PolynomialFeatures().fit_transform(X); "
    "LabelEncoder().fit_transform(c3); LabelBinarizer().fit_transform(c3); normalize(X); "
    "binarize(X); RobustScaler().fit_transform(X)",
    "decomposition": "PCA(3, svd_solver='full').fit(X).explained_variance_; "
    "PCA(3, svd_solver='covariance_eigh').fit(X).explained_variance_; "
    "PCA(3, svd_solver='randomized', random_state=0).fit(X).explained_variance_; "
    "TruncatedSVD(2).fit_transform(X)",
    "linear_model": "Ridge(solver='svd').fit(X, y).predict(X); "
    "RidgeCV().fit(X, y).predict(X); RidgeClassifier(solver='svd').fit(X, c).predict(X); "
    "RidgeClassifierCV().fit(X, c).predict(X); "
    "LogisticRegression().fit(X, c).predict(X); "
    "PoissonRegressor(tol=1e-8).fit(X, P[:, 0]).predict(X); LinearRegression().fit(X, y).coef_",
    "discriminant_analysis": "LinearDiscriminantAnalysis().fit(X, c3).predict_proba(X); "
    "QuadraticDiscriminantAnalysis().fit(X, c).predict(X)",
    "naive_bayes": "GaussianNB().fit(X, c3).predict_proba(X)",
    "kernel_approximation": "Nystroem(n_components=9, random_state=0).fit_transform(X)",
    "model_selection": "train_test_split(X, y, random_state=0); "
    "cross_val_predict(sklearn.linear_model.Ridge(solver='svd'), X, y); "
    "cross_val_score(sklearn.linear_model.Ridge(solver='svd'), X, y)",
    "cluster": "KMeans(2, random_state=0).fit_predict(X)",
}


def programs() -> Iterator[tuple[str, str]]:
    """Where each program's function is, and the program."""
    for library, rooms in (("scipy", SCIPY), ("sklearn", SKLEARN)):
        for room, found in rooms.items():
            yield from ((f"{library}.{room}", text) for text in found.split("; "))


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    made = {n: rng.uniform(0.5, 2, s) for n, s in (("A", (6, 4)), ("B", (6, 4)), ("V", 32))}
    made["W"], made["I"] = rng.uniform(0.5, 2, 32), rng.uniform(size=(8, 8))
    half = rng.uniform(size=(4, 4))
    made["M"], made["X"] = half @ half.T + 4 * np.eye(4), rng.normal(size=(60, 5))
    made["y"] = made["X"] @ rng.normal(size=5) + 0.1 * rng.normal(size=60)
    made["P"], made["guess"] = np.abs(made["X"]) + 0.1, made["y"] + 0.1 * rng.normal(size=60)
    made["likely"] = 1 / (1 + np.exp(-made["guess"]))
    made = {n: a.astype("float32") for n, a in made.items()}
    made["c"], made["c3"] = (made["y"] > 0).astype("int64"), np.digitize(made["y"], [-1, 1])
    made["cp"] = np.where(rng.random(60) < 0.8, made["c"], 1 - made["c"])
    return made


def leaves(result: Any) -> list[Any]:
    """The arrays and numbers of a result."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    if isinstance(result, dict):
        return [leaf for _, part in sorted(result.items()) for leaf in leaves(part)]
    public = {k: v for k, v in getattr(result, "__dict__", {}).items() if k[0] != "_"}
    if not hasattr(result, "dtype") and public:
        return [leaf for _, part in sorted(public.items()) for leaf in leaves(part)]
    return [result] if hasattr(result, "dtype") or isinstance(result, (int, float)) else []


def outcome(room: str, program: str, device: str) -> str:
    """``ok``, or why the result is not the one that NumPy's arrays have."""
    import importlib

    import scipy.cluster.hierarchy
    import sklearn.linear_model

    import tensorbus as torch

    shared = {**vars(importlib.import_module(room)), "scipy": scipy, "sklearn": sklearn}
    plain = arrays()
    tensors = {n: torch.asarray(a.copy(), device=device) for n, a in plain.items()}
    theirs = leaves(eval(program, {**shared, **plain}))
    try:
        with sklearn.config_context(array_api_dispatch=True):
            ours = leaves(eval(program, {**shared, **tensors}))
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    if len(ours) != len(theirs) or not ours:
        return f"{len(ours)} results instead of {len(theirs)}"
    if all(isinstance(a, np.ndarray | np.generic) and not isinstance(a, float) for a in ours):
        return "NumPy's"
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, torch.Tensor):
            if a.ndim and a.device.type != device:
                return f"a result on {a.device}"
            a = a.cpu().numpy()
        if np.shape(a) != np.shape(b) or not np.allclose(a, b, 2e-3, 1e-4, equal_nan=True):
            return f"{np.ravel(a)[:3]} instead of {np.ravel(b)[:3]}"
    return "ok"


def summary(found: dict[str, str]) -> dict[str, dict[str, bool]]:
    """For each room its functions, and whether each program of theirs is ``ok``."""
    rooms: dict[str, dict[str, bool]] = {}
    for room, text in programs():
        functions, name = rooms.setdefault(room, {}), text.split("(")[0]
        functions[name] = functions.get(name, True) and found[f"{room}.{text}"] == "ok"
    return rooms


def main(device: str) -> None:
    os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported
    warnings.simplefilter("ignore")
    import tensorbus as torch

    torch.set_default_device(device)
    found = {f"{room}.{text}": outcome(room, text, device) for room, text in programs()}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
