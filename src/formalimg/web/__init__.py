"""Browser sites: the viewer of runs, human ratings, the review of written items, and the formula playground."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.web.annotate.app import create_annotation_app, serve_study
    from formalimg.web.connections import OVER_CONNECTION_LIMIT, ConnectionLimits, LimitedServer, limited_config
    from formalimg.web.export import ExportedSite, ExportImages, ImageSize, export_viewer
    from formalimg.web.json_body import MAX_WORD, has_long_word
    from formalimg.web.review.app import create_review_app, serve_review
    from formalimg.web.security import host_name, is_loopback, is_of_other_page
    from formalimg.web.server import listen
    from formalimg.web.server_log import limited_log
    from formalimg.web.viewer.app import create_viewer_app, serve_viewer
    from formalimg.web.viewer.site import FoundRun, Site

__getattr__ = lazy_exports(
    "formalimg.web",
    {
        "annotate.app": ["create_annotation_app", "serve_study"],
        "viewer.app": ["create_viewer_app", "serve_viewer"],
        "security": ["host_name", "is_loopback", "is_of_other_page"],
        "connections": ["OVER_CONNECTION_LIMIT", "ConnectionLimits", "LimitedServer", "limited_config"],
        "export": ["ExportImages", "ExportedSite", "ImageSize", "export_viewer"],
        "json_body": ["MAX_WORD", "has_long_word"],
        "server": ["listen"],
        "server_log": ["limited_log"],
        "review.app": ["create_review_app", "serve_review"],
        "viewer.site": ["FoundRun", "Site"],
    },
)

__all__ = [
    "MAX_WORD",
    "OVER_CONNECTION_LIMIT",
    "ConnectionLimits",
    "ExportImages",
    "ExportedSite",
    "FoundRun",
    "ImageSize",
    "LimitedServer",
    "Site",
    "create_annotation_app",
    "create_review_app",
    "create_viewer_app",
    "export_viewer",
    "has_long_word",
    "host_name",
    "is_loopback",
    "is_of_other_page",
    "limited_config",
    "limited_log",
    "listen",
    "serve_review",
    "serve_study",
    "serve_viewer",
]
