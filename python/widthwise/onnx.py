"""Export models as ONNX graphs, to predict intervals without widthwise or Python.

>>> import widthwise.onnx                                                               # doctest: +SKIP
>>> widthwise.onnx.export(model, "homes.onnx")                                          # doctest: +SKIP
>>> session = onnxruntime.InferenceSession("homes.onnx")                                # doctest: +SKIP
>>> prediction, lower, upper = session.run(None, {"x": X_new.astype(numpy.float32)})    # doctest: +SKIP

The graph contains the localizer, the calibrated quantiles and, if the model has one, the base model. It needs
``pip install 'widthwise[onnx]'`` to write, and a runtime with the operators of ai.onnx.ml to run.
"""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    raise ImportError("widthwise.onnx needs onnx: pip install 'widthwise[onnx]'") from error

from . import __version__, _core
from ._batches import predictor_of
from ._model import HOW_TO_CALIBRATE, not_fitted
from ._options import Levels, file_of
from ._predictor import Predictor
from ._tables import Floats

if TYPE_CHECKING:
    from ._regressor import WidthwiseRegressor

__all__ = ["export"]

# Versions that ONNX Runtime has read since 2022.
_IR_VERSION = 8
_OPSETS = {"": 17, "ai.onnx.ml": 3}

# Half-widths are rounded up by this share. Scores are computed with the exponential of the library, half-widths with
# that of the runtime. The share exceeds their difference, so that an outcome exactly at a bound stays inside.
_SLACK = 2.0**-46

# The library limits exponents to +-700, so that exponentials are positive and finite.
_EXPONENT_BOUND = 700.0

# Number of trees added at a time; a row needs memory for a few times as many numbers.
_TREES_AT_ONCE = 64


def export(
    model: WidthwiseRegressor | Predictor | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    confidence_level: Levels | None = None,
) -> onnx.ModelProto:
    """Export a model as an ONNX graph that computes its intervals.

    Parameters
    ----------
    model : WidthwiseRegressor, Predictor or path-like
        Fitted and calibrated model, or a model file written by ``widthwise fit`` or ``save``.
    path : path-like, optional
        File to write the graph to.
    confidence_level : float or list of k floats, optional
        Levels of the graph; by default the levels of the model.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ValueError
        For models that a graph cannot represent: calibrations with groups or weights, and the transform mixture.

    Notes
    -----
    Inputs:

    - ``x`` of shape (N, d), the columns in the order of ``features``, NaN where a value is missing. float32, in
      which trees compare numbers; double when the model has a network, which subtracts the centre first. A category
      is its position in the list of ``categories``, from 0; NaN if it is not in the list.
    - ``prediction`` of shape (N,), double, or (N, 2) of lower and upper quantiles: only if the model has no base model.
      The estimator of ``WidthwiseRegressor(estimator)`` is not in the graph: convert it separately, for example with
      skl2onnx, and pass its predictions.

    Outputs, all double:

    - ``prediction`` of shape (N,): only if the model has a base model.
    - ``lower`` and ``upper`` of shape (N, k), one column per level. Infinite, or the ends of the outcome range, if
      there is no finite bound: with too few calibration rows or a prediction of NaN.

    An interval of the graph contains that of the library. It has the same bounds if the model has an ``outcome_step``,
    except where a bound is a multiple up to rounding errors, or where no multiple lies between the bounds. Trees and networks give bit-identical results, because the
    graph adds in the order of the library. Half-widths are then rounded up by a relative 2^-46 (1.4e-14), more than the
    exponentials of a runtime and of the library differ. This holds for runtimes that follow IEEE 754 in single and
    double precision for each operator, as ONNX Runtime does on CPUs. For networks, this order takes 20 to 60 times as
    long as matrix products: 1.2 s instead of 0.03 s for 10,000 rows and five layers of 64 units.

    The metadata of the graph name ``features``, ``categories`` (by feature) and ``levels`` (as JSON), ``guarantee``,
    ``target``, ``transform``, ``goal`` and ``widthwise_version``. Export again after adding calibration rows.

    Examples
    --------
    >>> import numpy as np
    >>> import widthwise.onnx
    >>> from widthwise import Localizer, Predictor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, (3000, 1))
    >>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=3000)
    >>> y_pred = X[:, 0]                                                    # of a model that has not seen these rows
    >>> localizer = Localizer(n_jobs=1).fit(X[:2000], y[:2000], y_pred[:2000])
    >>> predictor = Predictor(localizer, localizer.calibrate(X[2000:], y[2000:], y_pred[2000:]))
    >>> graph = widthwise.onnx.export(predictor, confidence_level=[0.8, 0.9])
    >>> [value.name for value in graph.graph.input], [value.name for value in graph.graph.output]
    (['x', 'prediction'], ['lower', 'upper'])
    """
    proto = _model_proto(predictor_of(model), confidence_level)
    if path is not None:
        _core.write_file(file_of(path), proto.SerializeToString())
    return proto


