"""Sharing: runs as files that can be cited and verified, as cards, on a hub, and in experiment trackers."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.sharing.bundle import WrittenBundle, write_bundle
    from formalimg.sharing.bundle_checks import BundleCheck, BundleFinding, Unproven
    from formalimg.sharing.bundle_format import digest_text
    from formalimg.sharing.bundle_verification import unpack_bundle, verify_bundle
    from formalimg.sharing.hub import PushedRun, push_run
    from formalimg.sharing.model_cards import ModelCard, model_card
    from formalimg.sharing.reproduction_commands import Reproduction, reproduction
    from formalimg.sharing.tracked_runs import MAX_FAILURES, TrackedRun, tracked_run
    from formalimg.sharing.trackers import Tracker, log_run, read_tracker

# Lazy, so that a bundle needs nothing of a hub, and a card nothing of a tracker.
__getattr__ = lazy_exports(
    "formalimg.sharing",
    {
        "bundle": ["WrittenBundle", "write_bundle"],
        "bundle_format": ["digest_text"],
        "bundle_checks": ["BundleCheck", "BundleFinding", "Unproven"],
        "bundle_verification": ["unpack_bundle", "verify_bundle"],
        "hub": ["PushedRun", "push_run"],
        "model_cards": ["ModelCard", "model_card"],
        "reproduction_commands": ["Reproduction", "reproduction"],
        "tracked_runs": ["MAX_FAILURES", "TrackedRun", "tracked_run"],
        "trackers": ["Tracker", "log_run", "read_tracker"],
    },
)

__all__ = [
    "MAX_FAILURES",
    "BundleCheck",
    "BundleFinding",
    "ModelCard",
    "PushedRun",
    "Reproduction",
    "TrackedRun",
    "Tracker",
    "Unproven",
    "WrittenBundle",
    "digest_text",
    "log_run",
    "model_card",
    "push_run",
    "read_tracker",
    "reproduction",
    "tracked_run",
    "unpack_bundle",
    "verify_bundle",
    "write_bundle",
]
