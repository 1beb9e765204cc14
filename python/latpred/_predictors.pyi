"""
The LibTorch part of latpred. Private: load it through latpred._torch.
"""
from __future__ import annotations
import collections.abc
import latpred._core
import numpy
import numpy.typing
import typing
__all__: list[str] = ['DenseConfig', 'DenseRegressor', 'DenseTrainer', 'FlatLine', 'GraphConfig', 'GraphPredictor', 'GraphSizes', 'GraphTrainer', 'KernelResidualOptions', 'MlpRegressor', 'NetArrays', 'PlainNetMeter', 'TransformerConfig', 'TransformerRegressor', 'TransformerTrainer', 'dense_config', 'fit_kernel_residual', 'graph_config', 'graph_config_names', 'predict_kernel_residual', 'transformer_config']
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
class GraphConfig:
    """
    How a graph neural network looks and is trained.
    """
    l2_norm: bool
    name: str
    size_norm: bool
    undirected: bool
    def __init__(self) -> None:
        ...
    @property
    def batch_graphs(self) -> int:
        ...
    @batch_graphs.setter
    def batch_graphs(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def columns(self) -> str:
        """
        'nodes' or 'readout': where columns of graphs join
        """
    @columns.setter
    def columns(self, arg0: str) -> None:
        ...
    @property
    def dense_layers(self) -> int:
        ...
    @dense_layers.setter
    def dense_layers(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def dense_width(self) -> int:
        ...
    @dense_width.setter
    def dense_width(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def dropout(self) -> float:
        ...
    @dropout.setter
    def dropout(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def epochs(self) -> int:
        ...
    @epochs.setter
    def epochs(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def heads(self) -> int:
        ...
    @heads.setter
    def heads(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def input_scale(self) -> str:
        """
        'standard' or 'log'
        """
    @input_scale.setter
    def input_scale(self, arg0: str) -> None:
        ...
    @property
    def layer(self) -> str:
        """
        'gat', 'sage', 'gcn' or 'gin'
        """
    @layer.setter
    def layer(self, arg0: str) -> None:
        ...
    @property
    def layers(self) -> int:
        ...
    @layers.setter
    def layers(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def learning_rate(self) -> float:
        ...
    @learning_rate.setter
    def learning_rate(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def loss(self) -> str:
        """
        'mse', 'rmse', 'l1' or 'huber', of scaled targets
        """
    @loss.setter
    def loss(self, arg0: str) -> None:
        ...
    @property
    def readout(self) -> str:
        """
        'sum', 'mean' or 'max'
        """
    @readout.setter
    def readout(self, arg0: str) -> None:
        ...
    @property
    def scale(self) -> str:
        """
        of targets: 'standard', 'log' or 'milliseconds'
        """
    @scale.setter
    def scale(self, arg0: str) -> None:
        ...
    @property
    def schedule(self) -> str:
        """
        'constant' or 'one_cycle'
        """
    @schedule.setter
    def schedule(self, arg0: str) -> None:
        ...
    @property
    def sum_weight(self) -> float:
        ...
    @sum_weight.setter
    def sum_weight(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def task(self) -> str:
        """
        'edges' or 'graphs'
        """
    @task.setter
    def task(self, arg0: str) -> None:
        ...
    @property
    def width(self) -> int:
        ...
    @width.setter
    def width(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
class GraphSizes:
    """
    How wide a graph neural network's ends are.
    """
    def __init__(self, node_columns: typing.SupportsInt | typing.SupportsIndex, graph_columns: typing.SupportsInt | typing.SupportsIndex = 0, operators: typing.SupportsInt | typing.SupportsIndex = 0, targets: typing.SupportsInt | typing.SupportsIndex = 0, types: typing.SupportsInt | typing.SupportsIndex = 0) -> None:
        ...
    @property
    def graph_columns(self) -> int:
        ...
    @property
    def node_columns(self) -> int:
        ...
    @property
    def operators(self) -> int:
        ...
    @property
    def targets(self) -> int:
        ...
    @property
    def types(self) -> int:
        ...
class GraphPredictor:
    """
    A trained graph neural network.
    """
    def __init__(self, config: GraphConfig, sizes: GraphSizes, arrays: dict) -> None:
        """
        arrays: what a trainer's arrays() gave.
        """
    def attention(self, graphs: dict) -> tuple:
        """
        Edges [2, e], one from each node to itself included, and for each layer how much targets attend along them [e, heads]; no layers where the network has no attention.
        """
    def predict(self, graphs: dict) -> dict:
        """
        Arrays by name: 'fusible' [E] probabilities, or 'targets' [G, T] and 'types' [G, K] probabilities.
        """
    @property
    def config(self) -> GraphConfig:
        ...
    @property
    def num_parameters(self) -> int:
        ...
    @property
    def sizes(self) -> GraphSizes:
        ...
class GraphTrainer:
    """
    Trains a graph neural network epoch by epoch, equal for equal seeds. Graphs are arrays by name: nodes [N, F], operators [N], edges [2, E], first_node [G + 1], columns [G, S]; labels fusible [E], targets [G, T], types [G], bases [G, T].
    """
    def __init__(self, config: GraphConfig, sizes: GraphSizes, seed: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def arrays(self) -> dict:
        """
        What predicts, as float64 arrays by name: for a checkpoint and GraphPredictor.
        """
    def attention(self, graphs: dict) -> tuple:
        """
        Edges [2, e], one from each node to itself included, and for each layer how much targets attend along them [e, heads]; no layers where the network has no attention.
        """
    def find_learning_rate(self, graphs: dict, lowest: typing.SupportsFloat | typing.SupportsIndex = 1e-07, highest: typing.SupportsFloat | typing.SupportsIndex = 1.0, steps: typing.SupportsInt | typing.SupportsIndex = 100) -> dict:
        """
        Losses while the rate grows, and the rate where they fall fastest; the weights stay as they are.
        """
    def fit_epoch(self, graphs: dict) -> float:
        """
        One pass over all graphs; the mean loss of its batches.
        """
    def load_state(self, state: dict) -> None:
        """
        Takes up a training of the same config, sizes and seed.
        """
    def loss(self, graphs: dict) -> float:
        """
        The mean loss of batches, nothing dropped.
        """
    def predict(self, graphs: dict) -> dict:
        """
        Arrays by name: 'fusible' [E] probabilities, or 'targets' [G, T] and 'types' [G, K] probabilities.
        """
    def state(self) -> dict:
        """
        All that training goes on from, as float64 arrays by name.
        """
    @property
    def config(self) -> GraphConfig:
        ...
    @property
    def epochs_done(self) -> int:
        ...
    @property
    def num_parameters(self) -> int:
        ...
    @property
    def seed(self) -> int:
        ...
    @property
    def sizes(self) -> GraphSizes:
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
    def chip_memory_sd(self) -> float:
        ...
    @chip_memory_sd.setter
    def chip_memory_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def chip_sd(self) -> float:
        ...
    @chip_sd.setter
    def chip_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def device_memory_sd(self) -> float:
        ...
    @device_memory_sd.setter
    def device_memory_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
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
    def launch_sd(self) -> float:
        ...
    @launch_sd.setter
    def launch_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def learning_rate(self) -> float:
        ...
    @learning_rate.setter
    def learning_rate(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def memory_sd(self) -> float:
        ...
    @memory_sd.setter
    def memory_sd(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
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
    def weight_penalty(self) -> float:
        ...
    @weight_penalty.setter
    def weight_penalty(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class NetArrays:
    """
    Plain nets as arrays: G nets of at most N nodes.
    """
    def __init__(self, attributes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], lengths: typing.Annotated[numpy.typing.ArrayLike, numpy.int64], positions: typing.Annotated[numpy.typing.ArrayLike, numpy.int64], base_s: typing.Annotated[numpy.typing.ArrayLike, numpy.float64] | None = None, target_s: typing.Annotated[numpy.typing.ArrayLike, numpy.float64] | None = None) -> None:
        """
        attributes [G, N, 3]: operation (0 input, 1 dense, 2 convolution), weight count, units; lengths [G]; positions [G]: how often a call uses each weight; base_s [G, N]: seconds of each layer by a law; target_s [G].
        """
class DenseConfig:
    """
    How a dense network over plain nets looks and is trained.
    """
    loss: str
    name: str
    schedule: str
    def __init__(self) -> None:
        ...
    @property
    def batch_nets(self) -> int:
        ...
    @batch_nets.setter
    def batch_nets(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def epochs(self) -> int:
        ...
    @epochs.setter
    def epochs(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def hidden_layers(self) -> int:
        ...
    @hidden_layers.setter
    def hidden_layers(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def huber_delta(self) -> float:
        ...
    @huber_delta.setter
    def huber_delta(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def learning_rate(self) -> float:
        ...
    @learning_rate.setter
    def learning_rate(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def most_nodes(self) -> int:
        ...
    @most_nodes.setter
    def most_nodes(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def rows(self) -> str:
        """
        'flat': a net is a row; 'layers': each layer is, and their times add up
        """
    @rows.setter
    def rows(self, arg0: str) -> None:
        ...
    @property
    def width(self) -> int:
        ...
    @width.setter
    def width(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
class DenseRegressor:
    """
    A trained dense network over plain nets.
    """
    def __init__(self, config: DenseConfig, arrays: dict) -> None:
        ...
    def predict(self, nets: NetArrays) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [G] seconds
        """
    @property
    def num_parameters(self) -> int:
        ...
class DenseTrainer:
    """
    Trains a dense network epoch by epoch, equal for equal seeds.
    """
    def __init__(self, config: DenseConfig, seed: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def arrays(self) -> dict:
        ...
    def fit_epoch(self, nets: NetArrays) -> float:
        """
        One pass over all nets; the mean loss.
        """
    def load_state(self, state: dict) -> None:
        ...
    def predict(self, nets: NetArrays) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [G] seconds
        """
    def state(self) -> dict:
        ...
    @property
    def epochs_done(self) -> int:
        ...
    @property
    def num_parameters(self) -> int:
        ...
class FlatLine:
    """
    A straight line through flattened nets, of the least coefficients.
    """
    @typing.overload
    def __init__(self, nets: NetArrays, most_nodes: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Fits.
        """
    @typing.overload
    def __init__(self, arrays: dict, most_nodes: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def arrays(self) -> dict:
        ...
    def predict(self, nets: NetArrays) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [G] seconds
        """
class TransformerConfig:
    """
    How a transformer over nodes looks and is trained.
    """
    name: str
    def __init__(self) -> None:
        ...
    @property
    def batch_graphs(self) -> int:
        ...
    @batch_graphs.setter
    def batch_graphs(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def blocks(self) -> int:
        ...
    @blocks.setter
    def blocks(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def dropout(self) -> float:
        ...
    @dropout.setter
    def dropout(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def epochs(self) -> int:
        ...
    @epochs.setter
    def epochs(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def feed_forward_width(self) -> int:
        ...
    @feed_forward_width.setter
    def feed_forward_width(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def heads(self) -> int:
        ...
    @heads.setter
    def heads(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def huber_delta(self) -> float:
        ...
    @huber_delta.setter
    def huber_delta(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def learning_rate(self) -> float:
        ...
    @learning_rate.setter
    def learning_rate(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def loss(self) -> str:
        """
        'mse', 'l1' or 'huber', of the scaled target
        """
    @loss.setter
    def loss(self, arg0: str) -> None:
        ...
    @property
    def most_nodes(self) -> int:
        """
        graphs with more are refused; 0: no limit
        """
    @most_nodes.setter
    def most_nodes(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def positions(self) -> str:
        """
        'learned' or 'sinusoidal'
        """
    @positions.setter
    def positions(self, arg0: str) -> None:
        ...
    @property
    def scale(self) -> str:
        """
        'standard' or 'log'
        """
    @scale.setter
    def scale(self, arg0: str) -> None:
        ...
    @property
    def schedule(self) -> str:
        """
        'constant' or 'one_cycle'
        """
    @schedule.setter
    def schedule(self, arg0: str) -> None:
        ...
    @property
    def width(self) -> int:
        ...
    @width.setter
    def width(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
class TransformerRegressor:
    """
    A trained transformer over nodes.
    """
    def __init__(self, config: TransformerConfig, arrays: dict) -> None:
        """
        arrays: what a trainer's arrays() gave.
        """
    def attention(self, attributes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], lengths: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.float32]:
        """
        float32 [G, blocks, heads, N, N]: how much each node attends to each other; 0 where either is padding.
        """
    def predict(self, attributes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], lengths: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [G] seconds of attributes [G, N, 3] (operation, weight count, output width), lengths [G].
        """
    @property
    def config(self) -> TransformerConfig:
        ...
    @property
    def num_parameters(self) -> int:
        ...
class TransformerTrainer:
    """
    Trains a transformer epoch by epoch, equal for equal seeds.
    """
    def __init__(self, config: TransformerConfig, seed: typing.SupportsInt | typing.SupportsIndex, threads: typing.SupportsInt | typing.SupportsIndex = 1) -> None:
        """
        Any number of threads gives the same numbers.
        """
    def arrays(self) -> dict:
        """
        What predicts, as float64 arrays by name: for a checkpoint and TransformerRegressor.
        """
    def attention(self, attributes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], lengths: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.float32]:
        """
        float32 [G, blocks, heads, N, N]
        """
    def fit_epoch(self, attributes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], lengths: typing.Annotated[numpy.typing.ArrayLike, numpy.int64], target_s: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> float:
        """
        One pass over all graphs; the mean loss of the scaled target, dropout on.
        """
    def load_state(self, state: dict) -> None:
        """
        Takes up a training of the same config and seed; what follows equals a training that never stopped.
        """
    def loss(self, attributes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], lengths: typing.Annotated[numpy.typing.ArrayLike, numpy.int64], target_s: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> float:
        """
        The mean loss without dropout, for early stopping.
        """
    def predict(self, attributes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], lengths: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [G] seconds
        """
    def state(self) -> dict:
        """
        All that training goes on from, as float64 arrays by name.
        """
    @property
    def config(self) -> TransformerConfig:
        ...
    @property
    def epochs_done(self) -> int:
        ...
    @property
    def num_parameters(self) -> int:
        ...
    @property
    def seed(self) -> int:
        ...
class PlainNetMeter:
    """
    Measures plain nets with weights from one shared pool.
    """
    def __init__(self, pool_bytes: typing.SupportsInt | typing.SupportsIndex = 4294967296) -> None:
        ...
    def measure(self, widths: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]], image_sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], *, batch: typing.SupportsInt | typing.SupportsIndex = 1, protocol: latpred._core.Protocol, core: typing.SupportsInt | typing.SupportsIndex = -1) -> list[latpred._core.Measurement]:
        """
        One Measurement for each net: its widths, and the size of its images (0: dense layers). A single thread stays on `core` meanwhile; -1: where it is.
        """
    @property
    def pool_bytes(self) -> int:
        ...
def dense_config(name: str) -> DenseConfig:
    """
    A copy of the recipe of that name: 'paper' or 'ours'.
    """
def fit_kernel_residual(rows: dict, options: KernelResidualOptions, epoch_done: typing.Any = None) -> tuple:
    """
    Fitted arrays by name and the loss of each epoch; equal for equal seeds.
    """
def graph_config(name: str) -> GraphConfig:
    """
    A copy of the recipe of that name.
    """
def graph_config_names() -> list[str]:
    ...
def predict_kernel_residual(members: collections.abc.Sequence[dict], rows: dict) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
    """
    By the mean of fitted members: float64 [N] seconds, and [N] those that the host takes, some of them while the device computes.
    """
def transformer_config(name: str) -> TransformerConfig:
    """
    A copy of the recipe of that name.
    """
