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
from formalimg.stats.classifying import Classification, Confusion, Share, classification
from formalimg.stats.compliance import ComplianceRule, complies
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
from formalimg.stats.detecting import Detection, Found, detection
from formalimg.stats.generalizing import generalizability
from formalimg.stats.krippendorff import RatingScale, krippendorff_alpha
from formalimg.stats.pairing import Paired, paired, paired_scores
from formalimg.stats.ranking import RankAgreement, rank_agreement, spearman
from formalimg.stats.redrawing import Estimate
from formalimg.stats.reliability import Reliability, cronbach_alpha
from formalimg.stats.summarizing import mean_of_levels, summarize
from formalimg.stats.summary import Band, Generalizability, Interval, Missing, Observation, Rate, Summary

__all__ = [
    "Band",
    "Bounds",
    "Classification",
    "ComplianceRule",
    "Confusion",
    "Consistency",
    "Correlation",
    "Detection",
    "Estimate",
    "Figures",
    "Found",
    "Gate",
    "Generalizability",
    "Interval",
    "MeanConsistency",
    "MeanScore",
    "Missing",
    "Observation",
    "Paired",
    "RankAgreement",
    "Rate",
    "RatingScale",
    "Reliability",
    "ScoreDifference",
    "ScoreObservation",
    "ScoreProfile",
    "ScoreRatio",
    "ScoreSummary",
    "Share",
    "Summary",
    "WeightedAnswer",
    "apply_gate",
    "classification",
    "clopper_pearson",
    "cohen_kappa",
    "complies",
    "consistency",
    "consistency_matrix",
    "cronbach_alpha",
    "detection",
    "gates",
    "generalizability",
    "krippendorff_alpha",
    "largest_side",
    "majority",
    "mean_consistency",
    "mean_interval",
    "mean_of_levels",
    "missing_bounds",
    "paired",
    "paired_scores",
    "pearson",
    "prior_resistance",
    "rank_agreement",
    "reasoning_retention",
    "rescored",
    "score_difference",
    "spearman",
    "summarize",
    "summarize_scores",
    "weighted_score",
]
