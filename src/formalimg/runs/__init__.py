"""Runs: generate and judge the images of one suite with one image model in one resumable folder, and read them back."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.runs.activity import ImageCounts, RunActivity, is_in_progress
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
from formalimg.runs.image_store import ChangedImageError, ImageLocation, image_stem, is_image_name
from formalimg.runs.inspection import LARGE_IMAGE_BYTES, decoded_bytes, failed_by_rule, image_size, inspect
from formalimg.runs.lock import FolderLock, LockedError
from formalimg.runs.manifest import (
    MAX_MANIFEST_BYTES,
    Identity,
    RunManifest,
    read_manifest_table,
    require_images,
)
from formalimg.runs.messages import error_text, one_line
from formalimg.runs.plan import (
    Selection,
    default_style,
    image_seed,
    judge_key,
    plan_digest,
    question_key,
    require_supported,
)
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
    from formalimg.runs.adaptive import AdaptivePlan, execute_adaptive, plan_adaptive
    from formalimg.runs.cost_estimate import RunEstimate, estimate, question_cost
    from formalimg.runs.facets import FacetCounts, FacetIndex
    from formalimg.runs.imported import ImportedImage, write_imported_run
    from formalimg.runs.looks import AdaptiveLooks, read_looks
    from formalimg.runs.progress_display import run_progress, script_progress
    from formalimg.runs.records import JOURNALS, RowRecord, RunRecords, open_records, restore_run, table_names
    from formalimg.runs.tags import TAGS_FILE, RunTags, TagsChangedError, can_write_tags, read_tags, write_tags

# Lazy, because few runs are adaptive or imported, only dry runs estimate, and programs may show progress themselves.
__getattr__ = lazy_exports(
    "formalimg.runs",
    {
        "adaptive": ["AdaptivePlan", "execute_adaptive", "plan_adaptive"],
        "cost_estimate": ["RunEstimate", "estimate", "question_cost"],
        "facets": ["FacetCounts", "FacetIndex"],
        "imported": ["ImportedImage", "write_imported_run"],
        "looks": ["AdaptiveLooks", "read_looks"],
        "progress_display": ["run_progress", "script_progress"],
        "records": ["JOURNALS", "RowRecord", "RunRecords", "open_records", "restore_run", "table_names"],
        "tags": ["TAGS_FILE", "RunTags", "TagsChangedError", "can_write_tags", "read_tags", "write_tags"],
    },
)

__all__ = [
    "JOURNALS",
    "LARGE_IMAGE_BYTES",
    "MAX_FAILURES",
    "MAX_MANIFEST_BYTES",
    "MAX_SAMPLES",
    "MAX_SIZE",
    "MIN_SIZE",
    "TAGS_FILE",
    "AdaptiveLooks",
    "AdaptivePlan",
    "ChangedImageError",
    "EarlierWork",
    "FacetCounts",
    "FacetIndex",
    "FolderLock",
    "Identity",
    "ImageCounts",
    "ImageFile",
    "ImageFilter",
    "ImageLocation",
    "ImageOutcome",
    "ImagePage",
    "ImportedImage",
    "Judged",
    "ListedImage",
    "LockedError",
    "PlannedItem",
    "Progress",
    "Reopenable",
    "RowRecord",
    "RunActivity",
    "RunBuilder",
    "RunConfig",
    "RunCost",
    "RunEstimate",
    "RunManifest",
    "RunRecord",
    "RunRecords",
    "RunTags",
    "Safeguards",
    "Selection",
    "StoredRun",
    "TagsChangedError",
    "can_write_tags",
    "decoded_bytes",
    "default_style",
    "error_text",
    "estimate",
    "execute",
    "execute_adaptive",
    "failed_by_rule",
    "image_seed",
    "image_size",
    "image_stem",
    "images_url",
    "inspect",
    "is_image_name",
    "is_in_progress",
    "judge_key",
    "judge_run",
    "load_layouts",
    "locate_image",
    "one_line",
    "open_records",
    "open_run",
    "plan_adaptive",
    "plan_digest",
    "preflight_by_default",
    "question_cost",
    "question_key",
    "read_looks",
    "read_manifest_table",
    "read_tags",
    "require_images",
    "require_supported",
    "restore_run",
    "run_name",
    "run_progress",
    "script_progress",
    "set_aside",
    "table_names",
    "write_imported_run",
    "write_tags",
]
