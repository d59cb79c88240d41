// bamboo_test.cpp — the shipped scenarios of Bamboo's simulator against its recorded outputs.
//
// Thorpe et al., NSDI'23; uclasystem/bamboo, project_pactum/simulation, with first in, first out
// where events of one kind share a millisecond. (As it is, equals leave in the order of CPython's
// heap, which no rule of the simulated world says.) Its mean of instances counts from zero on as if
// the first had been there, up to the last change, and takes off again what lies beyond the last
// step, with the last count.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/read_file.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "tests/recorded.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

namespace {

using nlohmann::json;

// Bamboo's rows of one trace as the file that it read.
std::string rows_of(const json& trace) {
    std::string text;
    for (const json& row : trace) {
        text += fmt::format("{},{},{}\n", row.at(0).get<std::int64_t>(),
                            row.at(1).get<std::string>(), row.at(2).get<std::string>());
    }
    return text;
}

// All that the market has is held, until the run is over.
double mean_instances(const records::RunResult& run) {
    double area = 0;
    Instant since;
    std::int32_t count = 0;
    bool any = false;
    for (const records::TimelineRow& row : run.timeline) {
        if (&row != &run.timeline.back()) CHECK(row.spot_held == row.spot_capacity);
        if (row.spot_capacity == count) continue;
        area += any ? to_seconds(row.at - since) * count : to_seconds(row.at.since_start());
        any = true;
        since = row.at;
        count = row.spot_capacity;
    }
    const double until_s = to_seconds(run.trained->second);
    return (area - (to_seconds(since.since_start()) - until_s) * count) / until_s;
}

// The shipped one, or for a model without one GPT-2's with that model's constants.
scenarios::Scenario scenario_of(const std::string& model, const json& constants) {
    const std::map<std::string, std::string> files{{"GPT-2", "bamboo_gpt2.json"},
                                                   {"BERT", "bamboo_bert.json"},
                                                   {"ResNet", "bamboo_resnet.json"}};
    const auto folder = scenario_folder / "size";
    const auto shipped = files.find(model);
    if (shipped != files.end()) return scenarios::read_scenario(folder / shipped->second);
    json steps;
    for (const auto& [pipelines, step_ms] : constants.at("step_ms").items()) {
        steps[pipelines] = fmt::format("{} ms", step_ms.get<int>());
    }
    const json grow{{"rendezvous", constants.at("local_rendezvous_ms").dump() + " ms"}};
    const std::vector<ConfigOverride> overrides{
        {"/job/batch", constants.at("samples_per_step").dump()},
        {"/job/pipelines/stages", constants.at("stages").dump()},
        {"/job/pipelines/step", steps.dump()},
        {"/job/transition/grow", grow.dump()}};
    return scenarios::read_scenario(folder / "bamboo_gpt2.json", overrides);
}

records::RunResult run_on(const scenarios::Scenario& scenario, const std::filesystem::path& trace) {
    scenarios::ExperimentSetup setup;
    setup.traces = {trace};
    setup.policies = scenario.policies;
    setup.seeds = {scenario.seed};
    setup.options.timeline = true;
    setup.details = scenarios::Details::all;
    setup.starts = scenarios::parse_starts(scenario.starts, "test");
    return scenarios::run_experiment(scenario, setup).front().result;
}

}  // namespace

TEST_CASE("bamboo: the recorded runs come out of the shipped scenarios exactly",
          "[scenario][bamboo][golden]") {
    const auto folder = peer_outputs();
    if (!folder) {
        WARN("skipped: no recorded outputs of peers beside the checkout");
        return;
    }
    const json recorded = json::parse(read_file(*folder / "bamboo_p3.json"));
    const ScratchFolder scratch;
    int compared = 0;
    for (const json& expected : recorded.at("expected_fifo_ties")) {
        const auto model = expected.at("model").get<std::string>();
        const auto trace = expected.at("trace").get<std::string>();
        const json& result = expected.at("result");
        if (result.is_null()) continue;  // the original gives up on these models
        CAPTURE(trace, model);
        const scenarios::Scenario scenario = scenario_of(model, recorded.at("models").at(model));
        const records::RunResult run =
            run_on(scenario, scratch.file(trace, rows_of(recorded.at("traces").at(trace))));
        REQUIRE(run.pipelines);
        REQUIRE(run.trained);
        CHECK(run.pipelines->meetings == result.at("rendezvous_versions").get<std::int64_t>());
        CHECK(run.pipelines->fatal_failures == result.at("num_fatal_failures").get<std::int64_t>());
        CHECK(run.revocations == result.at("num_preemptions").get<std::int64_t>());
        CHECK(run.steps == result.at("num_steps_complete").get<std::int64_t>());
        const double instances = mean_instances(run);
        CHECK(instances == Approx(result.at("average_instances").get<double>()).epsilon(1e-12));
        const double price = to_dollars_per_hour(*scenario.market.zones.front().spot_price);
        CHECK(instances * price == Approx(result.at("average_cost").get<double>()).epsilon(1e-12));
        const double trained_s = to_seconds(run.trained->second - run.trained->first);
        CHECK(static_cast<double>(run.samples_done) / trained_s ==
              Approx(result.at("average_performance").get<double>()).epsilon(1e-11));
        ++compared;
    }
    CHECK(compared >= 3);
}

}  // namespace ukemi
