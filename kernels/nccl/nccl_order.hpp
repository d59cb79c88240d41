// nccl_order.hpp — one order of launches on all ranks, whichever thread comes first.
//
// Operations of a Communicator are matched by name and may be called in any order; NCCL matches
// them by the order of its calls. The names of a round stand in a list that is equal on all ranks
// (KungFu's NCCL scheduler fixes rank 0's first order; buckets of a backward pass have one anyway).
// Who comes early waits for its turn. Names that are not in the list go when no round is under way,
// and their callers see to it that they come in one order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/communicator.hpp"

namespace ukemi::kernels {

class NcclOrder {
public:
    explicit NcclOrder(std::vector<std::string> round) : round_(std::move(round)) {}

    // Waits for this name's turn; the turn is the caller's until `done`.
    Outcome take_turn(std::string_view name, std::chrono::milliseconds deadline);
    void done();
    void abort();  // all waits end with aborted, also later ones

private:
    bool is_turn_of(std::string_view name) const;

    std::vector<std::string> round_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t next_ = 0;  // of the round
    bool taken_ = false;
    bool in_round_ = false;  // the turn that is taken is one of the list
    bool aborted_ = false;
};

}  // namespace ukemi::kernels
