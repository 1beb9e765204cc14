#include "latpred/pinning.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "latpred/error.h"
#include "latpred/text.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

TEST(Pinning, lasts_as_long_as_the_object) {
  const std::vector<int> before = allowed_cores();
  ASSERT_FALSE(before.empty());
  {
    const PinnedThread pinned(before.back());
    EXPECT_EQ(pinned.core(), before.back());
    EXPECT_EQ(allowed_cores(), std::vector<int>{before.back()});
    EXPECT_EQ(sched_getcpu(), before.back());
  }
  EXPECT_EQ(allowed_cores(), before);
}

TEST(Pinning, without_a_core_the_thread_stays_where_it_is) {
  const PinnedThread pinned;
  EXPECT_EQ(allowed_cores(), std::vector<int>{pinned.core()});
}

TEST(Pinning, refuses_cores_that_are_not_allowed) {
  const std::vector<int> before = allowed_cores();
  const PinnedThread pinned(before.front());
  for (const int core : {before.front() + 1, 100000}) {
    EXPECT_EQ(message_of<ProfilerError>([&] { const PinnedThread other(core); }),
              concat("this thread cannot be kept on core ", core, "; it may use: ", before.front()));
  }
  EXPECT_EQ(allowed_cores(), std::vector<int>{before.front()});
}

}  // namespace
}  // namespace latpred
