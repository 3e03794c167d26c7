// What all policies share: the pages, their sum, the politeness guard; and the server heap.
#include "escalona/revisit_policy.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "revisit/indexed_heap.h"
#include "revisit/policies.h"

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsAmount(double value) { return value >= 0 && value < kInfinity; }

absl::Status CheckAmount(const char* name, double value) {
  if (IsAmount(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, "; it must be finite and not negative"));
}

absl::Status CheckPage(const RevisitPage& page, double now) {
  if (absl::Status s = CheckAmount("frequency", page.frequency); !s.ok()) return s;
  if (absl::Status s = CheckAmount("change_rate", page.change_rate); !s.ok()) return s;
  if (absl::Status s = CheckAmount("weight", page.weight); !s.ok()) return s;
  if (!std::isfinite(now)) return absl::InvalidArgumentError("now must be finite");
  return absl::OkStatus();
}

absl::Status NoSuchPage(PageId id) {
  return absl::NotFoundError(absl::StrCat("page ", id, " is not among the server's pages"));
}

struct NamedPolicy {
  PolicyKind kind;
  std::string_view name;
  std::unique_ptr<RevisitPolicy> (*make)(const PolicyOptions&);
};
constexpr NamedPolicy kPolicies[] = {
    {PolicyKind::kRandom, "random", MakeRandomPolicy},
    {PolicyKind::kMerge, "merge", MakeMergePolicy},
    {PolicyKind::kBucketedMerge, "bucketed", MakeBucketedMergePolicy},
    {PolicyKind::kDelayed, "delayed", MakeDelayedPolicy},
    {PolicyKind::kHybrid, "hybrid", MakeHybridPolicy},
};

}  // namespace

std::string_view PolicyName(PolicyKind kind) noexcept {
  return kPolicies[static_cast<size_t>(kind)].name;
}

std::optional<PolicyKind> PolicyFromName(std::string_view name) noexcept {
  for (const NamedPolicy& policy : kPolicies) {
    if (policy.name == name) return policy.kind;
  }
  return std::nullopt;
}

std::unique_ptr<RevisitPolicy> MakeRevisitPolicy(PolicyKind kind, const PolicyOptions& options) {
  return kPolicies[static_cast<size_t>(kind)].make(options);
}

RevisitPolicy::RevisitPolicy(const PolicyOptions& options)
    : politeness_(IsAmount(options.politeness) ? options.politeness : 0) {}

double RevisitPolicy::Advance(double now) { return clock_ = std::max(clock_, now); }

// Adding and subtracting leaves rounding errors behind: add up anew after as many changes as there
// are pages, and whenever the sum fell so far that an old error could show.
void RevisitPolicy::RefreshTotal(double change) {
  total_ += change;
  peak_total_ = std::max(peak_total_, total_);
  if (++changes_ <= size_ && total_ >= peak_total_ * 0x1p-10) return;
  changes_ = 0;
  total_ = 0;
  for (const KnownPage& page : pages_) total_ += page.frequency;
  peak_total_ = total_;
}

absl::Status RevisitPolicy::Add(PageId id, const RevisitPage& page, double now, double last_visit) {
  if (absl::Status s = CheckPage(page, now); !s.ok()) return s;
  if (Contains(id)) return absl::AlreadyExistsError(absl::StrCat("page ", id, " was added before"));
  now = Advance(now);
  if (!(last_visit <= now)) {
    return absl::InvalidArgumentError(
        absl::StrCat("last visit at ", last_visit, " is not before now, ", now));
  }
  if (id >= pages_.size()) {
    if (id >= pages_.capacity()) pages_.reserve(std::max<size_t>(id + 1, pages_.capacity() * 2));
    pages_.resize(id + 1);
  }
  const double old_total = total_;
  pages_[id] = {page.frequency, page.change_rate, page.weight, true};
  ++size_;
  RefreshTotal(page.frequency);
  OnAdd(id, now, last_visit, old_total);
  due_ = Due();
  return absl::OkStatus();
}

absl::Status RevisitPolicy::Update(PageId id, const RevisitPage& page, double now) {
  if (absl::Status s = CheckPage(page, now); !s.ok()) return s;
  if (!Contains(id)) return NoSuchPage(id);
  const KnownPage old = pages_[id];
  const double old_total = total_;
  pages_[id] = {page.frequency, page.change_rate, page.weight, true};
  RefreshTotal(page.frequency - old.frequency);
  OnUpdate(id, old, Advance(now), old_total);
  due_ = Due();
  return absl::OkStatus();
}

absl::Status RevisitPolicy::Remove(PageId id, double now) {
  if (!Contains(id)) return NoSuchPage(id);
  if (!std::isfinite(now)) return absl::InvalidArgumentError("now must be finite");
  const KnownPage old = pages_[id];
  const double old_total = total_;
  pages_[id] = {};
  --size_;
  RefreshTotal(-old.frequency);
  OnRemove(id, old, Advance(now), old_total);
  due_ = Due();
  return absl::OkStatus();
}

absl::Status RevisitPolicy::SetPoliteness(double politeness) {
  if (absl::Status s = CheckAmount("politeness", politeness); !s.ok()) return s;
  politeness_ = politeness;
  earliest_ = last_request_ + politeness_;
  // Rounded sums can fall short of P by an ulp; the gap must not.
  while (earliest_ - last_request_ < politeness_) earliest_ = std::nextafter(earliest_, kInfinity);
  OnPoliteness(clock_);
  due_ = Due();
  return absl::OkStatus();
}

std::optional<PageId> RevisitPolicy::Take(double now) {
  if (!(now >= NextTime()) || now == kInfinity) return std::nullopt;
  now = Advance(now);
  const PageId id = Choose(now);
  due_ = Due();
  last_request_ = now;
  earliest_ = now + politeness_;
  while (earliest_ - now < politeness_) earliest_ = std::nextafter(earliest_, kInfinity);
  return id;
}

struct ServerHeap::Heap : IndexedHeap {};

ServerHeap::ServerHeap() : heap_(std::make_unique<Heap>()) {}
ServerHeap::~ServerHeap() = default;
ServerHeap::ServerHeap(ServerHeap&&) noexcept = default;
ServerHeap& ServerHeap::operator=(ServerHeap&&) noexcept = default;

void ServerHeap::Set(ServerId server, double time) {
  if (time < kInfinity) {
    heap_->Set(server, time);
  } else {
    heap_->Remove(server);
  }
}

void ServerHeap::Remove(ServerId server) { heap_->Remove(server); }
size_t ServerHeap::size() const noexcept { return heap_->size(); }

std::optional<std::pair<ServerHeap::ServerId, double>> ServerHeap::Earliest() const noexcept {
  if (heap_->empty()) return std::nullopt;
  return std::pair(heap_->Top().id, heap_->Top().key);
}

}  // namespace escalona::revisit
