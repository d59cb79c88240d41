// forked_ranks.hpp — real processes for tests: one a rank, forked before anybody has a thread.
//
// The ranks and the test share a page of memory, which also carries the addresses. Whatever the
// test does, no process outlives the object: it kills and reaps all of them, and the kernel kills
// them if the test itself is killed.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/invariant.hpp"
#include "kernels/socket_communicator.hpp"

namespace ukemi {

inline constexpr std::size_t forked_ranks_max = 6;

// What a rank leaves for the test to judge.
struct RankReport {
    kernels::Outcome outcome = kernels::Outcome::aborted;
    int suspect = -1;
    std::int64_t elapsed_ms = 0;
    bool right = false;  // the results were
};

struct SharedBoard {
    struct Rank {
        std::atomic<int> mark = 0;  // how far it has come
        std::atomic<int> published = 0;
        std::array<std::byte, 2000> address{};
        std::size_t address_bytes = 0;
        RankReport report;
    };
    std::array<Rank, forked_ranks_max> ranks;
};

template <class Condition>
bool wait_until_true(std::chrono::milliseconds time, Condition condition) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

// In the process of one rank.
class ForkedRank {
public:
    ForkedRank(SharedBoard& board, int rank, int size) : board_(board), rank_(rank), size_(size) {}

    int rank() const { return rank_; }
    int size() const { return size_; }
    RankReport& report() { return own().report; }
    void mark(int value) { own().mark = value; }
    bool wait_for_mark(int rank, int value) {
        return wait_until_true(std::chrono::seconds(20), [&] {
            return board_.ranks[static_cast<std::size_t>(rank)].mark >= value;
        });
    }

    // Publishes an address and waits for those of the others.
    std::vector<std::vector<std::byte>> addresses(std::span<const std::byte> address) {
        INVARIANT(address.size() <= own().address.size());
        std::ranges::copy(address, own().address.begin());
        own().address_bytes = address.size();
        own().published = 1;
        std::vector<std::vector<std::byte>> all;
        for (int rank = 0; rank < size_; ++rank) {
            SharedBoard::Rank& other = board_.ranks[static_cast<std::size_t>(rank)];
            wait_until_true(std::chrono::seconds(20), [&] { return other.published == 1; });
            all.emplace_back(
                other.address.begin(),
                other.address.begin() + static_cast<std::ptrdiff_t>(other.address_bytes));
        }
        return all;
    }

    // A connected communicator, or none.
    std::unique_ptr<kernels::SocketCommunicator> connect(
        std::chrono::milliseconds deadline,
        kernels::Encryption encryption = kernels::Encryption::across_hosts,
        const std::string& listen = "127.0.0.1") {
        auto peers = std::make_unique<kernels::SocketCommunicator>(kernels::GroupSettings{
            {1, rank_, size_}, deadline, "the secret of this test", listen, encryption});
        if (peers->connect(addresses(peers->address())) != kernels::Outcome::ok) return nullptr;
        return peers;
    }

    // Runs `action`, reports its outcome and how long it took.
    template <class Action>
    void timed(kernels::Communicator& peers, Action action) {
        const auto start = std::chrono::steady_clock::now();
        report().outcome = action();
        report().elapsed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                                  std::chrono::steady_clock::now() - start)
                                  .count();
        report().suspect = peers.suspect();
    }

private:
    SharedBoard::Rank& own() { return board_.ranks[static_cast<std::size_t>(rank_)]; }
    SharedBoard& board_;
    int rank_;
    int size_;
};

class ForkedRanks {
public:
    ForkedRanks(int size, const std::function<void(ForkedRank&)>& body)
        : children_(static_cast<std::size_t>(size)) {
        INVARIANT(children_.size() <= forked_ranks_max);
        void* memory = mmap(nullptr, sizeof(SharedBoard), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        INVARIANT(memory != MAP_FAILED);
        board_ = new (memory) SharedBoard;
        const pid_t parent = getpid();
        for (int rank = 0; rank < size; ++rank) {
            const pid_t child = fork();
            INVARIANT(child >= 0);
            if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != parent) _exit(3);
                ForkedRank own(*board_, rank, size);
                body(own);
                _exit(0);  // nothing of the test program runs here
            }
            children_[static_cast<std::size_t>(rank)] = child;
        }
    }
    ~ForkedRanks() {
        for (int rank = 0; rank < static_cast<int>(children_.size()); ++rank) kill(rank, SIGKILL);
        for (const pid_t child : children_) {
            if (child > 0) waitpid(child, nullptr, 0);
        }
        munmap(board_, sizeof(SharedBoard));
    }
    ForkedRanks(const ForkedRanks&) = delete;
    ForkedRanks& operator=(const ForkedRanks&) = delete;

    const RankReport& report(int rank) const {
        return board_->ranks[static_cast<std::size_t>(rank)].report;
    }
    bool wait_for_mark(int rank, int value) {
        return wait_until_true(std::chrono::seconds(20), [&] {
            return board_->ranks[static_cast<std::size_t>(rank)].mark >= value;
        });
    }
    void kill(int rank, int signal) {
        const pid_t child = children_[static_cast<std::size_t>(rank)];
        if (child > 0) ::kill(child, signal);
    }
    // Whether it ended by itself, in time, and well.
    bool ended_well(int rank, std::chrono::milliseconds time = std::chrono::seconds(30)) {
        pid_t& child = children_[static_cast<std::size_t>(rank)];
        int status = 0;
        const bool ended =
            wait_until_true(time, [&] { return waitpid(child, &status, WNOHANG) == child; });
        if (!ended) return false;
        child = 0;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    bool all_ended_well() {
        bool well = true;
        for (int rank = 0; rank < static_cast<int>(children_.size()); ++rank) {
            well = ended_well(rank) && well;
        }
        return well;
    }

private:
    SharedBoard* board_ = nullptr;
    std::vector<pid_t> children_;  // 0: reaped
};

}  // namespace ukemi
