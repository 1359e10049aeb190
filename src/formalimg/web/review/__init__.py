"""Browser pages for the review of CF-World groups: a queue, one page per group, decisions stored at once."""
