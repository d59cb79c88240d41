// world_knobs.cpp — what a simulated World can turn: a line for each knob, and where it is turned.
#include <algorithm>
#include <array>

#include "sim/job/world.hpp"

namespace ukemi::sim {

namespace {

bool always_so(const MarketData&, const JobSpec&) { return true; }

struct SimulatedKnobs {
    policies::KnobSet knobs;
    bool (*turned)(const MarketData&, const JobSpec&);  // where the scenario says what it is worth
};
constexpr std::array simulated{
    SimulatedKnobs{{policies::Knob::zone, policies::Knob::market, policies::Knob::count,
                    policies::Knob::workers, policies::Knob::checkpoint_interval,
                    policies::Knob::checkpoint_on_notice},
                   always_so},
    SimulatedKnobs{{policies::Knob::batch, policies::Knob::accumulation},
                   [](const MarketData&, const JobSpec& job) { return job.learning != nullptr; }},
    SimulatedKnobs{{policies::Knob::learning_rate},
                   [](const MarketData&, const JobSpec& job) {
                       return job.learning && job.learning->rate_of_plan();
                   }},
    SimulatedKnobs{{policies::Knob::codec},
                   [](const MarketData&, const JobSpec& job) {
                       const auto& step = job.profile.step_time;
                       return step && !step->codecs.empty();
                   }},
    SimulatedKnobs{{policies::Knob::synchronisation},
                   [](const MarketData&, const JobSpec& job) {
                       const auto& step = job.profile.step_time;
                       return step && !step->exchanges.empty();
                   }},
    SimulatedKnobs{{policies::Knob::learners_per_gpu},
                   [](const MarketData&, const JobSpec& job) {
                       const auto& step = job.profile.step_time;
                       return !job.profile.learner_speeds.empty() ||
                              (step &&
                               !(step->learner_speeds.empty() && step->learner_steps.empty()));
                   }},
    SimulatedKnobs{{policies::Knob::collective},
                   [](const MarketData&, const JobSpec& job) {
                       return !job.profile.communication.empty() || job.profile.links.known();
                   }},
    SimulatedKnobs{
        {policies::Knob::layout},
        [](const MarketData&, const JobSpec& job) { return !job.profile.pipelines.empty(); }},
    SimulatedKnobs{{policies::Knob::machines},
                   [](const MarketData& market, const JobSpec&) { return market.rules.uneven(); }},
    SimulatedKnobs{{policies::Knob::bid},
                   [](const MarketData& market, const JobSpec&) { return market.rules.bidding; }},
};

}  // namespace

policies::KnobSet simulated_knobs() {
    policies::KnobSet all;
    for (const SimulatedKnobs& line : simulated) all = all | line.knobs;
    return all;
}

policies::Capabilities simulated_capabilities(const MarketData& market, const JobSpec& job) {
    policies::Capabilities can;
    can.world = "simulated market";
    for (const SimulatedKnobs& line : simulated) {
        if (line.turned(market, job)) can.knobs = can.knobs | line.knobs;
    }
    if (const auto& step = job.profile.step_time) {
        for (const policies::CodecTime& row : step->codecs) {
            can.codecs.push_back({row.codec, row.level, row.level, false, row.usual_level});
        }
        for (const policies::ExchangeTime& row : step->exchanges) {
            can.synchronisations.push_back(row.synchronisation);
        }
        // Their messages are priced as one's.
        can.learners_code = step->learner_speeds.empty() && step->learner_steps.empty();
        // Of more than were run nobody knows whether they fit on a GPU.
        if (!step->groups.empty()) {
            can.learners_max = 1 + static_cast<std::int32_t>(step->learner_steps.size());
        }
    }
    for (const policies::PipelineSteps& each : job.profile.pipelines) {
        can.stages.push_back(each.stages);
    }
    can.zones = static_cast<std::uint32_t>(market.zones.size());
    can.instance_types = 1;
    can.instances_max =
        std::max({job.instances_max, job.plan.workers_max, policies::fleet_count(job.plan)});
    can.workers_min = job.workers_min;
    return can;
}

}  // namespace ukemi::sim
