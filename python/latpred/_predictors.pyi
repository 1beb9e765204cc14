"""
The LibTorch part of latpred. Private: load it through latpred._torch.
"""
from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import typing
__all__: list[str] = ['MlpRegressor']
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
