// fuzz_nccl_tests.cpp — any bytes at all: nccl-tests' output is read or refused, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/input_error.hpp"
#include "traces/nccl_tests.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const auto tables = ukemi::traces::parse_nccl_tests(
            {reinterpret_cast<const char*>(data), size}, "all_reduce_8.csv");
        ukemi::traces::alpha_beta(tables, ukemi::traces::BufferUse::out_of_place);
        ukemi::traces::alpha_beta(tables, ukemi::traces::BufferUse::in_place);
        ukemi::traces::to_plain_csv(tables);
    } catch (const ukemi::InputError&) {  // the only way to refuse
    }
    return 0;
}
