"""colocated_bridge: ColocatedBridgeCommunicator of megatron/core/models/mimo/comm/colocated_communicator.py."""

from __future__ import annotations

import os
from typing import Any

from ..outcome import Json, Outcome, Run, accepted, refused
from ..recorder import WORLD, Group
from ..source import Megatron

# worlds up to this size are looked at from every rank
ALL_RANKS = 16


def colocated_bridge(megatron: Megatron) -> Run:
    os.environ.pop("WORLD_SIZE", None)
    grids = megatron.load("megatron.core.hyper_comm_grid")
    communicators = megatron.load("megatron.core.models.mimo.comm.colocated_communicator")

    def grid(described: dict[str, Json]) -> Any:
        return grids.HyperCommGrid(described["shape"], described["dim_names"], rank_offset=described["rank_offset"])

    def bridge(given: dict[str, Json], rank: int) -> Any:
        WORLD.play(given["world_size"], rank)
        return communicators.ColocatedBridgeCommunicator(
            grid(given["src"]), grid(given["dest"]), dim_mapping=given["dim_mapping"]
        )

    def slice_of(communicator: Any, batch: int) -> dict[str, Json]:
        try:
            found = communicator.get_slice_info(batch)
            return {"start": found.start, "size": found.size, "error": None}
        except Exception as raised:
            return {"start": None, "size": None, "error": megatron.error(raised)}

    def view(given: dict[str, Json], rank: int, requests: list[list[int]]) -> dict[str, Json]:
        communicator = bridge(given, rank)
        if [call.ranks for call in WORLD.calls] != requests:
            raise AssertionError("the ranks ask for different groups")
        gather = communicator.gather_pg
        return {
            "src_pos": communicator.rank_to_src_pos.get(rank),
            "dest_pos": communicator.rank_to_dest_pos.get(rank),
            "slices": {str(batch): slice_of(communicator, batch) for batch in given["batch_sizes"]},
            "gather_group": gather.ranks if isinstance(gather, Group) else None,
        }

    def run(given: dict[str, Json]) -> Outcome:
        first = given["src"]["rank_offset"]
        try:
            communicator = bridge(given, first)
        except Exception as raised:
            return refused(megatron.error(raised))
        requests = [call.ranks for call in WORLD.calls]
        size = given["world_size"]
        some = sorted({0, 1, size // 3, size // 2, size - 1, first})
        ranks = range(size) if size <= ALL_RANKS else some
        return accepted(
            {
                "direction": communicator.direction.value,
                "scale": communicator.scale,
                "src_tp": communicator.src_tp_size,
                "src_dp": communicator.src_dp_size,
                "dest_tp": communicator.dest_tp_size,
                "dest_dp": communicator.dest_dp_size,
                "gather_group_ranks": communicator.gather_group_ranks,
                "new_group_calls": requests,
                "is_fan_in": communicator.is_fan_in(),
                "is_fan_out": communicator.is_fan_out(),
                "ranks": {str(rank): view(given, rank, requests) for rank in ranks},
            }
        )

    return run
