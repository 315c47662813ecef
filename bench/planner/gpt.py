"""Measures training steps of Megatron-LM's own GPT: memory and time of several layouts, on the GPUs of one machine.

    MEGATRON=FOLDER torchrun --standalone --nproc-per-node 1 bench/planner/gpt.py OUT.jsonl [MODEL...]

FOLDER holds Megatron-LM's `megatron/core` (main d98e8a64), with the assertion against sequence parallelism taken out of
`transformer/torch_norm.py`. Model, DDP, distributed optimizer and pipeline schedules are Megatron-LM's. Neither Apex nor Transformer
Engine is needed: layers are those of its local specification, Adam is torch's fused one, and where a layout says `flash` the attention
core is torch's. Each layout appends one row of the form of bench/planner/data, each rank's memory among it. `BUDGET_S` ends the run before the next layout;
`PART=0/2` measures every second layout, so that two processes share the work on two GPUs. Experts leave memory behind: measure each
model with experts in a process of its own.
"""

import gc
import itertools
import json
import os
import statistics
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn.functional as F

sys.path.insert(0, os.environ["MEGATRON"])
torch.optim.AdamW.__init__.__kwdefaults__["fused"] = torch.cuda.is_available()

from megatron.core import parallel_state  # noqa: E402
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig  # noqa: E402
from megatron.core.distributed.finalize_model_grads import finalize_model_grads  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.models.gpt.gpt_model import GPTModel  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func  # noqa: E402
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed  # noqa: E402
from megatron.core.transformer.dot_product_attention import DotProductAttention  # noqa: E402
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402

WARM_UP, STEPS = (1, 1) if os.environ.get("TINY") else (3, 5)
BUDGET_S = float(os.environ.get("BUDGET_S", "1e9"))
PART, PARTS = (int(number) for number in os.environ.get("PART", "0/1").split("/"))


class FlashAttention(DotProductAttention):
    """The attention core without scores in memory: torch's fused kernel, keys and values shared by the heads of a group."""

    def forward(self, query, key, value, *_args, **_kwargs):
        length, batch = query.shape[:2]
        q, k, v = (x.permute(1, 2, 0, 3) for x in (query, key, value))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=k.shape[1] < q.shape[1])
        return out.permute(2, 0, 1, 3).reshape(length, batch, -1)


MODELS = {
    "gpt-1.3b": {"layers": 24, "hidden": 2048, "heads": 16, "groups": 16, "ffn": 8192, "length": 2048, "vocabulary": 51200, "gated": False},
    "llama-8b-10": {"layers": 10, "hidden": 4096, "heads": 32, "groups": 8, "ffn": 14336, "length": 4096, "vocabulary": 32000, "gated": True},
    "llama-70b-4": {"layers": 4, "hidden": 8192, "heads": 64, "groups": 8, "ffn": 28672, "length": 4096, "vocabulary": 32000, "gated": True},
    "mixtral-4": {"layers": 4, "hidden": 4096, "heads": 32, "groups": 8, "ffn": 7168, "length": 4096, "vocabulary": 32000, "gated": True, "experts": 8, "topk": 2},
    "fine-moe-8": {"layers": 8, "hidden": 2048, "heads": 32, "groups": 4, "ffn": 1024, "length": 4096, "vocabulary": 32000, "gated": True, "experts": 32, "topk": 4},
    "tiny": {"layers": 4, "hidden": 64, "heads": 4, "groups": 2, "ffn": 128, "length": 64, "vocabulary": 512, "gated": True},
    "tiny-moe": {"layers": 4, "hidden": 64, "heads": 4, "groups": 2, "ffn": 128, "length": 64, "vocabulary": 512, "gated": True, "experts": 4, "topk": 2},
}

DEFAULTS = {"tp": 1, "pp": 1, "vpp": None, "ep": 1, "micro": 1, "global": 8, "recompute": "none", "flash": True, "sequence": False, "sharded": False, "overlap": False}


