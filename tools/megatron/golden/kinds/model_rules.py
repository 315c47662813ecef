"""model_rules: TransformerConfig, the training arguments and the microbatch calculator, each run whole."""

from __future__ import annotations

import os
from typing import Any

import torch

from ..model import Command, Model, Training
from ..outcome import Json, Outcome, Run, accepted, refused
from ..source import Megatron

DTYPES = {None: None, "bf16": torch.bfloat16, "fp32": torch.float32}
CONFIG_FIELDS = (
    "ffn_hidden_size",
    "kv_channels",
    "num_query_groups",
    "expert_tensor_parallel_size",
    "gtp_weight_remat_size",
    "expert_gtp_weight_remat_size",
    "virtual_pipeline_model_parallel_size",
    "microbatch_group_size_per_vp_stage",
    "moe_ffn_hidden_size",
)
ARGUMENTS = (
    "data_parallel_size",
    "gtp_weight_remat_size",
    "expert_gtp_weight_remat_size",
    "global_batch_size",
    "eval_global_batch_size",
    "virtual_pipeline_model_parallel_size",
    "expert_tensor_parallel_size",
    "sequence_parallel",
    "overlap_p2p_comm",
    "ffn_hidden_size",
    "kv_channels",
    "num_layers",
)
FIELDS_OF_ARGUMENTS = (
    "num_query_groups",
    "virtual_pipeline_model_parallel_size",
    "microbatch_group_size_per_vp_stage",
)


def model_rules(megatron: Megatron) -> Run:
    model = Model(megatron)
    training = Training(model)

    def config(given: dict[str, Json]) -> dict[str, Json]:
        fields = dict(given["config"])
        for name in ("pipeline_dtype", "params_dtype"):
            if name in fields:
                fields[name] = DTYPES[fields[name]]
        made = model.configs.TransformerConfig(**fields)
        return {**{name: getattr(made, name) for name in CONFIG_FIELDS}, **model.stages(made)}

    def microbatches(given: dict[str, Json]) -> dict[str, Json]:
        training.start_microbatches(**{name: value for name, value in given.items() if name != "kind"})
        calculator = training.microbatches
        return {
            "num_microbatches": calculator.get_num_microbatches(),
            "running_global_batch_size": calculator.get_current_running_global_batch_size(),
        }

    def accepted_arguments(command: Command) -> dict[str, Json]:
        args, made = command.args, command.config
        # hybrid models place their layers by the pattern
        plain = args.hybrid_layer_pattern is None
        return {
            **{name: getattr(args, name) for name in ARGUMENTS},
            **{f"config_{name}": getattr(made, name) for name in FIELDS_OF_ARGUMENTS},
            **(model.stages(made) if plain else {"layers": None, "layers_error": None}),
            "num_microbatches": training.microbatches.get_num_microbatches(),
        }

    def run(given: dict[str, Json]) -> Outcome:
        os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
        if given["kind"] == "args":
            command = training.command(given["argv"], given["world_size"], given["env"])
            if command.error:
                return refused(command.error, {"stage": command.stage})
            return accepted(accepted_arguments(command))
        made: Any = {"config": config, "microbatches": microbatches}[given["kind"]]
        try:
            return accepted(made(given))
        except Exception as raised:
            return refused(megatron.error(raised))

    return run
