"""Runs: one suite, one image model and one judge in one folder, made and judged without losing anything."""

from formalimg.runs.database import address_for_reading, told_of
from formalimg.runs.forecast import RunEstimate, estimate
from formalimg.runs.heeding import NotStartedError
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.inspection import failed_by_rule, inspect
from formalimg.runs.layouts import layouts_of
from formalimg.runs.lock import FolderLock, LockedError
from formalimg.runs.manifest import read_manifest_table
from formalimg.runs.naming import images_url, run_name
from formalimg.runs.paging import ImageFile, ImageFilter, ImagePage, ListedImage
from formalimg.runs.plan import Selection, require_covered, style_for
from formalimg.runs.progress import Progress
from formalimg.runs.reading import StoredRun, image_in, open_run
from formalimg.runs.record import Identity, Judged, Outcome, PlannedItem, RunManifest, RunRecord, Spent
from formalimg.runs.running import RunConfig, execute, judge_run

__all__ = [
    "FolderLock",
    "Identity",
    "ImageFile",
    "ImageFilter",
    "ImageLocation",
    "ImagePage",
    "Judged",
    "ListedImage",
    "LockedError",
    "NotStartedError",
    "Outcome",
    "PlannedItem",
    "Progress",
    "RunConfig",
    "RunEstimate",
    "RunManifest",
    "RunRecord",
    "Selection",
    "Spent",
    "StoredRun",
    "address_for_reading",
    "estimate",
    "execute",
    "failed_by_rule",
    "image_in",
    "images_url",
    "inspect",
    "judge_run",
    "layouts_of",
    "open_run",
    "read_manifest_table",
    "require_covered",
    "run_name",
    "style_for",
    "told_of",
]
