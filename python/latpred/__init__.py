"""Latency, memory, energy and MIG slice of a neural network on a device, predicted from its file.

import latpred

p = latpred.predict("resnet50.onnx", batch=32, device="A100")
p.latency_ms, p.memory_mb, p.energy_j, p.mig_profile
"""

from latpred import copies, datasets
from latpred._core import Graph, GraphBuilder, __version__
from latpred.api import calibrate, load, predict, predict_many
from latpred.calibration import Calibration
from latpred.catalog import devices, frameworks, operators, precisions, predictors, runtimes
from latpred.colocation import CoLocatedMember, CoLocation, colocate
from latpred.errors import (
    CheckpointError,
    InvalidArgumentError,
    LatpredError,
    MissingDependencyError,
    ModelFileError,
    ProfilerError,
    ShapeError,
    UnsupportedOperatorError,
)
from latpred.graph_features import features
from latpred.machine import Host, host
from latpred.prediction import Fit, Prediction
from latpred.prediction_tables import PredictionTable
from latpred.profiling import profile, protocols
from latpred.profiling_answer import Profile
from latpred.record import history
from latpred.tables import Table
from latpred.training import evaluate, train

copies.register()

__all__ = [
    "Calibration",
    "CheckpointError",
    "CoLocatedMember",
    "CoLocation",
    "Fit",
    "Graph",
    "GraphBuilder",
    "Host",
    "InvalidArgumentError",
    "LatpredError",
    "MissingDependencyError",
    "ModelFileError",
    "Prediction",
    "PredictionTable",
    "Profile",
    "ProfilerError",
    "ShapeError",
    "Table",
    "UnsupportedOperatorError",
    "__version__",
    "calibrate",
    "colocate",
    "datasets",
    "devices",
    "evaluate",
    "features",
    "frameworks",
    "history",
    "host",
    "load",
    "operators",
    "precisions",
    "predict",
    "predict_many",
    "predictors",
    "profile",
    "protocols",
    "runtimes",
    "train",
]
