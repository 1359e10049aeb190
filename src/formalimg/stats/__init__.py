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
    from formalimg.stats.corrected import CorrectedRate, corrected_mean, corrected_rate
    from formalimg.stats.corrected_summary import CorrectedSummary, LabelledObservation, summarize_corrected
    from formalimg.stats.correlation import Correlation, pearson, within_level_correlation
    from formalimg.stats.judge_error import RoganGladen, rogan_gladen
    from formalimg.stats.label_allocation import LabelAllocation, allocate_labels
    from formalimg.stats.precision_recall import (
        Classification,
        Confusion,
        Detection,
        DetectionCounts,
        Proportion,
        SensitivitySpecificity,
        classification,
        detection,
        sensitivity_specificity,
    )
    from formalimg.stats.ranking import (
        RankAgreement,
        RankCorrelations,
        kendall,
        rank_agreement,
        rank_correlations,
        spearman,
    )
    from formalimg.stats.reliability import RatingScale, Reliability, cronbach_alpha, krippendorff_alpha
    from formalimg.stats.stratified_mean import ScoreCell, corrected_cell_mean

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
        "corrected": ["CorrectedRate", "corrected_mean", "corrected_rate"],
        "corrected_summary": ["CorrectedSummary", "LabelledObservation", "summarize_corrected"],
        "judge_error": ["RoganGladen", "rogan_gladen"],
        "label_allocation": ["LabelAllocation", "allocate_labels"],
        "precision_recall": [
            "Classification",
            "Confusion",
            "Detection",
            "DetectionCounts",
            "Proportion",
            "SensitivitySpecificity",
            "classification",
            "detection",
            "sensitivity_specificity",
        ],
        "ranking": [
            "RankAgreement",
            "RankCorrelations",
            "kendall",
            "rank_agreement",
            "rank_correlations",
            "spearman",
        ],
        "reliability": ["RatingScale", "Reliability", "cronbach_alpha", "krippendorff_alpha"],
        "stratified_mean": ["ScoreCell", "corrected_cell_mean"],
    },
)

__all__ = [
    "Band",
    "Classification",
    "ComplianceRule",
    "Confusion",
    "Consistency",
    "CorrectedRate",
    "CorrectedSummary",
    "Correlation",
    "Detection",
    "DetectionCounts",
    "Estimate",
    "GateState",
    "Generalizability",
    "Interval",
    "LabelAllocation",
    "LabelledObservation",
    "MeanConsistency",
    "MeanScore",
    "MissingBounds",
    "MissingPolicy",
    "Observation",
    "PairedComparison",
    "PointEstimates",
    "Proportion",
    "RankAgreement",
    "RankCorrelations",
    "Rate",
    "RatingScale",
    "Reliability",
    "RoganGladen",
    "ScoreCell",
    "ScoreDifference",
    "ScoreObservation",
    "ScoreProfile",
    "ScoreRatio",
    "ScoreSummary",
    "SensitivitySpecificity",
    "Summary",
    "WeightedAnswer",
    "allocate_labels",
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
    "corrected_cell_mean",
    "corrected_mean",
    "corrected_rate",
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
    "rank_correlations",
    "reasoning_retention",
    "rescore",
    "rogan_gladen",
    "score_difference",
    "sensitivity_specificity",
    "spearman",
    "summarize",
    "summarize_corrected",
    "summarize_scores",
    "weighted_score",
    "within_level_correlation",
]
