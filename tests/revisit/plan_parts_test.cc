// The parts of `escalona plan` against naive models: rows, chunks, equal keys, order, growth.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cli/chunk_reader.h"
#include "cli/csv.h"
#include "cli/decimal.h"
#include "cli/duplicates.h"
#include "cli/growing_array.h"
#include "cli/ordered_pipeline.h"
#include "cli/output_file.h"
#include "cli/plan_input.h"

namespace escalona::cli {
namespace {

TEST(CsvTest, AnyTextComesBackFromItsQuotedRow) {
  std::mt19937 random(1);
  CsvSplitter splitter;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> texts(1 + random() % 6);
    std::string row;
    for (std::string& text : texts) {
      for (size_t n = random() % 8; n > 0; --n) text += "ab,\" x"[random() % 6];
      if (&text != texts.data()) row += ',';
      row += CsvQuoted(text);
    }
    std::vector<CsvField> fields(texts.size());
    const absl::StatusOr<size_t> count = splitter.Split(row, fields.data(), fields.size());
    ASSERT_TRUE(count.ok()) << row;
    ASSERT_EQ(*count, texts.size()) << row;
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(fields[i].text, texts[i]) << row;
  }
}

TEST(CsvTest, CountsFieldsBeyondTheLimit) {
  CsvSplitter splitter;
  CsvField fields[2];
  EXPECT_EQ(*splitter.Split("a,b,c,", fields, 2), 4U);
  EXPECT_EQ(fields[1].text, "b");
  EXPECT_EQ(fields[1].offset, 2U);
  EXPECT_EQ(*splitter.Split("\"a\",\"b\",\"c\"", fields, 2), 3U);
  EXPECT_EQ(*splitter.Split("", fields, 2), 1U);
  EXPECT_FALSE(splitter.Split("a,\"b", fields, 2).ok());
  EXPECT_EQ(splitter.error_offset(), 2U);
  EXPECT_FALSE(splitter.Split("\"a\"b,c", fields, 2).ok());
  EXPECT_EQ(splitter.error_offset(), 3U);
}

TEST(CsvTest, ALineIsSplitAsItsRowAlone) {
  std::mt19937 random(4);
  CsvSplitter whole;
  CsvSplitter alone;
  constexpr size_t kLimit = 5;
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t n = random() % 300; n > 0; --n) text += "abcde,,\n\r\"  xyz"[random() % 16];
    std::string_view rest = text;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view expected = rest.substr(0, end);
      const std::string_view after = rest.substr(std::min(end + 1, rest.size()));
      if (expected.ends_with('\r')) expected.remove_suffix(1);
      CsvField fields[kLimit];
      CsvField expected_fields[kLimit];
      std::string_view row;
      const absl::StatusOr<size_t> count = whole.SplitLine(rest, fields, kLimit, row);
      const absl::StatusOr<size_t> expected_count = alone.Split(expected, expected_fields, kLimit);
      ASSERT_EQ(row, expected);
      ASSERT_EQ(rest, after);
      ASSERT_EQ(count.status(), expected_count.status());
      if (!count.ok()) {
        ASSERT_EQ(whole.error_offset(), alone.error_offset());
        continue;
      }
      ASSERT_EQ(*count, *expected_count) << row;
      for (size_t i = 0; i < std::min(*count, kLimit); ++i) {
        EXPECT_EQ(fields[i].text, expected_fields[i].text) << row;
        EXPECT_EQ(fields[i].offset, expected_fields[i].offset) << row;
      }
    }
  }
}

std::string Decimal(double value) {
  char text[kDecimalBytes];
  return {text, PutDecimal(text, value)};
}

