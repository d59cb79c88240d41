#include "scenarios/reader/search_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/complaint_list.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "policies/job_profile.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "scenarios/reader/sections.hpp"
#include "sim/learning/real/real_gradients.hpp"

namespace ukemi::scenarios {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t trials_most = 10'000;
constexpr std::int64_t units_most = 1'000'000;

bool explores(const ConfigReader& section) {
    return KeyExplorer::of(section.file()) != nullptr;  // only keys are looked for
}

Duration step_with(const sim::JobSpec& job, std::int32_t gpus) {
    const policies::StepRate rate = policies::rate_of(job.profile, job.plan, gpus);
    return nanoseconds((rate.per.raw() + rate.steps - 1) / rate.steps);
}

Scenario read_trial_work(ConfigReader& section, const fs::path& file) {
    Scenario scenario;
    scenario.file = file;
    read_work(section, file.parent_path(), scenario);
    section.finish();
    return scenario;
}

sim::TrialJob read_trial(ConfigReader& section, const fs::path& file) {
    const Scenario scenario = read_trial_work(section, file);
    const sim::JobSpec& job = scenario.job;
    sim::TrialJob trial;
    if (explores(section)) return trial;
    if (!job.learning) section.fail("", "needs \"learning\": what a trial learns");
    expect_steps_of_single_gpus(section, "job", scenario);
    const std::int32_t gpus = job.plan.workers_max;
    const std::int64_t batch = policies::samples_per_step(job.plan, gpus);
    if (policies::samples_per_step(job.plan, 1) != batch) {
        section.fail("job",
                     "expected \"batch\", of all workers together: what a trial learns must "
                     "not depend on how many GPUs it is given");
    }
    trial.learning = job.learning;
    trial.step = {batch,
                  job.plan.learning_rate,
                  gpus,
                  job.plan.learners_per_gpu,
                  job.plan.synchronisation,
                  job.plan.codec,
                  job.plan.codec_level,
                  nullptr};
    trial.samples = job.samples_total;
    trial.gpus = gpus;
    trial.step_time.push_back({});
    for (std::int32_t i = 1; i <= job.instances_max; ++i) {
        trial.step_time.push_back(step_with(job, i));
    }
    return trial;
}

std::vector<std::string> read_values(ConfigReader& section) {
    std::vector<std::string> values;
    if (section.has("numbers")) {
        for (const double one : section.numbers("numbers", -1e15, 1e15)) {
            values.push_back(fmt::format("{:.15g}", one));
        }
    } else {
        values = section.texts("values");
    }
    std::set<std::string> seen;
    for (const std::string& one : values) {
        if (!seen.insert(one).second) {
            section.fail("key", fmt::format("{} stands there twice", ukemi::quoted(one)));
        }
    }
    return values;
}

void read_range(ConfigReader& section, sim::SearchedKey& key) {
    key.low = section.number("from", -1e15, 1e15);
    key.high = section.number("to", -1e15, 1e15);
    static constexpr std::array<std::string_view, 2> scales{"linear", "log"};
    key.is_logarithmic = section.one_of("scale", scales, "linear") == "log";
    key.is_whole = section.flag("whole", false);
    key.points = static_cast<std::size_t>(section.integer("points", 2, trials_most, 5));
    if (explores(section)) return;
    if (key.low >= key.high) {
        section.fail("to",
                     fmt::format("expected more than \"from\", {}, found {}", key.low, key.high));
    }
    if (key.is_logarithmic && key.low <= 0) {
        section.fail("from", fmt::format("expected more than 0 on \"log\", found {}", key.low));
    }
    if (!key.is_whole) return;
    for (const auto& [name, end] : {std::pair("from", key.low), std::pair("to", key.high)}) {
        if (end == std::floor(end)) continue;
        section.fail(name, fmt::format("expected a whole number beside \"whole\", found {}", end));
    }
}

// A grid has no point twice.
void expect_apart(ConfigReader& section, const sim::SearchSpace& space) {
    for (const sim::SearchedKey& key : space) {
        const auto points = sim::grid_settings({key});
        const std::set<sim::TrialSettings> apart(points.begin(), points.end());
        if (apart.size() == points.size()) continue;
        section.fail("name", fmt::format("{} has {} points in \"space\" of which {} are apart: "
                                         "expected fewer \"points\"",
                                         ukemi::quoted(key.pointer), points.size(), apart.size()));
    }
}

void read_space(ConfigReader& root, SearchScenario& scenario) {
    for (ConfigReader& section : root.objects("space")) {
        sim::SearchedKey key;
        key.pointer = section.text("key");
        if (!explores(section) && !key.pointer.starts_with('/')) {
            section.fail("key", fmt::format("expected a key of the trial such as "
                                            "\"/training/learning_rate\", found {}",
                                            ukemi::quoted(key.pointer)));
        }
        if (std::ranges::count(scenario.space, key.pointer, &sim::SearchedKey::pointer) > 0) {
            section.fail("key", fmt::format("{} stands there twice", ukemi::quoted(key.pointer)));
        }
        if (section.has("numbers") || section.has("values")) {
            key.values = read_values(section);
            if (key.values.empty()) section.fail("key", "expected at least one value");
        } else {
            read_range(section, key);
        }
        section.finish();
        scenario.space.push_back(std::move(key));
    }
    constexpr std::size_t keys_most = 12;
    if (scenario.space.empty() || scenario.space.size() > keys_most) {
        root.fail("space", fmt::format("expected 1 to {} keys of the trial, found {}", keys_most,
                                       scenario.space.size()));
    }
}

// Weights fit into what they are taken over by, and the task stays the same.
bool can_change(std::string_view pointer) {
    return pointer == "/job/batch" || pointer == "/training/learning_rate" ||
           pointer.starts_with("/training/optimiser/");
}

void check_searcher(ConfigReader& section, const sim::SearcherEntry& entry, sim::Searcher& made,
                    const SearchScenario& scenario) {
    const sim::SearchTerms terms{scenario.trials, scenario.units, scenario.seed};
    const std::string problem = made.problem(terms);
    if (!problem.empty()) section.fail("", problem);
    made.begin(terms);
    constexpr std::size_t pieces_most = 200'000;  // more would be a search of days
    if (made.pieces_max() > pieces_most) {
        section.fail("name",
                     fmt::format("{} trains {} pieces: expected at most {} (fewer \"units\" "
                                 "or \"trials\")",
                                 entry.name, made.pieces_max(), pieces_most));
    }
    if (entry.on_grid) {
        double points = 1;
        for (const sim::SearchedKey& key : scenario.space) {
            points *= static_cast<double>(key.values.empty() ? key.points : key.values.size());
        }
        if (points > static_cast<double>(trials_most)) {
            section.fail("name", fmt::format("the grid has {:.0f} points: expected at most {}",
                                             points, trials_most));
        }
        expect_apart(section, scenario.space);
    }
    if (!entry.changes_settings) return;
    for (const sim::SearchedKey& key : scenario.space) {
        if (can_change(key.pointer)) continue;
        section.fail("name", fmt::format("{} changes what trains already: expected only "
                                         "/job/batch, /training/learning_rate and keys of "
                                         "/training/optimiser in \"space\", found {}",
                                         entry.name, ukemi::quoted(key.pointer)));
    }
}

void read_searchers(ConfigReader& root, SearchScenario& scenario) {
    const std::vector<std::string_view> names = sim::searcher_names();
    for (ConfigReader& section : root.objects("searchers")) {
        const sim::SearcherEntry* const entry = sim::find_searcher(section.one_of("name", names));
        const auto made = entry->make(section);
        section.finish();
        if (!explores(section)) check_searcher(section, *entry, *made, scenario);
        const auto same = [&](const NamedSearcher& one) { return one.entry == entry; };
        if (std::ranges::any_of(scenario.searchers, same)) {
            section.fail("name", fmt::format("\"{}\" stands there twice: --vary compares "
                                             "parameters",
                                             entry->name));
        }
        scenario.searchers.push_back({entry, section.object_text()});
    }
    if (scenario.searchers.empty()) root.fail("searchers", "expected at least one");
}

void read_where(ConfigReader& root, SearchScenario& scenario) {
    sim::SearchCluster& where = scenario.where;
    read_shared_cluster(root, scenario.file, GroupKeys::machines_only, where.cluster);
    if (root.has("round")) {
        where.round = bounded_time(root, "round", root.duration("round"));
        if (where.round <= Duration{}) root.fail("round", "expected more than zero");
    }
    where.restart = bounded_time(root, "restart", root.duration("restart", Duration{}));
    // What a scheduler may ask for is checked on jobs like the pieces of trials.
    ScheduleScenario pieces;
    pieces.cluster = where.cluster;
    pieces.round = where.round;
    sim::SharingJob piece;
    piece.restart = where.restart;
    pieces.jobs.add(piece);
    ConfigReader section = root.object("scheduler");
    read_scheduler(section, pieces);
    scenario.scheduler = section.object_text();
}

// Of another kind of scenario: not as a key that this one may have.
void expect_a_search(const ConfigReader& root) {
    if (KeyExplorer::of(root.file()) != nullptr) return;
    const auto has = [&](std::string_view key) {
        return std::ranges::any_of(root.keys(), [&](const auto& one) { return one == key; });
    };
    if (has("searchers")) return;
    if (has("schedulers")) {
        root.fail("schedulers", "these are jobs that share a cluster: `ukemi schedule` runs them");
    }
    if (has("market")) {
        root.fail("market",
                  "this is a job on a market: `ukemi replay` runs it; `ukemi search` "
                  "tries settings of a \"trial\"");
    }
}

void read_search_parts(ConfigReader& root, SearchScenario& scenario) {
    expect_a_search(root);
    scenario.name = root.text("name");
    if (scenario.name.empty()) root.fail("name", "expected a name, found \"\"");
    root.text("description", "");
    if (root.has("$schema")) root.text("$schema");  // for editors
    scenario.seed = static_cast<std::uint64_t>(
        root.integer("seed", 0, std::numeric_limits<std::int32_t>::max()));
    read_where(root, scenario);
    ConfigReader trial = root.object("trial");
    const sim::TrialJob first = read_trial(trial, scenario.file);
    if (!explores(root) && first.gpus > scenario.where.cluster.gpus()) {
        root.fail("trial", fmt::format("asks for {} GPUs, the cluster has {}", first.gpus,
                                       scenario.where.cluster.gpus()));
    }
    scenario.trials = static_cast<std::size_t>(root.integer("trials", 1, trials_most));
    scenario.units = root.integer("units", 1, units_most);
    read_space(root, scenario);
    read_searchers(root, scenario);
    root.finish();
}

// The document again, its defaults filled in and the settings in the trial's keys: so that a
// default which follows from a key is that of the document, whatever is tried there.
template <class Read>
auto read_with_settings(const std::string& text, const fs::path& file,
                        const sim::SearchSpace& space, const sim::TrialSettings& settings,
                        Read read) {
    std::vector<ConfigOverride> own;
    for (std::size_t i = 0; i < space.size(); ++i) {
        own.push_back({"/trial" + space[i].pointer, settings[i],
                       fmt::format("{}: \"space\"", file.string())});
    }
    ConfigReader root = ConfigReader::from_text(text, file.string(), own);
    ComplaintList complaints(root.file());
    decltype(read(root, file)) made;
    complaints.attempt([&] {
        ConfigReader section = root.object("trial");
        made = read(section, file);
    });
    complaints.throw_all();
    return made;
}

sim::MakeTrial trial_maker(const SearchScenario& scenario, bool larger_is_better) {
    return [text = scenario.resolved, file = scenario.file, space = scenario.space,
            larger_is_better](const sim::TrialSettings& settings) {
        sim::TrialJob trial = read_with_settings(text, file, space, settings, read_trial);
        trial.larger_is_better = larger_is_better;
        return trial;
    };
}

// So that a value which no trial may have is said before anything is trained: all keys at one end,
// and at the other.
void try_ends_of_space(const SearchScenario& scenario) {
    sim::SearchSpace ends = scenario.space;
    for (sim::SearchedKey& key : ends) {
        key.points = 2;
        if (!key.values.empty()) key.values = {key.values.front(), key.values.back()};
    }
    const std::vector<sim::TrialSettings> corners = sim::grid_settings(ends);
    scenario.make_trial(corners.front());
    scenario.make_trial(corners.back());
}

SearchScenario read_search_root(ConfigReader& root, const fs::path& file) {
    SearchScenario scenario;
    scenario.file = file;
    bool larger_is_better = true;
    ComplaintList complaints(root.file());
    complaints.attempt([&] {
        static constexpr std::array<std::string_view, 2> goals{"largest", "smallest"};
        larger_is_better = root.one_of("metric", goals, "largest") == "largest";
        read_search_parts(root, scenario);
    });
    complaints.throw_all();
    scenario.resolved = root.resolved();
    if (explores(root)) return scenario;
    scenario.make_trial = trial_maker(scenario, larger_is_better);
    try_ends_of_space(scenario);
    return scenario;
}

bool has_searchers(const ConfigReader& root) {
    return std::ranges::any_of(root.keys(),
                               [](const std::string& key) { return key == "searchers"; });
}

}  // namespace

