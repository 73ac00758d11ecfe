#pragma once

/// Everything of widthwise::core.

#include <widthwise/calibration.hpp>
#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/predictor.hpp>
#include <widthwise/random.hpp>
#include <widthwise/reducer.hpp>
#include <widthwise/root_finding.hpp>
#include <widthwise/score.hpp>
#include <widthwise/transform.hpp>
#include <widthwise/version.hpp>
