"""Makes a plan of layouts drawn at random: python3 random_plan.py SEED FAMILY COUNT > PLAN.json

FAMILY is `dense`, `experts`, `tied` or `plain`; every layout is loaded from three others of its family, in each
sharding that the source can save.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

ORDERS = ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "tp-cp-pp-ep-dp"]
SOURCES = 3


def split(rng: random.Random, stages: int) -> list[int]:
    """Eight layers over the stages, at least one each."""
    cuts = sorted(rng.sample(range(1, 8), stages - 1))
    return [end - start for start, end in zip([0, *cuts], [*cuts, 8], strict=True)]


def pipeline(rng: random.Random, pp: int, args: dict[str, Any]) -> dict[str, Any]:
    """How the layers lie on the stages: evenly, with uneven ends, or by a layout."""
    if pp == 1:
        return {}
    virtual = rng.choice([1, 1, 2, 4] if pp == 2 else [1, 1, 2])
    if virtual > 1:
        args["virtual_pipeline_model_parallel_size"] = virtual
    how = rng.choice(["even", "even", "uneven", "layout"])
    if how == "layout" and virtual * pp <= 4:
        counts = split(rng, pp * virtual)
        text = "|".join("t" * count for count in counts)
        return {"pipeline_model_parallel_layout": f"E{text}L"}
    if how == "uneven" and virtual == 1:
        first = rng.choice([1, 2, 3] if pp == 2 else [1, 3])
        last = 8 - first if pp == 2 else 4 - first
        return {"num_layers_in_first_pipeline_stage": first, "num_layers_in_last_pipeline_stage": last}
    return {}


def layout(rng: random.Random, family: str) -> dict[str, Any]:
    """A layout that Megatron-LM builds on 4, 6 or 8 ranks."""
    world = rng.choice([4, 4, 6, 8, 8])
    while True:
        tp, pp, cp = rng.choice([1, 2, 2, 4]), rng.choice([1, 1, 2, 2, 4]), rng.choice([1, 1, 1, 2])
        if world % (tp * pp * cp) == 0:
            break
    args: dict[str, Any] = {}
    made: dict[str, Any] = {"world": world, "args": args}
    for name, size in (("tensor", tp), ("pipeline", pp), ("context", cp)):
        if size > 1:
            args[f"{name}_model_parallel_size" if name != "context" else "context_parallel_size"] = size
    if family == "experts":
        made["experts"] = 4
        inner = world // pp
        choices = [(ep, etp) for ep in (1, 2, 4) for etp in (1, 2, 4) if inner % (ep * etp) == 0 and etp <= max(tp, 2)]
        ep, etp = rng.choice([*choices, *[one for one in choices if one[1] == tp]])
        args["expert_model_parallel_size"], args["expert_tensor_parallel_size"] = ep, etp
    config = pipeline(rng, pp, args)
    if config:
        made["config"] = config
    if rng.random() < 0.25 and family != "experts":
        args["order"] = rng.choice(ORDERS[1:])
    if family in ("dense", "plain") and rng.random() < 0.2:
        made["vocabulary"] = rng.choice([520, 640])
    if rng.random() < 0.2:
        made["precision"] = "fp32"
    if family == "tied":
        made["tied"] = rng.random() < 0.8
    if family == "plain" and rng.random() < 0.6:
        made["distributed_optimizer"] = False
    elif family == "dense" and world // (tp * pp * cp) * cp >= 4 and rng.random() < 0.2:
        args["num_distributed_optimizer_instances"] = 2
    return made


def alike(one: dict[str, Any], other: dict[str, Any]) -> int:
    """How many arguments are equal."""
    return sum(one.get(key) == other.get(key) for key in {*one, *other, "pipeline_model_parallel_size"})


def main() -> None:
    rng, family = random.Random(f"{sys.argv[1]} {sys.argv[2]}"), sys.argv[2]
    drawn: dict[str, dict[str, Any]] = {}
    while len(drawn) < int(sys.argv[3]):
        one = layout(rng, family)
        if one not in drawn.values():
            drawn[f"{family}{sys.argv[1]}-{len(drawn)}"] = one
    pairs = []
    for name in drawn:
        others = [one for one in drawn if one != name]
        # the nearest is where both answers are likely
        near = max(others, key=lambda one: alike(drawn[one]["args"], drawn[name]["args"]))
        for source in [near, *rng.sample([one for one in others if one != near], SOURCES - 1)]:
            types = ["dp_reshardable", "fully_reshardable"]
            plain = not drawn[source].get("distributed_optimizer", True)
            pairs.append({"from": source, "to": name, "types": ["none"] if plain else types})
    print(json.dumps({"layouts": drawn, "pairs": pairs}, indent=2))


if __name__ == "__main__":
    main()
