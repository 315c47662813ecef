"""Measures a training step of a GPT shaped as Megatron-LM's: memory and time of a few layouts, on the GPUs of one machine.

    torchrun --standalone --nproc-per-node 2 bench/planner/step.py OUT.jsonl

Parameters are bf16 views of one buffer, gradients accumulate in fp32, Adam holds an fp32 copy and two moments, whole or
sharded over data parallelism. Tensor parallelism, a 1F1B pipeline of two stages and full recomputation are written with plain
torch. Each layout appends one row of the form of bench/planner/data.
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

VOCABULARY = 51200
WARM_UP, STEPS = 3, 6


class Copy(torch.autograd.Function):
    """Enters a tensor-parallel region: gradients are summed over its ranks."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Reduce(torch.autograd.Function):
    """Leaves a tensor-parallel region: outputs are summed over its ranks."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.mark_dirty(x)
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class VocabularyLoss(torch.autograd.Function):
    """Cross entropy of logits that are sharded over the vocabulary; keeps the softmax, in place of the logits."""

    @staticmethod
    def forward(ctx, logits, target, first, group):
        logits = logits.float()
        top = logits.max(-1).values
        dist.all_reduce(top, op=dist.ReduceOp.MAX, group=group)
        logits -= top.unsqueeze(-1)
        local = target - first
        mine = (local >= 0) & (local < logits.shape[-1])
        local = local.clamp(0, logits.shape[-1] - 1)
        wanted = logits.gather(-1, local.unsqueeze(-1)).squeeze(-1) * mine
        dist.all_reduce(wanted, group=group)
        torch.exp(logits, out=logits)
        total = logits.sum(-1)
        dist.all_reduce(total, group=group)
        loss = (total.log() - wanted).mean()
        logits /= total.unsqueeze(-1)
        ctx.save_for_backward(logits, local, mine)
        return loss

    @staticmethod
    def backward(ctx, grad):
        softmax, local, mine = ctx.saved_tensors
        softmax.scatter_add_(-1, local.unsqueeze(-1), -mine.unsqueeze(-1).float())
        return (softmax * (grad / local.numel())).bfloat16(), None, None, None


class Layer(torch.nn.Module):
    """One transformer layer, its matrices sharded over a tensor-parallel group."""

    def __init__(self, hidden, heads, tp, group):
        super().__init__()
        self.heads, self.group, self.tp = heads // tp, group, tp
        self.norm1, self.norm2 = torch.nn.LayerNorm(hidden), torch.nn.LayerNorm(hidden)
        self.qkv = torch.nn.Linear(hidden, 3 * hidden // tp)
        self.proj = torch.nn.Linear(hidden // tp, hidden, bias=False)
        self.up = torch.nn.Linear(hidden, 4 * hidden // tp)
        self.down = torch.nn.Linear(4 * hidden // tp, hidden, bias=False)
        self.bias = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(hidden)) for _ in range(2)])

    def region(self, x, inner, bias):
        if self.tp == 1:
            return inner(x) + bias
        return Reduce.apply(inner(Copy.apply(x, self.group)), self.group) + bias

    def attention(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, self.heads, -1).transpose(1, 2).chunk(3, dim=-1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(batch, length, -1))

    def forward(self, x):
        x = x + self.region(self.norm1(x), self.attention, self.bias[0])
        return x + self.region(self.norm2(x), lambda y: self.down(F.gelu(self.up(y))), self.bias[1])


class Stage(torch.nn.Module):
    """The layers of one pipeline stage, with embedding and output layer where they belong."""

    def __init__(self, config, groups, stage):
        super().__init__()
        hidden, tp, pp = config["hidden"], config["tp"], config["pp"]
        self.config, self.group = config, groups["tp"]
        self.first, self.last = stage == 0, stage == pp - 1
        self.shard = VOCABULARY // tp
        self.start = self.shard * (dist.get_rank() % tp)
        layers = config["layers"] // pp
        self.layers = torch.nn.ModuleList(Layer(hidden, config["heads"], tp, groups["tp"]) for _ in range(layers))
        if self.first or self.last:
            self.vocabulary = torch.nn.Parameter(torch.randn(self.shard, hidden) * 0.02)
        if self.first:
            self.positions = torch.nn.Parameter(torch.randn(config["length"], hidden) * 0.02)
        if self.last:
            self.norm = torch.nn.LayerNorm(hidden)

    def embed(self, tokens):
        local = tokens - self.start
        mine = (local >= 0) & (local < self.shard)
        x = F.embedding(local.clamp(0, self.shard - 1), self.vocabulary) * mine.unsqueeze(-1)
        return (x if self.config["tp"] == 1 else Reduce.apply(x, self.group)) + self.positions

    def forward(self, x, tokens):
        if self.first:
            x = self.embed(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.config["recompute"] == "full" else layer(x)
        if not self.last:
            return x
        x = self.norm(x)
        x = x if self.config["tp"] == 1 else Copy.apply(x, self.group)
        return VocabularyLoss.apply(F.linear(x, self.vocabulary), tokens.roll(-1, 1), self.start, self.group)


def accumulate_into(main):
    """A hook that adds a finished gradient to its fp32 place, and frees it."""

    def hook(parameter):
        main.add_(parameter.grad)
        parameter.grad = None

    return hook


class Optimizer:
    """Adam over fp32 copies of one flat bf16 buffer; with `shards`, each data-parallel rank holds its part."""

    def __init__(self, module, group, sharded):
        self.group, self.size = group, dist.get_world_size(group)
        self.sharded = sharded and self.size > 1
        count = sum(p.numel() for p in module.parameters())
        padded = -(-count // self.size) * self.size
        self.weights = torch.zeros(padded, dtype=torch.bfloat16, device="cuda")
        self.grads = torch.zeros(padded, dtype=torch.float32, device="cuda")
        place = 0
        for p in module.parameters():
            view = self.weights[place : place + p.numel()].view(p.shape)
            view.copy_(p.data)
            p.data = view
            main = self.grads[place : place + p.numel()].view(p.shape)
            p.register_post_accumulate_grad_hook(accumulate_into(main))
            place += p.numel()
        part = padded // self.size if self.sharded else padded
        start = part * dist.get_rank(group) if self.sharded else 0
        self.mine = slice(start, start + part)
        self.master = torch.nn.Parameter(self.weights[self.mine].float())
        self.adam = torch.optim.Adam([self.master], lr=1e-4, fused=True)

    def step(self):
        grads = self.grads[self.mine]
        if self.sharded:
            dist.reduce_scatter_tensor(grads, self.grads, group=self.group)
        elif self.size > 1:
            dist.all_reduce(self.grads, group=self.group)
        self.master.grad = grads
        self.adam.step()
        self.master.grad = None
        self.weights[self.mine].copy_(self.master.data)
        if self.sharded:
            dist.all_gather_into_tensor(self.weights, self.weights[self.mine], group=self.group)
        self.grads.zero_()


def groups_of(config):
    """The process groups that this rank is in, ranks in the order tp-dp-pp."""
    tp, pp, dp = config["tp"], config["pp"], config["dp"]
    found = {}
    for name, members in (
        ("tp", [[tp * (d + dp * p) + t for t in range(tp)] for p in range(pp) for d in range(dp)]),
        ("dp", [[tp * (d + dp * p) + t for d in range(dp)] for p in range(pp) for t in range(tp)]),
        ("embd", [[tp * (d + dp * p) + t for p in range(pp)] for d in range(dp) for t in range(tp)]),
    ):
        for ranks in members:
            group = dist.new_group(ranks)
            if dist.get_rank() in ranks:
                found[name] = group
    return found


def run_step(stage, optimizer, config, groups, tokens):
    """One optimizer step: a 1F1B schedule, the tied embedding's gradients, the optimizer."""
    pp, me = config["pp"], dist.get_rank()
    place = me // (config["tp"] * config["dp"])
    micro = config["global"] // (config["micro"] * config["dp"])
    shape = (config["micro"], config["length"], config["hidden"])
    side = config["tp"] * config["dp"]
    waiting = []

    def forward():
        x = None
        if place > 0:
            x = torch.empty(shape, dtype=torch.bfloat16, device="cuda")
            dist.recv(x, me - side)
            x.requires_grad_()
        y = stage(x, tokens)
        if place < pp - 1:
            dist.send(y.detach(), me + side)
        waiting.append((x, y))

    def backward():
        x, y = waiting.pop(0)
        if place < pp - 1:
            grad = torch.empty(shape, dtype=torch.bfloat16, device="cuda")
            dist.recv(grad, me + side)
            y.backward(grad)
        else:
            (y / micro).backward()
        if place > 0:
            dist.send(x.grad, me - side)

    warm = min(micro, pp - place - 1)
    for _ in range(warm):
        forward()
    for _ in range(micro - warm):
        forward()
        backward()
    for _ in range(warm):
        backward()
    if pp > 1 and (stage.first or stage.last):
        shared = optimizer.grads[: stage.vocabulary.numel()]
        dist.all_reduce(shared, group=groups["embd"])
    optimizer.step()


