"""Certificates of judges whose faults are known: the table of docs/explanation/certification.md.

Three of them are chat models on a loopback server that know what is drawn and answer badly in a known way: they always
say yes, they say yes to every relation, or they believe a text in the image.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from formalimg.judges.certificates.certificate import JudgeCertificate
from formalimg.judges.certificates.measurement import certify_judge
from formalimg.judges.factory import open_judge


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scenes", type=int, default=40, help="scenes of each judge (default 40)")
    options.add_argument("--seed", type=int, default=7, help="seed of the scenes (default 7)")
    options.add_argument("--only", default="", help="the judges whose names have this in them (default all)")
    chosen = options.parse_args()
    print("| judge | suite | images | sensitivity | specificity | findings |")
    print("| --- | --- | ---: | --- | --- | --- |")
    for suite in ("knolling", "geneval"):
        for name in ("builtin/icons", "detector/coco"):
            if chosen.only in f"{name} {suite}":
                _show(name, certify_judge(open_judge(suite, name, {}), suite, chosen.scenes, chosen.seed))
    _bad_judges(chosen.scenes, chosen.seed, chosen.only)


def _bad_judges(scenes: int, seed: int, only: str) -> None:
    """Certify the bad judges, through the SDK and over HTTP."""
    from tests.support.bad_judges import KnowingModel, Say, always_yes, blind_to_relations, swayed_by_text
    from tests.support.loopback import Loopback

    judges: dict[str, Say] = {
        "always yes": always_yes,
        "ignores relations": blind_to_relations,
        "swayed by text": swayed_by_text,
    }
    wanted = {name: say for name, say in judges.items() if only in name}
    if not wanted:
        return
    model = KnowingModel("natural", scenes, seed)
    with tempfile.TemporaryDirectory() as folder, Loopback(reply=model) as server:
        os.environ |= {"FORMALIMG_CACHE": folder, "OPENAI_API_KEY": "none"}
        for name, say in wanted.items():
            model.say = say
            judge = open_judge("natural", "openai/loopback", {"base_url": f"{server.url}/v1", "cache": "off"})
            _show(name, certify_judge(judge, "natural", scenes, seed))


def _show(name: str, found: JudgeCertificate) -> None:
    whole = found.whole
    shares = f"{whole.sensitivity} | {whole.specificity}"
    print(f"| {name} | {found.suite} | {found.images} | {shares} | {'<br>'.join(found.findings)} |", flush=True)


if __name__ == "__main__":
    main()
