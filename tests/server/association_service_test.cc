// The service with many clients at once: nothing is lost, and nobody sees a list out of order.
#include "server/association_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "escalona/clock.h"
#include "server/http_client.h"
#include "server/http_server.h"

namespace escalona::server {
namespace {

namespace json = boost::json;

class AssociationServiceTest : public ::testing::Test {
 protected:
  ~AssociationServiceTest() override {
    Stop();
    std::filesystem::remove_all(folder_);
  }

  void Start(assoc::Durability durability, size_t memory_bytes) {
    router_ = std::make_unique<Router>();
    service_ = std::make_unique<AssociationService>(
        AssociationServiceOptions{folder_, durability, memory_bytes}, clock_, *router_);
    HttpOptions options;
    options.port = 0;
    server_ = std::make_unique<HttpServer>(options, *router_);
    ASSERT_TRUE(service_->Start().ok());
    ASSERT_TRUE(server_->Start().ok());
  }
  void Stop() {
    server_.reset();
    if (service_ != nullptr) service_->Stop();
    service_.reset();
  }

  std::string Ask(HttpClient& client, Method method, const std::string& target,
                  const std::string& body = "") {
    const auto response = client.Ask({.method = method, .target = target, .body = body});
    EXPECT_TRUE(response.ok()) << response.status();
    if (!response.ok()) return "";
    EXPECT_LT(response->status, 300) << response->body;
    return response->body;
  }

  // The sum of the frequencies of a list, which must descend.
  uint64_t SumOf(HttpClient& client, const std::string& key) {
    const json::value list =
        json::parse(Ask(client, Method::kGet, "/associations/" + key + "?k=100000"));
    uint64_t sum = 0;
    uint64_t last = UINT64_MAX;
    for (const json::value& entry : list.as_array()) {
      const auto count = entry.at("frequency").to_number<uint64_t>();
      EXPECT_LE(count, last);
      last = count;
      sum += count;
    }
    return sum;
  }

  // Writers count 1 and many at a time, readers read, one exports and makes namespaces.
  void ManyClients(assoc::Durability durability, size_t memory_bytes, int writes) {
    constexpr int kWriters = 4;
    Start(durability, memory_bytes);
    std::vector<std::thread> threads;
    std::atomic<int> writing = kWriters;
    for (int w = 0; w < kWriters; ++w) {
      threads.emplace_back([&, w] {
        HttpClient client("127.0.0.1", server_->port());
        for (int i = 0; i < writes; ++i) {
          const std::string key = std::to_string(i % 7);
          const std::string item = R"({"key":"a)" + key + R"(","associatedKey":"k)" +
                                   std::to_string(i * (w + 1) % 300) + R"("})";
          if (i % 10 == 0) {
            Ask(client, Method::kPost, "/associations/batch", "[" + item + "," + item + "]");
          } else {
            Ask(client, Method::kPost, "/associations", item);
          }
        }
        --writing;
      });
    }
    for (int r = 0; r < 2; ++r) {
      threads.emplace_back([&, r] {
        HttpClient client("127.0.0.1", server_->port());
        for (int i = r; writing > 0; ++i) SumOf(client, "a" + std::to_string(i % 7));
      });
    }
    threads.emplace_back([&] {
      HttpClient client("127.0.0.1", server_->port());
      while (writing > 0) {
        Ask(client, Method::kGet, "/associations");
        Ask(client, Method::kPut, "/ns/x", R"({"maxPairs": 5})");
        Ask(client, Method::kPost, "/ns/x/associations", R"({"key":"a","associatedKey":"b"})");
        Ask(client, Method::kGet, "/ns");
        Ask(client, Method::kDelete, "/ns/x");
      }
    });
    for (std::thread& thread : threads) thread.join();
    const auto expected = static_cast<uint64_t>(kWriters * (writes + (writes + 9) / 10));
    for (int restart = 0; restart < 2; ++restart) {
      HttpClient client("127.0.0.1", server_->port());
      uint64_t sum = 0;
      for (int i = 0; i < 7; ++i) sum += SumOf(client, "a" + std::to_string(i));
      EXPECT_EQ(sum, expected);
      Stop();
      Start(durability, memory_bytes);
    }
  }

  const std::string folder_ =
      ::testing::TempDir() + "association_service_test" + std::to_string(getpid());
  SystemClock clock_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<AssociationService> service_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(AssociationServiceTest, ConcurrencyLosesNothing) {
  std::filesystem::remove_all(folder_);
  ManyClients(assoc::Durability::kInterval, std::numeric_limits<size_t>::max(), 1000);
}

TEST_F(AssociationServiceTest, ConcurrencyLosesNothingWithLittleMemory) {
  std::filesystem::remove_all(folder_);
  ManyClients(assoc::Durability::kInterval, 40 << 10, 500);
}

TEST_F(AssociationServiceTest, ConcurrencyLosesNothingInSyncMode) {
  std::filesystem::remove_all(folder_);
  ManyClients(assoc::Durability::kSync, std::numeric_limits<size_t>::max(), 300);
}

}  // namespace
}  // namespace escalona::server
