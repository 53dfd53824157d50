"""The options with which the small cases of models are checked."""

from typing import Any

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "Bernoulli": [{}, {"concentration": "gamma(2,1)"}, {"missing": True}, {"power": 0.4}],
    "Lines": [
        {},
        {"noise": "nig"},
        {"concentration": "gamma(2,1)"},
        {"conjugate": False, "candidates": [[0.0, 1.0], [1.0, -0.5]]},
        {"conjugate": False, "candidates": [[0.0, 1.0], [1.0, -0.5]], "refresh": "metropolis"},
        {"conjugate": False},
        {"conjugate": False, "noise": "nig", "refresh": "metropolis"},
    ],
    "Gaussian": [
        *({"covariance": covariance} for covariance in ("diag", "iso", "full")),
        *({"covariance": covariance, "sparse": True} for covariance in ("diag", "iso")),
        {"covariance": "diag", "b0": "gamma(2,3)", "kappa0": "gamma(2,4)", "concentration": "gamma(2,1)"},
        {"covariance": "iso", "b0": "gamma(1.5,3)"},
        {"covariance": "full", "b0": "gamma(2,3)", "kappa0": "gamma(2,4)"},
        {"covariance": "full", "resolution": [0.5, 2.0]},
        {"covariance": "full", "power": 0.4},
        *({"covariance": covariance, "tails": "t"} for covariance in ("diag", "iso", "full")),
        {"covariance": "full", "resolution": [2.0, 0.0], "missing": True, "b0": 0.05, "kappa0": 0.2},
        {"covariance": "diag", "select": True},
        {"covariance": "diag", "select": True, "missing": True},
        {"covariance": "diag", "missing": True},
        {"covariance": "diag", "missing": True, "b0": "gamma(2,3)", "kappa0": "gamma(2,4)"},
    ],
    "Mixed": [
        {},
        {"complete": True},
        {"concentration": "gamma(2,1)"},
        {"resolution": [0.5, 2.0]},
        {"covariance": "full", "complete": True},
        {"covariance": "full", "resolution": [2.0, 0.0], "b0": 0.05},
        {"power": 0.4},
        {"tails": "t", "resolution": [0.5, 2.0]},
        {"tails": "t", "covariance": "full", "complete": True},
        {"levels": "ordinal"},
        {"levels": "ordinal", "complete": True, "power": 0.4},
        {"levels": "ordinal", "select": True},
    ],
    "GammaPoisson": [
        {},
        {"concentration": "gamma(2,1)"},
        {"power": 0.4},
        {"exposure": [0.5, 2.0, 1.25, 3.0]},
        {"exposure": [0.5, 2.0, 1.25, 3.0], "power": 0.4},
    ],
    "Multinomial": [{}, {"concentration": "gamma(2,1)"}, {"power": 0.4}],
    "OverdispersedMultinomial": [{}, {"concentration": "gamma(2,1)"}],
    "IRM": [{}, {"concentration": "gamma(2,1)"}],
    "HDP": [{}, {"gamma": 0.3, "alpha0": 6.0}, {"gamma": "gamma(2,1)", "alpha0": "gamma(2,1)"}],
}
"""Options of the model that ``smcmc verify`` goes through when none are given."""
