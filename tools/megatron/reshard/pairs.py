"""Saves checkpoints of a small GPT of Megatron-LM's own parts under one layout and loads them under another.

What loads is decided by Megatron-LM's code alone: model, DDP, optimizer, schedules and `dist_checkpointing`. Every rank
is a process of one machine, which needs no GPU. `play.py` plays the phases `save` and `load` for each size of a world,
and the segments of the plan's paths.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
sys.path.insert(0, os.environ["MEGATRON"])

import on_cpu  # noqa: E402
import torch  # noqa: E402


class Properties:
    """Of a GPU: kernels look for one when they are imported, and forked ranks could not use it after that."""

    def __getattr__(self, _: str) -> int:
        return 9


torch.cuda.get_device_name, torch.cuda.get_device_capability = (lambda *_: ""), (lambda *_: (9, 0))
torch.cuda.get_device_properties = lambda *_: Properties()
ON_GPU = torch.cuda.is_available()
if not ON_GPU:
    on_cpu.install()

import megatron.core.optimizer as megatron_optimizer  # noqa: E402
from megatron.core import dist_checkpointing  # noqa: E402
from megatron.core import parallel_state as ps  # noqa: E402
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig  # noqa: E402
from megatron.core.distributed.finalize_model_grads import finalize_model_grads  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.models.gpt.gpt_model import GPTModel  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, distrib_optimizer, get_megatron_optimizer  # noqa: E402
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func  # noqa: E402
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed  # noqa: E402
from megatron.core.transformer import torch_norm  # noqa: E402,F401
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402
from megatron.core.transformer.transformer_layer import TransformerLayer  # noqa: E402
from torch import distributed as dist  # noqa: E402

SEQUENCE, MICRO_BATCH, LAYERS, HIDDEN, VOCABULARY = 32, 2, 8, 64, 512
GLOBAL_BATCH, SEGMENT_STEPS = 16, 5


class GroupAdam(torch.optim.Optimizer):
    """Adam that keeps its step in the parameter group, as those of Apex and Transformer Engine do."""

    def __init__(self, params: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, **_: Any) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0, "bias_correction": True})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            for parameter in group["params"]:
                state, (first, second) = self.state[parameter], group["betas"]
                if not state:
                    state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
                if parameter.grad is None:
                    continue
                state["exp_avg"].mul_(first).add_(parameter.grad, alpha=1 - first)
                state["exp_avg_sq"].mul_(second).addcmul_(parameter.grad, parameter.grad, value=1 - second)
                parameter.addcdiv_(state["exp_avg"], state["exp_avg_sq"].sqrt().add_(group["eps"]), value=-group["lr"])


megatron_optimizer.USING_PYTORCH_OPTIMIZER, megatron_optimizer.Adam = False, GroupAdam
distrib_optimizer.HAVE_APEX_OR_TE, distrib_optimizer.Adam = True, GroupAdam


def forward(data: Any, model: Any) -> Any:
    """The forward step of the schedules: a causal mask, and the mean of all losses."""
    tokens = next(data)
    device = tokens.device
    positions = torch.arange(SEQUENCE, device=device).expand(MICRO_BATCH, -1)
    mask = torch.ones(1, 1, SEQUENCE, SEQUENCE, dtype=torch.bool, device=device).triu(1)

    def mean(out: Any) -> Any:
        loss = out.float().mean()
        return loss, {"loss": loss.detach().clone()}

    return model(tokens, positions, mask, labels=tokens), mean


class Job:
    """A model and its optimizer under one layout, after some steps."""

    def __init__(self, layout: dict[str, Any], steps: int) -> None:
        self.layout = layout
        self.vocabulary = layout.get("vocabulary", VOCABULARY)
        self.distributed = layout.get("distributed_optimizer", True)
        args = layout.get("args", {})
        self.instances = args.get("num_distributed_optimizer_instances", 1)
        ps.destroy_model_parallel()
        for group in list(dist.distributed_c10d._world.pg_names):
            # each of gloo's groups has a thread that never rests
            if group != dist.group.WORLD:
                dist.destroy_process_group(group)
        ps.initialize_model_parallel(**args)
        model_parallel_cuda_manual_seed(123)
        self.virtual = args.get("virtual_pipeline_model_parallel_size")
        self.bf16 = layout.get("precision", "bf16") == "bf16"
        self.dtype = torch.bfloat16 if self.bf16 else torch.float32
        self.config = self._config(args)
        self.chunks = [self._chunk(stage) for stage in (range(self.virtual) if self.virtual else [None])]
        self.optimizer = get_megatron_optimizer(
            OptimizerConfig(
                optimizer="adam",
                lr=layout.get("lr", 1e-2),
                bf16=self.bf16,
                params_dtype=self.dtype,
                use_distributed_optimizer=self.distributed,
                clip_grad=1.0,
            ),
            self.chunks,
        )
        self.config.finalize_model_grads_func = finalize_model_grads
        self.config.grad_scale_func = self.optimizer.scale_loss
        for _ in range(steps):
            self.step()

    def _config(self, args: dict[str, Any]) -> TransformerConfig:
        tp = args.get("tensor_model_parallel_size", 1)
        experts = self.layout.get("experts")
        moe = {
            "num_moe_experts": experts,
            "moe_token_dispatcher_type": "alltoall",
            "moe_router_topk": 2,
            "moe_router_load_balancing_type": "none",
            "add_bias_linear": False,
            "expert_model_parallel_size": args.get("expert_model_parallel_size", 1),
            "expert_tensor_parallel_size": args.get("expert_tensor_parallel_size", tp),
        }
        # context parallelism needs Transformer Engine's attention: the groups have it, the model has whole sequences
        return TransformerConfig(
            num_layers=LAYERS,
            hidden_size=HIDDEN,
            ffn_hidden_size=2 * HIDDEN,
            num_attention_heads=8,
            tensor_model_parallel_size=tp,
            pipeline_model_parallel_size=args.get("pipeline_model_parallel_size", 1),
            virtual_pipeline_model_parallel_size=self.virtual,
            sequence_parallel=tp > 1,
            use_cpu_initialization=True,
            pipeline_dtype=self.dtype,
            bf16=self.bf16,
            params_dtype=self.dtype,
            attention_dropout=0.0,
            hidden_dropout=0.0,
            bias_dropout_fusion=False,
            masked_softmax_fusion=False,
            gradient_accumulation_fusion=False,
            **(moe if experts else {}),
            **self.layout.get("config", {}),
        )

    def _chunk(self, stage: int | None) -> DistributedDataParallel:
        where = {"ignore_virtual": False, "vp_stage": stage} if stage is not None else {}
        model = GPTModel(
            config=self.config,
            transformer_layer_spec=get_gpt_layer_local_spec(
                num_experts=self.layout.get("experts"), moe_grouped_gemm=False
            ),
            vocab_size=self.vocabulary,
            max_sequence_length=SEQUENCE,
            pre_process=ps.is_pipeline_first_stage(**where),
            post_process=ps.is_pipeline_last_stage(**where),
            parallel_output=True,
            share_embeddings_and_output_weights=self.layout.get("tied", False),
            **({} if stage is None else {"vp_stage": stage}),
        )
        for norm in (module for module in model.modules() if isinstance(module, torch.nn.LayerNorm)):
            for parameter in norm.parameters():
                # a mark of fused norms, by which their gradients are summed over tp
                parameter.sequence_parallel = self.config.sequence_parallel
        ddp = DistributedDataParallelConfig(
            use_distributed_optimizer=self.distributed,
            num_distributed_optimizer_instances=self.instances,
            **{"grad_reduce_in_fp32": True, **self.layout.get("ddp", {})},
        )
        return DistributedDataParallel(config=self.config, ddp_config=ddp, module=model.to(self.dtype))

    def step(self, number: int | None = None) -> float:
        """Takes a step, of the batch of that number, which no layout changes, or of one micro-batch; gives its loss."""
        replicas, replica = ps.get_data_parallel_world_size(), ps.get_data_parallel_rank()
        count = 4 if number is None else GLOBAL_BATCH // (replicas * MICRO_BATCH)
        shape = (MICRO_BATCH, 1) if number is None else (replicas, count, MICRO_BATCH, 1)
        start = torch.randint(0, 400, shape, generator=torch.Generator().manual_seed(7 if number is None else number))
        samples = start + 3 * torch.arange(SEQUENCE)
        batches = [samples] * count if number is None else list(samples[replica])

        for chunk in self.chunks:
            chunk.zero_grad_buffer()
        self.optimizer.zero_grad()
        many = len(self.chunks) > 1
        # the schedule cuts sequences over cp, the model does not
        length = SEQUENCE * ps.get_context_parallel_world_size()
        losses = get_forward_backward_func()(
            forward_step_func=forward,
            data_iterator=[iter(batches) for _ in self.chunks] if many else iter(batches),
            model=self.chunks if many else self.chunks[0],
            num_microbatches=count,
            seq_length=length,
            micro_batch_size=MICRO_BATCH,
            decoder_seq_length=length,
            forward_only=False,
        )
        self.optimizer.step()
        # the stages before the last have no loss
        total = torch.tensor([sum(float(one["loss"]) for one in losses), len(losses)], dtype=torch.float64)
        dist.all_reduce(total)
        return float(total[0] / total[1])

    def metadata(self, kind: str) -> dict[str, Any]:
        """What `_build_sharded_state_dict_metadata` (megatron/training/checkpointing.py) gives for a sharding."""
        group = ps.get_data_parallel_group(with_context_parallel=True)
        whole = {"singleton_local_shards": False, "chained_optim_avoid_prefix": True, "dp_cp_group": group}
        if kind == "none":
            return whole
        efficient = {"distrib_optim_fully_reshardable_mem_efficient": False} if kind == "fully_reshardable" else {}
        return {"distrib_optim_sharding_type": kind, **efficient, **whole}

    def model_state(self, kind: str) -> dict[str, Any]:
        """The sharded state of each model chunk, under the names that training gives them."""
        names = ["model"] if len(self.chunks) == 1 else [f"model{index}" for index in range(len(self.chunks))]
        metadata = self.metadata(kind)
        return {
            name: chunk.module.sharded_state_dict(metadata=metadata)
            for name, chunk in zip(names, self.chunks, strict=True)
        }

    def optimizer_state(self, kind: str, *, loading: bool) -> Any:
        model = self.model_state(kind)
        flat = model if len(self.chunks) > 1 else model["model"]
        return self.optimizer.sharded_state_dict(flat, is_loading=loading, metadata=self.metadata(kind))

    def save(self, folder: str, kind: str) -> None:
        content = {key: value for key, value in self.metadata(kind).items() if key != "dp_cp_group"}
        state = {**self.model_state(kind), "optimizer": self.optimizer_state(kind, loading=False)}
        dist_checkpointing.save(state, folder, content_metadata=content)

    def load_model(self, folder: str, kind: str) -> None:
        asked = self.model_state(kind)
        got = dist_checkpointing.load(asked, folder)
        for chunk, name in zip(self.chunks, asked, strict=True):
            chunk.module.load_state_dict(got[name])

    def load_optimizer(self, folder: str, kind: str) -> None:
        got = dist_checkpointing.load({"optimizer": self.optimizer_state(kind, loading=True)}, folder)
        self.optimizer.load_state_dict(got["optimizer"])

    def _moments(self) -> Iterator[tuple[torch.nn.Parameter, dict[str, torch.Tensor]]]:
        for part in getattr(self.optimizer, "chained_optimizers", [self.optimizer]):
            for model, main in self._groups_of(part):
                for group, masters in zip(model, main, strict=True):
                    for parameter, master in zip(group, masters, strict=True):
                        if master is not None:
                            yield parameter, part.optimizer.state.get(master, {})

    def _groups_of(self, part: Any) -> list[tuple[Any, Any]]:
        """The parameters of an optimizer, and those that it steps in their place."""
        if self.distributed:
            sharded = (part.model_float16_groups, part.shard_fp32_from_float16_groups)
            return [sharded, (part.model_fp32_groups, part.shard_fp32_groups)]
        if hasattr(part, "float16_groups"):
            single = part.fp32_from_fp32_groups
            return [(part.float16_groups, part.fp32_from_float16_groups), (single, single)]
        # in fp32 it has the parameters themselves
        groups = [group["params"] for group in part.optimizer.param_groups]
        return [(groups, groups)]

    def sums(self) -> list[float]:
        """Sums that no layout changes: of squared TP-sharded weights but the vocabulary's, by layer, and of moments."""
        layers = {
            id(parameter): module.layer_number
            for chunk in self.chunks
            for module in chunk.modules()
            if isinstance(module, TransformerLayer)
            for parameter in module.parameters()
            if getattr(parameter, "tensor_model_parallel", False)
        }
        whole, experts = ps.get_data_parallel_group(with_context_parallel=True), ps.get_expert_data_parallel_group()

        def is_first(parameter: torch.nn.Parameter) -> bool:
            return bool(dist.get_rank(whole if getattr(parameter, "allreduce", True) else experts) == 0)

        total = torch.zeros(3, dtype=torch.float64)
        for chunk in self.chunks:
            for parameter in chunk.module.parameters():
                if id(parameter) in layers and is_first(parameter):
                    total[0] += parameter.detach().double().pow(2).sum() * layers[id(parameter)]
        for parameter, state in self._moments():
            if id(parameter) in layers and "exp_avg" in state and (self.distributed or is_first(parameter)):
                total[1] += state["exp_avg"].double().pow(2).sum() * layers[id(parameter)]
                total[2] += state["exp_avg_sq"].double().sum() * layers[id(parameter)]
        dist.all_reduce(total)
        if self.distributed:
            # each instance of the optimizer holds all of its states
            total[1:] /= self.instances
        return [float(value) for value in total]

    def spoil(self) -> None:
        """Changes all values, so that what was loaded before cannot pass for what is loaded next."""
        with torch.no_grad():
            for chunk in self.chunks:
                for parameter in chunk.module.parameters():
                    parameter.mul_(1.7)
            for _, state in self._moments():
                for key in ("exp_avg", "exp_avg_sq"):
                    if key in state:
                        state[key].mul_(1.7).add_(1e-3)


