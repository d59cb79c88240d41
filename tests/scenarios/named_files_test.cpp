// named_files_test.cpp — files that a scenario names: those that are not there, and those that
// cannot be read, are complained of where they are named.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "scenarios/reader/step_scenario.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

constexpr const char* plain = R"("model": "lenet5", "batch": 8)";
constexpr const char* pair = R"("machine": "p3.2xlarge", "count": 2)";

// One that names FILE.
struct Naming {
    std::string path;  // of its name
    std::string cluster = pair;
    std::string job = plain;
    std::string efficiency = {};
};

std::string complaint_about(const Naming& one, const ScratchFolder& scratch) {
    std::string text = fmt::format(
        R"({{"name": "named", "seed": 1, "cluster": {{{}}},{} "job": {{{}, "steps": 1}}}})",
        one.cluster, one.efficiency, one.job);
    return complaint_of(
        [&] { scenarios::step_scenario_from_text(text, scratch / "scenario.json"); });
}

std::vector<Naming> namings() {
    const std::string trace = (scenario_folder / "profiler/small_cnn_16.trace").string();
    return {
        {"/job/model/traces/16", pair,
         R"("model": {"kind": "profiled", "traces": {"16": "FILE"}}, "batch": 16)"},
        {"/job/model/traces/64", pair,
         fmt::format(R"("model": {{"kind": "profiled", "traces": {{"16": "{}", "64": "FILE"}}}},
                        "batch": 16)",
                     trace)},
        {"/job/model/traces/16", pair,
         R"("model": {"kind": "chakra", "traces": {"16": "FILE"}}, "batch": 16)"},
        {"/job/model/system", pair,
         R"("model": {"kind": "chakra", "traces": {"16": "x"}, "system": "FILE"}, "batch": 16)"},
        {"/job/system", pair, R"("workload": "layers.txt", "system": "FILE")"},
        {"/job/comm_groups", pair, R"("workload": "layers.txt", "comm_groups": "FILE")"},
        {"/job/compute/costs", pair,
         R"("model": "lenet5", "batch": 8, "compute": {"costs": "FILE"})"},
        {"/cluster/astra_sim", R"("astra_sim": "FILE", "gpu": "h100_sxm5_80gb")"},
        {"/efficiency/network/nccl_tests", pair, plain,
         R"("efficiency": {"network": {"nccl_tests": "FILE"}},)"},
    };
}

Naming with_file(Naming one, std::string_view name) {
    for (std::string* part : {&one.cluster, &one.job, &one.efficiency}) {
        const std::size_t found = part->find("FILE");
        if (found != std::string::npos) part->replace(found, 4, name);
    }
    return one;
}

}  // namespace

TEST_CASE("named files: what is not there is complained of where it is named", "[scenario]") {
    const ScratchFolder scratch;
    for (const Naming& one : namings()) {
        CAPTURE(one.path, one.job);
        CHECK(complaint_about(with_file(one, "none.json"), scratch) ==
              fmt::format("{0}/scenario.json: at {1}: {0}/none.json: cannot be opened: No such "
                          "file or directory",
                          scratch.path().string(), one.path));
    }
}

TEST_CASE("named files: what no file can be called is complained of there, too", "[scenario]") {
    const ScratchFolder scratch;
    const std::string name(300, 'x');
    for (const Naming& one : {Naming{"/job/workload", pair, R"("workload": "FILE")"},
                              Naming{"/cluster/machine", R"("machine": "FILE", "count": 1)"}}) {
        const std::string complaint = complaint_about(with_file(one, name), scratch);
        CHECK_THAT(complaint, Catch::StartsWith(fmt::format(
                                  "{}/scenario.json: at {}: ", scratch.path().string(), one.path)));
        CHECK(complaint.find('\n') == std::string::npos);
    }
}

TEST_CASE("named files: a mark of UTF-8 before a machine's text is none of it", "[scenario]") {
    const ScratchFolder scratch;
    const std::string matrix = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tNV2\t0-7\nGPU1\tNV2\tX\t0-7\n";
    scratch.file("topo.txt", "\xef\xbb\xbf" + matrix);
    const Naming one{"", R"("machine": "topo.txt", "count": 1, "gpu": "v100_sxm2_16gb")"};
    CHECK(complaint_about(one, scratch) == "(no complaint)");
}

