"""Saves and loads checkpoints of Megatron-FSDP with Megatron-LM's own training functions, under two layouts.

Arguments are parsed and checked, and checkpoints written and read, as `pretrain_gpt.py` does it. `play.py` starts the
ranks: with a GPU each, or on the processor of a machine that has none.
"""

from __future__ import annotations

import json
import os
import random
import sys
import typing
from argparse import Namespace
from datetime import timedelta
from pathlib import Path
from typing import Any

# Python 3.11 lacks a mark for type checkers that Megatron-LM's training imports
typing.override = getattr(typing, "override", lambda method: method)  # type: ignore[attr-defined]

import pairs  # noqa: E402
import torch  # noqa: E402
from gpt_builders import gpt_builder  # noqa: E402
from megatron.core.distributed.finalize_model_grads import finalize_model_grads  # noqa: E402
from megatron.core.distributed.fsdp.src.megatron_fsdp.uneven_dtensor import uneven_dtensor_to_full_tensor  # noqa: E402
from megatron.core.enums import ModelType  # noqa: E402
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func  # noqa: E402
from megatron.core.tensor_parallel.random import (  # noqa: E402
    get_cuda_rng_tracker,
    model_parallel_cuda_manual_seed,
)
from megatron.core.tokenizers.utils.build_tokenizer import vocab_size_with_padding  # noqa: E402
from megatron.core.transformer.fsdp_dtensor_checkpoint import flatten_state_dict  # noqa: E402
from megatron.core.utils import get_model_config, unwrap_model  # noqa: E402
from megatron.training import checkpointing, global_vars, initialize  # noqa: E402
from megatron.training.arguments import (  # noqa: E402
    core_transformer_config_from_args,
    parse_args,
    validate_args,
)
from megatron.training.training import setup_model_and_optimizer  # noqa: E402
from model_provider import model_provider  # noqa: E402
from torch import distributed as dist  # noqa: E402
from torch.distributed.tensor import DTensor  # noqa: E402

LENGTH = pairs.SEQUENCE
FIXED = f"""
--num-layers {pairs.LAYERS} --hidden-size {pairs.HIDDEN} --num-attention-heads 8 --seq-length {LENGTH}
--max-position-embeddings {LENGTH} --micro-batch-size {pairs.MICRO_BATCH} --global-batch-size 48 --train-iters 10
--lr 1e-2 --attention-dropout 0 --hidden-dropout 0
--transformer-impl local --no-gradient-accumulation-fusion --no-masked-softmax-fusion --no-persist-layer-norm --bf16
--no-bias-dropout-fusion --no-bias-gelu-fusion --no-bias-swiglu-fusion --no-rope-fusion --use-cpu-initialization
--use-distributed-optimizer --distributed-timeout-minutes 10 --no-check-for-nan-in-loss-and-grad --rerun-mode disabled
""".split()
# the index of data sets is compiled, which no checkpoint needs
initialize._compile_dependencies = lambda: None
# a tokenizer lies beside a checkpoint, and decides nothing
checkpointing.save_tokenizer_assets = checkpointing.get_tokenizer = lambda *_: None
EXPERTS = ["--moe-router-topk", "2", "--moe-router-load-balancing-type", "none", "--disable-bias-linear"]


def flags_of(layout: dict[str, Any]) -> list[str]:
    """The command line of a layout."""
    named = {**layout.get("args", {}), **layout.get("fsdp", {}), **layout.get("config", {})}
    named.pop("order", None)
    if "experts" in layout:
        named["num_experts"] = layout["experts"]
    flags = [flag for flag in FIXED if flag != "--bf16" or layout.get("precision") != "fp32"]
    flags += EXPERTS if "experts" in layout else []
    for name, value in named.items():
        flags += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    if "fsdp" in layout:
        flags += ["--use-megatron-fsdp", "--ckpt-format", "fsdp_dtensor"]
    if not layout.get("tied", False):
        flags.append("--untie-embeddings-and-output-weights")
    if layout.get("args", {}).get("tensor_model_parallel_size", 1) > 1 and "experts" in layout:
        flags.append("--sequence-parallel")
    flags += ["--distributed-backend", "nccl" if pairs.ON_GPU else "gloo"]
    return [*flags, "--vocab-size", str(layout.get("vocabulary", pairs.VOCABULARY))]


