"""Measures what matrix products reach by their sizes, and, on several GPUs, collectives by kind and size.

    torchrun --standalone --nproc-per-node 1 bench/planner/machine.py OUT.jsonl

Each row is one shape or one payload: the median of several timed groups of calls. `bytes` of a collective is what the group's smoke
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
    parts = [collectives()] if dist.get_world_size() > 1 else [products(), attentions(), moves()]
    rows = [row for part in parts for row in part]
    if first:
        with open(sys.argv[1], "a", encoding="utf-8") as out:
            for row in rows:
                found = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, **row}
                out.write(json.dumps({key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in found.items()}) + "\n")
        print(len(rows), "rows", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
