"""Schema of ``summary.json``."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

Whole = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(ge=1)]


class Said(BaseModel):
    """A part of ``summary.json``; it may say more."""

    model_config = ConfigDict(strict=True, extra="allow")


class Clustered(Said):
    """A partition of the items."""

    criterion: str
    n_clusters: Size
    labels: list[Whole] | None = None


Share = Annotated[FiniteFloat, Field(ge=0, le=1)]


class Bound(Said):
    """An extreme partition of a credible ball."""

    n_clusters: Size
    distance: Annotated[FiniteFloat, Field(ge=0)]
    equals: Size
    labels: list[Whole] | None = None


class Ball(Said):
    """A credible ball around the point estimate."""

    loss: str
    level: Share
    radius: Annotated[FiniteFloat, Field(ge=0)]
    share: Share
    partitions: Size
    horizontal: Bound
    vertical_upper: Bound
    vertical_lower: Bound


class Judged(Said):
    """Whether the chains have converged."""

    converged: bool | None
    quantity: str | None
    rhat: FiniteFloat | None
    note: str | None


class Unlike(Said):
    """A quantity that the model does not describe."""

    subject: str
    quantity: str
    observed: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat


class Fit(Said):
    """Quick checks of the model, and the quantities that it does not describe."""

    draws: Whole
    checks: Whole
    unlike: list[Unlike]
    unchecked: str | None
    certainty: Share | None = None


class Groups(Said):
    """Groups of clusters without a gap of density between them."""

    gap: Annotated[FiniteFloat, Field(gt=0)]
    n_clusters: Size
    n_groups: Whole
    interval: Annotated[list[Whole], Field(min_length=2, max_length=2)]
    labels: list[Whole]


class JoinedBy(Said):
    """How the clusters of the run were joined."""

    gap: Annotated[FiniteFloat, Field(gt=0)]
    components: Annotated[list[Size], Field(min_length=2, max_length=2)]
    why_not: str | None


class HashTables(Said):
    """Contents of the hash tables in a run of ``lshsm``."""

    bits: Size
    empty: FiniteFloat
    empty_opposite: FiniteFloat
    without_direction: Whole


class Summary(Said):
    """Fields of every ``summary.json``."""

    run_id: str
    sampler: str
    model: str
    data: str
    schedule: str
    N: Size
    seed: Whole
    chains: Size
    iterations: list[Whole]
    seconds: list[FiniteFloat]
    diagnostics: dict[str, FiniteFloat | None]
    point_estimate: Clustered
    first_cluster: Whole = 0
    as_the_estimate: Share | None = None
    highest_log_joint: Clustered
    highest_log_lik: Clustered
    least_expected_vi: Clustered | None
    n_clusters_95: Annotated[list[Size], Field(min_length=2, max_length=2)] | None = None
    credible_ball: Ball | None = None
    density_groups: Groups | None = None
    joined: JoinedBy | None = None
    convergence: Judged | None = None
    fit: Fit | None = None
    hash_tables: HashTables | None = None
    cache: dict[str, list[Whole]] | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        """Lists are as long as what they list."""
        estimates = [self.point_estimate, self.highest_log_joint, self.highest_log_lik, self.least_expected_vi]
        ball = self.credible_ball
        bounds = [ball.horizontal, ball.vertical_upper, ball.vertical_lower] if ball else []
        partitions = [one.labels for one in [*estimates, *bounds] if one and one.labels is not None]
        if self.density_groups is not None:
            partitions.append(self.density_groups.labels)
        if any(len(labels) != self.N for labels in partitions):
            raise ValueError("labels of another number of items")
        if not len(self.iterations) == len(self.seconds) == self.chains:
            raise ValueError("another number of chains")
        return self
