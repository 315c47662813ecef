"""training_args, command_lines: a command line of the training script, as far as its first error.

After the command line: initialize_model_parallel as megatron/training/initialize.py calls it (as rank 0), the
configuration of data parallelism, the interleaved schedule up to its checks of the micro-batches, and the check that
opens MoELayer.forward.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import typing
from types import SimpleNamespace
from typing import Any

import torch

from ..model import Model, Training, argv_of
from ..outcome import Json, Outcome, Run, accepted, refused
from ..parallel_state import ParallelState
from ..recorder import WORLD, Group
from ..source import Megatron

MOE_LAYER = "megatron/core/transformer/moe/moe_layer.py"
SCHEDULES = "megatron/core/pipeline_parallel/schedules.py"

RESOLVED = (
    "data_parallel_size",
    "gtp_weight_remat_size",
    "expert_gtp_weight_remat_size",
    "expert_tensor_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "sequence_parallel",
    "num_layers",
    "global_batch_size",
    "eval_global_batch_size",
    "eval_micro_batch_size",
    "overlap_p2p_comm",
    "ffn_hidden_size",
    "kv_channels",
    "num_experts",
    "moe_ffn_hidden_size",
    "mtp_num_layers",
    "seq_length",
    "encoder_seq_length",
    "use_distributed_optimizer",
    "overlap_param_gather",
    "data_parallel_sharding_strategy",
    "outer_dp_sharding_strategy",
    "num_distributed_optimizer_instances",
    "ckpt_format",
    "cp_comm_type",
    "sequence_packing_scheduler",
    "dataloader_type",
    "use_gloo_process_groups",
    "high_priority_stream_groups",
    "multi_latent_attention",
)
CONFIG_FIELDS = (
    "num_query_groups",
    "virtual_pipeline_model_parallel_size",
    "microbatch_group_size_per_vp_stage",
    "sequence_parallel",
    "cp_comm_type",
    "mtp_standalone",
)

# arguments of initialize_model_parallel that have the name of their flag
SAME_NAME = (
    "pipeline_model_parallel_comm_backend",
    "use_sharp",
    "context_parallel_size",
    "hierarchical_context_parallel_sizes",
    "expert_model_parallel_size",
    "num_distributed_optimizer_instances",
    "expert_tensor_parallel_size",
    "high_priority_stream_groups",
    "sharp_enabled_group",
)
# where flag and argument differ, by the argument that tells the revision apart
DYNAMIC = {
    "dynamic_context_parallel": "dynamic_context_parallel",
    "min_dynamic_context_parallel_size": "min_dynamic_context_parallel_size",
}
HYBRID = {
    "gtp_remat_size": "gtp_weight_remat_size",
    "expert_gtp_remat_size": "expert_gtp_weight_remat_size",
    "hybrid_context_parallel": "hybrid_context_parallel",
}


class _ChecksPassedError(Exception):
    """The schedule got past its checks of the micro-batches."""


def _past_checks(*_: Any, **__: Any) -> typing.NoReturn:
    raise _ChecksPassedError


class _CpuTorch:
    """torch as the schedule uses it; `zeros` is made on the CPU."""

    nn = torch.nn
    int, Tensor = torch.int, torch.Tensor
    distributed = torch.distributed

    @staticmethod
    def zeros(*sizes: Any, device: Any = None, **named: Any) -> Any:
        return torch.zeros(*sizes, **named)


class _Communicator:
    def __init__(self, pp_group: Any = None, config: Any = None) -> None:
        self.pp_group, self.config = pp_group, config


class _Chunk(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config


class _Job:
    """What a job does after its command line, up to its first step."""

    def __init__(self, training: Training) -> None:
        model = training.model
        self.training = training
        self.state = ParallelState(model.megatron)
        self.groups: dict[str, Json] = {}
        parameters = self.state.module.initialize_model_parallel.__code__.co_varnames
        self._own = DYNAMIC if "dynamic_context_parallel" in parameters else HYBRID
        torch.distributed.ProcessGroupNCCL = SimpleNamespace(
            Options=lambda **_: SimpleNamespace(config=SimpleNamespace())
        )
        torch.cuda.get_device_capability = lambda *_: (9, 0)
        self._ddp_config = _ddp_config(model.megatron)
        self._schedule = _interleaved_schedule(model.megatron, self.state.module)
        self._moe_forward = _moe_forward(model.megatron)

    @property
    def steps(self) -> Any:
        return [
            ("groups", self._make_groups),
            ("ddp_config", lambda args, _: self._ddp_config(args)),
            ("schedule", self._start_schedule),
            ("moe_forward", self._enter_moe_layer),
        ]

    def _make_groups(self, args: Any, _: Any) -> None:
        ps = self.state.module
        self.state.reset()
        WORLD.play(args.world_size, 0)
        ps.initialize_model_parallel(
            args.tensor_model_parallel_size,
            args.pipeline_model_parallel_size,
            args.virtual_pipeline_model_parallel_size,
            order="tp-cp-ep-pp-dp" if args.use_tp_pp_dp_mapping else "tp-cp-ep-dp-pp",
            create_gloo_process_groups=args.use_gloo_process_groups,
            **{name: getattr(args, name) for name in SAME_NAME},
            **{name: getattr(args, flag) for name, flag in self._own.items()},
        )
        nccl = [call for call in WORLD.calls if "_GLOO" not in str(call.description)]
        self.groups = {"nccl_group_count": len(nccl), "expt_dp": ps.get_expert_data_parallel_world_size()}

    def _start_schedule(self, args: Any, config: Any) -> None:
        pp, chunks = args.pipeline_model_parallel_size, args.virtual_pipeline_model_parallel_size or 0
        if chunks < 1 or pp < 2:
            return
        self.state.module._PIPELINE_MODEL_PARALLEL_GROUP = Group(range(pp))
        with contextlib.suppress(_ChecksPassedError):
            self._schedule(
                forward_step_func=None,
                data_iterator=[None] * chunks,
                model=[_Chunk(config) for _ in range(chunks)],
                num_microbatches=self.training.microbatches.get_num_microbatches(),
                seq_length=args.seq_length,
                micro_batch_size=args.micro_batch_size,
                forward_only=True,
            )

    def _enter_moe_layer(self, args: Any, config: Any) -> None:
        if args.num_experts is not None:
            group = Group(range(args.tensor_model_parallel_size))
            self._moe_forward(SimpleNamespace(training=True, attn_tp_group=group, config=config))


def _ddp_config(megatron: Megatron) -> Any:
    configs = megatron.load("megatron.core.distributed.distributed_data_parallel_config")
    names = {
        "argparse": argparse,
        "dataclasses": dataclasses,
        "DistributedDataParallelConfig": configs.DistributedDataParallelConfig,
        "TorchFullyShardedDataParallelConfig": SimpleNamespace,
    }
    return megatron.function("megatron/training/training.py", "get_megatron_ddp_config", names)


def _interleaved_schedule(megatron: Megatron, ps: Any) -> Any:
    types = ("Union", "List", "Optional", "Callable", "Iterator", "Dict", "Tuple")
    names = {
        **{name: getattr(typing, name) for name in types},
        "torch": _CpuTorch,
        "contextlib": contextlib,
        "parallel_state": ps,
        "P2PCommunicator": _Communicator,
        "ProcessGroupCollection": object,
        "get_model_type": _past_checks,
        "get_model_config": lambda chunk: chunk.config,
        "_build_default_pg_collection": lambda: SimpleNamespace(tp=Group([0]), cp=Group([0])),
        "paged_stash_reset": lambda **_: None,
    }
    return megatron.function(SCHEDULES, "forward_backward_pipelining_with_interleaving", names)


def _moe_forward(megatron: Megatron) -> Any:
    """MoELayer.forward cut down to its first check."""
    layer = next(node for node in megatron.parse(MOE_LAYER).body if getattr(node, "name", None) == "MoELayer")
    assert isinstance(layer, ast.ClassDef)
    forward = next(node for node in layer.body if isinstance(node, ast.FunctionDef) and node.name == "forward")
    forward.body = [next(node for node in forward.body if isinstance(node, ast.If))]
    forward.args.args, forward.args.defaults = forward.args.args[:1], []
    forward.returns, forward.decorator_list = None, []
    return megatron.compiled(MOE_LAYER, [forward], {})["forward"]


def training_args(megatron: Megatron) -> Run:
    training = Training(Model(megatron))
    job = _Job(training)

    def run(given: dict[str, Json]) -> Outcome:
        try:
            command = training.command(
                argv_of(given["flags"]), given["world_size"], given["env"], job.steps, given["arch"]
            )
        finally:
            job.state.reset()
        expect: dict[str, Json] = {"stage": command.stage}
        if command.error:
            return refused(command.error, {**expect, "warnings": command.warnings})
        args, config = command.args, command.config
        return accepted(
            {
                **expect,
                "resolved": {name: getattr(args, name, None) for name in RESOLVED},
                "warnings": command.warnings,
                "num_microbatches": training.microbatches.get_num_microbatches(),
                **job.groups,
                "config": {name: getattr(config, name) for name in CONFIG_FIELDS},
                **(_placement(training.model, config) if args.hybrid_layer_pattern is None else {}),
            }
        )

    return run


def command_lines(megatron: Megatron) -> Run:
    """Whole command lines through the parser, its validation and the configuration; nothing is made of them."""
    training = Training(Model(megatron))
    torch.cuda.get_device_capability = lambda *_: (9, 0)

    def run(given: dict[str, Json]) -> Outcome:
        command = training.command(given["argv"], given["world_size"], {"CUDA_DEVICE_MAX_CONNECTIONS": "1"})
        return refused(command.error, {}) if command.error else accepted({})

    return run


def _placement(model: Model, config: Any) -> dict[str, Json]:
    placed = model.placement(config)
    return {"layers": placed["layers"], "layers_error": placed["layers_error"]}
