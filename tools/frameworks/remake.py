"""Remakes test/golden/data/frameworks: what frameworks make of their degrees, in their own code, without GPUs or torch.

usage: remake.py CLONES [--check] [FRAMEWORK...]
CLONES holds git clones named torchtitan, accelerate, nanotron, DeepSpeed.

A line of the data is {"id", "revision", "input", "error", "groups"}; `input` is kept, the others are made anew.
With --check nothing is written, and the exit status is 1 where a line would change.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mesh import Groups, RecordedMesh

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "test" / "golden" / "data" / "frameworks"
REVISIONS: dict[str, dict[str, str]] = json.loads((HERE / "revisions.json").read_text())
Degrees = dict[str, int]


def itself(cls: type, _: object) -> type:
    return cls


class Anything(types.ModuleType):
    """Stands for what the code imports and does not need: every attribute is a class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__class_getitem__": classmethod(itself)})


def stand_in(name: str, **values: object) -> types.ModuleType:
    """Puts a module into `sys.modules`, and its parents."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        path = ".".join(parts[:end])
        sys.modules.setdefault(path, Anything(path))
        if end > 1:
            setattr(sys.modules[".".join(parts[: end - 1])], parts[end - 1], sys.modules[path])
    module = sys.modules[name]
    for key, value in values.items():
        setattr(module, key, value)
    return module


def source(clones: Path, framework: str) -> str:
    """The file of a framework at its revision."""
    revision = REVISIONS[framework]
    clone = clones / revision["repository"].split("/")[1]
    command = ["git", "-C", str(clone), "show", f"{revision['commit']}:{revision['file']}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compiled(text: str, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, name, "exec"), module.__dict__)  # the framework's own code is what is wanted
    return module


def torchtitan(text: str) -> Callable[[Degrees], dict[str, Groups]]:
    stand_in("spmd_types")
    stand_in(
        "torch.distributed.device_mesh",
        init_device_mesh=lambda _, shape, mesh_dim_names: RecordedMesh.over(shape, mesh_dim_names),
    )
    stand_in("torchtitan.config.configs")
    stand_in("torchtitan.tools.logging", logger=types.SimpleNamespace(info=lambda *_: None))
    stand_in("torchtitan.tools.utils", device_type="cpu")
    dims = compiled(text, "parallel_dims").ParallelDims
    dense = ["pp", "dp_replicate", "dp_shard", "cp", "tp"]

    def make(degrees: Degrees) -> dict[str, Groups]:
        made = dims(**degrees)
        made.build_mesh()
        meshes = made._global_meshes
        groups = {axis: meshes["dense"][axis].groups() for axis in dense}
        groups["dp_shard_cp"] = meshes["dense"][["dp_shard", "cp"]].groups()
        # the process groups of experts exist with expert parallelism alone
        groups |= {axis: meshes["sparse"][axis].groups() for axis in ("efsdp", "ep") if degrees["ep"] > 1}
        return groups | {
            "batch": meshes["dataloading"]["batch"].groups(),
            "batch_cp": meshes["dataloading"][["batch", "cp"]].groups(),
        }

    return make


def accelerate(text: str) -> Callable[[Degrees], dict[str, Groups]]:
    stand_in("accelerate.utils.dataclasses")
    stand_in("accelerate.utils.versions", is_torch_version=lambda *_: True)
    stand_in(
        "torch.distributed.device_mesh",
        init_device_mesh=lambda _, shape, mesh_dim_names: RecordedMesh.over(shape, mesh_dim_names),
    )
    module = compiled(text, "parallelism_config")

    def make(degrees: Degrees) -> dict[str, Groups]:
        world = degrees["world_size"]
        config = module.ParallelismConfig(**{name: size for name, size in degrees.items() if name != "world_size"})
        config._validate_accelerator(
            types.SimpleNamespace(multi_device=world > 1, num_processes=world, is_fsdp2=True, is_main_process=False)
        )
        mesh = config.build_device_mesh("cpu") if any(size > 1 for size in config._sizes.values()) else None
        return {axis.name: mesh[axis.name].groups() for axis in mesh.axes} if mesh else {}

    return make


def nanotron(text: str) -> Callable[[Degrees], dict[str, Groups]]:
    stand_in("torch", cuda=types.SimpleNamespace(set_device=lambda _: None, device=lambda _: None))
    stand_in(
        "nanotron.distributed",
        is_available=lambda: True,
        is_initialized=lambda: True,
        barrier=lambda: None,
        get_backend=lambda: "nccl",
        new_group=lambda **_: None,
        get_rank=lambda _: 0,
    )
    context = compiled(text, "context").ParallelContext
    made: list[Groups] = []

    class Recorder(context):  # type: ignore[misc, valid-type]
        def create_new_group(self, ranks: Any) -> None:
            made.append([[int(rank) for rank in group] for group in ranks])

    def make(degrees: Degrees) -> dict[str, Groups]:
        sizes = {name: size for name, size in degrees.items() if name not in {"world_size", "gpus_per_node"}}
        os.environ |= {
            "RANK": "0",
            "LOCAL_RANK": "0",
            "WORLD_SIZE": str(degrees["world_size"]),
            "LOCAL_WORLD_SIZE": str(degrees["gpus_per_node"]),
        }
        made.clear()
        Recorder(**sizes)
        return dict(zip(["tp", "cp", "dp", "pp", "ep", "mp", "dp_cp", "tp_and_ep"], made[1:], strict=True))

    return make


def deepspeed(text: str) -> Callable[[Degrees], dict[str, Groups]]:
    names = ("_ensure_divisibility", "_get_expert_parallel_ranks")
    functions = ["def " + part for part in text.split("\ndef ")[1:] if part.startswith(names)]
    module = compiled("\n".join(functions), "groups")

    def make(degrees: Degrees) -> dict[str, Groups]:
        pp, tp, dp, ep, world = (degrees[name] for name in ("pp", "tp", "dp", "ep", "world_size"))
        # `PipeModelDataParallelTopology` lays the axes out as pipe, data, model
        mesh = RecordedMesh.over([pp, dp, tp], ["pp", "dp", "tp"])
        experts, expert_data = module._get_expert_parallel_ranks(world, tp, ep, pp)
        return {axis: mesh[axis].groups() for axis in ("pp", "tp", "dp")} | {"ep": experts, "ep_dp": expert_data}

    return make


MAKERS = {"torchtitan": torchtitan, "accelerate": accelerate, "nanotron": nanotron, "deepspeed": deepspeed}


def remade(line: dict[str, Any], commit: str, make: Callable[[Degrees], dict[str, Groups]]) -> dict[str, Any]:
    """A line with what the framework says of its input; groups of one rank are left out."""
    try:
        groups = {axis: lists for axis, lists in make(line["input"]).items() if len(lists[0]) > 1}
        error = None
    except Exception as raised:  # whatever the framework raises is its verdict
        groups, error = None, {"type": type(raised).__name__, "message": str(raised)}
    return {"id": line["id"], "revision": commit, "input": line["input"], "error": error, "groups": groups}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two lines say the same, whatever the order of groups and of their ranks."""

    def plain(line: dict[str, Any]) -> dict[str, Any]:
        groups = line["groups"] and {axis: sorted(map(sorted, lists)) for axis, lists in line["groups"].items()}
        return line | {"groups": groups}

    return plain(one) == plain(other)


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    clones, *wanted = [word for word in arguments if word != "--check"]
    changed = 0
    for framework in wanted or MAKERS:
        path = DATA / f"{framework}.jsonl"
        make = MAKERS[framework](source(Path(clones), framework))
        lines = [json.loads(text) for text in path.read_text().splitlines()]
        made = [remade(line, REVISIONS[framework]["commit"], make) for line in lines]
        kept = [old if same(old, new) else new for old, new in zip(lines, made, strict=True)]
        different = [new["id"] for old, new in zip(lines, made, strict=True) if not same(old, new)]
        changed += len(different)
        print(f"{framework}: {len(lines)} cases, {len(different)} changed", *different[:8])
        if not check:
            path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in kept))
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
