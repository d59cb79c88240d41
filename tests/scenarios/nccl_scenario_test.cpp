// nccl_scenario_test.cpp — "collective": "nccl" in scenarios of steps and in replays' step times.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "scenarios/reader/read_collective.hpp"
#include "scenarios/reader/simulated_steps.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

constexpr std::string_view text = R"({
  "name": "nccl", "seed": 1, "cluster": {"machine": "dgx_h100", "count": 2},
  "job": {"model": "bert_large", "batch": 8, "precision": "bf16", "collective": "nccl", "steps": 3}
})";

// All gradients at once, after the whole backward pass, so that a step is a sum.
constexpr std::string_view in_one = R"({
  "name": "one", "seed": 1, "cluster": {"machine": "dgx_a100", "count": 2},
  "job": {"model": "resnet50", "batch": 8, "collective": "nccl", "steps": 3,
          "buckets": {"rule": "one"}}
})";

double step_s(const scenarios::StepScenario& scenario) {
    const std::vector<sim::StepJob> jobs = {scenario.jobs.front().job};
    const auto steps = sim::run_steps(scenario.topology, jobs, {}, {}).front().steps;
    return to_seconds(steps.back().end - steps.back().begin);
}

}  // namespace

TEST_CASE("nccl scenario: a step waits for what NCCL takes", "[scenario]") {
    const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(in_one, "one.json");
    const sim::StepJob& job = scenario.jobs.front().job;
    CHECK(job.nccl);
    sim::Routes routes(scenario.topology);
    const sim::NcclPlace place = sim::nccl_place(scenario.topology, routes, job.workers, "test");
    const Bytes gradients = bytes(4 * std::int64_t{25'557'032});
    const double exchange = sim::nccl_seconds(place, sim::nccl_choice(place, gradients), gradients);
    const double step = to_seconds(job.compute.front() + job.longest_update()) + exchange;
    CHECK(step_s(scenario) == Approx(step).epsilon(1e-6));
    std::string slow(in_one);
    slow.replace(slow.find("\"buckets\""), 0, R"("launch": {"overhead": "1 ms"}, )");
    const auto slower = scenarios::step_scenario_from_text(slow, "slow.json");
    CHECK(step_s(slower) == Approx(step + 1e-3).epsilon(1e-6));
}

TEST_CASE("nccl scenario: the step of all_reduce_h100 is one message", "[scenario]") {
    const scenarios::StepScenario scenario =
        scenarios::read_step_scenario(scenario_folder / "steps/all_reduce_h100.json");
    const sim::StepJob& job = scenario.jobs.front().job;
    sim::Routes routes(scenario.topology);
    const sim::NcclPlace place = sim::nccl_place(scenario.topology, routes, job.workers, "test");
    const Bytes size = mebibytes(256);
    const double alone_s = sim::nccl_seconds(place, sim::nccl_choice(place, size), size);
    CHECK(alone_s > 1e-3);
    CHECK(std::abs(step_s(scenario) - alone_s) < 3e-9);  // a nanosecond computes
}

TEST_CASE("nccl scenario: the slowest machine's NICs carry the rings", "[scenario]") {
    const auto step_of = [](const char* first, const char* second) {
        const std::string zones = fmt::format(
            R"({{"zones": [{{"machine": "p3.8xlarge", "count": 2, "links": {}}},
                           {{"machine": "p3.8xlarge", "count": 2, "links": {}}}],
                 "between_zones": {{"bandwidth": "1000 Gbit/s", "latency": "0 s"}}}})",
            first, second);
        const std::vector<ConfigOverride> set = {{"/cluster", zones, "--set"}};
        return step_s(scenarios::step_scenario_from_text(in_one, "one.json", set));
    };
    const char* fast = R"({"bandwidth": "100 Gbit/s"})";
    const char* slow = R"({"bandwidth": "10 Gbit/s"})";
    const double slow_s = step_of(slow, slow);
    CHECK(step_of(fast, slow) == Approx(slow_s).epsilon(1e-3));
    CHECK(step_of(slow, fast) == Approx(slow_s).epsilon(1e-3));
    CHECK(step_of(fast, fast) < 0.5 * slow_s);
    const char* fabric = R"({"kind": "infiniband", "bandwidth": "25 Gbit/s"})";
    const char* cloud = R"({"kind": "cloud_tcp", "bandwidth": "25 Gbit/s"})";
    CHECK(step_of(fabric, cloud) == Approx(step_of(cloud, fabric)).epsilon(1e-6));
}

