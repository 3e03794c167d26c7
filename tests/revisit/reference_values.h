// Values computed in high precision by reference.py.
#ifndef ESCALONA_TESTS_REVISIT_REFERENCE_VALUES_H_
#define ESCALONA_TESTS_REVISIT_REFERENCE_VALUES_H_

#include <cstdint>
#include <vector>

namespace escalona::revisit {

struct GValue {
  double x, g;
};
struct BeliefGValue {
  double alpha, z, g;
};
struct Instance {
  const char* name;
  std::vector<double> rate, weight;
  std::vector<uint32_t> server;
  std::vector<double> cap;
  double capacity;
  double price;
  std::vector<double> server_price, frequency;
  double objective;
};

#include "reference_values.inc"

}  // namespace escalona::revisit

#endif  // ESCALONA_TESTS_REVISIT_REFERENCE_VALUES_H_
