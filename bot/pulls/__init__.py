"""`/fuzz` on a pull request: what it changes, run by the engines, base against head."""