def attempt(run: Callable[[], None]) -> str | None:
    """The error of any rank, the first rank's first; null if all succeed."""
    error = None
    try:
        run()
    except BaseException as failure:  # torch's CheckpointException is no Exception
        traceback.print_exc()
        text = str(failure).strip() or traceback.format_exc().strip().splitlines()[-1]
        short = text if len(text) <= 500 else f"{text[:200]} ... {text[-300:]}"
        error = f"{type(failure).__name__}: {short}"
    errors: list[str | None] = [None] * WORLD
    dist.all_gather_object(errors, error)
    return next((one for one in errors if one), None)


def near(one: list[float], other: list[float]) -> bool:
    return all(abs(a - b) <= 1e-3 * max(abs(a), abs(b), 1e-12) for a, b in zip(one, other, strict=True))


def outcome(error: str | None, now: list[float], truth: list[float]) -> dict[str, Any]:
    return {"loads": error is None, "equal": error is None and near(now, truth), "error": error}


def save(plan: dict[str, Any], out: Path) -> None:
    """Saves every layout of this world in each sharding that some pair asks for, with its sums."""
    for name, layout in plan["layouts"].items():
        kinds = sorted({kind for pair in plan["pairs"] if pair["from"] == name for kind in pair["types"]})
        if layout.get("world", 8) != WORLD or not kinds:
            continue
        job = Job(layout, 2)
        truth = job.sums()
        for kind in kinds:
            folder = out / "saved" / name / kind
            if RANK == 0:
                folder.mkdir(parents=True, exist_ok=True)
            dist.barrier()
            error = attempt(lambda: job.save(str(folder), kind))  # noqa: B023
            if RANK == 0:
                (folder.parent / f"{kind}.json").write_text(json.dumps({"sums": truth, "error": error}))
                print("saved", name, kind, error, flush=True)


