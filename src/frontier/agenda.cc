#include "frontier/agenda.h"

#include <algorithm>
#include <utility>

namespace escalona::frontier {
namespace {

constexpr int64_t kMillis = 1000;

// Spreads consecutive numbers over all bits, as good as random for the weights of the tree.
uint32_t WeightOf(uint64_t number) {
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9;
  number = (number ^ number >> 27) * 0x94D049BB133111EB;
  return static_cast<uint32_t>(number >> 32);
}

bool IsActive(const QueueRecord& record) { return record.scheduled > 0; }

}  // namespace

int64_t Agenda::SlotOf(const Queue& queue) const {
  const int64_t delay = DelayOf(queue);
  if (queue.record.last_served == kUnset || delay == 0) return kUnset;
  return queue.record.last_served + delay;
}

int64_t Agenda::WakeOf(const Queue& queue) const {
  const QueueRecord& record = queue.record;
  if (queue.damaged || record.scheduled <= queue.live_leases) return kNever;
  if (record.limit > 0 && record.completed >= record.limit) return kNever;
  if (queue.live_leases >= options_.max_in_process) return kNever;
  const int64_t due = std::min(record.next_due, queue.freed_due());
  if (due == kNever) return kNever;
  int64_t wake = std::max(due * kMillis, SlotOf(queue));
  if (record.blocked_until != kUnset) wake = std::max(wake, record.blocked_until + 1);
  return wake;
}

ReadyKey Agenda::KeyOf(const Queue& queue) {
  switch (queue.crawl->strategy) {
    case Strategy::kBreadthFirst:
      return {queue.record.turn, queue.id};
    case Strategy::kDepthFirst:
      return {queue.id, 0};
    case Strategy::kBestFirst:
      return {~queue.record.scheduled, queue.id};
  }
  return {};
}

void Agenda::Insert(Crawl& crawl, ReadyNode& node) {
  if (crawl.ready.empty()) ready_crawls_.emplace(crawl.id, &crawl);
  crawl.ready.Insert(node);
}

void Agenda::Erase(Crawl& crawl, ReadyNode& node) {
  crawl.ready.Erase(node);
  if (crawl.ready.empty()) ready_crawls_.erase(crawl.id);
}

void Agenda::Refresh(GroupPart& part, int64_t now) {
  Group& group = *part.group;
  const bool shut = group.open_at > now;
  if (shut && group.heap_place == Waiter::kNowhere) waiting_.Insert(group, group.open_at);
  const ReadyNode* const first = part.ready.First(UINT32_MAX);
  const bool wanted = first != nullptr && !shut && group.holder == nullptr;
  if (part.in_tree && wanted && part.order == first->order && part.gate == part.ready.least())
    return;
  if (part.in_tree) Erase(*part.crawl, part);
  if (!wanted) return;
  part.order = first->order;
  part.gate = part.ready.least();
  Insert(*part.crawl, part);
}

void Agenda::RefreshAll(Group& group, int64_t now) {
  for (auto& [crawl, part] : group.parts) Refresh(*part, now);
}

void Agenda::Detach(Queue& queue, int64_t now) {
  if (queue.heap_place != Waiter::kNowhere) waiting_.Erase(queue);
  if (!queue.in_tree) return;
  if (queue.part == nullptr) return Erase(*queue.crawl, queue);
  queue.part->ready.Erase(queue);
  Refresh(*queue.part, now);
}

void Agenda::MakeReady(Queue& queue, int64_t now) {
  const ReadyKey key = KeyOf(queue);
  if (queue.in_tree && queue.order == key && queue.gate == queue.live_leases) return;
  Detach(queue, now);
  queue.order = key;
  queue.gate = queue.live_leases;
  if (queue.part == nullptr) return Insert(*queue.crawl, queue);
  queue.part->ready.Insert(queue);
  Refresh(*queue.part, now);
}

void Agenda::Wait(Queue& queue, int64_t wake, int64_t now) {
  if (queue.heap_place != Waiter::kNowhere && waiting_.WakeOf(queue) == wake) return;
  Detach(queue, now);
  waiting_.Insert(queue, wake);
}

void Agenda::Place(Queue& queue, int64_t now) {
  if (queue.taken || queue.dead || !queue.known) return Detach(queue, now);
  const int64_t wake = WakeOf(queue);
  if (wake == kNever) return Detach(queue, now);
  if (wake <= now) return MakeReady(queue, now);
  Wait(queue, wake, now);
}

void Agenda::SetDefaultDelay(int64_t delay, int64_t now) {
  if (delay == options_.default_delay) return;
  options_.default_delay = delay;
  for (Waiter* waiter : waiting_.All()) {
    if (!waiter->is_group) Place(static_cast<Queue&>(*waiter), now);
  }
}

void Agenda::Advance(int64_t now) {
  while (!lease_ends_.empty() && lease_ends_.front().deadline <= now) {
    const LeaseEnd end = lease_ends_.front();
    Lease* const lease = end.queue->FindLease(end.url);
    if (lease != nullptr && lease->live && lease->id == end.lease) {
      lease->live = false;
      --end.queue->live_leases;
      --end.queue->crawl->leased;
      --live_leases_;
      LeaseTable& leases = *end.queue->leases;
      leases.freed_due = std::min(leases.freed_due, DateOf(lease->url));
      Place(*end.queue, now);
    }
    DropLeaseEnd();
  }
  while (!waiting_.empty() && waiting_.earliest() <= now) {
    Waiter& waiter = waiting_.front();
    waiting_.Erase(waiter);
    if (waiter.is_group) {
      RefreshAll(static_cast<Group&>(waiter), now);
    } else {
      Place(static_cast<Queue&>(waiter), now);
    }
  }
}

void Agenda::Add(Queue& queue) {
  queue.known = true;
  queue.weight = WeightOf(queue.id);
  queue.crawl->queues.insert(&queue);
  queue.crawl->scheduled += queue.record.scheduled;
  queue.crawl->completed += queue.record.completed;
  queue.crawl->active_queues += IsActive(queue.record) ? 1 : 0;
}

void Agenda::SetRecord(Queue& queue, const QueueRecord& record) {
  if (queue.known) {
    Crawl& crawl = *queue.crawl;
    crawl.scheduled += record.scheduled - queue.record.scheduled;
    crawl.completed += record.completed - queue.record.completed;
    crawl.active_queues += IsActive(record) ? 1 : 0;
    crawl.active_queues -= IsActive(queue.record) ? 1 : 0;
  }
  queue.record = record;
}

void Agenda::Remove(Queue& queue, int64_t now) {
  queue.dead = true;
  Detach(queue, now);
  Settle(queue, now);
  LeaveGroup(queue);
  if (queue.known) {
    Crawl& crawl = *queue.crawl;
    crawl.queues.erase(&queue);
    crawl.scheduled -= queue.record.scheduled;
    crawl.completed -= queue.record.completed;
    crawl.leased -= queue.live_leases;
    crawl.active_queues -= IsActive(queue.record) ? 1 : 0;
    crawl.damaged_queues -= queue.damaged ? 1 : 0;
    queue.known = false;
  }
  live_leases_ -= queue.live_leases;
  queue.live_leases = 0;
  queue.leases.reset();
}

void Agenda::FreeIfUnused(Queue* queue) {
  if (!queue->dead || queue->references > 0) return;
  Crawl* const crawl = queue->crawl;
  Queue::Delete(queue);
  if (--crawl->objects == 0 && crawl->dead) delete crawl;
}

void Agenda::LeaveGroup(Queue& queue) {
  GroupPart* const part = std::exchange(queue.part, nullptr);
  if (part == nullptr || --part->queues > 0) return;
  Group& group = *part->group;
  if (part->in_tree) Erase(*part->crawl, *part);
  group.parts.erase(part->crawl);
  if (!group.parts.empty()) return;
  if (group.heap_place != Waiter::kNowhere) waiting_.Erase(group);
  const std::string name = group.name;
  groups_.erase(name);
}

void Agenda::SetGroup(Queue& queue, std::string_view name, int64_t now) {
  if (queue.part == nullptr ? name.empty() : queue.part->group->name == name) return;
  Detach(queue, now);
  Settle(queue, now);
  LeaveGroup(queue);
  if (!name.empty()) {
    std::unique_ptr<Group>& group = groups_[std::string(name)];
    if (group == nullptr) {
      group = std::make_unique<Group>();
      group->name = name;
      group->is_group = true;
    }
    std::unique_ptr<GroupPart>& part = group->parts[queue.crawl];
    if (part == nullptr) {
      part = std::make_unique<GroupPart>();
      part->is_part = true;
      part->crawl = queue.crawl;
      part->group = group.get();
      part->weight = WeightOf(queue.id + 1);
    }
    ++part->queues;
    queue.part = part.get();
    group->open_at = std::max(group->open_at, queue.record.group_until);
    RefreshAll(*group, now);
  }
  Place(queue, now);
}

void Agenda::SetStrategy(Crawl& crawl, Strategy strategy, int64_t now) {
  if (crawl.strategy == strategy) return;
  for (Queue* queue : crawl.queues) Detach(*queue, now);
  crawl.strategy = strategy;
  for (Queue* queue : crawl.queues) Place(*queue, now);
}

void Agenda::AddLease(Queue& queue, const Fingerprint& url, const Lease& lease) {
  if (queue.leases == nullptr) queue.leases = std::make_unique<LeaseTable>();
  (*queue.leases)[url] = lease;
  ++queue.live_leases;
  ++queue.crawl->leased;
  ++live_leases_;
  ++queue.references;
  lease_ends_.push_back({lease.deadline, lease.id, &queue, url});
  std::push_heap(lease_ends_.begin(), lease_ends_.end(), Later());
  constexpr size_t kFew = 1024;
  if (lease_ends_.size() > 2 * live_leases_ + kFew) CompactLeaseEnds();
}

void Agenda::EndLease(Queue& queue, const Fingerprint& url) {
  const Lease* const lease = queue.FindLease(url);
  if (lease == nullptr) return;
  if (lease->live) {
    --queue.live_leases;
    --queue.crawl->leased;
    --live_leases_;
  }
  queue.leases->erase(url);
  if (queue.leases->empty()) queue.leases.reset();
}

void Agenda::DropLeaseEnd() {
  std::pop_heap(lease_ends_.begin(), lease_ends_.end(), Later());
  Queue* const queue = lease_ends_.back().queue;
  lease_ends_.pop_back();
  --queue->references;
  FreeIfUnused(queue);
}

void Agenda::CompactLeaseEnds() {
  const auto is_over = [](const LeaseEnd& end) {
    const Lease* const lease = end.queue->FindLease(end.url);
    if (lease != nullptr && lease->id == end.lease) return false;
    --end.queue->references;
    FreeIfUnused(end.queue);
    return true;
  };
  std::erase_if(lease_ends_, is_over);
  std::make_heap(lease_ends_.begin(), lease_ends_.end(), Later());
}

void Agenda::TakeOut(Queue& queue, int64_t now) {
  Detach(queue, now);
  queue.taken = true;
  ++queue.references;
  if (queue.part == nullptr) return;
  queue.part->group->holder = &queue;
  RefreshAll(*queue.part->group, now);
}

Queue* Agenda::TakeFrom(Crawl& crawl, uint32_t gate, int64_t now) {
  for (;;) {
    ReadyNode* node = crawl.ready.First(gate);
    if (node == nullptr) return nullptr;
    if (node->is_part) {
      auto& part = static_cast<GroupPart&>(*node);
      if (part.group->open_at > now) {
        RefreshAll(*part.group, now);
        continue;
      }
      // The one that gives the group its place, be it that this call passes over it.
      auto& first = static_cast<Queue&>(*part.ready.First(UINT32_MAX));
      if (WakeOf(first) > now) {
        Place(first, now);
        continue;
      }
      node = part.ready.First(gate);
    }
    auto& queue = static_cast<Queue&>(*node);
    if (WakeOf(queue) > now) {
      Place(queue, now);
      continue;
    }
    TakeOut(queue, now);
    return &queue;
  }
}

Queue* Agenda::Take(Crawl* crawl, uint32_t gate, int64_t now) {
  gate = std::min(gate, options_.max_in_process);
  if (crawl != nullptr) return TakeFrom(*crawl, gate, now);
  // Once round, from the crawl after the one asked last.
  for (int round = 0; round < 2; ++round) {
    uint32_t after = round == 0 ? last_asked_ : 0;
    for (;;) {
      const auto next = ready_crawls_.upper_bound(after);
      if (next == ready_crawls_.end()) break;
      after = next->first;
      Queue* const queue = TakeFrom(*next->second, gate, now);
      if (queue == nullptr) continue;
      last_asked_ = after;
      return queue;
    }
  }
  return nullptr;
}

bool Agenda::TakeThis(Queue& queue, uint32_t gate, int64_t now) {
  gate = std::min(gate, options_.max_in_process);
  if (!queue.known || queue.dead || queue.taken || queue.live_leases >= gate ||
      WakeOf(queue) > now) {
    return false;
  }
  if (queue.part != nullptr &&
      (queue.part->group->holder != nullptr || queue.part->group->open_at > now)) {
    return false;
  }
  TakeOut(queue, now);
  return true;
}

bool Agenda::Confirm(const Queue& queue, uint32_t gate, int64_t now) const {
  if (!queue.known || queue.dead || WakeOf(queue) > now ||
      queue.live_leases >= std::min(gate, options_.max_in_process)) {
    return false;
  }
  if (queue.part == nullptr) return true;
  return queue.part->group->holder == &queue && queue.part->group->open_at <= now;
}

void Agenda::Settle(Queue& queue, int64_t now) {
  if (queue.part == nullptr) return;
  Group& group = *queue.part->group;
  if (group.holder != &queue) return;
  group.holder = nullptr;
  group.open_at = std::max(group.open_at, queue.record.group_until);
  RefreshAll(group, now);
}

void Agenda::SetDamaged(Queue& queue) {
  queue.damaged = true;
  ++queue.crawl->damaged_queues;
}

void Agenda::Release(Queue& queue, int64_t now) {
  queue.taken = false;
  Settle(queue, now);
  --queue.references;
  if (queue.dead) return FreeIfUnused(&queue);
  Place(queue, now);
}

}  // namespace escalona::frontier
