"""Human evaluation: rating studies with raters, attention checks and inter-rater agreement data."""

from formalimg.human_eval.export import (
    PEOPLE,
    ExportedStudy,
    RaterSummary,
    export_files,
    export_study,
    summarize_raters,
)
from formalimg.human_eval.imported_study import RatedImageName, write_rated_study
from formalimg.human_eval.manifest import (
    RatedRun,
    StudyConfig,
    StudyManifest,
    is_study,
    read_study_manifest,
    require_same_config,
)
from formalimg.human_eval.protocol import (
    AnswerError,
    AnswerValue,
    OtherAnswersError,
    RatingProtocol,
    RatingStep,
    StepKind,
    steps_for,
)
from formalimg.human_eval.ratings import human_ratings
from formalimg.human_eval.records import Compliance, GivenAnswer, RatedTask, StudyRecord, mean_ratings, read_study
from formalimg.human_eval.study import Study, open_study
from formalimg.human_eval.study_builder import NewStudy, create_study
from formalimg.human_eval.tasks import RaterProgress, RatingTask

__all__ = [
    "PEOPLE",
    "AnswerError",
    "AnswerValue",
    "Compliance",
    "ExportedStudy",
    "GivenAnswer",
    "NewStudy",
    "OtherAnswersError",
    "RatedImageName",
    "RatedRun",
    "RatedTask",
    "RaterProgress",
    "RaterSummary",
    "RatingProtocol",
    "RatingStep",
    "RatingTask",
    "StepKind",
    "Study",
    "StudyConfig",
    "StudyManifest",
    "StudyRecord",
    "create_study",
    "export_files",
    "export_study",
    "human_ratings",
    "is_study",
    "mean_ratings",
    "open_study",
    "read_study",
    "read_study_manifest",
    "require_same_config",
    "steps_for",
    "summarize_raters",
    "write_rated_study",
]
