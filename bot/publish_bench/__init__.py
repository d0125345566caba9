"""The benchmark of publishing: a GitHub in memory, faults at each request in turn, and what came of it."""
