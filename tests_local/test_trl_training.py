"""TRL's own GRPO trainer takes three steps with the reward, on exported files, a tiny model and a processor."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import formalimg

from formalimg import load
from formalimg.rewards.trainers import completion_reward
from tests_local.tiny.chats import save_tiny_llama

trl = pytest.importorskip("trl", reason="needs TRL: pip install trl")
datasets = pytest.importorskip("datasets", reason="needs TRL: pip install trl")

STEPS, GROUP = 3, 4


def plan_of(metadata: str, number: int) -> str:
    """The plan of an item, of another one, or none."""
    items = load("knolling")
    index = int(json.loads(metadata)["item"]) if number % GROUP == 0 else 500 + number
    return "i would rather not." if number % GROUP == 1 else json.dumps(items[index].spec.witness.to_json())


def trained(folder: Path, **options: Any) -> tuple[Any, list[dict[str, float]]]:
    code, _, error = formalimg(
        "export", "knolling", "--trainer", "trl", "--levels", "1,2", "--per-level", "20", "--out", str(folder / "data")
    )
    assert code == 0, error
    rows = datasets.load_dataset(
        "json", data_files={"train": str(folder / "data" / "train.jsonl")}, cache_dir=str(folder / "cache")
    )["train"]
    model = save_tiny_llama(folder / "llama")
    trainer = trl.GRPOTrainer(
        model=str(model),
        reward_funcs=completion_reward,
        train_dataset=rows,
        args=trl.GRPOConfig(
            output_dir=str(folder / "out"),
            max_steps=STEPS,
            per_device_train_batch_size=GROUP,
            num_generations=GROUP,
            max_completion_length=16,
            learning_rate=1e-2,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            bf16=False,
            disable_tqdm=True,
            seed=3,
        ),
        **options,
    )
    before = {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}
    trainer.train()
    assert trainer.state.global_step == STEPS
    moved = [name for name, parameter in trainer.model.named_parameters() if not parameter.equal(before[name])]
    return moved, [entry for entry in trainer.state.log_history if "reward" in entry]


def test_what_a_random_model_writes_has_no_plan_and_earns_nothing(tmp_path: Path) -> None:
    _, steps = trained(tmp_path)
    assert [entry["rewards/completion_reward/mean"] for entry in steps] == [0.0] * STEPS


def test_the_weights_move_by_the_rewards_of_plans(tmp_path: Path) -> None:
    by_prompt: dict[str, str] = {}

    def rollout(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """TRL's hook for generation: plans in place of what a random model writes."""
        tokenizer = trainer.processing_class
        texts = [plan_of(by_prompt[prompt[-1]["content"]], number) for number, prompt in enumerate(prompts)]
        written = [tokenizer(text.lower(), add_special_tokens=False)["input_ids"] for text in texts]
        return {
            "prompt_ids": [tokenizer.apply_chat_template(prompt, return_dict=True)["input_ids"] for prompt in prompts],
            "completion_ids": written,
            "logprobs": [[-4.0] * len(ids) for ids in written],
        }

    items = load("knolling")
    by_prompt.update({item.prompt: json.dumps({"item": str(number)}) for number, item in enumerate(items)})
    moved, steps = trained(tmp_path, rollout_func=rollout)
    assert moved
    means = [entry["rewards/completion_reward/mean"] for entry in steps]
    assert all(0.25 <= mean < 1 for mean in means), means
    assert all(entry["reward_std"] > 0 for entry in steps)
    assert all(math.isfinite(entry["loss"]) for entry in steps)
