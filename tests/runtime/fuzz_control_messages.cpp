// fuzz_control_messages.cpp — any bytes at all: decoded or refused, never a crash, and what was
// decoded is encoded to the same bytes again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/invariant.hpp"
#include "runtime/messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::uint8_t> frame(data, size);
    const ukemi::runtime::Decoded decoded = ukemi::runtime::decode(frame);
    INVARIANT(decoded.message.has_value() == decoded.problem.empty());
    if (!decoded.message) return 0;
    const ukemi::runtime::ByteString again = ukemi::runtime::encode(*decoded.message);
    INVARIANT(again.size() == size + 4 &&
              std::equal(again.begin() + 4, again.end(), frame.begin()));
    return 0;
}