class Job:
    """A model and its optimizer under one layout."""

    def __init__(self, layout: dict[str, Any]) -> None:
        self.layout = layout
        sys.argv = ["pretrain_gpt.py", *flags_of(layout)]
        self.args = validate_args(parse_args())
        self.args.padded_vocab_size = vocab_size_with_padding(self.args.vocab_size, self.args)
        global_vars.set_global_variables(self.args, build_tokenizer=False)
        initialize.initialize_megatron(allow_no_cuda=True)
        self.model, self.optimizer, self.scheduler = setup_model_and_optimizer(
            ModelType.encoder_or_decoder, lambda *args, **options: model_provider(builder, *args, **options)
        )
        config = get_model_config(self.model[0])
        config.finalize_model_grads_func, config.grad_scale_func = finalize_model_grads, self.optimizer.scale_loss

    def groups(self) -> dict[str, Any]:
        """The groups that training names, where the model knows them."""
        known = getattr(self._unwrapped()[0], "pg_collection", None)
        names = {"tp_group": "tp", "pp_group": "pp", "dp_group": "dp", "expt_dp_group": "expt_dp"}
        return {option: getattr(known, name) for option, name in names.items()} if known else {}

    def step(self) -> float:
        """Takes a step of four equal micro-batches; gives its loss."""
        start = torch.randint(0, 200, (2, 1), generator=torch.Generator().manual_seed(7))
        tokens = (start + 3 * torch.arange(LENGTH)).to(torch.cuda.current_device())
        for chunk in self.model:
            chunk.zero_grad_buffer()
        self.optimizer.zero_grad()
        losses = get_forward_backward_func()(
            forward_step_func=pairs.forward,
            data_iterator=iter([tokens] * 4),
            model=self.model,
            num_microbatches=4,
            # the schedule cuts sequences over cp, the model does not
            seq_length=LENGTH * self.args.context_parallel_size,
            micro_batch_size=pairs.MICRO_BATCH,
            forward_only=False,
        )
        self.optimizer.step()
        self.scheduler.step(increment=self.args.global_batch_size)
        return sum(float(one["loss"]) for one in losses) / len(losses)

    def save(self, folder: str) -> None:
        self.args.save = folder
        checkpointing.save_checkpoint(1, self.model, self.optimizer, self.scheduler, 0, **self.groups())

    def load(self, folder: str, *, fresh: bool) -> None:
        self.args.load, self.args.no_load_optim = folder, fresh
        self.args.exit_on_missing_checkpoint = True
        checkpointing.load_checkpoint(self.model, self.optimizer, self.scheduler, **self.groups())

    def _state(self) -> dict[str, Any]:
        """Weights and optimizer states."""
        args = Namespace(**{**vars(self.args), "ckpt_format": "fsdp_dtensor"})
        state: dict[str, Any] = checkpointing.generate_state_dict(args, self._unwrapped(), self.optimizer, None, None)
        return state

    def _unwrapped(self) -> Any:
        return unwrap_model(self.model)

    def prints(self) -> dict[str, float]:
        """A number of each whole tensor by the name that the format gives it, which no layout changes."""
        mine = {}
        state = checkpointing.preprocess_fsdp_dtensor_state_dict(self.args, self._state(), self._unwrapped()[0])
        for name, value in flatten_state_dict(state).items():
            if not isinstance(value, torch.Tensor) or value.dim() == 0:
                continue
            whole = uneven_dtensor_to_full_tensor(value) if isinstance(value, DTensor) else value
            if isinstance(whole, DTensor):
                whole = whole.to_local()
            flat = whole.detach().double().flatten().cpu()
            mine[name] = float((flat * torch.cos(torch.arange(len(flat), dtype=torch.float64))).sum())
        return {name: value for one in gathered(mine) for name, value in one.items()}

    def spoil(self) -> None:
        """Changes all values, so that what was there before cannot pass for what is loaded."""
        if not self.args.use_megatron_fsdp:
            return
        with torch.no_grad():
            for value in flatten_state_dict(self._state()).values():
                if isinstance(value, torch.Tensor) and value.is_floating_point():
                    local = value.to_local() if isinstance(value, DTensor) else value
                    local.mul_(1.7).add_(1e-3)
        random.seed(1)
        get_cuda_rng_tracker().reset()
        model_parallel_cuda_manual_seed(1)


