// Numbers as people and programs read them.
#ifndef ESCALONA_CLI_DECIMAL_H_
#define ESCALONA_CLI_DECIMAL_H_

#include <cstddef>

namespace escalona::cli {

inline constexpr size_t kDecimalBytes = 24;  // the longest takes 19

// Writes `value` with twelve significant digits, as printf's "%.12g" does, and returns the end of
// it. `at` has room for kDecimalBytes.
char* PutDecimal(char* at, double value);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_DECIMAL_H_
