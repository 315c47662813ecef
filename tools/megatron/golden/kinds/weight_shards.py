"""gtp_args: `resolve_tensor_parallel_weight_shards` of megatron/core/model_parallel_config.py."""

from __future__ import annotations

from ..outcome import AbsentError, Json, Outcome, Run, accepted, refused
from ..source import Megatron

EXPERT_FIELDS = {
    "shards_field": "expert_tensor_parallel_num_weight_shards",
    "tp_field": "expert_tensor_parallel_size",
}


def gtp_args(megatron: Megatron) -> Run:
    # first, as some revisions import in a circle
    megatron.load("megatron.core.parallel_state")
    module = megatron.load("megatron.core.model_parallel_config")
    try:
        resolve = module.resolve_tensor_parallel_weight_shards
    except AttributeError as raised:
        raise AbsentError(str(raised)) from raised

    def run(given: dict[str, Json]) -> Outcome:
        fields = EXPERT_FIELDS if given["expert"] else {}
        tp = given["tensor_model_parallel_size"]
        try:
            pair = resolve(tp, given["tensor_parallel_num_weight_shards"], given["gtp_weight_remat_size"], **fields)
            again = resolve(tp, *pair, **fields)
        except Exception as raised:
            return refused(megatron.error(raised))
        shards, remat = pair
        return accepted(
            {
                "tensor_parallel_num_weight_shards": shards,
                "gtp_weight_remat_size": remat,
                "idempotent": again == pair,
            }
        )

    return run