def builder(args: Any, *given: Any, config: Any = None, **options: Any) -> Any:
    """Context parallelism needs Transformer Engine's attention: the groups have it, the model has whole sequences."""
    config = config or core_transformer_config_from_args(args)
    config.context_parallel_size = 1
    return gpt_builder(args, *given, config=config, **options)


def save(plan: dict[str, Any], out: Path) -> None:
    """Saves a checkpoint of the one layout of a plan, with the numbers of its tensors and the loss of the next step."""
    ((name, layout),) = plan["layouts"].items()
    folder = out / "saved" / name
    folder.mkdir(parents=True, exist_ok=True)
    saved: dict[str, Any] = {}

    def once() -> None:
        job = Job(layout)
        for _ in range(2):
            job.step()
        job.save(str(folder))
        saved["next"] = gathered(streams())
        if "fsdp" in layout:
            saved["prints"] = job.prints()
        saved["then"] = job.step()

    saved["error"] = pairs.attempt(once)
    if dist.get_rank() == 0:
        folder.with_suffix(".json").write_text(json.dumps(saved))


def gathered(value: Any) -> list[Any]:
    """What each rank has."""
    every: list[Any] = [None] * pairs.WORLD
    dist.all_gather_object(every, value)
    return every


def streams() -> str:
    """The state of the random numbers that tensor-parallel ranks draw apart, in short."""
    state = get_cuda_rng_tracker().get_states()["model-parallel-rng"]
    return f"{random.getstate()[1][:2]} {int(state.cpu().long().mul(torch.arange(len(state)) + 1).sum())}"


def of(part: str, prints: dict[str, float] | None) -> dict[str, float] | None:
    return None if prints is None else {name: one for name, one in prints.items() if name.startswith(f"{part}.")}


def compared(error: str | None, now: dict[str, float] | None, truth: dict[str, float] | None) -> dict[str, Any]:
    """Whether a part was loaded, with equal values; and the names of tensors that differ."""
    was = truth or {}
    other = sorted(name for name, one in (now or {}).items() if name not in was or not pairs.near([one], [was[name]]))
    return {"loads": error is None, "equal": bool(now) and not other, "error": error, "other": other[:6]}


def load(plan: dict[str, Any], out: Path) -> None:
    """Loads what the one pair of a plan asks for, and writes a line."""
    (pair,) = plan["pairs"]
    name, layout = pair["to"], plan["layouts"][pair["to"]]
    folder = out / "saved" / pair["from"]
    kind = "fsdp_dtensor" if "fsdp" in plan["layouts"][pair["from"]] else "dp_reshardable"
    row = {"from": pair["from"], "to": name, "type": kind}
    saved = json.loads(folder.with_suffix(".json").read_text())
    jobs: list[Job] = []
    failed = saved["error"] or pairs.attempt(lambda: jobs.append(Job(layout)))
    if failed:
        row["save"] = failed
    else:
        job = jobs[0]
        error = pairs.attempt(job.spoil) or pairs.attempt(lambda: job.load(str(folder), fresh=pair.get("fresh", False)))
        row["rng"] = gathered(streams()) == [saved["next"][0]] * pairs.WORLD
        now = None if error or "fsdp" not in layout else job.prints()
        for part in ("model", "optimizer"):
            row[part] = compared(error, of(part, now), of(part, saved.get("prints")))
        losses: list[float] = []
        row["stepped"] = pairs.attempt(lambda: losses.append(job.step()))
        row["loss"] = [saved["then"], *losses]
        row["fresh"] = pair.get("fresh", False)
    if dist.get_rank() == 0:
        with (out / "pairs.jsonl").open("a") as results:
            print(json.dumps(row), file=results)


start = pairs.start


def run(phase: str, plan: dict[str, Any], out: Path, rendezvous: str) -> None:
    """Plays a phase of a plan of one layout as one rank."""
    os.environ["LOCAL_RANK"] = str(pairs.RANK)
    if pairs.ON_GPU:
        torch.cuda.set_device(pairs.RANK)
    dist.init_process_group(
        "nccl" if pairs.ON_GPU else "gloo",
        init_method=rendezvous,
        rank=pairs.RANK,
        world_size=pairs.WORLD,
        timeout=timedelta(minutes=10),
    )
    {"save": save, "load": load}[phase](plan, out)
    dist.barrier()
