"""The GitHub that tests run against: `emulate`, which we did not write, behind a proxy that adds what it
lacks."""
