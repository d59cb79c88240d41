// scenario.cpp — a scenario file from top to bottom; its larger sections are in read_job.cpp and
// read_market.cpp.
#include "scenarios/reader/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/complaint_list.hpp"
#include "base/files_read.hpp"
#include "base/read_file.hpp"
#include "scenarios/experiment/starts.hpp"
#include "scenarios/reader/live_costs.hpp"
#include "scenarios/reader/plugins.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "scenarios/reader/sections.hpp"

namespace ukemi::scenarios {

namespace {

void read_plan(ConfigReader& root, Scenario& scenario) {
    sim::JobSpec& job = scenario.job;
    policies::Market market = policies::Market::spot;
    Price bid;
    auto config = root.object_if_present("plan");
    if (config) {
        const std::string name = config->one_of("market", policies::market_names(), "spot");
        market = static_cast<policies::Market>(std::ranges::find(policies::market_names(), name) -
                                               policies::market_names().begin());
        if (config->has("checkpoint_interval")) {
            job.plan.checkpoint_interval =
                bounded_duration(*config, "checkpoint_interval", whole_seconds(1), run_longest);
        }
        job.plan.checkpoint_on_notice = config->flag("checkpoint_on_notice", false);
        if (config->has("bid")) {
            bid = config->price("bid");
            if (!scenario.market.rules.bidding) {
                config->fail("bid", "bids mean nothing in this market (\"bidding\" at /market)");
            }
            if (bid <= Price{}) config->fail("bid", "expected more than 0 USD/h");
        }
        config->finish();
    }
    job.plan.fleet = {{ZoneId{0}, 0, market, job.plan.workers_max, bid}};
}

// Before anything names a policy or reads a trace. What is in a library counts as what is in the
// scenario.
void read_plugins(ConfigReader& root, const std::filesystem::path& folder) {
    if (!root.has("plugins")) return;
    const std::vector<std::string> files = root.texts("plugins");
    for (std::size_t i = 0; i < files.size(); ++i) {
        load_plugin(folder / files[i], fmt::format("{}: at /plugins/{}", root.file(), i));
        read_file(folder / files[i]);
    }
}

void read_parameters(ConfigReader& root, Scenario& scenario) {
    auto parameters = root.object_if_present("policy_parameters");
    if (!parameters) return;
    for (const std::string& name : parameters->keys()) {
        const policies::PolicyEntry* entry = policies::find_policy(name);
        if (entry == nullptr) parameters->fail(name, policies::no_such_policy(name));
        ConfigReader own = parameters->object(name);
        policies::make_policy(*entry, own);  // for its complaints
        const bool is_new =
            scenario.policy_parameters.try_emplace(std::string(entry->name), own.object_text())
                .second;
        if (!is_new) {
            parameters->fail(name, fmt::format("\"{}\" has its parameters under another name, too",
                                               entry->name));
        }
    }
    parameters->finish();
}

// "policies": one list, whose items carry their parameters beside their name.
PolicyList read_one_list(ConfigReader& root, Scenario& scenario) {
    PolicyList list;
    list.where = fmt::format("{}: at /policies", root.file());
    for (ConfigReader& item : root.objects("policies")) {
        const std::string name = item.text("name");
        const policies::PolicyEntry* entry = policies::find_policy(name);
        if (entry == nullptr) item.fail("name", policies::no_such_policy(name));
        policies::make_policy(*entry, item);  // for its complaints
        nlohmann::json parameters = nlohmann::json::parse(item.object_text());
        parameters.erase("name");
        const bool is_new =
            scenario.policy_parameters.try_emplace(std::string(entry->name), parameters.dump())
                .second;
        if (!is_new) {
            item.fail("name", fmt::format("\"{}\" stands there twice, or has its parameters in "
                                          "\"policy_parameters\" too",
                                          name));
        }
        list.items.push_back({entry, parameters.dump()});
    }
    if (list.items.empty()) root.fail("policies", "expected at least one policy");
    return list;
}

void read_starts(ConfigReader& root, Scenario& scenario) {
    if (!root.has("starts")) return;
    scenario.starts = root.text("starts");
    parse_starts(scenario.starts, fmt::format("{}: at /starts", root.file()));
}

// Without any, the command line names them.
void read_policies(ConfigReader& root, Scenario& scenario) {
    read_starts(root, scenario);
    read_parameters(root, scenario);
    const bool one_list = root.has("policies");
    if (one_list && root.has("replay")) {
        root.fail("",
                  "expected either \"policies\" (a list that runs together) or \"replay\" (a list "
                  "of lists, such as [\"greedy\", \"spot_only+daly_checkpoint\"]), found both");
    }
    if (one_list) scenario.policies.push_back(read_one_list(root, scenario));
    if (one_list || !root.has("replay")) return;
    const std::vector<std::string> lists = root.texts("replay");
    for (std::size_t index = 0; index < lists.size(); ++index) {
        const std::string where = fmt::format("{}: at /replay/{}", root.file(), index);
        for (PolicyList& list : parse_policies(lists[index], scenario, where)) {
            const bool twice = std::ranges::any_of(scenario.policies, [&](const PolicyList& one) {
                return one.label() == list.label();
            });
            if (twice) {
                throw InputError(where, "", fmt::format("\"{}\" stands there twice", list.label()));
            }
            scenario.policies.push_back(std::move(list));
        }
    }
    if (lists.empty()) root.fail("replay", "expected at least one policy");
}

void read_limits(ConfigReader& root, sim::JobSpec& job) {
    auto limits = root.object_if_present("limits");
    if (!limits) return;
    constexpr std::int64_t most = 1'000'000'000'000;
    job.limits.events_max = static_cast<std::uint64_t>(
        limits->integer("events_max", 1, most, static_cast<std::int64_t>(job.limits.events_max)));
    job.limits.events_per_instant_max = static_cast<std::uint64_t>(
        limits->integer("events_per_instant_max", 1, most,
                        static_cast<std::int64_t>(job.limits.events_per_instant_max)));
    job.launches_max = limits->integer("launches_max", 1, most, job.launches_max);
    limits->finish();
}

// What changes of the group cost has been read with the job; only now it is known what is trained.
void expect_transition_costs_of(ConfigReader& root, const Scenario& scenario) {
    if (!scenario.job.transition || scenario.job.transition->file.empty()) return;
    const ConfigReader transition = root.object("job").object("transition");
    const auto file = transition.beside(scenario.job.transition->file);
    transition.of_file("costs", [&] { expect_costs_of(read_costs(file), scenario, file, {}); });
}

// What can be read only where job and market are known.
void read_first_plan(ConfigReader& root, Scenario& scenario) {
    read_plan(root, scenario);
    if (!scenario.costs.empty()) {
        scenario.job.profile = root.object("job").of_file("costs", [&] {
            return measured_profile(read_costs(scenario.costs), scenario, 1, scenario.costs, {});
        });
        expect_transitions(scenario.job);  // where the scenario says more of them
        check_work(root, scenario.job);
    }
    read_predictor(root, scenario);
}

// Parts that do not need each other are read even where one of them is wrong.
Scenario read_root(ConfigReader& root, const std::filesystem::path& file) {
    Scenario scenario;
    scenario.file = file;
    const std::filesystem::path folder = file.parent_path();
    expect_no_schedulers(root);
    ComplaintList complaints(root.file());
    const bool head = complaints.attempt([&] {
        scenario.name = root.text("name");
        if (scenario.name.empty()) root.fail("name", "expected a name, found \"\"");
        root.text("description", "");
        if (root.has("$schema")) root.text("$schema");  // for editors
        scenario.seed = static_cast<std::uint64_t>(
            root.integer("seed", 0, std::numeric_limits<std::int64_t>::max()));
    });
    const bool job = complaints.attempt([&] { read_work(root, folder, scenario); });
    const bool market =
        complaints.attempt([&] { read_market(root.object("market"), folder, scenario); });
    const bool plan =
        job && market && complaints.attempt([&] { read_first_plan(root, scenario); }, true);
    const bool others = complaints.attempt([&] {
        read_limits(root, scenario.job);
        static constexpr std::array<std::string_view, 2> oracles{"none", "future_availability"};
        scenario.oracle_allowed = root.one_of("oracle", oracles, "none") != "none";
    });
    const bool policies = complaints.attempt([&] {
        read_plugins(root, folder);
        read_policies(root, scenario);
    });
    if (head && plan && others && policies) root.finish();
    complaints.throw_all();
    scenario.resolved = root.resolved();
    return scenario;
}

Scenario read_whole(ConfigReader root, const std::filesystem::path& file) {
    const FilesRead files;
    Scenario scenario = read_root(root, file);
    scenario.files_digest = files.digest();
    return scenario;
}

}  // namespace

void read_work(ConfigReader& root, const std::filesystem::path& folder, Scenario& scenario) {
    read_cluster(root.object("cluster"), scenario);
    read_job(root.object("job"), scenario);
    expect_transitions(scenario.job);
    read_training(root, folder, scenario);
    expect_transition_costs_of(root, scenario);
    read_learning(root, scenario);
    check_work(root, scenario.job);
}

Scenario read_scenario(const std::filesystem::path& file,
                       std::span<const ConfigOverride> overrides) {
    return read_whole(ConfigReader::from_file(file, overrides), file);
}

Scenario scenario_from_text(std::string_view text, const std::filesystem::path& file,
                            std::span<const ConfigOverride> overrides) {
    return read_whole(ConfigReader::from_text(text, file.string(), overrides), file);
}

std::vector<KeyNote> scenario_keys(std::span<const std::string> examples) {
    return keys_of(examples, [](ConfigReader& root) { read_root(root, "example.json"); });
}

}  // namespace ukemi::scenarios
