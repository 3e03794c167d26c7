// The two ways to solve an allocation problem that has been validated.
#ifndef ESCALONA_REVISIT_ALLOCATION_INTERNAL_H_
#define ESCALONA_REVISIT_ALLOCATION_INTERNAL_H_

#include <vector>

#include "escalona/allocation.h"
#include "revisit/page_order.h"

namespace escalona::revisit {

// Doubles throughout; every kind and every option.
void AllocateExact(const Problem& problem, PageOrder& order, const std::vector<double>& cap,
                   AllocationKind kind, int threads, Allocation& result);

// Floats, vectorised; the optimum of change rates without lo, hi and cost. Returns false, and
// leaves `result` alone, when a value is too large or small for floats.
bool AllocateFast(const Problem& problem, const PageOrder& order, const std::vector<double>& cap,
                  int threads, Allocation& result);

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_ALLOCATION_INTERNAL_H_
