"""What object storages charge, in dollars. These are inputs and no measurements: change them here.

Free amounts of a month, taxes and discounts are left out.
"""
from __future__ import annotations

from typing import NamedTuple

STORED = 500e9


class Provider(NamedTuple):
    name: str
    # Where the prices are from, and as of when.
    source: str
    # A thousand requests of each kind. Other kinds are free.
    requests: dict[str, float]
    # A gigabyte: stored for a month, and read from outside of the provider.
    stored: float
    traffic: float


PROVIDERS = (
    Provider("Amazon S3, us-east-1", "the price list of 2025, which was not looked up again",
             {"PUT": 0.005, "POST": 0.005, "LIST": 0.005, "GET": 0.0004, "HEAD": 0.0004}, 0.023, 0.09),
    Provider("Cloudflare R2", "developers.cloudflare.com/r2/pricing, as of 2026-11-28",
             {"PUT": 0.0045, "POST": 0.0045, "LIST": 0.0045, "GET": 0.00036, "HEAD": 0.00036}, 0.015, 0.0),
)


def stating() -> str:
    """Where the prices are from, and what they make of bytes alone, which nobody can avoid."""
    gigabytes = STORED / 1e9
    return " ".join(
        f"{one.name} ({one.source}): ${one.stored * gigabytes:.2f} a month to keep {gigabytes:.0f} GB, and "
        f"${one.traffic * gigabytes:.2f} of traffic to read them once from elsewhere." for one in PROVIDERS)
