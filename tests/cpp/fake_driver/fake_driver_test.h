#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "fake_driver/fake_driver.h"
#include "latpred/cuda.h"
#include "message_of.h"

namespace latpred {

using testing::message_of;

inline constexpr const char* kFakeDriver = LATPRED_FAKE_DRIVER;
inline constexpr const char* kFakeOldDriver = LATPRED_FAKE_OLD_DRIVER;
inline constexpr const char* kNoLibrary = "libnothing-of-this-name.so.1";

// The control of a fake library; the driver that latpred opens by the same path is the same library.
inline FakeDriver& fake_of(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw std::runtime_error(dlerror());
  auto* control = reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fake_driver"))();
  dlclose(library);
  return *control;
}

inline ::testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in '" << text << "'";
}

inline void expect_nothing_left(const FakeDriver& fake, const std::string& where = "") {
  EXPECT_EQ(fake.contexts, 0) << where;
  EXPECT_EQ(fake.events, 0) << where;
  EXPECT_EQ(fake.streams, 0) << where;
  EXPECT_EQ(fake.allocations, 0) << where;
  EXPECT_EQ(fake.graphs, 0) << where;
  EXPECT_EQ(fake.graph_execs, 0) << where;
  EXPECT_EQ(fake.green_contexts, 0) << where;
  EXPECT_EQ(fake.nvml_users, 0) << where;
  EXPECT_EQ(fake.misuses, 0) << where;
  EXPECT_EQ(fake.context_depth(), 0) << where;
}

// Every test ends with all handles given back.
class FakeDriverTest : public ::testing::Test {
 protected:
  void SetUp() override { fake_.reset(); }
  void TearDown() override { expect_nothing_left(fake_); }

  FakeDriver& fake_ = fake_of(kFakeDriver);
  CudaLibraries libraries_{kFakeDriver, kFakeDriver};
};

// With a stream in a context of its own, as a workload has it.
class FakeStreamTest : public FakeDriverTest {
 protected:
  void SetUp() override {
    FakeDriverTest::SetUp();
    stream_ = fake_.make_stream(0);
  }
  void TearDown() override {
    fake_.free_stream(stream_);
    FakeDriverTest::TearDown();
  }
  [[nodiscard]] StreamHandle handle() const { return reinterpret_cast<StreamHandle>(stream_); }

  void* stream_ = nullptr;
};

// The virtual time of the fake driver's host.
class FakeHostClock : public Clock {
 public:
  explicit FakeHostClock(const FakeDriver& fake) : fake_(fake) {}
  void start() override { start_s_ = fake_.host_s; }
  [[nodiscard]] Sample stop() override { return {.wall_s = fake_.host_s - start_s_}; }
  [[nodiscard]] double now_s() override { return fake_.host_s; }
  [[nodiscard]] std::string name() const override { return "virtual"; }

 private:
  const FakeDriver& fake_;
  double start_s_ = 0;
};

}  // namespace latpred
