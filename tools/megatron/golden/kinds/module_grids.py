"""hetero, hetero_args, hyper_comm_grid: examples/mimo/training and megatron/core/hyper_comm_grid.py."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

from ..outcome import LISTED_RANKS, Json, Outcome, Run, accepted, digest, groups_entry, refused
from ..parallel_state import known_arguments
from ..recorder import WORLD
from ..source import Megatron

SPEC_DEFAULTS = {
    "tp": 1,
    "cp": 1,
    "pp": 1,
    "ep": 1,
    "gtp_remat": 1,
    "rank_offset": 0,
    "expt_tp": 1,
    "expt_gtp_remat": 1,
}

# worlds up to this size are looked at from every rank
ALL_RANKS = 16

# the group names of revisions in which create_pg is not told a name
NAME_OF_DIMS = {
    "tp": "tp",
    "cp": "cp",
    "pp": "pp",
    "dp": "dp",
    "dp-cp": "dp_cp",
    "tp-cp": "tp_cp",
    "tp-pp": "mp",
    "tp-dp": "tp_dp",
    "tp-dp-cp": "tp_dp_cp",
    "tp-cp-dp-pp": "intra_dist_opt_instance",
    "ep": "ep",
    "expt_tp": "ep_tp",
    "expt_dp": "ep_dp",
    "expt_tp-ep": "tp_ep_mp",
    "expt_tp-ep-pp": "tp_ep_pp",
}


@dataclass(frozen=True)
class _Created:
    """One `create_pg` of one grid: the name under which the topology wants it, and the rank lists requested."""

    grid: Any
    name: str
    groups: list[list[int]]


class _Topology:
    """examples/mimo/training/topology.py, with a record of the groups that its grids create."""

    def __init__(self, megatron: Megatron) -> None:
        os.environ.pop("WORLD_SIZE", None)
        self.parallel_state = megatron.load("megatron.core.parallel_state")
        self.grids = megatron.load("megatron.core.hyper_comm_grid")
        self.roles = megatron.load("megatron.core.models.mimo.config.role")
        self.module = megatron.load("examples.mimo.training.topology")
        self.created: list[_Created] = []
        self._record()

    def _record(self) -> None:
        create = self.grids.HyperCommGrid.create_pg
        options = getattr(self.module, "_get_pg_options", None)
        asked: list[str] = []

        def create_recorded(grid: Any, dims: Any, *, view: Any = None, **named: Any) -> Any:
            before = len(WORLD.calls)
            viewed = {} if view is None else {"view": view}
            group = create(grid, dims, **viewed, **named)
            name = asked[-1] if options else NAME_OF_DIMS["-".join(dims)]
            requests = [call.ranks for call in WORLD.calls[before:]]
            if requests != grid.get_rank_enum(dims, **viewed):
                raise AssertionError("create_pg asks for other ranks than get_rank_enum gives")
            self.created.append(_Created(grid, name, requests))
            return group

        def options_recorded(name: str, groups: Any) -> Any:
            asked.append(name)
            return options(name, groups) if options else None

        self.grids.HyperCommGrid.create_pg = create_recorded
        self.module._get_pg_options = options_recorded

    def build(self, given: dict[str, Json], rank: int) -> tuple[list[Any], Any]:
        """The specs and the topology as one rank builds them."""
        WORLD.play(given["world_size"], rank)
        self.created.clear()
        spec = self.module.ModuleGridSpec
        specs = [spec(**known_arguments(spec, one, SPEC_DEFAULTS)) for one in given["specs"]]
        return specs, self.module.create_topology(specs)

    def view(self, given: dict[str, Json], rank: int) -> dict[str, Json]:
        """What one rank ends up with."""
        _, topology = self.build(given, rank)
        names = [name for name in topology.grids if name != self.roles.MIMO_LANGUAGE_MODULE_KEY]
        role = self.roles.RankRole.build(names, topology.grids)
        language = topology.module_pgs.get("language")
        schedule = topology.schedule_pg_collection
        return {
            "mode": role.mode.value,
            "modules": {
                name: {"is_first_stage": stage.is_first_stage, "is_last_stage": stage.is_last_stage}
                for name, stage in role.modules.items()
            },
            "schedule_modules": list(schedule.module_pgs),
            "schedule_language": schedule.language_model_module_name,
            "embd": _ranks_of(language and language.embd),
            "pos_embd": _ranks_of(language and language.pos_embd),
        }


def hetero(megatron: Megatron) -> Run:
    topology = _Topology(megatron)

    def run(given: dict[str, Json]) -> Outcome:
        try:
            specs, built = topology.build(given, 0)
        except Exception as raised:
            error = megatron.error(raised)
            return refused(error, {"same_error_on_all_ranks": _same_everywhere(megatron, topology, given, error)})
        sequence = [call.ranks for call in WORLD.calls]
        created = list(topology.created)
        listed = given["world_size"] <= LISTED_RANKS
        modules = _modules(specs, built, created, listed)
        stages = built.grids["language"].get_rank_enum("pp")
        ps = topology.parallel_state
        language = {
            "embd": [ps.default_embedding_ranks(list(ranks)) for ranks in stages],
            "pos_embd": [ps.default_position_embedding_ranks(list(ranks)) for ranks in stages],
        }
        views = {}
        for rank in _viewed_ranks(given["world_size"], modules):
            views[str(rank)] = topology.view(given, rank)
            if [call.ranks for call in WORLD.calls] != sequence:
                raise AssertionError("the ranks ask for different groups")
        return accepted(
            {
                "mode": next(iter(views.values()))["mode"],
                "modules": modules,
                "new_group_calls": len(sequence),
                "sequence_sha256": digest(sequence),
                "ranks": {rank: _without(view, "mode") for rank, view in views.items()},
                **groups_entry(language, listed, "language_"),
            }
        )

    return run


def _modules(specs: list[Any], built: Any, created: list[_Created], listed: bool) -> list[dict[str, Json]]:
    grids: list[Any] = []
    for one in created:
        if not any(one.grid is grid for grid in grids):
            grids.append(one.grid)
    modules = []
    for spec, grid in zip(specs, grids, strict=True):
        groups = {one.name: one.groups for one in created if one.grid is grid}
        modules.append(
            {
                "name": spec.name,
                "dp": spec.dp,
                "expt_dp": spec.expt_dp,
                "rank_offset": spec.rank_offset,
                "size": spec.size,
                # a later spec of the same name takes the place of this grid
                "shadowed": built.grids[spec.name] is not grid,
                "group_order": list(groups),
                **groups_entry(groups, listed),
            }
        )
    return modules


def _viewed_ranks(world_size: int, modules: list[dict[str, Json]]) -> list[int]:
    if world_size <= ALL_RANKS:
        return list(range(world_size))
    ends = {rank for one in modules for rank in (one["rank_offset"], one["rank_offset"] + one["size"] - 1)}
    return sorted({0, 1, world_size // 2, world_size - 1} | {rank for rank in ends if 0 <= rank < world_size})


def _same_everywhere(megatron: Megatron, topology: _Topology, given: dict[str, Json], error: dict[str, Json]) -> bool:
    world_size = given["world_size"]
    for rank in {0, world_size // 2, max(world_size - 1, 0)}:
        try:
            topology.build(given, rank)
        except Exception as raised:
            if megatron.error(raised) != error:
                return False
        else:
            return False
    return True


def _ranks_of(group: Any) -> list[int] | None:
    return list(group.ranks) if group is not None else None


def _without(entries: dict[str, Json], key: str) -> dict[str, Json]:
    return {name: value for name, value in entries.items() if name != key}


def hetero_args(megatron: Megatron) -> Run:
    os.environ.pop("WORLD_SIZE", None)
    arguments = megatron.load("examples.mimo.training.args")

    def run(given: dict[str, Json]) -> Outcome:
        parsed = SimpleNamespace(**given["args"])
        try:
            encoder, llm = arguments.validate_hetero_grid_args(parsed, given["world_size"])
        except Exception as raised:
            return refused(megatron.error(raised), {"stage": "validate_hetero_grid_args"})
        resolve = getattr(arguments, "resolve_hetero_gtp_degrees", lambda _: (None, None))
        gtp, expert_gtp = resolve(parsed)
        expect: dict[str, Json] = {
            "encoder_size": encoder,
            "llm_size": llm,
            "gtp_weight_remat_size": gtp,
            "expert_gtp_weight_remat_size": expert_gtp,
        }
        try:
            specs = arguments.build_module_grid_specs(parsed, given["world_size"], "images")
            expect.update(specs=[asdict(spec) for spec in specs], specs_error=None)
        except Exception as raised:
            expect.update(specs=None, specs_error=megatron.error(raised))
        return accepted(expect)

    return run


def hyper_comm_grid(megatron: Megatron) -> Run:
    grids = megatron.load("megatron.core.hyper_comm_grid")

    def answer(grid: Any, query: dict[str, Json]) -> dict[str, Json]:
        before = len(WORLD.calls)
        try:
            result = getattr(grid, query["op"])(query["dims"], view=query["view"])
        except Exception as raised:
            return {"ok": False, "error": megatron.error(raised), "enum": None}
        requests = [call.ranks for call in WORLD.calls[before:]]
        ranks = {"get_rank_enum": result, "create_pg": requests}.get(query["op"])
        return {"ok": True, "error": None, "enum": ranks}

    def run(given: dict[str, Json]) -> Outcome:
        WORLD.play(given["world_size"], given.get("rank", 0))
        try:
            grid = grids.HyperCommGrid(given["shape"], given["dim_names"], rank_offset=given["rank_offset"])
            for view in given["views"]:
                grid.register_view(view["name"], view["shape"], view["dim_names"], view["shared_dims"])
        except Exception as raised:
            return refused(megatron.error(raised), {"stage": "construct"})
        queries = [answer(grid, query) for query in given["queries"]]
        keys = [key if isinstance(key, str) else {"view": key[0], "dims": list(key[1])} for key in grid._pgs]
        return accepted({"size": grid.size, "queries": queries, "pg_keys": keys})

    return run
