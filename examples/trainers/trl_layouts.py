"""TRL's GRPO, in small: a language model that plans images, rewarded for its layouts. No image is made.

Write the data, and pass the reward to the trainer as it is:

    formalimg export knolling --trainer trl --out data/knolling

    from datasets import load_dataset
    from trl import GRPOTrainer
    from formalimg.rewards.trainers import completion_reward

    data = load_dataset("json", data_files={"train": "data/knolling/train.jsonl", "test": "data/knolling/test.jsonl"})
    GRPOTrainer(model="…", reward_funcs=completion_reward, train_dataset=data["train"], eval_dataset=data["test"])

`python examples/trainers/trl_layouts.py` calls the reward as the trainer does, with a group of three completions.
"""

from __future__ import annotations

import json

import formalimg
from formalimg.rewards.trainers import completion_reward


def main() -> list[float]:
    """Score a right plan, the plan for another prompt, and a text without a plan, which is the model's own failure."""
    item, other = formalimg.load("knolling")[20:22]
    plans = [json.dumps(each.spec.witness.to_json()) for each in (item, other)]
    completions = [[{"role": "assistant", "content": text}] for text in (*plans, "I cannot draw this.")]
    prompts = [[{"role": "user", "content": item.prompt}]] * 3
    metadata = [json.dumps({"suite": item.suite, "id": item.id})] * 3  # a column of the data set
    rewards = completion_reward(
        prompts=prompts, completions=completions, completion_ids=[[1], [2], [3]], metadata=metadata, trainer_state=None
    )
    print("rewards:", ", ".join(f"{reward:.2f}" for reward in rewards))
    return rewards


if __name__ == "__main__":
    main()