// Uplinks as fast as a leaf's NICs let everything through.
TEST_CASE("nccl scenario: unequal machines fill no switch that equal ones do not", "[scenario]") {
    const auto step_of = [](const char* machine, int workers, const char* network) {
        const std::vector<ConfigOverride> set = {
            {"/cluster",
             fmt::format(R"({{"machine": "{}", "count": 2, "network": {}}})", machine, network),
             "--set"},
            {"/job/workers", fmt::format("{}", workers), "--set"}};
        return step_s(scenarios::step_scenario_from_text(in_one, "one.json", set));
    };
    for (const auto& [machine, most] : {std::pair("p3.8xlarge", 8), {"p3dn.24xlarge", 16}}) {
        for (int workers = most; workers > most / 2; --workers) {
            CAPTURE(machine, workers);
            CHECK(step_of(machine, workers, R"({"kind": "leaf_spine", "machines_per_leaf": 1})") ==
                  Approx(step_of(machine, workers, R"({"kind": "single_switch"})")).epsilon(0.01));
        }
    }
}

TEST_CASE("nccl scenario: it says what is picked, and with which rates", "[scenario]") {
    const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(text, "n.json");
    const std::string& why = scenario.jobs.front().why;
    CHECK_THAT(why, Catch::Contains("NVLSTree/Simple for 21 messages"));
    CHECK_THAT(why, Catch::Contains("InfiniBand or RoCE at 0.96"));
    const std::vector<ConfigOverride> slow = {{"/efficiency", R"({"network": 0.1})", "--set"}};
    const scenarios::StepScenario slower = scenarios::step_scenario_from_text(text, "n.json", slow);
    CHECK_THAT(slower.jobs.front().why, Catch::Contains("at 0.1 (efficiency)"));
    CHECK(step_s(slower) > 1.5 * step_s(scenario));
}

TEST_CASE("nccl scenario: all kinds of groups say what is picked", "[scenario]") {
    const auto why = [](const char* layout) {
        const std::vector<ConfigOverride> set = {{"/job/layout", layout, "--set"},
                                                 {"/job/accumulation", "4", "--set"}};
        return scenarios::step_scenario_from_text(text, "n.json", set).jobs.front().why;
    };
    CHECK_THAT(
        why(R"({"tensor": 8, "pipeline": 2})"),
        Catch::StartsWith("in tensor groups: NVLS/") && Catch::Contains("NVLink 4 at 0.824"));
    CHECK_THAT(why(R"({"shard": "optimiser"})"), Catch::StartsWith("to scatter: ") &&
                                                     Catch::Contains("; to gather: ") &&
                                                     Catch::Contains("InfiniBand or RoCE at 0.96"));
    CHECK_THAT(why(R"({"shard": "parameters", "tensor": 4})"),
               Catch::StartsWith("to scatter: ") && Catch::Contains("; in tensor groups: "));
    // Of all stages that the first worker has.
    for (const char* schedule : {"one_forward_one_backward", "interleaved", "dual_pipe"}) {
        const std::string layout =
            fmt::format(R"({{"pipeline": 2, "schedule": "{}", "chunks": {}}})", schedule,
                        std::string(schedule) == "interleaved" ? 3 : 1);
        const std::vector<ConfigOverride> set = {
            {"/job/layout", layout, "--set"},
            {"/job/buckets", R"({"rule": "tensors"})", "--set"},
            {"/job/accumulation", "4", "--set"}};
        const auto scenario = scenarios::step_scenario_from_text(text, "n.json", set);
        const scenarios::StepJobEntry& entry = scenario.jobs.front();
        std::int64_t told = 0;
        for (std::size_t at = 0; (at = entry.why.find("for ", at)) != std::string::npos; ++at) {
            told += std::atoll(entry.why.c_str() + at + 4);
        }
        CAPTURE(schedule, entry.why);
        CHECK(told == entry.buckets);
    }
}

TEST_CASE("nccl scenario: what NCCL cannot do is refused with its place", "[scenario]") {
    const std::vector<ConfigOverride> amd = {{"/cluster/machine", "mi300x_8", "--set"}};
    CHECK_THROWS_WITH(scenarios::step_scenario_from_text(text, "n.json", amd),
                      "n.json: at /job/collective: nccl does not run on mi300x");
}

