// What this build is; the values are written at build time by cmake/version.cmake.
#ifndef ESCALONA_CLI_VERSION_H_
#define ESCALONA_CLI_VERSION_H_

namespace escalona::cli {

extern const char kVersion[];   // "0.1.0"
extern const char kCommit[];    // "1a2b3c4" or "1a2b3c4-dirty", "unknown" outside a git checkout
extern const char kCompiler[];  // "GNU 12.2.0, Release"

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_VERSION_H_
