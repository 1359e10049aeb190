"""The playground: check, solve and draw formulas as they are written; verify scenes and images."""
