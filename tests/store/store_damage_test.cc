// A store that lost something is refused, with all that is left of it; one that a crash left is
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "store/kept_files.h"
#include "store/store.h"
#include "store/whole_file.h"

namespace escalona::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StoreDamageTest : public ::testing::Test {
 protected:
  StoreDamageTest() {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
    copy_ = path_ + ".copy";
  }
  ~StoreDamageTest() override {
    fs::remove_all(path_);
    fs::remove_all(copy_);
  }

  RocksOptions Options(bool read_only = false) {
    return {.write_buffer_bytes = 4 << 20,
            .read_only = read_only,
            .warn = [this](const auto& what) { warning_ = what; }};
  }
  std::unique_ptr<Store> Open() {
    warning_.clear();
    auto store = OpenRocksStore(path_, Options());
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  static void Write(Store& store, int from, int to) {
    for (int i = from; i < to; ++i) {
      Batch batch;
      batch.Put(Key(i), std::string(1000, 'x'));
      ASSERT_TRUE(store.Write(batch, Reach::kOs).ok());
    }
  }
  static std::string Key(int i) { return "key" + std::to_string(i); }
  static int Count(Store& store) {
    int count = 0;
    EXPECT_TRUE(store.Scan("", "", [&](auto, auto) { return ++count > 0; }).ok());
    return count;
  }
  // As a process leaves it that is killed: a copy is made while the store is open. What is written
  // fits into a buffer, so that nothing comes and goes meanwhile.
  void WriteAndCrash(int from, int to) {
    {
      const auto store = Open();
      Write(*store, from, to);
      fs::copy(path_, copy_);
    }
    fs::remove_all(path_);
    fs::rename(copy_, path_);
  }
  void WriteTables() {
    const auto store = Open();
    Write(*store, 0, 100);
    ASSERT_TRUE(store->Compact().ok());
    Write(*store, 100, 120);
    ASSERT_TRUE(store->Compact().ok());
  }

  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& file : fs::directory_iterator(path_)) {
      files[file.path().filename()] = ReadWholeFile(file.path());
    }
    return files;
  }
  // The last one by name of those that end or begin so.
  std::string Last(const std::string& part) const {
    std::string last;
    for (const auto& [name, text] : Files()) {
      if (name.starts_with(part) || name.ends_with(part)) last = name;
    }
    return path_ + "/" + last;
  }
  static void Flip(const std::string& path, size_t at) {
    std::string text = ReadWholeFile(path);
    text[at] ^= '\x55';
    std::ofstream(path, std::ios::binary) << text;
  }
  static void Cut(const std::string& path, size_t bytes) {
    fs::resize_file(path, fs::file_size(path) - bytes);
  }
  // However often it is tried, to write or to read.
  void ExpectRefused(const std::string& why) {
    const auto before = Files();
    for (const bool read_only : {false, true, false}) {
      const absl::Status status = OpenRocksStore(path_, Options(read_only)).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
      EXPECT_THAT(std::string(status.message()), HasSubstr(why));
      EXPECT_THAT(std::string(status.message()), HasSubstr("backup"));
      EXPECT_TRUE(Files() == before);
    }
  }

  std::string path_ = (fs::temp_directory_path() / "escalona-XXXXXX").string();
  std::string copy_;
  std::string warning_;
};

TEST_F(StoreDamageTest, WithoutCurrentNoNewStoreIsMadeOverTheOld) {
  WriteTables();
  fs::remove(path_ + "/CURRENT");
  ExpectRefused("CURRENT");
  fs::remove(path_ + "/" + FileNote::kName);  // as an earlier version leaves it
  ExpectRefused("CURRENT");
}

TEST_F(StoreDamageTest, AFirstOpeningThatWasCutOffIsDoneAgain) {
  std::ofstream(path_ + "/MANIFEST-000001") << "beginning";
  Write(*Open(), 0, 1);
  EXPECT_EQ(Count(*Open()), 1);
}

TEST_F(StoreDamageTest, AListOfTablesThatLostItsEndIsRefused) {
  WriteTables();
  for (const size_t bytes : {1, 20, 60}) {
    const std::string list = Last("MANIFEST-");
    const std::string whole = ReadWholeFile(list);
    Cut(list, bytes);
    ExpectRefused("cut off");
    std::ofstream(list, std::ios::binary) << whole;
  }
  Flip(Last("MANIFEST-"), fs::file_size(Last("MANIFEST-")) - 5);
  ExpectRefused("MANIFEST-");
}

TEST_F(StoreDamageTest, AnOlderCurrentIsRefused) {
  WriteTables();
  Write(*Open(), 200, 210);
  std::ofstream(path_ + "/CURRENT") << "MANIFEST-000001\n";
  ExpectRefused("CURRENT");
}

TEST_F(StoreDamageTest, AMissingLogIsRefused) {
  WriteAndCrash(0, 50);
  fs::remove(Last(".log"));
  ExpectRefused("missing");
}

