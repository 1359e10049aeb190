"""Browser sites: the viewer of runs, human ratings, the review of written items, and the formula playground."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.web.annotation import create_annotation_app
    from formalimg.web.viewer.app import create_viewer_app
    from formalimg.web.viewer.site import Site

__all__ = [
    "Site",
    "create_annotation_app",
    "create_viewer_app",
]

__getattr__, __dir__ = lazy_exports(__name__)
