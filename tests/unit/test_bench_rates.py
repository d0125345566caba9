"""What `bench` says of programs that several makers made."""

from __future__ import annotations

from bot.bench import valid_rates


def test_each_maker_has_its_own_rate() -> None:
    counts = {"made:rules": 4, "ran:rules": 3, "made:llm": 2, "used:a": 5, "used:b": 1, "built": 3}
    assert valid_rates(counts) == {
        "valid_rate_llm": 0.0,
        "valid_rate_rules": 0.75,
        "characteristics_exercised": 2,
    }


def test_an_engine_with_one_maker_has_none() -> None:
    assert valid_rates({"proposed": 3}) == {}
