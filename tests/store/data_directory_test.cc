// The folder of a server: one process at a time, and nothing is overwritten that is not understood.
#include "store/data_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "store/store.h"

namespace escalona::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class DataDirectoryTest : public ::testing::Test {
 protected:
  DataDirectoryTest() { fs::remove_all(path_); }
  ~DataDirectoryTest() override { fs::remove_all(path_); }

  std::string Format() const {
    std::ifstream file(path_ + "/FORMAT");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetFormat(const std::string& text) const { std::ofstream(path_ + "/FORMAT") << text; }

  const std::string path_ =
      ::testing::TempDir() + "data_directory_test" + std::to_string(getpid()) + "/inner";
};

TEST_F(DataDirectoryTest, IsMadeAndOpenedAgain) {
  {
    const auto made = DataDirectory::Open(path_);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(Format(), "escalona data 1\n");
  }
  fs::create_directory(path_ + "/associations");
  const auto again = DataDirectory::Open(path_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->associations(), path_ + "/associations");
}

TEST_F(DataDirectoryTest, OneProcessAtATime) {
  auto first = DataDirectory::Open(path_);
  ASSERT_TRUE(first.ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto second = DataDirectory::Open(path_);
    const bool refused =
        second.status().code() == absl::StatusCode::kFailedPrecondition &&
        second.status().message().find("in use by another process") != absl::string_view::npos;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  DataDirectory moved = *std::move(first);
  EXPECT_FALSE(DataDirectory::Open(path_).ok());
  { const DataDirectory gone = std::move(moved); }
  EXPECT_TRUE(DataDirectory::Open(path_).ok());
}

TEST_F(DataDirectoryTest, ANewerOrDamagedFormatIsRefusedAndKept) {
  ASSERT_TRUE(DataDirectory::Open(path_).ok());
  SetFormat("escalona data 2\n");
  const auto newer = DataDirectory::Open(path_);
  EXPECT_EQ(newer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(newer.status().message()), HasSubstr("newer"));
  EXPECT_EQ(Format(), "escalona data 2\n");
  for (const std::string damaged : {"", "escalona", "escalona data ", "escalona data 1",
                                    "escalona data 1x\n", "escalona data 0\n", "rubbish\n"}) {
    SetFormat(damaged);
    EXPECT_EQ(DataDirectory::Open(path_).status().code(), absl::StatusCode::kDataLoss) << damaged;
    EXPECT_EQ(Format(), damaged);
  }
}

TEST_F(DataDirectoryTest, TheFormatIsCheckedWithoutTheLock) {
  ASSERT_FALSE(DataDirectory::CheckFormat(path_).ok());
  EXPECT_FALSE(fs::exists(path_));
  const auto held = DataDirectory::Open(path_);
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(DataDirectory::CheckFormat(path_).ok());
  SetFormat("escalona data 2\n");
  EXPECT_EQ(DataDirectory::CheckFormat(path_).code(), absl::StatusCode::kFailedPrecondition);
  SetFormat("rubbish\n");
  EXPECT_EQ(DataDirectory::CheckFormat(path_).code(), absl::StatusCode::kDataLoss);
}

TEST_F(DataDirectoryTest, AStoreThatIsGoneIsRefusedUntilTheNoteIsDeleted) {
  std::string frontier;
  {
    const auto directory = DataDirectory::Open(path_);
    ASSERT_TRUE(directory.ok());
    frontier = directory->frontier();
    ASSERT_TRUE(OpenRocksStore(frontier).ok());
    ASSERT_TRUE(directory->NoteStores().ok());
  }
  ASSERT_TRUE(DataDirectory::Open(path_).ok());
  fs::remove_all(frontier);
  for (const bool empty : {false, true}) {
    if (empty) fs::create_directory(frontier);
    const auto refused = DataDirectory::Open(path_);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(frontier));
    EXPECT_FALSE(DataDirectory::CheckStores(path_).ok());
  }
  fs::remove(path_ + "/STORES");
  EXPECT_TRUE(DataDirectory::Open(path_).ok());
}

TEST_F(DataDirectoryTest, AFolderThatMayNotBeReadIsNamedInAPlainSentence) {
  fs::create_directories(path_);
  fs::create_symlink("FORMAT", path_ + "/FORMAT");  // names itself
  const auto refused = DataDirectory::Open(path_);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("cannot read " + path_ + "/FORMAT: "));
}

TEST_F(DataDirectoryTest, AFolderOfSomethingElseIsRefused) {
  fs::create_directories(path_);
  std::ofstream(path_ + "/letter.txt") << "dear";
  EXPECT_EQ(DataDirectory::Open(path_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(fs::exists(path_ + "/FORMAT"));
  EXPECT_FALSE(fs::exists(path_ + "/LOCK"));
  EXPECT_EQ(DataDirectory::Open(path_ + "/letter.txt").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace escalona::store
