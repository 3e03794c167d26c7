// Cuts streams into items, and lists into streams.
#include "server/association_stream.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "server/association_items.h"
#include "server/association_writer.h"

namespace escalona::server {
namespace {

constexpr size_t kWrittenAtOnce = 4096;     // and then the quota is asked again
constexpr size_t kMaxLineBytes = 32 << 10;  // two keys of which every byte is escaped, and a third
constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kNamesAtOnce = 256;
constexpr size_t kLongArrayBytes = 512 << 10;

ItemError LongLine() { return {"", "a line may have " + std::to_string(kMaxLineBytes) + " bytes"}; }

absl::Status Dropped() { return absl::NotFoundError("the namespace was dropped meanwhile"); }

// A stream holds its namespace only while it works: a client that stalls must not hold up those who
// drop it. Null if it was dropped.
std::shared_ptr<assoc::Namespace> Hold(const std::weak_ptr<assoc::Namespace>& space) {
  auto held = space.lock();
  if (held != nullptr && held->dropped()) held.reset();
  return held;
}

// Calls a sink as long as its namespace is there.
class HoldingSink : public BodySink {
 public:
  HoldingSink(std::weak_ptr<assoc::Namespace> space, std::unique_ptr<BodySink> sink)
      : space_(std::move(space)), sink_(std::move(sink)) {}

  bool MayWait() const override {
    const auto held = Hold(space_);
    return held != nullptr && sink_->MayWait();
  }

  bool Take(std::string_view piece, Response& response) override {
    const auto held = Hold(space_);
    if (held != nullptr) return sink_->Take(piece, response);
    SetError(Dropped(), "namespace", response);
    return false;
  }

  void Finish(Response& response) override {
    if (const auto held = Hold(space_); held != nullptr) {
      sink_->Finish(response);
    } else {
      SetError(Dropped(), "namespace", response);
    }
  }

 private:
  const std::weak_ptr<assoc::Namespace> space_;
  const std::unique_ptr<BodySink> sink_;
};

// Cuts a stream into lines and parses each.
class LineSink : public BodySink {
 public:
  LineSink(assoc::Namespace& space, const Clock& clock, StreamFormat format)
      : writer_(space), clock_(clock), format_(format) {}

  bool MayWait() const override { return writer_.space().counter().AnyAway(); }

  bool Take(std::string_view piece, Response& response) override {
    if (!std::exchange(admitted_, true) && !AdmitWrites(writer_.space(), 0, clock_, response)) {
      return false;
    }
    TakeLines(piece);
    return Going(response);
  }

  void Finish(Response& response) override {
    if (writer_.failed().ok() && (!carry_.empty() || skipping_)) {
      const std::string last = std::move(carry_);
      TakeLine(last);
    }
    End();
    writer_.Respond(response);
  }

 protected:
  // The item's views are valid until this returns.
  virtual void OnItem(const AssociationItem& item, uint64_t index) = 0;
  // What was kept of items is used now: their memory goes.
  virtual void EndPiece() = 0;
  virtual void End() = 0;

  // Whether the body is one array, as far as can be said once `piece` is there.
  bool IsArray(std::string_view piece) {
    const size_t first = piece.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && !std::exchange(begun_, true)) {
      is_array_ = format_ == StreamFormat::kNdjson && piece[first] == '[';
    }
    return is_array_;
  }
  bool is_array() const { return is_array_; }

  bool Going(Response& response) {
    if (writer_.failed().ok()) return true;
    writer_.Respond(response);
    return false;
  }

  // How many items more are written before the quota is asked again.
  size_t Unasked() const { return written_ < kWrittenAtOnce ? kWrittenAtOnce - written_ : 0; }

  // Whether `n` items may be written, the first of which is number `index`. What is written before
  // the quota is asked again makes a debt.
  bool MayWrite(size_t n, uint64_t index) {
    if (!writer_.failed().ok()) return false;
    if (Unasked() == 0) {
      written_ = 0;
      if (!writer_.MayGoOn(index, clock_)) return false;
    }
    written_ += n;
    writer_.space().OweWrites(n);
    return true;
  }

