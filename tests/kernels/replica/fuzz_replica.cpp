// fuzz_replica.cpp — any bytes at all: a replica is restored from them, or from a checkpoint's file
// that holds them, and trained on; or they are refused.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/kernels/replica/use_replica_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ukemi::use_replica_bytes(std::as_bytes(std::span(data, size)));
    return 0;
}
