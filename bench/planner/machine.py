"""Measures what matrix products reach by their sizes, and, on several GPUs, collectives by kind and size.

    [MEGATRON=FOLDER] torchrun --standalone --nproc-per-node 1 bench/planner/machine.py OUT.jsonl [PART...]

Parts: products, attentions, moves, experts, blocks (of Megatron-LM, whose `megatron/core` FOLDER holds), collectives. Each row is one shape or one payload: the median of several timed groups of calls. `bytes` of a collective is what the group's smoke
job calls its payload, and `bus_bytes_per_s` the bandwidth as nccl-tests count it.
"""

import itertools
import json
import os
import statistics
import sys

import torch
import torch.distributed as dist

MEBI = 2**20


def seconds(call, times):
    """Median seconds of one call, of five groups of `times` calls."""
    for _ in range(3):
        call()
    found = []
    for _ in range(5):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(times):
            call()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end) / 1e3 / times)
    return statistics.median(found)


def products():
    """Matrix products in bf16 of random numbers: tokens x inner by inner x width."""
    for tokens, inner, width in itertools.product((128, 512, 2048, 8192), (512, 1024, 2048, 4096, 8192), (512, 1024, 2048, 4096, 8192, 16384)):
        a = torch.randn(tokens, inner, dtype=torch.bfloat16, device="cuda")
        b = torch.randn(inner, width, dtype=torch.bfloat16, device="cuda")
        flops = 2 * tokens * inner * width
        took = seconds(lambda a=a, b=b: torch.mm(a, b), max(3, min(50, int(2e13 / flops))))
        yield {"what": "product", "tokens": tokens, "inner": inner, "width": width, "seconds": took, "flops_per_s": flops / took}


def attentions():
    """Causal attention, forward and both passes, by length."""
    for length, batch in ((2048, 4), (4096, 2), (8192, 1), (16384, 1)):
        q, k, v = (torch.randn(batch, 32, length, 128, dtype=torch.bfloat16, device="cuda", requires_grad=True) for _ in range(3))
        flops = 2 * batch * 32 * length * length * 128

        def forward(q=q, k=k, v=v):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

        out = forward()
        grad = torch.randn_like(out)
        both = seconds(lambda forward=forward, grad=grad: forward().backward(grad), 5)
        with torch.no_grad():
            one = seconds(forward, 10)
        yield {"what": "attention", "length": length, "batch": batch, "heads": 32, "head": 128, "forward_s": one, "both_s": both, "forward_flops_per_s": flops / one}


def moves():
    """A copy on the GPU, bytes read and written."""
    for size in (16, 256, 2048):
        a = torch.empty(size * MEBI, dtype=torch.uint8, device="cuda")
        b = torch.empty_like(a)
        took = seconds(lambda a=a, b=b: b.copy_(a), 10)
        yield {"what": "copy", "bytes": size * MEBI, "seconds": took, "bytes_per_s": 2 * size * MEBI / took}


def experts():
    """What the experts of a rank take by their tokens: as one grouped product and one by one, in 8 bits, and what moves tokens to them."""
    for count, tokens, (inner, width) in itertools.product((8, 32), (64, 256, 1024, 4096), ((2048, 1536), (768, 2048), (4096, 14336), (7168, 4096), (2880, 5760))):
        if count * (tokens * (inner + width) + inner * width) > 1.2e10:
            continue
        a = torch.randn(count * tokens, inner, dtype=torch.bfloat16, device="cuda")
        b = torch.randn(count, inner, width, dtype=torch.bfloat16, device="cuda")
        ends = torch.arange(1, count + 1, dtype=torch.int32, device="cuda") * tokens
        flops = 2 * count * tokens * inner * width
        times = max(3, min(30, int(2e13 / flops)))
        calls = {
            "grouped": lambda a=a, b=b, ends=ends: torch._grouped_mm(a, b, offs=ends),
            "one by one": lambda a=a, b=b, count=count: [torch.mm(rows, weight) for rows, weight in zip(a.chunk(count), b)],
        }
        for how, call in calls.items():
            took = seconds(call, times)
            yield {"what": f"experts, {how}", "experts": count, "tokens": tokens, "inner": inner, "width": width, "seconds": took, "flops_per_s": flops / took}
    for tokens, inner, width in itertools.product((512, 2048, 8192), (2048, 4096, 8192), (1536, 4096, 8192)):
        a = torch.randn(tokens, inner, device="cuda").to(torch.float8_e4m3fn)
        b = torch.randn(width, inner, device="cuda").to(torch.float8_e4m3fn).t()
        one = torch.ones((), device="cuda")
        flops = 2 * tokens * inner * width
        took = seconds(lambda a=a, b=b, one=one: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16), 20)
        yield {"what": "product in 8 bits", "tokens": tokens, "inner": inner, "width": width, "seconds": took, "flops_per_s": flops / took}
    for tokens, hidden, choices in itertools.product((4096, 16384), (2048, 7168), (8,)):
        a = torch.randn(tokens, hidden, dtype=torch.bfloat16, device="cuda")
        order = torch.randperm(tokens * choices, device="cuda") % tokens
        permuted = a.index_select(0, order)
        places = order.unsqueeze(1).expand(-1, hidden)
        moved = 2 * hidden * tokens * choices
        for what, call in {
            "permute": lambda a=a, order=order: a.index_select(0, order),
            "unpermute": lambda a=a, places=places, permuted=permuted: torch.zeros_like(a).scatter_add_(0, places, permuted),
        }.items():
            took = seconds(call, 10)
            yield {"what": what, "tokens": tokens, "hidden": hidden, "choices": choices, "seconds": took, "routed_bytes_per_s": moved / took}


