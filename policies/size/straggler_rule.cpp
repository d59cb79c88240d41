// straggler_rule.cpp — shares of the median, averaged.
#include "policies/size/straggler_rule.hpp"

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"
#include "base/statistics.hpp"

namespace ukemi::policies {

StragglerDetector::StragglerDetector(double new_weight, double threshold)
    : new_weight_(new_weight), threshold_(threshold) {
    INVARIANT(0 < new_weight && new_weight <= 1 && threshold > 0);
}

void StragglerDetector::see(std::span<const WorkerView> workers) {
    std::vector<double> speeds;
    for (const WorkerView& worker : workers) {
        if (worker.compute > Duration{}) speeds.push_back(1 / to_seconds(worker.compute));
    }
    if (speeds.empty()) return;
    const double usual = median(std::move(speeds));
    std::erase_if(share_, [&](const auto& known) {
        return std::ranges::find(workers, known.first, &WorkerView::instance) == workers.end();
    });
    for (const WorkerView& worker : workers) {
        if (worker.compute <= Duration{}) continue;
        const double share = 1 / to_seconds(worker.compute) / usual;
        const auto [known, is_new] = share_.try_emplace(worker.instance, share);
        if (!is_new) known->second += new_weight_ * (share - known->second);
    }
}

std::vector<InstanceId> StragglerDetector::stragglers(InstanceId master) const {
    std::vector<InstanceId> slow;
    for (const auto& [instance, share] : share_) {
        if (instance != master && share < threshold_) slow.push_back(instance);
    }
    return slow;
}

}  // namespace ukemi::policies
