// Checks an allocation problem and chooses how to solve it.
#include "escalona/allocation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/huge_memory.h"
#include "revisit/allocation_internal.h"
#include "revisit/parallel.h"

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kNone = static_cast<size_t>(-1);
constexpr size_t kFastFrom = 200'000;
constexpr size_t kParallelFrom = 20'000;
constexpr size_t kCheckBlock = 1 << 17;
// Greater limits count as this one: prices fall with the square of a frequency, and must not reach
// 0.
constexpr double kMostRequests = 1e100;

// The first index at which bad(i) holds, or kNone.
template <typename Bad>
size_t FindFirst(int threads, size_t count, const Bad& bad) {
  std::atomic<size_t> first{kNone};
  ParallelFor(threads, (count + kCheckBlock - 1) / kCheckBlock, [&](size_t block) {
    const size_t begin = block * kCheckBlock;
    const size_t end = std::min(count, begin + kCheckBlock);
    bool any = false;
    for (size_t i = begin; i < end; ++i) any |= bad(i);
    if (!any) return;
    size_t i = begin;
    while (!bad(i)) ++i;
    size_t seen = first.load();
    while (i < seen && !first.compare_exchange_weak(seen, i)) {
    }
  });
  return first;
}

absl::Status Invalid(std::string_view array, size_t index, double value, std::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(array), "[", index, "] is ", value,
                                                 "; it must be ", std::string(rule)));
}

enum class Sign : uint8_t { kPositive, kNotNegative, kNotNegativeOrInfinite };

absl::Status CheckArray(std::string_view name, std::span<const double> values, size_t size,
                        Sign sign, int threads) {
  if (values.empty()) return absl::OkStatus();
  if (values.size() != size) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(name), " has ", values.size(),
                                                   " entries; it must have ", size, " or none"));
  }
  constexpr double kGreatest = std::numeric_limits<double>::max();
  const double least = sign == Sign::kPositive ? std::numeric_limits<double>::denorm_min() : 0;
  const double most = sign == Sign::kNotNegativeOrInfinite ? kInfinity : kGreatest;
  const size_t bad = FindFirst(threads, size, [&](size_t i) {
    return !static_cast<bool>(static_cast<int>(values[i] >= least) &
                              static_cast<int>(values[i] <= most));
  });
  if (bad == kNone) return absl::OkStatus();
  return Invalid(
      name, bad, values[bad],
      sign == Sign::kPositive ? "a finite number above 0" : "a finite number, 0 or more");
}

absl::Status CheckServers(const Problem& problem, int threads) {
  if (problem.server.empty()) return absl::OkStatus();
  if (problem.server.size() != problem.pages()) {
    return absl::InvalidArgumentError(absl::StrCat("server has ", problem.server.size(),
                                                   " entries; it must have ", problem.pages(),
                                                   " or none"));
  }
  const size_t servers = problem.servers();
  const size_t bad = FindFirst(threads, problem.server.size(),
                               [&](size_t i) { return problem.server[i] >= servers; });
  if (bad == kNone) return absl::OkStatus();
  return Invalid("server", bad, problem.server[bad],
                 absl::StrCat("below ", servers, ", the number of servers"));
}

absl::Status CheckCapacity(const Problem& problem) {
  if (!(problem.capacity >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the capacity is ", problem.capacity, "; it must be 0 or more"));
  }
  if (problem.capacity < kInfinity) return absl::OkStatus();
  for (size_t s = 0; s < problem.servers(); ++s) {
    if (problem.min_interval.empty() || problem.min_interval[s] == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the capacity is infinite, and server ", s,
                       " has no minimum interval; one of the two must limit the requests"));
    }
  }
  return absl::OkStatus();
}

absl::Status Check(const Problem& problem, int threads) {
  const size_t pages = problem.pages();
  if (pages > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(pages, " pages; at most 2^32 - 1 are possible"));
  }
  if (!problem.change_rate.empty() && !(problem.alpha.empty() && problem.beta.empty())) {
    return absl::InvalidArgumentError(
        "change_rate and alpha, beta are both given; one must be empty");
  }
  if (problem.alpha.size() != problem.beta.size()) {
    return absl::InvalidArgumentError(absl::StrCat("alpha has ", problem.alpha.size(),
                                                   " entries and beta ", problem.beta.size(),
                                                   "; they must have the same number"));
  }
  const auto check = [&](std::string_view name, std::span<const double> values, Sign sign) {
    return CheckArray(name, values, pages, sign, threads);
  };
  if (auto s = check("change_rate", problem.change_rate, Sign::kNotNegative); !s.ok()) return s;
  if (auto s = check("alpha", problem.alpha, Sign::kPositive); !s.ok()) return s;
  if (auto s = check("beta", problem.beta, Sign::kPositive); !s.ok()) return s;
  if (auto s = check("weight", problem.weight, Sign::kNotNegative); !s.ok()) return s;
  if (auto s = check("lo", problem.lo, Sign::kNotNegative); !s.ok()) return s;
  if (auto s = check("hi", problem.hi, Sign::kNotNegativeOrInfinite); !s.ok()) return s;
  if (auto s = check("cost", problem.cost, Sign::kPositive); !s.ok()) return s;
  if (auto s = CheckArray("min_interval", problem.min_interval, problem.servers(),
                          Sign::kNotNegative, threads);
      !s.ok()) {
    return s;
  }
  if (!problem.lo.empty() && !problem.hi.empty()) {
    const size_t bad =
        FindFirst(threads, pages, [&](size_t i) { return problem.lo[i] > problem.hi[i]; });
    if (bad != kNone) {
      return Invalid("lo", bad, problem.lo[bad],
                     absl::StrCat("at most hi, which is ", problem.hi[bad]));
    }
  }
  if (auto s = CheckServers(problem, threads); !s.ok()) return s;
  return CheckCapacity(problem);
}