std::string Printed(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

TEST(DecimalTest, IsWhatPrintfWrites) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-9, 16);
  for (int round = 0; round < 200000; ++round) {
    const double any = std::pow(10, exponent(random));
    EXPECT_EQ(Decimal(any), Printed(any));
    const double few = static_cast<double>(random() % 100000) / 1000;  // trailing zeros
    EXPECT_EQ(Decimal(few), Printed(few));
    const double half = static_cast<double>(random() % 100000000000) + 0.5;  // ties
    EXPECT_EQ(Decimal(half), Printed(half));
    const double tie = static_cast<double>(random() >> 20) / (1 << 13);  // ties and nearly ties
    EXPECT_EQ(Decimal(tie), Printed(tie));
  }
}

TEST(DecimalTest, AtTheEdges) {
  for (double edge = 1e-6; edge < 1e14; edge *= 10) {
    for (double value : {edge, std::nextafter(edge, 0.0), std::nextafter(edge, 1e15),
                         edge * (1 - 4e-13), edge * (1 - 6e-13)}) {
      EXPECT_EQ(Decimal(value), Printed(value));
    }
  }
  for (double value : {0.0, -0.0, 1.0, -1.5, 5e-324, 1.7976931348623157e308, HUGE_VAL}) {
    EXPECT_EQ(Decimal(value), Printed(value));
  }
}

TEST(DuplicatesTest, FindsWhatACountFinds) {
  std::mt19937_64 random(2);
  for (const size_t n : {0, 1, 2, 1000, 50000}) {
    std::vector<uint64_t> keys(n);
    for (uint64_t& key : keys) key = random();
    for (size_t i = 0; i < n / 50; ++i) keys[random() % n] = keys[random() % n];
    if (n > 10) keys[3] = keys[7] = 0;
    std::map<uint64_t, int> count;
    for (const uint64_t key : keys) ++count[key];
    std::vector<uint64_t> expected;
    for (const auto& [key, times] : count) {
      if (times > 1) expected.push_back(key);
    }
    EXPECT_EQ(RepeatedKeys(keys, 1), expected);
    EXPECT_EQ(RepeatedKeys(keys, 3), expected);
  }
}

TEST(OrderedPipelineTest, KeepsTheOrderAndStopsAtAFailure) {
  for (const int threads : {1, 4}) {
    int next = 0;
    std::vector<int> got;
    std::atomic<int> worked = 0;
    absl::Status status = RunOrdered<int>(
        threads,
        [&](int& job) -> absl::StatusOr<bool> {
          job = next++;
          return job < 500;
        },
        [&](int& job) {
          if (job % 7 == 0) usleep(100);
          job *= 2;
          ++worked;
        },
        [&](int& job) {
          got.push_back(job);
          return absl::OkStatus();
        });
    EXPECT_TRUE(status.ok());
    ASSERT_EQ(got.size(), 500U);
    EXPECT_EQ(worked, 500);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], 2 * i);
    status = RunOrdered<int>(
        threads, [](int&) -> absl::StatusOr<bool> { return true; }, [](int&) {},
        [](int&) { return absl::AbortedError("enough"); });
    EXPECT_EQ(status.message(), "enough");
  }
}

TEST(ChunkReaderTest, ChunksAreWholeLinesAndAddUpToTheFile) {
  std::mt19937 random(3);
  const std::string path = testing::TempDir() + "/chunks-" + std::to_string(getpid());
  for (int round = 0; round < 40; ++round) {
    std::string text;
    for (size_t n = random() % 300; n > 0; --n) {
      text += std::string(random() % 100 == 0 ? 5000 : random() % 40, 'x');
      if (n > 1 || random() % 2 == 0) text += '\n';
    }
    std::ofstream(path, std::ios::binary) << text;
    absl::StatusOr<ChunkReader> reader = ChunkReader::Open(path);
    ASSERT_TRUE(reader.ok());
    for (int pass = 0; pass < 2; ++pass) {
      std::string all;
      std::string chunk;
      while (true) {
        ASSERT_TRUE(reader->Next(chunk, 256).ok());
        if (chunk.empty()) break;
        all += chunk;
        if (all.size() < text.size()) {
          ASSERT_EQ(chunk.back(), '\n');
        }
      }
      ASSERT_EQ(all, text);
      ASSERT_TRUE(reader->Rewind().ok());
    }
  }
  unlink(path.c_str());
}