class _Graph:
    """Builder of graph nodes and constants; values are referred to by name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], onnx.TensorProto] = {}

    def add(self, operator: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Apply an operator; returns its output."""
        name = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        array = np.ascontiguousarray(values, dtype=dtype).reshape(np.shape(values))
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = numpy_helper.from_array(array, f"constant_{len(self.constants)}")
        return str(self.constants[key].name)

    def cast(self, value: str, to: int) -> str:
        return self.add("Cast", value, to=to)

    def column(self, matrix: str, j: int) -> str:
        """Column j of a matrix, as a matrix."""
        return self.add("Gather", matrix, self.constant([j], np.int64), axis=1)

    def columns(self, matrix: str, count: int) -> list[str]:
        """All columns of a matrix, as matrices."""
        if count == 1:
            return [matrix]
        names = [f"Split_{len(self.nodes)}_{j}" for j in range(count)]
        self.nodes.append(helper.make_node("Split", [matrix], names, axis=1))
        return names

    def where(self, condition: str, value: Any, otherwise: str) -> str:
        """`value` where the condition holds. Does not rely on how a runtime handles NaN in Max, Min or Clip."""
        return self.add("Where", condition, self.constant(value), otherwise)

    def at_least(self, value: str, bound: float) -> str:
        """The larger of the two; NaN stays NaN."""
        return self.where(self.add("Less", value, self.constant(bound)), bound, value)

    def at_most(self, value: str, bound: float) -> str:
        """The smaller of the two; NaN stays NaN."""
        return self.where(self.add("Greater", value, self.constant(bound)), bound, value)

    def exp(self, value: str) -> str:
        return self.add("Exp", self.at_most(self.at_least(value, -_EXPONENT_BOUND), _EXPONENT_BOUND))


