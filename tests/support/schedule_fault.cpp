#include "tests/support/schedule_fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace ukemi::test {

namespace {

// Which ranks' contributions a partial sum holds: each at least once, each more than once.
class Contributions {
public:
    Contributions(std::size_t ranks, std::size_t own) : once_(words(ranks)), more_(words(ranks)) {
        if (own < ranks) once_[own / 64] |= std::uint64_t{1} << (own % 64);
    }
    void add(const Contributions& other) {
        for (std::size_t i = 0; i < once_.size(); ++i) {
            more_[i] |= other.more_[i] | (once_[i] & other.once_[i]);
            once_[i] |= other.once_[i];
        }
    }
    int count(std::size_t rank) const {
        const auto has = [&](const std::vector<std::uint64_t>& bits) {
            return static_cast<int>(bits[rank / 64] >> (rank % 64) & 1);
        };
        return has(once_) + has(more_);
    }

private:
    static std::size_t words(std::size_t ranks) { return (ranks + 63) / 64; }
    std::vector<std::uint64_t> once_;
    std::vector<std::uint64_t> more_;
};

std::string fault_of_shape(const kernels::Schedule& schedule) {
    if (schedule.ranks < 1) return "there are no ranks";
    if (schedule.chunks < 1) return "there are no chunks";
    if (schedule.servers < 0 || schedule.servers >= schedule.ranks) return "there are no workers";
    std::int32_t step = 0;
    for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
        const kernels::Transfer& transfer = schedule.transfers[i];
        for (const std::int32_t rank : {transfer.from, transfer.to}) {
            if (rank >= 0 && rank < schedule.ranks) continue;
            return fmt::format("transfer {}: there is no rank {}", i, rank);
        }
        if (transfer.from == transfer.to) {
            return fmt::format("transfer {}: rank {} sends to itself", i, transfer.from);
        }
        if (transfer.first_chunk < 0 || transfer.chunk_count < 1 ||
            transfer.chunk_count > schedule.chunks - transfer.first_chunk) {
            return fmt::format("transfer {}: there are no {} chunks from {} on", i,
                               transfer.chunk_count, transfer.first_chunk);
        }
        if (transfer.step < step) {
            return fmt::format("transfer {}: step {} after step {}", i, transfer.step, step);
        }
        step = transfer.step;
    }
    return {};
}

// How often a rank should end with another's part of a chunk; −1 if it does not matter.
int wanted_count(Operation operation, std::size_t ranks, std::size_t rank, std::int32_t chunk,
                 std::size_t of) {
    const auto number = static_cast<std::size_t>(chunk);
    switch (operation) {
        case Operation::all_reduce: return 1;
        case Operation::reduce_scatter: return rank == number ? 1 : -1;
        case Operation::all_gather: return of == number ? 1 : 0;
        case Operation::broadcast: return of == 0 ? 1 : 0;
        case Operation::all_to_all:
            return rank != number % ranks ? -1 : of == number / ranks ? 1 : 0;
    }
    INVARIANT(false);
    return 0;
}

// Plays the transfers of one chunk in the order of the list.
std::string fault_of_chunk(const kernels::Schedule& schedule, Operation operation,
                           std::int32_t chunk, const std::vector<std::size_t>& transfers) {
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    std::vector<Contributions> held;
    held.reserve(ranks);
    const auto workers = static_cast<std::size_t>(schedule.ranks - schedule.servers);
    for (std::size_t rank = 0; rank < ranks; ++rank) held.emplace_back(workers, rank);
    std::vector<std::int32_t> written(ranks, -1);  // in which step a rank last received the chunk
    for (const std::size_t i : transfers) {
        const kernels::Transfer& transfer = schedule.transfers[i];
        const auto from = static_cast<std::size_t>(transfer.from);
        const auto to = static_cast<std::size_t>(transfer.to);
        if (written[from] == transfer.step) {
            return fmt::format(
                "transfer {}: rank {} sends chunk {} in the step ({}) in which it "
                "receives it",
                i, transfer.from, chunk, transfer.step);
        }
        if (transfer.kind == kernels::TransferKind::reduce) {
            held[to].add(held[from]);
        } else {
            held[to] = held[from];
        }
        written[to] = transfer.step;
    }
    for (std::size_t rank = 0; rank < workers; ++rank) {
        for (std::size_t of = 0; of < workers; ++of) {
            const int count = held[rank].count(of);
            const int wanted = wanted_count(operation, workers, rank, chunk, of);
            if (count == wanted || wanted < 0) continue;
            return fmt::format("rank {} ends with chunk {} of rank {} {}", rank, chunk, of,
                               wanted == 0  ? "in it"
                               : count == 0 ? "missing"
                                            : "more than once");
        }
    }
    return {};
}

}  // namespace

std::string schedule_fault(const kernels::Schedule& schedule, Operation operation) {
    if (std::string fault = fault_of_shape(schedule); !fault.empty()) return fault;
    std::vector<std::vector<std::size_t>> by_chunk(static_cast<std::size_t>(schedule.chunks));
    for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
        const kernels::Transfer& transfer = schedule.transfers[i];
        for (std::int32_t k = 0; k < transfer.chunk_count; ++k) {
            by_chunk[static_cast<std::size_t>(transfer.first_chunk + k)].push_back(i);
        }
    }
    for (std::int32_t chunk = 0; chunk < schedule.chunks; ++chunk) {
        std::string fault =
            fault_of_chunk(schedule, operation, chunk, by_chunk[static_cast<std::size_t>(chunk)]);
        if (!fault.empty()) return fault;
    }
    return {};
}

}  // namespace ukemi::test
