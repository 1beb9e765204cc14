"""Every public table of measurements in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from latpred._core import unknown_name_message
from latpred.datasets import (
    accel_nasbench,
    aiconfigurator,
    deep_learning_examples,
    faster_transformer,
    fbnet,
    gpu_campaign,
    lambda_diffusers,
    llm_compass,
    llm_inference_bench,
    mlperf,
    nasbench201,
    neusight,
    ofa,
    paddleclas,
    rows,
    splitwise,
    tensorrt_bert,
    tensorrt_engines,
    timm,
    vidur,
)
from latpred.datasets.rows import Row
from latpred.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd

# The folder or table of each source under the data folder, and what reads it.
SOURCES: dict[str, Callable[[Path], Iterator[Row]]] = {
    "Accel-NASBench": accel_nasbench.read,
    "DeepLearningExamples": deep_learning_examples.read,
    "FasterTransformer": faster_transformer.read,
    f"HELP/{fbnet.TABLE}": fbnet.read,
    f"HELP/{nasbench201.TABLE}": nasbench201.read,
    f"HELP/{ofa.TABLE}": ofa.read,
    "LLM-Inference-Bench": llm_inference_bench.read,
    "LLMCompass": llm_compass.read,
    "NeuSight": neusight.read,
    "PaddleClas": paddleclas.read,
    f"TensorRT/{tensorrt_bert.TABLE}": tensorrt_bert.read,
    tensorrt_engines.FOLDER: tensorrt_engines.read,
    "aiconfigurator": aiconfigurator.read,
    gpu_campaign.FOLDER: gpu_campaign.read,
    "mlperf_inference": mlperf.read,
    "pytorch-image-models": timm.read,
    "vidur": vidur.read,
}
# Sources that no fit sees: whole pipelines, and power, that predictions are held against.
CHECKS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "LLM-Inference-Bench": llm_inference_bench.read_power,
    "lambda-diffusers": lambda_diffusers.read,
    "splitwise-sim": splitwise.read,
}
# Sources that state sizes of the networks that a framework rebuilds: a row, millions of parameters, billions of MACs of
# one item where they are stated.
STATED: dict[str, Callable[[Path], Iterator[tuple[Row, float, float | None]]]] = {
    "PaddleClas": paddleclas.read_stated,
    "pytorch-image-models": timm.read_stated,
}


def present(data: Path, only: Sequence[str] = ()) -> list[str]:
    """The sources that are under `data`, or those of them that `only` names; a folder stands for all that is in it."""
    folders = sorted({name.partition("/")[0] for name in SOURCES})
    for name in only:
        if name not in SOURCES and name not in folders:
            raise InvalidArgumentError(unknown_name_message("source", name, folders), valid=folders)
        if not (data / name).exists():
            raise InvalidArgumentError(f"'{data}' has no '{name}'")
    names = [name for name in SOURCES if (data / name).exists()]
    if only:
        names = [name for name in names if name in only or name.partition("/")[0] in only]
    if not names:
        raise InvalidArgumentError(f"'{data}' has none of the folders {', '.join(folders)}")
    return names


def read(data: Path) -> pd.DataFrame:
    """The rows of all sources that are under `data`, each once."""
    return rows.to_table(row for name in present(data) for row in SOURCES[name](data))
