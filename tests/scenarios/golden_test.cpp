// golden_test.cpp — runs whose every event is written down: the same on any compiler, build type,
// thread count and CPU, or this test shows the first line that changed.
//
// golden/<scenario>.log holds the events of the smoke scenarios, for people; golden/hashes.csv the
// fingerprints of longer runs. UKEMI_GOLDEN=accept writes them anew, on purpose.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <span>

#include "base/read_file.hpp"
#include "scenarios/experiment/experiment.hpp"

namespace ukemi {

namespace {

const std::filesystem::path source = UKEMI_SOURCE_DIR;
const std::filesystem::path golden = source / "tests/scenarios/golden";

// Compares line by line, so that a failure is a readable difference.
void check_golden(const std::filesystem::path& file, const std::string& now) {
    const char* wanted = std::getenv("UKEMI_GOLDEN");
    if (wanted != nullptr && std::string_view(wanted) == "accept") {
        write_file_atomically(file, now);
        WARN("accepted " << file.filename().string());
        return;
    }
    const std::string before = std::filesystem::exists(file) ? read_file(file) : "";
    if (now == before) {
        SUCCEED();
        return;
    }
    std::size_t line = 1;
    std::size_t start = 0;
    for (std::size_t i = 0; i < now.size() && i < before.size() && now[i] == before[i]; ++i) {
        if (now[i] != '\n') continue;
        ++line;
        start = i + 1;
    }
    const auto line_of = [&](const std::string& text) {
        return start < text.size() ? text.substr(start, text.find('\n', start) - start) : "(end)";
    };
    FAIL(file.filename().string() << ":" << line << "\n  golden: " << line_of(before)
                                  << "\n  now:    " << line_of(now));
}

// The files call policies by their long names.
std::string long_name(const records::RunResult& result,
                      std::span<const scenarios::PolicyList> lists) {
    const auto list = std::ranges::find(lists, result.policy, &scenarios::PolicyList::label);
    std::string name;
    for (const scenarios::PolicyList::Item& item : list->items) {
        name += fmt::format("{}{}", name.empty() ? "" : "+", item.entry->name);
    }
    return name;
}

std::string result_line(const records::RunResult& result, const std::string& policy) {
    return fmt::format(
        "= {} {} {}: {} nano-USD, {} ns, held {} ns, useful {} ns, {} losses, {} plans, hash {}\n",
        result.scenario, policy, result.seed, result.cost.raw(), result.duration.raw(),
        result.held.raw(), result.causes.time_of(records::Cause::useful).raw(), result.revocations,
        result.plans, result.event_hash);
}

std::string readable_log(const std::string& scenario_file) {
    const scenarios::Scenario scenario = scenarios::read_scenario(source / scenario_file);
    scenarios::ExperimentSetup setup;
    setup.policies = scenario.policies;
    setup.seeds = {scenario.seed};
    setup.details = scenarios::Details::all;
    setup.options.events = true;
    std::string text;
    for (const scenarios::FinishedRun& run : scenarios::run_experiment(scenario, setup)) {
        const std::string policy = long_name(run.result, setup.policies);
        text += fmt::format("# {}\n", policy);
        text += run.events;
        text += result_line(run.result, policy);
    }
    return text;
}

std::string hashes(int threads) {
    std::string text;
    for (const std::string file : {"scenarios/market/demo.json", "scenarios/smoke/one_machine.json",
                                   "scenarios/smoke/two_zones.json"}) {
        const ConfigOverride oracle[] = {{"/oracle", "future_availability"}};
        const scenarios::Scenario scenario = scenarios::read_scenario(source / file, oracle);
        scenarios::ExperimentSetup setup;
        setup.policies = scenario.policies;
        if (scenario.name == "demo") {
            setup.policies.push_back(
                scenarios::parse_policies("ideal_no_overhead+daly", scenario, "test").front());
        }
        setup.seeds = {1, 2, 3};
        setup.threads = threads;
        for (const scenarios::FinishedRun& run : scenarios::run_experiment(scenario, setup)) {
            text += fmt::format("{},{},{},{}\n", run.result.scenario,
                                long_name(run.result, setup.policies), run.result.seed,
                                run.result.event_hash);
        }
    }
    return text;
}

}  // namespace

TEST_CASE("golden: every event of the smoke scenarios", "[golden]") {
    check_golden(golden / "one_machine.log", readable_log("scenarios/smoke/one_machine.json"));
    check_golden(golden / "two_zones.log", readable_log("scenarios/smoke/two_zones.json"));
}

TEST_CASE("golden: the fingerprints of longer runs, on any number of threads", "[golden]") {
    const std::string one = "scenario,policy,seed,event_hash\n" + hashes(1);
    check_golden(golden / "hashes.csv", one);
    for (const int threads : {2, 3, 8}) {
        CHECK("scenario,policy,seed,event_hash\n" + hashes(threads) == one);
    }
}

}  // namespace ukemi
