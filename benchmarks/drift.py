"""False alarms and power of the drift test (`formalimg.stats.drift_evidence`), by simulation.

A judge answers about an anchor set, twice at first. Its answers differ from the first ones with a chance of its own for
each image: most images are clear, some are not. Later looks take images at random. A changed judge answers some images
the other way round: as many as its accuracy has fallen by.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from formalimg.stats import DRIFT_ALARM, AnchorLook, clopper_pearson
from formalimg.stats.drift import drift_e_values

NOISE = (0.0, 0.02, 0.05, 0.1)
FALLS = (0.05, 0.1, 0.2)
_UNCLEAR = 0.25
"""The share of images that are not clear, and have all of the noise."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--judges", type=int, default=1000, help="unchanged judges of each noise (default 1000)")
    options.add_argument("--looks", type=int, default=1000, help="looks at each unchanged judge (default 1000)")
    options.add_argument("--images", type=int, default=200, help="images of the anchor set (default 200)")
    options.add_argument("--looks-per", type=int, default=40, help="images of each look (default 40)")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    rng = np.random.default_rng(chosen.seed)
    size = (chosen.images, chosen.looks_per)
    print(f"Unchanged judges that ever raise an alarm (e from {DRIFT_ALARM:g} on), in {chosen.looks} looks:")
    for noise in NOISE:
        found = sum(first_alarm(rng, noise, 0.0, 0, chosen.looks, size) is not None for _ in range(chosen.judges))
        low, high = clopper_pearson(found, chosen.judges)
        print(f"  noise {noise:4.0%}: {found} of {chosen.judges} ({low:.2%} to {high:.2%})", flush=True)
    print("Changed judges: the share noticed within 50 looks, and the median number of looks until then:")
    for quiet in (0, 30):
        for noise in NOISE:
            cells = (power(rng, noise, fall, quiet, size, chosen.judges // 5) for fall in FALLS)
            print(f"  {quiet:2} quiet looks before, noise {noise:4.0%}: {'; '.join(cells)}", flush=True)


def power(rng: Generator, noise: float, fall: float, quiet: int, size: tuple[int, int], judges: int) -> str:
    """How often a fall of the accuracy is noticed, and when, as text."""
    alarms = [first_alarm(rng, noise, fall, quiet, quiet + 50, size) for _ in range(judges)]
    late = [alarm - quiet for alarm in alarms if alarm is not None and alarm > quiet]
    median = f"{np.median(late):.0f} looks" if late else "–"
    return f"{100 * fall:.0f} points: {len(late) / judges:.0%}, {median}"


def first_alarm(rng: Generator, noise: float, fall: float, quiet: int, looks: int, size: tuple[int, int]) -> int | None:
    """The look that first raises an alarm about a judge whose accuracy falls after quiet looks; None if none does."""
    images, asked = size
    chances = np.zeros(images)
    chances[: round(_UNCLEAR * images)] = noise / _UNCLEAR
    after = chances.copy()
    turned = rng.permutation(images)[: round(fall * images)]
    after[turned] = 1 - after[turned]
    second = AnchorLook(images, int((rng.random(images) < chances).sum()))

    def counts() -> Iterator[AnchorLook]:
        for number in range(looks):
            yield _look(rng, after if number >= quiet else chances, asked)

    return next((n for n, e in enumerate(drift_e_values(second, counts()), 1) if e >= DRIFT_ALARM), None)


def _look(rng: Generator, chances: NDArray[np.float64], asked: int) -> AnchorLook:
    chosen = chances[rng.permutation(len(chances))[:asked]]
    return AnchorLook(asked, int((rng.random(asked) < chosen).sum()))


if __name__ == "__main__":
    main()
