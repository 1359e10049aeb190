"""Configuration: the defaults of `formalimg.toml` and the environment, and the judge of a run that names none."""
