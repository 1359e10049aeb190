"""The grounders and text readers that are no chat models, and what is missing to use each: for `formalimg models`."""

from __future__ import annotations

from formalimg.judges.grounders.detector import open_detector
from formalimg.judges.grounders.detector_files import find_installed_networks, missing_parts
from formalimg.judges.rapidocr import NAME as TEXT_READER
from formalimg.judges.rapidocr import open_rapidocr
from formalimg.models.registry import Provider, requirements_of

_PACKAGE = "formalimg"


def installed_grounders() -> list[Provider]:
    """Return detectors and the readers of icons and of text. Only what says whether they can be used is loaded."""
    networks = "+".join(files.network.name for files in find_installed_networks() if files.network)
    by = f" by {networks}" if networks else ""
    coco = f"The 80 classes of COCO in photographs{by}, on a CPU; -J network=NAME or weights=FILE takes others."
    detectors = "An object detector in a folder or on the Hugging Face hub, run here: detector/FOLDER or …/OWNER/NAME."
    icons = "The icons that built-in models draw; what draws anything else needs another judge."
    text = "Text in images: Latin letters, digits and Chinese, on a CPU. Judges quoted text in prompts."
    return [
        _grounder("builtin/icons", icons, ()),
        _grounder("detector/coco", coco, missing_parts()),
        _grounder("detector", detectors, tuple(requirements_of(open_detector).missing())),
        Provider(
            TEXT_READER, False, False, _PACKAGE, (text,), tuple(requirements_of(open_rapidocr).missing()), reads=True
        ),
    ]


def _grounder(name: str, summary: str, missing: tuple[str, ...]) -> Provider:
    return Provider(name, False, False, _PACKAGE, (summary,), missing, finds=True)
