// in_process.cpp — schedules over the memory of one process.
#include "kernels/in_process.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "base/invariant.hpp"
#include "kernels/operation_slots.hpp"
#include "kernels/rank_program.hpp"

namespace ukemi::kernels {

void run_schedule(const Schedule& schedule, std::span<const std::span<float>> buffers) {
    INVARIANT(buffers.size() == static_cast<std::size_t>(schedule.ranks));
    for (const std::span<float> buffer : buffers) INVARIANT(buffer.size() == buffers[0].size());
    for (const Transfer& transfer : schedule.transfers) {
        const ChunkRange range = chunk_range(buffers[0].size(), schedule.chunks,
                                             transfer.first_chunk, transfer.chunk_count);
        const auto part = [&](std::int32_t rank) {
            return buffers[static_cast<std::size_t>(rank)].subspan(range.begin,
                                                                   range.end - range.begin);
        };
        if (transfer.kind == TransferKind::reduce) {
            add_to(part(transfer.to), part(transfer.from));
        } else {
            std::ranges::copy(part(transfer.from), part(transfer.to).begin());
        }
    }
}

// What all ranks share. A send leaves a copy of its bytes here, so that it never waits.
struct InProcessCommunicator::Hub {
    using Address = std::tuple<int, int, std::uint64_t>;  // from, to, slot
    struct Rank {
        Outcome outcome = Outcome::ok;
        int suspect = -1;
        bool left = false;
    };

    Hub(int size, std::chrono::milliseconds time)
        : deadline(time), ranks(static_cast<std::size_t>(size)) {}

    Rank& at(int rank) { return ranks[static_cast<std::size_t>(rank)]; }
    void fail(int rank, Outcome outcome, int suspect) {  // under the lock
        if (at(rank).outcome != Outcome::ok) return;
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

    Outcome run(const std::string& key, std::span<const RankMove> moves, const std::byte* sent,
                std::byte* received, Reduction reduction = Reduction::sum_single) {
        const Clock::time_point deadline = Clock::now() + hub->deadline;
        const std::optional<std::uint64_t> slot = slots.begin(key);
        if (!slot) {
            const std::lock_guard lock(hub->mutex);
            hub->fail(membership.rank, Outcome::aborted, -1);
            return hub->at(membership.rank).outcome;
        }
        Outcome outcome = failure();
        for (const RankMove& move : moves) {
            if (outcome != Outcome::ok) break;
            outcome = move.kind == MoveKind::send
                          ? send(move, *slot, sent, deadline)
                          : receive(move, *slot, received, reduction, deadline);
        }
        slots.end(key);
        return outcome;
    }

    Outcome failure() {
        const std::lock_guard lock(hub->mutex);
        return hub->at(membership.rank).outcome;
    }

    // Waits only for a message of many uses ago that nobody has taken.
    Outcome send(const RankMove& move, std::uint64_t slot, const std::byte* sent,
                 Clock::time_point deadline) {
        std::vector<std::byte> bytes(sent + move.begin, sent + move.end);
        const Hub::Address address{membership.rank, move.peer, slot + move.position};
        std::unique_lock lock(hub->mutex);
        const Hub::Rank& own = hub->at(membership.rank);
        const bool in_time = hub->changed.wait_until(lock, deadline, [&] {
            return own.outcome != Outcome::ok || !hub->messages.contains(address);
        });
        if (!in_time) hub->fail(membership.rank, Outcome::timed_out, move.peer);
        if (own.outcome != Outcome::ok) return own.outcome;
        hub->messages.emplace(address, std::move(bytes));
        hub->changed.notify_all();
        return Outcome::ok;
    }

    Outcome receive(const RankMove& move, std::uint64_t slot, std::byte* received,
                    Reduction reduction, Clock::time_point deadline) {
        std::unique_lock lock(hub->mutex);
        const Hub::Address address{move.peer, membership.rank, slot + move.position};
        const Hub::Rank& own = hub->at(membership.rank);
        auto found = hub->messages.end();
        const auto over = [&] {
            found = hub->messages.find(address);
            return own.outcome != Outcome::ok || found != hub->messages.end() ||
                   hub->at(move.peer).left;
        };
        const bool in_time = hub->changed.wait_until(lock, deadline, over);
        if (own.outcome == Outcome::ok && found == hub->messages.end()) {
            hub->fail(membership.rank, in_time ? Outcome::peer_lost : Outcome::timed_out,
                      move.peer);
        }
        if (own.outcome != Outcome::ok) return own.outcome;
        const std::vector<std::byte> bytes = std::move(found->second);
        hub->messages.erase(found);
        hub->changed.notify_all();
        lock.unlock();
        INVARIANT(bytes.size() == move.end - move.begin);
        if (move.kind == MoveKind::receive) {
            std::memcpy(received + move.begin, bytes.data(), bytes.size());
        } else {
            reduce_into(reduction, {received + move.begin, bytes.size()}, bytes);
        }
        return Outcome::ok;
    }

    std::shared_ptr<Hub> hub;
    Membership membership;
    OperationSlots slots;
};

InProcessCommunicator::InProcessCommunicator(std::shared_ptr<Hub> hub, Membership membership)
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
    state_->hub->fail(rank, Outcome::aborted, -1);
    for (int other = 0; other < state_->membership.size; ++other) {
        if (other != rank) state_->hub->fail(other, Outcome::peer_lost, rank);
    }
}

Membership InProcessCommunicator::membership() const { return state_->membership; }

Outcome InProcessCommunicator::all_reduce(std::string_view name, const Schedule& schedule,
                                          Reduction reduction, std::span<std::byte> elements) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(schedule.ranks == size);
    const std::size_t width = element_bytes(reduction);
    const std::size_t count = elements.size() / width;
    return state_->run(all_reduce_key(name, schedule, reduction, count),
                       rank_program(schedule, rank, count, width), elements.data(), elements.data(),
                       reduction);
}

Outcome InProcessCommunicator::all_gather(std::string_view name, std::span<const std::byte> own,
                                          std::span<std::byte> all) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(all.size() == own.size() * static_cast<std::size_t>(size));
    if (!own.empty()) {
        std::memmove(all.data() + own.size() * static_cast<std::size_t>(rank), own.data(),
                     own.size());
    }
    return state_->run(all_gather_key(name, own.size()),
                       rank_program(all_gather_schedule(size), rank, all.size(), 1), all.data(),
                       all.data());
}

Outcome InProcessCommunicator::broadcast(std::string_view name, std::span<std::byte> bytes,
                                         int root) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(root >= 0 && root < size);
    return state_->run(broadcast_key(name, bytes.size(), root),
                       rank_program(broadcast_schedule(size, root), rank, bytes.size(), 1),
                       bytes.data(), bytes.data());
}

Outcome InProcessCommunicator::exchange(std::string_view name, int peer,
                                        std::span<const std::byte> out, std::span<std::byte> in) {
    const auto [epoch, rank, size] = membership();
    INVARIANT(peer >= 0 && peer < size && out.size() == in.size());
    if (peer == rank && !out.empty()) std::memmove(in.data(), out.data(), out.size());
    return state_->run(exchange_key(name, out.size(), rank, peer),
                       rank_program(exchange_schedule(size, rank, peer), rank, out.size(), 1),
                       out.data(), in.data());
}

void InProcessCommunicator::abort() {
    const std::lock_guard lock(state_->hub->mutex);
    state_->hub->fail(state_->membership.rank, Outcome::aborted, -1);
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
        all.push_back(std::make_unique<InProcessCommunicator>(hub, Membership{epoch, rank, ranks}));
    }
    return all;
}

}  // namespace ukemi::kernels
