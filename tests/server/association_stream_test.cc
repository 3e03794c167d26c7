// Streams of associations and the quota of writes: who is too fast is told where to go on.
#include "server/association_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "assoc/namespaces.h"
#include "escalona/clock.h"
#include "store/store.h"

namespace escalona::server {
namespace {

namespace json = boost::json;

constexpr uint64_t kRate = 1000;
constexpr int kAskedAfter = 4096;

class AssociationStreamTest : public ::testing::Test {
 protected:
  AssociationStreamTest() {
    assoc::NamespaceSettings settings;
    settings.writes_per_second = kRate;
    EXPECT_TRUE(spaces_->Put("a", settings).ok());
    space_ = spaces_->Find("a");
  }

  // Feeds the rest of `text` from line `from` on, in pieces, and gives the answer.
  json::object Send(BodySink& sink, std::string_view text, int from, size_t cut) {
    for (int i = 0; i < from; ++i) text.remove_prefix(text.find('\n') + 1);
    response_.Clear();
    bool going = true;
    for (; going && !text.empty(); text.remove_prefix(std::min(cut, text.size()))) {
      going = sink.Take(text.substr(0, cut), response_);
    }
    if (going) sink.Finish(response_);
    return json::parse(response_.body).as_object();
  }
  std::unique_ptr<BodySink> Batch() {
    return NewBatchSink(space_, clock_, StreamFormat::kCsv, 1 << 20);
  }
  std::unique_ptr<BodySink> Replace(size_t max_list_bytes = 1 << 20) {
    return NewReplaceSink(space_, clock_, StreamFormat::kCsv, max_list_bytes);
  }
  void WaitAsTold() {
    ASSERT_EQ(response_.headers.at(0).first, "Retry-After");
    clock_.Advance(absl::Seconds(std::stoi(response_.headers.at(0).second)));
  }

  std::unique_ptr<store::Store> store_ = store::NewMemoryStore();
  VirtualClock clock_{absl::FromUnixSeconds(1800000000)};
  std::unique_ptr<assoc::Namespaces> spaces_ = *assoc::Namespaces::Open(*store_, clock_, {});
  std::shared_ptr<assoc::Namespace> space_;
  Response response_;
};

TEST_F(AssociationStreamTest, AStreamThatIsTooFastGoesOnWhereItIsTold) {
  constexpr int kLines = 10000;
  std::string text;
  for (int i = 0; i < kLines; ++i) text += i % 1000 == 999 ? "wrong\n" : "a,x\n";
  for (const size_t cut : {size_t{7}, size_t{5000}, text.size()}) {
    int from = 0;
    uint64_t accepted = 0;
    size_t errors = 0;
    while (true) {
      const json::object answer = Send(*Batch(), text, from, cut);
      accepted += answer.at("accepted").to_number<uint64_t>();
      errors += answer.at("errors").as_array().size();
      if (response_.status == 200) break;
      ASSERT_EQ(response_.status, 429);
      const int next = answer.at("next").to_number<int>();
      EXPECT_GE(next, kAskedAfter);
      EXPECT_LE(next, kAskedAfter + 5);  // the wrong ones are not written
      EXPECT_NE(std::string(answer.at("message").as_string()).find("1000 writes a second"),
                std::string::npos);
      from += next;
      WaitAsTold();
    }
    EXPECT_EQ(accepted, kLines - 10);
    EXPECT_EQ(errors, 10);
    clock_.Advance(absl::Seconds(10));
  }
  EXPECT_EQ((*space_->counter().CountAndRank("a", "x"))->count, 3 * (kLines - 10));
}

TEST_F(AssociationStreamTest, AStreamThatKeepsToTheRateIsNotDisturbed) {
  const auto sink = Batch();
  std::string second;
  for (uint64_t i = 0; i < kRate; ++i) second += "a,x\n";
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(sink->Take(second, response_)) << i;
    clock_.Advance(absl::Seconds(1));
  }
  sink->Finish(response_);
  EXPECT_EQ(response_.body, R"({"accepted":20000,"errors":[]})");
}

TEST_F(AssociationStreamTest, AListIsReplacedAsAWholeOrLater) {
  std::string text;
  for (int key = 0; key < 5; ++key) {
    for (int i = 0; i < 3000; ++i) text += absl::StrCat("k", key, ",", i, "\n");
  }
  const json::object answer = Send(*Replace(), text, 0, text.size());
  EXPECT_EQ(response_.status, 429);
  EXPECT_EQ(answer.at("next").to_number<int>(), 6000);
  EXPECT_EQ(answer.at("accepted").to_number<int>(), 6000);
  EXPECT_EQ(space_->counter().Totals().pairs, 6000);
  WaitAsTold();
  Send(*Replace(), text, 6000, text.size());
  EXPECT_EQ(space_->counter().Totals().pairs, 12000);
}

TEST_F(AssociationStreamTest, AListThatIsTooLongEndsTheRequestAndIsNamed) {
  std::string text = "short,x\nshort,y\nwrong\n";
  for (int i = 0; i < 100; ++i) text += absl::StrCat("long,", 100 + i, "\n");
  text += "last,x";
  for (const size_t cut : {size_t{7}, text.size()}) {
    const json::object answer = Send(*Replace(670), text, 0, cut);  // 10 items of 67 bytes
    EXPECT_EQ(response_.status, 413);
    const std::string message(answer.at("message").as_string());
    EXPECT_NE(message.find("begins with item 3 is too long at item 13: it may have 670 bytes"),
              std::string::npos)
        << message;
    EXPECT_EQ(space_->counter().Totals().pairs, 2);
    EXPECT_TRUE((*space_->counter().CountAndRank("short", "y")).has_value());
  }
  Send(*Replace(670), "k,100\nk,101\n", 0, 99);
  EXPECT_EQ(response_.status, 200);
}

}  // namespace
}  // namespace escalona::server
