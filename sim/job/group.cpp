// group.cpp — the rules of a job's group, and who of the fleet has the model.
#include "sim/job/group.hpp"

#include <algorithm>
#include <tuple>

namespace ukemi::sim {

GroupRules group_rules(const JobSpec& job) {
    GroupRules rules;
    rules.workers_min = job.workers_min;
    const TransitionCosts costs = job.change_costs();
    rules.whole_program = costs.whole_program;
    rules.falls_together = job.profile.sharded || rules.whole_program;
    rules.saves_first = !job.profile.lossless && (!rules.whole_program || costs.saves_first);
    return rules;
}

bool state_held(std::span<const Instance> fleet) {
    return std::ranges::any_of(fleet, &Instance::has_state);
}

Instant state_lost_at(std::span<const Instance> fleet, const GroupRules& rules) {
    Instant first = Instant::never();
    for (const Instance& one : fleet) {
        if (!one.has_state) continue;
        if (one.announced()) {
            first = std::min(first, *one.lost_at);
        } else if (!rules.falls_together) {
            return Instant::never();
        }
    }
    return first;
}

bool unsettled(std::span<const Instance> fleet) {
    return std::ranges::any_of(
        fleet, [](const Instance& one) { return one.retiring || (one.started && !one.member); });
}

std::vector<Instance*> next_group(std::span<Instance> fleet, std::int32_t workers_max) {
    std::vector<Instance*> group;
    for (Instance& one : fleet) {
        if (one.started && !one.detached) group.push_back(&one);
    }
    const auto most = static_cast<std::size_t>(workers_max);
    if (group.size() <= most) return group;
    std::ranges::sort(group, {}, [](const Instance* one) {
        return std::tuple(!one->member, one->announced(), ukemi::index_of(one->id));
    });
    // Somebody has to bring the model, however soon it leaves.
    const auto end = group.begin() + static_cast<std::ptrdiff_t>(most);
    const auto holder = std::ranges::find_if(group, &Instance::has_state);
    if (holder != group.end() && holder >= end) std::iter_swap(end - 1, holder);
    group.resize(most);
    return group;
}

std::vector<Instance*> next_to_reattach(std::span<Instance> fleet, std::int32_t workers_max) {
    std::int64_t places = workers_max;
    for (const Instance& one : fleet) {
        if (one.ready && !one.detached) --places;
    }
    std::vector<Instance*> coming;
    for (Instance& one : fleet) {
        if (one.detached && std::ssize(coming) < places) coming.push_back(&one);
    }
    return coming;
}

GroupOrder next_order(std::span<const Instance> fleet, std::span<Instance* const> group,
                      const GroupRules& rules, const GroupNow& state) {
    const auto members = std::ranges::count_if(fleet, &Instance::member);
    if (std::ssize(group) < rules.workers_min) {
        return members > 0 ? GroupOrder::disband : GroupOrder::none;
    }
    const bool unchanged =
        std::ssize(group) == members && std::ranges::all_of(group, &Instance::member);
    const bool waits = state.phase == policies::JobPhase::waiting;
    if (unchanged && !waits && !state.restart_due) return GroupOrder::none;
    if (state.phase == policies::JobPhase::transition) return GroupOrder::none;
    const bool ends_all = rules.whole_program && state.phase == policies::JobPhase::running;
    return ends_all && rules.saves_first && state.unsaved ? GroupOrder::save : GroupOrder::form;
}

}  // namespace ukemi::sim
