// fuzz_checkpoint.cpp — any bytes at all: a checkpoint, its state and data files are read or
// refused, never a crash. The first byte chooses the reader.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/input_error.hpp"
#include "kernels/checkpoint_file.hpp"
#include "kernels/data_set.hpp"
#include "kernels/replica.hpp"

namespace {

void read(std::uint8_t kind, std::string_view bytes) {
    if (kind % 4 == 0) {
        const ukemi::kernels::Checkpoint checkpoint =
            ukemi::kernels::parse_checkpoint(bytes, "fuzz");
        ukemi::kernels::Replica({1.0F, 2.0F}, {}).restore(checkpoint.state);
    } else if (kind % 4 == 1) {
        const std::span<const char> text(bytes);
        ukemi::kernels::Replica replica({1.0F, 2.0F}, {});
        replica.restore(std::as_bytes(text));
        replica.apply_averaged(replica.weights(), 0.1, replica.central());
    } else if (kind % 4 == 2) {
        ukemi::kernels::parse_idx(bytes, "fuzz", {"\0\0\x08\x01\0\0\0\x01\x01", 9}, "labels", 0);
        ukemi::kernels::parse_idx(bytes, "fuzz", bytes, "fuzz", 0);
    } else {
        ukemi::kernels::parse_digits(bytes, "fuzz", 3);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    try {
        read(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
    } catch (const ukemi::InputError&) {  // the only way to refuse
    }
    return 0;
}
