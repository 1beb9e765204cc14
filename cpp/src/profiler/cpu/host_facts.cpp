#include "latpred/host_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "latpred/pinning.h"
#include "latpred/text.h"
#include "latpred/unit_prefixes.h"

namespace latpred {
namespace {

constexpr std::int64_t kKibi = 1024;

// The first line of a file; nothing where there is none.
std::optional<std::string> read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int> number(const std::optional<std::string>& text) {
  int value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end == text->data()) return std::nullopt;
  return value;
}

// "0-3,8" as the system writes sets of cores.
std::vector<int> core_list(const std::string& text) {
  std::vector<int> result;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const std::optional<int> first = number(part.substr(0, dash));
    const std::optional<int> last = dash == std::string::npos ? first : number(part.substr(dash + 1));
    if (!first || !last) continue;
    for (int core = *first; core <= *last; ++core) result.push_back(core);
  }
  return result;
}

// "1024K", "32M"
std::optional<std::int64_t> size_of(const std::optional<std::string>& text) {
  const std::optional<int> value = number(text);
  if (!value) return std::nullopt;
  switch (text->back()) {
    case 'K':
      return *value * kKibi;
    case 'M':
      return *value * kKibi * kKibi;
    default:
      return *value;
  }
}

// /proc/cpuinfo's first processor: "model name" and so on.
std::map<std::string, std::string> processor_fields(const std::string& path) {
  std::map<std::string, std::string> result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && !(line.empty() && !result.empty());) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    const std::size_t begin = line.find_first_not_of(' ', colon + 1);
    result[line.substr(0, end + 1)] = begin == std::string::npos ? "" : line.substr(begin);
  }
  return result;
}

std::string field(const std::map<std::string, std::string>& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

std::optional<int> number_field(const std::map<std::string, std::string>& fields, const std::string& name) {
  return number(field(fields, name));
}

// Levels of the x86-64 ABI (psABI, "Micro-Architecture Levels"), in the kernel's words: pni is SSE3, abm LZCNT.
struct IsaLevel {
  std::string_view name;
  std::string_view needs;
};
constexpr std::array<IsaLevel, 4> kIsaLevels{{
    {"x86-64", "cmov cx8 fpu fxsr mmx syscall sse sse2"},
    {"x86-64-v2", "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"},
    {"x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"},
    {"x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"},
}};

// What changes the speed of networks beyond the level; in the kernel's words.
constexpr std::string_view kIsaFeatures =
    "avx512_vnni avx512_bf16 avx512_fp16 avx_vnni amx_tile amx_bf16 amx_int8 asimd asimdhp asimddp bf16 i8mm sve sve2";

std::vector<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

std::string isa_level(const std::set<std::string>& flags) {
  if (flags.contains("asimd")) return "aarch64";
  std::string result;
  for (const IsaLevel& level : kIsaLevels) {
    for (const std::string& need : words(level.needs)) {
      if (!flags.contains(need)) return result;
    }
    result = level.name;
  }
  return result;
}

std::vector<Cache> read_caches(const std::string& folder) {
  std::vector<Cache> result;
  for (int i = 0;; ++i) {
    const std::string index = concat(folder, "/index", i, "/");
    const std::optional<int> level = number(read_line(index + "level"));
    const std::optional<std::int64_t> size_bytes = size_of(read_line(index + "size"));
    if (!level || !size_bytes) return result;
    const auto shared = core_list(read_line(index + "shared_cpu_list").value_or("")).size();
    result.push_back({.level = *level,
                      .kind = read_line(index + "type").value_or(""),
                      .size_bytes = *size_bytes,
                      .shared_by = std::max(1, static_cast<int>(shared))});
  }
}

std::optional<int> count_physical(const std::string& folder, const std::vector<int>& cores) {
  std::set<std::pair<int, int>> result;
  for (const int core : cores) {
    const std::string topology = concat(folder, "/cpu", core, "/topology/");
    const std::optional<int> package = number(read_line(topology + "physical_package_id"));
    const std::optional<int> id = number(read_line(topology + "core_id"));
    if (!package || !id) return std::nullopt;
    result.emplace(*package, *id);
  }
  if (result.empty()) return std::nullopt;
  return static_cast<int>(result.size());
}

std::optional<std::int64_t> read_memory(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  std::int64_t kibibytes = 0;
  if (!(file >> word >> kibibytes) || word != "MemTotal:") return std::nullopt;
  return kibibytes * kKibi;
}

std::string cache_text(const Cache& cache) {
  const std::string kind = cache.kind == "Data" ? "d" : cache.kind == "Instruction" ? "i" : "";
  const std::int64_t kibibytes = cache.size_bytes / kKibi;
  return kibibytes % kKibi == 0 ? concat("L", cache.level, kind, " ", kibibytes / kKibi, " MiB")
                                : concat("L", cache.level, kind, " ", kibibytes, " KiB");
}

std::string fingerprint(const HostFacts& facts) {
  std::vector<std::string> parts{facts.model_name.empty() ? "unknown processor" : facts.model_name};
  if (facts.family && facts.model) {
    parts.back() += concat(" (family ", *facts.family, " model ", *facts.model);
    if (facts.stepping) parts.back() += concat(" stepping ", *facts.stepping);
    parts.back() += ")";
  }
  parts.push_back(concat(facts.logical_cores, facts.logical_cores == 1 ? " core" : " cores"));
  if (facts.physical_cores && *facts.physical_cores != facts.logical_cores) {
    parts.back() += concat(" on ", *facts.physical_cores);
  }
  if (!facts.isa_level.empty()) parts.push_back(facts.isa_level);
  for (const std::string& feature : facts.isa_features) parts.back() += " " + feature;
  for (const Cache& cache : facts.caches) {
    if (cache.kind != "Instruction") parts.push_back(cache_text(cache));
  }
  // In whole units: kernels differ in what they keep for themselves.
  if (facts.memory_bytes) {
    parts.push_back(concat(static_cast<std::int64_t>(static_cast<double>(*facts.memory_bytes) / kGibi + 0.5), " GiB"));
  }
  if (facts.is_virtual) parts.emplace_back("virtual");
  return join(parts);
}

}  // namespace

