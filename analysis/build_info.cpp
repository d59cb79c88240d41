#include "analysis/build_info.hpp"

#include <fmt/format.h>

#include "analysis/commit.hpp"  // written by the build

namespace ukemi::analysis {

std::string build_version() { return UKEMI_VERSION; }
std::string build_commit() { return UKEMI_COMMIT; }

std::string build_description() {
#if defined(__clang__)
    const std::string compiler = fmt::format("clang {}", __clang_major__);
#else
    const std::string compiler = fmt::format("g++ {}", __GNUC__);
#endif
    return fmt::format("ukemi {} ({}, {})", build_version(), build_commit(), compiler);
}

}  // namespace ukemi::analysis
