"""Certificates of judges whose faults are known, summarised in docs/explanation/certification.md.

First the judges that come with formalimg. Then ten judges in Python with planted faults, with the default number of
scenes: they know the scenes, so nothing is rendered for them. Last, how often a good judge is accused: one that is
always right, and one that is wrong about 3 % of the images, each with other scenes in every repetition.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.planted_judges import ALWAYS_RIGHT, PLANTED, WRONG_IMAGES, WRONG_PARTS, Fault, KnownScenes

from formalimg.judges.certificates.certificate import JudgeCertificate
from formalimg.judges.certificates.measurement import SCENES, certify_judge
from formalimg.judges.factory import open_judge
from formalimg.stats.intervals import clopper_pearson

_GOOD: Mapping[str, Fault] = {
    "always right": ALWAYS_RIGHT,
    "wrong about 3 % of images": WRONG_IMAGES,
    "wrong about 3 % of parts": WRONG_PARTS,
}
_RIGHTLY_SAID = ("often fails images", "noisy")
"""A judge that errs in 3 % of the parts fails images with many parts often, and other ones when asked again."""


def main() -> None:
    tables: dict[str, Callable[[argparse.Namespace], None]] = {
        "judges": _print_judges,
        "planted": _print_planted,
        "good": _print_good,
    }
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--table", choices=tables, help="one table alone (default all)")
    options.add_argument("--suites", nargs="+", default=["geneval", "conceptmix", "natural"], help="of planted judges")
    options.add_argument("--scenes", type=int, default=SCENES, help=f"scenes of each judge (default {SCENES})")
    options.add_argument("--seed", type=int, default=7, help="seed of the scenes (default 7)")
    options.add_argument("--repetitions", type=int, default=60, help="certificates of each good judge (default 60)")
    options.add_argument("--scene-seeds", type=int, help="so many sets of scenes (default: one in each repetition)")
    chosen = options.parse_args()
    for name, print_table in tables.items():
        if chosen.table in (None, name):
            print_table(chosen)


def _print_judges(options: argparse.Namespace) -> None:
    print("| judge | suite | images | sensitivity | specificity | findings |")
    print("| --- | --- | ---: | --- | --- | --- |")
    for suite in ("knolling", "geneval"):
        for name in ("builtin/icons", "detector/coco"):
            found = certify_judge(open_judge(suite, name, {}), suite, options.scenes, options.seed)
            shares = f"{found.whole.sensitivity} | {found.whole.specificity}"
            print(f"| {name} | {suite} | {found.images} | {shares} | {'<br>'.join(found.findings)} |", flush=True)


def _print_planted(options: argparse.Namespace) -> None:
    print("\n| planted fault | suite | named | findings |")
    print("| --- | --- | --- | --- |")
    for suite in options.suites:
        scenes = KnownScenes(suite, options.scenes, options.seed)
        for name, (fault, words) in PLANTED.items():
            found = scenes.certify(fault)
            named = "yes" if any(words in finding for finding in found.findings) else "NO"
            print(f"| {name} | {suite} | {named} | {'<br>'.join(found.findings)} |", flush=True)


def _print_good(options: argparse.Namespace) -> None:
    print("\n| judge | suite | certificates with a false finding |")
    print("| --- | --- | --- |")
    for suite in options.suites:
        false = dict.fromkeys(_GOOD, 0)
        sets = options.scene_seeds or options.repetitions
        ordered = sorted(range(options.repetitions), key=lambda number: number % sets)
        for done, repetition in enumerate(ordered):
            if done % 10 == 0:
                print(f"  {suite}: {false} after {done}", file=sys.stderr, flush=True)
            if repetition < sets:
                scenes = KnownScenes(suite, options.scenes, options.seed + repetition)
            for name, fault in _GOOD.items():
                findings = _false_findings(scenes.certify(fault, repetition), fault is WRONG_PARTS)
                false[name] += bool(findings)
                if findings:
                    print(f"  {suite} {repetition} {name}: {findings}", file=sys.stderr)
        for name, count in false.items():
            low, high = clopper_pearson(count, options.repetitions)
            print(f"| {name} | {suite} | {count} of {options.repetitions} ({low:.2f}–{high:.2f}) |", flush=True)


def _false_findings(certificate: JudgeCertificate, errs_in_parts: bool) -> list[str]:
    accused = [each for each in certificate.findings if not each.startswith(("no fault found", "not measured"))]
    return [each for each in accused if not (errs_in_parts and each.startswith(_RIGHTLY_SAID))]


if __name__ == "__main__":
    main()
