// simulate_test.cpp — `ukemi simulate` as a user meets it: tables, files, complaints.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 8 + 11);
    for (const nlohmann::json& job : result.at("jobs")) {
        CHECK(job.at("step_s").at("min").get<double>() > 1);
    }
    CHECK(result.at("jobs")[0].at("steps_with_fewer_jobs") == 0);
    CHECK(result.at("jobs")[1].at("steps_with_fewer_jobs") == 1);
    const Ran fewer = run_ukemi(scratch.path(), {"simulate", scenario, "--set", "/jobs/1/steps=8"});
    CHECK_THAT(fewer.out, Catch::Contains("3 of these 6 steps: another job had done all of its"));
    const nlohmann::json trace = nlohmann::json::parse(text_in(scratch.path() / "trace.json"));
    std::int64_t forward = 0;
    for (const nlohmann::json& event : trace.at("traceEvents")) {
        forward += event.at("name") == "forward" ? 1 : 0;
    }
    CHECK(forward == 24);
}

TEST_CASE("ukemi simulate: a slower link takes no computing time", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("steps/pipeline_layout.json").string();
    for (const char* const schedule : {"one_forward_one_backward", "dual_pipe"}) {
        CAPTURE(schedule);
        const auto compute_s = [&](const char* share) {
            const Ran ran =
                run_ukemi(scratch.path(),
                          {"simulate", scenario, "--json", "--set", "/job/layout/chunks=1", "--set",
                           fmt::format("/job/layout/schedule={}", schedule), "--set",
                           R"(/job/compute={"kernels":{"launch":"50us"}})", "--set", "/job/steps=1",
                           "--set", fmt::format(R"(/efficiency={{"nvlink":{}}})", share)});
            REQUIRE(ran.code == 0);
            return nlohmann::json::parse(ran.out)
                .at("jobs")[0]
                .at("parts_s")
                .at("compute")
                .get<double>();
        };
        CHECK(compute_s("0.1") == Approx(compute_s("1")).epsilon(0.02));
    }
}

TEST_CASE("ukemi simulate: a layout shows its bubbles and what a GPU holds", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("steps/pipeline_layout.json").string();
    const Ran table = run_ukemi(scratch.path(), {"simulate", scenario, "--set", "/job/steps=1"});
    REQUIRE(table.code == 0);
    CHECK_THAT(table.out,
               Catch::Contains("tensor 8 x pipeline 4 x data 2, interleaved in 3 chunks") &&
                   Catch::Contains("GB a GPU") && Catch::Contains("kept, 1.074 reserved") &&
                   Catch::Contains("the whole model: ") && Catch::Contains("pipeline bubble") &&
                   Catch::Contains("pipeline transfers") &&
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
    const nlohmann::json& bytes = job.at("bytes_per_gpu");
    CHECK(bytes.at("total") < bytes.at("whole_model"));
    std::int64_t held = 0;
    for (const char* part :
         {"weights", "gradients", "optimiser_states", "exchange", "kept", "reserved"}) {
        held += bytes.at(part).get<std::int64_t>();
    }
    CHECK(bytes.at("total") == held);
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

TEST_CASE("ukemi simulate: a step takes a nanosecond at least", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "short.json", R"({"name": "n", "seed": 3,
 "cluster": {"machine": "p3.2xlarge", "count": 1},
 "job": {"model": "lenet5", "batch": 1, "compute": {"fixed": "1 ns"},
         "stragglers": {"persistent": 2},
         "steps": 1}})");
    const Ran ran = run_ukemi(scratch.path(), {"simulate", "short.json"});
    CHECK(ran.code == 0);
    CHECK(ran.out.find("nan") == std::string::npos);
    CHECK(ran.out.find("inf ") == std::string::npos);
}

