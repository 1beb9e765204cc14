#include <utility>

#include "profiler/cuda/gpu_parts.h"

namespace latpred {

struct CudaGraph::Parts {
  explicit Parts(std::shared_ptr<const Gpu::Parts> owner) : gpu(std::move(owner)) {}
  ~Parts() {
    if (exec != nullptr) (void)gpu->driver->cuGraphExecDestroy.result(exec);
    if (graph != nullptr) (void)gpu->driver->cuGraphDestroy.result(graph);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  std::shared_ptr<const Gpu::Parts> gpu;
  cuda::Graph graph = nullptr;
  cuda::GraphExec exec = nullptr;
};

CudaGraph::CudaGraph(const Gpu& gpu, StreamHandle stream, const std::function<void()>& enqueue)
    : parts_(std::make_unique<Parts>(gpu.parts_)) {
  const cuda::Driver& driver = *parts_->gpu->driver;
  const cuda::Context context =
      cuda::context_of(driver, stream_of(stream), parts_->gpu->context->get(), parts_->gpu->device);
  const cuda::CurrentContext current(driver, context);
  driver.cuStreamBeginCapture(stream_of(stream), cuda::kCaptureThreadLocal);
  try {
    enqueue();
  } catch (...) {
    // The stream must leave capture, or nothing runs on it any more.
    (void)driver.cuStreamEndCapture.result(stream_of(stream), &parts_->graph);
    throw;
  }
  driver.cuStreamEndCapture(stream_of(stream), &parts_->graph);
  if (nodes() == 0) {
    throw ProfilerError("nothing was captured: the work went to another stream than the one that was captured");
  }
  driver.cuGraphInstantiate(&parts_->exec, parts_->graph, 0);
}

CudaGraph::~CudaGraph() = default;
CudaGraph::CudaGraph(CudaGraph&&) noexcept = default;

void CudaGraph::launch(StreamHandle stream) const {
  const cuda::Driver& driver = *parts_->gpu->driver;
  const cuda::CurrentContext current(driver, parts_->gpu->context->get());
  driver.cuGraphLaunch(parts_->exec, stream_of(stream));
}

std::int64_t CudaGraph::nodes() const {
  std::size_t count = 0;
  parts_->gpu->driver->cuGraphGetNodes(parts_->graph, nullptr, &count);
  return static_cast<std::int64_t>(count);
}

}  // namespace latpred
