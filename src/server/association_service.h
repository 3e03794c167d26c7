// The association counters as a part of the server.
#ifndef ESCALONA_SERVER_ASSOCIATION_SERVICE_H_
#define ESCALONA_SERVER_ASSOCIATION_SERVICE_H_

#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "assoc/namespaces.h"
#include "escalona/clock.h"
#include "server/router.h"
#include "server/service.h"
#include "store/store.h"

namespace escalona::server {

struct AssociationServiceOptions {
  std::string folder;  // of the store
  assoc::Durability durability = assoc::Durability::kInterval;
  size_t memory_bytes = std::numeric_limits<size_t>::max();
  bool limit_rate = true;  // false: writesPerSecond is kept, and limits nobody
};

// Opens the store, adds the routes, and has two threads: one writes the log to the disk each second
// (with durability interval), the other makes checkpoints, which may take longer. Stop makes
// everything safe.
class AssociationService : public Service {
 public:
  // The clock and the router outlive it.
  AssociationService(AssociationServiceOptions options, const Clock& clock, Router& router);
  ~AssociationService() override;

  std::string name() const override { return "associations"; }
  std::string detail() const override;
  absl::Status Start() override;
  void Stop() override;

  // After Start.
  assoc::Namespaces& namespaces() { return *namespaces_; }

 private:
  // Calls `work` each second until Stop.
  void Repeat(absl::Status (assoc::Namespaces::*work)());

  const AssociationServiceOptions options_;
  const Clock& clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<assoc::Namespaces> namespaces_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_ASSOCIATION_SERVICE_H_
