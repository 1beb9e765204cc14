#include "fake_state.h"

#include <algorithm>
#include <cstring>

namespace fake {
namespace {

constexpr int kInvalidHandle = 400;

void reset() {
  State& now = state();
  FakeDriver& control = now.control;
  now.calls.clear();
  now.failures.clear();
  now.failing_call = -1;
  now.default_streams.clear();
  now.foreign_contexts.clear();
  now.primary_users.clear();
  control.device_count = 1;
  control.cuda_version = 13000;
  control.compute_capability = 90;
  control.sms = 132;
  control.sm_step = 8;
  control.l2_bytes = 60 << 20;
  control.memory_bytes = 141ULL << 30;
  control.context_bytes = 500ULL << 20;
  control.launch_s = 5e-6;
  control.queue_length = 1024;
  control.power_w = 300;
  control.energy_tick_s = 0.1;
  control.clock_reasons = 0;
  control.visible_pid = 0;
  control.name = "NVIDIA Fake H200";
  control.shows_uuid = 1;
  control.short_split = 0;
  control.short_grant = 0;
  control.host_s = 1000;
  control.misuses = 0;
  control.memsets = 0;
  control.last_memset_bytes = 0;
}

void fail(const char* function, int code, int times) { state().failures[function] = {code, times}; }

void fail_call(int number, int code) {
  state().failing_call = number;
  state().failing_code = code;
}

int num_calls() { return static_cast<int>(state().calls.size()); }
const char* call_name(int number) { return state().calls.at(static_cast<std::size_t>(number)).c_str(); }

int enqueue(void* handle, double seconds) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return misuse(kInvalidHandle);
  Operation operation;
  operation.seconds = seconds;
  return push(*stream, operation);
}

void* make_stream(int device) {
  State& now = state();
  const auto made = now.foreign_contexts.insert(std::make_unique<Context>()).first;
  (*made)->device = device;
  auto* stream = new Stream;
  stream->context = made->get();
  streams().insert(stream);
  return stream;
}

void free_stream(void* handle) {
  auto* stream = static_cast<Stream*>(handle);
  streams().erase(stream);
  delete stream;
}

int context_depth() { return static_cast<int>(stack().size()); }

}  // namespace

State& state() {
  static State instance;
  return instance;
}

std::vector<Context*>& stack() {
  thread_local std::vector<Context*> instance;
  return instance;
}

template <typename Handle>
std::set<Handle*>& registry() {
  static std::set<Handle*> instance;
  return instance;
}
std::set<Stream*>& streams() { return registry<Stream>(); }
std::set<Event*>& events() { return registry<Event>(); }
std::set<Graph*>& graphs() { return registry<Graph>(); }
std::set<Green*>& greens() { return registry<Green>(); }
std::set<Graph*>& graph_execs() {
  static std::set<Graph*> instance;
  return instance;
}

int enter(const char* function) {
  State& now = state();
  const int number = static_cast<int>(now.calls.size());
  now.calls.emplace_back(function);
  if (number == now.failing_call && std::strncmp(function, "cu", 2) == 0) return now.failing_code;
  const auto found = now.failures.find(function);
  if (found == now.failures.end() || found->second.second == 0) return kSuccess;
  if (found->second.second > 0) --found->second.second;
  return found->second.first;
}

int misuse(int code) {
  ++state().control.misuses;
  return code;
}

Stream* find_stream(void* handle) {
  if (handle == nullptr) {
    if (stack().empty()) return nullptr;
    Stream& stream = state().default_streams[stack().back()];
    stream.context = stack().back();
    return &stream;
  }
  auto* stream = static_cast<Stream*>(handle);
  return streams().count(stream) == 1 ? stream : nullptr;
}

void drain(Stream& stream) {
  while (!stream.queue.empty()) {
    const Operation operation = stream.queue.front();
    stream.queue.pop_front();
    stream.ready_s = std::max(stream.ready_s, operation.queued_s) + operation.seconds;
    if (operation.event != nullptr) operation.event->time_s = stream.ready_s;
    if (operation.function == nullptr) continue;
    operation.function(operation.argument);
    stream.ready_s = std::max(stream.ready_s, state().control.host_s);
  }
}

int push(Stream& stream, Operation operation) {
  FakeDriver& control = state().control;
  if (stream.capture != nullptr) {
    stream.capture->kernels.push_back(operation.seconds);
    return kSuccess;
  }
  if (static_cast<int>(stream.queue.size()) >= control.queue_length) drain(stream);
  operation.queued_s = control.host_s;
  control.host_s += control.launch_s;
  stream.queue.push_back(operation);
  return kSuccess;
}

}  // namespace fake

FAKE_API FakeDriver* fake_driver() {
  static const bool is_new = [] {
    FakeDriver& control = fake::state().control;
    control.reset = &fake::reset;
    control.fail = &fake::fail;
    control.fail_call = &fake::fail_call;
    control.num_calls = &fake::num_calls;
    control.call_name = &fake::call_name;
    control.enqueue = &fake::enqueue;
    control.make_stream = &fake::make_stream;
    control.free_stream = &fake::free_stream;
    control.context_depth = &fake::context_depth;
    fake::reset();
    return true;
  }();
  (void)is_new;
  return &fake::state().control;
}

// For Python's tests, which know no struct.
FAKE_API void fake_reset() { fake::reset(); }
FAKE_API int fake_enqueue(void* stream, double seconds) { return fake::enqueue(stream, seconds); }
FAKE_API void* fake_make_stream(int device) { return fake::make_stream(device); }
FAKE_API void fake_fail(const char* function, int code, int times) { fake::fail(function, code, times); }
FAKE_API int fake_misuses() { return fake::state().control.misuses; }