def load(plan: dict[str, Any], out: Path) -> None:
    """Loads what each pair asks for into the layouts of this world, and writes a line a pair and sharding."""
    results = (out / "pairs.jsonl").open("a") if RANK == 0 else None
    for name, layout in plan["layouts"].items():
        pairs = [pair for pair in plan["pairs"] if pair["to"] == name]
        if layout.get("world", 8) != WORLD or not pairs:
            continue
        job = Job(layout, 1)
        for pair in pairs:
            for kind in pair["types"]:
                row = {"from": pair["from"], "to": name, "type": kind}
                folder = str(out / "saved" / pair["from"] / kind)
                if not Path(f"{folder}.json").exists():  # the phase that saves ended before
                    continue
                saved = json.loads(Path(f"{folder}.json").read_text())
                if saved["error"]:
                    row["save"] = saved["error"]
                else:
                    job.spoil()
                    error = attempt(lambda: job.load_model(folder, kind))  # noqa: B023
                    row["model"] = outcome(error, job.sums()[:1], saved["sums"][:1])
                    error = attempt(lambda: job.load_optimizer(folder, kind))  # noqa: B023
                    row["optimizer"] = outcome(error, job.sums()[1:], saved["sums"][1:])
                if results:
                    print(json.dumps(row), file=results, flush=True)
                    print(row["from"], "->", name, kind, row.get("optimizer"), flush=True)


