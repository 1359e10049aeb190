"""Runs: generate and judge the images of one suite with one image model in one resumable folder, and read them back."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.runs.cancellation import NotStartedError
from formalimg.runs.config import (
    MAX_SAMPLES,
    MAX_SIZE,
    MIN_SIZE,
    Reopenable,
    RunBuilder,
    RunConfig,
    images_url,
    run_name,
)
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.folder import set_aside
from formalimg.runs.image_store import ChangedImageError, ImageLocation
from formalimg.runs.inspection import failed_by_rule, inspect
from formalimg.runs.lock import FolderLock, LockedError
from formalimg.runs.manifest import (
    MAX_MANIFEST_BYTES,
    Identity,
    RunManifest,
    read_manifest_table,
    require_images,
)
from formalimg.runs.messages import error_text, one_line
from formalimg.runs.plan import Selection, default_style, require_supported
from formalimg.runs.progress import EarlierWork, Progress
from formalimg.runs.queries import ImageFile, ImageFilter, ImageOutcome, ImagePage, ListedImage
from formalimg.runs.reader import (
    Judged,
    RunRecord,
    StoredRun,
    load_layouts,
    locate_image,
    open_run,
)
from formalimg.runs.rows import PlannedItem, RunCost
from formalimg.runs.safeguards import MAX_FAILURES, Safeguards, preflight_by_default

if TYPE_CHECKING:
    from formalimg.runs.cost_estimate import RunEstimate, estimate, question_cost
    from formalimg.runs.imported import ImportedVerdict, write_imported_run
    from formalimg.runs.progress_display import run_progress, script_progress

# Lazy, because only dry runs estimate, few runs are imported, and programs may show progress themselves.
__getattr__ = lazy_exports(
    "formalimg.runs",
    {
        "cost_estimate": ["RunEstimate", "estimate", "question_cost"],
        "imported": ["ImportedVerdict", "write_imported_run"],
        "progress_display": ["run_progress", "script_progress"],
    },
)

__all__ = [
    "MAX_FAILURES",
    "MAX_MANIFEST_BYTES",
    "MAX_SAMPLES",
    "MAX_SIZE",
    "MIN_SIZE",
    "ChangedImageError",
    "EarlierWork",
    "FolderLock",
    "Identity",
    "ImageFile",
    "ImageFilter",
    "ImageLocation",
    "ImageOutcome",
    "ImagePage",
    "ImportedVerdict",
    "Judged",
    "ListedImage",
    "LockedError",
    "NotStartedError",
    "PlannedItem",
    "Progress",
    "Reopenable",
    "RunBuilder",
    "RunConfig",
    "RunCost",
    "RunEstimate",
    "RunManifest",
    "RunRecord",
    "Safeguards",
    "Selection",
    "StoredRun",
    "default_style",
    "error_text",
    "estimate",
    "execute",
    "failed_by_rule",
    "images_url",
    "inspect",
    "judge_run",
    "load_layouts",
    "locate_image",
    "one_line",
    "open_run",
    "preflight_by_default",
    "question_cost",
    "read_manifest_table",
    "require_images",
    "require_supported",
    "run_name",
    "run_progress",
    "script_progress",
    "set_aside",
    "write_imported_run",
]
