// shipped_test.cpp — the scenarios that come with ukemi: right, complete, and repeatable from what
// a run writes down.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/read_file.hpp"
#include "policies/registry.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "scenarios/reader/variants.hpp"
#include "sim/job/world.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

std::vector<std::filesystem::path> json_files(const std::filesystem::path& in,
                                              const char* extension = ".json") {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(in)) {
        if (entry.path().extension() == extension) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

// All but those of single steps, of shared clusters and the small ones of the golden logs.
std::vector<std::filesystem::path> shipped_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(scenario_folder)) {
        const auto name = entry.path().filename();
        if (!entry.is_directory() || name == "steps" || name == "jobs" || name == "search" ||
            name == "smoke")
            continue;
        for (const auto& file : json_files(entry.path())) files.push_back(file);
    }
    std::sort(files.begin(), files.end());
    return files;
}

// A command in a description: options that follow each other, up to a word that is none.
struct Invitation {
    std::string text;
    std::vector<ConfigOverride> set;
    std::vector<scenarios::VariedKey> varied;
};
std::vector<Invitation> invitations_in(const std::string& description) {
    std::vector<Invitation> found;
    std::istringstream words(description);
    bool goes_on = false;  // the last word was an option's, and ended no sentence
    for (std::string word; words >> word;) {
        if (word.starts_with('(')) word.erase(0, 1);
        if (word != "--set" && word != "--vary") {
            goes_on = false;
            continue;
        }
        if (!goes_on) found.emplace_back();
        Invitation& one = found.back();
        std::string key;
        words >> key;
        const std::size_t end = key.find_last_not_of(".,;:)") + 1;
        goes_on = end == key.size();
        key.resize(end);
        one.text += word + ' ' + key + ' ';
        if (word == "--set") one.set.push_back(parse_override(key));
        if (word == "--vary") one.varied.push_back(scenarios::parse_varied_key(key));
    }
    return found;
}

// The policies that a log of decisions has turning a knob.
std::set<std::string> deciders_in(const std::string& decisions) {
    std::set<std::string> names;
    std::istringstream lines(decisions);
    for (std::string line; std::getline(lines, line);) {
        const auto record = nlohmann::json::parse(line);
        if (record.at("record") != "question") continue;
        for (const auto& answer : record.at("answers")) {
            auto decision = answer.at("decision");
            decision.erase("reason");
            decision.erase("ask_again_in_ns");
            if (!decision.empty()) names.insert(answer.at("policy").get<std::string>());
        }
    }
    return names;
}

}  // namespace

TEST_CASE("shipped scenario: each is right and named after its file", "[scenario]") {
    const auto files = shipped_files();
    REQUIRE(files.size() >= 30);
    for (const auto& file : files) {
        CAPTURE(file);
        const scenarios::Scenario scenario = scenarios::read_scenario(file);
        CHECK(scenario.name == file.stem().string());
        CHECK(scenario.resolved.find("\"description\": \"\"") == std::string::npos);
        const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
        for (const scenarios::PolicyList& list : scenario.policies) {
            CHECK_NOTHROW(scenarios::check_policies(
                list, scenario, sim::simulated_capabilities(market.data, scenario.job)));
        }
    }
}

TEST_CASE("shipped scenario: read back from its resolved text, each says the same", "[scenario]") {
    auto files = shipped_files();
    for (const auto& file : json_files(scenario_folder / "smoke")) files.push_back(file);
    for (const auto& file : files) {
        CAPTURE(file);
        const scenarios::Scenario first = scenarios::read_scenario(file);
        const scenarios::Scenario second = scenarios::scenario_from_text(first.resolved, file);
        CHECK(second.resolved == first.resolved);
        CHECK(second.job.samples_total == first.job.samples_total);
        CHECK(second.job.workers_min == first.job.workers_min);
        CHECK(second.job.plan == first.job.plan);
        CHECK(second.market.zones.size() == first.market.zones.size());
        REQUIRE(second.policies.size() == first.policies.size());
        for (std::size_t i = 0; i < first.policies.size(); ++i) {
            CHECK(second.policies[i].label() == first.policies[i].label());
        }
    }
}

TEST_CASE("shipped scenario: what the description of steps invites to works as typed",
          "[scenario]") {
    std::size_t invited = 0;
    for (const auto& file : json_files(scenario_folder / "steps")) {
        const auto document = nlohmann::json::parse(read_file(file), nullptr, true, true);
        for (const Invitation& one :
             invitations_in(document.at("description").get<std::string>())) {
            CAPTURE(file, one.text);
            ++invited;
            CHECK_NOTHROW(scenarios::for_each_variant(
                one.set, one.varied,
                [&](auto overrides, auto) { scenarios::read_step_scenario(file, overrides); }));
        }
    }
    CHECK(invited >= 18);
}