TEST_CASE("named files: what cannot be read is complained of where it is named", "[scenario]") {
    const ScratchFolder scratch;
    scratch.file("bad.json", "{\"a\": [\n");
    const auto check = [&](const Naming& one) {
        CAPTURE(one.path, one.job);
        const std::string complaint = complaint_about(with_file(one, "bad.json"), scratch);
        CHECK_THAT(complaint,
                   Catch::StartsWith(fmt::format("{0}/scenario.json: at {1}: {0}/bad.json",
                                                 scratch.path().string(), one.path)));
        CHECK(complaint.find('\n') == std::string::npos);
    };
    for (const Naming& one : namings()) check(one);
    check({"/job/workload", pair, R"("workload": "FILE")"});
    check({"/cluster/machine", R"("machine": "FILE", "gpu": "v100_sxm2_16gb")"});
    // Of ranks' traces, the one that is bad; of layers, the line.
    scratch.file("sent.0.json", R"({"id": 1, "type": "COMM_SEND_NODE",
        "attr": [{"name": "comm_dst", "int64_val": 1}, {"name": "comm_size", "int64_val": 8}]})");
    scratch.file("sent.1.json", R"({"id": 1, "type": "COMP_NODE", "duration_micros": 5})");
    const std::string at =
        fmt::format("{0}/scenario.json: at /job/workload: {0}/", scratch.path().string());
    CHECK_THAT(complaint_about({"", pair, R"("workload": "sent")"}, scratch),
               Catch::StartsWith(at + "sent.0.json: node 1 (\"\") of rank 0 sends to rank 1"));
    scratch.file("layers.txt", "DATA\n1\na -1 5 NONE 0 5 SUM 0");
    CHECK_THAT(complaint_about({"", pair, R"("workload": "layers.txt")"}, scratch),
               Catch::StartsWith(at + "layers.txt:3:17: expected NONE"));
    // Traces that do not go together.
    const auto trace = [](int values) {
        return fmt::format(R"({{"id": 1, "type": "COMP_NODE", "duration_micros": 500}}
            {{"id": 2, "type": "COMM_COLL_NODE", "data_deps": [1],
              "attr": [{{"name": "comm_type", "int64_val": 0}},
                       {{"name": "comm_size", "int64_val": {}}}]}})",
                           4 * values);
    };
    scratch.file("a.json", trace(1000));
    scratch.file("b.json", trace(2000));
    CHECK(complaint_about({"", pair,
                           R"("model": {"kind": "chakra", "traces": {"8": "a.json",
                              "16": "b.json"}}, "batch": 8)"},
                          scratch) ==
          fmt::format("{0}/scenario.json: at /job/model/traces/16: {0}/b.json: expected the "
                      "gradients of the traces of other batches",
                      scratch.path().string()));
}

TEST_CASE("named files: of replays, too", "[scenario]") {
    const ScratchFolder scratch;
    scratch.file("bad.json", "{\"a\": [\n");
    const auto check = [&](const std::string& key, const std::string& job, std::string_view name) {
        const std::string text = fmt::format(
            R"({{"name": "named", "seed": 1, "cluster": {{"count": 2}},
                 "job": {{"samples": 1000, "batch": 32, {}}},
                 "market": {{"on_demand_price": "3 USD/h"}}, "replay": ["on_demand"]}})",
            job);
        CHECK_THAT(
            complaint_of([&] { scenarios::scenario_from_text(text, scratch / "scenario.json"); }),
            Catch::StartsWith(fmt::format("{0}/scenario.json: at {1}: {0}/{2}",
                                          scratch.path().string(), key, name)));
    };
    constexpr const char* rates = R"("throughput": {"1": "100 samples/s"})";
    for (const std::string name : {"none.json", "bad.json"}) {
        const std::string file = fmt::format("\"{}\"", name);
        check("/job/costs", "\"costs\": " + file, name);
        check("/job/transition/costs",
              fmt::format(R"({}, "transition": {{"costs": {}}})", rates, file), name);
        check(
            "/job/step_time/simulated/steps",
            fmt::format(R"("step_time": {{"simulated": {{"steps": {}, "batches": [16]}}}})", file),
            name);
    }
}

TEST_CASE("named files: as many traces as workers", "[scenario]") {
    const ScratchFolder scratch;
    const char* node = R"({"id": 1, "type": 4, "duration_micros": 5})";
    for (const char* rank : {"0", "1"}) scratch.file(fmt::format("w.{}.json", rank), node);
    const Naming two{"", pair, R"("workload": "w")"};
    CHECK(complaint_about(two, scratch) == "(no complaint)");
    scratch.file("w.2.json", node);
    CHECK_THAT(
        complaint_about(two, scratch),
        Catch::Contains("at /job/workload: expected a trace for each of the job's 2 workers, "
                        "found ") &&
            Catch::EndsWith("w.2.json"));
}

}  // namespace ukemi
