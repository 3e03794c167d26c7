#include "server/wakefulness.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

namespace escalona::server {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(300);

}  // namespace

Wakefulness::Wakefulness(grpc::Server& server)
    : stub_(urlfrontier::URLFrontier::NewStub(server.InProcessChannel({}))),
      thread_([this] { Run(); }) {}

Wakefulness::~Wakefulness() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Wakefulness::Run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kInterval, [this] { return ending_; })) {
    lock.unlock();
    Call();
    lock.lock();
  }
}

void Wakefulness::Call() {
  grpc::ClientContext context;
  urlfrontier::Local request;
  urlfrontier::Boolean reply;
  bool done = false;
  stub_->async()->GetActive(&context, &request, &reply, [this, &done](const grpc::Status&) {
    const std::lock_guard lock(mutex_);
    done = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&done] { return done; });
}

}  // namespace escalona::server
