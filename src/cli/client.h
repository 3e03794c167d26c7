// What the commands of `escalona client` share: the server they talk to, and how they tell errors.
#ifndef ESCALONA_CLI_CLIENT_H_
#define ESCALONA_CLI_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "cli/address.h"
#include "server/admin.grpc.pb.h"
#include "server/urlfrontier.grpc.pb.h"

namespace escalona::cli {

// Of all commands; filled in by the command line.
struct ClientFlags {
  std::string server = kGrpcListener.usual;
  std::string wait = "0s";
};

// A server that answers.
class Client {
 public:
  // Tells the user on standard error, and returns null, if nobody answers within --wait.
  static std::unique_ptr<Client> Connect(const ClientFlags& flags, std::string_view command);

  urlfrontier::URLFrontier::Stub& frontier() { return *frontier_; }
  escalona::Admin::Stub& admin() { return *admin_; }

  // Tells the user of an error; the exit status.
  int Fail(const grpc::Status& status) const;
  int Fail(const std::string& message) const;

 private:
  Client(const ClientFlags& flags, std::string_view command) : flags_(flags), command_(command) {}

  const ClientFlags flags_;
  const std::string command_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<urlfrontier::URLFrontier::Stub> frontier_;
  std::unique_ptr<escalona::Admin::Stub> admin_;
};

// Runs `command` as soon as CLI11 has read its options: connects, calls `work(client)`, which
// returns the exit status.
template <class Work>
void OnCommand(CLI::App* command, const std::shared_ptr<ClientFlags>& flags, int& status,
               Work work) {
  command->callback([command, flags, &status, work] {
    std::unique_ptr<Client> client = Client::Connect(*flags, command->get_name());
    status = client ? work(*client) : 2;
  });
}

// The option of the crawl.
void AddCrawl(CLI::App* command, std::string& crawl);

// The argument that names the queue a command is about. An empty one is refused: servers take it
// for a queue that is not there, and say nothing.
void AddKey(CLI::App* command, std::string& key);

// A line on standard output; false if that cannot be written, which the program tells at its end.
bool PrintLine(std::string_view line);

// One line of JSON, as the reference service writes and reads it.
std::string JsonOf(const google::protobuf::Message& message);

// Groups of commands, each in a file of its own.
using AddClientCommands = void (*)(CLI::App& client, const std::shared_ptr<ClientFlags>& flags,
                                   int& status);
void AddClientPut(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status);
void AddClientUrls(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status);
void AddClientDump(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status);
void AddClientQueues(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status);
void AddClientControl(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status);
void AddClientExplain(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_CLIENT_H_
