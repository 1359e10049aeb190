"""Default configuration from `formalimg.toml` and the environment, including the default judge."""
