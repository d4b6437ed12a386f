"""Benchmarks: hermitty next to the floor of what is possible, and next to its peers. Run with `python -m bench`."""
