// Data, gnuplot scripts and the page of the simulation's report.
#include "cli/simulate_report.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/output_file.h"
#include "escalona/policy_freshness.h"

namespace escalona::cli {
namespace {

using revisit::PolicyKind;

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

// For people. The place of a minimum is known to half the digits of the minimum.
std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

template <typename... Values>
void AppendRow(std::string& csv, double first, Values... rest) {
  csv += Number(first);
  (absl::StrAppend(&csv, ",", Number(rest)), ...);
  csv += "\n";
}

// Colours that people who see red and green alike can tell apart (Okabe and Ito).
const char* ColourOf(PolicyKind policy) {
  switch (policy) {
    case PolicyKind::kRandom:
      return "#D55E00";
    case PolicyKind::kMerge:
      return "#0072B2";
    case PolicyKind::kBucketedMerge:
      return "#56B4E9";
    case PolicyKind::kDelayed:
      return "#009E73";
    case PolicyKind::kHybrid:
      return "#CC79A7";
  }
  return "#000000";
}

// DELAYED and bucketed MERGE lie upon MERGE; dashes let it show.
const char* DashOf(PolicyKind policy) {
  const bool covers = policy == PolicyKind::kDelayed || policy == PolicyKind::kBucketedMerge;
  return covers ? "(12,12)" : "1";
}

std::string UpperName(PolicyKind policy) {
  std::string name(PolicyName(policy));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// A text between double quotes of gnuplot.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

struct Plot {
  std::string name;     // of the files
  std::string title;    // on the page
  std::string caption;  // what it shows
  std::string script;   // for gnuplot, after the terminal is set
  int height = 540;
  std::vector<std::pair<std::string, std::string>> data;  // name and text of the CSV files
};

// --- freshness over the years --------------------------------------------------------------------

Plot FreshnessPlot(const SimulatedReport& report) {
  Plot plot{"freshness",
            "Freshness over the years",
            "Mean freshness of the copies, for each policy; the dashed line is the POLITE bound.",
            "",
            static_cast<int>(60 + 330 * report.capacities.size()),
            {}};
  plot.script =
      absl::StrCat("set multiplot layout ", report.capacities.size(),
                   ",1\nset xlabel 'years'\nset ylabel 'freshness'\nset key bottom right\n",
                   "set yrange [0:*]\nset xrange [0:", Number(report.years), "]\n");
  for (size_t c = 0; c < report.capacities.size(); ++c) {
    const SimulatedCapacity& capacity = report.capacities[c];
    std::string csv = "years,POLITE";
    for (const SimulatedRun& run : capacity.runs) absl::StrAppend(&csv, ",", UpperName(run.policy));
    csv += "\n";
    const size_t bins = capacity.runs.empty() ? 0 : capacity.runs[0].result.curve.size();
    for (size_t b = 0; b < bins; ++b) {
      csv += Number((static_cast<double>(b) + 0.5) * report.years / static_cast<double>(bins));
      absl::StrAppend(&csv, ",", Number(capacity.polite));
      for (const SimulatedRun& run : capacity.runs)
        absl::StrAppend(&csv, ",", Number(run.result.curve[b]));
      csv += "\n";
    }
    const std::string file = absl::StrCat("freshness-", c + 1, ".csv");
    plot.data.emplace_back(file, csv);
    plot.script += absl::StrCat("set title ", Quoted("capacity " + capacity.name), "\nplot ",
                                Number(capacity.polite), " title 'POLITE' lw 1.5 dt 2 lc 'black'");
    for (size_t r = 0; r < capacity.runs.size(); ++r) {
      const PolicyKind policy = capacity.runs[r].policy;
      plot.script += absl::StrCat(", '", file, "' using 1:", r + 3, " with lines lw 2 lc rgb '",
                                  ColourOf(policy), "' dt ", DashOf(policy), " title '",
                                  UpperName(policy), "'");
    }
    plot.script += "\n";
  }
  plot.script += "unset multiplot\n";
  return plot;
}

// --- how much of the optimum a policy keeps ------------------------------------------------------

Plot RandomFactorPlot() {
  const revisit::WorstFactor worst = revisit::WorstRandomFactor();
  Plot plot{"random-factor",
            "Approximation factor of RANDOM",
            absl::StrCat("Freshness under RANDOM over that of evenly spaced visits. No page falls "
                         "below ",
                         Rounded(worst.factor), ", reached at L/f = ",
                         Rounded(worst.changes_per_visit), " on an endlessly fast server."),
            "",
            540,
            {}};
  std::string csv = "changes_per_visit,server_2,server_5,server_20,limit\n";
  const auto factor = [](double x, double m) {
    return revisit::RandomFreshness(x, 1, m) / revisit::Freshness(x, 1);
  };
  for (double e = -2; e <= 2.0001; e += 0.02) {
    const double x = std::pow(10, e);
    AppendRow(csv, x, factor(x, 2), factor(x, 5), factor(x, 20), revisit::RandomFactor(x));
  }
  plot.data.emplace_back("random-factor.csv", csv);
  plot.script = absl::StrCat(
      "set logscale x\nset xlabel 'changes per visit, L/f'\nset ylabel 'A / A*'\n"
      "set yrange [0.74:1.005]\nset key bottom right\n"
      "set label 1 ",
      Quoted(absl::StrCat(Number(std::round(worst.factor * 1e6) / 1e6))), " at ",
      Number(worst.changes_per_visit), ",", Number(worst.factor),
      " point pt 7 ps 0.7 offset 0,-1 center\n"
      "plot 'random-factor.csv' using 1:2 with lines lw 2 lc '#56B4E9' title 'f_s/f = 2', "
      "'' using 1:3 with lines lw 2 lc '#0072B2' title 'f_s/f = 5', "
      "'' using 1:4 with lines lw 2 lc '#009E73' title 'f_s/f = 20', "
      "'' using 1:5 with lines lw 2 lc '#D55E00' title 'limit x/((1+x)(1-e^{-x}))'\n");
  return plot;
}

Plot MergeContourPlot() {
  const revisit::WorstFactor worst = revisit::WorstMergeFactor();
  Plot plot{
      "merge-contour",
      "Lower bound of MERGE",
      absl::StrCat("MERGE keeps at least this part of the optimum, by changes per visit and "
                   "by the server's requests per visit of the page. The least, ",
                   Rounded(worst.factor), ", stands at L/f = ", Rounded(worst.changes_per_visit),
                   ", f_s/f = ", Rounded(worst.server_visits), "."),
      "",
      600,
      {}};
  std::string csv = "changes_per_visit,server_visits,factor\n";
  for (double ex = -1; ex <= 1.3001; ex += 0.04) {
    for (double em = 0; em <= 2.0001; em += 0.04) {
      const double x = std::pow(10, ex);
      const double m = std::pow(10, em);
      AppendRow(csv, x, m, revisit::MergeFactor(x, m));
    }
    csv += "\n";
  }
  plot.data.emplace_back("merge-contour.csv", csv);
  plot.script = absl::StrCat(
      "set logscale xy\nset view map\nset xlabel 'changes per visit, L/f'\n"
      "set ylabel 'requests to the server per visit, f_s/f'\nset xrange [0.1:20]\n"
      "set yrange [1:100]\nset contour base\nset cntrparam levels discrete 0.93,0.935,0.94,0.95,"
      "0.96,0.97,0.98,0.99,0.995\nset cntrlabel onecolor start 10 interval 40 font ',11'\n"
      "set palette defined (0 '#b8556b', 0.5 '#f2d8b8', 1 '#f7fbff')\nset cbrange [0.925:1]\n"
      "set cblabel 'least A / A*'\n"
      "set label 1 ",
      Quoted(Number(std::round(worst.factor * 1e6) / 1e6)), " at ", Number(worst.changes_per_visit),
      ",", Number(worst.server_visits),
      " point pt 7 ps 0.6 offset 0.6,0.4 front\n"
      "splot 'merge-contour.csv' using 1:2:3 with pm3d nocontour notitle, "
      "'' using 1:2:3 with lines lc 'black' lw 1 nosurface notitle, "
      "'' using 1:2:3 with labels nosurface notitle\n");
  return plot;
}

Plot ChannelPlot(double servers) {
  Plot plot{"channel",
            "Peaks of the channel",
            absl::StrCat("Probability that ", Number(servers),
                         " servers together make more than x "
                         "requests above the mean in a time, at most."),
            "",
            540,
            {}};
  std::string csv = "excess,chernoff,hoeffding\n";
  const double most = 4 * std::sqrt(servers);
  for (int i = 0; i <= 200; ++i) {
    const double x = most * i / 200;
    AppendRow(csv, x, revisit::ChannelChernoffBound(servers, x),
              revisit::ChannelHoeffdingBound(servers, x));
  }
  plot.data.emplace_back("channel.csv", csv);
  plot.script =
      "set logscale y\nset format y '10^{%L}'\nset yrange [1e-12:2]\n"
      "set xlabel 'requests above the mean, x'\nset ylabel 'probability, at most'\n"
      "set key top right\n"
      "plot 'channel.csv' using 1:2 with lines lw 2 lc '#D55E00' title 'Chernoff (5-11)', "
      "'' using 1:3 with lines lw 2 lc '#0072B2' title 'Hoeffding'\n";
  return plot;
}

// --- the plan ------------------------------------------------------------------------------------

Plot FrequencyPlot(const revisit::Population& population, const SimulatedReport& report) {
  Plot plot{"frequency",
            "Frequency against change rate",
            "Planned visits of a sample of pages. Pages of servers below their limit lie on one "
            "curve; those of saturated servers below it. Pages that change too fast get nothing "
            "and are not shown.",
            "",
            540,
            {}};
  plot.script =
      "set logscale xy\nset format xy '10^{%L}'\nset xlabel 'changes per day, L'\n"
      "set ylabel 'visits per day, f'\nset key top left\nplot ";
  const char* const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"};
  // The greatest capacity, whose points spread most, at the back.
  for (size_t c = report.capacities.size(); c-- > 0;) {
    std::string csv = "change_rate,frequency\n";
    for (size_t i = 0; i < report.sample.size(); ++i) {
      const double rate = population.change_rate[report.sample[i]];
      const double f = report.capacities[c].frequency[i];
      if (rate > 0 && f > 0) AppendRow(csv, rate, f);
    }
    const std::string file = absl::StrCat("frequency-", c + 1, ".csv");
    plot.data.emplace_back(file, csv);
    absl::StrAppend(&plot.script, c + 1 < report.capacities.size() ? ", " : "", "'", file,
                    "' using 1:2 with points pt 7 ps 0.25 lc '", colours[c % std::size(colours)],
                    "' notitle, keyentry with points pt 7 ps 0.8 lc '",
                    colours[c % std::size(colours)], "' title ",
                    Quoted("capacity " + report.capacities[c].name));
  }
  plot.script += "\n";
  return plot;
}

absl::StatusOr<Plot> FrontierPlot(const revisit::Population& population,
                                  const SimulatedReport& report, int threads) {
  Plot plot{"frontier",
            "Freshness against capacity",
            "The best freshness a capacity can buy, with and without politeness, and what the "
            "policies reached in the last fifth of the time.",
            "",
            540,
            {}};
  const double most = population.MaximumRate();
  double least = 0;  // what the lower bounds alone need
  for (size_t i = 0; i < population.lo.size(); ++i) {
    least += population.lo[i] * (population.cost.empty() ? 1 : population.cost[i]);
  }
  std::string csv = "share_of_maximum,POLITE,UNPOLITE\n";
  for (double e = -4; e <= 0.0001; e += 0.2) {
    const double share = std::min(1.0, std::pow(10, e));
    if (share * most < least) continue;
    double bound[2];
    for (int k = 0; k < 2; ++k) {
      revisit::AllocationOptions options;
      options.threads = threads;
      options.kind =
          k == 0 ? revisit::AllocationKind::kOptPolite : revisit::AllocationKind::kUnpolite;
      absl::StatusOr<revisit::Allocation> plan =
          Allocate(population.AsProblem(share * most), options);
      if (!plan.ok()) return plan.status();
      bound[k] = plan->freshness();
    }
    AppendRow(csv, share, bound[0], bound[1]);
  }
  plot.data.emplace_back("frontier.csv", csv);
  plot.script =
      "set logscale x\nset format x '%g'\nset xlabel 'capacity, as a share of the greatest'\n"
      "set ylabel 'freshness'\nset yrange [0:1]\nset key bottom right\n"
      "plot 'frontier.csv' using 1:3 with lines lw 2 lc '#999999' title 'UNPOLITE bound', "
      "'' using 1:2 with lines lw 2 lc 'black' title 'POLITE bound'";
  if (report.capacities.empty()) return plot;
  for (size_t r = 0; r < report.capacities[0].runs.size(); ++r) {
    const PolicyKind policy = report.capacities[0].runs[r].policy;
    std::string points = "share_of_maximum,freshness\n";
    for (const SimulatedCapacity& capacity : report.capacities) {
      AppendRow(points, capacity.rate / most, capacity.runs[r].result.last_fifth);
    }
    const std::string file = absl::StrCat("frontier-", std::string(PolicyName(policy)), ".csv");
    plot.data.emplace_back(file, points);
    absl::StrAppend(&plot.script, ", '", file, "' using 1:2 with points pt ", 4 + 2 * r,
                    " ps 1 lw 1.5 lc '", ColourOf(policy), "' title '", UpperName(policy), "'");
  }
  plot.script += "\n";
  return plot;
}

// --- files ---------------------------------------------------------------------------------------

absl::Status WriteFile(const std::filesystem::path& path, std::string_view text) {
  absl::StatusOr<OutputFile> file = OutputFile::Create(path.string());
  if (!file.ok()) return file.status();
  file->Append(text);
  return file->Commit();
}

absl::StatusOr<std::string> ReadWhole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.is_open() || text.empty()) {
    return absl::InternalError(absl::StrCat("gnuplot did not write ", path.string()));
  }
  return text;
}

// Runs gnuplot with one argument in `folder`; its messages go to the file `log`, "" drops them.
absl::Status RunGnuplot(const std::string& argument, const std::string& folder,
                        const std::string& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  const std::string sink = log.empty() ? "/dev/null" : log;
  for (const int fd : {1, 2}) {
    posix_spawn_file_actions_addopen(&actions, fd, sink.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0644);
  }
  std::string program = "gnuplot";
  std::string word = argument;
  char* argv[] = {program.data(), word.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::NotFoundError(absl::StrCat("--report needs gnuplot, which cannot be started (",
                                            std::strerror(error),
                                            "); `apt-get install gnuplot-nox` installs it"));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("gnuplot failed on ", argument));
}

absl::Status Draw(const Plot& plot, const std::filesystem::path& folder) {
  for (const auto& [name, text] : plot.data) {
    if (absl::Status s = WriteFile(folder / name, text); !s.ok()) return s;
  }
  const std::string script = absl::StrCat(
      "set terminal svg size 900,", plot.height,
      " font 'Helvetica,Arial,sans-serif,14' background 'white' dynamic\nset output '", plot.name,
      ".svg'\nset datafile separator ','\nset key autotitle columnhead\nset grid lc '#dddddd'\n"
      "set border 3 lc '#555555'\nset tics nomirror\nset encoding utf8\nset samples 200\n",
      plot.script);
  const std::string script_name = plot.name + ".gp";
  const std::string log_name = plot.name + ".log";
  if (absl::Status s = WriteFile(folder / script_name, script); !s.ok()) return s;
  if (absl::Status s = RunGnuplot(script_name, folder.string(), log_name); !s.ok()) {
    absl::StatusOr<std::string> log = ReadWhole(folder / log_name);
    return absl::InternalError(absl::StrCat(std::string(s.message()), ": ", log.ok() ? *log : ""));
  }
  std::error_code ignored;
  std::filesystem::remove(folder / log_name, ignored);
  return absl::OkStatus();
}

std::string Escaped(std::string_view text) {
  return absl::StrReplaceAll(std::string(text), {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

std::string ResultsTable(const SimulatedReport& report) {
  std::string html =
      "<table><tr><th>policy<th>capacity<th>freshness<th>POLITE<th>ratio<th>ratio, last fifth"
      "<th>requests<th>peak per hour<th>bound<th>shortest gap / P</tr>\n";
  char row[512];
  for (const SimulatedCapacity& capacity : report.capacities) {
    for (const SimulatedRun& run : capacity.runs) {
      const revisit::SimulationResult& r = run.result;
      std::snprintf(row, sizeof row,
                    "<tr><td>%s<td>%s<td>%.6f<td>%.6f<td>%.5f<td>%.5f<td>%llu<td>%llu<td>%.0f"
                    "<td>%.4f</tr>\n",
                    UpperName(run.policy).c_str(), Escaped(capacity.name).c_str(), r.freshness,
                    capacity.polite, r.freshness / capacity.polite, r.last_fifth / capacity.polite,
                    static_cast<unsigned long long>(r.requests),
                    static_cast<unsigned long long>(r.peak), capacity.bound, r.shortest_gap);
      html += row;
    }
  }
  return html + "</table>\n";
}

absl::StatusOr<std::string> Page(const SimulatedReport& report, const std::vector<Plot>& plots,
                                 const std::filesystem::path& folder) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>Escalona: simulated revisits</title>\n<style>\n"
      "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
      "color:#222}\n"
      "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.85rem}\n"
      "td,th{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:right}\n"
      "td:first-child,th:first-child{text-align:left}\nfigure{margin:2.5rem 0}\n"
      "img{width:100%;height:auto}\nfigcaption{color:#555}\n</style></head><body>\n"
      "<h1>Simulated revisits</h1>\n<table>\n";
  for (const auto& [name, value] : report.facts) {
    absl::StrAppend(&html, "<tr><td>", Escaped(name), "<td>", Escaped(value), "</tr>\n");
  }
  absl::StrAppend(&html, "</table>\n<h2>Results</h2>\n", ResultsTable(report));
  for (const Plot& plot : plots) {
    absl::StatusOr<std::string> svg = ReadWhole(folder / (plot.name + ".svg"));
    if (!svg.ok()) return svg.status();
    absl::StrAppend(&html, "<figure><h2>", Escaped(plot.title), "</h2><img alt=\"",
                    Escaped(plot.title), "\" src=\"data:image/svg+xml;base64,",
                    absl::Base64Escape(*svg), "\"><figcaption>", Escaped(plot.caption),
                    "</figcaption></figure>\n");
  }
  return html + "</body></html>\n";
}

}  // namespace

absl::Status CheckPlotter() { return RunGnuplot("--version", ".", ""); }

absl::Status MakeReportFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("--report ", folder, ": cannot make the folder: ", error.message()));
  }
  // Without Commit() nothing is left behind.
  return OutputFile::Create((std::filesystem::path(folder) / "index.html").string()).status();
}

