"""Import: answers and ratings that were made elsewhere become runs and studies, without images."""

from formalimg.importing.answer_files import AnswerTable, GivenReply, OtherAnswers, read_answers
from formalimg.importing.answer_runs import ImportedRun, ImportedRuns, import_answers
from formalimg.importing.file_source import describe_source
from formalimg.importing.rating_studies import ImportedRatings, import_ratings
from formalimg.importing.rating_tables import GivenRating, RatingTable, read_ratings

__all__ = [
    "AnswerTable",
    "GivenRating",
    "GivenReply",
    "ImportedRatings",
    "ImportedRun",
    "ImportedRuns",
    "OtherAnswers",
    "RatingTable",
    "describe_source",
    "import_answers",
    "import_ratings",
    "read_answers",
    "read_ratings",
]
