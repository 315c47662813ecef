"""ntp, ntp_unchecked: megatron/core/distributed/nonuniform_tp.py of heads/dev."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from ..outcome import Json, Outcome, Run, accepted, distinct, refused
from ..parallel_state import ParallelState
from ..recorder import WORLD
from ..source import Megatron

# needed by the gradient buffers only, which do not run here
UNUSED = (
    "megatron.core.process_groups_config",
    "megatron.core.transformer.cuda_graphs",
    "megatron.core.transformer.transformer_config",
    "megatron.core.distributed.distributed_data_parallel",
    "megatron.core.distributed.distributed_data_parallel_config",
    "megatron.core.distributed.param_and_grad_buffer",
)

FINAL_GROUPS = {
    "tp": "_TENSOR_MODEL_PARALLEL_GROUP",
    "cp": "_CONTEXT_PARALLEL_GROUP",
    "tp_cp": "_TENSOR_AND_CONTEXT_PARALLEL_GROUP",
    "mp": "_MODEL_PARALLEL_GROUP",
}

# groups that the reconfiguration leaves alone
OTHER_GROUPS = (
    "_DATA_PARALLEL_GROUP",
    "_DATA_PARALLEL_GROUP_WITH_CP",
    "_PIPELINE_MODEL_PARALLEL_GROUP",
    "_EXPERT_TENSOR_PARALLEL_GROUP",
    "_EXPERT_MODEL_PARALLEL_GROUP",
)

# the parameter on which ntp_map is tried for every rank of an unchecked layout
PROBE = {"num_shards": 24, "shape": [48, 4], "partition_dim": 0, "tensor_model_parallel": True}


class _Module:
    """What ntp_map asks of a torch module: its parameters."""

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter

    def parameters(self) -> list[Any]:
        return [self._parameter]


class _NonuniformTp:
    def __init__(self, megatron: Megatron) -> None:
        warnings.simplefilter("ignore")
        self.megatron = megatron
        self.state = ParallelState(megatron)
        megatron.stub(*UNUSED)
        self.module = megatron.load("megatron.core.distributed.nonuniform_tp")

    def config(self, described: dict[str, Json]) -> Any:
        listed = described["non_active_ranks_per_dp"]
        # JSON has no map with lists for keys: [key, local ranks] pairs
        spares = listed and {_hashable(key): list(ranks) for key, ranks in listed}
        return self.module.NonuniformTPConfig(
            **{**described, "non_active_ranks_per_dp": {} if listed == [] else spares}
        )

    def play(self, given: dict[str, Json], rank: int, probe: bool) -> dict[str, Json]:
        """What one rank sees of both initializations. The spares stay in the process: `exit_spares` is off."""
        ps, layout = self.state.module, given["layout"]
        self.state.play(given["world_size"], rank)
        ps.initialize_model_parallel(
            tensor_model_parallel_size=layout["tp"],
            pipeline_model_parallel_size=layout["pp"],
            context_parallel_size=layout["cp"],
            expert_model_parallel_size=layout["ep"],
            expert_tensor_parallel_size=layout["etp"],
            order=layout["order"],
            create_gloo_process_groups=False,
        )
        before = {name: getattr(ps, name).ranks for name in OTHER_GROUPS}
        WORLD.calls = []
        config = self.config(given["ntp"])
        try:
            stays = self.module.initialize_nonuniform_tp_process_groups(config, exit_spares=False)
        except Exception as raised:
            return {"error": self.megatron.error(raised), "calls": [call.ranks for call in WORLD.calls]}
        seen = {
            "error": None,
            "calls": [call.ranks for call in WORLD.calls],
            "stays": stays,
            "dp_cp": ps._DATA_PARALLEL_GROUP_WITH_CP.ranks,
            "untouched": all(getattr(ps, name).ranks == ranks for name, ranks in before.items()),
            # as the hooks of data parallelism ask after the reconfiguration
            "is_reduced": self.module._ntp_current_rank_is_reduced_dp(config),
            "syncs": self._syncs(config),
            **{name: list(getattr(ps, group).ranks) for name, group in FINAL_GROUPS.items()},
        }
        return {**seen, "map": self.map({**PROBE, "ntp": given["ntp"]})} if probe else seen

    def _syncs(self, config: Any) -> bool | None:
        try:
            return bool(self.module._ntp_current_rank_should_dp_sync(config))
        except Exception:
            return None

    def map(self, given: dict[str, Json]) -> Outcome:
        """ntp_map on one parameter, as the rank that is being played."""
        parameter: Any = torch.nn.Parameter(torch.empty(*given["shape"], device="meta"))
        for attribute in ("tensor_model_parallel", "partition_dim"):
            if given[attribute] is not None:
                setattr(parameter, attribute, given[attribute])
        try:
            self.module.ntp_map(_Module(parameter), self.config(given["ntp"]), given["num_shards"])
        except Exception as raised:
            return refused(self.megatron.error(raised))
        if not hasattr(parameter, "send_splits"):
            return accepted({"applied": False})
        reduced = given["ntp"]["tp_base"] - given["ntp"]["tp_spares"]
        totals = [sum(row) for row in parameter.send_splits[reduced:]]
        return accepted(
            {
                "applied": True,
                "send_splits": parameter.send_splits,
                "recv_splits": parameter.recv_splits,
                "spare_send_totals": totals,
                # torch.split in the backward hook wants the whole partition of a folded rank
                "splits_cover_partition": all(total == given["shape"][given["partition_dim"]] for total in totals),
            }
        )

    def map_as(self, given: dict[str, Json]) -> Outcome:
        """ntp_map as a rank whose place in the layout is given."""
        ps = self.state.module
        getters = {f"get_{name}_rank": given[key] for name, key in _RANK_OF.items()}
        before = {name: getattr(ps, name) for name in getters}
        WORLD.play(1, 0)
        for name, rank in getters.items():
            setattr(ps, name, lambda *_, rank=rank, **__: rank)
        try:
            return self.map(given)
        finally:
            for name, getter in before.items():
                setattr(ps, name, getter)


_RANK_OF = {"data_parallel": "dp_rank", "context_parallel": "cp_rank", "pipeline_model_parallel": "pp_rank"}


def _hashable(key: Json) -> Any:
    return tuple(key) if isinstance(key, list) else key


def _summary(views: list[dict[str, Json]]) -> dict[str, Json]:
    """One layout from the views of all its ranks."""
    if any(view["calls"] != views[0]["calls"] for view in views):
        raise AssertionError("the ranks ask for different groups")
    calls = {"new_group_calls": views[0]["calls"]}
    failed = [rank for rank, view in enumerate(views) if view["error"]]
    if failed:
        return {**calls, "ranks_with_error": failed}
    finals = {}
    for name in FINAL_GROUPS:
        groups = distinct(view[name] for view in views)
        finals[name] = {"groups": groups, "of_rank": [groups.index(view[name]) for view in views]}
    return {
        **calls,
        "spares": [rank for rank, view in enumerate(views) if not view["stays"]],
        **finals,
        "other_groups_untouched": all(view["untouched"] for view in views),
        "is_reduced_dp": [int(view["is_reduced"]) for view in views],
        "should_dp_sync": [int(view["syncs"]) if view["stays"] else None for view in views],
        "dp_sync_conflicts": _conflicts(views),
    }


def _conflicts(views: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The groups in which one rank enters the gradient all-reduce while another does not or has exited."""
    conflicts = []
    for group in distinct(view["dp_cp"] for view in views):
        kept = [rank for rank in group if views[rank]["stays"]]
        syncing = [rank for rank in kept if views[rank]["syncs"]]
        if syncing and len(syncing) != len(group):
            conflicts.append(
                {
                    "group": group,
                    "syncing": syncing,
                    "kept_not_syncing": [rank for rank in kept if rank not in syncing],
                    "exited": [rank for rank in group if rank not in kept],
                }
            )
    return conflicts


