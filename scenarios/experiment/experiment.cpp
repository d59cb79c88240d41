// experiment.cpp — one run, and many of them side by side.
#include "scenarios/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <set>

#include "base/parallel_for.hpp"
#include "scenarios/experiment/market_doubts.hpp"
#include "scenarios/reader/variants.hpp"
#include "sim/job/world.hpp"

namespace ukemi::scenarios {

std::string event_line(Instant at, sim::Phase phase, const sim::Event& event) {
    const std::int64_t subject = sim::event_subject(event);
    const std::string about = subject < 0 ? "" : fmt::format(",\"subject\":{}", subject);
    return fmt::format("{{\"t_ns\":{},\"phase\":\"{}\",\"event\":\"{}\"{}}}\n", at.raw(),
                       sim::phase_name(phase), sim::event_kind(event), about);
}

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

NamedMarket calm_market(const Scenario& scenario) {
    NamedMarket market = make_market(scenario, scenario.seed);
    market.name = "calm";
    market.data.after_last_row = sim::AfterLastRow::hold;
    const sim::MarketRules rules = market.data.rules;  // of which only the bills are left
    market.data.rules = {};
    market.data.rules.spot_billing = rules.spot_billing;
    market.data.rules.on_demand_billing = rules.on_demand_billing;
    for (sim::ZoneData& zone : market.data.zones) {
        zone.capacity.steps = {{Instant{}, scenario.job.instances_max}};
        zone.machines = {};
    }
    sim::prepare(market.data);
    return market;
}

FinishedRun run_one(const Scenario& scenario, const NamedMarket& market, const PolicyList& list,
                    std::uint64_t seed, const RunOptions& options) {
    const sim::JobSpec job = job_on(scenario, market.data);
    FinishedRun run;
    std::optional<records::DecisionLog> log;
    if (options.decisions) {
        log.emplace(decision_log_header(scenario, market.name, job,
                                        sim::simulated_capabilities(market.data, job), list, seed,
                                        options.all_questions));
    }
    sim::WorldSetup setup;
    setup.market = &market.data;
    setup.job = &job;
    setup.policies = make_policies(list);
    setup.oracle = list.needs_oracle();
    setup.seed = seed;
    setup.keep_timeline = options.timeline;
    setup.log = log ? &*log : nullptr;
    if (options.events) {
        setup.on_event = [&run](Instant at, sim::Phase phase, const sim::Event& event) {
            run.events += event_line(at, phase, event);
        };
    }
    const std::string label = list.label();
    std::string settings;
    for (const records::VariedValue& one : scenario.varied) {
        settings += fmt::format(" --set '{}={}'", one.pointer, one.value);
    }
    if (market.start > Duration{}) settings += " --starts at=" + format_duration(market.start);
    const ReplayNote note(fmt::format("ukemi replay {}{} --policies {} --seeds {} (trace {})",
                                      scenario.file.string(), settings, label, seed, market.name));
    sim::World world(std::move(setup));
    run.result = world.run();
    run.result.scenario = scenario.name;
    run.result.trace = market.name;
    run.result.record = market.record;
    run.result.start = market.start;
    run.result.stretch = market.stretch;
    run.result.policy = label;
    run.result.varied = scenario.varied;
    run.result.doubts = market.doubts;
    if (market.optimum) {
        run.result.optimum_kind = name_of(market.optimum->kind);
        if (market.optimum->known()) run.result.optimum = market.optimum->cost;
    }
    if (log) run.decisions = log->text();
    return run;
}

namespace {

// Windows of one market of one case, and the runs on it: the unit of parallel work.
struct Group {
    const ExperimentCase* of = nullptr;
    std::size_t trace = 0;
    std::size_t window_begin = 0;  // of the trace's windows
    std::size_t window_end = 0;
    std::size_t seed_begin = 0;  // of the case's seeds
    std::size_t seed_end = 0;
    std::size_t run_begin = 0;  // where the runs of this case and trace begin
};

// What the markets are called.
std::vector<std::string> names_of(const ExperimentSetup& setup) {
    std::vector<std::string> names = traces::trace_names(setup.traces);
    if (!setup.join_zones || names.size() < 2) return names;
    return {fmt::format("{}+{}", names.front(), names.size() - 1)};
}

bool is_generated(const ExperimentCase& one, const ExperimentSetup& setup) {
    return setup.traces.empty() && !one.scenario->market.generator.empty();
}

// The runs of an experiment, in groups that share a market.
class Experiment {
public:
    Experiment(std::span<const ExperimentCase> cases, const ExperimentSetup& setup)
        : cases_(cases), setup_(setup), names_(names_of(setup)) {
        for (const ExperimentCase& one : cases) {
            INVARIANT(!one.policies.empty() && !one.seeds.empty());
            span_ = std::max(span_, window_span(one.scenario->job));
        }
        windows_.resize(cases.size() * trace_count(), {TraceWindow{}});
    }

