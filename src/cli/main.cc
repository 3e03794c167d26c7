// The program `escalona`: finds the subcommand and hands over to it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/number_option.h"
#include "cli/suggest.h"
#include "cli/version.h"

namespace escalona::cli {
namespace {

constexpr AddCommand kCommands[] = {AddRun,      AddGen,      AddUrl,   AddPlan,
                                    AddEstimate, AddSimulate, AddServe, AddClient,
                                    AddStore,    AddAssoc,    AddBench};

// A standard stream that was closed would give its number to the next file that is opened, and
// messages would end in an answer. It is opened the wrong way round, so that using it still fails.
void OccupyClosedStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

// `escalona help` and `escalona help COMMAND...` are other words for `--help`.
void RewriteHelp(std::vector<std::string>& words) {
  if (words.empty() || words[0] != "help") return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

void ReportUnknownCommand(const std::string& path, const std::string& word,
                          const std::vector<std::string>& names) {
  const std::string nearest = Nearest(word, names);
  const std::string hint =
      nearest.empty() ? "`" + path + " --help` lists them" : "did you mean '" + nearest + "'?";
  std::fprintf(stderr, "%s: '%s' is not a command; %s\n", path.c_str(), word.c_str(), hint.c_str());
}

// How many words an option takes, itself included; 0 if `at` does not have it.
size_t WordsOfOption(const CLI::App& at, const std::string& word) {
  const size_t equals = word.find('=');
  const CLI::Option* option = at.get_option_no_throw(word.substr(0, equals));
  if (option == nullptr) return 0;
  return equals != std::string::npos ? 1
                                     : 1 + static_cast<size_t>(option->get_items_expected_min());
}

// True, and said so, if a word should name a command, or a command's command, and does not.
bool RefusesUnknownCommand(const CLI::App& app, const std::vector<std::string>& words) {
  std::string path = "escalona";
  const CLI::App* at = &app;
  for (size_t i = 0; i < words.size();) {
    const std::string& word = words[i];
    std::vector<std::string> names = CommandNames(*at);
    if (names.empty() || word.empty()) return false;
    if (word.front() == '-') {
      const size_t taken = WordsOfOption(*at, word);
      if (taken == 0) return false;  // CLI11 names it
      i += taken;
      continue;
    }
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      if (at == &app) names.emplace_back("help");
      ReportUnknownCommand(path, word, names);
      return true;
    }
    at = at->get_subcommand(word);
    path += " " + word;
    ++i;
  }
  return false;
}

// With the words that lead to it.
std::string ChosenCommand(const CLI::App& app) {
  std::string name = "escalona";
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  return name;
}

int ReportUsageError(const CLI::App& app, const CLI::ParseError& error) {
  const std::string name = ChosenCommand(app);
  std::fprintf(stderr, "%s: %s; see `%s --help`\n", name.c_str(), error.what(), name.c_str());
  return kCouldNotBeDone;
}

// The exit status, of any command: what it printed may have waited in a buffer, and a disk that is
// full shows here at the latest.
int AfterOutput(const CLI::App& app, int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  const std::string reason = errno == 0 ? "" : ": " + std::generic_category().message(errno);
  std::fprintf(stderr, "%s: standard output: cannot be written%s; choose another place for it\n",
               ChosenCommand(app).c_str(), reason.c_str());
  return kCouldNotBeDone;
}

int Main(int argc, char** argv) {
  OccupyClosedStreams();
  CLI::App app("Escalona: a crawl frontier. It decides which URL is fetched next.", "escalona");
  int status = kDone;
  for (AddCommand add : kCommands) add(app, status);
  RefuseWhatIsNoNumber(app);
  app.require_subcommand(0, 1);
  const std::string version =
      std::string("escalona ") + kVersion + " (commit " + kCommit + ", " + kCompiler + ")";
  app.set_version_flag("-V,--version", version);
  app.footer(
      "`escalona help COMMAND` explains one command.\n"
      "Exit status: 0 done, 1 done with findings, 2 could not be done.");

  std::vector<std::string> words(argv + 1, argv + argc);
  RewriteHelp(words);
  if (words.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return kCouldNotBeDone;
  }
  if (RefusesUnknownCommand(app, words)) return kCouldNotBeDone;
  std::reverse(words.begin(), words.end());  // the order CLI11 takes a vector in
  try {
    app.parse(words);
  } catch (const CLI::Success& shown) {
    app.exit(shown);
    return AfterOutput(app, kDone);
  } catch (const CLI::ParseError& error) {
    return ReportUsageError(app, error);
  }
  return AfterOutput(app, status);
}

}  // namespace
}  // namespace escalona::cli

int main(int argc, char** argv) {
  try {
    return escalona::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "escalona: %s\n", error.what());  // memory is used up, most likely
    return escalona::cli::kCouldNotBeDone;
  }
}
