"""Review of written groups in the browser: a queue, one page per group, and decisions stored immediately."""
