"""Human judges: studies in which people look at the pictures of runs, and what they said."""

from formalimg.rating.asking import steps_for
from formalimg.rating.card import RatedRun, StudyCard
from formalimg.rating.compliance import PASSING_MEAN, Compliance, sum_up_ratings
from formalimg.rating.exporting import PEOPLE, Exported, RaterSummary, export_study, summarize_raters
from formalimg.rating.making import MadeStudy, make_study
from formalimg.rating.records import GivenAnswer, RatedTask, StudyRecord, read_study
from formalimg.rating.steps import Protocol, Step, StepKind
from formalimg.rating.study import Study, open_study
from formalimg.rating.task import RaterProgress, Task
from formalimg.rating.values import AnswerError, Value

__all__ = [
    "PASSING_MEAN",
    "PEOPLE",
    "AnswerError",
    "Compliance",
    "Exported",
    "GivenAnswer",
    "MadeStudy",
    "Protocol",
    "RatedRun",
    "RatedTask",
    "RaterProgress",
    "RaterSummary",
    "Step",
    "StepKind",
    "Study",
    "StudyCard",
    "StudyRecord",
    "Task",
    "Value",
    "export_study",
    "make_study",
    "open_study",
    "read_study",
    "steps_for",
    "sum_up_ratings",
    "summarize_raters",
]