TEST(ChunkReaderTest, LinesOfAPipeComeAsTheyArrive) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "one\ntwo\nthr", 11), 11);
  absl::StatusOr<ChunkReader> reader = ChunkReader::Open("/dev/fd/" + std::to_string(ends[0]));
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto next = [&] {
    std::string chunk;
    EXPECT_TRUE(reader->Next(chunk, 64, ChunkReader::Fill::kWhatCame).ok());
    return chunk;
  };
  EXPECT_FALSE(reader->WouldWait());
  EXPECT_EQ(next(), "one\ntwo\n");
  EXPECT_TRUE(reader->WouldWait());
  const std::string longer(1000, 'x');
  ASSERT_EQ(write(ends[1], ("ee\n" + longer).c_str(), 1003), 1003);
  EXPECT_EQ(next(), "three\n");
  ASSERT_EQ(write(ends[1], "\nend", 4), 4);
  EXPECT_EQ(next(), longer + "\n");
  close(ends[1]);
  EXPECT_FALSE(reader->WouldWait()) << "its end can be read";
  EXPECT_EQ(next(), "end");
  EXPECT_EQ(next(), "");
  close(ends[0]);
}

TEST(GrowingArrayTest, HoldsWhatAVectorHolds) {
  GrowingArray<uint32_t> array;
  std::vector<uint32_t> model;
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> more(random() % 20000);
    for (uint32_t& value : more) value = random();
    array.Append(more);
    model.insert(model.end(), more.begin(), more.end());
  }
  EXPECT_TRUE(std::equal(model.begin(), model.end(), array.view().begin(), array.view().end()));
}

// Long enough to be cached first and written past the cache then, and to end within a block.
TEST(OutputFileTest, ALongFileIsWhatWasAppended) {
  const std::string path = testing::TempDir() + "output_" + std::to_string(getpid());
  std::mt19937 random(8);
  std::string all(size_t{80} << 20, '\0');
  for (char& c : all) c = static_cast<char>(random());
  for (const size_t size : {size_t{0}, size_t{5000}, size_t{64} << 20, all.size() - 1}) {
    absl::StatusOr<OutputFile> file = OutputFile::Create(path);
    ASSERT_TRUE(file.ok()) << file.status();
    std::string_view rest = std::string_view(all).substr(0, size);
    while (!rest.empty()) {
      const size_t most = random() % 8 == 0 ? size_t{5} << 20 : 100000;
      const std::string_view part = rest.substr(0, random() % most);
      file->Append(part);
      EXPECT_TRUE(random() % 16 != 0 || file->Flush().ok());
      rest.remove_prefix(part.size());
      EXPECT_EQ(file->size(), size - rest.size());
    }
    ASSERT_TRUE(file->Commit().ok());
    std::ifstream written(path, std::ios::binary);
    const std::string there(std::istreambuf_iterator<char>(written), {});
    EXPECT_TRUE(there == std::string_view(all).substr(0, size)) << size;
  }
  std::remove(path.c_str());
}

TEST(HostTest, IsThePartThatIsAsked) {
  EXPECT_EQ(HostOf("http://a.org/x"), "a.org");
  EXPECT_EQ(HostOf("https://u:p@a.org:8080?q"), "a.org");
  EXPECT_EQ(HostOf("http://[::1]:80/"), "[::1]");
  EXPECT_EQ(HostOf("//a.org#f"), "a.org");
  EXPECT_EQ(HostOf("a.org/x"), "");
  EXPECT_EQ(HostOf("http://["), "[");
  EXPECT_EQ(HostOf(""), "");
}

}  // namespace
}  // namespace escalona::cli
