"""The viewer as a static site: the pages of its application, written to a folder with links between files."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.web.export.exporter import ExportedSite, ExportImages, ImageSize, export_viewer

__getattr__ = lazy_exports(
    "formalimg.web.export", {"exporter": ["ExportImages", "ExportedSite", "ImageSize", "export_viewer"]}
)

__all__ = ["ExportImages", "ExportedSite", "ImageSize", "export_viewer"]
