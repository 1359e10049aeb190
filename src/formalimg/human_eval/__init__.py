"""Human judges: studies in which people look at the images of runs, and what they said."""

from formalimg.human_eval.asking import steps_for
from formalimg.human_eval.compliance import Compliance, sum_up_ratings
from formalimg.human_eval.exporting import (
    PEOPLE,
    Exported,
    RaterSummary,
    export_study,
    exported_texts,
    summarize_raters,
)
from formalimg.human_eval.human_ratings import human_ratings
from formalimg.human_eval.making import MadeStudy, make_study
from formalimg.human_eval.manifest import RatedRun, StudyManifest, is_study, read_study_manifest
from formalimg.human_eval.records import GivenAnswer, RatedTask, StudyRecord, read_study
from formalimg.human_eval.steps import Protocol, Step, StepKind
from formalimg.human_eval.study import Study, open_study
from formalimg.human_eval.task import RaterProgress, Task
from formalimg.human_eval.values import AnswerError, OtherAnswersError, Value
from formalimg.human_eval.wishes import StudyConfig, require_wanted

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
