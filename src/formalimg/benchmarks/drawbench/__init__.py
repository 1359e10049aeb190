"""DrawBench: 200 prompts in 11 categories, by a detector, a text reader and a chat model, each where it can."""
