// Keeps gRPC's threads awake.
#ifndef ESCALONA_SERVER_WAKEFULNESS_H_
#define ESCALONA_SERVER_WAKEFULNESS_H_

#include <grpcpp/server.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "server/urlfrontier.grpc.pb.h"

namespace escalona::server {

// The threads that run callbacks in gRPC 1.51 sleep for 100 ms whenever nothing has come for a
// second, deaf to what arrives meanwhile: the first call after a pause would wait for that long.
// A call within the process three times a second keeps at least one of them listening.
class Wakefulness {
 public:
  explicit Wakefulness(grpc::Server& server);
  Wakefulness(const Wakefulness&) = delete;
  Wakefulness& operator=(const Wakefulness&) = delete;
  ~Wakefulness();  // before the server shuts down

 private:
  void Run();
  void Call();

  std::unique_ptr<urlfrontier::URLFrontier::Stub> stub_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_WAKEFULNESS_H_
