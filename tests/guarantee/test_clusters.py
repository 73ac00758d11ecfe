"""Coverage of rows of new clusters whose sizes are related to their errors, and calibration with clusters that fitted.

15% of the patients have 50 visits and errors six times as large as those of the others, who have 2. Before rows counted,
90% intervals covered .540 of new rows; now .98 (each cluster counted once: .91 of clusters, .54 of rows). Calibration
with further visits of the patients of the fit gave .434 to .675 of new patients; now it is refused.

Every repetition calibrates again and measures one row of the new population, so the number of covered rows is a sum of
independent trials with a probability of at least the level, and the tolerance is a binomial tail.
"""

import os

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.tree import DecisionTreeRegressor

from widthwise import Calibration, WidthwiseRegressor

FULL = os.environ.get("WIDTHWISE_FULL") == "1"
LEVEL = 0.9
TAIL = 1e-6


def patients(rng, count):
    """Scores of visits, and their patients."""
    hard = rng.random(count) < 0.15
    cluster = np.repeat(np.arange(count), np.where(hard, 50, 2))
    return np.where(hard, 6.0, 1.0)[cluster] * np.abs(rng.normal(size=len(cluster))), cluster


def covered(trials, seed, **given):
    """How often the score of a row of a new cluster is at most the quantile: drawn by rows, and by clusters."""
    rng = np.random.default_rng(seed)
    by_row = by_cluster = 0
    share = 0.15 * 50 / (0.15 * 50 + 0.85 * 2)
    for _ in range(trials):
        scores, cluster = patients(rng, 60)
        calibration = Calibration().add(scores, clusters=cluster)
        for_rows, for_clusters = rng.random() < share, rng.random() < 0.15
        sizes = [50 if hard else 2 for hard in (for_rows, for_clusters)]
        draws = [(6.0 if hard else 1.0) * abs(rng.normal()) for hard in (for_rows, for_clusters)]
        exact = given.get("exact", False)
        options = {name: value for name, value in given.items() if name != "exact"}
        q = [calibration.quantile(LEVEL, **options, cluster_size=size if exact else None) for size in sizes]
        by_row += draws[0] <= q[0]
        by_cluster += draws[1] <= q[1]
    return by_row, by_cluster


@pytest.mark.parametrize("exact", [False, True])
def test_rows_of_new_clusters_are_covered(exact):
    trials = 20_000 if FULL else 2000
    by_row, _ = covered(trials, 1, exact=exact)
    # The largest known cluster bounds the new one unless none of 60 patients is hard, which has probability 6e-5.
    assert by_row >= binom.ppf(TAIL, trials, LEVEL - 0.85**60)


def test_clusters_counted_once_are_covered_and_their_rows_are_not():
    trials = 20_000 if FULL else 2000
    by_row, by_cluster = covered(trials, 2, cluster_coverage="clusters")
    assert by_cluster >= binom.ppf(TAIL, trials, LEVEL)
    assert by_row < binom.ppf(TAIL, trials, LEVEL)  # why rows count by default


def test_clusters_of_one_size_have_one_quantile():
    rng = np.random.default_rng(3)
    for size in (1, 7, 20):
        calibration = Calibration().add(rng.exponential(size=30 * size), clusters=np.repeat(np.arange(30), size))
        for level in (0.1, 0.5, 0.9, 0.95):
            assert calibration.quantile(level) == calibration.quantile(level, cluster_coverage="clusters")


