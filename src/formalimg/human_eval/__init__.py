"""Human judges: studies in which people look at the images of runs, and what they said."""

from formalimg.human_eval.export import PEOPLE, Exported, RaterSummary, export_study, exported_texts, summarize_raters
from formalimg.human_eval.manifest import (
    RatedRun,
    StudyConfig,
    StudyManifest,
    is_study,
    read_study_manifest,
    require_wanted,
)
from formalimg.human_eval.protocol import AnswerError, OtherAnswersError, Protocol, Step, StepKind, Value, steps_for
from formalimg.human_eval.ratings import human_ratings
from formalimg.human_eval.records import Compliance, GivenAnswer, RatedTask, StudyRecord, read_study, sum_up_ratings
from formalimg.human_eval.study import Study, open_study
from formalimg.human_eval.study_builder import MadeStudy, make_study
from formalimg.human_eval.tasks import RaterProgress, Task

__all__ = [
    "PEOPLE",
    "AnswerError",
    "Compliance",
    "Exported",
    "GivenAnswer",
    "MadeStudy",
    "OtherAnswersError",
    "Protocol",
    "RatedRun",
    "RatedTask",
    "RaterProgress",
    "RaterSummary",
    "Step",
    "StepKind",
    "Study",
    "StudyConfig",
    "StudyManifest",
    "StudyRecord",
    "Task",
    "Value",
    "export_study",
    "exported_texts",
    "human_ratings",
    "is_study",
    "make_study",
    "open_study",
    "read_study",
    "read_study_manifest",
    "require_wanted",
    "steps_for",
    "sum_up_ratings",
    "summarize_raters",
]
