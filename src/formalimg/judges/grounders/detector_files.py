"""The files of a detector: weights by path, or those of a network that is installed as a package (`networks.toml`)."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from formalimg.errors import FormalimgError

WeightsFormat: TypeAlias = Literal["tensorflow", "onnx", "darknet"]

INSTALL_OPENCV = "pip install 'opencv-python-headless<5'"
OWN_WEIGHTS = "-J weights=FILE.onnx, or a .pb with -J config=FILE.pbtxt, or a .weights with -J config=FILE.cfg"

_CONFIG_SUFFIXES = {".pb": ".pbtxt", ".onnx": "", ".weights": ".cfg"}
_FORMATS: Mapping[str, WeightsFormat] = {".pb": "tensorflow", ".onnx": "onnx", ".weights": "darknet"}


@dataclass(frozen=True)
class DetectorParameters:
    """How a network is used."""

    size: int  # the width and height of the input in pixels
    threshold: float = 0.5  # the minimum score of boxes that are counted
    presence: float = 0.5  # the minimum score of the best box of a class
    overlap: float = 0.5  # boxes with this IoU or more are one object

    @property
    def lowest_score(self) -> float:
        """The score below which boxes are of no use."""
        return min(self.threshold, self.presence)


@dataclass(frozen=True)
class Network:
    """A network whose weights are in a package, of which nothing is imported."""

    name: str  # its name as an option
    package: str  # the distribution
    install: str  # the line that installs it
    weights: str  # the path of the weights, a pattern that ends the full one
    config: str  # the path of their description, in the same way
    defaults: DetectorParameters  # how it is used

    def find_files(self) -> DetectorFiles | None:
        """Return the files, None if they are not installed."""
        try:
            package = distribution(self.package)
        except PackageNotFoundError:
            return None
        paths = [Path(str(package.locate_file(path))) for path in package.files or ()]
        weights, config = (
            next((path for path in paths if path.match(pattern) and path.is_file()), None)
            for pattern in (self.weights, self.config)
        )
        return None if weights is None or config is None else DetectorFiles(weights, config, self)


@dataclass(frozen=True)
class DetectorFiles:
    """The files of a detector."""

    weights: Path  # a frozen TensorFlow graph (`.pb`), an ONNX model, or weights of Darknet (`.weights`)
    config: Path | None = None  # the network's description for OpenCV (`.pbtxt`, `.cfg`); None for ONNX
    network: Network | None = None  # the installed network that they are of; None for files that are named by path

    @property
    def format(self) -> WeightsFormat:
        """What wrote the weights."""
        return _FORMATS[self.weights.suffix.lower()]

    @property
    def defaults(self) -> DetectorParameters:
        """How they are used unless options say otherwise."""
        if self.network is not None:
            return self.network.defaults
        return DetectorParameters({"tensorflow": 320, "onnx": 640, "darknet": 608}[self.format])

    def digest(self) -> str:
        """Return what identifies the content of the files."""
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


@cache
def read_networks() -> Mapping[str, Network]:
    """Return the networks by name, the best one first."""
    table = tomllib.loads((files("formalimg.judges.grounders") / "networks.toml").read_text(encoding="utf-8"))
    defaults = ("size", "threshold", "presence", "overlap")
    return {
        name: Network(
            name,
            **{key: value for key, value in fields.items() if key not in defaults},
            defaults=DetectorParameters(**{key: fields[key] for key in defaults}),
        )
        for name, fields in table.items()
    }


def find_detector_files(
    weights: str | None, config: str | None, network: str | None = None
) -> tuple[DetectorFiles, ...]:
    """Return the files that the user names, else those of networks, by default of all that are installed."""
    if weights is None and config is not None:
        raise FormalimgError(f"detector/coco has a config without weights: give {OWN_WEIGHTS}")
    if weights is not None and network is not None:
        raise FormalimgError(f"detector/coco takes weights={weights} or network={network}: give one of them")
    chosen = _installed_files(network) if weights is None else (_own_files(weights, config),)
    if find_spec("cv2") is None:
        raise FormalimgError(f"detector/coco needs OpenCV: {INSTALL_OPENCV}")
    for each in chosen:
        _require_reader(each)
    return chosen


def find_installed_networks() -> tuple[DetectorFiles, ...]:
    """Return the files of all networks that are installed, the best one first."""
    return tuple(files for network in read_networks().values() if (files := network.find_files()) is not None)


def missing_parts() -> tuple[str, ...]:
    """Return the lines that install what is missing to use the networks that are installed, or the best one."""
    best, installed = next(iter(read_networks().values())), find_installed_networks()
    has_reader = find_spec("cv2") is not None and all(map(_is_readable, installed))
    lines = {INSTALL_OPENCV: not has_reader, best.install: not installed}
    return tuple(line for line, is_missing in lines.items() if is_missing)


def _own_files(weights: str, config: str | None) -> DetectorFiles:
    files = DetectorFiles(Path(weights), None if config is None else Path(config))
    suffix = _CONFIG_SUFFIXES.get(files.weights.suffix.lower())
    if suffix is None or suffix != ("" if files.config is None else files.config.suffix.lower()):
        raise FormalimgError(
            "detector/coco reads a frozen graph with its config, Darknet's weights with theirs, or ONNX: "
            f"give {OWN_WEIGHTS}"
        )
    return files


def _installed_files(names: str | None) -> tuple[DetectorFiles, ...]:
    networks, installed = read_networks(), find_installed_networks()
    if names is None and installed:
        return installed
    chosen = [next(iter(networks))] if names is None else names.split("+")
    if not set(chosen) <= set(networks) or len(set(chosen)) < len(chosen):
        known = ", ".join([*networks, "+".join(networks)])
        raise FormalimgError(f"network={names} of detector/coco is unknown: give one of {known}")
    by_name = {files.network.name: files for files in installed if files.network is not None}
    lines = [networks[name].install for name in chosen if name not in by_name]
    if not lines:
        return tuple(by_name[name] for name in chosen)
    others = [
        f"{each.name} by {each.install}" for each in networks.values() if names is None and each.name not in chosen
    ]
    smaller = f"; smaller and less exact: {', '.join(others)}" if others else ""
    if find_spec("cv2") is None:
        lines.insert(0, INSTALL_OPENCV)
    raise FormalimgError(
        f"detector/coco needs weights: {' && '.join(lines)} (nothing else of these packages is needed"
        f"{smaller}), or your own: {OWN_WEIGHTS}"
    )


def _require_reader(files: DetectorFiles) -> None:
    """Require that OpenCV reads the format of these files."""
    if _is_readable(files):
        return
    import cv2

    other = ", or use another network: -J network=ssd" if files.network else ""
    raise FormalimgError(
        f"OpenCV {cv2.__version__} does not read {files.weights.name}, OpenCV 4 does: {INSTALL_OPENCV}{other}"
    )


def _is_readable(files: DetectorFiles) -> bool:
    """Return whether OpenCV reads the format of these files; version 5 does not read Darknet's."""
    if files.format != "darknet":
        return True
    import cv2

    return hasattr(cv2.dnn, "readNetFromDarknet")
