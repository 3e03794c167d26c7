// The HTTP server as seen through a socket: what it answers, and whom it does not let wait.
#include "server/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace escalona::server {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A client that sends and receives bytes.
class Client {
 public:
  explicit Client(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  Client(Client&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    if (socket_ >= 0) close(socket_);
  }

  bool connected() const { return connected_; }

  void Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  // Reads until `enough` says so, the server closes, or ten seconds pass without a byte.
  template <typename Enough>
  std::string ReceiveEnough(Enough enough) {
    std::string received;
    char buffer[65536];
    while (!enough(received)) {
      pollfd waiting{socket_, POLLIN, 0};
      if (poll(&waiting, 1, 10000) <= 0) return received + "<nothing came>";
      const ssize_t bytes = recv(socket_, buffer, sizeof(buffer), 0);
      if (bytes <= 0) return received;
      received.append(buffer, static_cast<size_t>(bytes));
    }
    return received;
  }
  std::string ReceiveAll() {
    return ReceiveEnough([](const std::string&) { return false; });
  }
  std::string ReceiveUntil(const std::string& end) {
    return ReceiveEnough([&](const std::string& text) { return text.ends_with(end); });
  }
  // Whether the server closes within ten seconds, sending nothing.
  bool Closed() { return ReceiveAll().empty(); }

 private:
  int socket_;
  bool connected_ = false;
};

// Numbers from 0 on, one per line.
class Numbers : public BodySource {
 public:
  Numbers(int count, std::atomic<int>& made) : count_(count), made_(made) {}
  absl::StatusOr<bool> Next(std::string& piece) override {
    for (int i = 0; i < 1000 && at_ < count_; ++i) piece += std::to_string(at_++) + "\n";
    made_ = at_;
    return at_ < count_;
  }

 private:
  const int count_;
  std::atomic<int>& made_;
  int at_ = 0;
};

class BrokenSource : public BodySource {
 public:
  absl::StatusOr<bool> Next(std::string& piece) override {
    if (asked_++ > 0) return absl::DataLossError("gone");
    piece = "some";
    return true;
  }

 private:
  int asked_ = 0;
};

class ByteCounter : public BodySink {
 public:
  bool Take(std::string_view piece, Response& response) override {
    bytes_ += piece.size();
    if (piece.find('!') == std::string_view::npos) return true;
    SetError(400, "invalid_argument", "no exclamations", "body", response);
    return false;
  }
  void Finish(Response& response) override { response.body = std::to_string(bytes_); }

 private:
  size_t bytes_ = 0;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    options_.port = 0;
    options_.threads = 2;
    options_.workers = 4;
    router_.Add(Method::kGet, "/hello/{name}", [](const Request& request, Response& response) {
      response.body = "hello " + request.params[0];
    });
    router_.Add(Method::kPost, "/echo",
                [](const Request& request, Response& response) { response.body = request.body; },
                {.blocking = false, .max_body_bytes = 1000});
    router_.Add(Method::kPost, "/nothing",
                [](const Request&, Response& response) { response.status = 204; });
    router_.Add(Method::kGet, "/throws",
                [](const Request&, Response&) { throw std::runtime_error("oops"); });
    for (const bool blocking : {false, true}) {
      const std::string prefix = blocking ? "/blocking" : "";
      router_.Add(Method::kGet, prefix + "/numbers/{n}",
                  [this](const Request& request, Response& response) {
                    response.content_type = "text/plain";
                    response.source =
                        std::make_unique<Numbers>(std::stoi(request.params[0]), made_);
                  },
                  {.blocking = blocking});
      router_.AddUpload(Method::kPost, prefix + "/count",
                        [](const Request&, Response&) { return std::make_unique<ByteCounter>(); },
                        {.blocking = blocking});
    }
    router_.Add(Method::kGet, "/broken", [](const Request&, Response& response) {
      response.source = std::make_unique<BrokenSource>();
    });
    router_.Add(Method::kGet, "/wait",
                [this](const Request&, Response& response) {
                  ++waiting_;
                  released_.wait();
                  response.body = "released";
                },
                {.blocking = true});
  }

  void Start() {
    server_ = std::make_unique<HttpServer>(options_, router_);
    const absl::Status status = server_->Start();
    ASSERT_TRUE(status.ok()) << status;
  }
  Client Connect() const { return Client(server_->port()); }
  // The answer to one request on a connection of its own.
  std::string Ask(std::string_view request) const {
    Client client = Connect();
    client.Send(request);
    return client.ReceiveAll();
  }
  std::string Get(const std::string& path) const {
    return Ask("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  void Release() { release_.set_value(); }

  HttpOptions options_;
  Router router_;
  std::atomic<int> made_ = 0;
  std::atomic<int> waiting_ = 0;
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  std::unique_ptr<HttpServer> server_;
};

constexpr char kHello[] = "GET /hello/a HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_F(HttpServerTest, AnswersWithLengthDateAndType) {
  Start();
  const std::string answer = Get("/hello/J%C3%BCrgen%2Fx?k=1");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nDate: "));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: application/json\r\nContent-Length: 15\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nhello J\xC3\xBCrgen/x"));
}