// The limit of each server in cost per unit of time: see Allocate.
std::vector<double> ServerLimits(const Problem& problem) {
  std::vector<double> limit(problem.servers(), kInfinity);
  for (size_t s = 0; s < problem.min_interval.size(); ++s) {
    if (problem.min_interval[s] > 0)
      limit[s] = std::min(1 / problem.min_interval[s], kMostRequests);
  }
  if (problem.cost.empty()) return limit;
  std::vector<double> least_cost(limit.size(), 1);
  for (size_t i = 0; i < problem.pages(); ++i) {
    double& least = least_cost[problem.server.empty() ? 0 : problem.server[i]];
    least = std::min(least, problem.cost[i]);
  }
  for (size_t s = 0; s < limit.size(); ++s) limit[s] *= least_cost[s];
  return limit;
}

// A sum of lower bounds that rounding alone puts above a limit is taken as equal to it.
bool Exceeds(double sum, double limit) { return sum > limit * (1 + 1e-12); }

absl::Status CheckLowerBounds(const Problem& problem, const std::vector<double>& limit) {
  if (problem.lo.empty()) return absl::OkStatus();
  std::vector<double> sum(limit.size(), 0);
  double total = 0;
  for (size_t i = 0; i < problem.pages(); ++i) {
    const double least = problem.lo[i] * (problem.cost.empty() ? 1 : problem.cost[i]);
    sum[problem.server.empty() ? 0 : problem.server[i]] += least;
    total += least;
  }
  for (size_t s = 0; s < limit.size(); ++s) {
    if (!Exceeds(sum[s], limit[s])) continue;
    return absl::InvalidArgumentError(absl::StrCat("the lower bounds of server ", s, " add up to ",
                                                   sum[s], ", above its limit of ", limit[s]));
  }
  if (Exceeds(total, problem.capacity)) {
    return absl::InvalidArgumentError(absl::StrCat("the lower bounds add up to ", total,
                                                   ", above the capacity of ", problem.capacity));
  }
  return absl::OkStatus();
}

// Without server limits the problem was solved as one server; the servers get their shares of it.
void SpreadOverServers(const Problem& problem, Allocation& result) {
  result.saturated.assign(problem.servers(), 0);
  result.saturated_servers = 0;
  result.server_price.assign(problem.servers(), result.price);
  result.server_rate.assign(problem.servers(), 0);
  for (size_t i = 0; i < problem.pages(); ++i) {
    result.server_rate[problem.server.empty() ? 0 : problem.server[i]] +=
        result.frequency[i] * (problem.cost.empty() ? 1 : problem.cost[i]);
  }
}

bool FastApplies(const Problem& problem, const AllocationOptions& options) {
  if (options.precision == Precision::kExact) return false;
  if (options.precision == Precision::kAuto && problem.pages() < kFastFrom) return false;
  const bool optimal =
      options.kind == AllocationKind::kOptPolite || options.kind == AllocationKind::kUnpolite;
  return optimal && !problem.change_rate.empty() && problem.lo.empty() && problem.hi.empty() &&
         problem.cost.empty();
}

}  // namespace

PageArray::PageArray(size_t size) : values_(AllocateHuge<double>(size)), size_(size) {}

absl::StatusOr<Allocation> Allocate(const Problem& problem, const AllocationOptions& options) {
  const int threads = problem.pages() < kParallelFrom ? 1 : ThreadCount(options.threads);
  if (auto status = Check(problem, threads); !status.ok()) return status;
  const bool polite = options.kind != AllocationKind::kUnpolite;
  if (!polite && problem.capacity == kInfinity) {
    return absl::InvalidArgumentError(
        "the capacity is infinite; without server limits it must be finite");
  }
  Problem limited = problem;
  if (limited.capacity < kInfinity) limited.capacity = std::min(limited.capacity, kMostRequests);
  const std::vector<double> limit =
      polite ? ServerLimits(problem) : std::vector<double>(problem.servers(), kInfinity);
  if (auto status = CheckLowerBounds(limited, limit); !status.ok()) return status;

  PageOrder order = polite ? PageOrder(problem.server, problem.pages(), problem.servers(), threads)
                           : PageOrder({}, problem.pages(), 1, threads);
  const std::vector<double> cap(limit.begin(),
                                limit.begin() + static_cast<ptrdiff_t>(order.servers()));
  Allocation result;
  if (FastApplies(limited, options)) {
    result.fast = AllocateFast(limited, order, cap, threads, result);
  }
  if (!result.fast) AllocateExact(limited, order, cap, options.kind, threads, result);
  if (!polite) SpreadOverServers(limited, result);
  if (!std::isfinite(result.total_weight)) {
    return absl::InvalidArgumentError(
        "the weights add up to more than a number can hold; only their ratios matter, so divide "
        "them all by the same number");
  }
  return result;
}

}  // namespace escalona::revisit
