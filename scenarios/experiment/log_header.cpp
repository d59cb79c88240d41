// log_header.cpp — the heads of decision logs: of a run, and of a world that asks for advice.
#include <fmt/format.h>

#include "scenarios/experiment/experiment.hpp"
#include "sim/job/world.hpp"

namespace ukemi::scenarios {

records::DecisionLogHeader decision_log_header(const Scenario& scenario, const std::string& trace,
                                               const sim::JobSpec& job,
                                               const policies::Capabilities& world,
                                               const PolicyList& list, std::uint64_t seed,
                                               bool all_questions) {
    records::DecisionLogHeader header;
    header.capabilities = world;
    header.world = world.world;
    header.scenario = scenario.name;
    header.trace = trace;
    header.policy = list.label();
    header.seed = seed;
    header.all_questions = all_questions;
    header.oracle = list.needs_oracle();
    header.learned = job.learning != nullptr;
    header.samples_total = job.samples_total;
    header.samples_per_epoch = job.samples_per_epoch;
    header.plan = job.plan;
    header.predictor = job.predictor;
    header.profile = job.guess_at_start();
    for (const PolicyList::Item& item : list.items) {
        header.policies.push_back({std::string(item.entry->name), item.parameters});
    }
    return header;
}

records::DecisionLogHeader advice_header(const Scenario& scenario, const PolicyList& list,
                                         std::uint64_t seed) {
    if (list.needs_oracle()) {
        throw InputError(
            scenario.file.string(), "",
            fmt::format("{} asks an oracle, and a world of your own has none", list.label()));
    }
    const NamedMarket market = make_market(scenario, seed);
    const sim::JobSpec job = job_on(scenario, market.data);
    const policies::Capabilities world = sim::simulated_capabilities(market.data, job);
    check_policies(list, scenario, world);
    return decision_log_header(scenario, market.name, job, world, list, seed, true);
}

}  // namespace ukemi::scenarios
