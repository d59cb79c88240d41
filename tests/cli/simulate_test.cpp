// simulate_test.cpp — `ukemi simulate` as a user meets it: tables, files, complaints.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {

TEST_CASE("ukemi simulate: prints what a step is made of", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("steps/shared_switches.json").string();
    const Ran ran = run_ukemi(scratch.path(), {"simulate", scenario});
    CHECK(ran.code == 0);
    CHECK(ran.err.empty());
    CHECK_THAT(ran.out, Catch::StartsWith("shared_switches: 24 x p3.2xlarge on leaf_spine") &&
                            Catch::Contains("job resnet50: ") && Catch::Contains("job vgg16: ") &&
                            Catch::Contains("exposed communication") &&
                            Catch::Contains("(the cheapest)") && Catch::Contains("samples/s"));
    CHECK(names_in(scratch.path()).empty());
}

TEST_CASE("ukemi simulate: parts add up in JSON, rows in CSV, spans in a trace", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("steps/shared_switches.json").string();
    const Ran ran = run_ukemi(scratch.path(), {"simulate", scenario, "--json", "--csv", "steps.csv",
                                               "--perfetto", "trace.json", "--traced-steps", "1"});
    REQUIRE(ran.code == 0);
    const nlohmann::json result = nlohmann::json::parse(ran.out);
    REQUIRE(result.at("jobs").size() == 2);
    for (const nlohmann::json& job : result.at("jobs")) {
        double sum = 0;
        for (const auto& part : job.at("parts_s")) sum += part.get<double>();
        CHECK(sum == Approx(job.at("step_s").at("mean").get<double>()).epsilon(1e-12));
    }
    const std::string csv = text_in(scratch.path() / "steps.csv");
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 8 + 8);
    const nlohmann::json trace = nlohmann::json::parse(text_in(scratch.path() / "trace.json"));
    std::int64_t forward = 0;
    for (const nlohmann::json& event : trace.at("traceEvents")) {
        forward += event.at("name") == "forward" ? 1 : 0;
    }
    CHECK(forward == 24);
}

TEST_CASE("ukemi simulate: a layout shows its bubbles and what a GPU holds", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("steps/pipeline_layout.json").string();
    const Ran table = run_ukemi(scratch.path(), {"simulate", scenario, "--set", "/job/steps=1"});
    REQUIRE(table.code == 0);
    CHECK_THAT(table.out,
               Catch::Contains("tensor 8 x pipeline 4 x data 2, interleaved in 3 chunks") &&
                   Catch::Contains("GB a GPU") && Catch::Contains("the whole model: ") &&
                   Catch::Contains("pipeline bubble") && Catch::Contains("pipeline transfers") &&
                   Catch::Contains("exchanges of the model"));
    const Ran ran =
        run_ukemi(scratch.path(), {"simulate", scenario, "--json", "--set", "/job/steps=2",
                                   "--perfetto", "trace.json", "--traced-steps", "1"});
    REQUIRE(ran.code == 0);
    const nlohmann::json job = nlohmann::json::parse(ran.out).at("jobs").at(0);
    double sum = 0;
    for (const auto& part : job.at("parts_s")) sum += part.get<double>();
    CHECK(sum == Approx(job.at("step_s").at("mean").get<double>()).epsilon(1e-12));
    CHECK(job.at("parts_s").at("bubble").get<double>() > 0);
    CHECK(job.at("bytes_per_gpu").at("total") < job.at("bytes_per_gpu").at("whole_model"));
    const nlohmann::json trace = nlohmann::json::parse(text_in(scratch.path() / "trace.json"));
    std::int64_t forward = 0;
    std::int64_t bubbles = 0;
    for (const nlohmann::json& event : trace.at("traceEvents")) {
        const auto name = event.at("name").get<std::string>();
        forward += name.starts_with("forward ") ? 1 : 0;
        bubbles += name == "bubble" ? 1 : 0;
    }
    CHECK(forward == 64 * 16 * 3);  // every GPU, micro-batch and chunk
    CHECK(bubbles > 64);
}

TEST_CASE("ukemi simulate: a batch that does not fit is a complaint in one line", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("steps/shared_switches.json").string();
    const Ran ran =
        run_ukemi(scratch.path(), {"simulate", scenario, "--set", "/jobs/0/batch=4000"});
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(is_one_line(ran.err));
    CHECK_THAT(ran.err, Catch::Contains("at /jobs/0/batch: resnet50 with a batch of 4000 needs"));
}

}  // namespace ukemi
