#include "itt/ittnotify.h"

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "itt/task_log.h"

namespace latpred::itt {
namespace {

// Where OpenVINO's CPU plugin reports its nodes. Tasks of other domains are switched off: oneDNN's primitives lie
// inside the nodes and would add to their times.
constexpr std::string_view kNodeDomain = "ov::op::cpu::details";

// One for each name, for the life of the process: the program keeps the pointers.
template <typename Kept>
Kept* kept_by_name(const std::string& name, Kept (*make)(const char*)) {
  static std::mutex mutex;
  static auto* const all = new std::unordered_map<std::string, Kept>;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = all->try_emplace(name);
  if (is_new) found->second = make(found->first.c_str());
  return &found->second;
}

Domain* create_domain(const char* name) {
  return kept_by_name<Domain>(name, [](const char* kept) {
    Domain domain{};
    domain.flags = kept == kNodeDomain ? 1 : 0;
    domain.name = kept;
    return domain;
  });
}

StringHandle* create_string_handle(const char* text) {
  return kept_by_name<StringHandle>(text, [](const char* kept) {
    StringHandle handle{};
    handle.text = kept;
    handle.reserved = intern(kept);
    return handle;
  });
}

void begin_task(const Domain* domain, Id /*task*/, Id /*parent*/, const StringHandle* name) {
  if (domain != nullptr && domain->flags != 0 && name != nullptr) begin(name->reserved);
}

void end_task(const Domain* domain) {
  if (domain != nullptr && domain->flags != 0) end();
}

struct Hook {
  std::string_view name;
  void* function;
};

const std::array<Hook, 4> kHooks = {{
    {"__itt_domain_create", reinterpret_cast<void*>(&create_domain)},
    {"__itt_string_handle_create", reinterpret_cast<void*>(&create_string_handle)},
    {"__itt_task_begin", reinterpret_cast<void*>(&begin_task)},
    {"__itt_task_end", reinterpret_cast<void*>(&end_task)},
}};

void* function_for(const Api& api) {
  for (const Hook& hook : kHooks) {
    if (hook.name == api.name) return hook.function;
  }
  return api.null_function;
}

}  // namespace

void install(Global& global) {
  for (Api* api = global.api_list; api != nullptr && api->name != nullptr; ++api) *api->function = function_for(*api);
}

}  // namespace latpred::itt