def play(plan: dict[str, Any], out: Path, segment: int) -> None:
    """Trains a segment of each path from what the one before saved; the first goes on to the end, too."""
    results = (out / "paths.jsonl").open("a") if RANK == 0 else None
    for name, path in plan.get("paths", {}).items():
        layout = plan["layouts"][path["layouts"][segment]]
        if layout.get("world", 8) != WORLD:
            continue
        first, last = segment * SEGMENT_STEPS, (segment + 1) * SEGMENT_STEPS
        kind, folder = path["type"], out / "paths" / name
        row: dict[str, Any] = {"path": name, "segment": segment}
        job = Job(layout, 0 if segment == 0 or path.get("no_load_optim") else 1)
        if segment > 0:
            saved = str(folder / str(segment - 1))
            row["error"] = attempt(lambda: job.load_model(saved, kind))  # noqa: B023
            if path.get("no_load_optim"):
                job.optimizer.reload_model_params()
            else:
                row["error"] = row["error"] or attempt(lambda: job.load_optimizer(saved, kind))  # noqa: B023
        row["losses"] = [job.step(number) for number in range(first, last)]
        if segment + 1 < len(path["layouts"]):
            target = folder / str(segment)
            if RANK == 0:
                target.mkdir(parents=True, exist_ok=True)
            dist.barrier()
            row["save"] = attempt(lambda: job.save(str(target), kind))  # noqa: B023
        if segment == 0:
            end = SEGMENT_STEPS * len(path["layouts"])
            row["unbroken"] = row["losses"] + [job.step(number) for number in range(last, end)]
        if results:
            print(json.dumps(row), file=results, flush=True)
            print(name, segment, row, flush=True)


def start(rank: int, world: int) -> None:
    """Makes this process a rank of a world."""
    global RANK, WORLD
    RANK, WORLD = rank, world


def run(phase: str, plan: dict[str, Any], out: Path, rendezvous: str) -> None:
    """Plays a phase as one rank of a world."""
    dist.init_process_group("gloo", init_method=rendezvous, rank=RANK, world_size=WORLD, timeout=timedelta(minutes=10))
    if phase.isdigit():
        play(plan, out, int(phase))
    else:
        {"save": save, "load": load}[phase](plan, out)
    dist.barrier()
