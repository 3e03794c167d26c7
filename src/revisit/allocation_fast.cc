// placeholder
#include "revisit/allocation_internal.h"
namespace escalona::revisit {
bool AllocateFast(const Problem&, const PageOrder&, const std::vector<double>&, int, Allocation&) {
  return false;
}
}  // namespace escalona::revisit
