#include "scenarios/experiment/run_layout.hpp"

#include <algorithm>
#include <utility>

namespace ukemi::scenarios {

namespace {

// So many groups at least where there are runs enough: threads and shards end at about one time.
constexpr std::size_t groups_aimed = 1024;
constexpr std::size_t group_runs_most = 64;

std::size_t groups_of(std::size_t seeds, std::size_t seeds_in_group) {
    return (seeds + seeds_in_group - 1) / seeds_in_group;
}

}  // namespace

RunLayout::RunLayout(std::vector<Part> parts) {
    for (const Part& part : parts) {
        runs_ += part.windows.size() * part.of->policies.size() * part.of->seeds.size();
    }
    const std::size_t in_group = std::clamp<std::size_t>(runs_ / groups_aimed, 1, group_runs_most);
    std::size_t run = 0;
    for (Part& part : parts) {
        Placed& placed = placed_.emplace_back();
        static_cast<Part&>(placed) = std::move(part);
        const std::size_t policies = placed.of->policies.size();
        const std::size_t seeds = placed.of->seeds.size();
        placed.run_begin = run;
        placed.group_begin = groups_;
        if (!placed.market_of_seed)
            placed.seeds_in_group = std::max<std::size_t>(1, in_group / policies);
        run += placed.windows.size() * policies * seeds;
        groups_ += placed.windows.size() * groups_of(seeds, placed.seeds_in_group);
    }
}

void RunLayout::visit(std::size_t group,
                      const std::function<bool(const PlannedRun& run)>& visitor) const {
    const auto after = std::ranges::upper_bound(placed_, group, {}, &Placed::group_begin);
    const Placed& part = *(after - 1);
    const std::size_t policies = part.of->policies.size();
    const std::size_t seeds = part.of->seeds.size();
    // Neighbours have as much of the market in common as can be.
    const std::size_t within = group - part.group_begin;
    const std::size_t seed_groups = groups_of(seeds, part.seeds_in_group);
    const std::size_t window =
        part.market_of_seed ? within % part.windows.size() : within / seed_groups;
    const std::size_t seed_group =
        part.market_of_seed ? within / part.windows.size() : within % seed_groups;
    const std::size_t seed_begin = seed_group * part.seeds_in_group;
    const std::size_t seed_end = std::min(seed_begin + part.seeds_in_group, seeds);
    PlannedRun run{.group = group,
                   .case_number = part.case_number,
                   .trace = part.trace,
                   .window_number = window,
                   .window = part.windows[window],
                   .of = part.of};
    for (std::size_t policy = 0; policy < policies; ++policy) {
        run.policies = &part.of->policies[policy];
        for (std::size_t seed = seed_begin; seed < seed_end; ++seed) {
            run.seed = part.of->seeds[seed];
            run.number = part.run_begin + (window * policies + policy) * seeds + seed;
            if (!visitor(run)) return;
        }
    }
}

}  // namespace ukemi::scenarios
