"""fsdp_mesh: the device meshes that Megatron-FSDP makes of parallel_state's groups, as every rank of the world.

Version 1 is FullyShardedDataParallelV1._init_dist_index and the guard of ParamAndGradBuffer on outer sharding.
Version 2 is FullyShardedDataParallelV2._validate_config.
"""

from __future__ import annotations

import ast
import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Optional

import einops
import numpy
import torch

from ..outcome import Json, Outcome, Run, accepted, distinct, refused
from ..parallel_state import ParallelState
from ..source import Megatron

ADAPTER = "megatron/core/distributed/fsdp/mcore_fsdp_adapter.py"
UTILS = "megatron/core/distributed/fsdp/src/megatron_fsdp/utils.py"
BUFFER = "megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py"

FUNCTIONS = ("_get_hsdp_tp_mesh", "_get_dp_tp_mesh", "_check_mesh_ranks_and_group_ranks_are_consistent")
METHODS = (
    ("FullyShardedDataParallelV1", "_init_dist_index"),
    ("FullyShardedDataParallelV2", "_validate_config"),
)
GROUPS = ("fsdp_group", "outer_fsdp_group", "hybrid_fsdp_group", "expt_fsdp_group", "hybrid_fsdp_expt_group")


class Mesh:
    """What torch's DeviceMesh.from_group checks and keeps: one group for each dimension of a tensor of ranks."""

    def __init__(self, groups: list[Any], mesh: Any, names: tuple[str, ...]) -> None:
        self.groups, self.mesh, self.mesh_dim_names = groups, mesh, names

    @staticmethod
    def from_group(groups: Any, device_type: str, mesh: Any = None, mesh_dim_names: Any = None) -> Mesh:
        ranks = torch.tensor(mesh, dtype=torch.int)
        if ranks.ndim != len(groups):
            raise ValueError("Must pass mesh with ndim equal to the number of groups")
        return Mesh(list(groups), ranks, tuple(mesh_dim_names))

    def __getitem__(self, names: Any) -> Mesh:
        wanted = _names(names)
        for name in wanted:
            if name not in self.mesh_dim_names:
                raise KeyError(name)
        return Mesh([self.groups[self.mesh_dim_names.index(name)] for name in wanted], self.mesh, wanted)

    def get_group(self) -> Any:
        return self.groups[0]


def _names(names: Any) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _contains_submesh(mesh: Mesh, names: Any) -> bool:
    return all(name in mesh.mesh_dim_names for name in ((names,) if names is None else _names(names)))


class _Adapter:
    """Megatron-FSDP's functions that decide on meshes."""

    def __init__(self, megatron: Megatron) -> None:
        self.state = ParallelState(megatron)
        self.collections = megatron.load("megatron.core.process_groups_config").ProcessGroupCollection
        configs = megatron.load("megatron.core.distributed.distributed_data_parallel_config")
        self.ddp_config = configs.DistributedDataParallelConfig
        self.moe_layer = type("MoELayer", (torch.nn.Module,), {})
        names: dict[str, Any] = {
            "DeviceMesh": Mesh,
            "HAVE_EINOPS": True,
            "einops": einops,
            "torch": torch,
            "ProcessGroup": object,
            "Optional": Optional,
            "logger": logging.getLogger("megatron-fsdp"),
            "contains_submesh": _contains_submesh,
        }
        index = megatron.function(UTILS, "FSDPDistributedIndex", {**names, "Sequence": tuple})
        adapter = {
            **names,
            "np": numpy,
            "dist": torch.distributed,
            "parallel_state": self.state.module,
            "FSDPDistributedIndex": index,
            "MoELayer": self.moe_layer,
        }
        megatron.compiled(ADAPTER, _adapter_functions(megatron), adapter)
        self.init_index = adapter["_init_dist_index"]
        self.validate_v2 = adapter["_validate_config"]
        self.guard = _buffer_guard(megatron)


def _adapter_functions(megatron: Megatron) -> Iterator[ast.stmt]:
    for node in megatron.parse(ADAPTER).body:
        if getattr(node, "name", None) in FUNCTIONS:
            yield node
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and (node.name, method.name) in METHODS:
                    yield _plain(method)


def _plain(method: ast.FunctionDef) -> ast.FunctionDef:
    """A method as a function: without decorators and types, which name what is not imported."""
    method.decorator_list, method.returns = [], None
    for argument in method.args.args:
        argument.annotation = None
    return method