def blocks():
    """Seconds that the halves of a transformer layer take when there is next to nothing to compute: those of starting their kernels."""
    sys.path.insert(0, os.environ["MEGATRON"])
    from torch.profiler import ProfilerActivity, profile

    from megatron.core import parallel_state
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
    from megatron.core.transformer.transformer_config import TransformerConfig
    from megatron.core.transformer.transformer_layer import TransformerLayer

    parallel_state.initialize_model_parallel(create_gloo_process_groups=False)
    model_parallel_cuda_manual_seed(1)
    for count in (None, 1, 2, 4, 8, 16, 32):
        more = {} if count is None else {"num_moe_experts": count, "moe_router_topk": 1, "moe_router_pre_softmax": True, "moe_ffn_hidden_size": 256, "moe_token_dispatcher_type": "alltoall", "moe_aux_loss_coeff": 1e-2}
        config = TransformerConfig(
            num_layers=1, hidden_size=256, ffn_hidden_size=256, num_attention_heads=4, normalization="RMSNorm", gated_linear_unit=True,
            activation_func=torch.nn.functional.silu, add_bias_linear=False, bf16=True, params_dtype=torch.bfloat16, attention_softmax_in_fp32=False,
            masked_softmax_fusion=False, gradient_accumulation_fusion=False, apply_rope_fusion=False, attention_dropout=0.0, hidden_dropout=0.0, **more,
        )
        layer = TransformerLayer(config, get_gpt_layer_local_spec(num_experts=count, moe_grouped_gemm=False).submodules).cuda().bfloat16()
        x = torch.randn(64, 1, 256, dtype=torch.bfloat16, device="cuda", requires_grad=True)
        mask = torch.ones(1, 1, 64, 64, dtype=torch.bool, device="cuda").triu(1)
        halves = {"attention": lambda: layer._forward_attention(x, mask)[0], "mlp" if count is None else "moe": lambda: layer._forward_mlp(x)}
        for name, forward in halves.items():
            out = forward()
            out = out[0] if isinstance(out, tuple) else out
            grad = torch.randn_like(out)

            def both(forward=forward, grad=grad):
                out = forward()
                (out[0] if isinstance(out, tuple) else out).backward(grad)

            with torch.no_grad():
                one = seconds(forward, 50)
            all_passes = seconds(both, 50)
            with profile(activities=[ProfilerActivity.CUDA]) as trace:
                both()
                torch.cuda.synchronize()
            kernels = sum(event.device_type == torch.autograd.DeviceType.CUDA for event in trace.events())
            yield {"what": "block", "block": name, "experts": count, "forward_s": one, "both_s": all_passes, "kernels": kernels}


def collectives():
    """Collectives of the whole world by kind and payload."""
    world, rank = dist.get_world_size(), dist.get_rank()
    for exponent in range(12, 31, 2):
        size = 2**exponent
        a = torch.ones(size // 2, dtype=torch.bfloat16, device="cuda")
        b = torch.empty_like(a)
        part = a[: a.numel() // world]
        other = (rank + 1) % world

        def send_recv(a=a, b=b, other=other):
            jobs = [dist.P2POp(dist.isend, a, other), dist.P2POp(dist.irecv, b, other)]
            for job in dist.batch_isend_irecv(jobs):
                job.wait()

        calls = {
            "all_reduce": (lambda a=a: dist.all_reduce(a), 2 * (world - 1) / world),
            "all_gather": (lambda b=b, part=part: dist.all_gather_into_tensor(b, part), (world - 1) / world),
            "reduce_scatter": (lambda a=a, part=b[: b.numel() // world]: dist.reduce_scatter_tensor(part, a), (world - 1) / world),
            "all_to_all": (lambda a=a, b=b: dist.all_to_all_single(b, a), (world - 1) / world),
            "send_recv": (send_recv, 1),
        }
        for kind, (call, share) in calls.items():
            dist.barrier()
            took = seconds(call, 20 if size < 64 * MEBI else 5)
            yield {"what": kind, "ranks": world, "bytes": size, "seconds": took, "bus_bytes_per_s": share * size / took}


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    first = dist.get_rank() == 0
    usual = ["collectives"] if dist.get_world_size() > 1 else ["products", "attentions", "moves", "experts"]
    parts = {"products": products, "attentions": attentions, "moves": moves, "experts": experts, "blocks": blocks, "collectives": collectives}
    rows = [row for part in sys.argv[2:] or usual for row in parts[part]()]
    if first:
        with open(sys.argv[1], "a", encoding="utf-8") as out:
            for row in rows:
                found = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, **row}
                out.write(json.dumps({key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in found.items()}) + "\n")
        print(len(rows), "rows", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
