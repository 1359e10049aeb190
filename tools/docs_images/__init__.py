"""The figures of the README and the docs: drawings, and screenshots of the sites and reports of example runs."""
