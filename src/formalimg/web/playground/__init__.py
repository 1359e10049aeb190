"""The playground: check, solve and draw formulas as they are typed; verify scenes and images."""
