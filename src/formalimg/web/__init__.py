"""The viewer: a local site that shows runs, pictures and the reasons behind every verdict."""

from typing import TYPE_CHECKING

from formalimg.lazily import lazily

if TYPE_CHECKING:
    from formalimg.web.app import make_app
    from formalimg.web.serving import serve
    from formalimg.web.site import FoundRun, Site

__getattr__ = lazily(
    "formalimg.web",
    {"app": ["make_app"], "serving": ["serve"], "site": ["FoundRun", "Site"]},
)

__all__ = ["FoundRun", "Site", "make_app", "serve"]