HostFacts read_host_facts(const std::string& root) {
  const std::string processors = root + "/sys/devices/system/cpu";
  const std::map<std::string, std::string> fields = processor_fields(root + "/proc/cpuinfo");
  const bool is_arm = fields.contains("CPU part");
  HostFacts facts;
  facts.vendor = is_arm ? "implementer " + field(fields, "CPU implementer") : field(fields, "vendor_id");
  facts.model_name = field(fields, "model name");
  if (is_arm && facts.model_name.empty()) facts.model_name = facts.vendor + " part " + field(fields, "CPU part");
  facts.family = number_field(fields, "cpu family");
  facts.model = number_field(fields, "model");
  facts.stepping = number_field(fields, "stepping");
  const std::vector<std::string> flag_words = words(field(fields, is_arm ? "Features" : "flags"));
  const std::set<std::string> flags(flag_words.begin(), flag_words.end());
  facts.isa_level = isa_level(flags);
  for (const std::string& feature : words(kIsaFeatures)) {
    if (flags.contains(feature)) facts.isa_features.push_back(feature);
  }
  facts.is_virtual = flags.contains("hypervisor");
  const std::vector<int> online = core_list(read_line(processors + "/online").value_or(""));
  facts.logical_cores = static_cast<int>(online.size());
  facts.physical_cores = count_physical(processors, online);
  facts.allowed_cores = static_cast<int>(allowed_cores().size());
  facts.caches = read_caches(processors + "/cpu0/cache");
  facts.memory_bytes = read_memory(root + "/proc/meminfo");
  facts.fingerprint = fingerprint(facts);
  return facts;
}

const HostFacts& host_facts() {
  static const HostFacts facts = read_host_facts("");
  return facts;
}

}  // namespace latpred
