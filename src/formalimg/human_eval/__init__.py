"""Human judges: studies in which people look at the pictures of runs, and what they said."""

from formalimg.human_eval.asking import steps_for
from formalimg.human_eval.card import RatedRun, StudyCard, is_study, read_study_card
from formalimg.human_eval.compliance import Compliance, sum_up_ratings
from formalimg.human_eval.exporting import PEOPLE, Exported, RaterSummary, export_study, exported_texts, summarize_raters
from formalimg.human_eval.making import MadeStudy, make_study
from formalimg.human_eval.people_said import people_said
from formalimg.human_eval.records import GivenAnswer, RatedTask, StudyRecord, read_study
from formalimg.human_eval.steps import Protocol, Step, StepKind
from formalimg.human_eval.study import Study, open_study
from formalimg.human_eval.task import RaterProgress, Task
from formalimg.human_eval.values import AnswerError, OtherAnswersError, Value
from formalimg.human_eval.wishes import WantedStudy, require_wanted

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
