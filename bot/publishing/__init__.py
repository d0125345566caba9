"""Bringing a tracker in line with the store: marks in bodies, what should be so, the plan, and doing it."""
