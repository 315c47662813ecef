"""pipeline_layout, pipeline_split: the layers of each pipeline stage, by TransformerConfig and by command line."""

from __future__ import annotations

from typing import Any

from ..model import MTP, Command, Model, Training, argv_of
from ..outcome import Json, Outcome, Run, accepted, refused
from ..source import Megatron

ENVIRONMENT = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
# position embeddings that multi-token prediction accepts
ROPE = {"position_embedding_type": "rope", "no_rope_fusion": True}


def pipeline_layout(megatron: Megatron) -> Run:
    model = Model(megatron)
    training = Training(model)
    mtp_ranks = megatron.function(MTP, "get_mtp_ranks", model.names)
    layouts = model.layouts

    def stages_named(layout: str) -> int | None:
        try:
            count: int = layouts.get_num_stages_from_str(layout)
            return count
        except Exception:
            return None

    def by_command_line(given: dict[str, Json]) -> dict[str, Json]:
        flags = {
            "num_layers": given["num_layers"],
            "pipeline_model_parallel_size": given["pp"],
            "pipeline_model_parallel_layout": given["layout"],
            "mtp_num_layers": given["mtp_num_layers"],
            **ROPE,
        }
        return _verdict(training.command(argv_of(flags), given["pp"], ENVIRONMENT))

    def run(given: dict[str, Json]) -> Outcome:
        layouts.from_str.cache_clear()
        layout, pp = given["layout"], given["pp"]
        expect: dict[str, Json] = {"num_stages": stages_named(layout) if isinstance(layout, str) else None}
        # argparse would read a value that begins with a dash as a flag
        sayable = isinstance(layout, str) and layout and not layout.startswith("-")
        if sayable and given["vpp"] is None and pp > 0:
            expect["cli"] = by_command_line(given)
        try:
            config = model.small(
                num_layers=given["num_layers"],
                pipeline_model_parallel_size=pp,
                virtual_pipeline_model_parallel_size=given["vpp"],
                pipeline_model_parallel_layout=layout,
                mtp_num_layers=given["mtp_num_layers"],
            )
        except Exception as raised:
            return refused(megatron.error(raised), expect)
        if config.pipeline_model_parallel_layout is None:
            return accepted({**expect, "layout_ignored": True})
        return accepted({**expect, **_layout_of(model, config, pp, mtp_ranks)})

    return run


def _layout_of(model: Model, config: Any, pp: int, mtp_ranks: Any) -> dict[str, Json]:
    layout = config.pipeline_model_parallel_layout
    virtual = config.virtual_pipeline_model_parallel_size
    chunks = range(layout.virtual_pipeline_model_parallel_size)
    decoder = model.layer_types.decoder
    with model.pipeline(None, virtual):
        ids = [
            [layout.get_layer_id_list(decoder, None if virtual is None else chunk, rank) for rank in range(pp)]
            for chunk in chunks
        ]
    return {
        "vpp": virtual,
        "mtp_standalone": config.mtp_standalone,
        "stages": [[[layer.name for layer in layout.layout[rank][chunk]] for rank in range(pp)] for chunk in chunks],
        **model.placement(config),
        "decoder_ids": ids,
        "mtp_pp_ranks": sorted(mtp_ranks(list(range(pp)), config)),
        "pretty": layout.pretty_repr(),
    }


def pipeline_split(megatron: Megatron) -> Run:
    model = Model(megatron)
    training = Training(model)

    def by_command_line(given: dict[str, Json]) -> dict[str, Json]:
        flags = {
            "num_layers": given["num_layers"],
            "pipeline_model_parallel_size": given["pp"],
            "num_virtual_stages_per_pipeline_rank": given["vpp"],
            "decoder_first_pipeline_num_layers": given["first"],
            "decoder_last_pipeline_num_layers": given["last"],
            "account_for_embedding_in_pipeline_split": given["account_for_embedding"],
            "account_for_loss_in_pipeline_split": given["account_for_loss"],
            "mtp_num_layers": given["mtp_num_layers"],
            **ROPE,
        }
        command = training.command(argv_of(flags), given["pp"], ENVIRONMENT)
        if command.error:
            return _verdict(command)
        return {
            **_verdict(command),
            "virtual_pipeline_model_parallel_size": command.config.virtual_pipeline_model_parallel_size,
            "layers_error": model.placement(command.config)["layers_error"],
        }

    def run(given: dict[str, Json]) -> Outcome:
        expect = {"cli": by_command_line(given)} if given["pp"] > 0 else {}
        try:
            config = model.small(
                num_layers=given["num_layers"],
                pipeline_model_parallel_size=given["pp"],
                virtual_pipeline_model_parallel_size=given["vpp"],
                num_layers_in_first_pipeline_stage=given["first"],
                num_layers_in_last_pipeline_stage=given["last"],
                account_for_embedding_in_pipeline_split=given["account_for_embedding"],
                account_for_loss_in_pipeline_split=given["account_for_loss"],
                mtp_num_layers=given["mtp_num_layers"],
            )
        except Exception as raised:
            return refused(megatron.error(raised), expect)
        return accepted({**model.placement(config), **expect})

    return run


def _verdict(command: Command) -> dict[str, Json]:
    return {"ok": command.error is None, "stage": command.stage, "error": command.error}