def ntp(megatron: Megatron) -> Run:
    runner = _NonuniformTp(megatron)

    def spares(given: dict[str, Json]) -> Outcome:
        faulty = {key: list(ranks) for key, ranks in given["faulty_gpu_map"]}
        try:
            count, spares = runner.module.compute_uniform_tp_spares_with_parity(faulty, given["tp_base"])
        except Exception as raised:
            return refused(megatron.error(raised))
        return accepted(
            {"tp_spares": count, "non_active_ranks_per_dp": [[key, list(one)] for key, one in spares.items()]}
        )

    def active(given: dict[str, Json]) -> Outcome:
        place = (given["dp_rank"], given["cp_rank"], given["pp_rank"])
        try:
            config = runner.config(given["ntp"])
            ranks = runner.module.get_active_ranks_for_dp(place[0], given["tp_base"], config, *place[1:])
        except Exception as raised:
            return refused(megatron.error(raised))
        return accepted({"active": ranks})

    kinds: dict[str, Run] = {
        "spares": spares,
        "active": active,
        "map": runner.map_as,
        "init": lambda given: _init(runner, given),
    }

    def run(given: dict[str, Json]) -> Outcome:
        return kinds[given["kind"]](given)

    return run


def _init(runner: _NonuniformTp, given: dict[str, Json], probe: bool = False) -> Outcome:
    views = [runner.play(given, rank, probe) for rank in range(given["world_size"])]
    summary = _summary(views)
    error = next((view["error"] for view in views if view["error"]), None)
    if error:
        return refused(error, summary)
    if probe:
        results = [_probe_result(view["map"]) for view in views]
        summary["ntp_map_probe"] = {"probe": PROBE, "result_of_rank": results}
    return accepted(summary)


def _probe_result(outcome: Outcome) -> str:
    if outcome.error:
        return f"error:{outcome.error['type']}"
    return "splits" if outcome.expect["applied"] else "skipped"


def ntp_unchecked(megatron: Megatron) -> Run:
    runner = _NonuniformTp(megatron)
    return lambda given: runner.map_as(given) if given.get("kind") == "map" else _init(runner, given, probe=True)
