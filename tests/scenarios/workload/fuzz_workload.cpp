// fuzz_workload.cpp — any bytes at all: a trace, layers, a system or a network of others is read
// and played, or it is refused.
#include <cstddef>
#include <cstdint>

#include "tests/scenarios/workload/play_workload_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) ukemi::play_workload_bytes({reinterpret_cast<const char*>(data), size});
    return 0;
}