def layouts(world):
    """What is measured on one and on two GPUs; each a model and what differs from the defaults."""
    if os.environ.get("TINY"):
        parts = [{"model": "tiny"}, {"model": "tiny", "recompute": "full"}]
        two = [{"model": "tiny", "tp": 2, "sequence": True}, {"model": "tiny", "pp": 2}, {"model": "tiny", "pp": 2, "vpp": 2}, {"model": "tiny", "sharded": True, "overlap": True}]
        return parts + (two if world == 2 else [])
    if world == 1:
        return [
            *[{"model": "llama-8b-10", "micro": micro, "recompute": again} for micro, again in itertools.product((1, 2, 4), ("none", "mlp", "full"))],
            *[{"model": "gpt-1.3b", "micro": micro, "recompute": again} for micro, again in ((1, "none"), (4, "none"), (8, "full"))],
            *[{"model": "gpt-1.3b", "flash": False, "micro": micro, "recompute": again} for micro, again in ((1, "none"), (2, "core_attn"), (4, "full"))],
            *[{"model": "mixtral-4", "micro": micro, "recompute": again} for micro, again in ((1, "none"), (2, "full"), (2, "none"))],
            *[{"model": "fine-moe-8", "micro": micro, "recompute": again} for micro, again in ((1, "none"), (2, "full"), (2, "none"))],
            *[{"model": "llama-70b-4", "micro": micro, "recompute": again} for micro, again in ((1, "none"), (2, "mlp"), (2, "full"))],
        ]
    return [
        {"model": "llama-8b-10", "sharded": True},
        {"model": "llama-8b-10", "tp": 2, "sequence": True},
        {"model": "llama-8b-10", "pp": 2},
        {"model": "llama-8b-10", "sharded": True, "overlap": True},
        {"model": "fine-moe-8", "ep": 2, "sharded": True},
        {"model": "llama-8b-10", "pp": 2, "vpp": 5},
        {"model": "llama-8b-10", "tp": 2},
        {"model": "mixtral-4", "ep": 2, "sharded": True},
        {"model": "gpt-1.3b", "sharded": True, "micro": 4},
        {"model": "gpt-1.3b", "tp": 2, "sequence": True, "micro": 4},
        {"model": "gpt-1.3b", "pp": 2, "micro": 4, "global": 32},
        {"model": "llama-8b-10", "tp": 2, "sequence": True, "micro": 4, "recompute": "full"},
        {"model": "llama-8b-10", "pp": 2, "micro": 2, "recompute": "full"},
        {"model": "llama-8b-10", "global": 8},
        {"model": "llama-70b-4", "tp": 2, "sequence": True, "micro": 2},
        {"model": "fine-moe-8", "ep": 2, "sharded": True, "micro": 2, "recompute": "full"},
        {"model": "mixtral-4", "pp": 2, "micro": 1},
    ]


def configured(model, layout):
    """Megatron-LM's configuration of a layout."""
    again = layout["recompute"]
    experts = model.get("experts")
    more = {}
    if again == "full":
        more = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
    elif again != "none":
        more = {"recompute_granularity": "selective", "recompute_modules": ["moe" if again == "mlp" and experts else again]}
    if experts:
        more |= {
            "num_moe_experts": experts,
            "moe_router_topk": model["topk"],
            "moe_ffn_hidden_size": model["ffn"],
            "moe_token_dispatcher_type": "alltoall",
            "moe_router_load_balancing_type": "aux_loss",
            "moe_aux_loss_coeff": 1e-2,
        }
    return TransformerConfig(
        num_layers=model["layers"],
        hidden_size=model["hidden"],
        ffn_hidden_size=model["ffn"],
        num_attention_heads=model["heads"],
        num_query_groups=model["groups"],
        normalization="RMSNorm" if model["gated"] else "LayerNorm",
        gated_linear_unit=model["gated"],
        activation_func=F.silu if model["gated"] else F.gelu,
        add_bias_linear=not model["gated"],
        bias_activation_fusion=torch.cuda.is_available(),
        bias_dropout_fusion=torch.cuda.is_available(),
        tensor_model_parallel_size=layout["tp"],
        pipeline_model_parallel_size=layout["pp"],
        virtual_pipeline_model_parallel_size=layout["vpp"],
        expert_model_parallel_size=layout["ep"],
        expert_tensor_parallel_size=1 if experts else None,
        sequence_parallel=layout["sequence"],
        pipeline_dtype=torch.bfloat16,
        bf16=True,
        params_dtype=torch.bfloat16,
        attention_softmax_in_fp32=False,
        attention_dropout=0.0,
        hidden_dropout=0.0,
        masked_softmax_fusion=False,
        gradient_accumulation_fusion=False,
        apply_rope_fusion=False,
        use_cpu_initialization=not torch.cuda.is_available(),
        **more,
    )


