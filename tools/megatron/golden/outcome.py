"""What a run of Megatron-LM's code gave, in the form in which the golden files hold it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any
Ranks = list[int]
Run = Callable[[dict[str, Json]], "Outcome"]

# Worlds up to this size list their groups; larger ones hold a digest of them.
LISTED_RANKS = 64


@dataclass(frozen=True)
class Outcome:
    """`ok`: Megatron-LM accepted the input. `error`: otherwise what it raised."""

    ok: bool
    error: dict[str, Json] | None = None
    expect: dict[str, Json] = field(default_factory=dict)


class AbsentError(Exception):
    """The revision does not have the function that a kind runs."""


def accepted(expect: dict[str, Json]) -> Outcome:
    return Outcome(True, None, expect)


def refused(error: dict[str, Json], expect: dict[str, Json] | None = None) -> Outcome:
    return Outcome(False, error, expect or {})


def digest(value: Json) -> str:
    """SHA-256 of the canonical JSON: ASCII, no spaces, keys sorted."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def groups_entry(groups: Mapping[str, list[Ranks]], listed: bool, prefix: str = "") -> dict[str, Json]:
    """The groups by name: the rank lists themselves, or for a large world their digests."""
    if listed:
        return {f"{prefix}groups": dict(groups)}
    return {f"{prefix}groups_sha256": {name: _summary(lists) for name, lists in groups.items()}}


def _summary(lists: list[Ranks]) -> dict[str, Json]:
    return {
        "count": len(lists),
        "sizes": sorted({len(ranks) for ranks in lists}),
        "sha256": digest(lists),
        "first": lists[0][:8] if lists else None,
        "last": lists[-1][-8:] if lists else None,
    }


def distinct(values: Iterable[Json]) -> list[Json]:
    """The values without repetition, in order of first appearance."""
    seen: list[Json] = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return seen


def intervals(positions: Iterable[int]) -> list[list[int]]:
    """Ascending runs of positions as half-open ranges, in the order given."""
    ranges: list[list[int]] = []
    for position in positions:
        if ranges and ranges[-1][1] == position:
            ranges[-1][1] += 1
        else:
            ranges.append([position, position + 1])
    return ranges
