"""
The LibTorch part of latpred. Private: load it through latpred._torch.
"""
from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import typing
__all__: list[str] = ['KernelResidualOptions', 'MlpRegressor', 'fit_kernel_residual', 'predict_kernel_residual']
class MlpRegressor:
    """
    A multi-layer perceptron: rows of features to one number each.
    """
    def __init__(self, hidden: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> None:
        ...
    def fit(self, features: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], targets: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], *, epochs: typing.SupportsInt | typing.SupportsIndex = 100, batch_rows: typing.SupportsInt | typing.SupportsIndex = 256, learning_rate: typing.SupportsFloat | typing.SupportsIndex = 0.001, huber_delta: typing.SupportsFloat | typing.SupportsIndex = 1.0, seed: typing.SupportsInt | typing.SupportsIndex = 0) -> numpy.typing.NDArray[numpy.float64]:
        """
        Trains from fresh weights, equal for equal seeds; the mean loss of each epoch.
        """
    def predict(self, features: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def hidden(self) -> list[int]:
        ...
    @property
    def num_parameters(self) -> int:
        ...
class KernelResidualOptions:
    """
    How kernel_residual is fitted.
    """
    def __init__(self) -> None:
        ...
    @property
    def batch_rows(self) -> int:
        ...
    @batch_rows.setter
    def batch_rows(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def chip_sd(self) -> float:
        ...
    @chip_sd.setter
    def chip_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def device_sd(self) -> float:
        ...
    @device_sd.setter
    def device_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def epochs(self) -> int:
        ...
    @epochs.setter
    def epochs(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def gap_sd(self) -> float:
        ...
    @gap_sd.setter
    def gap_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def hidden(self) -> list[int]:
        ...
    @hidden.setter
    def hidden(self, arg0: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> None:
        ...
    @property
    def host_sd(self) -> float:
        ...
    @host_sd.setter
    def host_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def huber_beta(self) -> float:
        ...
    @huber_beta.setter
    def huber_beta(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def kind_sd(self) -> float:
        ...
    @kind_sd.setter
    def kind_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def learning_rate(self) -> float:
        ...
    @learning_rate.setter
    def learning_rate(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def prior_weight(self) -> float:
        ...
    @prior_weight.setter
    def prior_weight(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def seed(self) -> int:
        ...
    @seed.setter
    def seed(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def version_sd(self) -> float:
        ...
    @version_sd.setter
    def version_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def weight_penalty(self) -> float:
        ...
    @weight_penalty.setter
    def weight_penalty(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
def fit_kernel_residual(rows: dict, options: KernelResidualOptions, epoch_done: typing.Any = None) -> tuple:
    """
    Fitted arrays by name and the loss of each epoch; equal for equal seeds.
    """
def predict_kernel_residual(members: collections.abc.Sequence[dict], rows: dict) -> numpy.typing.NDArray[numpy.float64]:
    """
    float64 [N] seconds by the mean of fitted members.
    """
