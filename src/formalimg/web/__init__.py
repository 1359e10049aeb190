"""The viewer: a local site that shows runs, images and the reasons behind every verdict."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.web.annotating import make_annotation_app, serve_study
    from formalimg.web.app import make_app
    from formalimg.web.guarding import host_name, is_loopback
    from formalimg.web.listening import listen
    from formalimg.web.reviewing.app import make_review_app, serve_review
    from formalimg.web.serving import serve
    from formalimg.web.site import FoundRun, Site

__getattr__ = lazy_exports(
    "formalimg.web",
    {
        "annotating": ["make_annotation_app", "serve_study"],
        "app": ["make_app"],
        "guarding": ["host_name", "is_loopback"],
        "listening": ["listen"],
        "reviewing.app": ["make_review_app", "serve_review"],
        "serving": ["serve"],
        "site": ["FoundRun", "Site"],
    },
)

__all__ = [
    "FoundRun",
    "Site",
    "host_name",
    "is_loopback",
    "listen",
    "make_annotation_app",
    "make_app",
    "make_review_app",
    "serve",
    "serve_review",
    "serve_study",
]
