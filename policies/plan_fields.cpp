#include "policies/plan_fields.hpp"

#include <algorithm>

namespace ukemi::policies {

bool plan_values::ascending(const std::vector<InstanceId>& ids) {
    return std::ranges::adjacent_find(ids, std::ranges::greater_equal{}) == ids.end();
}

bool plan_values::tree(const std::vector<std::int32_t>& parents) {
    const auto hosts = static_cast<std::int32_t>(parents.size());
    if (hosts == 0) return true;
    for (std::int32_t host = 0; host < hosts; ++host) {
        std::int32_t at = host;
        for (std::int32_t hops = 0; at != 0; ++hops) {
            at = parents[static_cast<std::size_t>(at)];
            if (hops == hosts || at < 0 || at >= hosts) return false;
        }
    }
    return parents.front() == 0;
}

Restarted restarted_by(const Plan& before, const Plan& after) {
    Restarted most = Restarted::nothing;
    for_each_line(plan_fields, [&](const auto& field) {
        const bool same = before.*field.planned == after.*field.planned;
        if (!same) most = std::max(most, field.restarted);
    });
    return most;
}

}  // namespace ukemi::policies
