"""hybrid_cp_groups: the groups of hybrid context parallelism (main) and of dynamic context parallelism (dev).

`initialize_model_parallel` runs as every rank of the world, then the getter of groups by size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..outcome import Json, Outcome, Run, accepted, digest, distinct, refused
from ..parallel_state import ParallelState
from ..recorder import WORLD
from ..source import Megatron

# sizes asked of the getter, with that of the DP x CP group
ASKED_SIZES = {1, 2, 3, 4, 6, 8, 16, 32}
# worlds up to this size list the groups made before an error; larger ones count them
LISTED_BEFORE_ERROR = 16


@dataclass(frozen=True)
class _View:
    """What one rank sees."""

    error: dict[str, Json] | None
    calls: list[list[Json]]
    dp_cp: list[int] | None
    by_size: dict[str, Json]


def hybrid_cp_groups(megatron: Megatron) -> Run:
    state = ParallelState(megatron)

    def run(given: dict[str, Json]) -> Outcome:
        world_size = given["world_size"]
        views = [_view(megatron, state, given, rank) for rank in range(world_size)]
        failed = [rank for rank, view in enumerate(views) if view.error]
        if failed:
            first = views[failed[0]]
            listed = world_size <= LISTED_BEFORE_ERROR
            expect = {
                "first_rank": failed[0],
                "ranks_with_error": len(failed),
                "groups_before_error": first.calls if listed else len(first.calls),
            }
            return refused(first.error or {}, expect)
        calls = views[0].calls
        if any(view.calls != calls for view in views):
            raise AssertionError("the ranks ask for different groups")
        groups: dict[str, list[list[int]]] = {}
        for description, ranks in calls:
            groups.setdefault(description, []).append(ranks)
        return accepted(
            {
                "dp_cp": distinct(view.dp_cp for view in views),
                "sizes": [_size_named(description) for description in groups],
                "group_order": list(groups),
                "groups": groups,
                "sequence_sha256": digest(calls),
                "rank0_group_by_size": views[0].by_size,
                "last_rank_group_by_size": views[-1].by_size,
                "sizes_smaller_than_named": sorted(
                    {description for description, ranks in calls if len(ranks) != _size_named(description)}
                ),
            }
        )

    return run


def _size_named(description: str) -> int:
    return int(description.rsplit("_", 1)[1])


def _view(megatron: Megatron, state: ParallelState, given: dict[str, Json], rank: int) -> _View:
    ps = state.module
    state.play(given["world_size"], rank)
    error = None
    try:
        ps.initialize_model_parallel(**_arguments(given))
    except Exception as raised:
        error = megatron.error(raised)
    calls = [[call.description, call.ranks] for call in WORLD.calls if "DP_CP_GROUP_" in (call.description or "")]
    group = ps._DATA_PARALLEL_GROUP_WITH_CP
    dp_cp = None if group is None else sorted(group.ranks)
    return _View(error, calls, dp_cp, {} if error else _groups_by_size(ps, given["revision"], len(dp_cp or [])))


def _arguments(given: dict[str, Json]) -> dict[str, Json]:
    arguments = {
        "tensor_model_parallel_size": given["tp"],
        "pipeline_model_parallel_size": given["pp"],
        "context_parallel_size": given["cp"],
        "expert_model_parallel_size": given["ep"],
        "order": given["order"],
        "create_gloo_process_groups": False,
    }
    if given["revision"] == "dev":
        dynamic = {"dynamic_context_parallel": True, "min_dynamic_context_parallel_size": given["min_size"]}
        return {**arguments, **dynamic}
    remat = {} if given["gtp_remat"] == 1 else {"gtp_remat_size": given["gtp_remat"]}
    return {**arguments, "hybrid_context_parallel": True, **remat}


def _groups_by_size(ps: Any, revision: str, whole: int) -> dict[str, Json]:
    kind = "dynamic" if revision == "dev" else "hybrid"
    getter = getattr(ps, f"get_{kind}_data_context_parallel_groups")
    found: dict[str, Json] = {}
    for size in sorted(ASKED_SIZES | {whole}):
        try:
            group = getter(group_size=size)
            found[str(size)] = None if group is None else list(group.ranks)
        except Exception as raised:
            found[str(size)] = {"error": f"{type(raised).__name__}: {raised}"}
    return found
