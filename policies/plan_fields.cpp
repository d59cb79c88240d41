#include "policies/plan_fields.hpp"

#include <algorithm>

namespace ukemi::policies {

bool plan_values::ascending(const std::vector<InstanceId>& ids) {
    return std::ranges::adjacent_find(ids, std::ranges::greater_equal{}) == ids.end();
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
