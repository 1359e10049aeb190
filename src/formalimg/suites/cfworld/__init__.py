"""CF-World: the same scene under a law of nature and under its opposite, told outright or left to be deduced."""
