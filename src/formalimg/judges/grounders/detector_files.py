"""Classes and weights files of detectors.

Weights are given by path, or come from a network that is installed as a package (`networks.toml`).
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from formalimg._util.io import read_plain_bytes
from formalimg.errors import FormalimgError

INSTALL_OPENCV = "pip install 'opencv-python-headless<5'"
OWN_WEIGHTS = "-J weights=FILE.onnx, or a .pb with -J config=FILE.pbtxt, or a .weights with -J config=FILE.cfg"

_FORMATS = {".pb": ("tensorflow", ".pbtxt", 320), ".onnx": ("onnx", "", 640), ".weights": ("darknet", ".cfg", 608)}
"""The format of weights, the suffix of their configuration and the size of their input, by the suffix of the file."""
_MAX_CLASSES_BYTES = 1_000_000
_MAX_SHOWN = 5


# --- classes


@cache
def _read_table(name: str) -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges.grounders") / name).read_text(encoding="utf-8"))


def _normalize_word(word: str) -> str:
    return re.sub(r"[\s_-]+", " ", word).strip().casefold()


@dataclass(frozen=True)
class DetectorClasses:
    """The classes of a detector with a fixed vocabulary, with their synonyms."""

    ids: Mapping[str, int]  # the id of each class; they count from 1, and may have gaps
    synonyms: Mapping[str, Sequence[str]] = field(default_factory=dict)  # other words for some of the classes

    @cached_property
    def by_id(self) -> Mapping[int, str]:
        """The class names by id."""
        return {number: name for name, number in self.ids.items()}

    @cached_property
    def in_order(self) -> tuple[str, ...]:
        """The class names in order of their ids."""
        return tuple(sorted(self.ids, key=self.ids.__getitem__))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The class names and their synonyms."""
        return (*self.ids, *(word for words in self.synonyms.values() for word in words))

    def find(self, word: str) -> str | None:
        """Return the class for a word, ignoring case, spaces, hyphens and underscores, or None if unknown."""
        return self._by_word.get(_normalize_word(word))

    @cached_property
    def _by_word(self) -> Mapping[str, str]:
        synonyms = {_normalize_word(word): name for name, words in self.synonyms.items() for word in words}
        return synonyms | {_normalize_word(name): name for name in self.ids}

    def unknown(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the requested words that the detector cannot find.

        These are unknown classes, and further synonyms of a class that was already requested, because a box cannot have
        two names.
        """
        word_of: dict[str, str] = {}
        unknown = []
        for word in dict.fromkeys(words):
            name = self.find(word)
            if name is None or word_of.setdefault(name, word) != word:
                unknown.append(word)
        return tuple(unknown)


@cache
def coco_classes() -> DetectorClasses:
    """Return the 80 classes of COCO."""
    return DetectorClasses(_read_table("coco.toml")["classes"], _read_table("coco.toml")["synonyms"])


def read_classes(path: Path) -> DetectorClasses:
    """Read class names from a text file with one name per line, in order of ids from 1.

    Empty lines stand for ids without a class.
    """
    try:
        lines = read_plain_bytes(path, _MAX_CLASSES_BYTES).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FormalimgError(f"cannot read classes={path} ({reason}): give a text file with a class per line") from None
    numbered = [(name.strip(), number) for number, name in enumerate(lines, 1) if name.strip()]
    ids = dict(numbered)
    if not ids or len(ids) < len(numbered):
        problem = "names a class twice" if ids else "names no class"
        raise FormalimgError(f"classes={path} {problem}: give a text file with a class per line")
    return DetectorClasses(ids)


def explain_unknown_classes(name: str, unknown: Sequence[str]) -> str:
    """Return the unscored detail for an item with classes that the detector cannot find."""
    listed = ", ".join(unknown[:_MAX_SHOWN]) + ", …" * (len(unknown) > _MAX_SHOWN)
    return f"{name} cannot look for {listed}: judge this item with a chat model that can see, or leave it out"


# --- files


@dataclass(frozen=True)
class DetectorParameters:
    """The input size and thresholds of a network."""

    size: int  # the width and height of the input in pixels
    threshold: float = 0.5  # the minimum score of boxes that are counted
    presence: float = 0.5  # the minimum score of the best box of a class
    overlap: float = 0.5  # boxes with this IoU or more are one object

    @property
    def lowest_score(self) -> float:
        """The minimum score of any box that is used."""
        return min(self.threshold, self.presence)


@dataclass(frozen=True)
class DetectorFiles:
    """The weights and configuration files of a detector."""

    weights: Path  # a frozen TensorFlow graph (`.pb`), an ONNX model, or weights of Darknet (`.weights`)
    config: Path | None = None  # the network's description for OpenCV (`.pbtxt`, `.cfg`); None for ONNX
    network: str = ""  # the installed network that they are of; empty for files that are named by path

    @property
    def format(self) -> str:
        """The format of the weights file: tensorflow, onnx or darknet."""
        return _FORMATS[self.weights.suffix.lower()][0]

    @property
    def defaults(self) -> DetectorParameters:
        """The default parameters, which options can override."""
        if not self.network:
            return DetectorParameters(_FORMATS[self.weights.suffix.lower()][2])
        fields = _read_table("networks.toml")[self.network]
        return DetectorParameters(*(fields[name] for name in ("size", "threshold", "presence", "overlap")))

    @property
    def is_readable(self) -> bool:
        """Whether the installed OpenCV can read the format of the weights."""
        if self.format != "darknet":
            return True
        import cv2

        return hasattr(cv2.dnn, "readNetFromDarknet")

    def digest(self) -> str:
        """Return a digest of the file contents."""
        digest = hashlib.sha256()
        for path in filter(None, (self.weights, self.config)):
            try:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise FormalimgError(
                    f"cannot read {path} ({error.strerror}): name the weights with {OWN_WEIGHTS}"
                ) from None
        return digest.hexdigest()[:16]


def find_installed_networks() -> tuple[DetectorFiles, ...]:
    """Return the files of all installed networks, best first."""
    installed = []
    for name, fields in _read_table("networks.toml").items():
        try:
            package = distribution(fields["package"])
        except PackageNotFoundError:
            continue
        paths = [Path(str(package.locate_file(path))) for path in package.files or ()]
        weights, config = (
            next((path for path in paths if path.match(fields[key]) and path.is_file()), None)
            for key in ("weights", "config")
        )
        if weights is not None and config is not None:
            installed.append(DetectorFiles(weights, config, name))
    return tuple(installed)


def missing_parts() -> tuple[str, ...]:
    """Return the install commands for missing requirements of `detector/coco`."""
    best, installed = next(iter(_read_table("networks.toml").values())), find_installed_networks()
    has_reader = find_spec("cv2") is not None and all(files.is_readable for files in installed)
    lines = {INSTALL_OPENCV: not has_reader, best["install"]: not installed}
    return tuple(line for line, is_missing in lines.items() if is_missing)


def find_detector_files(
    weights: str | None, config: str | None, network: str | None = None
) -> tuple[DetectorFiles, ...]:
    """Return the detector files selected by the user, by default those of all installed networks."""
    if weights is None and config is not None:
        raise FormalimgError(f"detector/coco has a config without weights: give {OWN_WEIGHTS}")
    if weights is not None and network is not None:
        raise FormalimgError(f"detector/coco takes weights={weights} or network={network}: give one of them")
    if weights is None:
        chosen = _find_installed_files(network)
    else:
        own = DetectorFiles(Path(weights), None if config is None else Path(config))
        expected = _FORMATS.get(own.weights.suffix.lower())
        if expected is None or expected[1] != ("" if own.config is None else own.config.suffix.lower()):
            raise FormalimgError(
                "detector/coco reads a frozen graph with its config, Darknet's weights with theirs, or ONNX: "
                f"give {OWN_WEIGHTS}"
            )
        chosen = (own,)
    if find_spec("cv2") is None:
        raise FormalimgError(f"detector/coco needs OpenCV: {INSTALL_OPENCV}")
    for detector in chosen:
        if not detector.is_readable:
            import cv2

            advice = ", or use another network: -J network=ssd" if detector.network else ""
            raise FormalimgError(
                f"OpenCV {cv2.__version__} does not read {detector.weights.name}, OpenCV 4 does: {INSTALL_OPENCV}"
                + advice
            )
    return chosen


def _find_installed_files(names: str | None) -> tuple[DetectorFiles, ...]:
    networks, installed = _read_table("networks.toml"), find_installed_networks()
    if names is None and installed:
        return installed
    chosen = [next(iter(networks))] if names is None else names.split("+")
    if not set(chosen) <= set(networks) or len(set(chosen)) < len(chosen):
        choices = ", ".join([*networks, "+".join(networks)])
        raise FormalimgError(f"network={names} of detector/coco is unknown: give one of {choices}")
    by_name = {files.network: files for files in installed}
    lines = [networks[name]["install"] for name in chosen if name not in by_name]
    if not lines:
        return tuple(by_name[name] for name in chosen)
    rest = [f"{name} by {networks[name]['install']}" for name in networks if names is None and name not in chosen]
    smaller = f"; smaller and less exact: {', '.join(rest)}" if rest else ""
    if find_spec("cv2") is None:
        lines.insert(0, INSTALL_OPENCV)
    raise FormalimgError(
        f"detector/coco needs weights: {' && '.join(lines)} (nothing else of these packages is needed"
        f"{smaller}), or your own: {OWN_WEIGHTS}"
    )
