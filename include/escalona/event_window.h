// Remembers the last event ids, so that a request that is sent again does not count twice.
#ifndef ESCALONA_EVENT_WINDOW_H_
#define ESCALONA_EVENT_WINDOW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace escalona {

// What is kept of an event's id, which is any bytes: 128 bits of a hash, the same in every run.
using EventId = std::array<uint64_t, 2>;
[[nodiscard]] EventId EventIdOf(std::string_view id);

// An id is known from its Admit until `capacity` other ids have been admitted after it, or until
// it is forgotten. Two different ids are taken for one with a probability of about
// capacity / 2^128. Takes about 60 bytes per id in the window. Thread-safe; every call but
// SetCapacity is O(1). It counts ids, not time: choose the capacity as the rate of writes times the
// longest time a client goes on trying.
//
// Use: `if (window.Admit(id)) count(); else it has been counted`; where counting fails, Forget the
// id, so that the next attempt counts.
class EventWindow {
 public:
  // A window of capacity 0 admits everything.
  explicit EventWindow(size_t capacity);
  EventWindow(const EventWindow&) = delete;
  EventWindow& operator=(const EventWindow&) = delete;
  ~EventWindow();

  // False if the id is known.
  [[nodiscard]] bool Admit(const EventId& id);
  [[nodiscard]] bool Admit(std::string_view id) { return Admit(EventIdOf(id)); }
  void Forget(const EventId& id);
  void Forget(std::string_view id) { Forget(EventIdOf(id)); }
  // Keeps the last `capacity` ids of those there are. O(ids kept).
  void SetCapacity(size_t capacity);
  [[nodiscard]] size_t capacity() const;
  [[nodiscard]] size_t size() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace escalona

#endif  // ESCALONA_EVENT_WINDOW_H_