def _model_proto(predictor: Predictor, confidence_level: Levels | None) -> onnx.ModelProto:
    model = predictor._model
    base: Any = model.base_arrays()
    localizer: Any = model.localizer_arrays()
    _refuse(model)
    levels = predictor._checked_levels(confidence_level)
    sorted_scores = model.calibration.sorted(model.guarantee, model.cluster_coverage, model.cluster_bound)
    quantiles = np.array([[sorted_scores.quantile(level) for level in levels]])

    graph = _Graph()
    functions = [function for function in (base, localizer) if function is not None]
    in_double = any(_ROW_FUNCTIONS[function["kind"]][0] == TensorProto.DOUBLE for function in functions)
    inputs = [
        helper.make_tensor_value_info(
            "x",
            TensorProto.DOUBLE if in_double else TensorProto.FLOAT,
            ["N", len(model.features)],
            "a column for each feature: " + ", ".join(model.features),
        )
    ]
    outputs = []
    pairs = model.predicts_quantiles
    row_axis = graph.constant([1], np.int64)
    if base is None:
        inputs.append(_prediction_info(model, [2] if pairs else []))
        predicted = "prediction" if pairs else graph.add("Unsqueeze", "prediction", row_axis)
    else:
        predicted = graph.cast(_evaluate(graph, base, ["x"]), TensorProto.DOUBLE)
    *half, f = _centre(graph, predicted) if pairs else [predicted]
    if base is not None:
        graph.add("Squeeze", f, row_axis, output="prediction")
        outputs.append(_prediction_info(model, []))
    parameters: list[str] = []
    if localizer is not None:
        numbers = graph.cast(_evaluate(graph, localizer, ["x", *half, f]), TensorProto.DOUBLE)
        parameters = [graph.column(numbers, j) for j in range(localizer["outputs"])]
    _add_bounds(graph, model, f, parameters, quantiles)
    outputs += [
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["N", len(levels)], f"{name} bounds of {model.target}")
        for name in ("lower", "upper")
    ]
    proto = helper.make_model(
        helper.make_graph(graph.nodes, "widthwise", inputs, outputs, list(graph.constants.values())),
        producer_name="widthwise",
        producer_version=__version__,
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()],
    )
    metadata = {
        "features": json.dumps(model.features),
        "levels": json.dumps(levels),
        "guarantee": model.guarantee,
        "target": model.target,
        "transform": model.transform,
        "goal": model.notes.get("goal", ""),
        "widthwise_version": __version__,
    }
    categories = {name: labels for name, labels in zip(model.features, model.categories, strict=True) if labels}
    metadata |= {"categories": json.dumps(categories)} if categories else {}
    helper.set_model_props(proto, metadata)
    return proto


