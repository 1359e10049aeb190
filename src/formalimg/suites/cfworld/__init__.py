"""CF-World: the same scene under a law of nature and under its opposite, the outcome stated or left to be deduced."""
