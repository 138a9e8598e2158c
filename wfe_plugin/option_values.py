"""Refusing values of options, by name."""

import math


def require(holds: bool, option: str, value: float, allowed: str) -> None:
    """Raise unless the value is finite and *holds*."""
    if not holds or math.isinf(value):
        raise ValueError(f"{option} is {value}; it must be {allowed}")