def _prediction_info(model: _core.Model, columns: list[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(
        "prediction", TensorProto.DOUBLE, ["N", *columns], "prediction of " + model.target
    )


def _centre(graph: _Graph, pairs: str) -> list[str]:
    """Half the distance of lower and upper quantiles of shape (N, 2), and their centre, as the library computes them."""
    halved = graph.add("Mul", pairs, graph.constant([0.5], np.float64))
    lower, upper = graph.column(halved, 0), graph.column(halved, 1)
    return [graph.add("Abs", graph.add("Sub", upper, lower)), graph.add("Add", lower, upper)]


def _refuse(model: _core.Model) -> None:
    """Raise if the model cannot be exported, with an alternative."""
    if model.cross_calibrated:
        raise ValueError("a cross-calibrated model has no ONNX form; fit with calibration='split'")
    if why := model.uncalibrated():
        raise not_fitted(f"{why}: {HOW_TO_CALIBRATE}")
    if model.transform not in _INVERSES:
        raise ValueError(
            f"the transform {model.transform} has no closed-form inverse, which a graph needs; fit with "
            f"score_transform='auto' or one of {', '.join(_INVERSES)}"
        )
    if model.weighted:
        raise ValueError(
            "the calibration has weights, but a graph has one quantile for all rows; export a model fitted without "
            "weights"
        )
    if model.calibration.grouped:
        raise ValueError(
            "the calibration has groups, but a graph has one quantile for all rows; export a predictor calibrated "
            "without groups, predictor.calibrated(X, y, y_pred, replace=True) if it was fitted without groups, or one "
            "graph per group"
        )


# ---- row functions


def _evaluate(graph: _Graph, function: Any, columns: list[str]) -> str:
    """Evaluate a row function on the concatenated columns; float32 of shape (N, outputs)."""
    seen_as, evaluate = _ROW_FUNCTIONS[function["kind"]]
    return evaluate(graph, function, _side_by_side(graph, [graph.cast(part, seen_as) for part in columns]))


def _side_by_side(graph: _Graph, parts: list[str]) -> str:
    return graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _trees(graph: _Graph, arrays: Any, x: str) -> str:
    """The sums of trees in single precision and in the order of the library: base first, then tree by tree.

    Predictions must be bit-identical to the library, because the localizer compares them with thresholds: a difference
    in the last bit can change the width. A runtime with several threads adds the trees of one operator in any order.
    Each tree is therefore an output, and CumSum adds the outputs, a limited number at a time to save memory.
    """
    if "set_nodes" in arrays:
        arrays, x = _with_sets(graph, arrays, x)
    sums = []
    for output, base in enumerate(arrays["base"]):
        trees = np.flatnonzero(arrays["output_of"] == output)
        total = _total(graph, [_tree_block(graph, arrays, trees[:_TREES_AT_ONCE], x, [base])])
        for first in range(_TREES_AT_ONCE, len(trees), _TREES_AT_ONCE):
            total = _total(graph, [total, _tree_block(graph, arrays, trees[first : first + _TREES_AT_ONCE], x)])
        sums.append(total)
    return _side_by_side(graph, sums)


def _with_sets(graph: _Graph, arrays: Any, x: str) -> tuple[Any, str]:
    """Trees and columns in which splits by category compare a column of their own: 1 if the category is in the set,
    which goes right, 0 if it is not, and NaN if it is missing."""
    feature, value = arrays["feature"].copy(), arrays["value"].copy()
    nodes, ends = arrays["set_nodes"].astype(np.int64), arrays["set_ends"].astype(np.int64)
    words = np.split(arrays["set_words"].astype("<u4"), ends[:-1])
    parts, columns = [x], int(arrays["inputs"])
    for j in np.unique(arrays["feature"][nodes]):
        sets = np.flatnonzero(arrays["feature"][nodes] == j)
        bits = [np.unpackbits(words[one].view(np.uint8), bitorder="little") for one in sets]
        size = max(len(one) for one in bits)
        table = np.zeros((size + 2, len(sets)), np.float32)  # then no category, then a missing value
        for column, one in enumerate(bits):
            table[: len(one), column] = one
        table[size + 1] = np.nan
        parts.append(graph.add("Gather", graph.constant(table, np.float32), _place(graph, x, int(j), size), axis=0))
        feature[nodes[sets]] = columns + np.arange(len(sets))
        columns += len(sets)
    value[nodes] = 0.5
    return {**arrays, "feature": feature, "value": value}, _side_by_side(graph, parts)


def _place(graph: _Graph, x: str, column: int, size: int) -> str:
    """The row of a table of `size` categories for each value of a column: the category; `size` if it is none, and the
    next one if it is missing."""
    code = graph.add("Gather", x, graph.constant(column, np.int64), axis=1)
    is_category = graph.add(
        "And",
        graph.add("GreaterOrEqual", code, graph.constant(0, np.float32)),
        graph.add("Less", code, graph.constant(size, np.float32)),
    )
    place = graph.cast(graph.add("Where", is_category, code, graph.constant(size, np.float32)), TensorProto.INT64)
    return graph.add("Where", graph.add("IsNaN", code), graph.constant(size + 1, np.int64), place)


def _total(graph: _Graph, terms: list[str]) -> str:
    """The sum of all columns, from the first to the last."""
    return graph.column(graph.add("CumSum", _side_by_side(graph, terms), graph.constant(1, np.int64)), -1)


def _tree_block(graph: _Graph, arrays: Any, trees: NDArray[Any], x: str, before: Sequence[float] = ()) -> str:
    """The values of some trees, one column per tree; `before` are constant columns that come first."""
    count = len(before)
    starts = arrays["roots"].astype(np.int64)
    sizes = np.diff(starts, append=len(arrays["feature"]))[trees]
    tree = count + np.repeat(np.arange(len(trees)), sizes)
    start = np.repeat(starts[trees], sizes)
    node = np.concatenate([np.arange(size) for size in [0, *sizes]])
    taken = start + node
    feature, value = arrays["feature"][taken], arrays["value"][taken]
    leaf = feature < 0

    def place(child: NDArray[Any]) -> NDArray[Any]:
        return np.where(leaf, 0, child[taken] - start)

    def listed(of_before: Any, values: NDArray[Any]) -> list[Any]:
        together: list[Any] = np.concatenate([np.broadcast_to(of_before, count), values]).tolist()
        return together

    first = np.arange(count)
    return graph.add(
        "TreeEnsembleRegressor",
        x,
        domain="ai.onnx.ml",
        n_targets=count + len(trees),
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=listed(first, tree),
        nodes_nodeids=listed(0, node),
        nodes_featureids=listed(0, np.where(leaf, 0, feature)),
        nodes_modes=listed("LEAF", np.where(leaf, "LEAF", "BRANCH_LT")),
        nodes_values=listed(0.0, np.where(leaf, 0.0, value)),
        nodes_truenodeids=listed(0, place(arrays["left"])),
        nodes_falsenodeids=listed(0, place(arrays["right"])),
        nodes_missing_value_tracks_true=listed(0, arrays["missing_left"][taken].astype(np.int64)),
        target_treeids=listed(first, tree[leaf]),
        target_nodeids=listed(0, node[leaf]),
        target_ids=listed(first, tree[leaf]),
        target_weights=listed(np.asarray(before), value[leaf]),
    )


def _net(graph: _Graph, arrays: Any, x: str) -> str:
    """Standardise in double precision, with missing values at the centre; then layers in single precision.

    A layer adds in the order of the library, which makes results bit-identical: the bias, then one input after the
    other, each product and each sum rounded. A matrix product adds in an order that depends on the runtime. Inputs that
    ReLU made 0, which the library skips, add 0 here.
    """
    bound = float(arrays["bound"])
    centred = graph.add("Sub", x, graph.constant(arrays["centre"]))
    z = graph.add("Div", centred, graph.constant(arrays["scale"]))
    z = graph.where(graph.add("IsNaN", z), 0.0, z)
    out = graph.cast(graph.at_most(graph.at_least(z, -bound), bound), TensorProto.FLOAT)
    for i in range(arrays["layers"]):
        weights = arrays[f"{i}.weights"]
        if i > 0:
            out = graph.add("Relu", out)
        total = graph.constant(arrays[f"{i}.biases"].reshape(1, -1), np.float32)
        for k, value in enumerate(graph.columns(out, weights.shape[1])):
            term = graph.add("Mul", value, graph.constant(weights[None, :, k], np.float32))
            total = graph.add("Add", total, term)
        out = total
    return out


# The kinds of row functions that ONNX can express, with the type of x and the function that adds the nodes.
_ROW_FUNCTIONS: dict[str, tuple[int, Callable[[_Graph, Any, str], str]]] = {
    "trees": (TensorProto.FLOAT, _trees),
    "net": (TensorProto.DOUBLE, _net),
}


# ---- bounds from quantiles of scores


def _identity(graph: _Graph, model: _core.Model, p: list[str], q: Floats) -> str:
    """phi = A."""
    return graph.constant(q)


def _erc(graph: _Graph, model: _core.Model, p: list[str], q: Floats) -> str:
    """phi = A / (g^2 + gamma)."""
    scale = graph.add("Add", graph.add("Mul", p[0], p[0]), graph.constant(model.gamma))
    return graph.add("Mul", scale, graph.constant(q))


def _exp(graph: _Graph, model: _core.Model, p: list[str], q: Floats) -> str:
    """phi = A e^g."""
    return graph.add("Mul", graph.exp(graph.add("Neg", p[0])), graph.constant(q))


def _log(graph: _Graph, model: _core.Model, p: list[str], q: Floats) -> str:
    """phi = log A + g. The rounding error of A grows with q and g."""
    finite = np.isfinite(q)
    finite_q = np.where(finite, q, 0.0)
    a = graph.exp(graph.add("Sub", graph.constant(finite_q), p[0]))
    size = graph.add("Add", graph.add("Abs", p[0]), graph.constant(np.abs(finite_q)))
    a = graph.add("Add", a, graph.add("Mul", a, graph.add("Mul", size, graph.constant(_SLACK))))
    if finite.all():
        return a
    return graph.where(graph.constant(~finite, np.bool_), np.where(q > 0, math.inf, 0.0), a)


def _offset(graph: _Graph, model: _core.Model, p: list[str], q: Floats) -> str:
    """phi = A e^-g1 + g2; the transform density has one g for both."""
    return graph.add("Mul", graph.exp(p[0]), graph.add("Sub", graph.constant(q), p[-1]))


def _spline(graph: _Graph, model: _core.Model, p: list[str], q: Floats) -> str:
    """phi^-1 = sum_k e^g_k M_k(b)."""
    basis = np.array([_core.spline_basis(b) for b in q.ravel()])
    slopes = [graph.exp(parameter) for parameter in p]
    return _weighted_sum(graph, slopes, [basis[:, k].reshape(q.shape) for k in range(len(p))])


def _weighted_sum(graph: _Graph, values: list[str], weights: list[Floats]) -> str:
    """The sum of values times weights, in their order."""
    terms = [graph.add("Mul", value, graph.constant(weight)) for value, weight in zip(values, weights, strict=True)]
    return functools.reduce(lambda total, term: graph.add("Add", total, term), terms)


def _shortest_sides(graph: _Graph, parameters: list[str]) -> list[str]:
    """The parameters of both sides of the shortest intervals, from those of the spline; see src/conformal/transform/spline.cpp."""
    about = _core.shortest_intervals()
    count = len(about["ends"])
    slopes = [graph.exp(parameter) for parameter in parameters]
    inner = [graph.constant([[0.0]])] * 2
    joined = [[""] * count, [""] * count]
    for k, length in enumerate(about["lengths"]):
        every = []  # the half-widths of each side with every share, of shape (N, shares)
        for side, name in enumerate(("lower", "upper")):
            basis = np.array([_core.spline_basis(about["ends"][k] + shift) for shift in about[name]])
            own = slopes[side * count : (side + 1) * count]
            every.append(_weighted_sum(graph, own, [basis[:, j].reshape(1, -1) for j in range(count)]))
        handicap = graph.constant(np.array(about["handicaps"]).reshape(1, -1))
        lengths = graph.add("Mul", graph.add("Add", *every), handicap)
        contains = graph.add("And", *(graph.add("GreaterOrEqual", *pair) for pair in zip(every, inner, strict=True)))
        lengths = graph.add("Where", contains, lengths, graph.constant(math.inf))
        best = graph.add("ArgMin", lengths, axis=1, keepdims=1)
        for side in range(2):
            outer = graph.add("GatherElements", every[side], best, axis=1)
            found = graph.add("Sub", outer, inner[side])
            least = graph.add("Mul", slopes[side * count + k], graph.constant(length * about["least_growth"]))
            grown = graph.add("Where", graph.add("Less", found, least), least, found)
            joined[side][k] = graph.add("Log", graph.add("Div", grown, graph.constant(length)))
            inner[side] = graph.add("Add", inner[side], grown)
    return joined[0] + joined[1]


# phi^-1 of every transform with a closed form, given the parameters of a side, each of shape (N, 1), and the quantiles,
# of shape (1, k).
_INVERSES: dict[str, Callable[[_Graph, _core.Model, list[str], Floats], str]] = {
    "identity": _identity,
    "erc": _erc,
    "linear": _log,
    "exp": _exp,
    "sigma": _log,
    "density": _offset,
    "affine": _offset,
    "spline": _spline,
    "shortest": _spline,
}


def _residual(graph: _Graph, score: str, a: str) -> str:
    """The largest residual whose score is at most a, rounded up; 0 if there is none, NaN if a is NaN."""
    if score == "log":  # A = log r^2; the rounding error of r grows with A
        r = graph.add("Exp", graph.add("Mul", a, graph.constant(0.5)))
        slack = graph.add("Mul", graph.add("Add", graph.add("Abs", a), graph.constant(1.0)), graph.constant(_SLACK))
        r = graph.add("Add", r, graph.add("Mul", r, slack))
        # avoid 0 times infinity
        return graph.where(graph.add("Equal", a, graph.constant(-math.inf)), 0.0, r)
    r = graph.at_least(a, 0.0)
    if score == "squared":
        r = graph.add("Sqrt", r)
    # Not r times 1 + slack, because ONNX Runtime removes a factor that is 1 in single precision.
    return graph.add("Add", r, graph.add("Mul", r, graph.constant(_SLACK)))


def _add_bounds(graph: _Graph, model: _core.Model, f: str, parameters: list[str], quantiles: Floats) -> None:
    """Add the outputs lower and upper, from f(x) of shape (N, 1) and the outputs of the localizer.

    The rule works in units of the model. A bound is infinite if it is NaN or the prediction is not finite.
    """
    unit = graph.constant(model.unit)
    low, high = model.range
    rounded_up = quantiles + _SLACK * np.abs(np.where(np.isfinite(quantiles), quantiles, 0.0))
    in_units = graph.add("Div", f, unit)
    finite = graph.add("Less", graph.add("Abs", in_units), graph.constant(math.inf))
    in_units = graph.add("Where", finite, in_units, graph.constant(math.nan))

    if model.transform == "shortest" and model.two_sided:
        parameters = _shortest_sides(graph, parameters)
    count = len(parameters) // 2 if model.two_sided else len(parameters)
    inverse = _INVERSES[model.transform]
    sides = [parameters[:count], parameters[count:]] if model.two_sided else [parameters]
    half_widths = [_residual(graph, model.score, inverse(graph, model, side, rounded_up)) for side in sides]
    bounds = []
    for operator, half_width, unbounded in (("Sub", half_widths[0], -math.inf), ("Add", half_widths[-1], math.inf)):
        bound = graph.add(operator, in_units, half_width)
        bound = graph.add("Mul", graph.where(graph.add("IsNaN", bound), unbounded, bound), unit)
        bounds.append(graph.at_most(graph.at_least(bound, low), high))
    if model.step > 0:
        bounds = [graph.at_most(graph.at_least(bound, low), high) for bound in _rounded(graph, model.step, *bounds)]
    for name, bound in zip(("lower", "upper"), bounds, strict=True):
        graph.add("Identity", bound, output=name)


def _rounded(graph: _Graph, step: float, lower: str, upper: str) -> list[str]:
    """The bounds, rounded inward to multiples of the step; if there is none between, to the multiples around them.

    An interval of the graph is somewhat wider than that of the library, so quotients are rounded outward by as much
    before they are rounded inward, and the multiples around an interval contain the nearest one.
    """
    mantissa = math.frexp(step)[0] * 2**20
    exact = mantissa == math.floor(mantissa)
    tolerance = 0.0 if exact else 2.0**-50
    most = step * 2.0**31 if exact else step * 2.0**40  # beyond, bounds stay as they are

    def outward(value: str, sign: int, by: float) -> str:
        return graph.add("Add", value, graph.add("Mul", graph.add("Abs", value), graph.constant(sign * by)))

    def multiple(value: str, sign: int, operator: str) -> str:
        quotient = graph.add("Div", outward(value, sign, _SLACK), graph.constant(step))
        product = graph.add("Mul", graph.add(operator, quotient), graph.constant(step))
        return outward(graph.add("Add", product, graph.constant(0.0)), sign, tolerance)

    rounded = []
    for value, sign, inward, farther in ((lower, -1, "Ceil", "Greater"), (upper, 1, "Floor", "Less")):
        found = multiple(value, sign, inward)
        found = graph.add("Where", graph.add(farther, value, found), value, found)
        large = graph.add("Greater", graph.add("Abs", value), graph.constant(most))
        rounded.append(graph.add("Where", large, value, found))
    empty = graph.add("Greater", *rounded)
    around = [multiple(lower, -1, "Floor"), multiple(upper, 1, "Ceil")]
    return [graph.add("Where", empty, wide, narrow) for wide, narrow in zip(around, rounded, strict=True)]
