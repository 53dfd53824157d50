"""Fixtures of the small cases."""

import pytest
from small_cases import MODELS

from splitmerge_cli.models.bernoulli import Bernoulli
from splitmerge_cli.models.emm import EMM


@pytest.fixture
def emm() -> EMM:
    return MODELS["emm"]()


@pytest.fixture
def bernoulli() -> Bernoulli:
    return MODELS["bernoulli"]()


@pytest.fixture(params=MODELS)
def build(request):
    """Makes one of the models, the same each time."""
    return MODELS[request.param]


@pytest.fixture
def model(build):
    return build()


@pytest.fixture(params=[name for name, build in MODELS.items() if not build().coupled])
def independent(request):
    """One of the models in which the likelihood of a cluster does not depend on the others."""
    return MODELS[request.param]()
