"""Runs: generate and judge the images of one suite with one image model in one resumable folder, and read them back."""

from formalimg.runs.cancellation import NotStartedError
from formalimg.runs.config import MAX_SIZE, MIN_SIZE, Reopenable, RunBuilder, RunConfig, images_url, run_name
from formalimg.runs.cost_estimate import RunEstimate, estimate
from formalimg.runs.database import address_for_reading, told_of
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.inspection import failed_by_rule, inspect
from formalimg.runs.lock import FolderLock, LockedError
from formalimg.runs.manifest import Identity, RunManifest, read_manifest_table
from formalimg.runs.messages import error_text, one_line
from formalimg.runs.plan import Selection, require_covered, style_for
from formalimg.runs.progress import Progress
from formalimg.runs.queries import ImageFile, ImageFilter, ImagePage, ListedImage, Outcome
from formalimg.runs.reader import Judged, PlannedItem, RunRecord, Spent, StoredRun, image_in, layouts_of, open_run

__all__ = [
    "MAX_SIZE",
    "MIN_SIZE",
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
    "Reopenable",
    "RunBuilder",
    "RunConfig",
    "RunEstimate",
    "RunManifest",
    "RunRecord",
    "Selection",
    "Spent",
    "StoredRun",
    "address_for_reading",
    "error_text",
    "estimate",
    "execute",
    "failed_by_rule",
    "image_in",
    "images_url",
    "inspect",
    "judge_run",
    "layouts_of",
    "one_line",
    "open_run",
    "read_manifest_table",
    "require_covered",
    "run_name",
    "style_for",
    "told_of",
]
