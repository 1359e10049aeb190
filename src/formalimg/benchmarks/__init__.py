"""Benchmark suites: loading, synthesis, authoring, download and export of their items."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.benchmarks.conditions import Condition
    from formalimg.benchmarks.export.splits import split_items
    from formalimg.benchmarks.export.suite_export import export_suite
    from formalimg.benchmarks.formal.spec import FormulaSpec
    from formalimg.benchmarks.items_file import write_items
    from formalimg.benchmarks.loader import load
    from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
    from formalimg.benchmarks.record import ItemsError
    from formalimg.benchmarks.registry import suite, suite_names
    from formalimg.types import Item

__all__ = [
    "Condition",
    "FormulaSpec",
    "GraphQuestion",
    "Item",
    "ItemsError",
    "QuestionSpec",
    "export_suite",
    "load",
    "split_items",
    "suite",
    "suite_names",
    "write_items",
]

__getattr__, __dir__ = lazy_exports(__name__)
