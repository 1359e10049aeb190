"""Generate and judge images of a suite with one model, in a resumable run folder."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.runs.config import RunConfig
    from formalimg.runs.execution import execute
    from formalimg.runs.plan import Selection
    from formalimg.runs.reader import open_run
    from formalimg.runs.tags import read_tags, write_tags

__all__ = ["RunConfig", "Selection", "execute", "open_run", "read_tags", "write_tags"]

__getattr__, __dir__ = lazy_exports(__name__)
