// fuzz_costs.cpp — any bytes at all: a calibration is read, written again and made use of, or it is
// refused.
#include <cstddef>
#include <cstdint>

#include "tests/scenarios/costs/use_costs_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    ukemi::use_costs_text({reinterpret_cast<const char*>(data), size});
    return 0;
}
