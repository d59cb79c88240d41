#include "analysis/tuning/tuning_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/requests/expand.hpp"
#include "analysis/result_doubts.hpp"
#include "base/plain_text.hpp"

namespace ukemi::analysis {

namespace {

using Places = std::vector<TrialPlace>;

// Where settings are chosen, and where they are judged.
struct TuningSplit {
    scenarios::ExperimentCase training_case;
    scenarios::ExperimentSetup training;
    Places training_places;
    std::string training_words;
    scenarios::ExperimentCase held_out_case;
    scenarios::ExperimentSetup held_out;
    Places held_out_places;
    std::string held_out_words;
};

void set_traces(TuningSplit& split, std::vector<std::filesystem::path> training,
                std::vector<std::filesystem::path> held_out) {
    for (const auto& trace : held_out) {
        if (std::ranges::find(training, trace) == training.end()) continue;
        throw InputError(
            "--held-out", "",
            fmt::format("{} is among the training traces, too", one_line(trace.string())));
    }
    split.training.traces = std::move(training);
    split.held_out.traces = std::move(held_out);
    split.training_places = places_of(split.training_case, split.training);
    split.held_out_places = places_of(split.held_out_case, split.held_out);
}

void hold_out_third_traces(TuningSplit& split, const std::vector<std::filesystem::path>& traces) {
    std::vector<std::filesystem::path> training;
    std::vector<std::filesystem::path> held_out;
    for (std::size_t i = 0; i < traces.size(); ++i) {
        (i % 3 == 2 ? held_out : training).push_back(traces[i]);
    }
    set_traces(split, std::move(training), std::move(held_out));
    split.training_words = "two of three";
    split.held_out_words = "every third trace";
}

// Seeds beyond those that were asked for: of a generated market, markets that nobody has seen.
void hold_out_seeds(TuningSplit& split, bool given) {
    constexpr std::uint64_t usual = 30;
    std::vector<std::uint64_t>& seeds = split.training_case.seeds;
    if (!given) {
        seeds.clear();
        for (std::uint64_t seed = 1; seed <= usual; ++seed) seeds.push_back(seed);
    }
    const std::uint64_t last = *std::ranges::max_element(seeds);
    split.held_out_case.seeds.resize(seeds.size());
    for (std::size_t i = 0; i < seeds.size(); ++i) split.held_out_case.seeds[i] = last + 1 + i;
    set_traces(split, {}, {});
    split.training_words = fmt::format("{} seeds", seeds.size());
    split.held_out_words = fmt::format("seeds {} to {}", last + 1, last + seeds.size());
}

// The last third of each trace; no run of the training reaches into it.
void hold_out_later_windows(TuningSplit& split, Duration span) {
    const Places all = places_of(split.training_case, split.training);
    std::map<std::size_t, std::set<Duration>> starts;  // by trace
    for (const TrialPlace& one : all) starts[one.trace].insert(one.window.start);
    for (const TrialPlace& one : all) {
        const std::set<Duration>& own = starts.at(one.trace);
        if (own.size() < 2) continue;
        const std::size_t later = std::max<std::size_t>(1, own.size() / 3);
        const Duration border = *std::prev(own.end(), static_cast<std::ptrdiff_t>(later));
        if (one.window.start >= border) {
            split.held_out_places.push_back(one);
        } else if (one.window.start + span <= border) {
            split.training_places.push_back(one);
        }
    }
    split.training_words = "the earlier windows";
    split.held_out_words = "the last third of the windows of each trace";
}

// A market that is generated, or never changes: what differs from run to run does so by the seed.
bool is_drawn(const scenarios::Scenario& scenario) {
    return std::ranges::none_of(scenario.market.zones, [](const scenarios::ZoneSource& zone) {
        return !zone.availability.empty() || !zone.price.empty();
    });
}

TuningSplit split_of(const TuningRequest& request, const PreparedRuns& runs,
                     const scenarios::ExperimentCase& of) {
    TuningSplit split{of, runs.setup, {}, "", of, runs.setup, {}, ""};
    const std::vector<std::filesystem::path>& traces = runs.setup.traces;
    if (!request.held_out.empty()) {
        if (traces.empty()) {
            throw InputError("--held-out", "", "expected --traces beside it, to train on");
        }
        set_traces(split, traces, expand_glob(request.held_out, "--held-out"));
        split.held_out_words = "--held-out";
    } else if (traces.empty() && is_drawn(*of.scenario)) {
        hold_out_seeds(split, !request.seeds.empty());
    } else if (traces.size() >= 3 && !request.zones) {
        hold_out_third_traces(split, traces);
    } else {
        hold_out_later_windows(split, scenarios::window_span(of.scenario->job));
    }
    if (split.training_places.empty() || split.held_out_places.empty()) {
        throw InputError("--held-out", "",
                         "expected traces that have no part in the tuning: these have no room for "
                         "windows of both kinds (--starts)");
    }
    spread_places(split.training_places, of.scenario->seed);
    return split;
}

scenarios::PolicyList list_to_tune(const PreparedRuns& runs) {
    if (runs.cases.size() != 1) {
        throw InputError(runs.inputs.scenario->file.string(), "",
                         "is of several scenarios or variants: one is tuned at a time");
    }
    const std::vector<scenarios::PolicyList>& lists = runs.cases.front().policies;
    if (lists.size() == 1) return lists.front();
    throw InputError("--policy", "",
                     fmt::format("expected one list of policies, found {}", lists.size()));
}

// The untuned list, then the settings: numbers of policies are places in this list.
scenarios::ExperimentCase case_to_try(const PreparedRuns& runs, const std::string& untuned,
                                      std::span<const TunedSetting> settings) {
    scenarios::ExperimentCase of = runs.cases.front();
    std::string policies = untuned;
    for (const TunedSetting& one : settings) policies += "," + one.policies;
    of.policies = scenarios::parse_policies(policies, *of.scenario, "--over");
    return of;
}

}  // namespace

Tuning run_tuning(const TuningRequest& request, const PreparedRuns& runs) {
    const scenarios::PolicyList list = list_to_tune(runs);
    const scenarios::Scenario& scenario = *runs.inputs.scenario;
    std::vector<TunedParameter> parameters;
    for (const std::string& one : request.over) {
        parameters.push_back(parse_tuned_parameter(one, list, scenario));
        for (std::size_t i = 0; i + 1 < parameters.size(); ++i) {
            const bool is_same = parameters[i].policy == parameters.back().policy &&
                                 parameters[i].key == parameters.back().key;
            if (is_same) throw InputError("--over", "", parameters.back().key + " is named twice");
        }
    }
    const std::int64_t usual = parameters.size() == 1 ? 27 : 81;
    const auto settings = settings_to_try(
        parameters, list, static_cast<std::size_t>(request.tries > 0 ? request.tries : usual),
        scenario.seed);
    const scenarios::ExperimentCase of = case_to_try(runs, request.policies, settings);
    TuningSplit split = split_of(request, runs, of);
    Trials training(split.training_case, split.training, split.training_places);
    Trials held_out(split.held_out_case, split.held_out, split.held_out_places);
    const TuningGoal goal = request.goal == "hours" ? TuningGoal::hours : TuningGoal::cost_usd;
    Tuning tuning = tune(settings, goal, training, held_out);
    tuning.scenario = scenario.name;
    tuning.resolved = scenario.resolved;
    tuning.parameters = std::move(parameters);
    tuning.training.words = split.training_words;
    tuning.held_out.words = split.held_out_words;
    std::vector<records::RunResult> untuned = training.results(0, training.place_count());
    for (auto& run : held_out.results(0, held_out.place_count())) untuned.push_back(run);
    tuning.warnings = warnings_about(untuned);
    return tuning;
}

}  // namespace ukemi::analysis
