#include "policies/plan.hpp"

#include <algorithm>

namespace ukemi::policies {

std::int64_t samples_per_step(const Plan& plan, std::int32_t workers) {
    if (plan.global_batch > 0) return plan.global_batch;
    return plan.batch_per_learner * plan.learners_per_gpu * plan.accumulation * workers;
}

std::int32_t fleet_count(const Plan& plan) {
    std::int32_t count = 0;
    for (const FleetLine& line : plan.fleet) count += line.count;
    return count;
}

Market fleet_market(const Plan& plan) {
    for (const FleetLine& line : plan.fleet) {
        if (line.market == Market::spot && line.count > 0) return Market::spot;
    }
    return plan.fleet.empty() ? Market::none : plan.fleet.front().market;
}

std::string knob_list(KnobSet knobs, std::string_view between) {
    std::string text;
    for (std::size_t index = 0; index < knob_count; ++index) {
        const Knob knob = static_cast<Knob>(index);
        if (!knobs.has(knob)) continue;
        if (!text.empty()) text += between;
        text += name_of(knob);
    }
    return text;
}

std::span<const std::string_view> market_names() {
    static constexpr std::array<std::string_view, 3> names{"none", "spot", "on_demand"};
    return names;
}

std::span<const std::string_view> synchronisation_names() {
    static constexpr std::array<std::string_view, 6> names{
        "s_sgd",     "synchronous_averaging", "elastic_averaging", "pair_averaging",
        "local_sgd", "stale_parameter_server"};
    return names;
}

std::span<const std::string_view> collective_names() {
    static constexpr std::array<std::string_view, 11> names{"automatic",
                                                            "ring",
                                                            "binary_tree",
                                                            "double_binary_tree",
                                                            "halving_doubling",
                                                            "star",
                                                            "clique",
                                                            "binary_tree_star",
                                                            "multi_binary_tree_star",
                                                            "hierarchical",
                                                            "parameter_server"};
    return names;
}

std::span<const std::string_view> codec_names() {
    // By number; two of one number would leave another without a name.
    static constexpr auto names = [] {
        std::array<std::string_view, codec_count> all;
#define CODEC(name, number, ...) all.at(number) = #name;
#include "policies/codec_table.def"
#undef CODEC
        return all;
    }();
    static_assert(std::ranges::find(names, "") == names.end());
    return names;
}

}  // namespace ukemi::policies
