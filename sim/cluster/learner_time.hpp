// learner_time.hpp — how long several learners take that share one GPU, each with a batch.
//
// A learner launches kernels, and waits for them once a step. Side by side, one's kernels compute
// while another launches, and blocks of one fill the multiprocessors that another's leave free, so
// that a round of k learners takes as long as a step of one or as k times what a step takes of the
// full device, whichever is longer: the asymptotic bounds of a closed queueing network (Denning and
// Buzen, ACM Computing Surveys 10(3), 1978). In turn, one's gaps are nobody's, and k learners take
// k times as long as one. Streams of one process are side by side, and so are processes under the
// Multi-Process Service of Volta and later GPUs, whose clients send work to the device themselves
// (NVIDIA, "Multi-Process Service"); other processes take turns. Each learner has a host's core.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ukemi::sim {

enum class LearnerSharing : std::uint8_t { side_by_side, in_turn };
inline constexpr std::array<std::string_view, 2> learner_sharing_names = {"side_by_side",
                                                                          "in_turn"};

struct LearnerRule {
    std::int64_t count = 1;
    LearnerSharing sharing = LearnerSharing::side_by_side;
};

struct LearnerStep {
    double alone_s = 0;
    double device_s = 0;  // of these, what one takes of a device that is never idle
};

// A step of each of them.
double round_seconds(const LearnerStep& step, const LearnerRule& rule);
// What bounds such a round, in words: "taking turns", "launching" or "the device".
std::string_view bound_of(const LearnerStep& step, const LearnerRule& rule);

}  // namespace ukemi::sim