def measure(config):
    """The row of one layout, as the last rank sees it."""
    torch.manual_seed(1)
    groups = groups_of(config)
    place = dist.get_rank() // (config["tp"] * config["dp"])
    stage = Stage(config, groups, place).bfloat16().cuda()
    optimizer = Optimizer(stage, groups["dp"], config["sharded"])
    tokens = torch.randint(VOCABULARY, (config["micro"], config["length"]), device="cuda")
    times = []
    for number in range(WARM_UP + STEPS):
        if number == WARM_UP:
            torch.cuda.reset_peak_memory_stats()
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        run_step(stage, optimizer, config, groups, tokens)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    allocated, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
    return row(config, statistics.median(times[WARM_UP:]), allocated, peak)


def row(config, seconds, allocated, peak):
    tp, pp, dp, hidden = config["tp"], config["pp"], config["dp"], config["hidden"]
    name = f"L{config['layers']}-h{hidden}-s{config['length']}"
    recompute = config["recompute"]
    return {
        "id": f"step/{name}/tp{tp}-pp{pp}-dp{dp}-mbs{config['micro']}-{recompute}-{'shard' if config['sharded'] else 'whole'}",
        "group": f"step/{name}/g{tp * pp * dp}-b{config['global']}",
        "source": {"repo": None, "commit": None, "path": "bench/planner/step.py", "row": "median of 6 steps"},
        "hardware": {
            "gpu": gpu_name(),
            "gpu_memory_bytes": torch.cuda.get_device_properties(0).total_memory,
            "gpus_per_node": 8,
            "nodes": 1,
            "gpus": tp * pp * dp,
            "interconnect": "NVLink",
        },
        "framework": f"torch {torch.__version__}",
        "model": {
            "name": name,
            "num_layers": config["layers"],
            "hidden_size": hidden,
            "ffn_hidden_size": 4 * hidden,
            "num_attention_heads": config["heads"],
            "num_query_groups": config["heads"],
            "kv_channels": hidden // config["heads"],
            "vocab_size": VOCABULARY,
            "seq_length": config["length"],
            "num_experts": None,
            "swiglu": False,
            "untied": False,
        },
        "layout": {
            "tp": tp,
            "cp": 1,
            "pp": pp,
            "vpp": None,
            "ep": 1,
            "expt_tp": None,
            "dp": dp,
            "zero": None,
            "distributed_optimizer": config["sharded"],
            "sequence_parallel": False,
            "recompute": recompute,
            "fsdp": False,
        },
        "batch": {"micro": config["micro"], "global": config["global"]},
        "precision": "bf16",
        "measured": {
            "step_time_s": round(seconds, 5),
            "tokens_per_s": round(config["global"] * config["length"] / seconds, 1),
            "memory_bytes_peak": peak,
            "memory_bytes_allocated": allocated,
            "status": "ok",
            "measured_rank": "last (world-1), so the last pipeline stage",
        },
        "args": {"hidden-dropout": 0.0, "max-position-embeddings": config["length"]},
    }


