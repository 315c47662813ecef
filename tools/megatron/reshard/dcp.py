"""Saves with torch's FSDP2 and distributed checkpoint on one mesh, and loads on others: python3 dcp.py OUT

The parts are those that torchtitan saves with. Every rank is a process of this machine; a line a pair says whether all
weights and moments, gathered whole, and the loss of the next step are equal.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

os.environ.update({"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"})

import torch
from torch import distributed as dist
from torch import nn
from torch.distributed import checkpoint
from torch.distributed.checkpoint import state_dict as states
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Mesh(NamedTuple):
    """Replicas of shards of tensor-parallel ranks."""

    replicas: int
    shards: int
    tp: int

    @property
    def world(self) -> int:
        return self.replicas * self.shards * self.tp


SAVED = [Mesh(1, 4, 1), Mesh(1, 2, 2), Mesh(2, 2, 1)]
LOADED = [Mesh(1, 2, 1), Mesh(1, 3, 1), Mesh(1, 2, 2), Mesh(2, 2, 1), Mesh(1, 1, 1)]


class Block(nn.Module):
    """Of widths that shards do not divide."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(10, 12), nn.Linear(12, 10)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        return given + self.down(torch.relu(self.up(given)))


class Job:
    """A model and its optimizer on a mesh."""

    def __init__(self, mesh: Mesh) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(*[Block() for _ in range(3)])
        devices = init_device_mesh("cpu", tuple(mesh), mesh_dim_names=("replicas", "shards", "tp"))
        data = devices["replicas", "shards"] if mesh.replicas > 1 else devices["shards"]
        for block in self.model:
            if mesh.tp > 1:
                parallelize_module(block, devices["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
            fully_shard(block, mesh=data)
        fully_shard(self.model, mesh=data)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    def step(self, seed: int) -> float:
        loss = self.model(torch.randn(8, 10, generator=torch.Generator().manual_seed(seed))).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return float(loss)

    def state(self, *, whole: bool = False) -> dict[str, Any]:
        options = states.StateDictOptions(full_state_dict=whole, flatten_optimizer_state_dict=True)
        return {
            "model": states.get_model_state_dict(self.model, options=options),
            "optimizer": states.get_optimizer_state_dict(self.model, self.optimizer, options=options),
        }

    def load(self, folder: str) -> None:
        state = self.state()
        checkpoint.load(state, checkpoint_id=folder)
        options = states.StateDictOptions(flatten_optimizer_state_dict=True)
        states.set_model_state_dict(self.model, state["model"], options=options)
        states.set_optimizer_state_dict(self.model, self.optimizer, state["optimizer"], options=options)

    def prints(self) -> dict[str, float]:
        """A number of each whole tensor, and the loss of the next step."""
        tensors = {name: one for part in self.state(whole=True).values() for name, one in part.items()}
        weighed = {
            name: float((one.double().flatten() * torch.arange(one.numel()).cos()).sum())
            for name, one in tensors.items()
            if isinstance(one, torch.Tensor)
        }
        return {**weighed, "loss": self.step(9)}


def rank_of(rank: int, mesh: Mesh, source: Mesh | None, out: Path) -> None:
    """Saves, or loads what a source has saved, as one rank."""
    name = "-".join(map(str, source or mesh))
    meeting = out / f"meeting-{name}-{'-'.join(map(str, mesh))}-{source is None}"
    dist.init_process_group("gloo", init_method=f"file://{meeting.resolve()}", rank=rank, world_size=mesh.world)
    job, folder = Job(mesh), str(out / name)
    job.step(77)
    if source is None:
        checkpoint.save(job.state(), checkpoint_id=folder)
        prints = job.prints()
        if rank == 0:
            Path(f"{folder}.json").write_text(json.dumps(prints))
    else:
        job.step(78)
        job.load(folder)
        prints, truth = job.prints(), json.loads(Path(f"{folder}.json").read_text())
        equal = prints.keys() == truth.keys() and all(abs(prints[one] - truth[one]) < 1e-5 for one in truth)
        if rank == 0:
            print(json.dumps({"from": source._asdict(), "to": mesh._asdict(), "equal": equal, "tensors": len(truth)}))
    dist.barrier()


def start(mesh: Mesh, source: Mesh | None, out: Path) -> None:
    """Forks the ranks, which share the imports, and waits for them."""
    ranks = []
    for rank in range(mesh.world):
        child = os.fork()
        if child == 0:
            rank_of(rank, mesh, source, out)
            sys.stdout.flush()
            os._exit(0)
        ranks.append(child)
    for child in ranks:
        os.waitpid(child, 0)


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True)
    for mesh in SAVED:
        start(mesh, None, out)
    for source in SAVED:
        for mesh in LOADED:
            start(mesh, source, out)


if __name__ == "__main__":
    main()
