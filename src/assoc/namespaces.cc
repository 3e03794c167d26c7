// Keeps the counters of a server.
#include "assoc/namespaces.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/big_endian.h"
#include "base/varint.h"

namespace escalona::assoc {
namespace {

constexpr char kVersion = 1;

std::string NameKey(std::string_view name) { return "N" + std::string(name); }

std::string NumberKey(char kind, uint64_t id) {
  std::string key(1, kind);
  for (int shift = 24; shift >= 0; shift -= 8) key += static_cast<char>(id >> shift);
  return key;
}

// What is stored of a namespace.
struct Record {
  uint64_t id = 0;
  uint64_t base_age = 0;
  uint64_t age_since_micros = 0;
  NamespaceSettings settings;
};

std::string Encode(const Record& record) {
  std::string bytes(1, kVersion);
  const NamespaceSettings& settings = record.settings;
  const uint64_t flags = (settings.saturate_32bit ? 1 : 0) | (settings.intern_ids ? 2 : 0);
  for (const uint64_t number :
       {record.id, record.base_age, record.age_since_micros, settings.k, settings.max_pairs,
        settings.writes_per_second,
        static_cast<uint64_t>(absl::ToInt64Microseconds(settings.half_life)), settings.event_window,
        flags}) {
    AppendVarint(number, bytes);
  }
  return bytes;
}

bool Decode(std::string_view bytes, Record& record) {
  if (bytes.empty() || bytes.front() != kVersion) return false;
  bytes.remove_prefix(1);
  uint64_t half_life = 0;
  uint64_t flags = 0;
  NamespaceSettings& settings = record.settings;
  for (uint64_t* number :
       {&record.id, &record.base_age, &record.age_since_micros, &settings.k, &settings.max_pairs,
        &settings.writes_per_second, &half_life, &settings.event_window, &flags}) {
    if (!TakeVarint(bytes, *number)) return false;
  }
  settings.half_life = absl::Microseconds(static_cast<int64_t>(half_life));
  settings.saturate_32bit = (flags & 1) != 0;
  settings.intern_ids = (flags & 2) != 0;
  return bytes.empty();
}

absl::Status CheckName(std::string_view name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (good && !name.empty() && name.size() <= kMaxNamespaceBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the name of a namespace has 1 to ",
                                                 kMaxNamespaceBytes,
                                                 " letters, digits, '-', '_' or '.'"));
}

absl::Status CheckSettings(const NamespaceSettings& settings) {
  const auto [name, right] = WrongSetting(settings);
  if (name.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(name), " ", std::string(right)));
}

uint64_t MaxPairs(const NamespaceSettings& settings) {
  return settings.max_pairs != 0 ? settings.max_pairs : std::numeric_limits<uint64_t>::max();
}

}  // namespace

std::pair<std::string_view, std::string_view> WrongSetting(const NamespaceSettings& settings) {
  std::string_view wrong;
  if (settings.k < 1 || settings.k > 1000000) wrong = "k";
  if (settings.event_window > 100000000) wrong = "eventWindow";
  if (settings.half_life < absl::ZeroDuration() ||
      (settings.half_life > absl::ZeroDuration() && settings.half_life < absl::Seconds(1)) ||
      settings.half_life > absl::Hours(24 * 36500)) {
    wrong = "halfLifeSeconds";
  }
  return {wrong, wrong.empty() ? "" : SettingRange(wrong)};
}

std::string_view SettingRange(std::string_view name) {
  if (name == "k") return "must be a whole number from 1 to 1000000";
  if (name == "eventWindow") return "must be a whole number from 0 to 100000000";
  if (name == "maxPairs" || name == "writesPerSecond") {
    return "must be a whole number from 0 (no quota) to 18446744073709551615";
  }
  if (name == "halfLifeSeconds") {
    return "must be 0 (none), or a number from 1 to 3153600000 (100 years)";
  }
  if (name == "saturate32Bit" || name == "internIds") return "must be true or false";
  return "is no setting of a namespace";
}

Namespace::~Namespace() {
  if (heir_ == nullptr) return;
  heir_->counter = std::move(counter_);
  heir_->has_it.Notify();
}

NamespaceSettings Namespace::settings() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return settings_;
}

NamespaceUsage Namespace::Usage() const {
  return {.totals = counter_->Totals(),
          .memory_bytes = counter_->MemoryBytes(),
          .writes = writes_.load(),
          .reads = reads_.load(),
          .refused = refused_.load()};
}

