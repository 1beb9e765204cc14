#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "itt/ittnotify.h"
#include "itt/task_log.h"

namespace latpred::itt {
namespace {

constexpr const char* kNodeDomain = "ov::op::cpu::details";

// The side of an instrumented program: functions that a collector fills in.
struct Program {
  Domain* (*domain_create)(const char*) = nullptr;
  StringHandle* (*string_handle_create)(const char*) = nullptr;
  void (*task_begin)(const Domain*, Id, Id, const StringHandle*) = nullptr;
  void (*task_end)(const Domain*) = nullptr;
  void (*pause)() = nullptr;

  static void do_nothing() {}

  Program() {
    void* const nothing = reinterpret_cast<void*>(&do_nothing);
    std::array<Api, 6> apis = {{
        {"__itt_domain_create", reinterpret_cast<void**>(&domain_create), nullptr, nothing, 0},
        {"__itt_string_handle_create", reinterpret_cast<void**>(&string_handle_create), nullptr, nothing, 0},
        {"__itt_task_begin", reinterpret_cast<void**>(&task_begin), nullptr, nothing, 0},
        {"__itt_task_end", reinterpret_cast<void**>(&task_end), nullptr, nothing, 0},
        {"__itt_pause", reinterpret_cast<void**>(&pause), nullptr, nothing, 0},
        {nullptr, nullptr, nullptr, nullptr, 0},
    }};
    Global global{};
    global.api_list = apis.data();
    install(global);
  }

  void run(const char* domain_name, const char* task_name) const {
    const Domain* const domain = domain_create(domain_name);
    task_begin(domain, Id{}, Id{}, string_handle_create(task_name));
    task_end(domain);
  }
};

std::vector<std::string> recorded_names() {
  std::vector<std::string> names;
  for (const TaskRecord& task : records()) names.push_back(name_of(task.name));
  return names;
}

using Names = std::vector<std::string>;

TEST(Itt, RecordsTasksOfTheNodeDomainWhileStarted) {
  const Program program;
  program.run(kNodeDomain, "before");
  start();
  program.run(kNodeDomain, "conv");
  program.run("ov::itt::other", "elsewhere");
  program.run(kNodeDomain, "pool");
  stop();
  program.run(kNodeDomain, "after");
  EXPECT_EQ(recorded_names(), (Names{"conv", "pool"}));
  start();
  EXPECT_TRUE(recorded_names().empty());
  stop();
}

TEST(Itt, FillsInEveryFunctionOfTheProgram) {
  const Program program;
  ASSERT_NE(program.pause, nullptr);
  program.pause();
  EXPECT_EQ(program.domain_create("a"), program.domain_create("a"));
  EXPECT_NE(program.domain_create("a"), program.domain_create("b"));
  EXPECT_EQ(program.string_handle_create("a"), program.string_handle_create("a"));
}

TEST(Itt, TellsNestedTasksAndTheirTimes) {
  const std::int32_t outer = intern("outer");
  const std::int32_t inner = intern("inner");
  start();
  begin(outer);
  begin(inner);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  end();
  end();
  stop();
  const std::vector<TaskRecord> found = records();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(name_of(found[0].name), "outer");
  EXPECT_EQ(found[0].depth, 0);
  EXPECT_EQ(found[1].depth, 1);
  EXPECT_GE(found[1].wall_ns, 20'000'000);
  EXPECT_GE(found[0].wall_ns, found[1].wall_ns);
  EXPECT_LT(found[1].cpu_ns, 10'000'000) << "a sleeping thread uses no core";
}

TEST(Itt, EndsWithoutABeginAreOfEarlierTasks) {
  begin(intern("unseen"));
  start();
  end();
  begin(intern("seen"));
  end();
  stop();
  EXPECT_EQ(recorded_names(), Names{"seen"});
}

TEST(Itt, GathersTheTasksOfAllThreads) {
  const std::int32_t name = intern("task");
  constexpr int kThreads = 4;
  constexpr int kTasks = 1000;
  start();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([name] {
      for (int task = 0; task < kTasks; ++task) {
        begin(name);
        end();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop();
  const std::vector<TaskRecord> found = records();
  EXPECT_EQ(found.size(), std::size_t{kThreads * kTasks});
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                             [](const TaskRecord& a, const TaskRecord& b) { return a.begin_ns < b.begin_ns; }));
}

TEST(Itt, ReadingTheClocksCostsSomethingButLittle) {
  EXPECT_GT(clock_overhead_ns(), 0);
  EXPECT_LT(clock_overhead_ns(), 100'000);
}

TEST(Itt, UnknownNamesAreEmpty) {
  EXPECT_EQ(name_of(-1), "");
  EXPECT_EQ(name_of(1 << 30), "");
}

}  // namespace
}  // namespace latpred::itt