    std::size_t case_count() const { return cases_.size(); }
    std::size_t trace_count() const { return std::max<std::size_t>(1, names_.size()); }
    std::size_t group_count() const { return groups_.size(); }

    // Once the windows of every trace are known.
    void lay_out() {
        std::size_t runs = 0;
        for (const ExperimentCase& one : cases_) {
            for (std::size_t trace = 0; trace < trace_count(); ++trace) {
                add_groups(one, trace, runs);
                runs += runs_on(one, trace);
            }
        }
        runs_.resize(runs);
        choose_details();
    }

    // Each never throws. After a failure, what comes later in the order is not worth its time:
    // nobody will see it.
    void find_windows(std::size_t index) {
        first_failure_.guard(index, [&] {
            const ExperimentCase& one = cases_[index / trace_count()];
            about_its_variant(one, [&] {
                const sim::MarketData data =
                    market_of(one, index % trace_count(), one.seeds.front()).data;
                windows_[index] =
                    windows_of(setup_.starts, trace_length(data),
                               data.after_last_row == sim::AfterLastRow::repeat, span_);
            });
        });
    }
    void check_case(std::size_t index) {
        first_failure_.guard(index, [&] { check(cases_[index]); });
    }
    void run_group(std::size_t index) {
        first_failure_.guard(index, [&] { run_all_of(groups_[index]); });
    }

    void rethrow_failure() { first_failure_.rethrow(); }
    std::vector<FinishedRun> take() { return std::move(runs_); }

private:
    // Keeps the failure that is the first in the order, whichever thread has it.
    class FirstFailure {
    public:
        template <class Action>
        void guard(std::size_t index, Action action) {
            if (index > at_.load()) return;
            try {
                action();
            } catch (...) {
                const std::scoped_lock lock(mutex_);
                if (index >= at_.load()) return;
                at_ = index;
                failure_ = std::current_exception();
            }
        }
        void rethrow() const {
            if (failure_) std::rethrow_exception(failure_);
        }

    private:
        std::atomic<std::size_t> at_{std::numeric_limits<std::size_t>::max()};
        std::exception_ptr failure_;
        std::mutex mutex_;
    };

    std::span<const TraceWindow> windows_on(const ExperimentCase& one, std::size_t trace) const {
        return windows_[static_cast<std::size_t>(&one - cases_.data()) * trace_count() + trace];
    }
    std::size_t runs_on(const ExperimentCase& one, std::size_t trace) const {
        return windows_on(one, trace).size() * one.policies.size() * one.seeds.size();
    }

    // The market depends on the trace, and on the seed only where it is generated.
    void add_groups(const ExperimentCase& one, std::size_t trace, std::size_t run_begin) {
        const std::size_t seeds = one.seeds.size();
        const std::size_t step = is_generated(one, setup_) ? 1 : seeds;
        constexpr std::size_t windows_most = 4;  // of a group, which reads the trace once
        const std::size_t windows = windows_on(one, trace).size();
        for (std::size_t window = 0; window < windows; window += windows_most) {
            const std::size_t end = std::min(window + windows_most, windows);
            for (std::size_t seed = 0; seed < seeds; seed += step) {
                groups_.push_back({&one, trace, window, end, seed, seed + step, run_begin});
            }
        }
    }

    // With Details::first, of each policy the first run of all.
    void choose_details() {
        std::set<std::string> seen;
        std::size_t run = 0;
        detailed_.assign(runs_.size(), setup_.details == Details::all);
        if (setup_.details != Details::first) return;
        for (const ExperimentCase& one : cases_) {
            for (std::size_t policy = 0; policy < one.policies.size(); ++policy) {
                if (!seen.insert(one.policies[policy].label()).second) continue;
                detailed_[run + policy * one.seeds.size()] = true;
            }
            for (std::size_t trace = 0; trace < trace_count(); ++trace) run += runs_on(one, trace);
        }
    }

