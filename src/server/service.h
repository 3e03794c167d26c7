// A part of the server process that is started and stopped.
#ifndef ESCALONA_SERVER_SERVICE_H_
#define ESCALONA_SERVER_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace escalona::server {

// Its constructor takes what it needs and adds its routes; nothing runs before Start.
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  virtual std::string name() const = 0;
  // What is said when it has started: an address, for example. May be empty.
  virtual std::string detail() const { return ""; }
  [[nodiscard]] virtual absl::Status Start() = 0;
  // Finishes what is under way and makes it safe. Called once, and only if Start succeeded.
  virtual void Stop() = 0;
};

// Starts services in the order they were added and stops them in the reverse order, so that who
// takes requests is added after those that answer them.
class ServiceList {
 public:
  ServiceList() = default;
  ServiceList(const ServiceList&) = delete;
  ServiceList& operator=(const ServiceList&) = delete;
  ~ServiceList() { Stop(); }

  void Add(std::unique_ptr<Service> service) { services_.push_back(std::move(service)); }
  // If one fails, those before it are stopped, and its error is given with its name.
  [[nodiscard]] absl::Status Start();
  void Stop();

 private:
  std::vector<std::unique_ptr<Service>> services_;
  size_t started_ = 0;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_SERVICE_H_
