// fuzz_plan_text.cpp — any bytes at all: the text of a Plan, as workers get it, is read or refused,
// and what was read is written to the same text again.
#include <cstddef>
#include <cstdint>

#include "tests/runtime/plan_text/use_plan_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    ukemi::runtime::use_plan_text({reinterpret_cast<const char*>(data), size});
    return 0;
}
