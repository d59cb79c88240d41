#include "policies/plan_fields.hpp"

#include <algorithm>

namespace ukemi::policies {

bool plan_values::ascending(const std::vector<InstanceId>& ids) {
    return std::ranges::adjacent_find(ids, std::ranges::greater_equal{}) == ids.end();
}

// Each host is below the root, or below one that is.
bool plan_values::tree(const std::vector<std::int32_t>& parents) {
    const auto hosts = static_cast<std::int32_t>(parents.size());
    if (hosts == 0) return true;
    std::vector<bool> is_below(parents.size());
    std::vector<std::int32_t> way;
    is_below[0] = parents.front() == 0;
    for (std::int32_t host = 0; host < hosts; ++host) {
        way.clear();
        for (std::int32_t at = host; !is_below[static_cast<std::size_t>(at)];
             at = parents[static_cast<std::size_t>(at)]) {
            const std::int32_t parent = parents[static_cast<std::size_t>(at)];
            if (std::ssize(way) == hosts || parent < 0 || parent >= hosts) return false;
            way.push_back(at);
        }
        for (const std::int32_t below : way) is_below[static_cast<std::size_t>(below)] = true;
    }
    return true;
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
