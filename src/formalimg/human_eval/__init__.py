"""Human evaluation: rating studies with raters, attention checks and inter-rater agreement data."""

from formalimg.analysis import CANNOT_TELL
from formalimg.human_eval.correction import LabelPrecision, correction_protocol
from formalimg.human_eval.correction_sample import CorrectionSample, DrawnImage, SampleCell
from formalimg.human_eval.export import (
    PEOPLE,
    ExportedStudy,
    RaterSummary,
    export_files,
    export_study,
    summarize_raters,
)
from formalimg.human_eval.imported_study import RatedImageName, write_rated_study
from formalimg.human_eval.instructions import (
    CountingExample,
    DrawnShape,
    PracticeItem,
    RaterInstructions,
    instructions_for,
)
from formalimg.human_eval.labels import human_labels
from formalimg.human_eval.manifest import (
    RatedRun,
    StudyConfig,
    StudyManifest,
    is_study,
    read_study_manifest,
    require_same_config,
)
from formalimg.human_eval.protocol import (
    PREFERENCES,
    AnswerError,
    AnswerValue,
    OtherAnswersError,
    RatingProtocol,
    RatingStep,
    StepKind,
    steps_for,
)
from formalimg.human_eval.ratings import human_ratings
from formalimg.human_eval.records import (
    Compliance,
    GivenAnswer,
    OtherImage,
    RatedTask,
    StudyRecord,
    mean_ratings,
    read_study,
)
from formalimg.human_eval.recruitment import recruitment_files, write_recruitment
from formalimg.human_eval.rules import CHECKS, Exclusion, StudyRules, excluded_raters
from formalimg.human_eval.study import Study, open_study
from formalimg.human_eval.study_builder import NewStudy, create_study
from formalimg.human_eval.study_growth import GrownStudy, add_images, finish_growth
from formalimg.human_eval.tasks import RaterProgress, RatingTask

__all__ = [
    "CANNOT_TELL",
    "CHECKS",
    "PEOPLE",
    "PREFERENCES",
    "AnswerError",
    "AnswerValue",
    "Compliance",
    "CorrectionSample",
    "CountingExample",
    "DrawnImage",
    "DrawnShape",
    "Exclusion",
    "ExportedStudy",
    "GivenAnswer",
    "GrownStudy",
    "LabelPrecision",
    "NewStudy",
    "OtherAnswersError",
    "OtherImage",
    "PracticeItem",
    "RatedImageName",
    "RatedRun",
    "RatedTask",
    "RaterInstructions",
    "RaterProgress",
    "RaterSummary",
    "RatingProtocol",
    "RatingStep",
    "RatingTask",
    "SampleCell",
    "StepKind",
    "Study",
    "StudyConfig",
    "StudyManifest",
    "StudyRecord",
    "StudyRules",
    "add_images",
    "correction_protocol",
    "create_study",
    "excluded_raters",
    "export_files",
    "export_study",
    "finish_growth",
    "human_labels",
    "human_ratings",
    "instructions_for",
    "is_study",
    "mean_ratings",
    "open_study",
    "read_study",
    "read_study_manifest",
    "recruitment_files",
    "require_same_config",
    "steps_for",
    "summarize_raters",
    "write_rated_study",
    "write_recruitment",
]
