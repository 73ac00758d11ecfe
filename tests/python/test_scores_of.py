"""Calibrations know whose scores they hold: those of another localizer, or of the same one fitted again, are refused."""

import pickle

import numpy as np
import pytest

from widthwise import Calibration, Localizer, Predictor

OTHER = "scores of another model"


def rows(n, scale, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + scale * rng.normal(size=n), X[:, 0]


def localizer(scale, seed):
    return Localizer(score_transform="identity").fit(*rows(200, scale, seed))


@pytest.fixture(scope="module")
def old():
    return localizer(4.0, 0)


@pytest.fixture(scope="module")
def new():
    return localizer(1.0, 1)


def kept_in_every_way(calibration):
    """The calibration, and copies of it by every way that calibrations travel."""
    return [
        calibration,
        pickle.loads(pickle.dumps(calibration)),
        Calibration.from_bytes(calibration.to_bytes()),
        Calibration().merge(calibration),
    ]


def test_scores_of_another_localizer_are_refused(old, new):
    fresh, more = rows(100, 1.0, 2), rows(100, 1.0, 3)
    for wrong in kept_in_every_way(old.calibrate(*fresh)):
        with pytest.raises(ValueError, match=OTHER):
            Predictor(new, wrong)
        with pytest.raises(ValueError, match=OTHER):
            new.calibrate(*more, calibration=wrong)
        right = new.calibrate(*more)
        with pytest.raises(ValueError, match=OTHER):
            right.merge(wrong)
        with pytest.raises(ValueError, match=OTHER):
            wrong.merge(right)
        assert len(right) == len(wrong) == 100  # a refused merge changes nothing


def test_scores_of_the_same_localizer_are_accepted(new):
    fresh, more = rows(100, 1.0, 2), rows(100, 1.0, 3)
    expected = new.calibrate(*more, calibration=new.calibrate(*fresh))
    for right in kept_in_every_way(new.calibrate(*fresh)):
        assert new.calibrate(*more, calibration=right) == expected
    assert new.calibrate(*fresh).merge(pickle.loads(pickle.dumps(new)).calibrate(*more)) == expected
    assert Predictor(new, expected).calibration == expected


def test_a_localizer_that_is_fitted_again_is_another_one():
    refitted = localizer(1.0, 1)
    before = refitted.calibrate(*rows(100, 1.0, 2))
    assert Predictor(refitted, before).calibration == before
    refitted.fit(*rows(200, 1.0, 4))  # the same unit, the same transform, other predictions and errors
    with pytest.raises(ValueError, match="this model before it was fitted again"):
        Predictor(refitted, before)


def test_rows_that_fitted_the_localizer_later_are_refused(new):
    fresh = rows(100, 1.0, 2)
    calibration = Calibration().add(new.scores(*fresh))
    assert len(Predictor(new, calibration).calibration) == 100
    X, y, y_pred = fresh  # without a learnt transform, scores depend on the residuals alone
    scored = Localizer(score_transform="identity").fit(X + 1, y, y_pred).calibrate(*fresh)
    with pytest.raises(ValueError, match="used to fit the model"):
        Predictor(Localizer(score_transform="identity").fit(*fresh), scored)


def test_a_predictors_own_calibration_keeps_the_fingerprint(old, new):
    calibration = Predictor(new, new.calibrate(*rows(100, 1.0, 2))).calibration
    with pytest.raises(ValueError, match=OTHER):
        Predictor(old, calibration)
    more = Predictor(new, calibration).calibrated(*rows(100, 1.0, 3)).calibration
    assert Predictor(new, more).calibration == more


def test_scores_of_the_user_have_no_fingerprint(old, new):
    fresh = rows(100, 1.0, 2)
    own = Calibration().add(new.scores(*fresh))
    assert Calibration.from_bytes(own.to_bytes()) == own
    for one in (old, new):
        assert len(Predictor(one, own).calibration) == 100
    mixed = Calibration().add([1.0, 2.0]).merge(new.calibrate(*fresh))
    with pytest.raises(ValueError, match=OTHER):
        Predictor(old, mixed)


def calibrations():
    """Calibrations with rows of the numbers 0 to 9, and the arguments of these rows."""
    of_rows = {
        "plain": {},
        "groups": {"groups": ["a", "b"] * 5},
        "integers": {"groups": [1, 2] * 5},
        "clusters": {"clusters": ["a", "b"] * 5},
        "weights": {"weights": np.arange(1.0, 11.0)},
        "both": {"groups": ["a", "b"] * 5, "weights": np.arange(1.0, 11.0)},
    }
    return [pytest.param(given, id=name) for name, given in of_rows.items()]


@pytest.mark.parametrize("given", calibrations())
def test_a_row_added_twice_is_refused_and_the_calibration_stays_as_it_was(given):
    scores = np.arange(10.0)
    calibration = Calibration().add(scores, first_row=0, **given)
    before = calibration.to_bytes()
    copy = Calibration.from_bytes(before)
    shifted = {name: values[1:] + values[:1] if name == "groups" else values for name, values in given.items()}
    repeated = np.array([*range(20, 29), 20])
    for attempt in (
        lambda: calibration.add(scores, first_row=0, **given),
        lambda: calibration.add(scores, first_row=9, **shifted),
        lambda: calibration.add(scores, key=np.arange(9, -1, -1), **given),
        lambda: calibration.add(scores, key=repeated, **given),
        lambda: calibration.merge(copy),
        lambda: calibration.merge(calibration),
        lambda: Calibration().add(scores, key=repeated, **given),
    ):
        with pytest.raises(ValueError, match=r"row number \d+ was added twice, to (group|cluster) ") as error:
            attempt()
        assert error.value.row_number in (*range(10), 20)
        assert calibration.to_bytes() == before
        assert Calibration.from_bytes(before) == calibration
        assert len(pickle.loads(pickle.dumps(calibration))) == 10
    calibration.add(scores, **given)  # continues the numbers
    assert len(calibration) == 20
    assert Calibration.from_bytes(calibration.to_bytes()) == calibration


def test_keys_that_are_there_are_refused_and_nothing_is_added(new):
    fresh, more = rows(30, 1.0, 2), rows(30, 1.0, 3)  # too few to be recognised by their content
    keys = np.arange(30)
    scored = new.calibrate(*fresh, key=keys)
    before = scored.to_bytes()
    for again in (keys, np.r_[keys[:1], 100 + keys[1:]]):
        with pytest.raises(ValueError, match="was added twice"):
            new.calibrate(*more, key=again, calibration=scored)
        with pytest.raises(ValueError, match="was added twice"):
            Predictor(new, scored).calibrated(*more, key=again)
    with pytest.raises(ValueError, match="was added twice"):
        scored.merge(new.calibrate(*more, key=keys))
    assert scored.to_bytes() == before
    assert len(Predictor(new, Calibration.from_bytes(before)).calibration) == 30
