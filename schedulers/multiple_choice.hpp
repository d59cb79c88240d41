// multiple_choice.hpp — for each job at most one of its options, so that GPUs of each group are
// enough and the sum of costs is the least: exact, by dynamic programming over what is still free.
//
// Time and memory grow with the product of (GPUs + 1) over the groups. Of equally cheap solutions
// it gives the one in which the last job has its earliest option, then the one before it, and so
// on; having none comes first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ukemi::schedulers {

struct ChoiceOption {
    std::size_t group = 0;
    std::int32_t gpus = 0;
    std::int64_t cost = 0;
};

struct JobChoice {
    std::vector<ChoiceOption> options;
    std::optional<std::int64_t> cost_of_none;  // nothing: it must have one
};

struct Choices {
    std::int64_t cost = 0;
    std::vector<std::optional<std::size_t>> chosen;  // by job: the number of its option
};

inline constexpr std::int64_t choice_states_most = 1'000'000;

// How many states there are for so many GPUs by group; at most `choice_states_most` can be solved.
std::int64_t choice_states(const std::vector<std::int32_t>& gpus);

// Nothing: those that must have an option do not fit.
std::optional<Choices> cheapest_choices(const std::vector<std::int32_t>& gpus,
                                        const std::vector<JobChoice>& jobs);

}  // namespace ukemi::schedulers
