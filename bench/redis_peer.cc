// Counts pairs in Redis, 64 commands in a pipeline, and reads the server's CPU time.
#include "redis_peer.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "assoc_ids.h"

namespace escalona::bench {
namespace {

constexpr int kPipeline = 64;

double ServerCpuSeconds(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

class Pipeline {
 public:
  explicit Pipeline(const char* path) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() { close(socket_); }

  bool ok() const { return connected_; }

  void Increment(const Id& associator, const Id& key) {
    request_ += "*4\r\n$7\r\nZINCRBY\r\n$16\r\n";
    request_.append(associator.view());
    request_ += "\r\n$1\r\n1\r\n$16\r\n";
    request_.append(key.view());
    request_ += "\r\n";
    if (++pending_ == kPipeline) Flush();
  }

  // Sends what is pending and waits for the answers, each "$n\r\nNUMBER\r\n".
  void Flush() {
    for (size_t sent = 0; connected_ && sent < request_.size();) {
      const ssize_t n = write(socket_, request_.data() + sent, request_.size() - sent);
      connected_ = n > 0;
      sent += std::max<ssize_t>(n, 0);
    }
    char answer[16384];
    for (int lines = 2 * pending_; connected_ && lines > 0;) {
      const ssize_t n = read(socket_, answer, sizeof(answer));
      connected_ = n > 0 && answer[0] != '-';
      if (n > 0) lines -= static_cast<int>(std::count(answer, answer + n, '\n'));
    }
    request_.clear();
    pending_ = 0;
  }

 private:
  int socket_;
  bool connected_;
  int pending_ = 0;
  std::string request_;
};

}  // namespace

int MeasureRedis(const char* socket_path, int pid, uint64_t associators, uint64_t keys) {
  Pipeline redis(socket_path);
  double start = ServerCpuSeconds(pid);
  for (uint64_t key = 0; key < keys; ++key) {
    for (uint64_t associator = 0; associator < associators; ++associator) {
      redis.Increment(AssociatorId(associator), KeyId(associator, key, keys));
    }
  }
  redis.Flush();
  const auto pairs = static_cast<double>(associators * keys);
  std::printf("redis_fill_per_cpu_second %.0f\n", pairs / (ServerCpuSeconds(pid) - start));
  constexpr int kWrites = 1000000;
  PairNumbers random(associators, keys);
  start = ServerCpuSeconds(pid);
  for (int i = 0; i < kWrites; ++i) {
    const auto [associator, key] = random.Next();
    redis.Increment(AssociatorId(associator), KeyId(associator, key, keys));
  }
  redis.Flush();
  if (!redis.ok()) {
    std::fprintf(stderr, "assoc_bench: redis at %s does not answer\n", socket_path);
    return 2;
  }
  std::printf("redis_per_cpu_second %.0f\n", kWrites / (ServerCpuSeconds(pid) - start));
  return 0;
}

}  // namespace escalona::bench