absl::Status Namespace::TakeWrites(uint64_t n, absl::Time now, absl::Duration& retry_after) {
  if (!limited_.load(std::memory_order_relaxed)) return absl::OkStatus();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto rate = static_cast<double>(settings_.writes_per_second);
  if (rate == 0) return absl::OkStatus();
  if (now > tokens_at_) {
    const double passed = absl::ToDoubleSeconds(now - tokens_at_);  // infinite at first
    tokens_ = std::min(rate, tokens_ + passed * rate);
  }
  tokens_at_ = now;  // also when the clock was set back
  if (tokens_ < 1) {
    retry_after = absl::Seconds((1 - tokens_) / rate);
    return absl::ResourceExhaustedError(
        absl::StrCat("the namespace may make ", settings_.writes_per_second, " writes a second"));
  }
  tokens_ -= static_cast<double>(n);
  return absl::OkStatus();
}

void Namespace::OweWrites(uint64_t n) {
  if (!limited_.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  tokens_ -= static_cast<double>(n);
}

uint64_t Namespace::AgeAt(absl::Time now) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (settings_.half_life == absl::ZeroDuration() || now < age_since_) return base_age_;
  absl::Duration rest;
  return base_age_ +
         static_cast<uint64_t>(absl::IDivDuration(now - age_since_, settings_.half_life, &rest));
}

void Namespace::Apply(const NamespaceSettings& settings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (settings.event_window != settings_.event_window) {
    counter_->SetEventWindow(settings.event_window);
  }
  if (settings.writes_per_second != settings_.writes_per_second) {
    tokens_at_ = absl::InfinitePast();
    tokens_ = 0;
  }
  settings_ = settings;
  k_ = settings.k;
  limited_ = limit_rate_ && settings.writes_per_second != 0;
  counter_->SetMaxPairs(MaxPairs(settings));
}

absl::StatusOr<std::unique_ptr<Namespaces>> Namespaces::Open(store::Store& store,
                                                             const Clock& clock,
                                                             const Options& options) {
  std::unique_ptr<Namespaces> opened(new Namespaces(store, clock, options));
  if (absl::Status status = opened->Load(); !status.ok()) return status;
  if (opened->Find(kDefaultNamespace) == nullptr) {
    const auto made = opened->Put(kDefaultNamespace, {});
    if (!made.ok()) return made.status();
  }
  opened->default_ = opened->Find(kDefaultNamespace);
  opened->ShareMemory(opened->All());
  return opened;
}

absl::Status Namespaces::Load() {
  if (absl::Status finished = FinishDrops(); !finished.ok()) return finished;
  std::vector<std::pair<std::string, Record>> records;
  absl::Status status;
  const absl::Status scanned =
      store_.ScanPrefix("N", [&](std::string_view key, std::string_view bytes) {
        Record record;
        if (!Decode(bytes, record)) {
          status = absl::DataLossError(
              absl::StrCat("settings of namespace ", std::string(key.substr(1)), " are damaged"));
        }
        records.emplace_back(key.substr(1), record);
        return status.ok();
      });
  if (!scanned.ok()) return scanned;
  if (!status.ok()) return status;
  for (const auto& [name, record] : records) {
    auto opened = OpenNamespace(record.id, record.settings);
    if (!opened.ok()) return opened.status();
    Namespace& space = **opened;
    space.base_age_ = record.base_age;
    space.age_since_ = absl::FromUnixMicros(static_cast<int64_t>(record.age_since_micros));
    // Half-lives that passed meanwhile are over before the first write of this run.
    if (absl::Status aged = space.counter().SetAge(space.AgeAt(clock_.Now())); !aged.ok()) {
      return aged;
    }
    // What a crash left in the log alone is not in the totals yet, and no quota may miss it.
    if (record.settings.max_pairs > 0) {
      if (absl::Status written = space.counter().Checkpoint(); !written.ok()) return written;
    }
    next_id_ = std::max(next_id_, record.id + 1);
    map_.emplace(name, std::move(*opened));
  }
  return absl::OkStatus();
}

absl::Status Namespaces::FinishDrops() {
  std::vector<uint64_t> ids;
  absl::Status status;
  const absl::Status scanned = store_.ScanPrefix("D", [&](std::string_view key, std::string_view) {
    std::string_view rest = key.substr(1);
    if (!TakeBigEndian(rest, 4, ids.emplace_back()) || !rest.empty()) {
      status = absl::DataLossError("the number of a dropped namespace is damaged");
    }
    return status.ok();
  });
  if (!scanned.ok()) return scanned;
  if (!status.ok()) return status;
  for (const uint64_t id : ids) status.Update(FinishDrop(id));
  return status;
}

