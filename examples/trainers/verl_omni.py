"""verl-omni's reward manager, in small: `compute_score`, awaited for one image after the other.

Write the data, and name the function in the trainer's configuration; extra keys reach it as arguments:

    formalimg export knolling --trainer verl-omni --out data/knolling

    data.train_files=data/knolling/train.json data.val_files=data/knolling/test.json
    reward.custom_reward_function.path=pkg://formalimg.rewards.trainers.verl_omni
    reward.custom_reward_function.name=compute_score

In a sum of several rewards, set `required: true` beside `missing: error`: verl-omni counts other exceptions as 0.
With FORMALIMG_URL set, images go to a reward server. `python examples/trainers/verl_omni.py` runs a demo.
"""

from __future__ import annotations

import asyncio
import json

import numpy as np

import formalimg
from formalimg.drawing import draw
from formalimg.rewards.trainers import compute_score


async def rewards() -> list[dict[str, float]]:
    """Return the rewards of three images for one row: a right one, a wrong one, and noise, which is NaN."""
    item, other = formalimg.load("knolling")[20:22]
    row = {"suite": item.suite, "id": item.id}
    drawn = [np.asarray(draw(each.spec.witness, 256)).transpose(2, 0, 1) for each in (item, other)]
    noise = np.random.default_rng(0).integers(0, 256, (3, 256, 256), np.uint8)
    calls = [
        compute_score(
            data_source="formalimg/knolling",
            solution_image=image,
            ground_truth=json.dumps(row),
            extra_info={"split": "train", "num_turns": None, "rollout_reward_scores": {}},
        )
        for image in (*drawn, noise)
    ]
    return list(await asyncio.gather(*calls))


def main() -> list[dict[str, float]]:
    """Print the reward of each image."""
    found = asyncio.run(rewards())
    for one in found:
        print(", ".join(f"{name} {value:.2f}" for name, value in one.items()))
    return found


if __name__ == "__main__":
    main()