TEST_CASE("ukemi simulate --vary --out: what is drawn is what was recorded", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("steps/resnet50_on_p3.json").string();
    const Ran ran = run_ukemi(
        scratch.path(), {"simulate", scenario, "--vary", "/job/workers=1,4,32", "--set",
                         "/job/steps=3", "--out", "out", "--csv", "rows.csv", "--width", "3.3in"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("results: out\n") && Catch::Contains("csv: rows.csv\n"));
    const auto folder = scratch.path() / "out";
    const nlohmann::json variants =
        nlohmann::json::parse(text_in(folder / "simulate.json")).at("variants");
    REQUIRE(variants.size() == 3);
    CHECK(variants[2].at("vary").at("/job/workers") == 32);
    CHECK_THAT(text_in(folder / "simulate.csv"),
               Catch::StartsWith("job_workers,job,model,workers,"));
    CHECK_THAT(text_in(folder / "figures/scaling.gp"),
               Catch::Contains("'throughput and efficiency against'") &&
                   Catch::Contains("title_lines[2] = 'workers'\n"));
    CHECK_THAT(text_in(folder / "figures/variation.gp"),
               Catch::Contains("'step time and throughput against'"));
    const std::string drawn = text_in(folder / "figures/scaling.csv");
    const std::string parts = text_in(folder / "figures/step_parts.csv");
    for (const nlohmann::json& variant : variants) {
        const nlohmann::json& job = variant.at("jobs").at(0);
        const auto samples_per_s = job.at("samples_per_s").get<double>();
        const auto efficiency = job.at("efficiency").get<double>();
        CHECK_THAT(drawn, Catch::Contains(fmt::format("\n0,{},{},,,{},{},,,1,0,",
                                                      job.at("workers").get<int>(), samples_per_s,
                                                      samples_per_s / efficiency, efficiency)));
        CHECK_THAT(parts, Catch::Contains(
                              fmt::format(",{},", job.at("parts_s").at("compute").get<double>())));
    }
    // The same run again, from its own record; and only the figures again.
    const Ran again = run_ukemi(scratch.path(), {"simulate", "out/run.json", "--out", "again"});
    REQUIRE(again.code == 0);
    const auto hash_of = [&](const char* name) {
        return nlohmann::json::parse(text_in(scratch.path() / name / "run.json"))
            .at("results_hash");
    };
    CHECK(hash_of("out") == hash_of("again"));
    CHECK(text_in(scratch.path() / "again/steps.csv") == text_in(scratch.path() / "rows.csv"));
    const Ran plot = run_ukemi(scratch.path(), {"plot", "again", "--only", "scaling"});
    CHECK(plot.code == 0);
    // What it prints is what --only takes.
    std::istringstream printed(plot.out);
    for (std::string file; std::getline(printed, file);) {
        CAPTURE(file);
        if (!file.ends_with(".svg")) continue;
        CHECK(run_ukemi(scratch.path(), {"plot", "again", "--only", file}).out == plot.out);
    }
    CHECK(std::filesystem::exists(scratch.path() / "again/figures/scaling.gp"));
    CHECK_FALSE(std::filesystem::exists(scratch.path() / "again/figures/step_parts.gp"));
    const Ran over = run_ukemi(scratch.path(), {"simulate", scenario, "--out", "out"});
    CHECK(over.code == 2);
    CHECK(is_one_line(over.err));
}

TEST_CASE("ukemi simulate --out: a codec stands in the results with its level", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran =
        run_ukemi(scratch.path(), {"simulate", shipped("steps/resnet50_on_p3.json").string(),
                                   "--set", "/job/workers=2", "--set", "/job/steps=1", "--vary",
                                   "/job/codec=none,power_sgd:2,power_sgd:4", "--out", "out"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    std::vector<std::string> codecs;
    const auto results = nlohmann::json::parse(text_in(scratch.path() / "out/simulate.json"));
    for (const nlohmann::json& variant : results.at("variants")) {
        codecs.push_back(variant.at("jobs").at(0).at("codec").get<std::string>());
    }
    CHECK(codecs == std::vector<std::string>{"none", "power_sgd:2", "power_sgd:4"});
}

TEST_CASE("ukemi simulate: the heading says what all variants have", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("steps/resnet50_on_p3.json").string();
    const auto heading = [&](const char* key, const char* steps) {
        const Ran ran = run_ukemi(scratch.path(), {"simulate", scenario, "--vary", key, "--set",
                                                   fmt::format("/job/steps={}", steps)});
        return ran.out.substr(0, ran.out.find('\n'));
    };
    CHECK(heading("/job/batch=1,2", "2") ==
          "resnet50_on_p3: 32 x p3.2xlarge on leaf_spine, 32 workers; means without the first "
          "step");
    CHECK(heading("/cluster/count=1,2", "1") == "resnet50_on_p3: 2 clusters; means of all steps");
    CHECK(heading("/warm_up=0,1", "2") ==
          "resnet50_on_p3: 32 x p3.2xlarge on leaf_spine, 32 workers; means without each one's "
          "first steps");
}

TEST_CASE("ukemi simulate: who waits for ever is in the file that is named", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "down.json",
               R"({"name": "down", "seed": 1, "cluster": {"machine": "p3.8xlarge", "count": 2},
                   "job": {"model": "resnet50", "batch": 32, "steps": 2},
                   "events": [{"kind": "links", "at": "0 s", "machine": 0, "share": 0}]})");
    const Ran ran = run_ukemi(scratch.path(), {"simulate", "down.json"});
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Catch::EndsWith("down.json: job resnet50: waits for ever: what it sends "
                                        "crosses a link that is down\n"));
    CHECK(is_one_line(ran.err));
}

TEST_CASE("ukemi simulate: options that cannot be meant are one line", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("steps/resnet50_on_p3.json").string();
    const auto said = [&](std::vector<std::string> options) {
        options.insert(options.begin(), {"simulate", scenario});
        const Ran ran = run_ukemi(scratch.path(), options);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        return ran.err;
    };
    CHECK_THAT(said({"--width", "3.3in"}), Catch::Contains("--width: is about figures"));
    CHECK_THAT(said({"--out", "o", "--width", "3.3ft"}), Catch::Contains("found \"3.3ft\""));
    CHECK_THAT(said({"--out", "o", "--only", "scalling"}),
               Catch::Contains("did you mean \"scaling\"") &&
                   Catch::Contains("cost_and_time (cost, time, differences), cost_by_cause, "));
    CHECK_THAT(said({"--vary", "/job/workers=1,2", "--perfetto", "t.json"}),
               Catch::Contains("--perfetto: shows one run: 2 variants"));
    CHECK_THAT(said({"--vary", "/job/workers=1,none"}),
               Catch::Contains("--vary /job/workers=none: "));
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
