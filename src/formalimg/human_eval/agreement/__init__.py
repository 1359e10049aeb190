"""Studies of runs: agreement of judges and human raters, calibration, diagnosis, and caption contents."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.human_eval.agreement.boxes import BoxCorrection, study_boxes
    from formalimg.human_eval.agreement.rating_files import LikertRating, read_votes
    from formalimg.human_eval.agreement.studies import HumanRatings, study_human_ratings
    from formalimg.human_eval.agreement.thresholds import LabelledScore, at_thresholds, best_threshold
    from formalimg.human_eval.agreement.vote_study import study_votes

__all__ = [
    "BoxCorrection",
    "HumanRatings",
    "LabelledScore",
    "LikertRating",
    "at_thresholds",
    "best_threshold",
    "read_votes",
    "study_boxes",
    "study_human_ratings",
    "study_votes",
]

__getattr__, __dir__ = lazy_exports(__name__)
