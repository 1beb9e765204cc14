"""
The compiled part of latpred. Private: use the names of the latpred package.
"""
from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import typing
__all__: list[str] = ['Answer', 'BandwidthPoint', 'Cache', 'CalibrationFactors', 'Clock', 'Criterion', 'CudaClock', 'CudaGraph', 'CudaLibraries', 'Device', 'EnergyEstimate', 'EnergyWindow', 'Evidence', 'Fact', 'FeatureColumn', 'Features', 'GivenLatency', 'Gpu', 'GpuFacts', 'GpuMemory', 'GpuState', 'Graph', 'GraphBuilder', 'GraphColumn', 'HostClock', 'HostFacts', 'HostRead', 'HostSpeed', 'IntervalTerms', 'Kernel', 'KernelRow', 'KernelTerms', 'Kernels', 'Label', 'LabelRule', 'LatencyOutput', 'LoadedPredictor', 'Measurement', 'MemoryEstimate', 'MemoryFit', 'NO_BATCH', 'Node', 'NodeFeatureSet', 'NodeFeatures', 'Operator', 'Partition', 'PartitionRow', 'Pinning', 'Precision', 'PredictRequest', 'Predictor', 'Program', 'Protocol', 'ProtocolRow', 'ReferenceRun', 'ReferenceWorkload', 'ResourceProfile', 'Runtime', 'Sample', 'Session', 'SharingMode', 'SmPartition', 'SniffedFile', 'Source', 'Statistics', 'TORCH_VERSION', 'Tensor', 'TermColumn', 'TermRow', 'allowed_cores', 'checkpoint_format', 'choose_label', 'core_times', 'criteria', 'cuda_unavailable_reason', 'device', 'device_aliases', 'devices', 'estimate_energy', 'estimate_memory', 'extract_subgraphs', 'feature_columns', 'featurize', 'fit_interference', 'frameworks', 'fuse', 'gpu_facts', 'host_device', 'host_facts', 'input_copy_s', 'inputs_with_steps_first', 'interference', 'join_host_s', 'kernel_terms', 'label_rules', 'largest_batch', 'load_predictor', 'measure', 'measure_host', 'memory_fit', 'memory_kinds', 'mig_profiles', 'node_features', 'operators', 'outliers', 'partition', 'pick_mig_profile', 'precisions', 'predictors', 'protocol', 'protocols', 'read_exported_program', 'read_program', 'reference_run', 'reference_workloads', 'resolve', 'resource_profile', 'runtime', 'runtimes', 'samples_wanted', 'sharing_modes', 'slow_down', 'sniff_path', 'statistics', 'term_columns', 'term_rows', 'unknown_name_message', 'version_age', 'version_stack', 'version_standing_for', 'with_batch', 'with_speed']
class Statistics:
    """
    What repeated times say; seconds, and shares relative to 1.
    """
    def __repr__(self) -> str:
        ...
    @property
    def coefficient_of_variation(self) -> float | None:
        """
        Standard deviation over mean; None for a single time.
        """
    @property
    def count(self) -> int:
        ...
    @property
    def max(self) -> float:
        ...
    @property
    def mean(self) -> float:
        ...
    @property
    def median(self) -> float:
        ...
    @property
    def median_absolute_deviation(self) -> float:
        ...
    @property
    def min(self) -> float:
        ...
    @property
    def noise(self) -> float:
        """
        1.4826 times the median absolute deviation, over the median.
        """
    @property
    def outliers(self) -> int:
        """
        How many of the times.
        """
    @property
    def p05(self) -> float:
        ...
    @property
    def p25(self) -> float:
        ...
    @property
    def p75(self) -> float:
        ...
    @property
    def p95(self) -> float:
        ...
    @property
    def standard_deviation(self) -> float | None:
        """
        Unbiased; None for a single time.
        """
class Criterion:
    """
    A row of the table of stopping criteria.
    """
    def __repr__(self) -> str:
        ...
    @property
    def default_threshold(self) -> float:
        ...
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def threshold_meaning(self) -> str:
        ...
class ReferenceRun:
    """
    A reference workload of some duration; calling it runs it once.
    """
    def __call__(self) -> None:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def times_s(self) -> list[float]:
        """
        Of each run so far, by a clock of its own.
        """
class ReferenceWorkload:
    """
    A workload whose duration is known beforehand.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
class Protocol:
    """
    How to measure; a copy of a row may be changed, and then named anew.
    """
    criterion: str
    name: str
    @typing.overload
    def __init__(self) -> None:
        ...
    @typing.overload
    def __init__(self, other: Protocol) -> None:
        ...
    def __repr__(self) -> str:
        ...
    def __str__(self) -> str:
        ...
    @property
    def label(self) -> str:
        """
        A row of label_rules().
        """
    @label.setter
    def label(self, arg0: str) -> None:
        ...
    @property
    def max_coefficient_of_variation(self) -> float:
        """
        Above it, all is measured again.
        """
    @max_coefficient_of_variation.setter
    def max_coefficient_of_variation(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def max_repetitions(self) -> int:
        ...
    @max_repetitions.setter
    def max_repetitions(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def max_samples(self) -> int:
        ...
    @max_samples.setter
    def max_samples(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def min_s(self) -> float:
        """
        Sample at least this long.
        """
    @min_s.setter
    def min_s(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def min_samples(self) -> int:
        ...
    @min_samples.setter
    def min_samples(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def runs_per_sample(self) -> int:
        ...
    @runs_per_sample.setter
    def runs_per_sample(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def threads(self) -> int:
        """
        That the workload runs on.
        """
    @threads.setter
    def threads(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def threshold(self) -> float | None:
        """
        Of the criterion; None: its own.
        """
    @threshold.setter
    def threshold(self, arg0: typing.SupportsFloat | typing.SupportsIndex | None) -> None:
        ...
    @property
    def timeout_s(self) -> float:
        """
        Of all runs together.
        """
    @timeout_s.setter
    def timeout_s(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def warm_up(self) -> int:
        """
        Runs before the samples.
        """
    @warm_up.setter
    def warm_up(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def warm_up_s(self) -> float:
        """
        Warm up at least this long.
        """
    @warm_up_s.setter
    def warm_up_s(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class ProtocolRow:
    """
    A named protocol.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def protocol(self) -> Protocol:
        ...
