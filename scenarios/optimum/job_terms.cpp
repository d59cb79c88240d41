#include "scenarios/optimum/job_terms.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "policies/host_links.hpp"

namespace ukemi::scenarios {

namespace {

std::int64_t least_of(const sim::TransitionCosts& costs, sim::GroupChange change,
                      std::int32_t least, std::int32_t most) {
    Duration shortest = Duration::max();
    for (std::int32_t size = least; size <= most; ++size) {
        shortest = std::min(shortest, records::sum_of(sim::phase_times(costs, change, size, size)));
    }
    return shortest.raw();
}

}  // namespace

std::int32_t most_machines(const sim::JobSpec& job) {
    return std::max({job.instances_max, job.plan.workers_max, policies::fleet_count(job.plan)});
}

Changes changes_of(const sim::JobSpec& job) {
    Changes changes;
    const policies::JobProfile& profile = job.profile;
    const sim::TransitionCosts costs = job.change_costs();
    const std::int32_t most = std::min(most_machines(job), job.workers_min + 4096);
    const auto least = [&](sim::GroupChange change) {
        return least_of(costs, change, job.workers_min, most);
    };
    changes.start = least(sim::GroupChange::start);
    changes.survive =
        std::min({changes.start, least(sim::GroupChange::grow), least(sim::GroupChange::shrink)});
    changes.spawn = profile.spawn.raw();
    if (profile.lossless) return changes;
    changes.restore = profile.restore.raw();
    changes.save = profile.checkpoint.raw();
    return changes;
}

namespace {

// As if sums took no longer than over the best tree that there could be.
void sum_by_least(const sim::JobSpec& job, policies::JobProfile& profile) {
    const policies::HostLinks links = std::exchange(profile.links, {});
    std::vector<policies::ThroughputPoint> points;
    for (std::int32_t workers = 1; workers <= job.instances_max; ++workers) {
        const Duration step = policies::time_for(rate_of(profile, job.plan, workers), 1);
        const Duration ring = policies::ring_over_hosts(links, workers);
        const Duration saved =
            std::max(ring - policies::least_over_hosts(links, workers), Duration{});
        // A step was rounded up.
        points.push_back({workers, {1, std::max(step - saved - nanoseconds(1), nanoseconds(1))}});
    }
    profile.throughput = std::move(points);
}

}  // namespace

std::optional<policies::JobProfile> fastest_profile(const sim::JobSpec& job) {
    policies::JobProfile profile = job.profile;
    if (job.learning || !profile.learner_speeds.empty()) return std::nullopt;
    if (!profile.pipelines.empty()) return std::nullopt;  // a Plan may have another depth
    profile.communication.clear();
    if (profile.links.known()) sum_by_least(job, profile);
    if (!profile.step_time) return profile;
    policies::StepTime& step = *profile.step_time;
    if (!step.learner_speeds.empty() || !step.learner_steps.empty() || !step.codecs.empty() ||
        !step.exchanges.empty()) {
        return std::nullopt;
    }
    return profile;
}

std::int32_t fastest_machine(const sim::MarketRules& rules) {
    std::int32_t fastest = 1000;
    if (rules.slow_share > 0) fastest = std::max(fastest, rules.slow_speed);
    for (const std::int32_t speed : rules.machine_speeds) fastest = std::max(fastest, speed);
    return fastest;
}

std::int32_t fastest_zone(const sim::MarketData& market) {
    std::int32_t fastest = 1;
    for (const sim::ZoneData& zone : market.zones)
        fastest = std::max(fastest, zone.speed_per_mille);
    return fastest;
}

}  // namespace ukemi::scenarios
