// Starts and stops the parts of the server.
#include "server/service.h"

#include <spdlog/spdlog.h>

namespace escalona::server {

absl::Status ServiceList::Start() {
  for (; started_ < services_.size(); ++started_) {
    Service& service = *services_[started_];
    if (absl::Status status = service.Start(); !status.ok()) {
      Stop();
      return absl::Status(status.code(), service.name() + ": " + std::string(status.message()));
    }
    spdlog::info("{} started {}", service.name(), service.detail());
  }
  return absl::OkStatus();
}

void ServiceList::Stop() {
  while (started_ > 0) {
    Service& service = *services_[--started_];
    service.Stop();
    spdlog::info("{} stopped", service.name());
  }
}

}  // namespace escalona::server
