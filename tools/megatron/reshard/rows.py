"""Writes what a plan gave as golden rows, beside the layouts: python3 rows.py PLAN.json OUT pairs|paths > ROWS.jsonl"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

KEYS = {
    "tensor_model_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp",
    "virtual_pipeline_model_parallel_size": "vpp",
    "context_parallel_size": "cp",
    "expert_model_parallel_size": "ep",
    "expert_tensor_parallel_size": "expt_tp",
    "num_distributed_optimizer_instances": "num_distributed_optimizer_instances",
    "order": "order",
}

MODEL_KEYS = {"swiglu": "gated_linear_unit"}


def layout_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The layout file of an entry of a plan."""
    config = dict(entry.get("config", {}))
    parallelism = {KEYS[key]: value for key, value in entry.get("args", {}).items() if value != 1}
    if "pipeline_model_parallel_layout" in config:
        # it says how many chunks a stage has
        parallelism["pipeline_model_parallel_layout"] = config.pop("pipeline_model_parallel_layout")
        parallelism.pop("vpp", None)
    if parallelism.get("tp", 1) != 1 and entry.get("args", {}).get("expert_tensor_parallel_size") == 1:
        parallelism["expt_tp"] = 1
    trained = "fsdp" in entry or "ckpt_format" in config
    checkpoint = {"ckpt_format": "fsdp_dtensor" if "fsdp" in entry else config.pop("ckpt_format", "torch_dist")}
    model: dict[str, Any] = {
        "num_layers": 8,
        "hidden_size": 64,
        "num_attention_heads": 8,
        "vocab_size": entry.get("vocabulary", 512),
        # training's own functions pad as the command line does by default
        **({} if trained else {"make_vocab_size_divisible_by": 1}),
        "untie_embeddings_and_output_weights": not entry.get("tied", False),
        **({"num_experts": entry["experts"]} if "experts" in entry else {}),
        **({"params_dtype": "fp32"} if entry.get("precision") == "fp32" else {}),
        **{MODEL_KEYS.get(key, key): value for key, value in config.items()},
    }
    optimizer: dict[str, Any] = {"use_distributed_optimizer": entry.get("distributed_optimizer", True)}
    if entry.get("ddp", {}).get("overlap_grad_reduce"):
        optimizer["overlap_grad_reduce"] = True
    if entry.get("ddp", {}).get("grad_reduce_in_fp32") is False:
        optimizer["grad_reduce_in_bf16"] = True
    layout = {"world_size": entry.get("world", 8), "parallelism": parallelism, "model": model, "optimizer": optimizer}
    if "fsdp" in entry:
        layout["fsdp"] = {"enabled": True, **entry["fsdp"]}
    return {**layout, "checkpoint": checkpoint} if trained else layout


def loaded(outcome: dict[str, Any]) -> dict[str, Any]:
    error = outcome["error"]
    # of torch's errors of all ranks, what the last one says
    last = re.search(r"^CheckpointException.*?(\w+Error: [^\n]*)$", (error or "").rstrip(), re.DOTALL)
    short = None if error is None else (last[1] if last else error).replace("\n", " ")[:300]
    return {"loads": outcome["loads"] and outcome["equal"], "error": short}


def pairs(plan: dict[str, Any], results: list[dict[str, Any]]) -> None:
    for row in results:
        source, target = plan["layouts"][row["from"]], plan["layouts"][row["to"]]
        # a layout has no key for the size of buckets
        if "save" in row or any("bucket_size" in one.get("ddp", {}) for one in (source, target)):
            continue
        # without the states of the optimizer
        fresh = row.get("fresh", False)
        kind, family = ("fresh" if fresh else row["type"]), ("fsdp-" if plan.get("training") else "")
        print(
            json.dumps(
                {
                    "id": f"{family}{row['from']}-to-{row['to']}-{kind}",
                    "input": {"before": layout_of(source), "after": layout_of(target), "sharding": row["type"]},
                    "expect": {
                        "model": loaded(row["model"]),
                        "optimizer": None if fresh else loaded(row["optimizer"]),
                    },
                }
            )
        )


def paths(plan: dict[str, Any], results: list[dict[str, Any]]) -> None:
    for name, path in plan["paths"].items():
        segments = sorted((row for row in results if row["path"] == name), key=lambda row: int(row["segment"]))
        rounded = [[round(loss, 7) for loss in row["losses"]] for row in segments]
        layouts = [plan["layouts"][one] for one in path["layouts"]]
        print(
            json.dumps(
                {
                    "id": name,
                    "input": {
                        "layouts": [layout_of(one) for one in layouts],
                        "sharding": path["type"],
                        "precision": layouts[0].get("precision", "bf16"),
                        "no_load_optim": path.get("no_load_optim", False),
                    },
                    "expect": {"losses": rounded, "unbroken": [round(loss, 7) for loss in segments[0]["unbroken"]]},
                }
            )
        )


def main() -> None:
    plan, kind = json.loads(Path(sys.argv[1]).read_text()), sys.argv[3]
    lines = (Path(sys.argv[2]) / f"{kind}.jsonl").read_text().splitlines()
    {"pairs": pairs, "paths": paths}[kind](plan, [json.loads(line) for line in lines])


if __name__ == "__main__":
    main()