TEST_F(HttpServerTest, ATargetMayNameTheServer) {
  Start();
  EXPECT_THAT(Get("http://example.org:8080/hello/a"), EndsWith("hello a"));
  EXPECT_THAT(Get("http://example.org"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpServerTest, A204HasNeitherLengthNorBody) {
  Start();
  const std::string answer =
      Ask("POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 204 No Content\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("Content-")));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, AConnectionIsUsedAgainAndPipelinedRequestsAreAnsweredInOrder) {
  Start();
  Client client = Connect();
  std::string requests;
  for (int i = 0; i < 1000; ++i) {
    requests += "GET /hello/" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  std::thread sender([&] { client.Send(requests); });
  const std::string answers = client.ReceiveUntil("hello 999");
  sender.join();
  size_t at = 0;
  for (int i = 0; i < 1000; ++i) {
    at = answers.find("\r\n\r\nhello " + std::to_string(i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  client.Send(kHello);
  EXPECT_THAT(client.ReceiveUntil("hello a"), EndsWith("hello a"));
  EXPECT_EQ(server_->Stats().accepted, 1);
}

TEST_F(HttpServerTest, ARequestMayComeByteByByte) {
  Start();
  Client client = Connect();
  const std::string_view request =
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde"
      "\r\n0\r\nTrailer: 1\r\n\r\n";
  for (const char byte : request) {
    client.Send(std::string_view(&byte, 1));
    std::this_thread::yield();
  }
  EXPECT_THAT(client.ReceiveUntil("abcde"), EndsWith("\r\n\r\nabcde"));
}

TEST_F(HttpServerTest, HeadHasTheHeaderOfGetAndNoBody) {
  Start();
  const std::string answer = Ask("HEAD /hello/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, Http10ClosesUnlessAskedNotTo) {
  Start();
  EXPECT_THAT(Ask("GET /hello/a HTTP/1.0\r\n\r\n"), EndsWith("hello a"));
  Client client = Connect();
  client.Send("GET /hello/a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(client.ReceiveUntil("hello a"), HasSubstr("Connection: keep-alive"));
  // Without chunks, the end of the connection is the end of the body.
  EXPECT_THAT(Ask("GET /numbers/2 HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\n0\n1\n"));
}

TEST_F(HttpServerTest, ExpectingClientsAreToldToContinue) {
  Start();
  Client client = Connect();
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReceiveUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ab");
  EXPECT_THAT(client.ReceiveUntil("ab"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(HttpServerTest, NobodyElseIsToldToContinue) {
  Start();
  for (const char* head : {"HTTP/1.0\r\nExpect: 100-continue\r\n",
                           "HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n"}) {
    Client client = Connect();
    client.Send("POST /echo " + std::string(head) + "Content-Length: 2\r\n\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    client.Send("ab");
    EXPECT_THAT(client.ReceiveUntil("ab"), StartsWith("HTTP/1.1 200 OK")) << head;
  }
}

TEST_F(HttpServerTest, WhatIsWrongIsSaidInJson) {
  Start();
  EXPECT_THAT(Get("/none"), HasSubstr(R"({"code":"not_found","message":)"));
  const std::string wrong_method =
      Ask("DELETE /hello/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(wrong_method, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(wrong_method, HasSubstr("Allow: GET\r\n"));
  EXPECT_THAT(Get("/hello/%zz"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Get("/hello/a?b=%zz"), HasSubstr(R"("field":"query")"));
  EXPECT_THAT(Get("/hello/a?b=%"), HasSubstr(R"("field":"query")"));
  EXPECT_THAT(Get("/hello/a?b=%25"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Get("/throws"), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(Ask("GET /hello/a HTTP/1.1\r\nConnection: close\r\n\r\n"),
              HasSubstr(R"("field":"Host")"));
  EXPECT_THAT(Ask("GET /hello/a HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n"),
              HasSubstr(R"("field":"Host")"));
}

TEST_F(HttpServerTest, WhatIsNoHttpIsRefusedAndClosed) {
  Start();
  for (const char* request :
       {"nonsense\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        "GET / HTTP/3.0\r\n\r\n", "GET / HTTP/1.1\r\nbad header\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"}) {
    EXPECT_THAT(Ask(request), StartsWith("HTTP/1.1 400 ")) << request;
  }
  // A body whose end nobody can tell must not be taken for requests.
  for (const char* encoding : {"gzip", "identity", "chunked, gzip", ""}) {
    const std::string answer =
        Ask("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: " + std::string(encoding) +
            "\r\n\r\nGET /hello/smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << encoding;
    EXPECT_THAT(answer, Not(HasSubstr("smuggled"))) << encoding;
  }
}

TEST_F(HttpServerTest, HeadersAndBodiesAreBounded) {
  Start();
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: x\r\nLong: " + std::string(1 << 20, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Ask("GET /" + std::string(1 << 20, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  // Told by the length, before the body is there; and found out, where there is no length.
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                  std::string(1001, 'x') + "\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  // The client of a refused body gets the answer even if it sends on.
  EXPECT_THAT(Ask("POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" +
                  std::string(3000000, 'x')),
              StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpServerTest, LongBodiesStreamBothWays) {
  Start();
  for (const std::string prefix : {"", "/blocking"}) {
    const std::string numbers = Get(prefix + "/numbers/100000");
    EXPECT_THAT(numbers, HasSubstr("Transfer-Encoding: chunked\r\n"));
    EXPECT_THAT(numbers, HasSubstr("\n99999\n\r\n0\r\n\r\n"));
    Client client = Connect();
    client.Send("POST " + prefix +
                "/count HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n");
    client.Send(std::string(10000000, 'x'));
    EXPECT_THAT(client.ReceiveUntil("\r\n\r\n10000000"), EndsWith("\r\n\r\n10000000"));
    // The connection goes on after both.
    client.Send("GET " + prefix + "/numbers/1 HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.ReceiveUntil("0\r\n\r\n"), HasSubstr("\r\n\r\n2\r\n0\n\r\n0\r\n\r\n"));
    client.Send("POST " + prefix + "/count HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    EXPECT_THAT(client.ReceiveUntil("\r\n\r\n0"), EndsWith("\r\n\r\n0"));
    // A sink that has enough is not fed on.
    EXPECT_THAT(
        Ask("POST " + prefix + "/count HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab!"),
        StartsWith("HTTP/1.1 400 "));
  }
}

TEST_F(HttpServerTest, ABodyThatBreaksOffLooksBroken) {
  Start();
  const std::string answer = Get("/broken");
  EXPECT_THAT(answer, EndsWith("4\r\nsome\r\n"));
}

TEST_F(HttpServerTest, ASourceIsAskedOnlyAsFastAsTheClientReads) {
  Start();
  Client client = Connect();
  client.Send("GET /numbers/100000000 HTTP/1.1\r\nHost: x\r\n\r\n");
  client.ReceiveEnough([](const std::string& text) { return text.size() > 1000; });
  // Others are served meanwhile, by both threads.
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Get("/hello/a"), EndsWith("hello a"));
  EXPECT_LT(made_, 10000000);
}

TEST_F(HttpServerTest, ABlockingHandlerHoldsUpNobody) {
  Start();
  std::vector<Client> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(Connect());
    waiting.back().Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  while (waiting_ < 4) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Get("/hello/a"), EndsWith("hello a"));
  Release();
  for (Client& client : waiting) {
    EXPECT_THAT(client.ReceiveUntil("released"), EndsWith("released"));
  }
}

TEST_F(HttpServerTest, SlowClientsAreCutOff) {
  options_.idle_timeout = milliseconds(200);
  options_.header_timeout = milliseconds(200);
  options_.body_timeout = milliseconds(200);
  Start();
  EXPECT_TRUE(Connect().Closed());
  Client half_header = Connect();
  half_header.Send("GET /hello/a HTTP/1.1\r\nHo");
  EXPECT_THAT(half_header.ReceiveAll(), StartsWith("HTTP/1.1 408 "));
  Client half_body = Connect();
  half_body.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_THAT(half_body.ReceiveAll(), StartsWith("HTTP/1.1 408 "));
  // A byte now and then does not help.
  Client drip = Connect();
  drip.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
  std::atomic<bool> stop = false;
  std::thread dripping([&] {
    while (!stop) {
      drip.Send("x");
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  EXPECT_THAT(drip.ReceiveAll(), StartsWith("HTTP/1.1 408 "));
  stop = true;
  dripping.join();
  EXPECT_GE(server_->Stats().timeouts, 4);
}

TEST_F(HttpServerTest, AClientThatDoesNotReadIsCutOff) {
  options_.body_timeout = milliseconds(200);
  Start();
  Client client = Connect();
  client.Send("GET /numbers/100000000 HTTP/1.1\r\nHost: x\r\n\r\n");
  while (server_->Stats().timeouts == 0) std::this_thread::sleep_for(milliseconds(10));
  while (server_->Stats().connections > 0) std::this_thread::sleep_for(milliseconds(1));
}

TEST_F(HttpServerTest, ServesBesideThousandsOfIdleConnections) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const size_t most = std::min<size_t>(10000, limit.rlim_cur / 2 - 600);
  options_.max_connections = most;
  Start();
  std::vector<Client> idle;
  for (size_t i = 0; i < most; ++i) {
    idle.push_back(Connect());
    if (i % 2 == 0) idle.back().Send("GET /hel");  // half of them in the midst of a request
  }
  while (server_->Stats().connections < most) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) EXPECT_THAT(Get("/hello/a"), EndsWith("hello a"));
  EXPECT_GE(server_->Stats().connections, most - 2);  // one idle one of each thread made room
}

TEST_F(HttpServerTest, SleepsWhileThereIsNothingToDo) {
  Start();
  Client kept = Connect();
  kept.Send("GET /hello/a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(kept.ReceiveUntil("hello a"), EndsWith("hello a"));
  std::this_thread::sleep_for(milliseconds(50));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 10);
}

TEST_F(HttpServerTest, WhereNobodyIsIdleTheNewOneIsTurnedAway) {
  options_.max_connections = 2;
  Start();
  std::vector<Client> busy;
  for (int i = 0; i < 2; ++i) {
    busy.push_back(Connect());
    busy.back().Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  while (waiting_ < 2) std::this_thread::yield();
  const std::string answer = Connect().ReceiveAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer,
              EndsWith("\r\n\r\n{\"code\":\"unavailable\",\"message\":\"all connections are "
                       "in use now\"}"));
  Release();
}

TEST_F(HttpServerTest, StopLetsRequestsUnderWayFinish) {
  Start();
  Client idle = Connect();
  Client busy = Connect();
  busy.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  while (waiting_ < 1) std::this_thread::yield();
  std::thread stopping([&] { server_->Stop(); });
  EXPECT_TRUE(idle.Closed());
  EXPECT_FALSE(Connect().connected());
  Release();
  EXPECT_THAT(busy.ReceiveAll(), EndsWith("released"));
  stopping.join();
}

TEST_F(HttpServerTest, StopDoesNotWaitForEver) {
  options_.stop_timeout = milliseconds(100);
  Start();
  Client half = Connect();
  half.Send("GET /hel");
  Client stream = Connect();
  stream.Send("GET /blocking/numbers/100000000 HTTP/1.1\r\nHost: x\r\n\r\n");
  while (made_ == 0) std::this_thread::yield();
  server_->Stop();
  EXPECT_EQ(server_->Stats().connections, 0);
}

TEST_F(HttpServerTest, StopEndsAClockThatHasJustStruck) {
  options_.stop_timeout = milliseconds(1);
  options_.body_timeout = milliseconds(40);  // looked at every 10 ms
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> busy = false;
    Router router;
    router.Add(Method::kGet, "/busy", [&](const Request&, Response&) {
      busy = true;
      std::this_thread::sleep_for(milliseconds(30));  // the clock strikes, and Stop comes
    });
    HttpServer server(options_, router);
    ASSERT_TRUE(server.Start().ok());
    Client client(server.port());
    client.Send("GET /busy HTTP/1.1\r\nHost: x\r\n\r\n");
    while (!busy) std::this_thread::yield();
    server.Stop();
  }
}

TEST_F(HttpServerTest, AnAddressThatCannotBeListenedOnIsAnError) {
  Start();
  HttpOptions taken = options_;
  taken.port = server_->port();
  EXPECT_EQ(HttpServer(taken, router_).Start().code(), absl::StatusCode::kFailedPrecondition);
  taken.host = "no such host";
  EXPECT_EQ(HttpServer(taken, router_).Start().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HttpServerTest, ManyClientsAtOnceGetTheirOwnAnswersConcurrency) {
  Start();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Client client = Connect();
      for (int i = 0; i < 300; ++i) {
        const std::string name = std::to_string(t) + "-" + std::to_string(i) + ".";
        const bool blocking = i % 10 == 0;
        client.Send(blocking ? "GET /blocking/numbers/1 HTTP/1.1\r\nHost: x\r\n\r\n"
                             : "GET /hello/" + name + " HTTP/1.1\r\nHost: x\r\n\r\n");
        const std::string end = blocking ? "0\n\r\n0\r\n\r\n" : "hello " + name;
        if (!client.ReceiveUntil(end).ends_with(end)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace escalona::server