def covered_in_a_group(trials, seed, *, by_group=True):
    """How often a row in group 1 of a new cluster is covered: drawn by rows, and by clusters.

    The rows of a patient may be in both groups, 60% of those of hard patients in group 1 and 20% of the others, so that
    some patients have none there. Errors are four times as large in group 1.
    """
    rng = np.random.default_rng(seed)
    by_row = by_cluster = 0
    in_group = {True: 0.15 * 50 * 0.6, False: 0.85 * 2 * 0.2}  # rows, by whether their patient is hard
    have_any = {True: 0.15 * (1 - 0.4**50), False: 0.85 * (1 - 0.8**2)}  # patients
    for _ in range(trials):
        scores, cluster = patients(rng, 60)
        group = rng.random(len(scores)) < np.where(np.bincount(cluster)[cluster] == 50, 0.6, 0.2)
        groups = group.astype(int) if by_group else None
        calibration = Calibration().add(np.where(group, 4.0, 1.0) * scores, groups=groups, clusters=cluster)
        of_row = {"group": 1 if by_group else None}
        hard = [rng.random() < shares[True] / sum(shares.values()) for shares in (in_group, have_any)]
        for_rows, for_clusters = (4 * (6.0 if h else 1.0) * abs(rng.normal()) for h in hard)
        by_row += for_rows <= calibration.quantile(LEVEL, cluster_size=50 if hard[0] else 2, **of_row)
        by_cluster += for_clusters <= calibration.quantile(LEVEL, cluster_coverage="clusters", **of_row)
    return by_row, by_cluster


def test_clusters_in_one_group():
    trials = 20_000 if FULL else 1000
    least = binom.ppf(TAIL, trials, LEVEL)
    assert min(covered_in_a_group(trials, 5)) >= least
    assert covered_in_a_group(trials, 6, by_group=False)[1] < least  # the fault: one quantile for both groups


def coverage_with_ratios(level, new_weight):
    """The exact coverage at a level with ratios of rows in clusters, and a new weight of new_weight(ratio).

    Each of ten clusters has two rows of one score with the ratio 1/4, and one of a larger score with the ratio 1/2.
    """
    ratios, place, total = np.array([0.25, 0.25, 0.5]), np.array([0, 0, 100]), 0.0
    for new in range(10):
        others = np.delete(np.arange(10), new)
        scores = (others[:, None] + place).astype(float).ravel()
        calibration = Calibration().add(scores, weights=np.tile(ratios, 9))
        inside = [
            s <= calibration.quantile(level, test_weight=new_weight(w))
            for w, s in zip(ratios, new + place, strict=True)
        ]
        total += ratios @ inside
    return total / 10


def test_ratios_of_rows_do_not_weigh_clusters():
    assert coverage_with_ratios(0.305, lambda ratio: 3 * ratio) == pytest.approx(0.3)
    assert coverage_with_ratios(0.305, lambda ratio: 1.0) == pytest.approx(0.35)
    for level in np.arange(1, 100) / 100:
        assert coverage_with_ratios(level, lambda ratio: 1.0) >= level - 1e-12


class Patients:
    """Patients with features and an effect of their own, which a tree recognises."""

    def __init__(self, rng, count, prefix):
        self.rng, self.X, self.effect = rng, rng.normal(size=(count, 2)), rng.normal(size=count)
        self.labels = np.array([f"{prefix}{k}" for k in range(count)])

    def visits(self, each):
        k = np.repeat(np.arange(len(self.labels)), each)
        y = self.X[k, 0] + self.effect[k] + 0.5 * self.rng.normal(size=len(k))
        return self.X[k] + 1e-9 * self.rng.normal(size=(len(k), 2)), y, self.labels[k]


@pytest.mark.parametrize("size", [None, 0])
@pytest.mark.parametrize("replace", [False, True])
def test_clusters_that_fitted_are_refused(size, replace):
    rng = np.random.default_rng(4)
    known = Patients(rng, 60, "k")
    options = {} if size is None else {"calibration_size": size}
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    model = WidthwiseRegressor(tree, score_transform="identity", random_state=0, n_jobs=1, **options)
    X, y, clusters = known.visits(20)
    model.fit(X, y, clusters=clusters)
    before = model.predictor_.calibration.rows_seen
    X, y, clusters = known.visits(20)
    found = 45 if size is None else 60
    with pytest.raises(ValueError, match=f"{found} clusters of these rows, in 'cluster', were used to fit the model"):
        model.conformalize(X, y, clusters=clusters, replace=replace)
    assert model.predictor_.calibration.rows_seen == before
    X, y, clusters = Patients(rng, 20, "n").visits(20)
    model.conformalize(X, y, clusters=clusters, replace=replace)
    assert model.predictor_.calibration.clusters == 20 + (0 if replace or size == 0 else 15)
