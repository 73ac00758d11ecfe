"""Generators of exchangeable rows: heavy tails, skew, ties, counts, and residuals that are mostly 0."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one or several repetitions, compared by identity.

    X has the shape (..., n, d); y, prediction, groups, weights and clusters have (..., n).
    """

    X: np.ndarray
    y: np.ndarray
    prediction: np.ndarray
    groups: np.ndarray | None = None
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None

    def __getitem__(self, part):
        return Rows(*(None if value is None else value[part] for value in vars(self).values()))

    def __len__(self):
        return len(self.y)

    @property
    def arguments(self):
        """The arguments of Localizer and Predictor."""
        return self.X, self.y, self.prediction


# Populations with tied scores: only the lower tail of their coverage has a known law.
TIED = ("rounded", "counts", "zeros")
WIDE = 40  # columns of the population "wide"


def _errors(population, random, x, shape):
    """Residuals y - f(x)."""
    scale = 0.1 + 0.3 * x
    normal = random.standard_normal(shape)
    match population:
        case "normal":
            return scale * normal
        case "heavy":  # no finite variance
            return scale * random.standard_t(1.5, shape)
        case "skewed":
            return scale * (np.exp(1.5 * normal) - 1)
        case "rounded":
            return np.round(scale * normal / 0.3) * 0.3
        case "zeros":
            return np.where(random.random(shape) < 0.6, 0.0, scale * random.standard_t(1.5, shape))
        case "counts":
            mean = 1 + 2 * x
            return random.poisson(mean) - mean
    raise ValueError(population)


def draw(population, random, shape, *, groups=None, tilted=False):
    """Rows of a population.

    `groups` (n,) is the group of each row; the errors of groups 0, 1, 2, ... are in the ratio 1 : 4 : 16 : ... `tilted`
    rows have x with density x / 8 instead of 1 / 4, so x / 2 is their likelihood ratio.
    """
    if population == "wide":
        X = random.standard_normal((*shape, WIDE))
        prediction = np.zeros(shape)
        return Rows(X, X.sum(axis=-1) + random.standard_normal(shape), prediction)
    u = random.random(shape)
    x = 4 * np.sqrt(u) if tilted else 4 * u
    noise = random.random(shape)
    if population in TIED:
        x, noise = np.floor(x), np.floor(2 * noise)
    errors = _errors(population, random, x, shape)
    # Rounded outcomes around one prediction: tied residuals have identical bits and are not binary fractions.
    f = {"counts": 1 + 2 * x, "rounded": 0 * x}.get(population, x)
    rows = Rows(np.stack([x, noise], axis=-1), f + errors, f)
    if groups is None:
        return rows
    groups = np.broadcast_to(np.asarray(groups), shape)
    return replace(rows, y=f + errors * 4.0 ** (groups % 3), groups=groups)


def with_likelihood_ratios(rows):
    """Rows with the weights that correct for tilting."""
    return replace(rows, weights=rows.X[..., 0] / 2)


FIRST_CLUSTER = 10_000  # number of the first calibration cluster; those of fitting rows begin with 0
COPIES = 5  # rows of the larger clusters of repeated_as_clusters


def repeated_as_clusters(rows):
    """Each of n rows as a cluster of equal rows, of shape (..., 3 n): the half of the rows with the smaller errors have
    COPIES rows, the others one.

    All rows of a cluster have one score, so a quantile in which every cluster counts once has the law of n rows,
    whatever the sizes are. A quantile that counts rows is too small.
    """
    n = rows.y.shape[-1]
    order = np.argsort(np.abs(rows.y - rows.prediction), axis=-1)
    places = np.concatenate([np.repeat(order[..., : n // 2], COPIES, axis=-1), order[..., n // 2 :]], axis=-1)

    def take(values):
        return np.take_along_axis(
            values, places.reshape(places.shape + (1,) * (values.ndim - places.ndim)), places.ndim - 1
        )

    return Rows(take(rows.X), take(rows.y), take(rows.prediction), clusters=FIRST_CLUSTER + places)
