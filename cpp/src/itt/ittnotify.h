#pragma once

#include <pthread.h>

// Binary layout that Intel's ittnotify shares with a collector (its ittnotify.h and ittnotify_config.h, release 3): the
// members that we use, in their order. Names are ours.
namespace latpred::itt {

struct Id {
  unsigned long long parts[3];
};

struct Domain {
  volatile int flags;  // 0: its tasks are not reported
  const char* name;
  void* wide_name;
  int reserved;
  void* more;
  Domain* next;
};

struct StringHandle {
  const char* text;
  void* wide_text;
  int reserved;  // ours to use: the index of the name in the log
  void* more;
  StringHandle* next;
};

struct Api {
  const char* name;  // null behind the last
  void** function;   // what the instrumented program calls
  void* init_function;
  void* null_function;
  unsigned group;
};

struct Global {
  unsigned char magic[8];
  unsigned long version[3];
  volatile long is_initialized;
  volatile long has_mutex;
  volatile long counter;
  pthread_mutex_t mutex;
  void* library;
  void* error_handler;
  const char** library_path;
  Api* api_list;
  Global* next;
};

// Directs a program's functions for domains, names and tasks to the log, and all others to nowhere.
void install(Global& global);

}  // namespace latpred::itt
