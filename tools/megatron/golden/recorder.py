"""A torch.distributed that records the groups asked of it and plays one rank of a world.

`new_group` makes the argument checks of torch 2.14.1 (torch/distributed/distributed_c10d.py, `_new_group_with_tag` and
`_new_process_group_helper`). Nothing else of torch is modelled. An exception that leaves this file is torch's refusal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d


@dataclass(frozen=True)
class Call:
    """One request for a group; `ranks` in the order in which they were given."""

    description: str | None
    ranks: list[int]


class Group:
    """A process group of which the played rank is a member; `ranks` in torch's (ascending) order."""

    def __init__(self, ranks: Sequence[int], member: int | None = None) -> None:
        self.ranks = list(ranks)
        self._member = member

    def size(self) -> int:
        return len(self.ranks)

    def rank(self) -> int:
        member = WORLD.rank if self._member is None else self._member
        return self.ranks.index(member) if member in self.ranks else -1


@dataclass
class World:
    """The world that is played, and the groups requested since `play`."""

    size: int = 1
    rank: int = 0
    initialized: bool = True
    calls: list[Call] = field(default_factory=list)

    def play(self, size: int, rank: int, initialized: bool = True) -> None:
        self.size, self.rank, self.initialized = size, rank, initialized
        self.calls = []


WORLD = World()


def new_group(ranks: Sequence[int] | None = None, group_desc: str | None = None, **_: Any) -> Any:
    requested = list(range(WORLD.size)) if ranks is None else [int(rank) for rank in ranks]
    WORLD.calls.append(Call(group_desc, requested))
    ascending = sorted(requested)
    if len(set(ascending)) != len(ascending):
        raise ValueError(f"ranks list must not contain duplicate entries, got {ascending}")
    if len(ascending) > WORLD.size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in ascending:
        if not 0 <= rank < WORLD.size:
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {WORLD.size - 1} (world_size={WORLD.size})"
            )
    if not ascending:
        raise AssertionError("Group rank must be specified for group members")
    return Group(ascending) if WORLD.rank in ascending else dist.GroupMember.NON_GROUP_MEMBER


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]] | None, group_desc: str | None = None, **_: Any
) -> tuple[Any, list[Any]]:
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    groups, own = [], None
    group_of: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        group = new_group(ranks=ranks, group_desc=group_desc)
        groups.append(group)
        for rank in ranks:
            if rank in group_of:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {group_of[rank]} and {ranks}")
            group_of[rank] = ranks
            if rank == WORLD.rank:
                own = group
    return own, groups


def get_rank(group: Any = None) -> int:
    return WORLD.rank if group is None else group.rank() if isinstance(group, Group) else -1


def get_world_size(group: Any = None) -> int:
    return WORLD.size if group is None else group.size() if isinstance(group, Group) else -1


def install() -> None:
    """Put the recorder in the place of torch.distributed's functions; no GPU is looked for."""
    replacements = {
        "is_available": lambda: True,
        "is_initialized": lambda: WORLD.initialized,
        "get_rank": get_rank,
        "get_world_size": get_world_size,
        "new_group": new_group,
        "new_subgroups_by_enumeration": new_subgroups_by_enumeration,
        # functions of their own: torch refuses one function under two names
        "barrier": lambda *_, **__: None,
        "destroy_process_group": lambda *_, **__: None,
        "get_process_group_ranks": lambda group: list(group.ranks),
    }
    for name, replacement in replacements.items():
        setattr(dist, name, replacement)
        setattr(distributed_c10d, name, replacement)
    torch.cuda.current_device = lambda: 0
    torch.cuda.synchronize = lambda *_, **__: None