absl::Status Namespaces::FinishDrop(uint64_t id) {
  store::Batch batch;
  batch.Delete(NumberKey('D', id));
  batch.Delete(NumberKey('U', id));
  batch.DeletePrefix(NumberKey('C', id));
  return store_.Write(batch, store::Reach::kOs);
}

absl::StatusOr<std::shared_ptr<Namespace>> Namespaces::OpenNamespace(
    uint64_t id, const NamespaceSettings& settings) {
  DurableOptions options;
  options.durability = options_.durability;
  options.memory_bytes = options_.memory_bytes;
  options.prefix = NumberKey('C', id);
  options.event_window = settings.event_window;
  options.counter.hash_seed = options_.hash_seed;
  options.counter.intern_ids = settings.intern_ids;
  if (settings.saturate_32bit) options.counter.max_count = AssociationOptions::kSaturate32Bit;
  auto counter = DurableAssociations::Open(store_, options);
  if (!counter.ok()) return counter.status();
  auto opened = std::make_shared<Namespace>();
  opened->id_ = id;
  opened->limit_rate_ = options_.limit_rate;
  opened->counter_ = std::move(*counter);
  opened->age_since_ = clock_.Now();
  opened->Apply(settings);
  const auto usage = store_.Get(NumberKey('U', id));
  if (!usage.ok()) return usage.status();
  if (usage->has_value()) {
    std::string_view bytes = **usage;
    uint64_t numbers[3] = {};
    for (uint64_t& number : numbers) {
      if (!TakeVarint(bytes, number)) return absl::DataLossError("usage figures are damaged");
    }
    opened->writes_ = numbers[0];
    opened->reads_ = numbers[1];
    opened->refused_ = numbers[2];
    opened->saved_usage_ = numbers[0] + numbers[1] + numbers[2];
  }
  return opened;
}

std::shared_ptr<Namespace> Namespaces::Find(std::string_view name) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto found = map_.find(name);
  return found != map_.end() ? found->second : nullptr;
}

std::vector<std::string> Namespaces::Names() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, space] : map_) names.push_back(name);
  return names;
}

std::vector<std::shared_ptr<Namespace>> Namespaces::All() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<std::shared_ptr<Namespace>> all;
  for (const auto& [name, space] : map_) all.push_back(space);
  return all;
}

absl::Status Namespaces::Save(std::string_view name, const Namespace& saved) {
  Record record;
  {
    const std::lock_guard<std::mutex> lock(saved.mutex_);
    record = {.id = saved.id_,
              .base_age = saved.base_age_,
              .age_since_micros = static_cast<uint64_t>(absl::ToUnixMicros(saved.age_since_)),
              .settings = saved.settings_};
  }
  store::Batch batch;
  batch.Put(NameKey(name), Encode(record));
  return store_.Write(batch, store::Reach::kDisk);
}

absl::StatusOr<bool> Namespaces::Put(std::string_view name, const NamespaceSettings& settings) {
  return Update(name, [&settings](NamespaceSettings& edited) {
    edited = settings;
    return absl::OkStatus();
  });
}

absl::StatusOr<bool> Namespaces::Update(std::string_view name,
                                        absl::FunctionRef<absl::Status(NamespaceSettings&)> edit) {
  if (absl::Status status = CheckName(name); !status.ok()) return status;
  const std::lock_guard<std::mutex> change(change_mutex_);
  const auto there = Find(name);
  NamespaceSettings settings;
  if (there != nullptr) settings = there->settings();
  if (absl::Status status = edit(settings); !status.ok()) return status;
  if (absl::Status status = CheckSettings(settings); !status.ok()) return status;
  if (there != nullptr) {
    if (absl::Status status = Change(name, *there, settings); !status.ok()) return status;
    return false;
  }
  auto made = OpenNamespace(next_id_, settings);
  if (!made.ok()) return made.status();
  if (absl::Status status = Save(name, **made); !status.ok()) return status;
  ++next_id_;
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  map_.emplace(name, std::move(*made));
  return true;
}

