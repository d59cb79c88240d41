// operation_slots.hpp — turns the names of operations into the numbers that messages carry.
//
// A slot is 64 bits: 40 of a hash of everything that two ranks must agree on (name, kind, sizes),
// 6 that count the uses of a name, 18 for the position of a message in its operation. Ranks that do
// not agree never match each other's messages: they run into their deadline instead of adding
// apples to pears. Two names with one hash are noticed by every rank that uses both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/reduction.hpp"
#include "kernels/schedule.hpp"

namespace ukemi::kernels {

inline constexpr std::uint32_t slot_positions = 1U << 18;

// What ranks must agree on, as text.
std::string all_reduce_key(std::string_view name, const Schedule& schedule, Reduction reduction,
                           std::size_t count);
std::string all_gather_key(std::string_view name, std::size_t bytes);
std::string broadcast_key(std::string_view name, std::size_t bytes, int root);
std::string exchange_key(std::string_view name, std::size_t bytes, int rank, int peer);

// From any thread.
class OperationSlots {
public:
    using Hash = std::uint64_t (*)(std::string_view);
    OperationSlots();
    explicit OperationSlots(Hash hash) : hash_(hash) {}  // for tests of collisions

    // The slot of position 0; empty if another name has the same hash. Slots below slot_positions
    // are never given out. A name that is in use is a broken promise of the caller.
    std::optional<std::uint64_t> begin(const std::string& key);
    void end(const std::string& key);

private:
    struct Use {
        std::uint64_t hash = 0;
        std::uint64_t count = 0;
        bool running = false;
    };
    Hash hash_;
    std::mutex mutex_;
    std::map<std::string, Use> uses_;
    std::map<std::uint64_t, std::string> keys_;  // by hash
};

}  // namespace ukemi::kernels
