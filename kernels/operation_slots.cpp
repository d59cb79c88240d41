// operation_slots.cpp — keys and slots.
#include "kernels/operation_slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/invariant.hpp"
#include "kernels/bit_hash.hpp"

namespace ukemi::kernels {

namespace {

constexpr int position_bits = 18;
constexpr int use_bits = 6;
constexpr int hash_bits = 64 - position_bits - use_bits;
static_assert(slot_positions == 1U << position_bits);

std::uint64_t hash_of(std::string_view key) {
    BitHash hash;
    hash.add(std::as_bytes(std::span(key)));
    return hash.value();
}

}  // namespace

std::string all_reduce_key(std::string_view name, const Schedule& schedule, Reduction reduction,
                           std::size_t count) {
    return fmt::format("all_reduce {} {} {} {} {} {} {}", schedule.name, schedule.ranks,
                       schedule.chunks, schedule.transfers.size(), static_cast<int>(reduction),
                       count, name);
}

std::string all_gather_key(std::string_view name, std::size_t bytes) {
    return fmt::format("all_gather {} {}", bytes, name);
}

std::string broadcast_key(std::string_view name, std::size_t bytes, int root) {
    return fmt::format("broadcast {} {} {}", bytes, root, name);
}

std::string exchange_key(std::string_view name, std::size_t bytes, int rank, int peer) {
    return fmt::format("exchange {} {} {} {}", bytes, std::min(rank, peer), std::max(rank, peer),
                       name);
}

OperationSlots::OperationSlots() : hash_(hash_of) {}

std::optional<std::uint64_t> OperationSlots::begin(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = uses_.try_emplace(key);
    Use& use = place->second;
    if (is_new) use.hash = hash_(key) >> (64 - hash_bits);
    if (use.hash == 0 || keys_.try_emplace(use.hash, key).first->second != key) {
        return std::nullopt;
    }
    INVARIANT(!use.running);
    use.running = true;
    const std::uint64_t number = use.count++ % (1U << use_bits);
    return use.hash << (position_bits + use_bits) | number << position_bits;
}

void OperationSlots::end(const std::string& key) {
    const std::lock_guard lock(mutex_);
    Use& use = uses_.at(key);
    INVARIANT(use.running);
    use.running = false;
}

}  // namespace ukemi::kernels
