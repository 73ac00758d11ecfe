"""Rows that calibrate a model with weights: their population is stated; rows to predict calibrate without weights."""

import numpy as np
import pandas
import pytest

from widthwise import Localizer, Predictor, WidthwiseRegressor


def rows(n, shift, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + np.array([shift, 0])
    return X, X[:, 1] + np.exp(X[:, 0] / 2) * rng.normal(size=n), X[:, 1]


def ratio(X):
    return np.exp(X[:, 0] - 0.5)


@pytest.fixture
def given():
    X, y, f = rows(600, 0, 0)
    model = WidthwiseRegressor(score_transform="identity", calibration_size=0.5, random_state=0, n_jobs=1)
    return model.fit(X, y, y_pred=f, weights=ratio(X))


@pytest.fixture
def learnt():
    X, y, f = rows(600, 0, 0)
    model = WidthwiseRegressor(score_transform="identity", calibration_size=0.5, random_state=0, n_jobs=1)
    return model.fit(X, y, y_pred=f, shift_to=rows(400, 1, 1)[0])


@pytest.mark.parametrize("kind", ["given", "learnt"])
def test_the_population_must_be_stated(kind, request):
    model = request.getfixturevalue(kind)
    X, y, f = rows(200, 1, 2)
    weights = {"weights": ratio(X)} if kind == "given" else {}
    for replace in (False, True):
        for use in (model.conformalize, model.predictor_.calibrated):
            with pytest.raises(ValueError, match="population of these rows must be stated.*'source'.*'target'"):
                use(X, y, y_pred=f, replace=replace, **weights)
    with pytest.raises(ValueError, match="shifted twice"):
        model.conformalize(X, y, y_pred=f, population="target", **weights)
    with pytest.raises(ValueError, match="population is 'new'; expected 'source' or 'target'"):
        model.conformalize(X, y, y_pred=f, population="new", **weights)


@pytest.mark.parametrize("kind", ["given", "learnt"])
def test_rows_to_predict_calibrate_without_weights(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    X, y, f = rows(200, 1, 2)
    model.conformalize(X, y, y_pred=f, replace=True, population="target")
    new, _, new_f = rows(50, 1, 3)
    plain = WidthwiseRegressor(score_transform="identity", calibration_size=0, random_state=0, n_jobs=1)
    other_X, other_y, other_f = rows(600, 0, 0)
    plain.fit(other_X, other_y, y_pred=other_f).conformalize(X, y, y_pred=f)
    # No weight is needed any more, and the quantile is that of rows that count equally.
    widths = [np.ptp(each.predict_interval(new, y_pred=new_f)[1], axis=1) for each in (model, plain)]
    assert np.allclose(*widths)
    with pytest.raises(ValueError, match="do not pass weights"):
        model.predict_interval(new, y_pred=new_f, weights=ratio(new))
    assert model.predictor_.guarantee_statement.startswith("marginal")
    model.save(tmp_path / "model.safetensors")
    assert "dropped" in Predictor.load(tmp_path / "model.safetensors")._model.notes["weights"]
    # From now on rows to predict are added; rows of the source population would be wrong.
    model.conformalize(*rows(50, 1, 4)[:2], y_pred=rows(50, 1, 4)[2], population="target")
    with pytest.raises(ValueError, match="has no weights"):
        model.conformalize(*rows(50, 0, 5)[:2], y_pred=rows(50, 0, 5)[2], population="source")


def test_source_rows_count_with_their_weights(given):
    X, y, f = rows(200, 0, 2)
    before = given.predictor_._model.calibration_rows
    given.conformalize(X, y, y_pred=f, weights=ratio(X), population="source")
    assert given.predictor_._model.calibration_rows == before + 200
    given.conformalize(X, y, y_pred=f, weights=ratio(X), population="source", replace=True)
    assert given.predictor_._model.calibration_rows == 200
    assert given.predictor_.guarantee_statement.startswith("weighted")


def test_localizers_with_weights(learnt, tmp_path):
    learnt.save(tmp_path / "model.safetensors")
    localizer = Localizer.load(tmp_path / "model.safetensors")
    source, target = rows(200, 0, 2), rows(200, 1, 3)
    with pytest.raises(ValueError, match="must be stated"):
        localizer.calibrate(*source)
    weighted = localizer.calibrate(*source, population="source")
    assert Predictor(localizer, weighted)._model.weighted
    alone = localizer.calibrate(*target, population="target")
    assert not Predictor(localizer, alone)._model.weighted
    localizer.calibrate(*rows(50, 1, 4), population="target", calibration=alone)
    assert len(Predictor(localizer, alone).calibration) == 250
    with pytest.raises(ValueError, match="shifted twice"):
        localizer.calibrate(*rows(50, 1, 5), population="target", calibration=weighted)
    with pytest.raises(ValueError, match="scores of another model"):
        localizer.calibrate(*rows(50, 0, 5), population="source", calibration=alone)
    with pytest.raises(ValueError, match="scores of another model"):
        weighted.merge(alone)


def test_dask_has_the_same_rule(learnt):
    dask_frame = pytest.importorskip("dask.dataframe")
    import widthwise.dask

    X, y, f = rows(200, 1, 2)
    names = learnt.predictor_.features
    frame = pandas.DataFrame(X, columns=names).assign(y=y, id=np.arange(200))
    frame[learnt.predictor_._model.prediction] = f
    parts = dask_frame.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match="must be stated"):
        widthwise.dask.calibrate(parts, learnt, key="id", target="y", replace=True)
    with pytest.raises(ValueError, match="shifted twice"):
        widthwise.dask.calibrate(parts, learnt, key="id", target="y", population="target")
    calibrated = widthwise.dask.calibrate(parts, learnt, key="id", target="y", replace=True, population="target")
    assert not calibrated._model.weighted
    expected = learnt.predictor_.calibrated(X, y, f, key=np.arange(200), replace=True, population="target")
    assert calibrated.calibration == expected.calibration


def test_the_warning_of_few_effective_rows_names_the_populations():
    X, y, f = rows(200, 0, 6)
    model = WidthwiseRegressor(score_transform="identity", calibration_size=0.5, random_state=0, n_jobs=1)
    with pytest.warns(UserWarning, match="Add rows of the population of the fitting rows, with their weights, or"):
        model.fit(X, y, y_pred=f, weights=np.exp(3 * X[:, 0]))
