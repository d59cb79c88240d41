// multiple_choice.cpp — dynamic programming over jobs and free GPUs.
#include "schedulers/multiple_choice.hpp"

#include <limits>

#include "base/invariant.hpp"

namespace ukemi::schedulers {

namespace {

constexpr std::int64_t impossible = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::uint8_t none = 0;  // else the number of the option, plus one

// A state is how many GPUs of each group may be used; its number is in mixed radix.
class States {
public:
    explicit States(const std::vector<std::int32_t>& gpus) : gpus_(gpus) {
        std::size_t step = 1;
        for (const std::int32_t one : gpus) {
            steps_.push_back(step);
            step *= static_cast<std::size_t>(one) + 1;
        }
        count_ = step;
    }
    std::size_t count() const { return count_; }
    std::int32_t free_in(std::size_t state, std::size_t group) const {
        const auto values = static_cast<std::size_t>(gpus_[group]) + 1;
        return static_cast<std::int32_t>(state / steps_[group] % values);
    }
    std::size_t without(std::size_t state, const ChoiceOption& option) const {
        return state - static_cast<std::size_t>(option.gpus) * steps_[option.group];
    }

private:
    const std::vector<std::int32_t>& gpus_;
    std::vector<std::size_t> steps_;
    std::size_t count_ = 1;
};

}  // namespace

std::int64_t choice_states(const std::vector<std::int32_t>& gpus) {
    std::int64_t states = 1;
    for (const std::int32_t one : gpus) {
        states *= std::int64_t{one} + 1;
        if (states > choice_states_most) return choice_states_most + 1;
    }
    return states;
}

std::optional<Choices> cheapest_choices(const std::vector<std::int32_t>& gpus,
                                        const std::vector<JobChoice>& jobs) {
    INVARIANT(choice_states(gpus) <= choice_states_most);
    const States states(gpus);
    std::vector<std::int64_t> cost(states.count(), 0);  // of the jobs so far
    std::vector<std::int64_t> next(states.count());
    std::vector<std::vector<std::uint8_t>> chosen;
    for (const JobChoice& job : jobs) {
        INVARIANT(job.options.size() < 255);
        std::vector<std::uint8_t>& best = chosen.emplace_back(states.count(), none);
        for (std::size_t state = 0; state < states.count(); ++state) {
            std::int64_t least = job.cost_of_none ? cost[state] + *job.cost_of_none : impossible;
            for (std::size_t i = 0; i < job.options.size(); ++i) {
                const ChoiceOption& option = job.options[i];
                if (option.gpus > states.free_in(state, option.group)) continue;
                const std::int64_t with = cost[states.without(state, option)] + option.cost;
                if (with >= least) continue;
                least = with;
                best[state] = static_cast<std::uint8_t>(i + 1);
            }
            next[state] = std::min(least, impossible);
        }
        cost.swap(next);
    }
    std::size_t state = states.count() - 1;
    if (cost[state] >= impossible) return std::nullopt;
    Choices all{cost[state], std::vector<std::optional<std::size_t>>(jobs.size())};
    for (std::size_t i = jobs.size(); i-- > 0;) {
        const std::uint8_t choice = chosen[i][state];
        if (choice == none) continue;
        all.chosen[i] = std::size_t{choice} - 1;
        state = states.without(state, jobs[i].options[*all.chosen[i]]);
    }
    return all;
}

}  // namespace ukemi::schedulers
