#include "scenarios/experiment.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>

#include <exception>
#include <mutex>

#include "records/decision_log.hpp"
#include "sim/world.hpp"

namespace ukemi {

std::string event_line(Instant at, Phase phase, const Event& event) {
    const std::int64_t subject = event_subject(event);
    const std::string about = subject < 0 ? "" : fmt::format(",\"subject\":{}", subject);
    return fmt::format("{{\"t_ns\":{},\"phase\":\"{}\",\"event\":\"{}\"{}}}\n", at.raw(),
                       phase_name(phase), event_kind(event), about);
}

namespace {

DecisionLogHeader log_header(const Scenario& scenario, const NamedMarket& market,
                             const JobSpec& job, const PolicyList& list, std::uint64_t seed,
                             bool all_questions) {
    DecisionLogHeader header;
    header.capabilities = simulated_capabilities(market.data, job);
    header.world = header.capabilities.world;
    header.scenario = scenario.name;
    header.trace = market.name;
    header.seed = seed;
    header.all_questions = all_questions;
    header.oracle = list.needs_oracle();
    header.samples_total = job.samples_total;
    header.samples_per_epoch = job.samples_per_epoch;
    header.plan = job.plan;
    header.profile = job.profile;
    for (const PolicyList::Item& item : list.items) {
        header.policies.push_back({std::string(item.entry->name), item.parameters});
    }
    return header;
}

}  // namespace

FinishedRun run_one(const Scenario& scenario, const NamedMarket& market, const PolicyList& list,
                    std::uint64_t seed, const RunOptions& options) {
    const JobSpec job = job_on(scenario, market.data);
    FinishedRun run;
    std::optional<DecisionLog> log;
    if (options.decisions) {
        log.emplace(log_header(scenario, market, job, list, seed, options.all_questions));
    }
    WorldSetup setup;
    setup.market = &market.data;
    setup.job = &job;
    setup.policies = make_policies(list);
    setup.oracle = list.needs_oracle();
    setup.seed = seed;
    setup.keep_timeline = options.timeline;
    setup.log = log ? &*log : nullptr;
    if (options.events) {
        setup.on_event = [&run](Instant at, Phase phase, const Event& event) {
            run.events += event_line(at, phase, event);
        };
    }
    const std::string label = list.label();
    const ReplayNote note(fmt::format("ukemi replay {} --policies {} --seeds {} (trace {})",
                                      scenario.file.string(), label, seed, market.name));
    World world(std::move(setup));
    run.result = world.run();
    run.result.scenario = scenario.name;
    run.result.trace = market.name;
    run.result.policy = label;
    if (log) run.decisions = log->text();
    return run;
}

std::vector<FinishedRun> run_experiment(const Scenario& scenario, const ExperimentSetup& setup) {
    const std::size_t markets = std::max<std::size_t>(1, setup.traces.size());
    const std::size_t policies = setup.policies.size();
    const std::size_t seeds = setup.seeds.size();
    // The market depends on the trace, and on the seed only where it is generated.
    const bool generated = setup.traces.empty() && !scenario.market.generator.empty();
    const std::size_t groups = generated ? seeds : markets;
    std::vector<FinishedRun> runs(markets * policies * seeds);
    std::vector<std::exception_ptr> failures(groups);
    std::mutex mutex;
    std::size_t done = 0;

    const auto run_group = [&](std::size_t group) {
        const std::size_t trace = generated ? 0 : group;
        const std::uint64_t market_seed = setup.seeds[generated ? group : 0];
        const NamedMarket market =
            make_market(scenario, market_seed,
                        setup.traces.empty() ? std::filesystem::path{} : setup.traces[trace]);
        for (std::size_t policy = 0; policy < policies; ++policy) {
            for (std::size_t seed = 0; seed < seeds; ++seed) {
                if (generated && seed != group) continue;
                const std::size_t index = (trace * policies + policy) * seeds + seed;
                if (seed == 0 || generated) {
                    check_policies(setup.policies[policy], scenario, market.data,
                                   scenario.file.string());
                }
                const bool detailed =
                    setup.details == Details::all ||
                    (setup.details == Details::first && trace == 0 && seed == 0);
                runs[index] = run_one(scenario, market, setup.policies[policy], setup.seeds[seed],
                                      detailed ? setup.options : RunOptions{});
                if (!setup.progress) continue;
                const std::scoped_lock lock(mutex);
                setup.progress(++done, runs.size());
            }
        }
    };
    const auto guarded = [&](std::size_t group) {
        try {
            run_group(group);
        } catch (...) {
            failures[group] = std::current_exception();
        }
    };
    const oneapi::tbb::global_control threads(
        oneapi::tbb::global_control::max_allowed_parallelism,
        static_cast<std::size_t>(std::max(1, setup.threads)));
    oneapi::tbb::parallel_for(std::size_t{0}, groups, guarded);
    for (const std::exception_ptr& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
    return runs;
}

}  // namespace ukemi
