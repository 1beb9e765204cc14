#pragma once

// What a test sets and sees of the fake libcuda and libnvidia-ml, which are one library. Time is virtual: the host's
// advances with each launch and when a test says so, the GPU's when queued work runs, which is when somebody waits.
struct FakeDriver {
  // To set, before or between calls; reset() restores what fake_driver.cpp says.
  int device_count;
  int cuda_version;
  int compute_capability;
  int sms;
  int sm_step;   // smallest partition and alignment; 0: not told, as CUDA 12.4 does
  int l2_bytes;  // 0: the driver does not say
  unsigned long long memory_bytes;
  unsigned long long context_bytes;
  double launch_s;   // of the host, for each thing that it queues
  int queue_length;  // launches that fit; the next one waits for the GPU
  double power_w;
  double energy_tick_s;  // the counter moves so often; 0: it stands still
  unsigned long long clock_reasons;
  unsigned int visible_pid;  // the process that NVML lists with the memory of the context; 0: none
  const char* name;
  int shows_uuid;   // NVML finds the GPU by its identifier; else by its PCI bus only
  int short_split;  // the driver makes one partition fewer than asked
  int short_grant;  // a green context gets fewer multiprocessors than its description has

  // To see.
  double host_s;
  int contexts;  // open handles
  int events;
  int streams;
  int allocations;
  int graphs;
  int graph_execs;
  int green_contexts;
  int nvml_users;
  int misuses;  // a dead handle, a missing context, a context popped twice
  int memsets;
  unsigned long long last_memset_bytes;

  void (*reset)();
  // `function` returns `code` at its next `times` calls (-1: for ever).
  void (*fail)(const char* function, int code, int times);
  // The call with this number, counted from reset(), returns `code` if it is one of CUDA's.
  void (*fail_call)(int number, int code);
  int (*num_calls)();
  const char* (*call_name)(int number);
  // A kernel of so many virtual seconds, as a workload would launch it.
  int (*enqueue)(void* stream, double seconds);
  // An ordinary context of a GPU and a stream in it, as another library would make them.
  void* (*make_stream)(int device);
  void (*free_stream)(void* stream);
  // Whether a context is current on this thread.
  int (*context_depth)();
};

extern "C" FakeDriver* fake_driver();
