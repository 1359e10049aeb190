"""Sharing: citable and verifiable bundles of runs, model cards, the Hugging Face Hub, and experiment trackers."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.reports.sharing.bundle import write_bundle
    from formalimg.reports.sharing.bundle_verification import verify_bundle

__all__ = [
    "verify_bundle",
    "write_bundle",
]

__getattr__, __dir__ = lazy_exports(__name__)
