// rank_group.hpp — the processes that `mpirun` has started together for one sweep: rank 0 hands out
// numbers of work, the others send what came of them.
//
// Every message is between rank 0 and one other, and the other begins. Nobody spins while it waits:
// ranks often share cores with the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace ukemi::analysis {

// Why a rank can make no more, as its user would have been told.
struct RankFailure {
    bool input = false;  // else the machine's
    std::string text;
};

class RankGroup {
public:
    // The group that this process was started in; alone where it was started alone. InputError
    // where it was not, and this build has no MPI.
    RankGroup();
    // Rank 0 sends away the others that it has not served to their end.
    ~RankGroup();
    RankGroup(const RankGroup&) = delete;
    RankGroup& operator=(const RankGroup&) = delete;

    std::size_t rank() const { return rank_; }
    std::size_t size() const { return size_; }

    struct Server {
        // What is to be done next by who works on this; empty: nothing more.
        std::function<std::vector<std::size_t>(std::size_t rank, std::uint64_t digest)> hand_out;
        std::function<void(std::span<const std::uint8_t> done)> take;
        std::function<void(std::size_t rank, const RankFailure& failure)> fail;
    };
    // For rank 0, on one thread, once: until all others have left. What its functions throw ends
    // the work of the others, and is thrown when they have left.
    void serve(const Server& server);

    // For the others, from any thread. `digest` says what they work on.
    std::vector<std::size_t> ask(std::uint64_t digest);
    void send(std::span<const std::uint8_t> done);
    void fail(const RankFailure& failure);

private:
    std::size_t rank_ = 0;
    std::size_t size_ = 1;
    bool served_ = false;
    std::mutex mutex_;
};

}  // namespace ukemi::analysis
