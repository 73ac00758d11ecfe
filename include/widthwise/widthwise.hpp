#pragma once

/// Everything of widthwise::core.

#include <widthwise/calibration.hpp>
#include <widthwise/calibration_shard.hpp>
#include <widthwise/conformal_predictor.hpp>
#include <widthwise/dense_net.hpp>
#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/interface.hpp>
#include <widthwise/knn.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/model.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/online.hpp>
#include <widthwise/plan.hpp>
#include <widthwise/random.hpp>
#include <widthwise/reducer.hpp>
#include <widthwise/root_finding.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/row_sketch.hpp>
#include <widthwise/score.hpp>
#include <widthwise/seen_rows.hpp>
#include <widthwise/track.hpp>
#include <widthwise/train/cross_fit.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/train/knn.hpp>
#include <widthwise/train/progress.hpp>
#include <widthwise/train/threads.hpp>
#include <widthwise/train/trainer.hpp>
#include <widthwise/transform.hpp>
#include <widthwise/trees.hpp>
#include <widthwise/version.hpp>
