"""Benchmarks: what is promised in numbers, measured on the real bot. `make bench` runs them."""