def _buffer_guard(megatron: Megatron) -> Any:
    """ParamAndGradBuffer's assignment of `should_create_hfsdp_helper_buffers` and the check after it."""
    for node in ast.walk(megatron.parse(BUFFER)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for index, statement in enumerate(node.body):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if isinstance(target, ast.Name) and target.id == "should_create_hfsdp_helper_buffers":
                node.body = node.body[index : index + 2]
                node.args.args, node.args.defaults = node.args.args[:1], []
                return megatron.compiled(BUFFER, [_plain(node)], {})[node.name]
    raise LookupError(f"{BUFFER} has no guard on outer sharding")


class _Step:
    """The step that is being done, for the record of one that fails."""

    name = "groups"


def fsdp_mesh(megatron: Megatron) -> Run:
    adapter = _Adapter(megatron)

    def view(given: dict[str, Json], rank: int, step: _Step) -> dict[str, Json]:
        adapter.state.play(given["world_size"], rank)
        adapter.state.module.initialize_model_parallel(
            tensor_model_parallel_size=given["tp"],
            pipeline_model_parallel_size=given["pp"],
            context_parallel_size=given["cp"],
            expert_model_parallel_size=given["ep"],
            expert_tensor_parallel_size=given["etp"],
            gtp_remat_size=given["gtp_remat"],
            num_distributed_optimizer_instances=given["num_distributed_optimizer_instances"],
            order=given["order"],
            create_gloo_process_groups=False,
        )
        step.name = "mesh"
        groups = adapter.collections.use_mpu_process_groups()
        config = adapter.ddp_config(
            use_megatron_fsdp=True,
            megatron_fsdp_version=given["version"],
            num_distributed_optimizer_instances=given["num_distributed_optimizer_instances"],
            data_parallel_sharding_strategy=given["data_parallel_sharding_strategy"],
            outer_dp_sharding_strategy=given["outer_dp_sharding_strategy"],
        )
        made = _version_2 if given["version"] == 2 else _version_1
        return made(adapter, given, groups, config, step)

    def run(given: dict[str, Json]) -> Outcome:
        views: list[dict[str, Json]] = []
        failures: list[tuple[int, str, dict[str, Json]]] = []
        for rank in range(given["world_size"]):
            step = _Step()
            try:
                views.append(view(given, rank, step))
            except Exception as raised:
                failures.append((rank, step.name, megatron.error(raised)))
        if failures:
            rank, stage, error = failures[0]
            texts = {json.dumps(failure[1:], sort_keys=True) for failure in failures}
            counts = {"ranks_with_error": len(failures), "distinct_errors": len(texts)}
            return refused(error, {"stage": stage, "first_rank": rank, **counts})
        if given["version"] == 2:
            return accepted({name: _present(view[name] for view in views) for name in ("dp", "expert_dp")})
        first = views[0]
        return accepted(
            {
                "meshes": _present(view["ranks"] for view in views),
                "dims": first["dims"],
                "shape": first["shape"],
                "hsdp_outer_dp_shard": first["hsdp_outer_dp_shard"],
                "expert_meshes": _present(view["expert_ranks"] for view in views),
                "expert_shape": first["expert_shape"],
                **{name: _present(view[name] for view in views) for name in GROUPS},
            }
        )

    return run


def _version_1(adapter: _Adapter, given: dict[str, Json], groups: Any, config: Any, step: _Step) -> dict[str, Json]:
    owner = SimpleNamespace(ddp_config=config, num_moe_experts=given["num_experts"])
    index = adapter.init_index(owner, groups if given["pg_collection"] else None)
    step.name = "buffer"
    adapter.guard(SimpleNamespace(dist_index=index, ddp_config=config))
    mesh, experts = index.device_mesh, index.expt_device_mesh
    return {
        "ranks": mesh.mesh.tolist(),
        "dims": list(mesh.mesh_dim_names),
        "shape": list(mesh.mesh.shape),
        "expert_ranks": None if experts is None else experts.mesh.tolist(),
        "expert_shape": None if experts is None else list(experts.mesh.shape),
        "hsdp_outer_dp_shard": index.hsdp_outer_dp_shard,
        **{name: _ranks(getattr(index, name)) for name in GROUPS},
    }


def _version_2(adapter: _Adapter, given: dict[str, Json], groups: Any, config: Any, step: _Step) -> dict[str, Json]:
    step.name = "validate_v2"
    sizes = SimpleNamespace(
        tensor_model_parallel_size=given["tp"],
        pipeline_model_parallel_size=given["pp"],
        context_parallel_size=given["cp"],
        expert_model_parallel_size=given["ep"],
        gradient_accumulation_fusion=False,
        calculate_per_token_loss=False,
        fp8=None,
        fp4=None,
        cuda_graph_impl="none",
    )
    layer = torch.nn.Identity() if given["num_experts"] is None else adapter.moe_layer()
    adapter.validate_v2(sizes, config, torch.nn.Sequential(layer), groups, False)
    expert_dp = sorted(groups.expt_dp.ranks) if given["ep"] > 1 else None
    return {"dp": sorted(groups.dp_cp.ranks), "expert_dp": expert_dp}


def _ranks(group: Any) -> list[int] | None:
    return None if group is None else list(group.ranks)


def _present(values: Iterator[Json]) -> list[Json] | None:
    """The distinct values that are there; null if none is."""
    return distinct(value for value in values if value is not None) or None
