"""hybrid_pattern: hybrid_layer_pattern by the command line, then the segment of every stage as HybridModel takes it.

Source: megatron/core/models/hybrid/hybrid_layer_allocation.py.
"""

from __future__ import annotations

from typing import Any

from ..model import MTP, TYPES, Model, Training, argv_of
from ..outcome import Json, Outcome, Run, accepted, refused
from ..recorder import WORLD, Group
from ..source import Megatron


class _Stages:
    """What HybridModel.__init__ asks for each stage: its segment, and whether multi-token prediction is there."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.allocation = model.megatron.load("megatron.core.models.hybrid.hybrid_layer_allocation")
        for logger in ("log_on_each_pipeline_stage", "log_single_rank"):
            setattr(self.allocation, logger, lambda *_, **__: None)
        names = {
            "parallel_state": model.parallel_state,
            "LayerType": model.layer_types,
            "PipelineParallelLayerLayout": model.layouts,
            **TYPES,
        }
        self._has_mtp = model.megatron.function(MTP, "mtp_on_this_rank", names)

    def of(self, args: Any, config: Any) -> tuple[list[list[Json]], list[list[str]]]:
        """[vp stage][pp rank] = [symbols, offset], and the symbols of multi-token prediction built there."""
        size, virtual = args.pipeline_model_parallel_size, args.virtual_pipeline_model_parallel_size
        layers: list[list[Json]] = []
        mtp: list[list[str]] = []
        with self.model.pipeline(size, virtual) as as_rank:
            for chunk in range(virtual or 1):
                layers.append([])
                mtp.append([])
                for rank in range(size):
                    WORLD.play(size, rank)
                    as_rank(rank)
                    symbols, depths = self._stage(args, config, None if virtual is None else chunk)
                    layers[-1].append(symbols)
                    mtp[-1].append(depths)
        return layers, mtp

    def _stage(self, args: Any, config: Any, chunk: int | None) -> tuple[list[Json], str]:
        parsed = self.allocation.parse_hybrid_pattern(args.hybrid_layer_pattern)
        symbols, offset = self.allocation.select_pipeline_segment(
            parsed.main_pattern or "",
            Group(range(WORLD.size)),
            chunk,
            first_stage_layers=config.num_layers_in_first_pipeline_stage,
            last_stage_layers=config.num_layers_in_last_pipeline_stage,
        )
        has_mtp = (
            parsed.mtp_pattern is not None
            and parsed.mtp_num_depths > 0
            and self._has_mtp(
                layout=config.pipeline_model_parallel_layout,
                mtp_num_layers=config.mtp_num_layers,
                ignore_virtual=False,
                vp_stage=chunk,
            )
        )
        return ["".join(symbols), offset], parsed.mtp_pattern * parsed.mtp_num_depths if has_mtp else ""


def hybrid_pattern(megatron: Megatron) -> Run:
    model = Model(megatron)
    training = Training(model)
    stages = _Stages(model)
    allocation = stages.allocation

    def segments(pattern: str | None) -> dict[str, Json]:
        try:
            return {"segments": allocation.get_hybrid_total_pipeline_segment_count(pattern or "")}
        except Exception:
            return {}

    def run(given: dict[str, Json]) -> Outcome:
        placed: list[Any] = []
        steps = [("model", lambda args, config: placed.extend(stages.of(args, config)))]
        command = training.command(_argv(given), given["world_size"], {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}, steps)
        expect = {"stage": command.stage, "warnings": command.warnings, **segments(given["pattern"])}
        if command.error:
            return refused(_marked(command.error), expect)
        args = command.args
        parsed = allocation.parse_hybrid_pattern(args.hybrid_layer_pattern)
        layers, mtp = placed
        built = "".join(symbols for row in layers for symbols, _ in row)
        pattern = args.hybrid_layer_pattern
        return accepted(
            {
                **expect,
                "num_layers": args.num_layers,
                "virtual_pipeline_model_parallel_size": args.virtual_pipeline_model_parallel_size,
                "mtp_num_layers": args.mtp_num_layers,
                "mtp_pattern": parsed.mtp_pattern,
                "multi_latent_attention": args.multi_latent_attention,
                "pattern": pattern,
                "counts": allocation.get_hybrid_layer_counts(pattern) if pattern else None,
                "layers": layers,
                "mtp": mtp,
                "layers_cover_model": built == (parsed.main_pattern or "").replace("|", ""),
            }
        )

    return run


def _argv(given: dict[str, Json]) -> list[str]:
    flags = {
        "num_layers": None,
        "pipeline_model_parallel_size": given["pp"],
        "position_embedding_type": "none",
        **given["flags"],
    }
    argv = argv_of(flags)
    # with "=", as a pattern may begin with a dash
    return argv if given["pattern"] is None else [*argv, f"--hybrid-layer-pattern={given['pattern']}"]


def _marked(error: dict[str, Json]) -> dict[str, Json]:
    """Says of a message that it prints a set, whose order is Python's."""
    prints_set = any(text in error["message"] for text in ("Valid symbols are: {", "not one of {"))
    return {**error, "message_prints_a_set": True} if prints_set else error
