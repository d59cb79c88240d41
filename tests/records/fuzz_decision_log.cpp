// fuzz_decision_log.cpp — any bytes at all: a decision log is replayed or refused, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/input_error.hpp"
#include "records/decision_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    try {
        ukemi::records::replay_decisions({reinterpret_cast<const char*>(data), size}, "fuzz");
    } catch (const ukemi::InputError&) {  // the only way to refuse
    }
    return 0;
}
