"""A tensor-, data- or pipeline-parallel loop on GPUs, of which torch.profiler keeps three steps; one rank may be slowed."""

import argparse
import os
import subprocess
import sys
import time
from typing import List, Optional

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule

WIDTH = 4096
LAYERS = 4
MICROBATCHES = 4
#: How much wider the matrices of a slowed rank are, and how long it sleeps in each micro-batch, in seconds.
WIDER = 1.25
SLEEP = 0.004
#: A second process that keeps a GPU busy.
BURNER = """
import sys, torch
torch.cuda.set_device(int(sys.argv[1]))
matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
while True:
    for _ in range(20):
        matrix @ matrix
    torch.cuda.synchronize()
"""

DEGREES = {
    "tp": "TENSOR_MODEL_PARALLEL_GROUP",
    "pp": "PIPELINE_MODEL_PARALLEL_GROUP",
    "dp": "DATA_PARALLEL_GROUP_WITH_CP",
}


class Loop:
    """One rank of the loop."""

    def __init__(self, mode: str, fault: str, slow: bool) -> None:
        self.mode = mode
        self.fault = fault if slow else "none"
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.groups = {name: self.group(name == mode, desc) for name, desc in DEGREES.items()}
        width = int(WIDTH * WIDER) if self.fault == "matrices" else WIDTH
        make = {"device": "cuda", "dtype": torch.bfloat16}
        self.up = [torch.randn(WIDTH, width, **make) * 0.01 for _ in range(LAYERS)]
        self.down = [torch.randn(width, WIDTH, **make) * 0.01 for _ in range(LAYERS)]
        self.gradients = torch.zeros(WIDTH * WIDTH * LAYERS, **make)

    def group(self, together: bool, desc: str) -> Optional[dist.ProcessGroup]:
        """The group of this rank: of all ranks, or of itself alone."""
        everybody = list(range(self.world))
        lists: List[List[int]] = [everybody] if together else [[rank] for rank in everybody]
        made = {tuple(ranks): dist.new_group(ranks, group_desc=desc) for ranks in lists}
        return next(group for ranks, group in made.items() if self.rank in ranks)

    def layers(self, x: torch.Tensor) -> torch.Tensor:
        """The layers of this rank."""
        for up, down in zip(self.up, self.down):
            x = torch.nn.functional.gelu(x @ up) @ down
            if self.mode == "tp":
                dist.all_reduce(x, group=self.groups["tp"])
        if self.fault == "sleep":
            torch.cuda.synchronize()
            time.sleep(SLEEP)
        return x

    def step(self) -> None:
        """One step: some micro-batches, and the gradients."""
        for _ in range(MICROBATCHES):
            x = torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
            if self.mode == "pp":
                self.pipelined(x)
            else:
                self.layers(x)
        if self.mode == "dp":
            size = self.gradients.numel() // self.world
            shard = torch.empty(size, device="cuda", dtype=self.gradients.dtype)
            dist.reduce_scatter_tensor(shard, self.gradients, group=self.groups["dp"])
            dist.all_gather_into_tensor(self.gradients, shard, group=self.groups["dp"])

    def pipelined(self, x: torch.Tensor) -> None:
        """One micro-batch through the pipeline and back."""
        group, first, last = self.groups["pp"], self.rank == 0, self.rank == self.world - 1
        if not first:
            dist.recv(x, self.rank - 1, group=group)
        x = self.layers(x)
        if not last:
            dist.send(x, self.rank + 1, group=group)
        gradient = torch.empty_like(x)
        if not last:
            dist.recv(gradient, self.rank + 1, group=group)
        gradient = self.layers(gradient)
        if not first:
            dist.send(gradient, self.rank - 1, group=group)


def main() -> None:
    """Runs the loop and keeps its profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", help="the folder of the traces")
    parser.add_argument("--mode", choices=sorted(DEGREES), required=True)
    parser.add_argument("--fault", choices=["none", "matrices", "sleep", "busy"], default="none")
    parser.add_argument("--slow-rank", type=int, default=1)
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    slow = rank == args.slow_rank
    loop = Loop(args.mode, args.fault, slow)
    burner = subprocess.Popen([sys.executable, "-c", BURNER, str(rank)]) if slow and args.fault == "busy" else None
    if burner:
        time.sleep(6)
    os.makedirs(args.out, exist_ok=True)
    try:
        with profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
            schedule=schedule(wait=2, warmup=2, active=3, repeat=1),
            on_trace_ready=lambda done: done.export_chrome_trace(f"{args.out}/rank{rank}.json.gz"),
        ) as profiler:
            for _ in range(8):
                loop.step()
                profiler.step()
        torch.cuda.synchronize()
        dist.barrier()
    finally:
        if burner:
            burner.kill()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
