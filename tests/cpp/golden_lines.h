#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace latpred::testing {

// The lines of a file in tests/golden.
inline std::vector<std::string> golden_lines(const std::string& name) {
  std::ifstream file(std::string(LATPRED_GOLDEN_DIR) + "/" + name);
  EXPECT_TRUE(file) << name;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace latpred::testing
