"""Train on the dense reward, in process: group-relative policy optimization, with a toy in place of a model.

Run it with `python examples/reward_in_process.py`. The toy puts three objects on a canvas, each around some point, and
learns from rewards alone where the instruction requires them. Replace `Toy` by your own pipeline: `reward_function`
takes the arguments of trainers like Flow-GRPO (a batch of images, prompts, metadata), and returns an array of
scores with details.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import formalimg
from formalimg.drawing import draw
from formalimg.rewards import reward_function

PROMPT = "A red cup to the left of a gray fork, which is above a blue pen; the pen is in the lower half, on the right."
ASKED = {
    "formula": """(exists ?c (exists ?f (exists ?p (and (Is ?c 'cup') (Has ?c 'red') (Is ?f 'fork') (Has ?f 'gray')
        (Is ?p 'pen') (Has ?p 'blue') (LeftOf ?c ?f) (Above ?f ?p) (OnBottomSide ?p) (OnRightSide ?p)))))""",
    "vocabulary": "knolling",
}
OBJECTS = (("cup", "red"), ("fork", "gray"), ("pen", "blue"))
GROUP, ROUNDS = 8, 30


class Toy:
    """A model that places objects around some points; the points are its parameters."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.points = self.chance.uniform(200, 800, (len(OBJECTS), 2))

    def sample(self) -> NDArray[np.float64]:
        """Sample positions of the objects."""
        return np.clip(self.points + self.chance.normal(0, 90, self.points.shape), 80, 920).round()

    def paint(self, sample: NDArray[np.float64]) -> Image.Image:
        """Return the image of a sample."""
        objects = [
            formalimg.SceneObject(label, formalimg.Box(x - 60, y - 60, x + 60, y + 60), color)
            for (label, color), (x, y) in zip(OBJECTS, sample.tolist(), strict=True)
        ]
        return draw(formalimg.Scene.of(objects), 256)

    def learn(self, samples: Sequence[NDArray[np.float64]], advantages: NDArray[np.float64]) -> None:
        """Move towards samples with a positive advantage, and away from those with a negative one."""
        for sample, advantage in zip(samples, advantages, strict=True):
            self.points += advantage * (sample - self.points) / len(samples)


def main(seed: int = 1) -> float:
    """Learn one instruction, print the reward of each round, and return the last mean reward."""
    toy, rewards = Toy(seed), reward_function(missing="nan")
    for number in range(1, ROUNDS + 1):
        samples = [toy.sample() for _ in range(GROUP)]
        scores, details = rewards([toy.paint(sample) for sample in samples], [PROMPT] * GROUP, [ASKED] * GROUP)
        # Overlapping objects cannot be grounded. Such images are unscored, and have no influence on training.
        known = ~np.isnan(scores)
        mean, passed = float(scores[known].mean()), details["passed"].count(True)
        print(f"round {number:2}: mean reward {mean:.2f}, {passed} of {GROUP} pass, {details['unscored']} not scored")
        if passed == GROUP:
            break
        advantages = np.where(known, (scores - mean) / (scores[known].std() + 1e-6), 0)
        toy.learn(samples, advantages)
    print("what the first image lacks:", details["reason"][0] or "nothing")
    return mean


if __name__ == "__main__":
    main()
