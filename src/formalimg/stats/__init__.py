"""Statistics as pure functions: confidence intervals, bootstrap, permutation test, inter-rater agreement, recall."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.stats.agreement import complies, consistency, majority
    from formalimg.stats.comparison import PairedDifference, compare_paired
    from formalimg.stats.corrected import corrected_rate
    from formalimg.stats.correlation import pearson, within_level_correlation
    from formalimg.stats.intervals import clopper_pearson
    from formalimg.stats.judge_error import drift_evidence
    from formalimg.stats.observations import Interval, Observation
    from formalimg.stats.precision_recall import classification
    from formalimg.stats.ranking import rank_agreement, spearman
    from formalimg.stats.reliability import cronbach_alpha, krippendorff_alpha
    from formalimg.stats.sequential import AdaptiveDesign, AdaptiveTest
    from formalimg.stats.strengths import PairOutcome, bradley_terry
    from formalimg.stats.summary import generalizability, missing_bounds, summarize

__all__ = [
    "AdaptiveDesign",
    "AdaptiveTest",
    "Interval",
    "Observation",
    "PairOutcome",
    "PairedDifference",
    "bradley_terry",
    "classification",
    "clopper_pearson",
    "compare_paired",
    "complies",
    "consistency",
    "corrected_rate",
    "cronbach_alpha",
    "drift_evidence",
    "generalizability",
    "krippendorff_alpha",
    "majority",
    "missing_bounds",
    "pearson",
    "rank_agreement",
    "spearman",
    "summarize",
    "within_level_correlation",
]

__getattr__, __dir__ = lazy_exports(__name__)
