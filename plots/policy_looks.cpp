#include "plots/policy_looks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "base/text_digest.hpp"
#include "plots/gnuplot.hpp"

namespace ukemi::plots {
namespace {

constexpr std::array<std::string_view, 7> colours = {
    colour::blue,   colour::vermillion, colour::green, colour::purple,
    colour::orange, colour::black,      colour::sky};
constexpr std::array<std::string_view, 8> dashes = {
    "1", "(10,4)", "(3,3)", "(12,3,3,3)", "(6,3)", "(2,5)", "(14,3,2,3,2,3)", "(6,6)"};
constexpr std::array<int, 12> points = {7, 5, 9, 13, 11, 6, 4, 8, 12, 10, 14, 15};
constexpr std::size_t looks_count = colours.size() * dashes.size() * 3;  // that differ pairwise

// Policies that are compared with each other stand within seven of each other: they differ in
// colour. Without "checkpoint" in their names, as tables call them.
constexpr std::string_view shipped[] = {
    "greedy", "uniform_progress", "rc_threshold", "time_sliced", "ideal_no_overhead", "on_demand",
    "spot_only",
    // when to save
    "periodic", "young", "daly", "hazard", "on_notice", "optimum", "bid",
    // where
    "cheapest_zone", "spread_zones", "follow_capacity", "cheapest_region_net", "replace_stragglers",
    "tune_learners", "scheduled_resize",
    // how many
    "noise_scale_resize", "throughput_resize", "utilisation_resize", "gain_resize",
    "goodput_resize", "ada_sgd", "synchronisation_by_size",
    // which batch
    "constant_batch", "batch_schedule", "grow_batch", "noise_scale_batch", "goodput_batch",
    "accordion_batch", "dynamic_batch", "noise_doubling_batch", "capped_batch", "ada_scale",
    "scaled_rate",
    // what is sent
    "accordion", "adaptive_codec", "interference_switch", "topology_by_size", "measured_collective",
    // a fleet in parts
    "fleet_progress", "morph_pipelines",
    // live workers of several hosts
    "latency_tree",
    // schedulers
    "fifo", "fifo_skip", "srtf", "tiresias", "optimus", "max_min", "finish_time_fairness", "themis",
    "elasticflow", "pollux", "sia", "gavel_max_sum", "gavel_max_min", "gavel_finish_time",
    "gavel_makespan", "gavel_cost", "allox", "spot_shares",
    // searchers
    "grid", "random", "successive_halving", "hyperband", "asha", "pbt"};

std::string_view table_name(std::string_view policy) {
    constexpr std::string_view begin = "checkpoint_";
    constexpr std::string_view end = "_checkpoint";
    if (policy.starts_with(begin)) policy.remove_prefix(begin.size());
    if (policy.ends_with(end)) policy.remove_suffix(end.size());
    return policy;
}

std::size_t place_of(std::string_view name) {
    const auto found = std::ranges::find(shipped, table_name(name));
    if (found != std::end(shipped)) return static_cast<std::size_t>(found - std::begin(shipped));
    return text_digest(name) % looks_count;
}

bool is_shipped(std::string_view name) {
    return std::ranges::find(shipped, table_name(name.substr(0, name.find('+')))) !=
           std::end(shipped);
}

// Lists that differ in one policy differ as far as these do.
std::size_t place_of_list(std::string_view list) {
    constexpr std::size_t a_policy_more = 5;
    std::size_t place = 0;
    while (true) {
        const std::string_view name = list.substr(0, list.find('+'));
        place += place_of(name);
        if (name.size() == list.size()) return place % looks_count;
        place += a_policy_more;
        list.remove_prefix(name.size() + 1);
    }
}

PolicyLook look_at(std::size_t place) {
    return {colours[place % colours.size()], dashes[place % dashes.size()],
            points[place % points.size()]};
}

}  // namespace

PolicyLook look_of(std::string_view policy) { return look_at(place_of_list(policy)); }

std::vector<PolicyLook> looks_of(std::span<const std::string> policies) {
    std::vector<std::size_t> by_name(policies.size());
    std::iota(by_name.begin(), by_name.end(), std::size_t{0});
    std::ranges::stable_sort(by_name, {}, [&](std::size_t i) {
        return std::pair(policies[i].find('+') != std::string::npos, policies[i]);
    });
    std::vector<PolicyLook> looks(policies.size());
    std::vector<PolicyLook> taken;
    for (const std::size_t i : by_name) {
        std::size_t place = place_of_list(policies[i]);
        // What is no policy has no look to be known by, and so a colour of its own while there is.
        const bool wants_colour = !is_shipped(policies[i]) && taken.size() < colours.size();
        for (std::size_t tried = 0; tried < looks_count; ++tried, ++place) {
            looks[i] = look_at(place % looks_count);
            const auto alike = [&](const PolicyLook& one) {
                const bool crowded = taken.size() >= colours.size() * points.size();
                return one == looks[i] || (wants_colour && one.colour == looks[i].colour) ||
                       (!crowded && one.colour == looks[i].colour && one.point == looks[i].point);
            };
            if (std::ranges::none_of(taken, alike)) break;
        }
        taken.push_back(looks[i]);
    }
    return looks;
}

}  // namespace ukemi::plots
