"""Builds: which ones a channel has, and an interpreter for each."""