  AssociationWriter writer_;
  const Clock& clock_;

 private:
  // The end of the line at the front; npos if it is not there. In CSV, ends between quotes are
  // none.
  size_t LineEnd(std::string_view text) const {
    const size_t end = text.find('\n');
    if (format_ != StreamFormat::kCsv) return end;
    if (text.substr(0, end).find('"') == std::string_view::npos) return end;
    bool quoted = false;
    bool may_open = true;  // at the beginning of a value; behind a quote that closed: a doubled one
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\n' && !quoted) return i;
      if (c == '"' && (quoted || may_open)) {
        quoted = !quoted;
        may_open = true;
      } else {
        may_open = c == ',';
      }
    }
    return std::string_view::npos;
  }

  void TakeLines(std::string_view piece) {
    std::string joined;
    if (!carry_.empty()) {
      joined = std::move(carry_);
      joined.append(piece);
      carry_.clear();
      piece = joined;
    }
    if (!PassMark(piece)) {
      carry_ = piece;
      return;
    }
    while (!piece.empty() && writer_.failed().ok()) {
      const size_t end = LineEnd(piece);
      if (end == std::string_view::npos) break;
      TakeLine(piece.substr(0, end));
      piece.remove_prefix(end + 1);
    }
    EndPiece();
    if (piece.size() <= kMaxLineBytes) {
      carry_ = piece;
      return;
    }
    skipping_ = true;  // the rest of the line, which counts as one item
    carry_.clear();
  }

  // Passes over the mark that some programs put before UTF-8. False: it may have begun, and the
  // next piece will tell.
  bool PassMark(std::string_view& piece) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (mark_passed_) return true;
    if (piece.size() < kMark.size() && kMark.starts_with(piece)) return false;
    mark_passed_ = true;
    if (piece.starts_with(kMark)) piece.remove_prefix(kMark.size());
    return true;
  }

  // Whether the line, of CSV, names the columns.
  bool IsHeader(std::string_view line) {
    if (std::exchange(header_passed_, true)) return false;
    ItemError error;
    const ItemParser::Header header = parser_.TakeHeader(line, error);
    if (header == ItemParser::Header::kWrong) writer_.Fail(error);
    return header != ItemParser::Header::kNone;
  }

  bool Parse(std::string_view line, AssociationItem& item, ItemError& error) {
    return format_ == StreamFormat::kCsv ? parser_.ParseRow(line, item, error)
                                         : parser_.ParseOne(line, item, error);
  }

  void TakeLine(std::string_view line) {
    if (std::exchange(skipping_, false)) {
      writer_.Refuse(index_++, LongLine());
      return;
    }
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    if (line.size() > kMaxLineBytes) {
      writer_.Refuse(index_++, LongLine());
      return;
    }
    if (format_ == StreamFormat::kCsv && IsHeader(line)) return;
    AssociationItem item;
    ItemError error;
    if (Parse(line, item, error)) {
      OnItem(item, index_);
    } else {
      writer_.Refuse(index_, error);
    }
    ++index_;
  }

  const StreamFormat format_;
  bool admitted_ = false;
  size_t written_ = 0;  // since the quota was asked
  ItemParser parser_;
  std::string carry_;  // the beginning of a line
  uint64_t index_ = 0;
  bool begun_ = false;  // something but blanks has come
  bool is_array_ = false;
  bool skipping_ = false;
  bool mark_passed_ = false;
  bool header_passed_ = false;
};

class BatchSink : public LineSink {
 public:
  BatchSink(assoc::Namespace& space, const Clock& clock, StreamFormat format,
            size_t max_array_bytes)
      : LineSink(space, clock, format), max_array_bytes_(max_array_bytes) {}

  bool MayWait() const override { return array_.size() > kLongArrayBytes || LineSink::MayWait(); }

  bool Take(std::string_view piece, Response& response) override {
    if (!IsArray(piece)) return LineSink::Take(piece, response);
    if (array_.size() + piece.size() > max_array_bytes_) {
      SetError(413, "too_large",
               "an array may have " + std::to_string(max_array_bytes_) +
                   " bytes; one object per line may have any number",
               "body", response);
      return false;
    }
    // Bytes are counted from the bracket: blanks before it may have come in pieces of their own.
    if (array_.empty()) piece.remove_prefix(piece.find('['));
    array_.append(piece);
    return true;
  }