class LabelRule:
    """
    How the one number is chosen from the samples.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
class Sample:
    """
    One timed run, or the mean of runs_per_sample of them.
    """
    def __init__(self, wall_s: typing.SupportsFloat | typing.SupportsIndex, cpu_s: typing.SupportsFloat | typing.SupportsIndex = 0, context_switches: typing.SupportsInt | typing.SupportsIndex = 0, waits: typing.SupportsInt | typing.SupportsIndex = 0) -> None:
        ...
    def __repr__(self) -> str:
        ...
    @property
    def context_switches(self) -> int:
        """
        The scheduler took the core away.
        """
    @property
    def cpu_s(self) -> float:
        """
        Of the calling thread alone.
        """
    @property
    def waits(self) -> int:
        """
        The thread gave the core away itself.
        """
    @property
    def wall_s(self) -> float:
        ...
class Label:
    """
    The one number of several samples, and how it was chosen.
    """
    @property
    def how(self) -> str:
        ...
    @property
    def latency_s(self) -> float:
        ...
    @property
    def times_s(self) -> list[float]:
        ...
class Clock:
    """
    What times are read from: HostClock, or a GPU's.
    """
    @property
    def device_fingerprint(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
class Measurement:
    """
    What one protocol found of one workload.
    """
    device_fingerprint: str
    def __repr__(self) -> str:
        ...
    @property
    def clock(self) -> str:
        ...
    @property
    def discarded(self) -> list[list[Sample]]:
        """
        Samples of repetitions that varied too much.
        """
    @property
    def first_run(self) -> Sample:
        ...
    @property
    def is_stable(self) -> bool:
        ...
    @property
    def label(self) -> str:
        """
        How it was chosen.
        """
    @property
    def latency_s(self) -> float:
        """
        The label.
        """
    @property
    def protocol(self) -> str:
        ...
    @property
    def samples(self) -> list[Sample]:
        ...
    @property
    def statistics(self) -> Statistics:
        """
        Of the times that the label was chosen from.
        """
    @property
    def stopped_by(self) -> str:
        ...
    @property
    def total_s(self) -> float:
        ...
    @property
    def versions(self) -> list[tuple[str, str]]:
        """
        Pairs of library and version.
        """
    @versions.setter
    def versions(self, arg0: collections.abc.Sequence[tuple[str, str]]) -> None:
        ...
class HostClock(Clock):
    """
    Monotonic and thread CPU clock, and context switches.
    """
    def __init__(self) -> None:
        ...
    def now_s(self) -> float:
        ...
    def start(self) -> None:
        ...
    def stop(self) -> Sample:
        """
        The sample since start().
        """
class CudaLibraries:
    """
    Files of NVIDIA's driver; other ones are for tests.
    """
    def __init__(self, driver: str = 'libcuda.so.1', nvml: str = 'libnvidia-ml.so.1') -> None:
        ...
    @property
    def driver(self) -> str:
        ...
    @property
    def nvml(self) -> str:
        ...
class GpuFacts:
    """
    What the driver says about a GPU; None: unknown.
    """
    @property
    def clock_hz(self) -> float | None:
        """
        The highest of the multiprocessors.
        """
    @property
    def compute_capability(self) -> int:
        """
        major * 10 + minor
        """
    @property
    def cuda_version(self) -> int:
        """
        That the driver understands: 13000.
        """
    @property
    def driver_version(self) -> str:
        ...
    @property
    def fingerprint(self) -> str:
        ...
    @property
    def index(self) -> int:
        ...
    @property
    def l2_bytes(self) -> int | None:
        ...
    @property
    def memory_bus_bits(self) -> int | None:
        ...
    @property
    def memory_bytes(self) -> int:
        ...
    @property
    def memory_clock_hz(self) -> float | None:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def pci_bus_id(self) -> str:
        ...
    @property
    def power_limit_w(self) -> float | None:
        ...
    @property
    def sms(self) -> int:
        ...
    @property
    def uuid(self) -> str:
        ...
class GpuState:
    """
    Of a moment; None: unknown.
    """
    @property
    def clock_reasons(self) -> list[str]:
        ...
    @property
    def is_throttled(self) -> bool:
        ...
    @property
    def memory_clock_hz(self) -> float | None:
        ...
    @property
    def nvml_missing(self) -> str:
        """
        Why NVML cannot be asked; empty where it can.
        """
    @property
    def power_w(self) -> float | None:
        ...
    @property
    def sm_clock_hz(self) -> float | None:
        ...
    @property
    def temperature_celsius(self) -> float | None:
        ...
class GpuMemory:
    """
    Bytes; None: unknown.
    """
    @property
    def context_bytes(self) -> int | None:
        """
        What opening the context took.
        """
    @property
    def device_reserved_bytes(self) -> int | None:
        """
        By driver and firmware.
        """
    @property
    def device_used_bytes(self) -> int | None:
        """
        Of all processes.
        """
    @property
    def free_bytes(self) -> int:
        ...
    @property
    def process_bytes(self) -> int | None:
        """
        Of this process.
        """
    @property
    def total_bytes(self) -> int:
        ...
class EnergyWindow:
    """
    Energy of the whole board while something ran on and on.
    """
    @property
    def end_celsius(self) -> float | None:
        ...
    @property
    def energy_j(self) -> float:
        ...
    @property
    def energy_per_run_j(self) -> float:
        ...
    @property
    def mean_power_w(self) -> float:
        ...
    @property
    def note(self) -> str:
        ...
    @property
    def runs(self) -> int:
        ...
    @property
    def source(self) -> str:
        ...
    @property
    def start_celsius(self) -> float | None:
        ...
    @property
    def throttle_reasons(self) -> list[str]:
        ...
    @property
    def window_s(self) -> float:
        ...
class Gpu:
    """
    One NVIDIA GPU with its primary context held open.
    """
    def __init__(self, index: typing.SupportsInt | typing.SupportsIndex = 0, libraries: CudaLibraries = ...) -> None:
        ...
    def measure_energy(self, run_once: collections.abc.Callable[[], typing.Any], stream: typing.SupportsInt | typing.SupportsIndex = 0, min_s: typing.SupportsFloat | typing.SupportsIndex = 2.0, warm_up_s: typing.SupportsFloat | typing.SupportsIndex = 0.5) -> EnergyWindow:
        """
        Runs on and on for min_s, at least 2, waiting for the stream after each run.
        """
    def memory(self) -> GpuMemory:
        ...
    def partition_sizes(self) -> list[int]:
        """
        Numbers of multiprocessors that a partition can have.
        """
    def partitions(self, sms: typing.SupportsInt | typing.SupportsIndex, count: typing.SupportsInt | typing.SupportsIndex = 1) -> list[SmPartition]:
        """
        Disjoint parts of so many multiprocessors each.
        """
    def state(self) -> GpuState:
        """
        Clocks, temperature, power and why clocks are what they are.
        """
    def synchronize(self, stream: typing.SupportsInt | typing.SupportsIndex = 0) -> None:
        """
        Waits until the stream is done.
        """
    @property
    def facts(self) -> GpuFacts:
        ...
class CudaClock(Clock):
    """
    Time between two events on a stream, a clock for measure().
    """
    def __init__(self, gpu: Gpu, stream: typing.SupportsInt | typing.SupportsIndex = 0, flush_l2: bool = False, block_stream: bool = False, block_timeout_s: typing.SupportsFloat | typing.SupportsIndex = 1.0) -> None:
        """
        stream: as torch.cuda.Stream.cuda_stream gives it, 0 for the default. flush_l2: overwrite the L2 cache before each sample. block_stream: hold the stream back until all is queued.
        """
    def now_s(self) -> float:
        ...
    def start(self) -> None:
        ...
    def stop(self) -> Sample:
        """
        The sample since start().
        """
    @property
    def block_timeouts(self) -> int:
        """
        How often the block opened by itself; after the second the stream is not blocked.
        """
    @property
    def throttle_reasons(self) -> list[str]:
        """
        Why clocks were lowered while samples ran.
        """
class CudaGraph:
    """
    Work captured from a stream, launched as one.
    """
    def __init__(self, gpu: Gpu, stream: typing.SupportsInt | typing.SupportsIndex, enqueue: collections.abc.Callable[[], typing.Any]) -> None:
        """
        Work of PyTorch is captured by torch.cuda.graph, which knows PyTorch's memory pool as well.
        """
    def launch(self, stream: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def nodes(self) -> int:
        ...
class SmPartition:
    """
    Multiprocessors of its own, for what runs on its stream.
    """
    @property
    def sms(self) -> int:
        ...
    @property
    def stream(self) -> int:
        """
        For torch.cuda.ExternalStream.
        """
class Pinning:
    """
    with Pinning(core) as core: keeps this thread there. -1: where it is.
    """
    def __enter__(self) -> int:
        ...
    def __exit__(self, *args) -> None:
        ...
    def __init__(self, core: typing.SupportsInt | typing.SupportsIndex = -1) -> None:
        ...
class Cache:
    """
    A cache of the processor.
    """
    def __repr__(self) -> str:
        ...
    @property
    def kind(self) -> str:
        ...
    @property
    def level(self) -> int:
        ...
    @property
    def shared_by(self) -> int:
        """
        Logical processors.
        """
    @property
    def size_bytes(self) -> int:
        ...
class HostFacts:
    """
    What the system says about this machine. None and empty mean unknown.
    """
    def __repr__(self) -> str:
        ...
    @property
    def allowed_cores(self) -> int:
        """
        That the first to ask may run on.
        """
    @property
    def caches(self) -> list[Cache]:
        ...
    @property
    def family(self) -> int | None:
        ...
    @property
    def fingerprint(self) -> str:
        ...
    @property
    def is_virtual(self) -> bool:
        ...
    @property
    def isa_features(self) -> list[str]:
        ...
    @property
    def isa_level(self) -> str:
        ...
    @property
    def logical_cores(self) -> int:
        ...
    @property
    def memory_bytes(self) -> int | None:
        ...
    @property
    def model(self) -> int | None:
        ...
    @property
    def model_name(self) -> str:
        ...
    @property
    def physical_cores(self) -> int | None:
        ...
    @property
    def stepping(self) -> int | None:
        ...
    @property
    def vendor(self) -> str:
        ...
class BandwidthPoint:
    """
    Reads by one thread over a working set.
    """
    @property
    def bytes_per_s(self) -> float:
        ...
    @property
    def working_set_bytes(self) -> float:
        ...
class HostSpeed:
    """
    What one core really does, measured.
    """
    @property
    def fp32_flops_per_s(self) -> float:
        ...
    @property
    def kernels(self) -> str:
        """
        The instruction set of the loops.
        """
    @property
    def measured_s(self) -> float:
        """
        How long it took.
        """
    @property
    def read_bandwidth(self) -> list[BandwidthPoint]:
        ...
class Source:
    """
    Where a network came from.
    """
    def __repr__(self) -> str:
        ...
    @property
    def format(self) -> str:
        ...
    @property
    def framework(self) -> str:
        ...
    @property
    def num_nodes(self) -> int:
        """
        Nodes as stored, before anything is folded.
        """
    @property
    def operator_counts(self) -> dict[str, int]:
        """
        Stored operator name -> how often it occurs.
        """
    @property
    def path(self) -> str:
        ...
    @property
    def producer(self) -> str:
        ...
class Program:
    """
    What a model file says, before the batch and the sizes are known.
    """
    def warn(self, text: str) -> None:
        """
        Adds what its graphs will say among their warnings.
        """
    @property
    def inputs(self) -> list[str]:
        """
        Names of the inputs that the caller gives: weights that are listed as inputs are none.
        """
    @property
    def num_stored(self) -> int:
        """
        Weights and constants in the file, those in branches and loops included.
        """
    @property
    def source(self) -> Source:
        ...
    @property
    def warnings(self) -> list[str]:
        ...
class Tensor:
    """
    A tensor of a graph.
    """
    def __repr__(self) -> str:
        ...
    @property
    def dtype(self) -> str:
        ...
    @property
    def dtype_id(self) -> int:
        """
        ONNX's number of the type.
        """
    @property
    def id(self) -> int:
        ...
    @property
    def kind(self) -> str:
        """
        activation, input, parameter, statistic or constant
        """
    @property
    def name(self) -> str:
        ...
    @property
    def num_elements(self) -> int:
        ...
    @property
    def shape(self) -> tuple[int, ...]:
        ...
    @property
    def size_bytes(self) -> int:
        ...
    @property
    def value(self) -> typing.Any:
        """
        The content of a small constant, row-major; None where it is unknown.
        """
class Node:
    """
    An operator of a graph. Costs are those of one execution.
    """
    def __repr__(self) -> str:
        ...
    @property
    def attributes(self) -> dict[str, typing.Any]:
        ...
    @property
    def bytes_in(self) -> int:
        ...
    @property
    def bytes_out(self) -> int:
        ...
    @property
    def family(self) -> str:
        ...
    @property
    def flops(self) -> float:
        """
        2 x macs + element-wise operations
        """
    @property
    def id(self) -> int:
        ...
    @property
    def inputs(self) -> list[Tensor | None]:
        """
        Tensors; None where an optional input is left out.
        """
    @property
    def macs(self) -> float:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def operator(self) -> str:
        ...
    @property
    def outputs(self) -> list[Tensor | None]:
        ...
    @property
    def repeat(self) -> int:
        """
        How often a loop executes it.
        """
    @property
    def source_operator(self) -> str:
        """
        The operator as the file names it.
        """
    @property
    def weight_bytes(self) -> int:
        ...
class Graph:
    """
    The user's network with every shape a number, in execution order. Read-only.
    """
    def __len__(self) -> int:
        ...
    def __repr__(self) -> str:
        ...
    def __str__(self) -> str:
        ...
    def _repr_html_(self) -> str:
        ...
    def adjacency(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        Producer and consumer of every data edge: int32 [E, 2].
        """
    def to_onnx(self, path: typing.Any) -> None:
        """
        Writes an ONNX file without weights, for viewers and other tools. Needs latpred[onnx].
        """
    def to_pandas(self) -> typing.Any:
        """
        One row for each node. Needs latpred[data].
        """
    def with_batch(self, batch: typing.SupportsInt | typing.SupportsIndex) -> Graph:
        """
        The same network at another batch.
        """
    def with_channels_last(self) -> Graph:
        """
        The same network as model.to(memory_format=torch.channels_last) makes PyTorch run it.
        """
    @property
    def batch(self) -> int:
        ...
    @property
    def channels_last(self) -> bool:
        """
        Whether PyTorch runs it with the channels of images innermost: its filters lie so.
        """
    @property
    def flops(self) -> float:
        """
        2 x macs + element-wise operations.
        """
    @property
    def hash(self) -> str:
        """
        Of structure, operators, attributes and shapes (batch included); 16 hex digits.
        """
    @property
    def inputs(self) -> list[Tensor]:
        ...
    @property
    def macs(self) -> float:
        """
        Multiply-accumulates of one call on the whole batch.
        """
    @property
    def nodes(self) -> list[Node]:
        ...
    @property
    def num_parameters(self) -> int:
        ...
    @property
    def num_statistics(self) -> int:
        """
        Elements of running means and variances: stored, not trained.
        """
    @property
    def operators(self) -> dict[str, int]:
        """
        Operator name -> how many nodes.
        """
    @property
    def outputs(self) -> list[Tensor]:
        ...
    @property
    def source(self) -> Source:
        ...
    @property
    def tensors(self) -> list[Tensor]:
        ...
    @property
    def warnings(self) -> list[str]:
        ...
    @property
    def weight_bytes(self) -> int:
        ...
