"""Human evaluation: rating studies with raters, attention checks and inter-rater agreement data."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.human_eval.study import open_study
    from formalimg.human_eval.study_builder import create_study

__all__ = ["create_study", "open_study"]

__getattr__, __dir__ = lazy_exports(__name__)