TEST_CASE("nccl scenario: machines with NVLink use it unless told otherwise", "[scenario]") {
    struct Way {
        const char* cluster;
        const char* keys;
        bool nccl = false;
        bool usual = false;
    };
    const Way ways[] = {
        {R"({"machine": "dgx_a100", "count": 2})", "", true, true},
        {R"({"machine": "p3.8xlarge", "count": 1})", R"(, "workers": 3)", true, true},
        {R"({"machine": "dgx_a100", "count": 2})", R"(, "collective": "nccl")", true, false},
        {R"({"machine": "dgx_a100", "count": 2})", R"(, "collective": "ring")", false, false},
        {R"({"machine": "dgx_a100", "count": 2})", R"(, "variable_update": "horovod")", false,
         false},
        // No NVLink, a GPU that NCCL does not know, machines of two kinds, nothing to add up.
        {R"({"machine": "p3.2xlarge", "count": 2})", "", false, false},
        {R"({"machine": "mi300x_8", "count": 1})", "", false, false},
        {R"({"zones": [{"machine": "p3.8xlarge"}, {"machine": "dgx1_v100"}]})", "", false, false},
        {R"({"machine": "dgx_a100", "count": 2})", R"(, "workers": 1)", false, false},
    };
    for (const Way& way : ways) {
        CAPTURE(way.cluster, way.keys);
        const std::string steps = fmt::format(
            R"({{"name": "n", "seed": 1, "cluster": {},
                 "job": {{"model": "resnet50", "batch": 8, "steps": 2{},
                          "compute": {{"table": {{"8": "50 ms"}}}}}}}})",
            way.cluster, way.keys);
        const scenarios::StepScenario scenario =
            scenarios::step_scenario_from_text(steps, "n.json");
        const scenarios::StepJobEntry& entry = scenario.jobs.front();
        CHECK(entry.job.nccl == way.nccl);
        CHECK(entry.usual_nccl == way.usual);
        CHECK(scenarios::why_collective(entry).empty() == (!way.usual && !entry.cheapest));
    }
}

TEST_CASE("nccl scenario: links that are fitted to NCCL's log are used by NCCL", "[scenario]") {
    const ScratchFolder scratch;
    scratch.file("all_reduce_log.csv",
                 "#  Rank 0 Group 0 Pid 1 on a device 0 [07] Tesla V100\n"
                 "#  Rank 1 Group 0 Pid 2 on b device 0 [07] Tesla V100\n"
                 "# size count type redop root time algbw busbw #wrong\n"
                 "268435456 67108864 float sum -1 300000 0.89 0.89 0\n");
    const auto entry = [&](const char* machine, const char* keys) {
        const std::string steps = fmt::format(
            R"({{"name": "n", "seed": 1, "cluster": {{"machine": "{}", "count": 2}},
                 "efficiency": {{"network": {{"nccl_tests": "all_reduce_log.csv"}}}},
                 "job": {{"model": "resnet50", "batch": 8, "steps": 2{},
                          "compute": {{"table": {{"8": "50 ms"}}}}}}}})",
            machine, keys);
        return scenarios::step_scenario_from_text(steps, scratch / "n.json").jobs.front();
    };
    const scenarios::StepJobEntry usual = entry("p3.2xlarge", "");
    CHECK(usual.job.nccl);
    CHECK(scenarios::why_collective(usual) == " (as the log that links are fitted to)");
    CHECK_FALSE(entry("p3.2xlarge", R"(, "collective": "ring")").job.nccl);
    CHECK_FALSE(entry("p3.2xlarge", R"(, "variable_update": "horovod")").job.nccl);
    CHECK_FALSE(entry("p3.2xlarge", R"(, "workers": 1)").job.nccl);
    CHECK(scenarios::why_collective(entry("p3.8xlarge", "")) ==
          " (as usual on machines with NVLink)");
}

TEST_CASE("nccl scenario: rings alone, as NCCL before 2.4 had them", "[scenario]") {
    const std::vector<ConfigOverride> rings = {{"/job/nccl_algorithms", "ring", "--set"}};
    const scenarios::StepScenario all = scenarios::step_scenario_from_text(text, "n.json");
    const scenarios::StepScenario ring = scenarios::step_scenario_from_text(text, "n.json", rings);
    CHECK_THAT(all.jobs.front().why, !Catch::Contains("ring/"));
    CHECK_THAT(ring.jobs.front().why,
               Catch::StartsWith("ring/") && !Catch::Contains("tree/") && !Catch::Contains("NVLS"));
    CHECK(step_s(ring) > step_s(all));
}