class Operator:
    """
    A row of the operator table.
    """
    def __repr__(self) -> str:
        ...
    @property
    def cost_kind(self) -> str:
        ...
    @property
    def family(self) -> str:
        ...
    @property
    def flops_per_element(self) -> float:
        ...
    @property
    def id(self) -> int:
        ...
    @property
    def name(self) -> str:
        ...
class SniffedFile:
    """
    What kind of file a path leads to, told by the content.
    """
    @property
    def advice(self) -> str:
        ...
    @property
    def framework(self) -> str:
        ...
    @property
    def is_native(self) -> bool:
        ...
    @property
    def kind(self) -> str:
        ...
    @property
    def message(self) -> str:
        ...
    @property
    def path(self) -> str:
        ...
    @property
    def what(self) -> str:
        ...
class GraphBuilder:
    """
    Makes a Graph by hand, for networks that exist in no file.
    
        net = latpred.GraphBuilder()
        x = net.input("data", (3, 224, 224))
        y = net.apply("conv", [x, net.parameter((64, 3, 7, 7))], strides=[2, 2], pads=[3, 3, 3, 3])
        net.output(net.apply("relu", y))
        graph = net.build(batch=8)
    
    Operators and attributes have ONNX's meaning; their names are those of latpred.operators().
    """
    def __init__(self) -> None:
        ...
    def apply(self, operator: str, inputs: typing.SupportsInt | typing.SupportsIndex | collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex | None], *, num_outputs: typing.SupportsInt | typing.SupportsIndex = 1, name: str = '', **kwargs: typing.Any) -> typing.Any:
        """
        Applies an operator to variables (None: an optional input left out); returns its output, or a tuple.
        """
    def build(self, batch: typing.SupportsInt | typing.SupportsIndex = 1) -> Graph:
        """
        The graph at this batch.
        """
    def constant(self, values: typing.SupportsInt | typing.SupportsIndex | collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> int:
        """
        Stored integers (a shape, axes, indices): one, or a list.
        """
    def input(self, name: str, sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dtype: str = 'float32') -> int:
        """
        An input of the network; `sizes` are without the batch, which comes first.
        """
    def output(self, variable: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Declares an output of the network.
        """
    def parameter(self, shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dtype: str = 'float32', *, name: str = '') -> int:
        """
        A trained weight.
        """
    def program(self) -> Program:
        ...
class Precision:
    """
    A row of the precision table.
    """
    def __repr__(self) -> str:
        ...
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
class Runtime:
    """
    A row of the runtime table.
    """
    def __repr__(self) -> str:
        ...
    @property
    def description(self) -> str:
        ...
    @property
    def fuses(self) -> bool:
        ...
    @property
    def host_s_per_launch(self) -> float:
        ...
    @property
    def host_source(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def on_cpu(self) -> bool:
        ...
    @property
    def on_gpu(self) -> bool:
        ...
    @property
    def precisions(self) -> list[str]:
        """
        Accepted besides 'default'.
        """
    @property
    def strided_views(self) -> bool:
        """
        PyTorch's: images may lie with their channels innermost.
        """
class Kernel:
    """
    One thing that a runtime executes. Quantities are of one execution.
    """
    def __repr__(self) -> str:
        ...
    @property
    def arithmetic(self) -> str:
        ...
    @property
    def bytes_in(self) -> float:
        ...
    @property
    def bytes_out(self) -> float:
        ...
    @property
    def channels_last(self) -> bool:
        ...
    @property
    def concatenates(self) -> bool:
        ...
    @property
    def flops(self) -> float:
        ...
    @property
    def gemm_batch(self) -> float:
        ...
    @property
    def groups(self) -> float:
        ...
    @property
    def interpolates(self) -> bool:
        ...
    @property
    def is_native_depthwise(self) -> bool:
        ...
    @property
    def is_unaligned(self) -> bool:
        ...
    @property
    def k(self) -> float:
        ...
    @property
    def kind(self) -> str:
        ...
    @property
    def m(self) -> float:
        ...
    @property
    def macs(self) -> float:
        ...
    @property
    def masked(self) -> bool:
        ...
    @property
    def members(self) -> list[int]:
        """
        Ids of the graph's nodes.
        """
    @property
    def n(self) -> float:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def normalised(self) -> float:
        ...
    @property
    def pooled(self) -> float:
        ...
    @property
    def positions(self) -> float:
        ...
    @property
    def reads_across(self) -> bool:
        ...
    @property
    def repeat(self) -> int:
        ...
    @property
    def row(self) -> float:
        ...
    @property
    def stride(self) -> float:
        ...
    @property
    def weight_bytes(self) -> float:
        ...
    @property
    def window(self) -> float:
        ...
class Kernels:
    """
    What a runtime executes for a graph at a precision, in order.
    """
    @property
    def num_launches(self) -> int:
        ...
    @property
    def num_views(self) -> int:
        ...
    @property
    def precision(self) -> str:
        ...
    @property
    def rows(self) -> list[Kernel]:
        ...
    @property
    def runtime(self) -> str:
        ...
    @property
    def unknown_operators(self) -> list[str]:
        ...
class Fact:
    """
    A number, and whether it was worked out by a rule instead of read in a source.
    """
    def __repr__(self) -> str:
        ...
    @property
    def estimated(self) -> bool:
        ...
    @property
    def value(self) -> float:
        ...
class Device:
    """
    A row of the device table. None means unknown.
    """
    def __repr__(self) -> str:
        ...
    def peak_flops_per_s(self, arithmetic: str) -> float | None:
        """
        Peak of the units that run this arithmetic; None where it is unknown.
        """
    @property
    def architecture(self) -> str:
        ...
    @property
    def bandwidth_bytes_per_s(self) -> float:
        ...
    @property
    def bandwidth_bytes_per_s_per_sm(self) -> Fact:
        ...
    @property
    def bf16_flops_per_s(self) -> float | None:
        ...
    @property
    def clock_hz(self) -> float | None:
        ...
    @property
    def compute_capability(self) -> int | None:
        """
        major x 10 + minor
        """
    @property
    def context_bytes(self) -> Fact:
        """
        Driver context and loaded libraries.
        """
    @property
    def cuda_cores(self) -> float | None:
        ...
    @property
    def fp16_flops_per_s(self) -> float | None:
        ...
    @property
    def fp32_flops_per_s(self) -> float | None:
        ...
    @property
    def fp8_flops_per_s(self) -> float | None:
        ...
    @property
    def has_mig(self) -> bool:
        ...
    @property
    def idle_power_w(self) -> Fact:
        ...
    @property
    def int8_ops_per_s(self) -> float | None:
        ...
    @property
    def is_gpu(self) -> bool:
        ...
    @property
    def l2_bytes(self) -> float | None:
        ...
    @property
    def memory_bus_bits(self) -> float | None:
        ...
    @property
    def memory_bytes(self) -> float:
        ...
    @property
    def memory_clock_hz(self) -> float | None:
        ...
    @property
    def memory_type(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def note(self) -> str:
        ...
    @property
    def power_limit_w(self) -> float | None:
        ...
    @property
    def sms(self) -> float:
        """
        Streaming multiprocessors; cores of a CPU.
        """
    @property
    def source(self) -> str:
        ...
    @property
    def sustained_share(self) -> Fact:
        """
        Share of the data-sheet peak that a long run holds under the power limit.
        """
    @property
    def tensor_cores(self) -> float | None:
        ...
    @property
    def tf32_flops_per_s(self) -> float | None:
        ...
    @property
    def vendor_name(self) -> str:
        """
        What the driver reports.
        """
class HostRead:
    """
    What one core alone and all at once read, each of so many bytes.
    """
    def __init__(self, bytes_of_each: typing.SupportsFloat | typing.SupportsIndex, one_bytes_per_s: typing.SupportsFloat | typing.SupportsIndex, all_bytes_per_s: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class Partition:
    """
    A part of a device, or all of it.
    """
    def __repr__(self) -> str:
        ...
    def bandwidth_bytes_per_s(self, device: Device) -> float:
        """
        What its memory slices and its SMs can move.
        """
    @property
    def bandwidth_share(self) -> float:
        ...
    @property
    def l2_share(self) -> float:
        ...
    @property
    def max_instances(self) -> int:
        """
        How many fit on one device.
        """
    @property
    def memory_bytes(self) -> float:
        """
        Usable.
        """
    @property
    def name(self) -> str:
        """
        Empty: the whole device.
        """
    @property
    def sm_share(self) -> float:
        ...
    @property
    def sms(self) -> float:
        ...
class FeatureColumn:
    """
    A row of the feature table.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def unit(self) -> str:
        ...
class Features:
    """
    A table of kernels on a device.
    """
    @property
    def bandwidth_bytes_per_s(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def compute_s(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def memory_s(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def peak_flops_per_s(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def roofline_s(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def values(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [K, F], columns as in feature_columns()
        """
class GraphColumn:
    """
    A number of a node or of a graph.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def unit(self) -> str:
        ...
class NodeFeatureSet:
    """
    What graph neural networks read, by the recipe of a paper.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def graph_columns(self) -> list[GraphColumn]:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def node_columns(self) -> list[GraphColumn]:
        ...
class NodeFeatures:
    """
    A graph as plain arrays.
    """
    def __repr__(self) -> str:
        ...
    def adjacency(self) -> numpy.typing.NDArray[numpy.uint8]:
        """
        uint8 [N, N]: 1 where the row's node gives what the column's node reads
        """
    @property
    def edges(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        int64 [2, E]: producers and consumers, each pair once
        """
    @property
    def graph(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [S]: set.graph_columns
        """
    @property
    def nodes(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [N, F]: set.node_columns
        """
    @property
    def operators(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        int64 [N]: places in operators()
        """
    @property
    def set(self) -> NodeFeatureSet:
        ...
class TermRow:
    """
    A physical number of a kernel on a device.
    """
    @property
    def name(self) -> str:
        ...
    @property
    def unit(self) -> str:
        ...
class TermColumn:
    """
    An input of the learnt efficiency of a kernel.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def unit(self) -> str:
        ...
class KernelTerms:
    """
    Kernels on a device as plain numbers, equal ones once.
    """
    @property
    def columns(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [K, F]: term_columns()
        """
    @property
    def counts(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [K]: kernels that a row stands for, repeats included
        """
    @property
    def terms(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        float64 [K, T]: term_rows()
        """
class ResourceProfile:
    """
    What a network asks of its share of a device when alone.
    """
    def __init__(self, *, latency_s: typing.SupportsFloat | typing.SupportsIndex, busy_share: typing.SupportsFloat | typing.SupportsIndex, sm_share: typing.SupportsFloat | typing.SupportsIndex, memory_share: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def busy_share(self) -> float:
        ...
    @property
    def latency_s(self) -> float:
        ...
    @property
    def memory_share(self) -> float:
        ...
    @property
    def sm_share(self) -> float:
        ...
class SharingMode:
    """
    A way to share a device.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def on_cpus(self) -> bool:
        ...
    @property
    def on_gpus(self) -> bool:
        ...
    @property
    def terms(self) -> list[tuple[str, str]]:
        """
        Name and description of each.
        """
class MemoryEstimate:
    """
    Peak memory of the process on the device and its parts.
    """
    @property
    def activations_peak_bytes(self) -> float:
        ...
    @property
    def allocator_bytes(self) -> float:
        ...
    @property
    def context_bytes(self) -> float:
        ...
    @property
    def inputs_bytes(self) -> float:
        ...
    @property
    def peak_node(self) -> int:
        """
        Id of the node that runs at the peak; -1: none.
        """
    @property
    def total_bytes(self) -> float:
        ...
    @property
    def weights_bytes(self) -> float:
        ...
    @property
    def workspace_bytes(self) -> float:
        ...
class EnergyEstimate:
    """
    Board energy of one call.
    """
    @property
    def energy_j(self) -> float:
        ...
    @property
    def lower_j(self) -> float:
        """
        Idle power times the latency.
        """
    @property
    def mean_power_w(self) -> float:
        ...
    @property
    def power_log_half_width(self) -> float:
        ...
    @property
    def provenance(self) -> str:
        ...
    @property
    def upper_j(self) -> float:
        """
        Power limit times the latency.
        """
class Predictor:
    """
    A row of the predictor table.
    """
    def __repr__(self) -> str:
        ...
    @property
    def checkpoint(self) -> str:
        """
        Its file under data/predictors.
        """
    @property
    def description(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
class LatencyOutput:
    """
    What a predictor answers: kernels and host wait add up.
    """
    @property
    def host_s(self) -> float:
        """
        The host's time for all launches.
        """
    @property
    def host_wait_s(self) -> float:
        ...
    @property
    def kernel_s(self) -> list[float]:
        """
        [K] seconds, repeats included.
        """
    @property
    def latency_s(self) -> float:
        ...
class LoadedPredictor:
    """
    A predictor with its checkpoint.
    """
    def latency(self, graph: Graph, kernels: Kernels, device: str, partition: str = '', version: str = '') -> LatencyOutput:
        """
        Latency of one call, without the input copy. version: of the runtime, whole; empty: its newest.
        """
class IntervalTerms:
    """
    What the width of an interval is made of, on the log scale.
    """
    @property
    def cpu(self) -> float:
        ...
    @property
    def device_sd(self) -> float:
        ...
    @property
    def host_sd(self) -> float:
        ...
    @property
    def known_device(self) -> float:
        ...
    @property
    def unknown_device(self) -> float:
        ...
class Evidence:
    """
    What a predictor was fitted and checked on.
    """
    @property
    def devices(self) -> list[str]:
        ...
    @property
    def predictor(self) -> str:
        ...
    @property
    def terms(self) -> IntervalTerms:
        ...
    @property
    def versions(self) -> dict[str, list[str]]:
        ...
class CalibrationFactors:
    """
    What a calibration puts on a predictor's times.
    """
    def __init__(self, *, name: str, device: str, partition: str, runtime: str, precision: str, input_on: str, predictor: str, scale: typing.SupportsFloat | typing.SupportsIndex | None, host_scale: typing.SupportsFloat | typing.SupportsIndex | None, kind_factors: collections.abc.Mapping[str, typing.SupportsFloat | typing.SupportsIndex], timed_kinds: collections.abc.Sequence[str], log_sd: typing.SupportsFloat | typing.SupportsIndex, records: collections.abc.Sequence[tuple[str, typing.SupportsInt | typing.SupportsIndex, typing.SupportsFloat | typing.SupportsIndex, typing.SupportsFloat | typing.SupportsIndex | None]]) -> None:
        ...
class GivenLatency:
    """
    The latency of a whole call by a trained predictor, its interval and its evidence.
    """
    def __init__(self, *, latency_s: typing.SupportsFloat | typing.SupportsIndex, interval_s: tuple[typing.SupportsFloat | typing.SupportsIndex, typing.SupportsFloat | typing.SupportsIndex], provenance: str, coverage: collections.abc.Sequence[str]) -> None:
        ...
class PredictRequest:
    """
    What is asked besides the graph.
    """
    def __init__(self, *, device: str = 'A100', partition: str = '', runtime: str = '', runtime_version: str = '', precision: str = 'default', input_on: str = 'device', autograd: bool = False, predictor: str = '', mig_rule: str = 'memory', strict: bool = False, calibration: CalibrationFactors | None = None, host: Device | None = None, host_reads: collections.abc.Sequence[HostRead] = [], given: GivenLatency | None = None) -> None:
        ...
    @property
    def autograd(self) -> bool:
        ...
    @property
    def device(self) -> str:
        ...
    @property
    def device_name(self) -> str:
        ...
    @property
    def input_on(self) -> str:
        ...
    @property
    def mig_rule(self) -> str:
        ...
    @property
    def partition(self) -> str:
        ...
    @property
    def precision(self) -> str:
        ...
    @property
    def predictor(self) -> str:
        ...
    @property
    def runtime(self) -> str:
        ...
    @property
    def runtime_version(self) -> str:
        ...
    @property
    def strict(self) -> bool:
        ...
class MemoryFit:
    """
    Whether the memory that a network needs is there.
    """
    @property
    def fits(self) -> bool:
        ...
    @property
    def needed_bytes(self) -> float:
        ...
    @property
    def usable_bytes(self) -> float:
        ...
class Answer:
    """
    A prediction in seconds, bytes and joules.
    """
    @property
    def autograd(self) -> bool:
        ...
    @property
    def batch(self) -> int:
        ...
    @property
    def calibration(self) -> str:
        ...
    @property
    def coverage(self) -> list[str]:
        ...
    @property
    def device(self) -> str:
        ...
    @property
    def energy_interval_j(self) -> tuple[float, float] | None:
        ...
    @property
    def energy_j(self) -> float | None:
        ...
    @property
    def energy_provenance(self) -> str:
        ...
    @property
    def host_s(self) -> float:
        ...
    @property
    def host_wait_s(self) -> float:
        ...
    @property
    def input_copy_s(self) -> float:
        ...
    @property
    def input_on(self) -> str:
        ...
    @property
    def latency_interval_s(self) -> tuple[float, float]:
        ...
    @property
    def latency_provenance(self) -> str:
        ...
    @property
    def latency_s(self) -> float:
        ...
    @property
    def mean_power_w(self) -> float | None:
        ...
    @property
    def memory(self) -> MemoryEstimate:
        ...
    @property
    def memory_interval_bytes(self) -> tuple[float, float]:
        ...
    @property
    def memory_provenance(self) -> str:
        ...
    @property
    def mig_profile(self) -> str | None:
        ...
    @property
    def mig_rule(self) -> str:
        ...
    @property
    def partition(self) -> str:
        ...
    @property
    def precision(self) -> str:
        ...
    @property
    def predictor(self) -> str:
        ...
    @property
    def runtime(self) -> str:
        ...
    @property
    def runtime_version(self) -> str:
        ...
    @property
    def unknown_operators(self) -> list[str]:
        ...
class KernelRow:
    """
    A row of the kernels table; latencies add up to the prediction's.
    """
    @property
    def arithmetic(self) -> str:
        ...
    @property
    def bytes(self) -> float:
        ...
    @property
    def compute_bound(self) -> bool:
        ...
    @property
    def flops(self) -> float:
        ...
    @property
    def k(self) -> float:
        ...
    @property
    def kind(self) -> str:
        ...
    @property
    def latency_s(self) -> float:
        ...
    @property
    def m(self) -> float:
        ...
    @property
    def macs(self) -> float:
        ...
    @property
    def members(self) -> list[str]:
        ...
    @property
    def n(self) -> float:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def repeat(self) -> int:
        ...
    @property
    def roofline_s(self) -> float:
        ...
    @property
    def tiles(self) -> float:
        ...
    @property
    def waves(self) -> float:
        ...
class PartitionRow:
    """
    One MIG profile of the device.
    """
    @property
    def fits(self) -> bool:
        ...
    @property
    def latency_interval_s(self) -> tuple[float, float]:
        ...
    @property
    def latency_s(self) -> float:
        ...
    @property
    def max_instances(self) -> int:
        ...
    @property
    def memory_bytes(self) -> float:
        ...
    @property
    def memory_share(self) -> float:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def sms(self) -> float:
        ...
class Session:
    """
    Runs the whole line from Graph to Prediction.
    """
    def __init__(self, data_directory: str) -> None:
        ...
    def evidence(self, predictor: str) -> Evidence:
        ...
    def kernels(self, graph: Graph, request: PredictRequest) -> list[KernelRow]:
        ...
    def partitions(self, graph: Graph, request: PredictRequest) -> list[PartitionRow]:
        ...
    def predict(self, graph: Graph, request: PredictRequest) -> Answer:
        ...
    def predict_many(self, graphs: collections.abc.Sequence[Graph], requests: collections.abc.Sequence[PredictRequest], num_threads: typing.SupportsInt | typing.SupportsIndex = 0) -> list[Answer]:
        ...
def allowed_cores() -> list[int]:
    """
    Cores that this thread may run on.
    """
def checkpoint_format() -> dict[str, typing.Any]:
    """
    What a checkpoint's manifest must say to be read by this build.
    """
def choose_label(samples: collections.abc.Sequence[Sample], protocol: Protocol) -> Label:
    """
    The label of samples by the protocol's rule.
    """
def core_times(kernels: Kernels, core: Device) -> list[float]:
    """
    Seconds of dense arithmetic, grouped convolutions and traffic, and the number of kernels.
    """
def criteria() -> list[Criterion]:
    """
    The table of stopping criteria.
    """
def cuda_unavailable_reason(libraries: CudaLibraries = ...) -> str:
    """
    Why CUDA cannot be used and what to do; empty where it can.
    """
def device(name: str) -> Device:
    """
    The device of this name, vendor name or alias.
    """
def device_aliases() -> list[tuple[str, str]]:
    """
    Pairs of alias and table name.
    """
def devices() -> list[Device]:
    """
    The device table.
    """
def estimate_energy(kernels: Kernels, kernel_s: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], latency_s: typing.SupportsFloat | typing.SupportsIndex, device: str, partition: str = '') -> EnergyEstimate | None:
    """
    Energy of a call of `latency_s` in which each kernel row runs for `kernel_s`; None where it is unknown.
    """
def estimate_memory(graph: Graph, kernels: Kernels, device: str = 'A100', autograd: bool = False, capacity_bytes: typing.SupportsFloat | typing.SupportsIndex | None = None) -> MemoryEstimate:
    ...
def extract_subgraphs(num_nodes: typing.SupportsInt | typing.SupportsIndex, edges: typing.Annotated[numpy.typing.ArrayLike, numpy.int64], fusible: typing.Annotated[numpy.typing.ArrayLike, numpy.bool]) -> numpy.typing.NDArray[numpy.int64]:
    """
    int64 [N]: the group of each node, from which of the edges [2, E] are fusible.
    """
def feature_columns() -> list[FeatureColumn]:
    """
    The feature table.
    """
def featurize(kernels: Kernels, device: str, partition: str = '') -> Features:
    """
    The features of kernels on a device or a part of it.
    """
def fit_interference(terms: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]], slow_downs: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]) -> list[float]:
    """
    The non-negative coefficients with the smallest mean absolute error.
    """
def frameworks() -> list[str]:
    """
    Frameworks whose files can be read.
    """
def fuse(graph: Graph, runtime: str = 'eager', precision: str = 'default') -> Kernels:
    """
    Groups a graph into kernels by the rules of a runtime.
    """
def gpu_facts(libraries: CudaLibraries = ...) -> list[GpuFacts]:
    """
    Every GPU that the driver shows.
    """
def host_device(processor: str, cores: typing.SupportsFloat | typing.SupportsIndex, memory_bytes: typing.SupportsFloat | typing.SupportsIndex, last_cache_bytes: typing.SupportsFloat | typing.SupportsIndex | None = None) -> Device:
    """
    This machine by what its system says; peaks and bandwidth are unknown.
    """
def host_facts() -> HostFacts:
    """
    This machine.
    """
def input_copy_s(graph: Graph, device: str, input_on: str) -> float:
    """
    Seconds in which a graph's inputs travel to a device from where they lie.
    """
def inputs_with_steps_first(program: Program) -> set[str]:
    """
    Names of inputs that a recurrent layer reads with the steps first: their batch stands second.
    """
def interference(mode: str, members: collections.abc.Sequence[ResourceProfile], target: typing.SupportsInt | typing.SupportsIndex) -> list[float]:
    """
    The terms of one member beside all others.
    """
def join_host_s(device_s: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], host_s: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> typing.Any:
    """
    The time of calls whose kernels and launches run side by side.
    """
def kernel_terms(kernels: Kernels, device: str, partition: str = '') -> KernelTerms:
    """
    What the predictor kernel_residual starts from.
    """
def label_rules() -> list[LabelRule]:
    """
    The table of label rules.
    """
def largest_batch(graph: Graph, request: PredictRequest) -> int:
    """
    The largest batch whose memory fits; 0 where batch 1 does not.
    """
def load_predictor(name: str, checkpoint_path: str) -> LoadedPredictor:
    """
    The named predictor with the numbers of a checkpoint file.
    """
@typing.overload
def measure(run_once: ReferenceRun, protocol: Protocol, clock: Clock) -> Measurement:
    """
    Runs a reference workload by the protocol on this thread.
    """
@typing.overload
def measure(run_once: collections.abc.Callable[[], typing.Any], protocol: Protocol, clock: Clock, prepare: collections.abc.Callable[[], typing.Any] | None = None) -> Measurement:
    """
    Calls run_once by the protocol on this thread; prepare is called before each sample and not timed.
    """
def measure_host(budget_s: typing.SupportsFloat | typing.SupportsIndex = 1.5) -> HostSpeed:
    """
    Bandwidth by working set and FMA peak of this thread's core, in about so many seconds.
    """
def memory_fit(graph: Graph, request: PredictRequest) -> MemoryFit:
    ...
def memory_kinds() -> list[str]:
    """
    Kinds of memory that differ in what they hold of their bandwidth, by KernelTerms' id, from 1 on.
    """
def mig_profiles(device: str) -> list[Partition]:
    """
    MIG profiles of a device, smallest first; empty where it has none.
    """
def node_features(graph: Graph, set: str) -> NodeFeatures:
    """
    Nodes, edges and static features of a graph, as a graph neural network reads them.
    """
def operators() -> list[Operator]:
    """
    The operator table.
    """
def outliers(values: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]) -> list[bool]:
    """
    Which of them are further than 3.5 robust standard deviations from the median.
    """
@typing.overload
def partition(device: str, name: str = '') -> Partition:
    """
    The part of a device that `name` stands for.
    """
@typing.overload
def partition(device: Device, name: str = '') -> Partition:
    ...
def pick_mig_profile(device: str, rule: str, memory_bytes: typing.SupportsFloat | typing.SupportsIndex, upper_bytes: typing.SupportsFloat | typing.SupportsIndex) -> str | None:
    """
    The MIG profile that a mig_rule picks for a memory and the upper end of its interval; None: there is none.
    """
def precisions() -> list[Precision]:
    """
    The precision table.
    """
def predictors() -> list[Predictor]:
    """
    The predictor table.
    """
def protocol(name: str) -> Protocol:
    """
    A copy of the protocol of this name.
    """
def protocols() -> list[ProtocolRow]:
    """
    The table of protocols.
    """
def read_exported_program(document: str | bytes, weights: collections.abc.Mapping[str, typing.SupportsInt | typing.SupportsIndex | str | None] = {}, name: str = 'model', max_nodes: typing.SupportsInt | typing.SupportsIndex = 2000000, max_depth: typing.SupportsInt | typing.SupportsIndex = 64) -> Program:
    """
    What a document of torch.export says: models/<name>.json of a .pt2 archive, or what a frontend has written like it. weights: name in the state dict -> identity; equal ones, other than None, are one tensor.
    """
def read_program(path: str | bytes, framework: str = '', max_nodes: typing.SupportsInt | typing.SupportsIndex = 2000000, max_depth: typing.SupportsInt | typing.SupportsIndex = 64) -> Program:
    """
    What a model file says. The weights are not read, nothing in the file is executed.
    """
def reference_run(name: str, seconds: typing.SupportsFloat | typing.SupportsIndex) -> ReferenceRun:
    """
    A workload of the table that takes about so long.
    """
def reference_workloads() -> list[ReferenceWorkload]:
    """
    The table of workloads to check the instrument with.
    """
def resolve(program: Program, batch: typing.SupportsInt | typing.SupportsIndex = 1, only: tuple[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], str | None, typing.SupportsInt | typing.SupportsIndex | None] | None = None, by_name: collections.abc.Mapping[str, tuple[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], str | None, typing.SupportsInt | typing.SupportsIndex | None]] = {}) -> Graph:
    """
    The graph that a program is at a batch and at input sizes: `only` for the one input, `by_name` for several, each (sizes without the batch, dtype or None, position of the batch, NO_BATCH of one without, or None).
    """
def resource_profile(kernels: Kernels, device: Device, partition: str, latency_s: typing.SupportsFloat | typing.SupportsIndex, busy_s: typing.SupportsFloat | typing.SupportsIndex) -> ResourceProfile:
    ...
def runtime(name: str) -> Runtime:
    ...
def runtimes() -> list[Runtime]:
    """
    The runtime table.
    """
def samples_wanted(criterion: str, times_s: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], threshold: typing.SupportsFloat | typing.SupportsIndex | None = None) -> int | None:
    """
    After how many of these times the criterion would have stopped; None: it would have gone on.
    """
def sharing_modes() -> list[SharingMode]:
    """
    All ways to share a device.
    """
def slow_down(coefficients: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], terms: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]) -> float:
    """
    1 + coefficients x terms.
    """
def sniff_path(path: str | bytes, framework: str = '') -> SniffedFile:
    """
    The kind of file at a path; raises where framework contradicts it.
    """
def statistics(values: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]) -> Statistics:
    """
    What these times say.
    """
def term_columns() -> list[TermColumn]:
    """
    What KernelTerms.columns holds.
    """
def term_rows() -> list[TermRow]:
    """
    What KernelTerms.terms holds.
    """
def unknown_name_message(what: str, name: str, valid: collections.abc.Sequence[str]) -> str:
    """
    The message of every failed look-up.
    """
def version_age(version: str) -> list[int]:
    """
    Its numbers, the oldest first when sorted; those of a container begin with 0.
    """
def version_stack(version: str) -> str:
    """
    What stands before its numbers.
    """
def version_standing_for(asked: str, measured: collections.abc.Sequence[str]) -> str:
    """
    Which of `measured`, the oldest first, answers for another one; '': none does.
    """
def with_batch(graph: Graph, batch: typing.SupportsInt | typing.SupportsIndex) -> Graph:
    ...
def with_speed(host: Device, fp32_flops_per_s: typing.SupportsFloat | typing.SupportsIndex, reads: collections.abc.Sequence[HostRead], note: str) -> Device:
    """
    The same with what was measured on it.
    """
NO_BATCH: int = -1
TORCH_VERSION: str | None
__version__: str
