"""TransformerConfig, the training arguments and the placement of layers, without kernels or models.

Fixed: GPU architecture 9 unless a case says otherwise, every version of torch and Transformer Engine new enough, rank 1
(messages meant for rank 0 are not printed).
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import typing
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .outcome import Json
from .source import Megatron

GPU_ARCHITECTURE = 9

# modules that a configuration imports and does not call
UNUSED = (
    "megatron.core.inference.moe.fused_moe",
    "megatron.core.inference.moe.vllm_fused_moe",
    "megatron.core.models.backends",
    "megatron.core.ssm.gated_delta_net",
    "megatron.core.transformer.experimental_attention_variant.absorbed_mla",
    "megatron.core.transformer.experimental_attention_variant.dsa",
    "megatron.core.transformer.transformer_block",
    "megatron.core.transformer.transformer_layer",
    "megatron.core.fusions.fused_bias_dropout",
)
UNUSED_IN_TRAINING = (
    "megatron.training.models",
    "megatron.training.config.container",
    "megatron.training.config.instantiate_utils",
    "megatron.training.global_vars",
    "megatron.core.dist_checkpointing.mapping",
    "megatron.core.rerun_state_machine",
)

TYPES = {name: getattr(typing, name) for name in ("Optional", "List", "Union")}
BLOCK = "megatron/core/transformer/transformer_block.py"
LAYER = "megatron/core/transformer/transformer_layer.py"
MTP = "megatron/core/transformer/multi_token_prediction.py"

# environment variables that a case may set
VARIABLES = (
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "NCCL_PROTO",
    "CUDA_GRAPHS_USE_NODE_PRIORITY",
    "WORLD_SIZE",
    "RANK",
    "NVTE_FUSED_ATTN",
    "NVTE_FLASH_ATTN",
    "NVTE_UNFUSED_ATTN",
)

# the least that the training script accepts
BASE_FLAGS: dict[str, Json] = {
    "num-layers": 8,
    "hidden-size": 64,
    "num-attention-heads": 8,
    "seq-length": 64,
    "max-position-embeddings": 64,
    "micro-batch-size": 1,
}


def _quiet(*_: Any, **__: Any) -> None:
    return None


def _yes(*_: Any, **__: Any) -> bool:
    return True


class Model:
    """The configuration of a model, and what each pipeline stage builds of it."""

    def __init__(self, megatron: Megatron) -> None:
        warnings.simplefilter("ignore")
        self.megatron = megatron
        self.parallel_state = megatron.load("megatron.core.parallel_state")
        megatron.stub(*UNUSED)
        megatron.run_package("megatron.core.inference.moe")
        self.configs = megatron.load("megatron.core.transformer.transformer_config")
        self.configs.is_te_min_version = self.configs.is_torch_min_version = _yes
        package = sys.modules["megatron.core.transformer"]
        package.TransformerConfig = self.configs.TransformerConfig  # type: ignore[attr-defined]
        package.MLATransformerConfig = self.configs.MLATransformerConfig  # type: ignore[attr-defined]
        stages = megatron.load("megatron.core.pipeline_parallel.utils")
        layouts = megatron.load("megatron.core.transformer.pipeline_parallel_layer_layout")
        self.layer_types = megatron.load("megatron.core.transformer.enums").LayerType
        self.layouts = layouts.PipelineParallelLayerLayout
        self.names = {
            "parallel_state": self.parallel_state,
            "LayerType": self.layer_types,
            "PipelineParallelLayerLayout": self.layouts,
            "TransformerConfig": self.configs.TransformerConfig,
            "is_vp_first_stage": stages.is_vp_first_stage,
            "is_vp_last_stage": stages.is_vp_last_stage,
            **TYPES,
        }
        self._layers_of = megatron.function(BLOCK, "get_num_layers_to_build", self.names)
        self._offset_of = megatron.function(LAYER, "get_transformer_layer_offset", self.names)
        self._mtp_layers_of = megatron.function(MTP, "get_mtp_num_layers_to_build", self.names)

    def small(self, **sizes: Json) -> Any:
        """A TransformerConfig of hidden size 64 and 8 heads with further sizes. Raises what Megatron-LM raises."""
        dtype = {"pipeline_dtype": torch.bfloat16} if sizes.get("pipeline_model_parallel_size", 1) > 1 else {}
        return self.configs.TransformerConfig(**{"hidden_size": 64, "num_attention_heads": 8, **sizes, **dtype})

    @contextlib.contextmanager
    def pipeline(self, size: int | None, virtual: int | None) -> typing.Iterator[Callable[[int], None]]:
        """parallel_state with a pipeline; the value sets the rank in it."""
        ps = self.parallel_state
        ps._MPU_PIPELINE_MODEL_PARALLEL_WORLD_SIZE = size
        ps._VIRTUAL_PIPELINE_MODEL_PARALLEL_WORLD_SIZE = virtual

        def as_rank(rank: int) -> None:
            ps._MPU_PIPELINE_MODEL_PARALLEL_RANK = rank

        try:
            yield as_rank
        finally:
            ps._MPU_PIPELINE_MODEL_PARALLEL_RANK = None
            ps._MPU_PIPELINE_MODEL_PARALLEL_WORLD_SIZE = None
            ps._VIRTUAL_PIPELINE_MODEL_PARALLEL_WORLD_SIZE = None

    def stages(self, config: Any) -> dict[str, Json]:
        """[vp stage][pp rank] = [layers, offset], or the first error of the functions that place layers."""
        return _only(self._placed(config, with_mtp=False), "layers", "layers_error")

    def placement(self, config: Any) -> dict[str, Json]:
        """`stages`, the layers of multi-token prediction, and whether the stages hold every layer once."""
        placed = self._placed(config, with_mtp=True)
        if placed["layers"] is None:
            return placed
        cells = [cell for row in placed["layers"] for cell in row]
        held = [layer for count, offset in cells for layer in range(offset, offset + count)]
        return {
            **placed,
            "layers_built": sum(count for count, _ in cells),
            "layers_cover_model": sorted(held) == list(range(config.num_layers)),
        }

    def _placed(self, config: Any, with_mtp: bool) -> dict[str, Json]:
        size, virtual = config.pipeline_model_parallel_size, config.virtual_pipeline_model_parallel_size
        layers: list[list[list[int]]] = []
        mtp: list[list[int]] = []
        with self.pipeline(size if with_mtp else None, virtual) as as_rank:
            try:
                for chunk in range(virtual or 1):
                    layers.append([])
                    mtp.append([])
                    for rank in range(size):
                        as_rank(rank)
                        place = {"vp_stage": None if virtual is None else chunk, "pp_rank": rank}
                        layers[-1].append([self._layers_of(config, **place), self._offset_of(config, **place)])
                        if with_mtp:
                            mtp[-1].append(self._mtp_layers_of(config, **place))
            except Exception as raised:
                return {"layers": None, "layers_error": self.megatron.error(raised), "mtp": None}
        return {"layers": layers, "layers_error": None, "mtp": mtp}


def _only(entries: dict[str, Json], *names: str) -> dict[str, Json]:
    return {name: entries[name] for name in names}


@dataclass(frozen=True)
class Command:
    """How far a command line came. `stage`: where it failed, or null."""

    args: Any
    config: Any
    stage: str | None
    error: dict[str, Json] | None
    warnings: list[str]


def argv_of(flags: dict[str, Json], base: dict[str, Json] | None = None) -> list[str]:
    """Flags by argparse destination as a command line: true is a bare flag; false and null leave it out."""
    dashed = {name.replace("_", "-"): value for name, value in flags.items()}
    argv: list[str] = []
    for name, value in {**(BASE_FLAGS if base is None else base), **dashed}.items():
        if value is None or value is False:
            continue
        values = [] if value is True else value if isinstance(value, list) else [value]
        argv += [f"--{name}", *map(str, values)]
    return argv


# Further steps of a command line: each with its name, in order.
Steps = list[tuple[str, Callable[[Any, Any], None]]]


class Training:
    """megatron/training/arguments.py and what the training script does with its result."""

    def __init__(self, model: Model) -> None:
        self.model = model
        megatron = model.megatron
        megatron.stub(*UNUSED_IN_TRAINING)
        # dev asks the package for it
        sys.modules["megatron.core.dist_checkpointing"].ShardedTensor = object  # type: ignore[attr-defined]
        megatron.stub(
            "megatron.training.utils",
            get_device_arch_version=lambda: GPU_ARCHITECTURE,
            print_rank_0=_quiet,
            warn_rank_0=_quiet,
            update_use_dist_ckpt=_use_dist_ckpt,
            is_rank0=lambda: False,
        )
        megatron.run_package("megatron.training.config")
        self.arguments = megatron.load("megatron.training.arguments")
        self.arguments._print_args = _quiet
        self.arguments.is_te_min_version = self.arguments.is_torch_min_version = _yes
        self.microbatches = megatron.load("megatron.core.num_microbatches_calculator")

    def start_microbatches(self, **arguments: Json) -> None:
        self.microbatches.unset_num_microbatches_calculator()
        with contextlib.redirect_stdout(io.StringIO()):
            self.microbatches.init_num_microbatches_calculator(rank=1, **arguments)

    def command(
        self,
        argv: list[str],
        world_size: int,
        environment: dict[str, str],
        steps: Steps | None = None,
        architecture: int = GPU_ARCHITECTURE,
    ) -> Command:
        """Parse, validate_args, config, microbatches, then further steps, up to the first error."""
        args = config = error = None
        stage: str | None = "parse"
        warned: list[str] = []
        parser_output = io.StringIO()
        self.arguments.warn_rank_0 = lambda message, *_, **__: warned.append(str(message))
        self.arguments.get_device_arch_version = lambda: architecture
        sys.argv = ["x", *argv]
        try:
            with _environment({**environment, "WORLD_SIZE": str(world_size), "RANK": "1"}):
                with contextlib.redirect_stderr(parser_output):
                    args = self.arguments.parse_args()
                stage = "validate_args"
                with contextlib.redirect_stdout(io.StringIO()):
                    args = self.arguments.validate_args(args)
                stage = "config"
                config = self.arguments.core_transformer_config_from_args(args)
                stage = "microbatches"
                self._microbatches_of(args)
                for name, step in steps or []:
                    stage = name
                    step(args, config)
                stage = None
        except SystemExit:
            parsing = stage == "parse"
            lines = parser_output.getvalue().strip().split("\n")
            error = {
                "type": "SystemExit",
                "message": lines[-1] if parsing else "",
                "origin": "argparse" if parsing else "megatron",
                "where": None,
            }
        except Exception as raised:
            error = self.model.megatron.error(raised)
        finally:
            self.arguments.get_device_arch_version = lambda: GPU_ARCHITECTURE
        return Command(args, config, stage, error, warned)

    def _microbatches_of(self, args: Any) -> None:
        self.start_microbatches(
            global_batch_size=args.global_batch_size,
            micro_batch_size=args.micro_batch_size,
            # the whole degree of data parallelism, as megatron/training/global_vars.py counts it
            data_parallel_size=args.data_parallel_size * getattr(args, "gtp_weight_remat_size", 1),
            decrease_batch_size_if_needed=args.decrease_batch_size_if_needed,
            step_batch_size_schedule=args.step_batch_size_schedule,
            seq_length=args.seq_length,
        )


def _use_dist_ckpt(args: Any) -> None:
    # the rule of megatron/training/utils.py, whose module cannot be imported here
    args.use_dist_ckpt = args.ckpt_format != "torch"


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> typing.Iterator[None]:
    """Only the given ones of the variables that cases set."""
    for name in VARIABLES:
        os.environ.pop(name, None)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in VARIABLES:
            os.environ.pop(name, None)
