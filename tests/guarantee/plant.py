"""Copy sources of the library with faults planted in them, each behind a switch: plant.py SOURCE_FOLDER TARGET_FOLDER.

A fault replaces one line of the library. If the line is not found because it has changed, the build stops; update the
line here as well.
"""

import sys
from pathlib import Path

# (file, the line or part of a line to replace, the replacement)
FAULTS = [
    (
        "src/conformal/level.cpp",
        "const Product scaled = (Product{n} + 1) * numerator_;",
        'const Product scaled = (Product{n} + (planted::is("rank without the new row") ? 0 : 1)) * numerator_;',
    ),
    (
        "src/conformal/level.cpp",
        "return static_cast<std::uint64_t>((scaled + (denominator_ - 1)) / denominator_);",
        "return static_cast<std::uint64_t>((scaled + (denominator_ - 1)) / denominator_) -"
        ' (planted::is("rank off by one") ? 1 : 0);',
    ),
    (
        "src/conformal/conformal_predictor.cpp",
        "f[i] - to_residual(kScore, below[i])",
        "f[i] - planted::rounding * to_residual(kScore, below[i])",
    ),
    (
        "src/conformal/conformal_predictor.cpp",
        "f[i] + to_residual(kScore, above[i])",
        "f[i] + planted::rounding * to_residual(kScore, above[i])",
    ),
    (
        "src/conformal/conformal_predictor.cpp",
        "rule.transform().inverses(quantiles, parameters.side(false)",
        'rule.transform().inverses(quantiles, parameters.side(planted::is("lower side from the upper parameters"))',
    ),
    (
        "src/conformal/calibration/sorted_scores.cpp",
        "if (place != internal::GroupIndex::kNone) return &groups_[place];",
        "if (place != internal::GroupIndex::kNone) return &groups_["
        'planted::is("group mix-up") && place + 1 < groups_.size() ? place + 1 : place];',
    ),
    (
        "src/conformal/calibration/sorted_scores.cpp",
        "if (std::ranges::all_of(entries, [](const Entry& entry) { return entry.weight == 1; })) {",
        'if (planted::is("weights ignored") ||'
        " std::ranges::all_of(entries, [](const Entry& entry) { return entry.weight == 1; })) {",
    ),
    (
        "src/conformal/calibration/sorted_scores.cpp",
        "rank_ = guarantee.rank(level, group.all.scores.size());",
        'rank_ = planted::is("training-conditional guarantee ignored") ? level.rank(group.all.scores.size())'
        " : guarantee.rank(level, group.all.scores.size());",
    ),
    (
        "src/conformal/calibration/sorted_scores.cpp",
        "group.all.scores = std::move(sides.all);",
        "group.all.scores = planted::sketched(std::move(sides.all));",
    ),
    (
        "src/conformal/calibration/sorted_scores.cpp",
        "const Ranked& side = below ? found->above : found->below;",
        'const Ranked& side = below != planted::is("one-sided tail swapped") ? found->above : found->below;',
    ),
    (
        "src/conformal/calibration/sorted_scores.cpp",
        "return std::min(1.0, (rest + weight) / (found->total.high + weight));",
        'return std::min(1.0, (rest + (planted::is("p-value without the new row") ? 0 : weight)) /'
        " (found->total.high + weight));",
    ),
    (
        "src/conformal/calibration/sorted_scores.cpp",
        "if (pools && sample.seen <= pool_below) rest",
        'if (pools && sample.seen <= pool_below - (planted::is("pool without groups of N rows") ? 1 : 0)) rest',
    ),
    (
        "src/conformal/calibration/sorted_clusters.cpp",
        "group.total = group.all.weights.back();",
        'if (planted::is("clusters counted as rows")) {\n'
        "    for (std::size_t i = 0; i < rows.size(); ++i) group.all.weights[i] = {static_cast<double>(i + 1), 0};\n"
        "    group.unit = 1;\n"
        "  }\n"
        "  group.total = group.all.weights.back();",
    ),
    (
        "src/model/folds.cpp",
        "const std::uint64_t rank = level.rank(selection_.size());",
        "const std::uint64_t rank ="
        ' level.rank(selection_.size() - (planted::is("cross-calibration without the new row") ? 1 : 0));',
    ),
    (
        "src/model/folds.cpp",
        "for (const CalibrationRow& row : model->parts().calibration.rows(0)) scores.push_back(row.score);",
        'const Model& scored = planted::is("scores of another fold") ? *models_[(scores_.size() + 1) % models_.size()]'
        " : *model;\n"
        "    for (const CalibrationRow& row : scored.parts().calibration.rows(0)) scores.push_back(row.score);",
    ),
    (
        "src/model/folds.cpp",
        "std::ranges::fill(out, 1.0);",
        'std::ranges::fill(out, planted::is("cross-conformal p-value without the new row") ? 0.0 : 1.0);',
    ),
    (
        "src/stream/online.cpp",
        "longest_delay_ = std::max(longest_delay_, delay);",
        "longest_delay_ = longest_delay_ > 0 && planted::is("
        '"smallest instead of largest delay") ? std::min(longest_delay_, delay) : std::max(longest_delay_, delay);',
    ),
    (
        "src/stream/exchangeability.cpp",
        "const std::uint64_t tie = draws.bits();",
        'const std::uint64_t tie = planted::is("alarm without random ties") ? ~std::uint64_t{0} : draws.bits();',
    ),
    (
        "src/evaluation/evaluation.cpp",
        "if (summary.coverage.share < expected.low) return Verdict::kTooLow;",
        "if (summary.coverage.share < expected.low && "
        '!planted::is("verdict without its lower tail")) return Verdict::kTooLow;',
    ),
    (
        "src/evaluation/evaluation.cpp",
        "trials > expected.high) return Verdict::kTooHigh;",
        'trials > expected.high && !planted::is("verdict without its upper tail")) return Verdict::kTooHigh;',
    ),
    (
        "src/conformal/calibration/sorted_clusters.cpp",
        "form_ = rule.form;",
        'form_ = planted::is("rows counted as clusters") ? ClusterForm::kClusters : rule.form;',
    ),
]


def main():
    source, target = map(Path, sys.argv[1:])
    texts = {}
    for name, line, planted in FAULTS:
        text = texts.get(name) or '#include "planted.hpp"\n' + (source / name).read_text()
        if text.count(line) != 1:
            sys.exit(f"plant.py: expected this once in {name}, found {text.count(line)} times: {line}")
        texts[name] = text.replace(line, planted)
    for name, text in texts.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)


main()
