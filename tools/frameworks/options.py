#!/usr/bin/env python3
"""Record which options the frameworks take, for the test that holds every export against them.

usage: python3 tools/frameworks/options.py CLONES
CLONES: a folder with git repositories (clones, bare or not) of what SOURCES names, such as CLONES/Megatron-LM.

Megatron-LM's options are those of its own parser, which is started here. The others are read from the source of their
configuration classes, or from the defaults that their trainer starts with, without running anything.
"""

from __future__ import annotations

import argparse
import ast
import json
import multiprocessing
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "test" / "golden" / "data" / "options.json"
REVISIONS = json.loads((HERE.parent / "megatron" / "revisions.json").read_text())

SOURCES = {
    "megatron": ("NVIDIA/Megatron-LM", REVISIONS["main"]),
    "megatron-dev": ("NVIDIA/Megatron-LM", REVISIONS["dev"]),
    "bridge": ("NVIDIA-NeMo/Megatron-Bridge", "067f987df03b8355b03192d88d70f1709fedf51a"),
    "torchtitan": ("pytorch/torchtitan", "b5bcd76c66d0acb1a08b176d9639425bc55e0b2a"),
    "verl": ("volcengine/verl", "b178a3cd56f58b2d502255daba591e92833930a7"),
    "nemo-rl": ("NVIDIA-NeMo/RL", "7ea279abfbeb698b092856d0dab61e7cf39bc909"),
}

# the classes of the sections of a configuration; a section may be one of several
BRIDGE = (
    ("model", "GPTModelProvider"),
    ("model", "HybridModelProvider"),
    ("model", "Qwen25VLModelProvider"),
    ("train", "TrainingConfig"),
    ("validation", "ValidationConfig"),
    ("dist", "DistributedInitConfig"),
    ("ddp", "DistributedDataParallelConfig"),
    ("optimizer", "OptimizerConfig"),
    ("checkpoint", "CheckpointConfig"),
    ("dataset", "GPTDatasetConfig"),
    ("mixed_precision", "MixedPrecisionConfig"),
)
# the fields that its models with latent attention have beside
BRIDGE_LATENT = "MLATransformerConfig"
NEMO_RL = (
    ("policy", "PolicyConfig"),
    ("policy.generation", "VllmConfig"),
    ("policy.generation", "SGLangConfig"),
    ("cluster", "ClusterConfig"),
    ("grpo", "GRPOConfig"),
    ("ppo", "PPOConfig"),
    ("distillation", "DistillationConfig"),
    ("value", "ValueConfig"),
    ("teacher", "PolicyConfig"),
    ("data", "DataConfig"),
)

# how a type is written in the data: names of kinds, joined by "|"; "list" and "map" say nothing of what they hold
KINDS = {"int": "int", "float": "float", "bool": "bool", "str": "str", "None": "null"}
LISTS = ("list", "List", "tuple", "Tuple", "Sequence", "set")
MAPS = ("dict", "Dict", "Mapping")
WRAPPERS = ("NotRequired", "Required", "Annotated", "Optional", "Union", "Final")

Options = dict[str, str]


class Classes:
    """The fields of classes by the text of their source, in the order of the folders."""

    def __init__(self, *trees: tuple[Path, str, str]) -> None:
        self.nodes: dict[str, list[ast.ClassDef]] = {}
        for repository, revision, folder in trees:
            for text in files(repository, revision, folder):
                for node in ast.walk(ast.parse(text)):
                    if isinstance(node, ast.ClassDef):
                        self.nodes.setdefault(node.name, []).append(node)

    def fields(self, name: str, index: int = 0) -> dict[str, ast.expr]:
        """The annotated fields of a class and of those that it extends."""
        if index >= len(self.nodes.get(name, [])):
            return {}
        node = self.nodes[name][index]
        found: dict[str, ast.expr] = {}
        for base in reversed(node.bases):
            # a class of the same name is imported under a prefix: it is the next one
            inherited = re.sub(r"^(MCore|MTrain)", "", ast.unparse(base).split(".")[-1])
            found |= self.fields(inherited, index + 1 if inherited == name else 0)
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found[statement.target.id] = statement.annotation
        return found

    def options(self, name: str, path: str, depth: int = 0) -> Options:
        """The options below a path, with those of the classes that are fields."""
        found: Options = {}
        for field, annotation in self.fields(name).items():
            inner = [part for part in names_in(annotation) if part in self.nodes and depth < 3]
            nested = joined(*(self.options(part, f"{path}{field}.", depth + 1) for part in inner))
            found |= nested or {f"{path}{field}": kind_of(annotation)}
        return found


