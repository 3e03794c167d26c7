// `escalona url`: what a crawler makes of a URL.
#include "escalona/url.h"

#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/input_file.h"
#include "cli/line_reader.h"
#include "cli/output_file.h"
#include "url/quote.h"

namespace escalona::cli {
namespace {

struct UrlOptions {
  std::vector<std::string> urls;
  std::optional<std::string> base;
  bool json = false;
};

std::string_view NameOf(HostKind kind) {
  switch (kind) {
    case HostKind::kDomain:
      return "domain";
    case HostKind::kIpv4:
      return "ipv4";
    case HostKind::kIpv6:
      return "ipv6";
  }
  return "";
}

boost::json::value TextOrNull(bool present, std::string_view text) {
  if (!present) return nullptr;
  return boost::json::string(text);
}

std::string AsJson(std::string_view input, const Url& url) {
  const std::string_view domain = url.RegistrableDomain();
  const boost::json::object object = {{"input", ValidUtf8(input)},
                                      {"url", url.href()},
                                      {"scheme", url.scheme()},
                                      {"username", url.username()},
                                      {"password", url.password()},
                                      {"host", url.host()},
                                      {"host_kind", NameOf(url.host_kind())},
                                      {"host_key", url.HostKey()},
                                      {"registrable_domain", TextOrNull(!domain.empty(), domain)},
                                      {"port", url.port()},
                                      {"path", url.path()},
                                      {"query", TextOrNull(url.has_query(), url.query())},
                                      {"depth", url.Depth()},
                                      {"dedup_key",
                                       {{"exact", url.DedupKey(DedupProfile::kExact)},
                                        {"standard", url.DedupKey(DedupProfile::kStandard)},
                                        {"aggressive", url.DedupKey(DedupProfile::kAggressive)}}}};
  return boost::json::serialize(object) + "\n";
}

// One line per part; a part that the URL does not have is left out.
std::string AsText(const Url& url) {
  std::string text;
  const auto line = [&text](std::string_view name, std::string_view value) {
    text.append(name).append(20 - name.size(), ' ').append(value).append("\n");
  };
  const auto line_if_any = [&line](std::string_view name, std::string_view value) {
    if (!value.empty()) line(name, value);
  };
  line("url", url.href());
  line("scheme", url.scheme());
  line_if_any("username", url.username());
  line_if_any("password", url.password());
  line("host", url.host());
  line("host kind", NameOf(url.host_kind()));
  line("host key", url.HostKey());
  line_if_any("registrable domain", url.RegistrableDomain());
  line("port", std::to_string(url.port()));
  line("path", url.path());
  line_if_any("query", url.query());
  line("depth", std::to_string(url.Depth()));
  line("dedup exact", url.DedupKey(DedupProfile::kExact));
  line("dedup standard", url.DedupKey(DedupProfile::kStandard));
  line("dedup aggressive", url.DedupKey(DedupProfile::kAggressive));
  return text;
}

int Refuse(std::string_view message) {
  std::fprintf(stderr, "escalona url: %s\n", std::string(message).c_str());
  return kCouldNotBeDone;
}

// Prints URLs and counts how many were none.
class Printer {
 public:
  Printer(const UrlOptions& options, OutputFile& output) : options_(options), output_(output) {}

  void Print(std::string_view text) {
    const absl::StatusOr<Url> url =
        options_.base ? Url::ParseWithBase(text, *options_.base) : Url::Parse(text);
    if (!url.ok()) {
      ++bad_;
      Refuse(absl::StrCat(url_internal::Quoted(text), ": ", url.status().message()));
      return;
    }
    if (options_.json) {
      output_.Append(AsJson(text, *url));
    } else {
      output_.Append(good_ == 0 ? "" : "\n");
      output_.Append(AsText(*url));
    }
    ++good_;
  }

  // Each line of standard input; blank ones are passed over. What was read is answered at once, so
  // that the command can stand in a pipe or be typed to.
  absl::Status PrintStandardInput() {
    absl::StatusOr<InputFile> input = InputFile::Open("-");
    if (!input.ok()) return input.status();
    LineReader reader(*input);
    std::vector<std::string_view> lines(256);
    while (const size_t count = reader.Next(lines)) {
      for (size_t i = 0; i < count; ++i) {
        if (lines[i].find_first_not_of(" \t") != std::string_view::npos) Print(lines[i]);
      }
      if (absl::Status written = output_.Flush(); !written.ok()) return written;
    }
    return reader.status();
  }

  int Status() const {
    if (bad_ == 0) return kDone;
    return good_ > 0 ? kFindings : kCouldNotBeDone;
  }

 private:
  const UrlOptions& options_;
  OutputFile& output_;
  uint64_t good_ = 0;
  uint64_t bad_ = 0;
};

int Run(const UrlOptions& options) {
  if (options.base) {
    const absl::StatusOr<Url> tried = Url::ParseWithBase("http://any.example/", *options.base);
    if (!tried.ok()) {
      return Refuse(absl::StrCat("--base ", url_internal::Quoted(*options.base), ": ",
                                 tried.status().message()));
    }
  }
  absl::StatusOr<OutputFile> output = OutputFile::Create("-");
  if (!output.ok()) return Refuse(std::string(output.status().message()));
  Printer printer(options, *output);
  for (const std::string& text : options.urls) {
    if (text != "-") {
      printer.Print(text);
    } else if (absl::Status read = printer.PrintStandardInput(); !read.ok()) {
      return Refuse(std::string(read.message()));
    }
  }
  if (absl::Status written = output->Commit(); !written.ok()) {
    return Refuse(std::string(written.message()));
  }
  return printer.Status();
}

}  // namespace

void AddUrl(CLI::App& app, int& status) {
  CLI::App* url = app.add_subcommand("url", "Show the parts, normal form and keys of URLs");
  auto options = std::make_shared<UrlOptions>();
  url->add_option("URL", options->urls,
                  "http or https URLs; - (the default) reads standard input, one per line");
  url->add_option("--base", options->base, "URL of the page that relative URLs stand on");
  url->add_flag("--json", options->json, "One JSON object per URL and line");
  url->footer(
      "The rules are those of the WHATWG URL Standard, the fragment left out. A dedup key decides\n"
      "whether a URL is already known; it is never fetched.\n"
      "Exit status: 0 done, 1 some URLs could not be parsed, 2 none could, or the usage is wrong.");
  url->callback([options, &status] {
    if (options->urls.empty()) options->urls = {"-"};
    status = Run(*options);
  });
}

}  // namespace escalona::cli
