"""DrawBench: 200 prompts in 11 categories, judged by a detector, a text reader or a chat model."""
