// in_process.cpp — schedules over the memory of one process.
#include "tests/support/in_process.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "base/invariant.hpp"
#include "kernels/operation_slots.hpp"
#include "kernels/rank_program.hpp"

namespace ukemi::test {

void run_schedule(const kernels::Schedule& schedule, std::span<const std::span<float>> buffers) {
    INVARIANT(buffers.size() == static_cast<std::size_t>(schedule.ranks));
    for (const std::span<float> buffer : buffers) INVARIANT(buffer.size() == buffers[0].size());
    for (const kernels::Transfer& transfer : schedule.transfers) {
        const kernels::ChunkRange range = kernels::chunk_range(
            buffers[0].size(), schedule.chunks, transfer.first_chunk, transfer.chunk_count);
        const auto part = [&](std::int32_t rank) {
            return buffers[static_cast<std::size_t>(rank)].subspan(range.begin,
                                                                   range.end - range.begin);
        };
        if (transfer.kind == kernels::TransferKind::reduce) {
            kernels::add_to(part(transfer.to), part(transfer.from));
        } else {
            std::ranges::copy(part(transfer.from), part(transfer.to).begin());
        }
    }
}

// What all ranks share. A send leaves a copy of its bytes here, so that it never waits.
struct InProcessCommunicator::Hub {
    using Address = std::tuple<int, int, std::uint64_t>;  // from, to, slot
    struct Rank {
        kernels::Outcome outcome = kernels::Outcome::ok;
        int suspect = -1;
        bool left = false;
    };

    Hub(int size, std::chrono::milliseconds time)
        : deadline(time), ranks(static_cast<std::size_t>(size)) {}

    Rank& at(int rank) { return ranks[static_cast<std::size_t>(rank)]; }
    void fail(int rank, kernels::Outcome outcome, int suspect) {  // under the lock
        if (at(rank).outcome != kernels::Outcome::ok) return;
        at(rank).outcome = outcome;
        at(rank).suspect = suspect;
        changed.notify_all();
    }

    const std::chrono::milliseconds deadline;
    std::mutex mutex;
    std::condition_variable changed;
    std::map<Address, std::vector<std::byte>> messages;
    std::vector<Rank> ranks;
};

struct InProcessCommunicator::State {
    using Clock = std::chrono::steady_clock;

    kernels::Outcome run(const std::string& key, std::span<const kernels::RankMove> moves,
                         const std::byte* sent, std::byte* received,
                         kernels::Reduction reduction = kernels::Reduction::sum_single) {
        const Clock::time_point deadline = Clock::now() + hub->deadline;
        const std::optional<std::uint64_t> slot = slots.begin(key);
        if (!slot) {
            const std::lock_guard lock(hub->mutex);
            hub->fail(membership.rank, kernels::Outcome::aborted, -1);
            return hub->at(membership.rank).outcome;
        }
        kernels::Outcome outcome = failure();
        for (const kernels::RankMove& move : moves) {
            if (outcome != kernels::Outcome::ok) break;
            outcome = move.kind == kernels::MoveKind::send
                          ? send(move, *slot, sent, deadline)
                          : receive(move, *slot, received, reduction, deadline);
        }
        slots.end(key);
        return outcome;
    }

    kernels::Outcome failure() {
        const std::lock_guard lock(hub->mutex);
        return hub->at(membership.rank).outcome;
    }

    // Waits only for a message of many uses ago that nobody has taken.
    kernels::Outcome send(const kernels::RankMove& move, std::uint64_t slot, const std::byte* sent,
                          Clock::time_point deadline) {
        std::vector<std::byte> bytes(sent + move.begin, sent + move.end);
        const Hub::Address address{membership.rank, move.peer, slot + move.position};
        std::unique_lock lock(hub->mutex);
        const Hub::Rank& own = hub->at(membership.rank);
        const bool in_time = hub->changed.wait_until(lock, deadline, [&] {
            return own.outcome != kernels::Outcome::ok || !hub->messages.contains(address);
        });
        if (!in_time) hub->fail(membership.rank, kernels::Outcome::timed_out, move.peer);
        if (own.outcome != kernels::Outcome::ok) return own.outcome;
        hub->messages.emplace(address, std::move(bytes));
        hub->changed.notify_all();
        return kernels::Outcome::ok;
    }

