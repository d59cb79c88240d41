// published_fleets_test.cpp — many spot machines at once, asked of `ukemi replay`: Bamboo's
// recorded runs in pipelines, and rules of a deadline that see a fleet.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/read_file.hpp"
#include "tests/cli/child.hpp"
#include "tests/cli/published_rows.hpp"
#include "tests/recorded.hpp"

namespace ukemi {
namespace {

using nlohmann::json;

json replayed_fleet(const std::filesystem::path& folder, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "replay");
    arguments.insert(arguments.end(), {"--no-files", "--json"});
    const Ran ran = run_ukemi(folder, arguments);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out);
}

}  // namespace

TEST_CASE("published fleets: Bamboo's recorded runs on its p3 group, machine by machine",
          "[cli][published]") {
    // uclasystem/bamboo, project_pactum/simulation, first in first out where events share a
    // millisecond. Naive: 48 machines train from the first event to the last, and none is lost.
    const json recorded = json::parse(read_file(*peer_outputs() / "bamboo_p3.json"));
    const ScratchFolder scratch;
    std::string trace;
    for (const json& row : recorded.at("traces").at("p3-trace.csv")) {
        trace += fmt::format("{},{},{}\n", row.at(0).get<std::int64_t>(),
                             row.at(1).get<std::string>(), row.at(2).get<std::string>());
    }
    write_file(scratch / "p3-trace.csv", trace);
    const std::map<std::string, std::string> files{{"GPT-2", "size/bamboo_gpt2.json"},
                                                   {"BERT", "size/bamboo_bert.json"},
                                                   {"ResNet", "size/bamboo_resnet.json"}};
    std::vector<PublishedRow> rows;
    for (const json& expected : recorded.at("expected_fifo_ties")) {
        const auto model = expected.at("model").get<std::string>();
        if (expected.at("result").is_null()) continue;  // the original gives up on these
        const json& theirs = expected.at("result");
        const json document =
            replayed_fleet(scratch.path(),
                           {shipped(files.at(model).c_str()).string(), "--traces", "p3-trace.csv"});
        const json& ours = document.at("runs").at(0);
        const double trained_s =
            ours.at("trained_until_s").get<double>() - ours.at("trained_from_s").get<double>();
        const json& constants = recorded.at("models").at(model);
        const double batch = constants.at("samples_per_step").get<double>();
        double fastest_ms = 1e9;
        for (const auto& [pipelines, step_ms] : constants.at("step_ms").items()) {
            fastest_ms = std::min(fastest_ms, step_ms.get<double>());
        }
        const auto count = [&](const char* what, const char* name, const char* key, double naive) {
            rows.push_back({fmt::format("{}, {}", model, what), theirs.at(name).get<double>(),
                            ours.at(key).get<double>(), "predicted", naive, 0});
        };
        count("steps", "num_steps_complete", "steps", trained_s * 1000 / fastest_ms);
        count("meetings", "rendezvous_versions", "meetings", 1);
        count("fatal failures", "num_fatal_failures", "fatal_failures", 0);
        count("machines lost", "num_preemptions", "revocations", 0);
        rows.push_back({model + ", samples a second",
                        theirs.at("average_performance").get<double>(),
                        ours.at("samples").get<double>() / trained_s, "predicted",
                        batch * 1000 / fastest_ms, 1e-6});
    }
    CHECK(rows.size() == 15);
    check_published("Bamboo's simulator on its p3 group (naive: nothing is ever lost)", rows);
}

TEST_CASE("published fleets: rules of a deadline tell a fleet's share from one machine",
          "[cli][published]") {
    const ScratchFolder scratch;
    const json document = replayed_fleet(
        scratch.path(), {shipped("size/elastic_deadline.json").string(), "--seeds", "1..5"});
    std::map<std::string, double> usd;
    for (const json& run : document.at("runs")) {
        CHECK(run.at("deadline_met") == true);
        usd[run.at("policy").get<std::string>()] += run.at("cost_usd").get<double>() / 5;
    }
    fmt::print("\nUSD of up to 64 machines with a deadline, five generated markets\n");
    for (const auto& [policy, mean] : usd) fmt::print("  {:<34}{:>9.0f}\n", policy, mean);
    REQUIRE(usd.size() == 5);
    CHECK(usd.at("fleet_progress") < 0.9 * usd.at("follow_capacity+uniform_progress"));
    CHECK(usd.at("follow_capacity+uniform_progress") < usd.at("follow_capacity+rc_threshold"));
    CHECK(usd.at("follow_capacity+rc_threshold") < usd.at("follow_capacity+greedy"));
    CHECK(usd.at("follow_capacity+greedy") < 0.8 * usd.at("on_demand"));
}

}  // namespace ukemi
