"""Judges, which return a verdict on an image."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.judges.base import LoadedImage
    from formalimg.judges.boxes import box_convention
    from formalimg.judges.callable_judge import CallableJudge
    from formalimg.judges.certificates.certificate import read_certificate
    from formalimg.judges.certificates.measurement import certify_judge
    from formalimg.judges.factory import open_grounder, open_judge
    from formalimg.judges.grounders.icons import ground_icons
    from formalimg.types import Grounder, Judge, Part, Unscored, Verdict

__all__ = [
    "CallableJudge",
    "Grounder",
    "Judge",
    "LoadedImage",
    "Part",
    "Unscored",
    "Verdict",
    "box_convention",
    "certify_judge",
    "ground_icons",
    "open_grounder",
    "open_judge",
    "read_certificate",
]

__getattr__, __dir__ = lazy_exports(__name__)
