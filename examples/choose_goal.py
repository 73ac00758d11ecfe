"""
Choose the goal by cross-validation
===================================

``GridSearchCV`` compares the intervals of several goals with `IntervalScorer`. The default score of a regressor, R2, is
the same for all of them, because the goal changes intervals and not predictions.
"""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, train_test_split

from widthwise import WidthwiseRegressor
from widthwise.metrics import IntervalScorer

# The spread of y depends on both columns.
rng = np.random.default_rng(0)
X = rng.uniform(0, 4, (6000, 2))
y = X[:, 0] + (0.2 + X[:, 0] * X[:, 1] / 4) * rng.normal(size=6000)
X_fit, X_new, y_fit, y_new = train_test_split(X, y, test_size=3000, random_state=0)

options = {"max_rounds": 60}  # of the localizer, so that the example takes seconds
model = WidthwiseRegressor(LinearRegression(), localizer_options=options, random_state=0, n_jobs=1)
goals = {"goal": ["narrow", "balanced", "even"]}
search = GridSearchCV(model, goals, scoring={"R2": "r2", "intervals": IntervalScorer(0.9)}, refit="intervals", cv=2)
search.fit(X_fit, y_fit)

found = search.cv_results_
for goal, r2, score in zip(goals["goal"], found["mean_test_R2"], found["mean_test_intervals"], strict=True):
    print(f"goal {goal}: R2 {r2:.3f}, interval score {-score:.2f}")
print(f"best: {search.best_params_['goal']}")

_, intervals = search.best_estimator_.predict_interval(X_new, confidence_level=0.9)
inside = (intervals[:, 0, 0] <= y_new) & (y_new <= intervals[:, 1, 0])
print(f"all: coverage {inside.mean():.1%}, mean width {(intervals[:, 1, 0] - intervals[:, 0, 0]).mean():.2f}")

# Output:
# goal narrow: R2 0.362, interval score 5.68
# goal balanced: R2 0.362, interval score 5.11
# goal even: R2 0.362, interval score 5.16
# best: balanced
# all: coverage 91.4%, mean width 4.05
