"""homogeneous: `initialize_model_parallel` and `create_all_gather_groups` of megatron/core/parallel_state.py."""

from __future__ import annotations

from typing import Any

from ..outcome import LISTED_RANKS, Json, Outcome, Run, accepted, digest, groups_entry, refused
from ..parallel_state import ParallelState, known_arguments
from ..recorder import WORLD
from ..source import Megatron

# our names of the arguments of initialize_model_parallel
ARGUMENTS = {
    "tensor_model_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp",
    "virtual_pipeline_model_parallel_size": "vpp",
    "context_parallel_size": "cp",
    "expert_model_parallel_size": "ep",
    "expert_tensor_parallel_size": "etp",
    "gtp_remat_size": "gtp_remat",
    "expert_gtp_remat_size": "expt_gtp_remat",
    "num_distributed_optimizer_instances": "num_distributed_optimizer_instances",
    "order": "order",
    "hierarchical_context_parallel_sizes": "hierarchical_context_parallel_sizes",
    "hybrid_context_parallel": "hybrid_context_parallel",
    "use_sharp": "use_sharp",
    "sharp_enabled_group": "sharp_enabled_group",
    "pipeline_model_parallel_comm_backend": "pipeline_model_parallel_comm_backend",
    "create_gloo_process_groups": "create_gloo_process_groups",
    "rank_offset": "rank_offset",
    "local_world_size": "local_world_size",
}

DEFAULTS = {
    "tensor_model_parallel_size": 1,
    "pipeline_model_parallel_size": 1,
    "context_parallel_size": 1,
    "expert_model_parallel_size": 1,
    "gtp_remat_size": 1,
    "expert_gtp_remat_size": 1,
    "num_distributed_optimizer_instances": 1,
    "order": "tp-cp-ep-dp-pp",
    "hybrid_context_parallel": False,
    "use_sharp": False,
    "create_gloo_process_groups": True,
    "rank_offset": 0,
}


def homogeneous(megatron: Megatron) -> Run:
    state = ParallelState(megatron)
    ps = state.module
    generators: list[Any] = []
    generator_class = ps.RankGenerator

    class RecordedGenerator(generator_class):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            generators.append(self)

    ps.RankGenerator = RecordedGenerator

    def run(given: dict[str, Json]) -> Outcome:
        generators.clear()
        state.play(given["world_size"], max(given["rank_offset"], 0), given["dist_initialized"])
        arguments = {name: given[ours] for name, ours in ARGUMENTS.items()}
        try:
            ps.initialize_model_parallel(**known_arguments(ps.initialize_model_parallel, arguments, DEFAULTS))
        except Exception as raised:
            return refused(megatron.error(raised), {"nccl_groups_before_error": len(_nccl_sequence())})
        sequence = _nccl_sequence()
        groups = _by_description(sequence)
        dense, expert = generators[:2]
        local = given["local_world_size"]
        listed = (given["world_size"] if local is None else local) <= LISTED_RANKS
        expect = {
            "dp": dense.dp,
            "expt_dp": expert.dp,
            "dense": _dimensions(dense),
            "expert": _dimensions(expert),
            "vpp_world_size": ps.get_virtual_pipeline_model_parallel_world_size(),
            "nccl_group_count": len(sequence),
            "gloo_group_count": len(WORLD.calls) - len(sequence),
            "sequence_sha256": digest(sequence),
            "group_order": list(groups),
            **groups_entry(groups, listed),
        }
        if given["all_gather"] is not None:
            expect["all_gather"] = _all_gather(megatron, ps, given["all_gather"], generators, listed)
        return accepted(expect)

    return run


def _all_gather(
    megatron: Megatron, ps: Any, arguments: dict[str, Json], generators: list[Any], listed: bool
) -> dict[str, Json]:
    WORLD.calls = []
    before = len(generators)
    error = None
    try:
        ps.create_all_gather_groups(**arguments)
    except Exception as raised:
        error = megatron.error(raised)
    # after an error: the requests up to the refused one
    groups = _by_description(_nccl_sequence())
    return {
        "ok": error is None,
        "error": error,
        "rank_generators": [{**_dimensions(one), "world_size": one.world_size} for one in generators[before:]],
        "group_order": list(groups),
        **groups_entry(groups, listed),
    }


def _dimensions(generator: Any) -> dict[str, Json]:
    return {"order": generator.order.split("-"), "sizes": generator.ordered_size}


def _nccl_sequence() -> list[list[Json]]:
    """[description, ranks] of all requests but those for Gloo groups, in order."""
    return [[call.description, call.ranks] for call in WORLD.calls if "_GLOO" not in str(call.description)]


def _by_description(sequence: list[list[Json]]) -> dict[str, list[list[int]]]:
    groups: dict[str, list[list[int]]] = {}
    for description, ranks in sequence:
        groups.setdefault(description, []).append(ranks)
    return groups