def built(config, model, layout):
    """The chunks of this rank, wrapped for data parallelism."""
    spec = get_gpt_layer_local_spec(num_experts=model.get("experts"), moe_grouped_gemm=False)
    if layout["flash"]:
        spec.submodules.self_attention.submodules.core_attention = FlashAttention
    ddp = DistributedDataParallelConfig(
        grad_reduce_in_fp32=True,
        overlap_grad_reduce=layout["overlap"],
        overlap_param_gather=layout["overlap"] and layout["sharded"],
        use_distributed_optimizer=layout["sharded"],
    )
    chunks = []
    for chunk in range(layout["vpp"] or 1):
        virtual = {} if layout["vpp"] is None else {"ignore_virtual": False, "vp_stage": chunk}
        kwargs = {} if layout["vpp"] is None else {"vp_stage": chunk}
        module = GPTModel(
            config=config,
            transformer_layer_spec=spec,
            vocab_size=model["vocabulary"],
            max_sequence_length=model["length"],
            pre_process=parallel_state.is_pipeline_first_stage(**virtual),
            post_process=parallel_state.is_pipeline_last_stage(**virtual),
            parallel_output=True,
            share_embeddings_and_output_weights=not model["gated"],
            position_embedding_type="rope" if model["gated"] else "learned_absolute",
            **kwargs,
        )
        device = "cuda" if torch.cuda.is_available() else "cpu"
        module = module.to(device).bfloat16()
        chunks.append(DistributedDataParallel(config=config, ddp_config=ddp, module=module, disable_bucketing=chunk > 0))
    return chunks


def measure(layout):
    """The row of one layout: the median step of this job, the memory of each rank."""
    model = MODELS[layout["model"]]
    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=layout["tp"],
        pipeline_model_parallel_size=layout["pp"],
        virtual_pipeline_model_parallel_size=layout["vpp"],
        expert_model_parallel_size=layout["ep"],
        expert_tensor_parallel_size=1 if model.get("experts") else None,
        create_gloo_process_groups=False,
    )
    model_parallel_cuda_manual_seed(123)
    before = torch.cuda.memory_allocated()
    config = configured(model, layout)
    chunks = built(config, model, layout)
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16, use_distributed_optimizer=layout["sharded"], overlap_param_gather=layout["overlap"], clip_grad=1.0),
        chunks,
        use_gloo_process_groups=False,
    )
    config.finalize_model_grads_func = finalize_model_grads
    config.grad_scale_func = optimizer.scale_loss
    if layout["overlap"]:
        config.no_sync_func = chunks[0].no_sync if len(chunks) == 1 else [chunk.no_sync for chunk in chunks]
    run = get_forward_backward_func()
    dp = parallel_state.get_data_parallel_world_size()
    times = []
    for number in range(WARM_UP + STEPS):
        if number == WARM_UP:
            torch.cuda.reset_peak_memory_stats()
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for chunk in chunks:
            chunk.zero_grad_buffer()
        optimizer.zero_grad()
        run(
            forward_step_func=forward_of(model, layout),
            data_iterator=[iter([])] * len(chunks) if len(chunks) > 1 else iter([]),
            model=chunks if len(chunks) > 1 else chunks[0],
            num_microbatches=layout["global"] // (layout["micro"] * dp),
            seq_length=model["length"],
            micro_batch_size=layout["micro"],
            decoder_seq_length=model["length"],
            forward_only=False,
        )
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    memory = {"before": before, "allocated": torch.cuda.memory_allocated(), "peak": torch.cuda.max_memory_allocated()}
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, memory)
    return row(layout, model, dp, statistics.median(times[WARM_UP:]), everyone)


