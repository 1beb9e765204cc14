#include "readers/containers/pickle.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace latpred::readers {
namespace {

using namespace std::string_literals;
using Names = std::vector<std::string>;

// The pickles below are what CPython's pickle module writes; "." stops.
const std::string kRebuild = "ctorch._utils\n_rebuild_tensor_v2\nq\x02";

TEST(Pickle, CountsTensorsAtEachCall) {
  // {"a": rebuild(()), "b": rebuild(())}: the second call takes the function from the memo.
  const std::string content = "\x80\x02}q\x01(X\1\0\0\0a"s + kRebuild + ")Rq\x03X\1\0\0\0bh\x02)Rq\x04u."s;
  const PickleSummary summary = scan_pickle(content);
  EXPECT_TRUE(summary.is_whole);
  EXPECT_TRUE(summary.is_weights_only());
  EXPECT_EQ(summary.num_tensors, 2);
  EXPECT_EQ(summary.size, content.size());
}

TEST(Pickle, ListsClassesOnceInOrder) {
  const std::string content =
      "\x80\x02(cmodels.yolo\nModel\nctorch.nn.modules.conv\nConv2d\ncmodels.yolo\nModel\nctorch\nFloatStorage\nt."s;
  EXPECT_EQ(scan_pickle(content).classes, (Names{"models.yolo.Model", "torch.nn.modules.conv.Conv2d"}));
}

TEST(Pickle, FollowsNamesThroughTheMemo) {
  // Protocol 4: the texts "os" and "system" are remembered and named again.
  const std::string content = "\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x30h\x00h\x01\x93."s;
  EXPECT_EQ(scan_pickle(content).classes, Names{"os.system"});
}

TEST(Pickle, TellsCallsOfEveryForm) {
  for (const std::string& content : {"\x80\x02"
                                     "cos\nsystem\n(t."s,         // named only
                                     "(S'ls'\nios\nsystem\n."s,   // INST
                                     "(cos\nsystem\nS'ls'\no."s,  // OBJ
                                     "\x80\x02"
                                     "cos\nsystem\nU\x02ls\x85R."s,  // REDUCE
                                     "\x80\x02"
                                     "cos\nsystem\n)\x81."s}) {  // NEWOBJ
    const PickleSummary summary = scan_pickle(content);
    EXPECT_EQ(summary.classes, Names{"os.system"}) << content;
    EXPECT_TRUE(summary.is_whole) << content;
    EXPECT_FALSE(summary.is_weights_only()) << content;
  }
}

TEST(Pickle, ANameThatIsMadeWhileReadingIsNoWeight) {
  EXPECT_EQ(scan_pickle("\x80\x04NN\x93."s).classes, Names{"(a name made while reading)"});
  EXPECT_EQ(scan_pickle("\x80\x02\x82\x07."s).classes, Names{"(a class by its number)"});
}

TEST(Pickle, BuiltinsThatRunCodeAreListed) {
  EXPECT_EQ(scan_pickle("cbuiltins\neval\n."s).classes, Names{"builtins.eval"});
  EXPECT_TRUE(scan_pickle("cbuiltins\nset\n."s).is_weights_only());
  // It reads a pickle of its own.
  EXPECT_EQ(scan_pickle("ctorch.storage\n_load_from_bytes\n."s).classes, Names{"torch.storage._load_from_bytes"});
}

TEST(Pickle, CutOrBrokenPicklesAreNotWhole) {
  const std::string whole = "\x80\x02}q\x01(X\1\0\0\0a"s + kRebuild + ")Ru."s;
  ASSERT_TRUE(scan_pickle(whole).is_whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(scan_pickle(std::string_view(whole).substr(0, size)).is_whole) << size;
  }
  for (const std::string& content : {"R."s, "a."s, "u."s, "t."s, "\x93."s, "\xff."s, "X\xff\xff\xff\xff."s,
                                     "\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s, "."s}) {
    EXPECT_FALSE(scan_pickle(content).is_whole);
  }
}

TEST(Pickle, KnowsFilesOfPaddle) {
  EXPECT_TRUE(scan_pickle("\x80\x02}X\x1b\0\0\0StructuredToParameterName@@}s."s).is_paddle);
  EXPECT_FALSE(scan_pickle("\x80\x02}."s).is_paddle);
}

TEST(Pickle, LongListsEndInsteadOfFillingMemory) {
  std::string content = "("s;
  content.append(5'000'000, 'N');
  const PickleSummary summary = scan_pickle(content);
  EXPECT_FALSE(summary.is_whole);
  std::string many;
  for (int i = 0; i < 60'000; ++i) many += "ca\nb" + std::to_string(i) + "\n0";
  EXPECT_FALSE(scan_pickle(many + "N.").is_whole);
  EXPECT_LE(scan_pickle(many + "N.").classes.size(), 1000U);
}

TEST(Pickle, OldCheckpointsAreFivePicklesInARow) {
  const std::string magic = "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."s;
  const std::string other = "\x80\x02}."s;
  const std::string object = "\x80\x02"s + kRebuild + ")R."s;
  const std::string content = magic + other + other + object + other + "raw bytes"s;
  ASSERT_TRUE(is_legacy_checkpoint(content));
  const PickleSummary summary = scan_legacy_checkpoint(content);
  EXPECT_TRUE(summary.is_weights_only());
  EXPECT_EQ(summary.num_tensors, 1);
  EXPECT_FALSE(scan_legacy_checkpoint(magic + other + other).is_whole);
  EXPECT_FALSE(is_legacy_checkpoint(other));
}

}  // namespace
}  // namespace latpred::readers