  void Finish(Response& response) override {
    if (!is_array()) {
      LineSink::Finish(response);
      return;
    }
    std::vector<IndexedItemError> wrong;
    ItemError error;
    ItemParser parser;
    if (!parser.ParseArray(array_, items_, indices_, wrong, error)) {
      SetError(400, "invalid_argument", "the body " + error.message, "body", response);
      return;
    }
    if (!AdmitWrites(writer_.space(), items_.size(), clock_, response)) return;
    for (const auto& [index, item_error] : wrong) writer_.Refuse(index, item_error);
    for (size_t i = 0; i < items_.size() && writer_.failed().ok(); i += kWrittenAtOnce) {
      const size_t n = std::min(kWrittenAtOnce, items_.size() - i);
      writer_.Write(std::span(items_).subspan(i, n), std::span(indices_).subspan(i, n));
    }
    writer_.Respond(response);
  }

 protected:
  void OnItem(const AssociationItem& item, uint64_t index) override {
    // Copied in one block: the line may not stand where it stands for long.
    items_.push_back({Keep(item.key), Keep(item.associated_key), Keep(item.event_id), item.count});
    indices_.push_back(index);
    if (items_.size() == kWrittenAtOnce || items_.size() == Unasked()) EndPiece();
  }

  void EndPiece() override {
    if (items_.empty()) return;
    if (MayWrite(items_.size(), indices_.front())) writer_.Write(items_, indices_);
    items_.clear();
    indices_.clear();
    block_ = 0;
    used_ = 0;
  }

  void End() override { EndPiece(); }

 private:
  std::string_view Keep(std::string_view text) {
    if (blocks_.empty() || used_ + text.size() > blocks_[block_].size()) {
      if (!blocks_.empty()) ++block_;
      if (block_ == blocks_.size()) blocks_.emplace_back(kPieceBytes, '\0');
      used_ = 0;
    }
    char* const to = blocks_[block_].data() + used_;
    std::copy(text.begin(), text.end(), to);
    used_ += text.size();
    return {to, text.size()};
  }

  const size_t max_array_bytes_;
  std::string array_;
  std::vector<AssociationItem> items_;
  std::vector<uint64_t> indices_;
  std::deque<std::string> blocks_;  // of the items' bytes
  size_t block_ = 0;
  size_t used_ = 0;  // of that block
};

class ReplaceSink : public LineSink {
 public:
  ReplaceSink(assoc::Namespace& space, const Clock& clock, StreamFormat format,
              size_t max_list_bytes)
      : LineSink(space, clock, format), max_list_bytes_(max_list_bytes) {}

  bool Take(std::string_view piece, Response& response) override {
    if (!IsArray(piece)) return LineSink::Take(piece, response) && !TellTooLong(response);
    SetError(400, "invalid_argument",
             "the body is an array, and mode=replace takes one object per line, or CSV", "body",
             response);
    return false;
  }

  void Finish(Response& response) override {
    LineSink::Finish(response);
    TellTooLong(response);
  }

 protected:
  void OnItem(const AssociationItem& item, uint64_t index) override {
    if (too_long_.has_value()) return;
    if (item.key != key_ || list_.empty()) {
      Flush();
      key_ = item.key;
    }
    indices_.push_back(index);
    list_bytes_ += item.associated_key.size() + kListItemBytes;
    if (list_bytes_ > max_list_bytes_) {
      too_long_ = index;
      return;
    }
    list_.push_back({std::string(item.associated_key), item.count});
  }
  void EndPiece() override {}
  void End() override {
    if (!too_long_.has_value()) Flush();
  }

 private:
  // Besides the bytes of its key, about.
  static constexpr size_t kListItemBytes = 64;

