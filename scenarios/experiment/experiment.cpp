// experiment.cpp — one run, and many of them side by side.
#include "scenarios/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>

#include "base/first_failure.hpp"
#include "base/plain_text.hpp"
#include "scenarios/experiment/market_doubts.hpp"
#include "scenarios/experiment/recently_made.hpp"
#include "scenarios/reader/variants.hpp"
#include "sim/job/training.hpp"
#include "sim/job/world.hpp"

namespace ukemi::scenarios {

std::string event_line(Instant at, sim::Phase phase, const sim::Event& event) {
    const std::int64_t subject = sim::event_subject(event);
    const std::string about = subject < 0 ? "" : fmt::format(",\"subject\":{}", subject);
    return fmt::format("{{\"t_ns\":{},\"phase\":\"{}\",\"event\":\"{}\"{}}}\n", at.raw(),
                       sim::phase_name(phase), sim::event_kind(event), about);
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

NamedMarket told_market(const Scenario& scenario, std::string name) {
    NamedMarket market = calm_market(scenario);
    market.name = std::move(name);
    market.data.rules.launch_retry = minutes(1);
    market.data.provisioning = market.data.notice = {};  // they are there, and tell themselves
    sim::prepare(market.data);
    return market;
}

namespace {

// As a live run's: it corrects its forecast by what it measures. It ends when that one did.
sim::JobSpec provided_job(const Scenario& scenario, const NamedMarket& market,
                          const ProviderLog& log) {
    sim::JobSpec job = job_on(scenario, market.data);
    job.predictor.kind = policies::PredictorKind::calibrated;
    job.give_up_at = std::min(job.give_up_at, log.ended);
    return job;
}

}  // namespace

FinishedRun run_one(const Scenario& scenario, const NamedMarket& market, const PolicyList& list,
                    std::uint64_t seed, const RunOptions& options, const ProviderLog* provided,
                    const std::function<bool()>& stopped) {
    const sim::JobSpec job = provided == nullptr ? job_on(scenario, market.data)
                                                 : provided_job(scenario, market, *provided);
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
    setup.stopped = stopped;
    setup.log = log ? &*log : nullptr;
    std::optional<RecordedProvider> provider;
    if (provided != nullptr) {
        setup.provider = &provider.emplace(*provided);
        setup.capabilities = sim::simulated_capabilities(market.data, job);
        setup.make_trainer = [&](policies::Controller& controller, records::Ledger& ledger,
                                 sim::RunQueue& queue) {
            provider->attach(queue);
            return std::make_unique<sim::Training>(job, controller, ledger, queue, seed);
        };
    }
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
    try {
        run.result = world.run();
    } catch (const sim::RunLimitReached& error) {
        throw sim::RunLimitReached(
            fmt::format("{} on {}, seed {}: {}", label, market.name, seed, error.what()));
    }
    run.result.scenario = scenario.name;
    run.result.trace = market.name;
    run.result.record = market.record;
    run.result.start = market.start;
    run.result.stretch = market.stretch;
    run.result.policy = label;
    run.result.varied = scenario.varied;
    run.result.doubts = market.doubts;
    if (run.result.refused > 0) {
        run.result.doubts.push_back(
            fmt::format("{}: decides what is refused and changes nothing: {}", one_line(label),
                        run.result.first_refusal));
    }
    if (market.optimum) {
        run.result.optimum_kind = name_of(market.optimum->kind);
        if (market.optimum->known()) run.result.optimum = market.optimum->cost;
    }
    if (log) run.decisions = log->text();
    return run;
}

std::vector<std::string> market_labels(const ExperimentSetup& setup) {
    std::vector<std::string> names = traces::trace_names(setup.traces);
    if (!setup.join_zones || names.size() < 2) return names;
    return {fmt::format("{}+{}", names.front(), names.size() - 1)};
}

namespace {

// Every seed has a market of its own.
bool is_generated(const ExperimentCase& one, const ExperimentSetup& setup) {
    return setup.traces.empty() && !one.scenario->market.generator.empty();
}

// Which market: of a case, a trace and a seed, and which window of it.
struct MarketKey {
    std::size_t case_number = 0;
    std::size_t trace = 0;
    std::uint64_t seed = 0;  // of a generated market, else 0
    std::size_t window = 0;
    friend bool operator==(const MarketKey&, const MarketKey&) = default;
};

// The runs of an experiment, in groups that share a market.
class Experiment {
public:
    Experiment(std::span<const ExperimentCase> cases, const ExperimentSetup& setup,
               const RunTaker& taker)
        : cases_(cases),
          setup_(setup),
          taker_(taker),
          names_(market_labels(setup)),
          markets_(markets_kept()),
          windows_(markets_kept()) {
        for (const ExperimentCase& one : cases) {
            INVARIANT(!one.policies.empty() && !one.seeds.empty());
            span_ = std::max(span_, window_span(one.scenario->job));
            if (setup.judged) staying_.push_back(without_choice_of_zones(one.policies));
        }
        for (std::size_t number = 0; number < cases.size(); ++number) {
            const ExperimentCase& one = cases[number];
            for (std::size_t trace = 0; trace < trace_count(); ++trace) {
                parts_.push_back({&one, number, trace, is_generated(one, setup), {TraceWindow{}}});
            }
        }
    }

    void run() {
        if (cases_.size() > 1) {  // a single one is checked as its first group begins
            for_each(cases_.size(), [&](std::size_t number) { check(number); });
        }
        if (setup_.starts.kind != StartsChoice::Kind::first) {
            for_each(parts_.size(), [&](std::size_t part) { find_windows(parts_[part]); });
        }
        layout_.emplace(std::move(parts_));
        choose_details();
        choose_runs();
        if (taker_.next_group) {
            take_groups(setup_.threads, taker_.next_group, [&](auto group) { run_group(group); });
        } else {
            for_each(layout_->group_count(), [&](std::size_t group) { run_group(group); });
        }
    }

private:
    template <class Call>
    void for_each(std::size_t count, Call call) {
        guarded_parallel_for(count, setup_.threads, call);
    }

    std::size_t trace_count() const { return std::max<std::size_t>(1, names_.size()); }
    std::size_t markets_kept() const { return static_cast<std::size_t>(setup_.threads) + 2; }
    bool is_stopped() const { return taker_.stopped && taker_.stopped(); }

    void find_windows(RunLayout::Part& part) {
        about_its_variant(*part.of, [&] {
            const sim::MarketData data =
                market_of(*part.of, part.trace, part.of->seeds.front()).data;
            part.windows = windows_of(setup_.starts, trace_length(data),
                                      data.after_last_row == sim::AfterLastRow::repeat, span_);
        });
    }

    // With Details::first, of each policy the first run of all.
    void choose_details() {
        std::set<std::string> seen;
        if (setup_.details != Details::none) {
            detailed_.assign(layout_->run_count(), setup_.details == Details::all);
        }
        if (setup_.details != Details::first) return;
        for (std::size_t number = 0; number < cases_.size(); ++number) {
            const ExperimentCase& one = cases_[number];
            const std::size_t run = layout_->first_run(number * trace_count());
            for (std::size_t policy = 0; policy < one.policies.size(); ++policy) {
                if (!seen.insert(one.policies[policy].label()).second) continue;
                detailed_[run + policy * one.seeds.size()] = true;
            }
        }
    }

    void choose_runs() {
        wanted_count_ = layout_->run_count();
        if (taker_.wanted) {
            wanted_count_ = 0;
            wanted_.assign(layout_->run_count(), false);
            for (std::size_t group = 0; group < layout_->group_count(); ++group) {
                layout_->visit(group, [&](const PlannedRun& run) {
                    wanted_[run.number] = taker_.wanted(run);
                    wanted_count_ += wanted_[run.number];
                    return true;
                });
            }
        }
        if (taker_.begin) taker_.begin(layout_->run_count(), wanted_count_);
    }
    bool is_wanted(const PlannedRun& run) const { return wanted_.empty() || wanted_[run.number]; }

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
        if (!own) {
            // A trace that names no zone is a record of its own, whatever is called alike
            // elsewhere.
            const bool has_own = !zones && market.record == market.name;
            market.name = names_[trace];
            if (has_own) market.record = market.name;
        }
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

    void check(std::size_t number) const {
        const ExperimentCase& one = cases_[number];
        about_its_variant(
            one, [&] { job_on(*one.scenario, market_of(one, 0, one.seeds.front()).data); });
    }

    void judge(std::size_t number, NamedMarket& market) const {
        const sim::JobSpec job = job_on(*cases_[number].scenario, market.data);
        market.optimum = optimum_of(market.data, job);
        market.doubts = doubts_about(market, job, staying_[number]);
    }

    // The market from where the run begins.
    std::shared_ptr<const NamedMarket> window_of(const PlannedRun& run) {
        MarketKey key{run.case_number, run.trace, is_generated(*run.of, setup_) ? run.seed : 0};
        const auto whole =
            markets_.get(key, [&] { return market_of(*run.of, run.trace, run.seed); });
        key.window = run.window_number;
        return windows_.get(key, [&] {
            NamedMarket market = *whole;
            market.data = begun_later(whole->data, run.window.start);
            market.start = run.window.start;
            market.stretch = run.window.stretch;
            if (setup_.judged) judge(run.case_number, market);
            return market;
        });
    }

    void run_group(std::size_t group) {
        std::shared_ptr<const NamedMarket> market;
        layout_->visit(group, [&](const PlannedRun& run) {
            if (!is_wanted(run)) return true;
            if (is_stopped()) return false;
            if (!market) market = window_of(run);
            const bool detailed = !detailed_.empty() && detailed_[run.number];
            const auto begun = std::chrono::steady_clock::now();
            FinishedRun finished =
                run_one(*run.of->scenario, *market, *run.policies, run.seed,
                        detailed ? setup_.options : RunOptions{}, nullptr, setup_.stopped);
            finished.wall_s =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
            taker_.take(run, std::move(finished));
            report_progress();
            return true;
        });
    }

    void report_progress() {
        if (!setup_.progress) return;
        const std::scoped_lock lock(mutex_);
        setup_.progress(++done_, wanted_count_);
    }

    std::span<const ExperimentCase> cases_;
    const ExperimentSetup& setup_;
    const RunTaker& taker_;
    std::vector<std::string> names_;
    std::vector<std::vector<PolicyList>> staying_;  // by case: lists that choose no zone
    Duration span_;                                 // of a window: that of the longest case
    std::vector<RunLayout::Part> parts_;            // until there is a layout
    std::optional<RunLayout> layout_;
    std::vector<bool> detailed_;  // by number; empty: none
    std::vector<bool> wanted_;    // by number; empty: all
    std::size_t wanted_count_ = 0;
    RecentlyMade<MarketKey, NamedMarket> markets_;  // from the beginnings of their traces
    RecentlyMade<MarketKey, NamedMarket> windows_;
    std::mutex mutex_;
    std::size_t done_ = 0;
};

}  // namespace

void run_experiment(std::span<const ExperimentCase> cases, const ExperimentSetup& setup,
                    const RunTaker& taker) {
    Experiment(cases, setup, taker).run();
}

std::vector<FinishedRun> run_experiment(std::span<const ExperimentCase> cases,
                                        const ExperimentSetup& setup) {
    std::vector<FinishedRun> runs;
    RunTaker taker;
    taker.begin = [&](std::size_t count, std::size_t) { runs.resize(count); };
    taker.take = [&](const PlannedRun& run, FinishedRun finished) {
        runs[run.number] = std::move(finished);
    };
    run_experiment(cases, setup, taker);
    return runs;
}

std::vector<FinishedRun> run_experiment(const Scenario& scenario, const ExperimentSetup& setup) {
    const ExperimentCase one{&scenario, setup.policies, setup.seeds};
    return run_experiment(std::span(&one, 1), setup);
}

}  // namespace ukemi::scenarios
