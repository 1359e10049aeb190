"""GenEval 2: prompts of 3 to 10 atoms, with a question for each."""
