"""Predictors trained on measured plain nets: train() makes one, evaluate() says how good it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from latpred.checks import check_count, check_path, check_text
from latpred.errors import InvalidArgumentError

if TYPE_CHECKING:
    from latpred.datasets.measured_nets import MeasuredNets
    from latpred.training.evaluation import Evaluation
    from latpred.training.trained import Trained

    Dataset: TypeAlias = str | os.PathLike[str] | MeasuredNets

_RUN_ON = ("cpu",)
_DATASET = "a Parquet file of measured nets or of a campaign's rows, or what latpred.datasets.measured_nets read of one"
_CHECKPOINT = "the name of a checkpoint"


def train(
    predictor: str,
    *,
    dataset: Dataset,
    out: str | os.PathLike[str],
    epochs: int | None = None,
    seed: int = 0,
    resume: bool = True,
    run_on: str = "cpu",
    progress: bool = True,
) -> Trained:
    """Trains a predictor on measured nets and writes its checkpoint; predict(predictor=out) answers with it.

    predictor: "transformer", "trees", "cache_roofline", ...: the rows of docs/training.md.
    dataset: a Parquet file of measured nets or of a campaign's rows, all of one machine and protocol.
    out: the checkpoint to write. While training runs, out + ".training" holds everything after each epoch; of a
        predictor whose depth is searched for it is a folder.
    epochs: None: the predictor's own number. seed: equal seeds give equal numbers.
    resume: go on with what an interrupted training left, and take a finished one as it is; False: start anew.
    run_on: where training computes: "cpu".
    progress: show a bar with loss and time left.
    """
    from latpred.training import loop, search
    from latpred.training.trainable import trainable_row

    row = trainable_row(check_text("predictor", predictor))
    if run_on not in _RUN_ON:
        raise InvalidArgumentError(f"run_on is {run_on!r}; training runs on {', '.join(_RUN_ON)}", valid=_RUN_ON)
    count = row.epochs if epochs is None else check_count("epochs", epochs)
    seed = check_count("seed", seed, least=0)
    run = search.run if row.search else loop.run
    path = check_path("out", out, _CHECKPOINT)
    if path.is_dir():
        raise InvalidArgumentError(f"out is a folder, '{path}'; name a file in it", path=str(path))
    return run(row, _opened(dataset), path, count, seed, resume=resume, is_shown=progress)


def evaluate(predictor: str | os.PathLike[str] | Trained, *, dataset: Dataset, part: str = "test") -> Evaluation:
    """How far a trained predictor's answers are from measured nets, by the size of their weights.

    predictor: what train() returned, or a checkpoint.
    dataset: as for train(). part: "test" (nets that its training did not see, whatever kinds of nets this data set
        has), "train", "validation" or "all".
    """
    from latpred.training.evaluation import evaluation
    from latpred.training.trained import Trained, load

    answering = (
        predictor
        if isinstance(predictor, Trained)
        else load(check_path("predictor", predictor, f"{_CHECKPOINT} or what train() returned"))
    )
    return evaluation(answering, _opened(dataset), part)


def _opened(dataset: Dataset) -> MeasuredNets:
    from latpred.datasets.measured_nets import MeasuredNets, read

    return dataset if isinstance(dataset, MeasuredNets) else read(check_path("dataset", dataset, _DATASET))


__all__ = ["evaluate", "train"]
