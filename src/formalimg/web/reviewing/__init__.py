"""The review of CF-World's groups in the browser: a queue, one page per group, and decisions that are kept at once."""
