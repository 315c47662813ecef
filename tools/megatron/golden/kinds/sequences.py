"""sequence: which tokens a rank holds, by PartitionAdapter (MIMO) and `get_batch_on_this_cp_rank`."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import torch

from ..outcome import Json, Outcome, Run, accepted, intervals, refused
from ..recorder import WORLD, Group
from ..source import Megatron

BATCH, HIDDEN = 2, 3
# masks are made for sequences up to this length
MASKED_LENGTH = 256


def sequence(megatron: Megatron) -> Run:
    warnings.simplefilter("ignore")
    ps = megatron.load("megatron.core.parallel_state")
    utils = megatron.load("megatron.core.utils")
    mappings = megatron.load("megatron.core.tensor_parallel.mappings")
    package: Any = sys.modules["megatron.core.tensor_parallel"]
    package.scatter_to_sequence_parallel_region = mappings.scatter_to_sequence_parallel_region
    parallel_config = megatron.load("megatron.core.model_parallel_config")
    partition = megatron.load("megatron.core.models.mimo.partition.utils")

    def sharded(given: dict[str, Json], cp_rank: int, tp_rank: int) -> dict[str, Json]:
        length = given["S"]
        config = parallel_config.ModelParallelConfig(
            tensor_model_parallel_size=given["tp"],
            context_parallel_size=given["cp"],
            sequence_parallel=given["sequence_parallel"],
            tp_comm_overlap=given["tp_comm_overlap"],
        )
        adapter = partition.PartitionAdapter(
            partition.PartitionConfig.from_mp_config(
                config,
                max_seq_len=given["max_seq_len"],
                cp_group=Group(range(given["cp"]), cp_rank),
                tp_group=Group(range(given["tp"]), tp_rank),
            )
        )
        # every token carries its position
        positions = torch.arange(length, dtype=torch.float32)
        embeddings = positions.view(length, 1, 1).expand(length, BATCH, HIDDEN).contiguous()
        labels = torch.arange(length).view(1, length).expand(BATCH, length).contiguous()
        mask = positions.view(1, length).expand(BATCH, length).contiguous()
        held, held_labels, held_mask, _ = adapter.shard(embeddings if given["embeddings"] else None, labels, mask)
        if not torch.equal(held_labels[0].float(), held_mask[0]) or not torch.equal(held_labels[0], held_labels[1]):
            raise AssertionError("labels and loss mask are cut differently")
        return {
            "cp_rank": cp_rank,
            "tp_rank": tp_rank,
            "embeddings": None if held is None else intervals(int(position) for position in held[:, 0, 0]),
            "labels": intervals(int(position) for position in held_labels[0]),
        }

    def batch(given: dict[str, Json], cp_rank: int) -> dict[str, Json]:
        length = given["S"]
        tokens = torch.arange(length).view(1, length).expand(BATCH, length).contiguous()
        mask = torch.arange(length).view(1, 1, length, 1).expand(BATCH, 1, length, length).contiguous()
        whole = {
            "tokens": tokens,
            "labels": tokens.clone(),
            "position_ids": tokens.clone(),
            "loss_mask": None,
            "attention_mask": mask if length <= MASKED_LENGTH else None,
        }
        group = Group(range(given["cp"]), cp_rank)
        held = utils.get_batch_on_this_cp_rank(whole, is_hybrid_cp=False, cp_group=group)
        ranges = _positions(held["tokens"])
        if _positions(held["labels"]) != ranges or _positions(held["position_ids"]) != ranges:
            raise AssertionError("tokens, labels and positions are cut differently")
        return {"cp_rank": cp_rank, "tokens": ranges}

    def run(given: dict[str, Json]) -> Outcome:
        WORLD.play(given["cp"] * given["tp"], 0)
        ps._DATA_PARALLEL_GROUP = None
        try:
            if given["kind"] == "cp_batch":
                ranks = [batch(given, cp_rank) for cp_rank in range(given["cp"])]
            else:
                ranks = [
                    sharded(given, cp_rank, tp_rank) for cp_rank in range(given["cp"]) for tp_rank in range(given["tp"])
                ]
        except Exception as raised:
            error = megatron.error(raised)
            own = {"message_is_torch_version_specific": True} if error["origin"] == "python" else {}
            return refused({**error, **own})
        return accepted({"ranks": ranks})

    return run


def _positions(held: Any) -> list[list[int]]:
    return intervals(int(position) for position in held[0])