TEST_F(StoreDamageTest, ALogThatWasCutAfterAnOrderlyEndIsRefused) {
  Write(*Open(), 0, 50);
  Cut(Last(".log"), 1);
  ExpectRefused("cut off");
}

TEST_F(StoreDamageTest, DamageWithinALogIsRefusedUntilTheNoteIsDeleted) {
  WriteAndCrash(0, 50);
  Flip(Last(".log"), 20 * 1000);
  ExpectRefused(".log");
  fs::remove(path_ + "/" + FileNote::kName);
  const int left = Count(*Open());
  EXPECT_THAT(warning_, HasSubstr(".log"));
  EXPECT_GT(left, 10);
  EXPECT_LT(left, 20);
  WriteAndCrash(100, 101);  // and what was left out once is no damage later
  EXPECT_EQ(warning_, "");
  EXPECT_EQ(Count(*Open()), left + 1);
}

TEST_F(StoreDamageTest, DamageWithinALogIsLeftOutIfTheSystemFailed) {
  WriteAndCrash(0, 50);
  Flip(Last(".log"), 20 * 1000);
  FileNote note = *FileNote::Read(path_);
  note.boot = "another";
  ASSERT_TRUE(WriteWholeFile(path_, FileNote::kName, note.Text()).ok());
  EXPECT_GT(Count(*Open()), 10);
  EXPECT_THAT(warning_, HasSubstr(".log"));
}

TEST_F(StoreDamageTest, ALogThatEndsWithinARecordIsOpenedWithAWarning) {
  for (int turn = 0; turn < 5; ++turn) {
    WriteAndCrash(turn * 10, turn * 10 + 10);
    Cut(Last(".log"), 1 + 200 * turn);
    EXPECT_EQ(Count(*Open()), (turn + 1) * 9);
    EXPECT_THAT(warning_, HasSubstr(".log"));
  }
}

TEST_F(StoreDamageTest, ALogCutBeforeAnotherThatGoesOnIsRefused) {
  WriteAndCrash(0, 10);
  const std::string first = Last(".log");
  WriteAndCrash(10, 20);
  Cut(first, 1500);
  ExpectRefused(".log");
}

TEST_F(StoreDamageTest, AFolderOfAnEarlierVersionIsTakenOver) {
  WriteTables();
  WriteAndCrash(120, 200);
  fs::remove(path_ + "/" + FileNote::kName);
  EXPECT_EQ(Count(*Open()), 200);
  EXPECT_TRUE(FileNote::Read(path_).has_value());
}

TEST_F(StoreDamageTest, ReadingChangesNothingAndKeepsOthersOut) {
  WriteTables();
  WriteAndCrash(120, 200);
  const auto before = Files();
  {
    auto reader = OpenRocksStore(path_, Options(true));
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ(Count(**reader), 200);
    Batch batch;
    batch.Put("a", "b");
    EXPECT_FALSE((*reader)->Write(batch, Reach::kOs).ok());
    EXPECT_EQ(OpenRocksStore(path_).status().code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(Files() == before);
  const auto store = Open();
  EXPECT_EQ(OpenRocksStore(path_, Options(true)).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(StoreDamageTest, OneThatIsInUseIsNotCalledDamaged) {
  WriteTables();
  const auto store = Open();
  // As it looks to who reads the note just before a log is deleted.
  FileNote note = *FileNote::Read(path_);
  note.logs["000001.log"] = 1;
  ASSERT_TRUE(WriteWholeFile(path_, FileNote::kName, note.Text()).ok());
  for (const bool read_only : {false, true}) {
    const absl::Status status = OpenRocksStore(path_, Options(read_only)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  }
}

TEST_F(StoreDamageTest, LogsDoNotPileUp) {
  for (int i = 0; i < 30; ++i) Write(*Open(), i, i + 1);
  const auto logs = [this] {
    int count = 0;
    for (const auto& file : Files()) count += file.first.ends_with(".log") ? 1 : 0;
    return count;
  };
  EXPECT_LT(logs(), 20);
  EXPECT_EQ(Count(*Open()), 30);
}

TEST_F(StoreDamageTest, ANoteIsReadAsItWasWritten) {
  FileNote note;
  note.boot = "b";
  note.manifest = "MANIFEST-000007";
  note.list.Add("text");
  note.logs = {{"000004.log", 0}, {"000009.log", 123}};
  ASSERT_TRUE(WriteWholeFile(path_, FileNote::kName, note.Text()).ok());
  EXPECT_EQ(FileNote::Read(path_)->Text(), note.Text());
  for (const std::string& damaged : {std::string(), note.Text().substr(0, note.Text().size() / 2),
                                     std::string("something else\n")}) {
    ASSERT_TRUE(WriteWholeFile(path_, FileNote::kName, damaged, false).ok());
    EXPECT_FALSE(FileNote::Read(path_).has_value());
  }
}

}  // namespace
}  // namespace escalona::store