def forward_of(model, layout):
    """One forward pass of random tokens, as the schedules ask for it."""
    length, micro = model["length"], layout["micro"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokens = torch.randint(0, model["vocabulary"] - 1, (micro, length), device=device)
    positions = torch.arange(length, device=device).expand(micro, -1)
    mask = None if layout["flash"] else torch.ones(1, 1, length, length, dtype=torch.bool, device=device).triu(1)

    def loss_of(output):
        loss = output.float().mean()
        return loss, {"lm loss": loss.detach()}

    return lambda _data, chunk: (chunk(tokens, positions, mask, labels=tokens), loss_of)


def row(layout, model, dp, seconds, memory):
    """One line of bench/planner/data."""
    tp, pp, vpp, ep, experts = layout["tp"], layout["pp"], layout["vpp"], layout["ep"], model.get("experts")
    again = layout["recompute"]
    flags = [key for key in ("flash", "sequence", "sharded", "overlap") if layout[key]]
    last = memory[-1]
    return {
        "id": f"megatron-h200/{layout['model']}/tp{tp}-pp{pp}-vpp{vpp or 1}-ep{ep}-dp{dp}-mbs{layout['micro']}-{again}-{'-'.join(flags)}",
        "group": f"megatron-h200/{layout['model']}/g{dist.get_world_size()}-b{layout['global']}",
        "source": {"repo": "NVIDIA/Megatron-LM", "commit": "d98e8a64ddf3", "path": "megatron/core, run by bench/planner/gpt.py", "row": f"median of {STEPS} steps"},
        "hardware": {"gpu": "H200", "gpu_memory_bytes": torch.cuda.get_device_properties(0).total_memory, "gpus_per_node": 8, "nodes": 1, "gpus": dist.get_world_size(), "interconnect": "NVLink"},
        "framework": f"Megatron-LM core, torch {torch.__version__}",
        "model": {
            "name": layout["model"],
            "num_layers": model["layers"],
            "hidden_size": model["hidden"],
            "ffn_hidden_size": model["ffn"],
            "num_attention_heads": model["heads"],
            "num_query_groups": model["groups"],
            "kv_channels": model["hidden"] // model["heads"],
            "vocab_size": model["vocabulary"],
            "seq_length": model["length"],
            "num_experts": experts,
            **({"moe_topk": model["topk"], "moe_ffn_hidden_size": model["ffn"]} if experts else {}),
            "swiglu": model["gated"],
            "untied": model["gated"],
        },
        "layout": {
            "tp": tp, "cp": 1, "pp": pp, "vpp": vpp, "ep": ep, "expt_tp": 1 if experts else None, "dp": dp, "zero": None,
            "distributed_optimizer": layout["sharded"], "sequence_parallel": layout["sequence"],
            "recompute": again if again in ("none", "full") else "selective", "fsdp": False,
        },
        "batch": {"micro": layout["micro"], "global": layout["global"]},
        "precision": "bf16",
        "measured": {
            "step_time_s": round(seconds, 5),
            "tokens_per_s": round(layout["global"] * model["length"] / seconds, 1),
            "memory_bytes_allocated": last["allocated"],
            "memory_bytes_peak": last["peak"],
            "memory_bytes_of_ranks": memory,
            "status": "ok",
            "measured_rank": "last (world-1), so the last pipeline stage",
        },
        "args": {
            "hidden-dropout": 0.0,
            "max-position-embeddings": model["length"],
            "attention-backend": "flash" if layout["flash"] else "unfused",
            "overlap-grad-reduce": layout["overlap"],
            "overlap-param-gather": layout["overlap"] and layout["sharded"],
            **({"moe-grouped-gemm": False} if experts else {}),
            **({"recompute-modules": "moe" if again == "mlp" and experts else again} if again not in ("none", "full") else {}),
        },
    }


def main():
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", timeout=timedelta(seconds=60))
    first = time.time()
    wanted = [own for own in layouts(dist.get_world_size()) if own["model"] in (sys.argv[2:] or MODELS)]
    for own in wanted[PART::PARTS]:
        late = [time.time() - first > BUDGET_S]
        dist.broadcast_object_list(late, 0)
        if late[0]:
            break
        found, why = None, None
        try:
            found = measure(DEFAULTS | own)
        except Exception as error:  # the other layouts are measured all the same
            why = repr(error)[:300]
        parallel_state.destroy_model_parallel()
        gc.collect()
        torch.cuda.empty_cache()
        if dist.get_rank() == dist.get_world_size() - 1:
            print(own, round(time.time() - first), found["measured"] if found else why, flush=True)
            if found:
                with open(sys.argv[1], "a", encoding="utf-8") as out:
                    out.write(json.dumps(found) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