def joined(*all_options: Options) -> Options:
    """The options of alternatives: each takes what one of them takes."""
    kinds: dict[str, set[str]] = {}
    for options in all_options:
        for name, kind in options.items():
            kinds.setdefault(name, set()).update(kind.split("|"))
    return {name: "any" if "any" in found else "|".join(sorted(found)) for name, found in kinds.items()}


def names_in(annotation: ast.expr) -> Iterator[str]:
    """The names in a type that may be classes; a type in quotes is one."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value


def kind_of(annotation: ast.expr) -> str:
    """The kinds of a type; `any` where one of them is no plain type."""
    kinds = sorted(set(kinds_of(annotation)))
    return "any" if "any" in kinds else "|".join(kinds)


def kinds_of(annotation: ast.expr) -> Iterator[str]:
    match annotation:
        case ast.BinOp(left=left, right=right):
            yield from kinds_of(left)
            yield from kinds_of(right)
        case ast.Constant(value=None):
            yield "null"
        case ast.Constant(value=str(text)):
            yield from kinds_of(ast.parse(text, mode="eval").body)
        case ast.Name(id=name):
            yield KINDS.get(name, "list" if name in LISTS else "map" if name in MAPS else "any")
        case ast.Subscript(value=outer, slice=inner):
            name = ast.unparse(outer).split(".")[-1]
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name == "Literal":
                yield from (literal(part) for part in parts)
            elif name in WRAPPERS:
                yield from (["null"] if name == "Optional" else [])
                for part in parts[:1] if name == "Annotated" else parts:
                    yield from kinds_of(part)
            else:
                yield "list" if name in LISTS else "map" if name in MAPS else "any"
        case _:
            yield "any"


def literal(value: ast.expr) -> str:
    """The kind of one value of a type that lists its values."""
    match value:
        case ast.Constant(value=bool()):
            return "bool"
        case ast.Constant(value=str(text)):
            return f"={text}"
    return "any"


def files(repository: Path, revision: str, folder: str) -> Iterator[str]:
    """The Python files of a revision below a folder."""
    names = git(repository, "ls-tree", "-r", "--name-only", revision, folder).splitlines()
    for name in sorted(names):
        if name.endswith(".py"):
            yield git(repository, "show", f"{revision}:{name}")


def clone(folder: Path, repository: str) -> Path:
    return folder / repository.split("/")[1]


def git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def of_parser(parser: argparse.ArgumentParser) -> Options:
    """The options of a parser: `switch`, or the kind of each value with how many there are."""
    return {name: kind_of_action(action) for action in parser._actions for name in action.option_strings}


def kind_of_action(action: argparse.Action) -> str:
    if action.nargs == 0:
        return "switch"
    kind = "str" if action.type in (None, str) else getattr(action.type, "__name__", "any")
    kind = kind if kind in KINDS else "any"
    if action.choices is not None:
        kind = "|".join(f"={getattr(choice, 'name', choice)}" for choice in action.choices)
    return kind if action.nargs is None else f"{kind} {action.nargs}"


def megatron(folder: Path, name: str) -> dict[str, Options]:
    """The options of Megatron-LM's parser, and those that the training script of the MIMO example adds."""
    sys.path.insert(0, str(HERE.parent / "megatron"))
    from golden.model import Model, Training
    from golden.source import Megatron

    repository, revision = SOURCES[name]
    parser, added = (argparse.ArgumentParser(allow_abbrev=False, add_help=False) for _ in range(2))
    with tempfile.TemporaryDirectory(prefix="megatron-lm-") as unpacked:
        source = Megatron(clone(folder, repository), revision, Path(unpacked))
        Training(Model(source)).arguments.add_megatron_arguments(parser)
        source.load("examples.mimo.training.args").add_hetero_grid_args(added)
    return {name: of_parser(parser), "mimo": of_parser(added)}