std::string ResultsAsCsv(const SimulatedReport& report) {
  std::string csv =
      "policy,capacity,rate_per_day,freshness,polite,ratio,ratio_last_fifth,requests,peak_per_hour,"
      "bound_per_hour,shortest_gap_over_p,seconds\n";
  for (const SimulatedCapacity& capacity : report.capacities) {
    for (const SimulatedRun& run : capacity.runs) {
      const revisit::SimulationResult& r = run.result;
      absl::StrAppend(&csv, std::string(PolicyName(run.policy)), ",", capacity.name, ",");
      AppendRow(csv, capacity.rate, r.freshness, capacity.polite, r.freshness / capacity.polite,
                r.last_fifth / capacity.polite, static_cast<double>(r.requests),
                static_cast<double>(r.peak), capacity.bound, r.shortest_gap, run.seconds);
    }
  }
  return csv;
}

absl::Status WriteReport(const std::string& folder, const revisit::Population& population,
                         const SimulatedReport& report, int threads) {
  if (absl::Status s = MakeReportFolder(folder); !s.ok()) return s;
  absl::StatusOr<Plot> frontier = FrontierPlot(population, report, threads);
  if (!frontier.ok()) return frontier.status();
  const std::vector<Plot> plots = {FreshnessPlot(report),
                                   RandomFactorPlot(),
                                   MergeContourPlot(),
                                   ChannelPlot(static_cast<double>(population.servers())),
                                   FrequencyPlot(population, report),
                                   *std::move(frontier)};
  for (const Plot& plot : plots) {
    if (absl::Status s = Draw(plot, folder); !s.ok()) return s;
  }
  if (absl::Status s =
          WriteFile(std::filesystem::path(folder) / "results.csv", ResultsAsCsv(report));
      !s.ok()) {
    return s;
  }
  absl::StatusOr<std::string> page = Page(report, plots, folder);
  if (!page.ok()) return page.status();
  return WriteFile(std::filesystem::path(folder) / "index.html", *page);
}

}  // namespace escalona::cli