std::unique_ptr<sim::Searcher> NamedSearcher::make() const {
    ConfigReader section = ConfigReader::from_text(parameters, entry->name);
    return entry->make(section);
}

std::unique_ptr<schedulers::Scheduler> SearchScenario::make_scheduler() const {
    ConfigReader section = ConfigReader::from_text(scheduler, file.string());
    ScheduleScenario pieces;
    pieces.cluster = where.cluster;
    return read_scheduler(section, pieces);
}

// What a trial learns in simulated time it is trained for here: on the same samples, the last ones
// being kept back to see what it is worth.
LiveTrial SearchScenario::live_trial(const sim::TrialSettings& settings) const {
    Scenario trial = read_with_settings(resolved, file, space, settings, read_trial_work);
    const auto learning = nlohmann::json::parse(resolved).at("trial").at("learning");
    if (!trial.training || learning.value("test_samples", "drawn") != "last") {
        throw InputError(file.string(), "/trial/learning",
                         "a live trial is trained, on all but the last samples of its data: "
                         "expected \"real_gradients\" with \"test_samples\": \"last\"");
    }
    trial.name = name;
    trial.seed = seed;
    trial.resolved = resolved;
    LiveTrial live{{}, trial.training->data};
    const std::int64_t samples = kernels::load_data(live.all_data).count;
    trial.training->data.samples =
        samples - sim::test_samples_in(samples, learning.at("test_share").get<double>());
    trial.job.learning = nullptr;
    trial.job.profile.lossless = false;
    trial.job.workers_min = 1;
    ConfigReader market = ConfigReader::from_text(
        R"({"spot_price": "1 USD/h", "on_demand_price": "1 USD/h"})", file.string());
    read_market(std::move(market), file.parent_path(), trial);
    trial.policies = parse_policies("spot_only+follow_capacity", trial, file.string());
    live.scenario = std::move(trial);
    return live;
}

bool is_search_scenario(const fs::path& file) {
    return has_searchers(ConfigReader::from_file(file));
}

SearchScenario read_search_scenario(const fs::path& file) {
    return search_scenario_from_text(read_file(file), file);
}

SearchScenario search_scenario_from_text(std::string_view text, const fs::path& file,
                                         std::span<const ConfigOverride> overrides) {
    ConfigReader root = ConfigReader::from_text(text, file.string(), overrides);
    return read_search_root(root, file);
}

std::vector<KeyNote> search_scenario_keys(std::span<const std::string> examples) {
    return keys_of(examples, [](ConfigReader& root) { read_search_root(root, "example.json"); });
}

}  // namespace ukemi::scenarios
