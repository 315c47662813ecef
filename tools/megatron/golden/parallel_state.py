"""megatron.core.parallel_state, started afresh for every case."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from .recorder import WORLD
from .source import Megatron

# Groups that parallel_state keeps in a map; a revision has one of them.
_GROUP_MAPS = ("_HYBRID_DP_CP_GROUPS", "_DYNAMIC_DP_CP_GROUPS")


class ParallelState:
    """The module, and its globals as they are after import."""

    def __init__(self, megatron: Megatron) -> None:
        self.module = megatron.load("megatron.core.parallel_state")
        # new enough a torch that groups get their descriptions
        self.module.is_torch_min_version = lambda *_, **__: True
        self._fresh = {
            name: value for name, value in vars(self.module).items() if name.startswith("_") and name.isupper()
        }

    def reset(self) -> None:
        """Forget all groups and sizes."""
        vars(self.module).update(self._fresh)
        self.module._global_process_group_list = None
        for name in _GROUP_MAPS:
            setattr(self.module, name, {})

    def play(self, world_size: int, rank: int, initialized: bool = True) -> None:
        """Begin anew as one rank of a world."""
        self.reset()
        for variable in ("NCCL_COLLNET_ENABLE", "CUDA_DEVICE_MAX_CONNECTIONS"):
            os.environ.pop(variable, None)
        WORLD.play(world_size, rank, initialized)


def known_arguments(
    function: Callable[..., Any], given: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments to pass: one that the revision lacks is left out where it holds its default."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in given.items() if name in known or value != defaults.get(name)}