    kernels::Outcome receive(const kernels::RankMove& move, std::uint64_t slot, std::byte* received,
                             kernels::Reduction reduction, Clock::time_point deadline) {
        std::unique_lock lock(hub->mutex);
        const Hub::Address address{move.peer, membership.rank, slot + move.position};
        const Hub::Rank& own = hub->at(membership.rank);
        auto found = hub->messages.end();
        const auto over = [&] {
            found = hub->messages.find(address);
            return own.outcome != kernels::Outcome::ok || found != hub->messages.end() ||
                   hub->at(move.peer).left;
        };
        const bool in_time = hub->changed.wait_until(lock, deadline, over);
        if (own.outcome == kernels::Outcome::ok && found == hub->messages.end()) {
            hub->fail(membership.rank,
                      in_time ? kernels::Outcome::peer_lost : kernels::Outcome::timed_out,
                      move.peer);
        }
        if (own.outcome != kernels::Outcome::ok) return own.outcome;
        const std::vector<std::byte> bytes = std::move(found->second);
        hub->messages.erase(found);
        hub->changed.notify_all();
        lock.unlock();
        INVARIANT(bytes.size() == move.end - move.begin);
        if (move.kind == kernels::MoveKind::receive) {
            std::memcpy(received + move.begin, bytes.data(), bytes.size());
        } else {
            reduce_into(reduction, {received + move.begin, bytes.size()}, bytes);
        }
        return kernels::Outcome::ok;
    }

    std::shared_ptr<Hub> hub;
    kernels::Membership membership;
    kernels::OperationSlots slots;
};

InProcessCommunicator::InProcessCommunicator(std::shared_ptr<Hub> hub,
                                             kernels::Membership membership)
    : state_(std::make_unique<State>()) {
    state_->hub = std::move(hub);
    state_->membership = membership;
}

InProcessCommunicator::~InProcessCommunicator() {
    const std::lock_guard lock(state_->hub->mutex);
    state_->hub->at(state_->membership.rank).left = true;
    state_->hub->changed.notify_all();
}

void InProcessCommunicator::die() {
    const int rank = state_->membership.rank;
    const std::lock_guard lock(state_->hub->mutex);
    state_->hub->fail(rank, kernels::Outcome::aborted, -1);
    for (int other = 0; other < state_->membership.size; ++other) {
        if (other != rank) state_->hub->fail(other, kernels::Outcome::peer_lost, rank);
    }
}

kernels::Membership InProcessCommunicator::membership() const { return state_->membership; }

kernels::Outcome InProcessCommunicator::all_reduce(std::string_view name,
                                                   const kernels::Schedule& schedule,
                                                   kernels::Reduction reduction,
                                                   std::span<std::byte> elements) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(schedule.ranks == size);
    const std::size_t width = element_bytes(reduction);
    const std::size_t count = elements.size() / width;
    return state_->run(all_reduce_key(name, schedule, reduction, count),
                       rank_program(schedule, rank, count, width), elements.data(), elements.data(),
                       reduction);
}

kernels::Outcome InProcessCommunicator::all_gather(std::string_view name,
                                                   std::span<const std::byte> own,
                                                   std::span<std::byte> all) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(all.size() == own.size() * static_cast<std::size_t>(size));
    if (!own.empty()) {
        std::memmove(all.data() + own.size() * static_cast<std::size_t>(rank), own.data(),
                     own.size());
    }
    return state_->run(
        kernels::all_gather_key(name, own.size()),
        kernels::rank_program(kernels::all_gather_schedule(size), rank, all.size(), 1), all.data(),
        all.data());
}

kernels::Outcome InProcessCommunicator::broadcast(std::string_view name, std::span<std::byte> bytes,
                                                  int root) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(root >= 0 && root < size);
    return state_->run(
        kernels::broadcast_key(name, bytes.size(), root),
        kernels::rank_program(kernels::broadcast_schedule(size, root), rank, bytes.size(), 1),
        bytes.data(), bytes.data());
}

kernels::Outcome InProcessCommunicator::exchange(std::string_view name, int peer,
                                                 std::span<const std::byte> out,
                                                 std::span<std::byte> in) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(peer >= 0 && peer < size && out.size() == in.size());
    if (peer == rank && !out.empty()) std::memmove(in.data(), out.data(), out.size());
    return state_->run(
        kernels::exchange_key(name, out.size(), rank, peer),
        kernels::rank_program(kernels::exchange_schedule(size, rank, peer), rank, out.size(), 1),
        out.data(), in.data());
}

void InProcessCommunicator::abort() {
    const std::lock_guard lock(state_->hub->mutex);
    state_->hub->fail(state_->membership.rank, kernels::Outcome::aborted, -1);
}

int InProcessCommunicator::suspect() const {
    const std::lock_guard lock(state_->hub->mutex);
    return state_->hub->at(state_->membership.rank).suspect;
}

std::vector<std::unique_ptr<InProcessCommunicator>> in_process_communicators(
    int ranks, std::chrono::milliseconds deadline, std::uint64_t epoch) {
    INVARIANT(ranks >= 1);
    const auto hub = std::make_shared<InProcessCommunicator::Hub>(ranks, deadline);
    std::vector<std::unique_ptr<InProcessCommunicator>> all;
    for (int rank = 0; rank < ranks; ++rank) {
        all.push_back(
            std::make_unique<InProcessCommunicator>(hub, kernels::Membership{epoch, rank, ranks}));
    }
    return all;
}

}  // namespace ukemi::test