absl::Status Namespaces::Change(std::string_view name, Namespace& changed,
                                const NamespaceSettings& settings) {
  const NamespaceSettings before = changed.settings();
  if (settings.saturate_32bit != before.saturate_32bit ||
      settings.intern_ids != before.intern_ids) {
    return absl::FailedPreconditionError(
        "saturate32Bit and internIds are chosen when the namespace is made");
  }
  absl::Time age_since;
  uint64_t base_age;
  {
    const std::lock_guard<std::mutex> lock(changed.mutex_);
    age_since = changed.age_since_;
    base_age = changed.base_age_;
  }
  if (settings.half_life != before.half_life) {
    const absl::Time now = clock_.Now();
    const uint64_t age = changed.AgeAt(now);
    const std::lock_guard<std::mutex> lock(changed.mutex_);
    changed.base_age_ = age;
    changed.age_since_ = now;
  }
  changed.Apply(settings);
  absl::Status saved = Save(name, changed);
  if (saved.ok()) return saved;
  changed.Apply(before);
  const std::lock_guard<std::mutex> lock(changed.mutex_);
  changed.base_age_ = base_age;
  changed.age_since_ = age_since;
  return saved;
}

absl::Status Namespaces::Drop(std::string_view name) {
  const std::lock_guard<std::mutex> change(change_mutex_);
  if (name == kDefaultNamespace) {
    return absl::FailedPreconditionError("the default namespace cannot be dropped");
  }
  std::shared_ptr<Namespace> dropped = Find(name);
  if (dropped == nullptr) {
    return absl::NotFoundError(absl::StrCat("no namespace '", std::string(name), "'"));
  }
  const uint64_t id = dropped->id_;
  // Without its name it is gone; what is in it goes when nobody holds it, or at the next start.
  store::Batch batch;
  batch.Delete(NameKey(name));
  batch.Put(NumberKey('D', id), "");
  if (absl::Status status = store_.Write(batch, store::Reach::kDisk); !status.ok()) return status;
  {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    map_.erase(map_.find(name));
  }
  Namespace::Heir heir;
  dropped->heir_ = &heir;
  dropped->dropped_ = true;
  dropped.reset();
  // Who holds it may still write, and what it writes must not come after what is deleted here; nor
  // what the counter writes when it goes.
  heir.has_it.WaitForNotification();
  heir.counter.reset();
  FinishDrop(id).IgnoreError();
  return absl::OkStatus();
}

absl::Status Namespaces::Sync() {
  absl::Status first;
  for (const auto& space : All()) first.Update(space->counter().Flush());
  first.Update(store_.Sync());
  return first;
}

absl::Status Namespaces::SaveUsage(Namespace& saved) {
  const uint64_t numbers[] = {saved.writes_, saved.reads_, saved.refused_};
  const uint64_t sum = numbers[0] + numbers[1] + numbers[2];
  if (sum == saved.saved_usage_) return absl::OkStatus();
  std::string bytes;
  for (const uint64_t number : numbers) AppendVarint(number, bytes);
  store::Batch batch;
  batch.Put(NumberKey('U', saved.id_), bytes);
  absl::Status written = store_.Write(batch, store::Reach::kOs);
  if (written.ok()) saved.saved_usage_ = sum;
  return written;
}

absl::Status Namespaces::Maintain() {
  const auto all = All();
  ShareMemory(all);
  absl::Status first;
  for (const auto& space : all) {
    DurableAssociations& counter = space->counter();
    first.Update(counter.SetAge(space->AgeAt(clock_.Now())));
    if (counter.LogChanges() >= options_.checkpoint_changes || counter.HasReplay()) {
      first.Update(counter.Checkpoint());
    }
    first.Update(SaveUsage(*space));
  }
  return first;
}

absl::Status Namespaces::Checkpoint() {
  absl::Status first;
  for (const auto& space : All()) {
    first.Update(SaveUsage(*space));
    first.Update(space->counter().Checkpoint());
  }
  return first;
}

void Namespaces::ShareMemory(const std::vector<std::shared_ptr<Namespace>>& all) const {
  if (options_.memory_bytes == std::numeric_limits<size_t>::max() || all.empty()) return;
  size_t used = 0;
  for (const auto& space : all) used += space->counter().MemoryBytes();
  for (const auto& space : all) {
    const size_t own = space->counter().MemoryBytes();
    const double share =
        used > options_.memory_bytes
            ? static_cast<double>(own) / static_cast<double>(used) *
                  static_cast<double>(options_.memory_bytes)
            : static_cast<double>(own) + static_cast<double>(options_.memory_bytes - used) /
                                             static_cast<double>(all.size());
    space->counter().SetMemoryBytes(static_cast<size_t>(share));
  }
}

}  // namespace escalona::assoc
