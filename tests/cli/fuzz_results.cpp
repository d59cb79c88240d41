// fuzz_results.cpp — any bytes at all: what lies in a results folder is compared and made ready to
// be drawn, or it is refused.
#include <cstddef>
#include <cstdint>

#include "tests/cli/use_results_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    ukemi::use_results_text({reinterpret_cast<const char*>(data), size});
    return 0;
}