def gpu_name():
    name = torch.cuda.get_device_name()
    return next((kind for kind in ("H200", "H100", "A100") if kind in name), name)


def configurations(world):
    """The layouts that are tried: degrees of the world, two models, micro-batch sizes, recomputation, sharding."""
    models = [
        {"layers": 24, "hidden": 2048, "heads": 16, "length": 2048},
        {"layers": 16, "hidden": 4096, "heads": 32, "length": 4096},
    ]
    degrees = [(tp, pp, world // tp // pp) for tp in (1, 2) for pp in (1, 2) if world % (tp * pp) == 0]
    for model in models:
        for tp, pp, dp in degrees:
            for micro, recompute in ((1, "none"), (4, "none"), (4, "full")):
                for sharded in (False, True) if dp > 1 and micro == 1 else (dp > 1,):
                    yield {
                        **model,
                        "tp": tp,
                        "pp": pp,
                        "dp": dp,
                        "micro": micro,
                        "global": 16,
                        "recompute": recompute,
                        "sharded": sharded,
                    }


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    for config in configurations(dist.get_world_size()):
        found = measure(config)
        torch.cuda.empty_cache()
        if dist.get_rank() == dist.get_world_size() - 1:
            with open(sys.argv[1], "a", encoding="utf-8") as out:
                out.write(json.dumps(found) + "\n")
            print(found["id"], found["measured"], flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
