// `escalona client`: talks to a server of the URLFrontier API.
#include "cli/client.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "cli/address.h"
#include "cli/command.h"
#include "cli/units.h"

namespace escalona::cli {
namespace {

using Time = std::chrono::system_clock::time_point;

// False as soon as nobody can be reached and the time is over.
bool Reach(grpc::Channel& channel, Time patience) {
  const Time most = std::chrono::system_clock::now() + std::chrono::seconds(20);
  while (true) {
    const grpc_connectivity_state state = channel.GetState(true);
    if (state == GRPC_CHANNEL_READY) return true;
    const Time now = std::chrono::system_clock::now();
    const bool failed = state == GRPC_CHANNEL_TRANSIENT_FAILURE;
    if ((failed && now >= patience) || now >= std::max(patience, most)) return false;
    channel.WaitForStateChange(state, failed ? patience : std::max(patience, most));
  }
}

void Tell(std::string_view command, const std::string& message) {
  std::fprintf(stderr, "escalona client %s: %s\n", std::string(command).c_str(), message.c_str());
}

// The API has no other texts. Of one that is not UTF-8, gRPC's answer would be that the server does
// not know the call, and items with it would be skipped without a word.
CLI::Validator Utf8() {
  return {[](const std::string& text) {
            return IsUtf8(text) ? "" : "it is no UTF-8, as the API has all texts";
          },
          ""};
}

bool NamesFile(const CLI::Option& option) {
  return option.get_name() == "FILE" || option.check_lname("output");
}

}  // namespace

std::unique_ptr<Client> Client::Connect(const ClientFlags& flags, std::string_view command) {
  const absl::StatusOr<Address> address = ParseAddress(flags.server, kGrpcListener);
  if (!address.ok()) {
    Tell(command, absl::StrCat("--server: ", address.status().message()));
    return nullptr;
  }
  const absl::StatusOr<double> wait = ParseDuration(flags.wait);
  if (!wait.ok()) {
    Tell(command, absl::StrCat("--wait ", wait.status().message()));
    return nullptr;
  }
  std::unique_ptr<Client> client(new Client(flags, command));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  client->channel_ =
      grpc::CreateCustomChannel(flags.server, grpc::InsecureChannelCredentials(), arguments);
  constexpr double kLongest = 1e9;  // seconds; centuries are more than the clock can count
  const Time patience =
      std::chrono::system_clock::now() +
      std::chrono::milliseconds(static_cast<int64_t>(std::min(*wait, kLongest) * 1e3));
  if (!Reach(*client->channel_, patience)) {
    Tell(command,
         absl::StrCat("nobody who speaks gRPC answers at ", flags.server, "; ",
                      WhereItListens(kGrpcListener), "; --wait 10s waits for one that starts"));
    return nullptr;
  }
  client->frontier_ = urlfrontier::URLFrontier::NewStub(client->channel_);
  client->admin_ = escalona::Admin::NewStub(client->channel_);
  return client;
}

int Client::Fail(const std::string& message) const {
  Tell(command_, message);
  return kCouldNotBeDone;
}

int Client::Fail(const grpc::Status& status) const {
  switch (status.error_code()) {
    case grpc::StatusCode::UNIMPLEMENTED:
      return Fail("the server at " + flags_.server + " does not know this call");
    case grpc::StatusCode::UNAVAILABLE:
      return Fail("the server at " + flags_.server + " has gone: " + status.error_message());
    default:
      return Fail(status.error_message().empty()
                      ? absl::StrCat("the server refused, with code ", status.error_code())
                      : status.error_message());
  }
}

void AddCrawl(CLI::App* command, std::string& crawl) {
  command->add_option("-c,--crawl", crawl, "The crawl; DEFAULT if unset");
}

void AddKey(CLI::App* command, std::string& key) {
  command->add_option("KEY", key, "The queue")
      ->required()
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.empty() ? "it is empty; name a queue, such as example.org" : "";
          },
          ""));
}

bool PrintLine(std::string_view line) {
  return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
         std::putchar('\n') != EOF;
}

std::string JsonOf(const google::protobuf::Message& message) {
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(message, &json);
  return json;
}

void AddClient(CLI::App& app, int& status) {
  CLI::App* client = app.add_subcommand(
      "client", "Talk to a frontier server: ours, or any of the URLFrontier API");
  auto flags = std::make_shared<ClientFlags>();
  client->add_option("--server", flags->server, "HOST:PORT of the server")->capture_default_str();
  client->add_option("--wait", flags->wait, "How long to wait for a server that is not there yet")
      ->capture_default_str();
  client->require_subcommand(1);
  client->fallthrough();
  constexpr AddClientCommands kCommands[] = {AddClientPut,    AddClientUrls,    AddClientDump,
                                             AddClientQueues, AddClientControl, AddClientExplain};
  for (const AddClientCommands add : kCommands) add(*client, flags, status);
  for (CLI::App* command : client->get_subcommands(nullptr)) {
    command->fallthrough();
    for (CLI::Option* option : command->get_options()) {
      if (!NamesFile(*option)) option->check(Utf8());
    }
  }
  client->footer("`escalona client COMMAND --help` explains one command.");
}

}  // namespace escalona::cli
