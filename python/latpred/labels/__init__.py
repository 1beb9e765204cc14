"""What real runtimes make of networks: which nodes they fuse, the kernels that result, and their times."""

from latpred.labels.labelled import LabelledKernel, Labels
from latpred.labels.runtimes import LABELLERS, label

__all__ = ["LABELLERS", "LabelledKernel", "Labels", "label"]
