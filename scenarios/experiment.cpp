// experiment.cpp — one run, and many of them side by side.
#include "scenarios/experiment.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "sim/world.hpp"

namespace ukemi {

std::string event_line(Instant at, Phase phase, const Event& event) {
    const std::int64_t subject = event_subject(event);
    const std::string about = subject < 0 ? "" : fmt::format(",\"subject\":{}", subject);
    return fmt::format("{{\"t_ns\":{},\"phase\":\"{}\",\"event\":\"{}\"{}}}\n", at.raw(),
                       phase_name(phase), event_kind(event), about);
}

DecisionLogHeader decision_log_header(const Scenario& scenario, const std::string& trace,
                                      const JobSpec& job, const Capabilities& world,
                                      const PolicyList& list, std::uint64_t seed,
                                      bool all_questions) {
    DecisionLogHeader header;
    header.capabilities = world;
    header.world = world.world;
    header.scenario = scenario.name;
    header.trace = trace;
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

FinishedRun run_one(const Scenario& scenario, const NamedMarket& market, const PolicyList& list,
                    std::uint64_t seed, const RunOptions& options) {
    const JobSpec job = job_on(scenario, market.data);
    FinishedRun run;
    std::optional<DecisionLog> log;
    if (options.decisions) {
        log.emplace(decision_log_header(scenario, market.name, job,
                                        simulated_capabilities(market.data, job), list, seed,
                                        options.all_questions));
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

namespace {

// The runs of an experiment, in groups that share a market. A group is the unit of parallel work.
class Experiment {
public:
    Experiment(const Scenario& scenario, const ExperimentSetup& setup)
        : scenario_(scenario),
          setup_(setup),
          names_(trace_names(setup.traces)),
          // The market depends on the trace, and on the seed only where it is generated.
          generated_(setup.traces.empty() && !scenario.market.generator.empty()),
          runs_(std::max<std::size_t>(1, setup.traces.size()) * setup.policies.size() *
                setup.seeds.size()),
          failures_(generated_ ? setup.seeds.size()
                               : std::max<std::size_t>(1, setup.traces.size())),
          first_failure_(failures_.size()) {}

    std::size_t group_count() const { return failures_.size(); }

    // Never throws. After a failure, groups that come later in the order are not worth their time:
    // nobody will see them.
    void run_group(std::size_t group) {
        if (group > first_failure_.load()) return;
        try {
            run_all_of(group);
        } catch (...) {
            failures_[group] = std::current_exception();
            std::size_t first = first_failure_.load();
            while (group < first && !first_failure_.compare_exchange_weak(first, group)) {
            }
        }
    }

    std::vector<FinishedRun> take() {
        for (const std::exception_ptr& failure : failures_) {
            if (failure) std::rethrow_exception(failure);
        }
        return std::move(runs_);
    }

private:
    void run_all_of(std::size_t group) {
        const std::size_t trace = generated_ ? 0 : group;
        const std::size_t seeds = setup_.seeds.size();
        const std::uint64_t market_seed = setup_.seeds[generated_ ? group : 0];
        const bool own = setup_.traces.empty();
        NamedMarket market = make_market(scenario_, market_seed,
                                         own ? std::filesystem::path{} : setup_.traces[trace]);
        if (!own) market.name = names_[trace];
        for (const PolicyList& list : setup_.policies) {
            check_policies(list, scenario_, simulated_capabilities(market.data, scenario_.job));
        }
        for (std::size_t policy = 0; policy < setup_.policies.size(); ++policy) {
            for (std::size_t seed = 0; seed < seeds; ++seed) {
                if (generated_ && seed != group) continue;
                const bool detailed = setup_.details == Details::all ||
                                      (setup_.details == Details::first && trace == 0 && seed == 0);
                runs_[(trace * setup_.policies.size() + policy) * seeds + seed] =
                    run_one(scenario_, market, setup_.policies[policy], setup_.seeds[seed],
                            detailed ? setup_.options : RunOptions{});
                report_progress();
            }
        }
    }

    void report_progress() {
        if (!setup_.progress) return;
        const std::scoped_lock lock(mutex_);
        setup_.progress(++done_, runs_.size());
    }

    const Scenario& scenario_;
    const ExperimentSetup& setup_;
    std::vector<std::string> names_;
    bool generated_;
    std::vector<FinishedRun> runs_;
    std::vector<std::exception_ptr> failures_;
    std::atomic<std::size_t> first_failure_;
    std::mutex mutex_;
    std::size_t done_ = 0;
};

}  // namespace

std::vector<FinishedRun> run_experiment(const Scenario& scenario, const ExperimentSetup& setup) {
    INVARIANT(!setup.policies.empty() && !setup.seeds.empty());
    Experiment experiment(scenario, setup);
    const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism,
                                              static_cast<std::size_t>(std::max(1, setup.threads)));
    oneapi::tbb::parallel_for(std::size_t{0}, experiment.group_count(),
                              [&](std::size_t group) { experiment.run_group(group); });
    return experiment.take();
}

}  // namespace ukemi
