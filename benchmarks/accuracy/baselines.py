"""What the predictor is held against: simple laws of the same kernels, fitted on the same rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from latpred.fitting.fit_inputs import row_weights
from latpred.fitting.kernel_terms import KINDS, KernelTable

# A table of its own needs so many rows; else what all the rows of its runtime say, or all rows.
MIN_ROWS = 20
TABLE_BY = (
    ("device", "runtime", "runtime_version", "precision", "layout"),
    ("device", "runtime", "precision", "layout"),
    ("runtime", "precision"),
    ("runtime",),
    (),
)


def totals(table: KernelTable) -> dict[str, np.ndarray]:
    """[N] each, seconds: what the kernels of a call add up to at the device's peaks."""
    call = table.call()

    def of_calls(seconds: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(call, seconds * table.count, table.size))

    compute, bandwidth = table.term("compute"), table.term("bandwidth")
    activations, weights = table.term("activation_bytes") / bandwidth, table.term("weight_bytes") / bandwidth
    bound = np.maximum(compute, activations + weights)
    kind = table.input_kind()[table.input]
    return {
        "compute": of_calls(compute),
        "activations": of_calls(activations),
        "weights": of_calls(weights),
        "roofline": of_calls(bound),
        "compute bound": of_calls(np.where(compute > activations + weights, bound, 0)),
        **{f"kind {name}": of_calls(np.where(kind == index, bound, 0)) for index, name in enumerate(KINDS)},
        "kernels": of_calls(np.ones(len(compute))),
    }


def _keys(table: KernelTable, by: tuple[str, ...]) -> np.ndarray:
    return np.array(["|".join(values) for values in table.rows[list(by)].astype(str).to_numpy()]) if by else (
        np.full(table.size, "")
    )  # fmt: skip


def _by_table(training: KernelTable, test: KernelTable, fit: Callable[[np.ndarray], object]) -> list[object]:
    """For each row of `test` what `fit` made of the rows of `training` (a mask) in the narrowest table with enough."""
    found: list[object] = [None] * test.size
    for by in TABLE_BY:
        known, asked = _keys(training, by), _keys(test, by)
        for key in np.unique(asked):
            places = [index for index in np.flatnonzero(asked == key) if found[index] is None]
            inside = known == key
            if places and inside.sum() >= (MIN_ROWS if by else 1):
                fitted = fit(inside)
                for index in places:
                    found[index] = fitted
    return found


def roofline(_training: KernelTable, test: KernelTable) -> np.ndarray:
    """Every kernel at its device's peak."""
    return totals(test)["roofline"]


def roofline_x_constant(training: KernelTable, test: KernelTable) -> np.ndarray:
    """The same times one factor for each table: the median."""
    ratio = training.latency_s / totals(training)["roofline"]
    factors = _by_table(training, test, lambda inside: float(np.median(ratio[inside])))
    return roofline(training, test) * np.array(factors, dtype=float)


def _linear(columns: tuple[str, ...]) -> Callable[[KernelTable, KernelTable], np.ndarray]:
    def predict(training: KernelTable, test: KernelTable) -> np.ndarray:
        from scipy.optimize import nnls

        def design(table: KernelTable) -> np.ndarray:
            of_table = totals(table)
            return np.stack([*(of_table[name] for name in columns), np.full(table.size, 1e-3)], axis=1)

        known, asked = design(training), design(test)

        def fit(inside: np.ndarray) -> np.ndarray:
            scaled = known[inside] / training.latency_s[inside, None]  # least squares of the relative error
            return np.asarray(nnls(scaled, np.ones(len(scaled)))[0])

        slopes = np.stack([np.asarray(row) for row in _by_table(training, test, fit)])
        return np.maximum((asked * slopes).sum(axis=1), 1e-7)

    return predict


def _features(table: KernelTable, categories: dict[str, list[str]]) -> np.ndarray:
    of_table = totals(table)
    bound = of_table["roofline"]
    shares = [of_table[name] / bound for name in of_table if name.startswith("kind ") or name == "compute bound"]
    numbers = [
        np.log(bound),
        np.log(of_table["kernels"]),
        np.log(table.rows.batch),
        np.log(bound / table.rows.launches),
    ]
    places = []
    for name, values in categories.items():
        index = {value: float(place) for place, value in enumerate(values)}
        places.append(table.rows[name].map(index).to_numpy(dtype=float))  # not a number: never seen
    return np.stack([*shares, *(np.asarray(column) for column in numbers), *places], axis=1)


def trees(training: KernelTable, test: KernelTable) -> np.ndarray:
    """Gradient-boosted trees of what a network's roofline is made of, on the logarithm of measured over roofline."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    named = TABLE_BY[0]
    categories = {name: sorted(training.rows[name].unique()) for name in named}
    known = _features(training, categories)
    model = HistGradientBoostingRegressor(
        max_iter=400,
        learning_rate=0.06,
        random_state=0,
        categorical_features=list(range(known.shape[1] - len(named), known.shape[1])),
    )
    ratio = np.log(training.latency_s / totals(training)["roofline"])
    model.fit(known, ratio, sample_weight=row_weights(training.rows))
    return roofline(training, test) * np.exp(np.asarray(model.predict(_features(test, categories))))


def has_trees() -> bool:
    """Whether scikit-learn is there."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        return False
    return True


BASELINES: dict[str, Callable[[KernelTable, KernelTable], np.ndarray]] = {
    "roofline": roofline,
    "roofline x constant": roofline_x_constant,
    "linear: FLOPs, parameters": _linear(("compute", "weights")),
    "linear: FLOPs, activations, parameters": _linear(("compute", "activations", "weights")),
    "gradient-boosted trees": trees,
}
