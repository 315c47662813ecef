"""The kinds of golden data: which function makes each, from which revision."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from .outcome import Json, Run
from .source import Megatron


@dataclass(frozen=True)
class Kind:
    """A function of a module in golden.kinds; `revision` is a name in revisions.json, `revision_key` an input's key."""

    module: str
    function: str
    revision: str = "main"
    revision_key: str | None = None

    def revision_of(self, given: dict[str, Json]) -> str:
        return cast(str, given[self.revision_key]) if self.revision_key else self.revision

    def prepare(self, megatron: Megatron) -> Run:
        module = importlib.import_module(f"golden.kinds.{self.module}")
        return cast(Callable[[Megatron], Run], getattr(module, self.function))(megatron)


KINDS = {
    "homogeneous": Kind("process_groups", "homogeneous"),
    "hetero": Kind("module_grids", "hetero"),
    "hetero_args": Kind("module_grids", "hetero_args"),
    "hyper_comm_grid": Kind("module_grids", "hyper_comm_grid"),
    "colocated_bridge": Kind("bridge", "colocated_bridge"),
    "ntp": Kind("nonuniform_tp", "ntp", "dev"),
    "ntp_unchecked": Kind("nonuniform_tp", "ntp_unchecked", "dev"),
    "sequence": Kind("sequences", "sequence"),
    "gtp_args": Kind("weight_shards", "gtp_args"),
    "model_rules": Kind("model_rules", "model_rules"),
    "pipeline_layout": Kind("pipelines", "pipeline_layout"),
    "pipeline_split": Kind("pipelines", "pipeline_split"),
    "hybrid_pattern": Kind("hybrid_patterns", "hybrid_pattern"),
    "training_args": Kind("training", "training_args"),
    "training_args_dev": Kind("training", "training_args", "dev"),
    "command_lines": Kind("training", "command_lines"),
    "hybrid_cp_groups": Kind("hybrid_context", "hybrid_cp_groups", revision_key="revision"),
    "fsdp_mesh": Kind("fsdp", "fsdp_mesh"),
}
