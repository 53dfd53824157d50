"""Shared small cases."""

import numpy as np
import pytest

from splitmerge_cli.models.bernoulli import Bernoulli
from splitmerge_cli.models.emm import EMM
from splitmerge_cli.samplers.birth_death import BirthDeath
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.rgsm import RGSM
from splitmerge_cli.samplers.rm import RM
from splitmerge_cli.samplers.sdds import SDDS
from splitmerge_cli.samplers.ss import SS

SAMPLERS = {
    "gibbs": (Gibbs, {}),
    "gibbs-site": (Gibbs, {"scan": "site"}),
    "birth_death": (BirthDeath, {}),
    "rm-cut": (RM, {"redistribution": "cut"}),
    "rm-coin": (RM, {"redistribution": "coin"}),
    "rgsm-0": (RGSM, {"t": 0}),
    "rgsm-1": (RGSM, {"t": 1}),
    "ss": (SS, {}),
    "sdds": (SDDS, {}),
    "ssdm": (SDDS, {"kernel": "ssdm"}),
    "smds": (SDDS, {"kernel": "smds"}),
}


@pytest.fixture
def emm() -> EMM:
    rng = np.random.default_rng(7)
    return EMM(rng.integers(4, size=60).astype(np.int32), n_tokens=5, alpha=0.3, mu=1.0, sigma=0.8, kmax=12)


@pytest.fixture
def bernoulli() -> Bernoulli:
    rng = np.random.default_rng(8)
    return Bernoulli(rng.integers(2, size=(60, 7)).astype(np.uint8), concentration=1.7, beta1=0.4, beta0=0.7)


@pytest.fixture(params=["emm", "bernoulli"])
def model(request):
    return request.getfixturevalue(request.param)
