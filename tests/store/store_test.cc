// Both stores do what the interface says.
#include "store/store.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace escalona::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StoreTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "escalona-XXXXXX").string();
    path_ = mkdtemp(name.data());
    if (!GetParam()) {
      store_ = NewMemoryStore();
    } else {
      auto opened = OpenRocksStore(path_);
      ASSERT_TRUE(opened.ok()) << opened.status();
      store_ = std::move(*opened);
    }
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(path_);
  }

  void Write(const std::function<void(Batch&)>& fill) {
    Batch batch;
    fill(batch);
    ASSERT_TRUE(store_->Write(batch, Reach::kDisk).ok());
  }
  std::vector<std::string> KeysIn(std::string_view begin, std::string_view end) {
    std::vector<std::string> keys;
    EXPECT_TRUE(store_
                    ->Scan(begin, end,
                           [&](std::string_view key, std::string_view) {
                             keys.emplace_back(key);
                             return true;
                           })
                    .ok());
    return keys;
  }

  std::string path_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreTest, GivesBackWhatWasPut) {
  const std::string binary("\0\xFF\n", 3);
  Write([&](Batch& batch) {
    batch.Put("a", "1");
    batch.Put("b", binary);
    batch.Put("a", "2");
  });
  EXPECT_EQ(**store_->Get("a"), "2");
  EXPECT_EQ(**store_->Get("b"), binary);
  EXPECT_FALSE(store_->Get("c")->has_value());
}

TEST_P(StoreTest, ChangesOfABatchHappenInOrder) {
  Write([](Batch& batch) {
    batch.Put("a", "1");
    batch.Delete("a");
    batch.Put("b", "1");
    batch.DeletePrefix("b");
    batch.Put("b", "2");
  });
  EXPECT_FALSE(store_->Get("a")->has_value());
  EXPECT_EQ(**store_->Get("b"), "2");
}

TEST_P(StoreTest, ScansInOrderOfBytesWithinTheRange) {
  Write([](Batch& batch) {
    for (const char* key : {"b", "a", "ab", "\xFF\xFF", "c"}) batch.Put(key, "");
  });
  EXPECT_THAT(KeysIn("a", "c"), ElementsAre("a", "ab", "b"));
  EXPECT_THAT(KeysIn("b", ""), ElementsAre("b", "c", "\xFF\xFF"));
  EXPECT_THAT(KeysIn("x", "y"), IsEmpty());
}

TEST_P(StoreTest, DeletesAPrefixAndNothingElse) {
  Write([](Batch& batch) {
    for (const char* key : {"a", "b/1", "b/2", "b0", "\xFF", "\xFF\x01"}) batch.Put(key, "");
  });
  Write([](Batch& batch) { batch.DeletePrefix("b/"); });
  EXPECT_THAT(KeysIn("", ""), ElementsAre("a", "b0", "\xFF", "\xFF\x01"));
  Write([](Batch& batch) { batch.DeletePrefix("\xFF"); });
  EXPECT_THAT(KeysIn("", ""), ElementsAre("a", "b0"));
  EXPECT_TRUE(store_->Sync().ok());
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest, ::testing::Bool(), [](const auto& kind) {
  return std::string(kind.param ? "RocksDb" : "Memory");
});

TEST(RocksStore, StaysAfterItIsClosedAndCannotBeOpenedTwice) {
  std::string path = (std::filesystem::temp_directory_path() / "escalona-XXXXXX").string();
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  {
    auto store = OpenRocksStore(path);
    ASSERT_TRUE(store.ok());
    Batch batch;
    batch.Put("a", "1");
    ASSERT_TRUE((*store)->Write(batch, Reach::kOs).ok());
    const absl::Status again = OpenRocksStore(path).status();
    EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(again.message(),
              "store: " + path + " is in use; close it there first, or end that process");
  }
  auto store = OpenRocksStore(path);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(**(*store)->Get("a"), "1");
  store->reset();
  std::filesystem::remove_all(path);
}

TEST(RocksStore, ALockFileThatCannotBeOpenedIsNotCalledInUse) {
  std::string path = (std::filesystem::temp_directory_path() / "escalona-XXXXXX").string();
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  std::filesystem::create_directory(path + "/LOCK");
  const absl::Status status = OpenRocksStore(path).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace escalona::store
