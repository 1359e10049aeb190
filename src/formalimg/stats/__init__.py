"""Statistics: rates, intervals, generalizability, agreement and comparisons, as pure functions of what was observed."""

from formalimg.stats.agreeing import (
    Consistency,
    MeanConsistency,
    cohen_kappa,
    consistency,
    consistency_matrix,
    majority,
    mean_consistency,
)
from formalimg.stats.averaging import largest_side, mean_interval
from formalimg.stats.binomial import clopper_pearson
from formalimg.stats.bounding import Bounds, Figures, missing_bounds
from formalimg.stats.correlating import Correlation, pearson
from formalimg.stats.counterfactual import (
    MeanScore,
    ScoreObservation,
    ScoreProfile,
    ScoreRatio,
    ScoreSummary,
    prior_resistance,
    reasoning_retention,
)
from formalimg.stats.counterfactual_gate import Gate, apply_gate, gates
from formalimg.stats.counterfactual_pairs import ScoreDifference, score_difference
from formalimg.stats.counterfactual_summary import summarize_scores
from formalimg.stats.counterfactual_weights import WeightedAnswer, rescored, weighted_score
from formalimg.stats.generalizing import generalizability
from formalimg.stats.pairing import Paired, paired
from formalimg.stats.summarizing import mean_of_levels, summarize
from formalimg.stats.summary import Band, Generalizability, Interval, Missing, Observation, Rate, Summary

__all__ = [
    "Band",
    "Bounds",
    "Consistency",
    "Correlation",
    "Figures",
    "Gate",
    "Generalizability",
    "Interval",
    "MeanConsistency",
    "MeanScore",
    "Missing",
    "Observation",
    "Paired",
    "Rate",
    "ScoreDifference",
    "ScoreObservation",
    "ScoreProfile",
    "ScoreRatio",
    "ScoreSummary",
    "Summary",
    "WeightedAnswer",
    "apply_gate",
    "clopper_pearson",
    "cohen_kappa",
    "consistency",
    "consistency_matrix",
    "gates",
    "generalizability",
    "largest_side",
    "majority",
    "mean_consistency",
    "mean_interval",
    "mean_of_levels",
    "missing_bounds",
    "paired",
    "pearson",
    "prior_resistance",
    "reasoning_retention",
    "rescored",
    "score_difference",
    "summarize",
    "summarize_scores",
    "weighted_score",
]
