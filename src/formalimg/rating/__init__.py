"""Human judges: studies in which people look at the pictures of runs, and what they said."""

from formalimg.rating.asking import steps_for
from formalimg.rating.card import RatedRun, StudyCard, is_study, read_study_card
from formalimg.rating.compliance import Compliance, sum_up_ratings
from formalimg.rating.exporting import PEOPLE, Exported, RaterSummary, export_study, exported_texts, summarize_raters
from formalimg.rating.making import MadeStudy, make_study
from formalimg.rating.people_said import people_said
from formalimg.rating.records import GivenAnswer, RatedTask, StudyRecord, read_study
from formalimg.rating.steps import Protocol, Step, StepKind
from formalimg.rating.study import Study, open_study
from formalimg.rating.task import RaterProgress, Task
from formalimg.rating.values import AnswerError, OtherAnswersError, Value
from formalimg.rating.wishes import WantedStudy, require_wanted

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
    "StudyCard",
    "StudyRecord",
    "Task",
    "Value",
    "WantedStudy",
    "export_study",
    "exported_texts",
    "is_study",
    "make_study",
    "open_study",
    "people_said",
    "read_study",
    "read_study_card",
    "require_wanted",
    "steps_for",
    "sum_up_ratings",
    "summarize_raters",
]
