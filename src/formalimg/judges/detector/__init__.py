"""The grounder that asks an open-vocabulary detector for boxes, and takes colours from pixels."""

from formalimg.judges.detector.grounder import DetectorGrounder, open_detector

__all__ = ["DetectorGrounder", "open_detector"]
