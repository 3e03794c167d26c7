// `escalona assoc`: asks and fills the association counter.
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/address.h"
#include "cli/assoc_target.h"
#include "cli/chunk_reader.h"
#include "cli/command.h"
#include "cli/gzip_writer.h"
#include "cli/output_file.h"
#include "cli/progress.h"

namespace escalona::cli {
namespace {

namespace json = boost::json;
using server::ClientRequest;
using server::ClientResponse;
using server::Method;

struct AssocOptions {
  std::string server = kHttpListener.usual;
  std::string data;
  std::string space = "default";
  std::string key;
  std::string associated_key;
  uint64_t count = 1;
  std::optional<int64_t> k;  // the namespace's if not given
  int64_t offset = 0;
  uint64_t min = 0;
  std::string file = "-";
  std::string format;
  bool replace = false;
};

std::string Encoded(std::string_view text) {
  std::string encoded;
  server::AppendPercentEncoded(text, encoded);
  return encoded;
}

std::string Path(const AssocOptions& options, const std::string& rest) {
  return "/ns/" + Encoded(options.space) + rest;
}

// What the server refused, as an error of ours.
absl::Status Refused(const ClientResponse& response) {
  json::error_code code;
  const json::value value = json::parse(response.body, code);
  const json::value* message =
      !code && value.is_object() ? value.get_object().if_contains("message") : nullptr;
  if (message != nullptr && message->is_string()) {
    return absl::InvalidArgumentError(std::string(message->get_string()));
  }
  return absl::InternalError("the server answered " + std::to_string(response.status) + " " +
                             response.body);
}

absl::StatusOr<std::string> Ask(AssocTarget& target, const ClientRequest& request) {
  auto response = target.Ask(request);
  if (!response.ok()) return response.status();
  if (response->status >= 300) return Refused(*response);
  return std::move(response->body);
}

absl::Status Top(const AssocOptions& options, AssocTarget& target) {
  ClientRequest request;
  request.target = Path(options, "/associations/" + Encoded(options.key)) +
                   "?offset=" + std::to_string(options.offset) +
                   "&min=" + std::to_string(options.min);
  if (options.k.has_value()) request.target += "&k=" + std::to_string(*options.k);
  const auto body = Ask(target, request);
  if (!body.ok()) return body.status();
  const json::value list = json::parse(*body);
  for (const json::value& entry : list.as_array()) {
    const json::object& members = entry.as_object();
    const auto& key = members.at("associatedKey").as_string();
    std::printf("%llu\t",
                static_cast<unsigned long long>(members.at("frequency").to_number<uint64_t>()));
    std::fwrite(key.data(), 1, key.size(), stdout);
    std::putchar('\n');
  }
  return absl::OkStatus();
}

absl::Status Add(const AssocOptions& options, AssocTarget& target) {
  const json::object item = {
      {"key", options.key}, {"associatedKey", options.associated_key}, {"count", options.count}};
  const std::string body = json::serialize(item);
  ClientRequest request;
  request.method = Method::kPost;
  request.target = Path(options, "/associations");
  request.body = body;
  return Ask(target, request).status();
}

// By --format, else by the name's ending, else lines of JSON.
bool IsCsv(const AssocOptions& options) {
  if (!options.format.empty()) return options.format == "csv";
  return options.file.ends_with(".csv") || options.file.ends_with(".csv.gz");
}

absl::Status ReportImport(const ClientResponse& response) {
  if (response.status != 200) return Refused(response);
  const json::object result = json::parse(response.body).as_object();
  const auto accepted = result.at("accepted").to_number<uint64_t>();
  std::printf("%llu associations imported\n", static_cast<unsigned long long>(accepted));
  const json::array& errors = result.at("errors").as_array();
  for (const json::value& error : errors) {
    const json::object& members = error.as_object();
    const uint64_t item = members.at("index").to_number<uint64_t>() + 1;
    const json::value* field = members.if_contains("field");
    std::fprintf(stderr, "escalona assoc import: item %llu: %s%s%s\n",
                 static_cast<unsigned long long>(item),
                 field != nullptr ? field->as_string().c_str() : "", field != nullptr ? " " : "",
                 members.at("message").as_string().c_str());
  }
  if (const json::value* more = result.if_contains("moreErrors"); more != nullptr) {
    std::fprintf(stderr, "escalona assoc import: and %llu more\n",
                 static_cast<unsigned long long>(more->to_number<uint64_t>()));
  }
  return errors.empty() ? absl::OkStatus() : absl::OutOfRangeError("");
}

absl::Status Unreadable(const AssocOptions& options, const absl::Status& why) {
  return absl::InvalidArgumentError(absl::StrCat(options.file, ": ", why.message()));
}

absl::Status Import(const AssocOptions& options, AssocTarget& target) {
  auto file = ChunkReader::Open(options.file);
  if (!file.ok()) return Unreadable(options, file.status());
  Progress progress("escalona assoc import: read", file->size());
  ClientRequest request;
  request.method = Method::kPost;
  request.target =
      Path(options, "/associations/import") + (options.replace ? "?mode=replace" : "?mode=add");
  request.content_type = IsCsv(options) ? "text/csv" : "application/x-ndjson";
  std::vector<char> buffer(256 << 10);
  const auto response = target.Upload(request, [&](std::string& piece) -> absl::StatusOr<bool> {
    const auto bytes = file->Read(buffer.data(), buffer.size());
    if (!bytes.ok()) return Unreadable(options, bytes.status());
    piece.append(buffer.data(), *bytes);
    progress.Update(file->position());
    return *bytes > 0;
  });
  progress.Clear();
  if (!response.ok()) return response.status();
  return ReportImport(*response);
}

absl::Status Export(const AssocOptions& options, AssocTarget& target) {
  auto file = OutputFile::Create(options.file);
  if (!file.ok()) return file.status();
  GzipWriter writer(*file, options.file.ends_with(".gz"));
  Progress progress("escalona assoc export: written", 0);
  ClientRequest request;
  request.target =
      Path(options, "/associations") + (IsCsv(options) ? "?format=csv" : "?format=ndjson");
  const auto response = target.Download(request, [&](std::string_view piece) {
    writer.Append(piece);
    progress.Update(file->size());
    return file->ok() ? absl::OkStatus() : file->Flush();
  });
  progress.Clear();
  if (!response.ok()) return response.status();
  if (response->status != 200) return Refused(*response);
  writer.Finish();
  return file->Commit();
}

absl::Status Stats(const AssocOptions& options, AssocTarget& target) {
  ClientRequest request;
  request.target = Path(options, "");
  const auto body = Ask(target, request);
  if (!body.ok()) return body.status();
  const json::object all = json::parse(*body).as_object();
  for (const char* part : {"usage", "settings"}) {
    for (const auto& [name, value] : all.at(part).as_object()) {
      std::printf("%-16s %s\n", std::string(name).c_str(), json::serialize(value).c_str());
    }
  }
  return absl::OkStatus();
}

using Verb = absl::Status (*)(const AssocOptions&, AssocTarget&);

int Run(const char* name, Verb verb, const AssocOptions& options) {
  absl::Status done;
  if (const auto target = OpenAssocTarget(options.server, options.data); target.ok()) {
    done = verb(options, **target);
  } else {
    done = target.status();
  }
  if (done.ok()) return kDone;
  if (absl::IsOutOfRange(done)) return kFindings;  // said already, item by item
  std::fprintf(stderr, "escalona assoc %s: %s\n", name, MessageOf(done).c_str());
  return kCouldNotBeDone;
}

// A verb with the options all have.
CLI::App* AddVerb(CLI::App& assoc, const char* name, const char* what, Verb verb,
                  const std::shared_ptr<AssocOptions>& options, int& status) {
  CLI::App* command = assoc.add_subcommand(name, what);
  auto* server = command->add_option("--server", options->server, "HOST:PORT of the server")
                     ->capture_default_str();
  command->add_option("--data", options->data, "Folder of a server that is not running, instead")
      ->excludes(server);
  command->add_option("--namespace", options->space, "Namespace")->capture_default_str();
  command->callback([=, &status] { status = Run(name, verb, *options); });
  return command;
}

}  // namespace

void AddAssoc(CLI::App& app, int& status) {
  CLI::App* assoc = app.add_subcommand("assoc", "Ask and fill the association counter");
  auto options = std::make_shared<AssocOptions>();
  assoc->require_subcommand(1);
  CLI::App* top =
      AddVerb(*assoc, "top", "Show the keys that go with a key most often", Top, options, status);
  top->add_option("key", options->key, "The key")->required();
  top->add_option("-k", options->k, "How many; the namespace's k (20) if not given");
  top->add_option("--offset", options->offset, "How many to pass over first")
      ->capture_default_str();
  top->add_option("--min", options->min, "The least frequency")->capture_default_str();
  CLI::App* add = AddVerb(*assoc, "add", "Count one association", Add, options, status);
  add->add_option("key", options->key, "The key")->required();
  add->add_option("associatedKey", options->associated_key, "What goes with it")->required();
  add->add_option("--count", options->count, "How many times")->capture_default_str();
  CLI::App* import =
      AddVerb(*assoc, "import", "Count the associations in a file", Import, options, status);
  import->add_flag("--replace", options->replace,
                   "The lists in the file, which `export` wrote, replace those there are");
  CLI::App* output =
      AddVerb(*assoc, "export", "Write all associations to a file", Export, options, status);
  for (CLI::App* command : {import, output}) {
    command
        ->add_option("file", options->file,
                     "The file (.gz: compressed by gzip); - is the standard one")
        ->capture_default_str();
    command->add_option("--format", options->format, "Instead of what the name ends in")
        ->check(CLI::IsMember({"ndjson", "csv"}));
  }
  AddVerb(*assoc, "stats", "Show usage and settings of a namespace", Stats, options, status);
  assoc->footer(
      "Files have lines {\"key\": ..., \"associatedKey\": ..., \"frequency\": n}, or CSV with "
      "these "
      "columns.\nItems of an import are numbered from 1 on, without the header and blank "
      "lines.\nExit status: 0 done, 1 some items of an import were refused, 2 could not be "
      "done.");
}

}  // namespace escalona::cli