TEST_CASE("shipped scenario: every policy turns its knob in one of them", "[scenario]") {
    std::set<std::string_view> quiet;  // that nobody has seen at work yet
    for (const policies::PolicyEntry& entry : policies::all_policies()) quiet.insert(entry.name);
    // Simulated jobs have no links between hosts: tests/cli/network_links_test.cpp has it at work.
    quiet.erase("latency_tree");
    for (const auto& file : shipped_files()) {
        const scenarios::Scenario scenario = scenarios::read_scenario(file);
        for (const scenarios::PolicyList& list : scenario.policies) {
            const auto is_quiet = [&](const scenarios::PolicyList::Item& item) {
                return quiet.contains(item.entry->name);
            };
            if (std::ranges::none_of(list.items, is_quiet)) continue;
            const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
            const scenarios::FinishedRun run =
                scenarios::run_one(scenario, market, list, scenario.seed, {.decisions = true});
            for (const std::string& who : deciders_in(run.decisions)) quiet.erase(who);
        }
    }
    for (const std::string_view name : quiet) {
        CAPTURE(name);
        CHECK(false);
    }
}

TEST_CASE("shipped scenario: on 36 recorded markets careful rules save money and are in time",
          "[scenario][recorded]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "market/recorded_weeks.json");
    scenarios::ExperimentSetup setup;
    setup.traces = json_files(scenario_folder.parent_path() / "tests/data/markets", ".gz");
    REQUIRE(setup.traces.size() == 36);
    setup.policies = scenario.policies;
    setup.seeds = {scenario.seed};
    setup.threads = 2;
    std::map<std::string, double> usd;
    std::map<std::string, int> late;
    for (const scenarios::FinishedRun& run : scenarios::run_experiment(scenario, setup)) {
        CAPTURE(run.result.policy, run.result.trace);
        CHECK(run.result.causes.time_sum() == run.result.held);
        usd[run.result.policy] += to_dollars(run.result.cost) / 36;
        late[run.result.policy] += run.result.deadline_met ? 0 : 1;
    }
    for (const auto& [policy, mean] : usd) {
        CAPTURE(policy, mean);
        const bool careful = policy.starts_with("greedy") || policy.starts_with("time_sliced") ||
                             policy.starts_with("uniform_progress");
        if (careful || policy == "on_demand") CHECK(late[policy] == 0);
        if (careful) CHECK(mean < 0.8 * usd["on_demand"]);
    }
}

TEST_CASE("shipped scenario: elastic_on_spot pays spot prices and never on-demand", "[scenario]") {
    // Ten seeds: the fleet follows the capacity, all work gets done, and what is paid lies between
    // the least spot price (0.918 USD/h) and the on-demand price (3.06) for each hour held.
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "market/elastic_on_spot.json");
    scenarios::ExperimentSetup setup;
    setup.policies = scenarios::parse_policies("follow_capacity+spot_only+daly", scenario, "test");
    setup.seeds = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    setup.threads = 2;
    for (const scenarios::FinishedRun& run : scenarios::run_experiment(scenario, setup)) {
        CAPTURE(run.result.seed);
        CHECK(run.result.finished);
        const double held_h = to_hours(run.result.held);
        const double usd = to_dollars(run.result.cost);
        CHECK(usd >= 0.918 * held_h * 0.999);
        CHECK(usd <= 1.2 * held_h);
        CHECK(run.result.causes.time_sum() == run.result.held);
        CHECK(run.result.checkpoints > 0);
    }
}

TEST_CASE("shipped scenario: in elastic_deadline it pays to fill a fleet up with on-demand",
          "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "size/elastic_deadline.json");
    scenarios::ExperimentSetup setup;
    setup.policies = scenario.policies;
    setup.seeds = {1, 2, 3, 4, 5};
    setup.threads = 2;
    std::map<std::string, double> usd;
    for (const scenarios::FinishedRun& run : scenarios::run_experiment(scenario, setup)) {
        CAPTURE(run.result.policy, run.result.seed);
        CHECK(run.result.deadline_met);
        usd[run.result.policy] += to_dollars(run.result.cost) / 5;
    }
    REQUIRE(usd.size() == 5);
    CHECK(usd["fleet_progress"] < 0.75 * usd["follow_capacity+greedy"]);
    CHECK(usd["fleet_progress"] < 0.9 * usd["follow_capacity+uniform_progress"]);
    CHECK(usd["follow_capacity+greedy"] < 0.8 * usd["on_demand"]);
}

