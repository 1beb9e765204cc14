#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fake_driver.h"

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace fake {

inline constexpr int kSuccess = 0;

struct Context {
  int device = 0;
  bool is_primary = false;
  struct Green* green = nullptr;
};

struct Event {
  Context* context = nullptr;
  double time_s = -1;  // never recorded
};

struct Operation {
  double queued_s = 0;  // host time
  double seconds = 0;
  Event* event = nullptr;
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
};

struct Graph {
  std::vector<double> kernels;
};

struct Stream {
  Context* context = nullptr;
  std::deque<Operation> queue;
  double ready_s = 0;
  Graph* capture = nullptr;
  bool is_capture_broken = false;
};

struct Green {
  int sms = 0;
  std::unique_ptr<Context> context;
};

struct State {
  FakeDriver control{};
  std::vector<std::string> calls;
  std::map<std::string, std::pair<int, int>> failures;  // code, times left
  int failing_call = -1;
  int failing_code = 0;
  std::map<int, Context> primaries;
  std::map<int, int> primary_users;
  std::map<Context*, Stream> default_streams;
  std::set<std::unique_ptr<Context>> foreign_contexts;
  std::map<unsigned long long, unsigned long long> allocations;
  unsigned long long next_address = 4096;
  std::vector<int> descriptions;  // multiprocessors of each
};

State& state();
std::vector<Context*>& stack();  // of this thread

// Notes the call; a code other than 0 is what it has to return.
int enter(const char* function);
#define ENTER(function) \
  if (const int code = fake::enter(#function); code != fake::kSuccess) return code

int misuse(int code);

Stream* find_stream(void* handle);  // null where the handle is dead, or default without a context
void drain(Stream& stream);
int push(Stream& stream, Operation operation);

// Registers of live handles.
std::set<Stream*>& streams();
std::set<Event*>& events();
std::set<Graph*>& graphs();
std::set<Graph*>& graph_execs();
std::set<Green*>& greens();

}  // namespace fake
