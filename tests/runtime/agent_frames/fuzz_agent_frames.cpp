// fuzz_agent_frames.cpp — any bytes at all as what an agent says to a coordinator.
#include <cstddef>
#include <cstdint>

#include "tests/runtime/agent_frames/use_agent_frames.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ukemi::runtime::use_agent_frames({data, size});
    return 0;
}