TEST_CASE("nccl scenario: of messages that are gathered it says how they are", "[scenario]") {
    const auto why = [](const char* codec, const char* collective) {
        const std::vector<ConfigOverride> set = {{"/job/codec", codec, "--set"},
                                                 {"/job/collective", collective, "--set"}};
        return scenarios::step_scenario_from_text(in_one, "n.json", set).jobs.front().why;
    };
    CHECK_THAT(why("none", "nccl"), !Catch::Contains("gather"));
    CHECK_THAT(why("power_sgd:2", "nccl"), !Catch::Contains("gather"));
    for (const char* codec : {"top_k", "sign"}) {
        CAPTURE(codec);
        CHECK_THAT(why(codec, "nccl"), Catch::StartsWith("to gather: ring/") &&
                                           Catch::Contains(" for 1 message up to ") &&
                                           !Catch::Contains("tree/"));
        CHECK(why(codec, "cheapest") ==
              "messages are gathered in rings: nothing is added up on the way");
        CHECK(why(codec, "halving_doubling") == why(codec, "cheapest"));
        CHECK(why(codec, "dimension_search") == why(codec, "cheapest"));
    }
}

TEST_CASE("transport scenario: gradients through the hosts, by the rates that it names",
          "[scenario]") {
    const auto read = [](const std::vector<ConfigOverride>& set) {
        return scenarios::read_step_scenario(
            std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios/steps/horovod_p100.json", set);
    };
    const scenarios::StepScenario usual = read({});
    const sim::StepJob& job = usual.jobs.front().job;
    REQUIRE(job.hosts);
    CHECK(*job.hosts == sim::HostTransport{});
    CHECK(job.launch.copy_s_per_byte == job.hosts->device_s_per_byte());
    CHECK(job.launch.buffer_s_per_byte == job.hosts->buffer_s_per_byte());
    const scenarios::StepScenario fast =
        read({{"/job/transport", R"({"connection": "2 GB/s", "sum": "4 GB/s", "round_trips": 0})",
               "--set"}});
    const sim::HostTransport& hosts = *fast.jobs.front().job.hosts;
    CHECK(hosts.connection == 2e9);
    CHECK(hosts.sum == 4e9);
    CHECK(hosts.round_trips == 0);
    CHECK(hosts.device == sim::HostTransport{}.device);
    CHECK(step_s(fast) < step_s(usual));
}

TEST_CASE("nccl scenario: layouts take NCCL's times for their groups, too", "[scenario]") {
    const std::vector<ConfigOverride> layout = {
        {"/job/layout", R"({"tensor": 8, "data": 2})", "--set"}};
    const scenarios::StepScenario with = scenarios::step_scenario_from_text(text, "n.json", layout);
    const std::vector<ConfigOverride> ring = {
        {"/job/layout", R"({"tensor": 8, "data": 2})", "--set"},
        {"/job/collective", "ring", "--set"}};
    const scenarios::StepScenario without =
        scenarios::step_scenario_from_text(text, "n.json", ring);
    CHECK(step_s(with) > step_s(without));  // launches and latencies of small tensor sums
}

TEST_CASE("nccl scenario: a log of nccl-tests is a link's efficiency", "[scenario]") {
    const ScratchFolder folder;
    std::ofstream(folder / "log.csv")
        << "source,system,gpu,nodes,gpus_per_node,setup,collective,size_bytes,dtype,oop_time_us,"
           "oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps,file\n"
           "a,b,A100,2,8,s,all_reduce,1073741824,float,20132.66,53.3,100,20132.66,53.3,100,f\n";
    const auto file = folder / "steps.json";
    std::ofstream(file) << in_one;
    const std::vector<ConfigOverride> fit = {
        {"/efficiency", R"({"network": {"nccl_tests": "log.csv"}})", "--set"}};
    const scenarios::StepScenario scenario = scenarios::read_step_scenario(file, fit);
    REQUIRE(scenario.fitted.size() == 1);
    // 100 GB/s of bus bandwidth is half of eight NICs of 25 GB/s.
    CHECK_THAT(scenario.fitted.front(),
               Catch::StartsWith("network at 0.5") &&
                   Catch::Contains("fitted to log.csv (2 x 8 GPUs, 1 rows"));
    const std::vector<ConfigOverride> inside = {
        {"/efficiency", R"({"nvlink": {"nccl_tests": "log.csv"}})", "--set"}};
    CHECK_THROWS_WITH(scenarios::read_step_scenario(file, inside),
                      Catch::Contains("at /efficiency/nvlink/nccl_tests") &&
                          Catch::Contains("expected a log of one node, found 2 nodes"));
    // A rate that no share of these links has; and another setup beside it.
    std::ofstream(folder / "log.csv", std::ios::app)
        << "a,b,A100,2,8,other,all_reduce,1073741824,float,20132.66,53.3,100,20132.66,53.3,100,f\n";
    CHECK_THROWS_WITH(scenarios::read_step_scenario(file, fit),
                      Catch::Contains("expected one table of all_reduce, found 2"));
    std::ofstream(folder / "log.csv")
        << "source,system,gpu,nodes,gpus_per_node,setup,collective,size_bytes,dtype,oop_time_us,"
           "oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps,file\n"
           "a,b,A100,2,8,s,all_reduce,1073741824,float,1000,1073,2013,1000,1073,2013,f\n";
    CHECK_THROWS_WITH(scenarios::read_step_scenario(file, fit),
                      Catch::Contains("no share of the network's line rate comes near"));
    std::ofstream(folder / "log.csv")
        << "# size count type redop time algbw busbw error\n"
           "# (B) (elements) (us) (GB/s) (GB/s)\n"
           " 1073741824 268435456 float sum 20132.66 53.33 100.00 0e+00\n";
    CHECK_THROWS_WITH(scenarios::read_step_scenario(file, fit),
                      Catch::Contains("log.csv: expected ") &&
                          Catch::Contains("; its \"#  Rank\" lines are missing, which say how many "
                                          "ranks there were, and where"));
}

TEST_CASE("nccl scenario: a shortened log is a link's efficiency where its nodes are known",
          "[scenario]") {
    const ScratchFolder folder;
    const auto file = folder / "steps.json";
    std::ofstream(file) << in_one;
    const auto fitted = [&](const char* link, const std::string& lines) {
        std::ofstream(folder / "log.txt")
            << lines
            << "# size count type redop root time algbw busbw #wrong\n"
               "1073741824 268435456 float sum -1 20132.66 53.33 100.00 0\n";
        const std::vector<ConfigOverride> fit = {
            {"/efficiency", fmt::format(R"({{"{}": {{"nccl_tests": "log.txt"}}}})", link),
             "--set"}};
        return scenarios::read_step_scenario(file, fit).fitted.at(0);
    };
    const std::string first = "#  Rank  0 Group 0 Pid 1 on a device 0 [07] NVIDIA A100\n";
    const std::string last = "#  Rank 15 Group 0 Pid 9 on b device 7 [07] NVIDIA A100\n";
    CHECK_THAT(fitted("network", first + last),
               Catch::StartsWith("network at 0.5") && Catch::Contains("(2 x 8 GPUs, 1 rows"));
    // Sixteen ranks by the bandwidths, but on one node or on several?
    for (const char* link : {"network", "nvlink"}) {
        CHECK_THROWS_WITH(fitted(link, first),
                          Catch::Contains("found an unknown number of nodes; some of its \"#  "
                                          "Rank\" lines are missing"));
        CHECK_THROWS_WITH(fitted(link, ""),
                          Catch::Contains("found an unknown number of nodes; its \"#  Rank\" "
                                          "lines are missing"));
    }
}

TEST_CASE("nccl scenario: a replay's step times come from it", "[simulated_steps]") {
    const ScratchFolder folder;
    const auto file = folder.path() / "steps.json";
    std::ofstream(file) << in_one;
    const std::vector<std::int64_t> batches = {8};
    const policies::StepTime time = scenarios::simulated_steps(file, batches, 2);
    const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(in_one, "one.json");
    REQUIRE(time.groups.size() == 2);
    CHECK(to_seconds(time.groups.back().steps.front().time) ==
          Approx(step_s(scenario)).epsilon(1e-4));
    CHECK_THAT(
        scenarios::simulated_exchange(file),
        Catch::StartsWith("nccl: ring/LL128 for 1 message up to 102 MB; NVLink 3 at 0.781") &&
            Catch::Contains("InfiniBand or RoCE at 0.96"));
}

}  // namespace ukemi