TEST_CASE("shipped scenario: in three_zones it pays to go where the capacity is", "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "market/three_zones.json");
    REQUIRE(scenarios::make_market(scenario, 1).data.zones.size() == 3);
    scenarios::ExperimentSetup setup;
    setup.policies =
        scenarios::parse_policies("greedy+daly,follow_capacity+greedy+daly", scenario, "test");
    setup.seeds = {1, 2, 3, 4, 5};
    setup.threads = 2;
    double staying_usd = 0;
    double following_usd = 0;
    for (const scenarios::FinishedRun& run : scenarios::run_experiment(scenario, setup)) {
        CAPTURE(run.result.policy, run.result.seed);
        CHECK(run.result.finished);
        const bool stays = run.result.policy == "greedy+daly";
        (stays ? staying_usd : following_usd) += to_dollars(run.result.cost);
    }
    CHECK(following_usd < staying_usd);
}

TEST_CASE("shipped scenario: late_and_scarce meets its deadline with every careful policy",
          "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "market/late_and_scarce.json");
    scenarios::ExperimentSetup setup;
    setup.policies = scenarios::parse_policies(
        "on_demand,greedy,uniform_progress,rc_threshold,time_sliced", scenario, "test");
    setup.seeds = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    setup.threads = 2;
    double all_on_demand = 0;
    double careful = 0;
    for (const scenarios::FinishedRun& run : scenarios::run_experiment(scenario, setup)) {
        CAPTURE(run.result.policy, run.result.seed);
        CHECK(run.result.deadline_met);
        const bool baseline = run.result.policy == "on_demand";
        (baseline ? all_on_demand : careful) += to_dollars(run.result.cost);
    }
    // Spot is there a sixth of the time at half the price: waiting for it must not cost more.
    CHECK(careful / 4 < all_on_demand);
}

TEST_CASE("shipped scenario: grow_with_noise takes a worker after each epoch whose noise rose",
          "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "batch/grow_with_noise.json");
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    const scenarios::FinishedRun run = scenarios::run_one(
        scenario, market, scenario.policies.front(), scenario.seed, {true, true, true});
    CHECK(run.result.finished);
    CHECK(run.result.launches == 4);  // two at first; the curve rises in the third epoch
    CHECK(run.result.plans == 2);
    // The fourth epoch is the first with more samples a step than two workers' 128.
    std::int32_t most = 0;
    for (const records::TimelineRow& row : run.result.timeline) {
        if (row.samples_done <= 3 * 16384) CHECK(row.workers <= 3);
        most = std::max(most, row.workers);
    }
    CHECK(most == 4);
}

TEST_CASE("shipped scenario: in the bidding era spot is cheap and is taken when it is not",
          "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "market/bidding_era.json");
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
    const auto run = [&](std::string_view policies) {
        return scenarios::run_one(scenario, market,
                                  scenarios::parse_policies(policies, scenario, "test").front(), 1)
            .result;
    };
    const records::RunResult on_demand = run("on_demand");
    const records::RunResult bidding = run("greedy+bid+daly");
    CHECK(bidding.deadline_met);
    CHECK(bidding.revocations > 0);
    CHECK(bidding.cost < Dollars::of(on_demand.cost.raw() / 2));
    CHECK(on_demand.cost.raw() % 650'000'000 == 0);  // whole hours at 0.65 USD
}

TEST_CASE("shipped scenario: between two regions, who moves waits less and pays for it",
          "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "market/two_regions.json");
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
    const auto run = [&](std::string_view policies) {
        return scenarios::run_one(scenario, market,
                                  scenarios::parse_policies(policies, scenario, "test").front(), 1)
            .result;
    };
    const records::RunResult stays = run("uniform_progress");
    const records::RunResult moves = run("cheapest_region_net");
    CHECK(stays.egress == Dollars{});
    CHECK(moves.egress > Dollars{});
    CHECK(moves.egress.raw() % 1'000'000'000 == 0);  // 50 GB at 2 cents a time
    CHECK(moves.duration < stays.duration);
    CHECK(moves.cost < stays.cost);
}

TEST_CASE("shipped scenario: autoscaling rules settle where they say it stops paying",
          "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "size/autoscaling.json");
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
    scenarios::RunOptions options;
    options.timeline = true;
    const auto last_workers = [&](std::string_view policies) {
        const scenarios::PolicyList list =
            scenarios::parse_policies(policies, scenario, "test").front();
        const records::RunResult result =
            scenarios::run_one(scenario, market, list, 1, options).result;
        std::int32_t workers = 0;
        for (const records::TimelineRow& row : result.timeline) {
            if (row.workers > 0) workers = row.workers;
        }
        return workers;
    };
    CHECK(last_workers("on_demand") == 4);
    CHECK(last_workers("scheduled_resize+on_demand") == 16);
    CHECK(last_workers("utilisation_resize+on_demand") == 16);  // all there are
    // From 4 machines on: a worker more while it adds a third of its share. The ninth adds 25 of
    // 660/9 samples/s, the twelfth 25 of 735/12, the thirteenth 7.5 of 760/13.
    CHECK(last_workers("gain_resize+on_demand") == 12);
}

}  // namespace ukemi