def megatron_of(folder: Path, name: str) -> dict[str, Options]:
    """As `megatron`, in a process of its own: one process can load one revision."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(megatron, folder, name).result()


def of_defaults(value: Any, path: str = "") -> Options:
    """The options of a configuration by its defaults: a value that is missing or computed may be of any kind."""
    if isinstance(value, dict) and value:
        inner = (of_defaults(one, f"{path}.{name}") for name, one in value.items())
        return {key: kind for options in inner for key, kind in options.items()}
    kind = type(value).__name__
    is_open = value is None or (isinstance(value, str) and (value.startswith("${") or value == "???"))
    return {path[1:]: "any" if is_open else {"dict": "map"}.get(kind, kind)}


def of_trainer(folder: Path, configuration: str) -> Options:
    """The options of a trainer of verl, by the defaults that its configuration is composed to."""
    repository, revision = SOURCES["verl"]
    path = f"verl/trainer/config/_generated_{configuration}.yaml"
    defaults = yaml.safe_load(git(clone(folder, repository), "show", f"{revision}:{path}"))
    sections = ("actor_rollout_ref.", "critic.", "algorithm.", "trainer.", "data.")
    return {key: kind for key, kind in of_defaults(defaults).items() if key.startswith(sections)}


def recorded(folder: Path) -> dict[str, Options]:
    def tree(name: str, *folders: str) -> list[tuple[Path, str, str]]:
        repository, revision = SOURCES[name]
        return [(clone(folder, repository), revision, one) for one in folders]

    core = tree("megatron", "megatron/core", "megatron/training")
    bridge = Classes(*tree("bridge", "src/megatron/bridge"), *core)
    titan = Classes(*tree("torchtitan", "torchtitan/config"))
    reinforcement = Classes(*tree("nemo-rl", "nemo_rl"))
    nonuniform = Classes(*tree("megatron-dev", "megatron/core"))
    provided = joined(*(bridge.options(name, f"{section}.", depth=3) for section, name in BRIDGE))
    latent = bridge.options(BRIDGE_LATENT, "model.", depth=3)
    dev = megatron_of(folder, "megatron-dev")["megatron-dev"]
    main = megatron_of(folder, "megatron")
    return {
        **main,
        # what dev has beside main
        "megatron-dev": {name: kind for name, kind in dev.items() if name not in main["megatron"]},
        "bridge": provided,
        "bridge-mla": {name: kind for name, kind in latent.items() if provided.get(name) != kind},
        "torchtitan": titan.options("ParallelismConfig", "parallelism.") | titan.options("TrainingConfig", "training."),
        "verl": of_trainer(folder, "ppo_megatron_trainer"),
        "verl-fsdp": of_trainer(folder, "ppo_trainer"),
        "nemo-rl": joined(*(reinforcement.options(name, f"{section}.") for section, name in NEMO_RL)),
        "module-grid-spec": Classes(*tree("megatron", "examples/mimo")).options("ModuleGridSpec", ""),
        "ntp-config": nonuniform.options("NonuniformTPConfig", ""),
    }


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    options = recorded(folder)
    revisions = {name: f"{repository}@{revision[:10]}" for name, (repository, revision) in SOURCES.items()}
    forms = {
        name: " ; ".join(f"{key}: {kind}" for key, kind in sorted(found.items())) for name, found in options.items()
    }
    DATA.write_text(json.dumps({"revisions": revisions, "options": forms}, indent=1) + "\n")
    for name, found in options.items():
        print(f"{name}: {len(found)} options")


if __name__ == "__main__":
    main()