  bool TellTooLong(Response& response) const {
    if (!too_long_.has_value() || !writer_.failed().ok()) return false;
    const std::string first = std::to_string(indices_.front());
    SetError(413, "too_large",
             "the list that begins with item " + first + " is too long at item " +
                 std::to_string(*too_long_) + ": it may have " + std::to_string(max_list_bytes_) +
                 " bytes, those of its keys and " + std::to_string(kListItemBytes) +
                 " for each; the items before " + first + " were taken, and mode=add takes any " +
                 "number",
             "body", response);
    return true;
  }

  void Flush() {
    list_bytes_ = 0;
    if (list_.empty()) return;
    if (MayWrite(list_.size(), indices_.front())) writer_.Replace(key_, list_, indices_);
    list_.clear();
    indices_.clear();
  }

  const size_t max_list_bytes_;
  std::string key_;
  std::vector<CountedKey> list_;
  std::vector<uint64_t> indices_;
  size_t list_bytes_ = 0;
  std::optional<uint64_t> too_long_;  // the item
};

class ExportSource : public BodySource {
 public:
  ExportSource(std::weak_ptr<assoc::Namespace> space, StreamFormat format)
      : space_(std::move(space)), format_(format) {
    if (format_ == StreamFormat::kCsv) header_ = "key,associatedKey,frequency\n";
  }

  absl::StatusOr<bool> Next(std::string& piece) override {
    piece += std::exchange(header_, "");
    while (piece.size() < kPieceBytes) {
      if (at_ == list_.size()) {
        const auto more = NextList();
        if (!more.ok()) return more.status();
        if (!*more) return false;
        continue;
      }
      Append(list_[at_++], piece);
    }
    return true;
  }

 private:
  absl::StatusOr<bool> NextList() {
    const auto space = Hold(space_);
    if (space == nullptr) return Dropped();
    if (next_name_ == names_.size()) {
      auto names = space->counter().AssociatorsAfter(key_, kNamesAtOnce);
      if (!names.ok()) return names.status();
      names_ = std::move(*names);
      next_name_ = 0;
      if (names_.empty()) return false;
    }
    key_ = names_[next_name_++];
    auto list = space->counter().Top(key_, std::numeric_limits<int64_t>::max());
    if (!list.ok()) return list.status();
    list_ = std::move(*list);
    at_ = 0;
    json_key_ = "{\"key\":";
    AppendJsonString(key_, json_key_);
    json_key_ += ",\"associatedKey\":";
    return true;
  }

  void Append(const CountedKey& entry, std::string& piece) const {
    if (format_ == StreamFormat::kCsv) {
      AppendCsvValue(key_, piece);
      piece += ',';
      AppendCsvValue(entry.key, piece);
      piece += ',';
      piece += std::to_string(entry.count);
    } else {
      piece += json_key_;
      AppendJsonString(entry.key, piece);
      piece += ",\"frequency\":";
      piece += std::to_string(entry.count);
      piece += '}';
    }
    piece += '\n';
  }

  const std::weak_ptr<assoc::Namespace> space_;
  const StreamFormat format_;
  std::string header_;
  std::vector<std::string> names_;
  size_t next_name_ = 0;
  std::string key_;
  std::string json_key_;
  std::vector<CountedKey> list_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<BodySink> NewBatchSink(const std::shared_ptr<assoc::Namespace>& space,
                                       const Clock& clock, StreamFormat format,
                                       size_t max_array_bytes) {
  auto sink = std::make_unique<BatchSink>(*space, clock, format, max_array_bytes);
  return std::make_unique<HoldingSink>(space, std::move(sink));
}

std::unique_ptr<BodySink> NewReplaceSink(const std::shared_ptr<assoc::Namespace>& space,
                                         const Clock& clock, StreamFormat format,
                                         size_t max_list_bytes) {
  auto sink = std::make_unique<ReplaceSink>(*space, clock, format, max_list_bytes);
  return std::make_unique<HoldingSink>(space, std::move(sink));
}

absl::StatusOr<std::unique_ptr<BodySource>> NewExport(
    const std::shared_ptr<assoc::Namespace>& space, StreamFormat format) {
  // So that the store knows all associators.
  if (absl::Status status = space->counter().Checkpoint(); !status.ok()) return status;
  return std::make_unique<ExportSource>(space, format);
}

}  // namespace escalona::server
