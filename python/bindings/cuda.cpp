#include "latpred/cuda.h"

#include "bindings.h"
#include "latpred/host_clock.h"

namespace py = pybind11;

namespace latpred {
namespace {

using Function = py::typing::Callable<py::object()>;

void bind_gpu_values(py::module_& module) {
  py::class_<CudaLibraries>(module, "CudaLibraries", "Files of NVIDIA's driver; other ones are for tests.")
      .def(py::init([](const std::string& driver, const std::string& nvml) { return CudaLibraries{driver, nvml}; }),
           py::arg("driver") = CudaLibraries().driver, py::arg("nvml") = CudaLibraries().nvml)
      .def_readonly("driver", &CudaLibraries::driver)
      .def_readonly("nvml", &CudaLibraries::nvml);
  py::class_<GpuFacts>(module, "GpuFacts", "What the driver says about a GPU; None: unknown.")
      .def_readonly("index", &GpuFacts::index)
      .def_property_readonly("name", [](const GpuFacts& facts) { return python_text(facts.name); })
      .def_property_readonly("uuid", [](const GpuFacts& facts) { return python_text(facts.uuid); })
      .def_property_readonly("pci_bus_id", [](const GpuFacts& facts) { return python_text(facts.pci_bus_id); })
      .def_readonly("compute_capability", &GpuFacts::compute_capability, "major * 10 + minor")
      .def_readonly("sms", &GpuFacts::sms)
      .def_readonly("memory_bytes", &GpuFacts::memory_bytes)
      .def_readonly("clock_hz", &GpuFacts::clock_hz, "The highest of the multiprocessors.")
      .def_readonly("memory_clock_hz", &GpuFacts::memory_clock_hz)
      .def_readonly("memory_bus_bits", &GpuFacts::memory_bus_bits)
      .def_readonly("l2_bytes", &GpuFacts::l2_bytes)
      .def_readonly("power_limit_w", &GpuFacts::power_limit_w)
      .def_readonly("cuda_version", &GpuFacts::cuda_version, "That the driver understands: 13000.")
      .def_property_readonly("driver_version", [](const GpuFacts& facts) { return python_text(facts.driver_version); })
      .def_property_readonly("fingerprint", [](const GpuFacts& facts) { return python_text(facts.fingerprint); });
  py::class_<GpuState>(module, "GpuState", "Of a moment; None: unknown.")
      .def_readonly("sm_clock_hz", &GpuState::sm_clock_hz)
      .def_readonly("memory_clock_hz", &GpuState::memory_clock_hz)
      .def_readonly("temperature_celsius", &GpuState::temperature_celsius)
      .def_readonly("power_w", &GpuState::power_w)
      .def_readonly("clock_reasons", &GpuState::clock_reasons)
      .def_readonly("is_throttled", &GpuState::is_throttled)
      .def_property_readonly(
          "nvml_missing", [](const GpuState& state) { return python_text(state.nvml_missing); },
          "Why NVML cannot be asked; empty where it can.");
  py::class_<GpuMemory>(module, "GpuMemory", "Bytes; None: unknown.")
      .def_readonly("total_bytes", &GpuMemory::total_bytes)
      .def_readonly("free_bytes", &GpuMemory::free_bytes)
      .def_readonly("context_bytes", &GpuMemory::context_bytes, "What opening the context took.")
      .def_readonly("device_used_bytes", &GpuMemory::device_used_bytes, "Of all processes.")
      .def_readonly("device_reserved_bytes", &GpuMemory::device_reserved_bytes, "By driver and firmware.")
      .def_readonly("process_bytes", &GpuMemory::process_bytes, "Of this process.");
  py::class_<EnergyWindow>(module, "EnergyWindow", "Energy of the whole board while something ran on and on.")
      .def_readonly("energy_j", &EnergyWindow::energy_j)
      .def_readonly("window_s", &EnergyWindow::window_s)
      .def_readonly("runs", &EnergyWindow::runs)
      .def_readonly("energy_per_run_j", &EnergyWindow::energy_per_run_j)
      .def_readonly("mean_power_w", &EnergyWindow::mean_power_w)
      .def_readonly("source", &EnergyWindow::source)
      .def_readonly("note", &EnergyWindow::note)
      .def_readonly("start_celsius", &EnergyWindow::start_celsius)
      .def_readonly("end_celsius", &EnergyWindow::end_celsius)
      .def_readonly("throttle_reasons", &EnergyWindow::throttle_reasons);
}

void bind_gpu_clock(py::module_& module) {
  py::class_<CudaClock, Clock>(module, "CudaClock", "Time between two events on a stream, a clock for measure().")
      .def(py::init([](const Gpu& gpu, StreamHandle stream, bool flush_l2, bool block_stream, double block_timeout_s) {
             return std::make_unique<CudaClock>(gpu, CudaClockOptions{stream, flush_l2, block_stream, block_timeout_s});
           }),
           py::arg("gpu"), py::arg("stream") = 0, py::arg("flush_l2") = false, py::arg("block_stream") = false,
           py::arg("block_timeout_s") = CudaClockOptions().block_timeout_s,
           "stream: as torch.cuda.Stream.cuda_stream gives it, 0 for the default. flush_l2: overwrite the L2 cache "
           "before each sample. block_stream: hold the stream back until all is queued.")
      .def("start", &CudaClock::start)
      .def("stop", &CudaClock::stop, py::call_guard<py::gil_scoped_release>(), "The sample since start().")
      .def("now_s", &CudaClock::now_s)
      .def_property_readonly("block_timeouts", &CudaClock::block_timeouts,
                             "How often the block opened by itself; after the second the stream is not blocked.")
      .def_property_readonly("throttle_reasons", &CudaClock::throttle_reasons,
                             "Why clocks were lowered while samples ran.");
  py::class_<CudaGraph>(module, "CudaGraph", "Work captured from a stream, launched as one.")
      .def(py::init([](const Gpu& gpu, StreamHandle stream, const Function& enqueue) {
             return CudaGraph(gpu, stream, [&] { enqueue(); });
           }),
           py::arg("gpu"), py::arg("stream"), py::arg("enqueue"),
           "Work of PyTorch is captured by torch.cuda.graph, which knows PyTorch's memory pool as well.")
      .def("launch", &CudaGraph::launch, py::arg("stream"))
      .def_property_readonly("nodes", &CudaGraph::nodes);
  py::class_<SmPartition>(module, "SmPartition", "Multiprocessors of its own, for what runs on its stream.")
      .def_property_readonly("sms", &SmPartition::sms)
      .def_property_readonly("stream", &SmPartition::stream, "For torch.cuda.ExternalStream.");
}

}  // namespace

void bind_cuda(py::module_& module) {
  bind_gpu_values(module);
  module.def("cuda_unavailable_reason", &cuda_unavailable_reason, py::arg_v("libraries", CudaLibraries(), "..."),
             "Why CUDA cannot be used and what to do; empty where it can.");
  module.def("gpu_facts", &gpu_facts, py::arg_v("libraries", CudaLibraries(), "..."),
             "Every GPU that the driver shows.");
  py::class_<Gpu> gpu(module, "Gpu", "One NVIDIA GPU with its primary context held open.");
  bind_gpu_clock(module);  // signatures below name its types
  gpu.def(py::init<int, const CudaLibraries&>(), py::arg("index") = 0, py::arg_v("libraries", CudaLibraries(), "..."))
      .def_property_readonly("facts", &Gpu::facts)
      .def("state", &Gpu::state, "Clocks, temperature, power and why clocks are what they are.")
      .def("memory", &Gpu::memory)
      .def("synchronize", &Gpu::synchronize, py::arg("stream") = 0, py::call_guard<py::gil_scoped_release>(),
           "Waits until the stream is done.")
      .def("partition_sizes", &Gpu::partition_sizes, "Numbers of multiprocessors that a partition can have.")
      .def(
          "partitions",
          [](const Gpu& gpu, int sms, int count) {
            py::typing::List<SmPartition> list;
            for (SmPartition& part : gpu.partitions(sms, count)) list.append(py::cast(std::move(part)));
            return list;
          },
          py::arg("sms"), py::arg("count") = 1, "Disjoint parts of so many multiprocessors each.")
      .def(
          "measure_energy",
          [](const Gpu& gpu, const Function& run_once, StreamHandle stream, double min_s, double warm_up_s) {
            HostClock clock;
            const py::gil_scoped_release release;
            return gpu.measure_energy(
                [&] {
                  const py::gil_scoped_acquire acquire;
                  run_once();
                },
                stream, EnergyProtocol{min_s, warm_up_s}, clock);
          },
          py::arg("run_once"), py::arg("stream") = 0, py::arg("min_s") = EnergyProtocol().min_s,
          py::arg("warm_up_s") = EnergyProtocol().warm_up_s,
          "Runs on and on for min_s, at least 2, waiting for the stream after each run.");
}

}  // namespace latpred
