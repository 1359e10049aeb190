"""Statistics as pure functions: confidence intervals, bootstrap, permutation test, inter-rater agreement, recall."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.generalizability import generalizability
from formalimg.stats.intervals import clopper_pearson, clopper_pearson_margin, mean_interval
from formalimg.stats.observations import Band, Generalizability, Interval, MissingPolicy, Observation, Rate, Summary
from formalimg.stats.summary import MissingBounds, PointEstimates, mean_of_levels, missing_bounds, summarize

if TYPE_CHECKING:
    from formalimg.stats.agreement import (
        ComplianceRule,
        Consistency,
        MeanConsistency,
        cohen_kappa,
        complies,
        consistency,
        consistency_matrix,
        majority,
        mean_consistency,
    )
    from formalimg.stats.cfworld_scores import (
        GateState,
        MeanScore,
        ScoreObservation,
        ScoreProfile,
        ScoreRatio,
        ScoreSummary,
        WeightedAnswer,
        apply_gate,
        gate_states,
        prior_resistance,
        reasoning_retention,
        rescore,
        weighted_score,
    )
    from formalimg.stats.cfworld_summary import ScoreDifference, score_difference, summarize_scores
    from formalimg.stats.comparison import PairedComparison, compare_paired, compare_paired_scores
    from formalimg.stats.correlation import Correlation, pearson, within_level_correlation
    from formalimg.stats.precision_recall import (
        Classification,
        Confusion,
        Detection,
        DetectionCounts,
        Proportion,
        classification,
        detection,
    )
    from formalimg.stats.ranking import RankAgreement, kendall, rank_agreement, spearman
    from formalimg.stats.reliability import RatingScale, Reliability, cronbach_alpha, krippendorff_alpha

# Lazy, because pass rates and their intervals need nothing else.
__getattr__ = lazy_exports(
    "formalimg.stats",
    {
        "agreement": [
            "ComplianceRule",
            "Consistency",
            "MeanConsistency",
            "cohen_kappa",
            "complies",
            "consistency",
            "consistency_matrix",
            "majority",
            "mean_consistency",
        ],
        "cfworld_scores": [
            "GateState",
            "MeanScore",
            "ScoreObservation",
            "ScoreProfile",
            "ScoreRatio",
            "ScoreSummary",
            "WeightedAnswer",
            "apply_gate",
            "gate_states",
            "prior_resistance",
            "reasoning_retention",
            "rescore",
            "weighted_score",
        ],
        "cfworld_summary": ["ScoreDifference", "score_difference", "summarize_scores"],
        "comparison": ["PairedComparison", "compare_paired", "compare_paired_scores"],
        "correlation": ["Correlation", "pearson", "within_level_correlation"],
        "precision_recall": [
            "Classification",
            "Confusion",
            "Detection",
            "DetectionCounts",
            "Proportion",
            "classification",
            "detection",
        ],
        "ranking": ["RankAgreement", "kendall", "rank_agreement", "spearman"],
        "reliability": ["RatingScale", "Reliability", "cronbach_alpha", "krippendorff_alpha"],
    },
)

__all__ = [
    "Band",
    "Classification",
    "ComplianceRule",
    "Confusion",
    "Consistency",
    "Correlation",
    "Detection",
    "DetectionCounts",
    "Estimate",
    "GateState",
    "Generalizability",
    "Interval",
    "MeanConsistency",
    "MeanScore",
    "MissingBounds",
    "MissingPolicy",
    "Observation",
    "PairedComparison",
    "PointEstimates",
    "Proportion",
    "RankAgreement",
    "Rate",
    "RatingScale",
    "Reliability",
    "ScoreDifference",
    "ScoreObservation",
    "ScoreProfile",
    "ScoreRatio",
    "ScoreSummary",
    "Summary",
    "WeightedAnswer",
    "apply_gate",
    "classification",
    "clopper_pearson",
    "clopper_pearson_margin",
    "cohen_kappa",
    "compare_paired",
    "compare_paired_scores",
    "complies",
    "consistency",
    "consistency_matrix",
    "cronbach_alpha",
    "detection",
    "gate_states",
    "generalizability",
    "kendall",
    "krippendorff_alpha",
    "majority",
    "mean_consistency",
    "mean_interval",
    "mean_of_levels",
    "missing_bounds",
    "pearson",
    "prior_resistance",
    "rank_agreement",
    "reasoning_retention",
    "rescore",
    "score_difference",
    "spearman",
    "summarize",
    "summarize_scores",
    "weighted_score",
    "within_level_correlation",
]