    NamedMarket market_of(const ExperimentCase& one, std::size_t trace, std::uint64_t seed) const {
        const bool own = setup_.traces.empty();
        std::optional<traces::Trace> zones;
        if (setup_.join_zones)
            zones = traces::join_zones(setup_.traces, trace_options(*one.scenario));
        NamedMarket market = setup_.calm
                                 ? calm_market(*one.scenario)
                                 : make_market(*one.scenario, seed,
                                               own ? std::filesystem::path{} : setup_.traces[trace],
                                               zones ? &*zones : nullptr);
        if (!own) market.name = names_[trace];
        for (const PolicyList& list : one.policies) {
            check_policies(list, *one.scenario,
                           sim::simulated_capabilities(market.data, one.scenario->job));
        }
        return market;
    }

    template <class Action>
    static void about_its_variant(const ExperimentCase& one, Action action) {
        try {
            action();
        } catch (const InputError& error) {
            throw about_variant(error, one.scenario->varied);
        }
    }

    void check(const ExperimentCase& one) const {
        about_its_variant(
            one, [&] { job_on(*one.scenario, market_of(one, 0, one.seeds.front()).data); });
    }

    static void judge(const Scenario& scenario, NamedMarket& market) {
        const sim::JobSpec job = job_on(scenario, market.data);
        market.optimum = optimum_of(market.data, job);
        market.doubts = doubts_about(market, job);
    }

    void run_all_of(const Group& group) {
        const ExperimentCase& one = *group.of;
        const NamedMarket whole = market_of(one, group.trace, one.seeds[group.seed_begin]);
        const auto windows = windows_on(one, group.trace);
        for (std::size_t window = group.window_begin; window < group.window_end; ++window) {
            NamedMarket market = whole;
            market.data = begun_later(whole.data, windows[window].start);
            market.start = windows[window].start;
            market.stretch = windows[window].stretch;
            if (setup_.judged) judge(*one.scenario, market);
            run_window(group, market,
                       group.run_begin + window * one.policies.size() * one.seeds.size());
        }
    }

    void run_window(const Group& group, const NamedMarket& market, std::size_t run_begin) {
        const ExperimentCase& one = *group.of;
        for (std::size_t policy = 0; policy < one.policies.size(); ++policy) {
            for (std::size_t seed = group.seed_begin; seed < group.seed_end; ++seed) {
                const std::size_t run = run_begin + policy * one.seeds.size() + seed;
                runs_[run] = run_one(*one.scenario, market, one.policies[policy], one.seeds[seed],
                                     detailed_[run] ? setup_.options : RunOptions{});
                report_progress();
            }
        }
    }

    void report_progress() {
        if (!setup_.progress) return;
        const std::scoped_lock lock(mutex_);
        setup_.progress(++done_, runs_.size());
    }

    std::span<const ExperimentCase> cases_;
    const ExperimentSetup& setup_;
    std::vector<std::string> names_;
    Duration span_;                                  // of a window: that of the longest case
    std::vector<std::vector<TraceWindow>> windows_;  // of each case and trace
    std::vector<Group> groups_;
    std::vector<FinishedRun> runs_;
    std::vector<bool> detailed_;
    FirstFailure first_failure_;
    std::mutex mutex_;
    std::size_t done_ = 0;
};

}  // namespace

std::vector<FinishedRun> run_experiment(std::span<const ExperimentCase> cases,
                                        const ExperimentSetup& setup) {
    Experiment experiment(cases, setup);
    if (cases.size() > 1) {  // a single one is checked as its first group begins
        parallel_for(experiment.case_count(), setup.threads,
                     [&](std::size_t index) { experiment.check_case(index); });
        experiment.rethrow_failure();
    }
    if (setup.starts.kind != StartsChoice::Kind::first) {
        parallel_for(experiment.case_count() * experiment.trace_count(), setup.threads,
                     [&](std::size_t index) { experiment.find_windows(index); });
        experiment.rethrow_failure();
    }
    experiment.lay_out();
    parallel_for(experiment.group_count(), setup.threads,
                 [&](std::size_t group) { experiment.run_group(group); });
    experiment.rethrow_failure();
    return experiment.take();
}

std::vector<FinishedRun> run_experiment(const Scenario& scenario, const ExperimentSetup& setup) {
    const ExperimentCase one{&scenario, setup.policies, setup.seeds};
    return run_experiment(std::span(&one, 1), setup);
}

}  // namespace ukemi::scenarios
