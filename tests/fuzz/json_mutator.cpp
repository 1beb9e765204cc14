// A mutator for JSON, bare or in a zip archive, whose sizes and checksums it writes anew: it exchanges whole tokens.
// Flipped bytes alone nearly always break a checksum or a bracket, and then only the zip and JSON readers are tested.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/error.h"
#include "readers/containers/zip.h"
#include "readers/source.h"
#include "zip_writer.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using latpred::testing::ZipItem;
using Random = std::minstd_rand;

constexpr std::string_view kOddTokens[] = {"0",
                                           "-1",
                                           "1",
                                           "2",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "4611686018427387904",
                                           "1e308",
                                           "null",
                                           "true",
                                           "[]",
                                           "{}",
                                           "\"\"",
                                           "\"Infinity\"",
                                           "4294967296",
                                           "0.5",
                                           "[[]]",
                                           "[1,2,3]"};

std::size_t pick(Random& random, std::size_t count) { return random() % count; }

// Strings whole, numbers and words whole, everything else a character each.
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-'; };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text[i] == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

bool is_value(std::string_view token) { return token.size() > 1 || std::isdigit(static_cast<unsigned char>(token[0])); }

// The end of the array or object that opens at `begin`; one past it.
std::size_t closing(const std::vector<std::string_view>& tokens, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < tokens.size(); ++i) {
    if (tokens[i] == "[" || tokens[i] == "{") ++depth;
    if ((tokens[i] == "]" || tokens[i] == "}") && --depth == 0) return i + 1;
  }
  return tokens.size();
}

std::string joined(const std::vector<std::string_view>& tokens) {
  std::string text;
  for (const std::string_view token : tokens) text += token;
  return text;
}

std::string mutated_json(const std::string& text, Random& random) {
  std::vector<std::string_view> tokens = tokens_of(text);
  if (tokens.empty()) return text;
  const auto next_where = [&](std::size_t from, const auto& matches) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::size_t at = (from + i) % tokens.size();
      if (matches(tokens[at])) return at;
    }
    return from;
  };
  const auto opens = [](std::string_view token) { return token == "[" || token == "{"; };
  const std::size_t from = pick(random, tokens.size());
  const std::size_t other = pick(random, tokens.size());
  switch (pick(random, 5)) {
    case 0:
      tokens[next_where(from, is_value)] = kOddTokens[pick(random, std::size(kOddTokens))];
      break;
    case 1:
      tokens[next_where(from, is_value)] = tokens[next_where(other, is_value)];
      break;
    case 2:  // one part in place of another
    case 3: {
      const std::size_t to = next_where(from, opens);
      const std::size_t part = next_where(other, opens);
      const std::vector<std::string_view> copy(tokens.begin() + static_cast<std::ptrdiff_t>(part),
                                               tokens.begin() + static_cast<std::ptrdiff_t>(closing(tokens, part)));
      const auto at = tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(to),
                                   tokens.begin() + static_cast<std::ptrdiff_t>(closing(tokens, to)));
      tokens.insert(at, copy.begin(), copy.end());
      break;
    }
    default: {  // a part twice, as elements of a list
      const std::size_t part = next_where(from, opens);
      std::vector<std::string_view> copy{","};
      copy.insert(copy.end(), tokens.begin() + static_cast<std::ptrdiff_t>(part),
                  tokens.begin() + static_cast<std::ptrdiff_t>(closing(tokens, part)));
      tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(closing(tokens, part)), copy.begin(), copy.end());
    }
  }
  return joined(tokens);
}

std::string mutated_bytes(std::string content, Random& random) {
  std::vector<std::uint8_t> buffer(content.begin(), content.end());
  buffer.resize(content.size() + 1 + pick(random, 32));
  buffer.resize(LLVMFuzzerMutate(buffer.data(), content.size(), buffer.size()));
  return {buffer.begin(), buffer.end()};
}

constexpr std::size_t kRawShare = 8;  // one of so many changes is to bytes, whatever they mean

std::string mutated(std::string content, bool is_json, Random& random) {
  constexpr std::size_t kMaxChanges = 4;
  for (std::size_t changes = 1 + pick(random, kMaxChanges); changes > 0; --changes) {
    content = is_json && pick(random, kRawShare) != 0 ? mutated_json(content, random)
                                                      : mutated_bytes(std::move(content), random);
  }
  return content;
}

// The archive with one entry changed; empty where it is none.
std::string mutated_archive(const std::string& content, Random& random) {
  std::vector<ZipItem> items;
  try {
    const latpred::readers::Source source{"seed", content};
    const latpred::readers::ZipArchive archive(source);
    for (const auto& entry : archive.entries()) {
      items.push_back({.name = std::string(entry.name), .content = std::string(archive.stored(entry))});
    }
  } catch (const latpred::Error&) {
    return {};
  }
  if (items.empty()) return {};
  ZipItem& item = items[pick(random, items.size())];
  item.content = mutated(std::move(item.content), item.name.ends_with(".json"), random);
  return latpred::testing::zip_archive(items);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  Random random(seed);
  if (pick(random, kRawShare) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string content(reinterpret_cast<const char*>(data), size);
  const std::string result =
      content.starts_with('{') ? mutated(content, true, random) : mutated_archive(content, random);
  if (result.empty() || result.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, result.data(), result.size());
  return result.size();
}
