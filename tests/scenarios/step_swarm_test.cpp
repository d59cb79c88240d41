// step_swarm_test.cpp — random scenarios of steps, read and run as `ukemi check` and `ukemi
// simulate` do it.
//
// Machines, networks, models, collectives, buckets, launch rules, codecs, servers, batch norms,
// layouts, links that change and workers that leave are drawn from a seed. A scenario may be
// refused; else its steps are complete, follow each other, and their parts add up.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "policies/plan.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "tests/swarm_seeds.hpp"

namespace ukemi {

namespace {

using nlohmann::json;

class ScenarioDraw {
public:
    explicit ScenarioDraw(RandomStream random) : random_(std::move(random)) {}

    json with_layout() {
        json scenario = begun({"dgx1_v100", "dgx_a100", "dgx_h100", "hgx_a100_4", "p3.8xlarge"});
        const auto machines = scenario["cluster"]["count"].get<std::int64_t>();
        const bool of_four = scenario["cluster"]["machine"] != "dgx1_v100" &&
                             scenario["cluster"]["machine"] != "dgx_a100" &&
                             scenario["cluster"]["machine"] != "dgx_h100";
        json job = {{"precision", random_.chance(0.7) ? "fp16" : "fp32"},
                    {"accumulation", 4 * random_.integer(1, 2)},
                    {"batch", random_.integer(1, 4)}};
        if (random_.chance(0.3)) {
            job["model"] = one_of({"resnet50", "vgg16", "resnet56", "inception_v3", "resnet32"});
            if (random_.chance(0.5)) job["layout"] = {{"split_dense", true}};
            if (!job.contains("layout") || random_.chance(0.5)) job["batch_norm"] = "synchronised";
            job["batch"] = random_.integer(1, 64);
            job["accumulation"] = random_.integer(1, 2);
        } else {
            job["model"] = one_of({"bert_base", "bert_large", "gpt2"});
            const std::int64_t workers = machines * (of_four ? 4 : 8);
            const std::int64_t tensor = std::int64_t{1} << random_.integer(0, 2);
            const std::int64_t pipeline = std::int64_t{1} << random_.integer(0, 2);
            json layout = {{"tensor", tensor}, {"pipeline", pipeline}};
            if (random_.chance(0.2)) layout["context"] = 2;
            if (layout.contains("context")) {
                layout["context_exchange"] = one_of({"ring", "all_to_all", "gather"});
            }
            if (random_.chance(0.2) && tensor > 1) layout["sequence_parallel"] = true;
            if (random_.chance(0.2)) layout["recompute_scores"] = true;
            if (workers % (tensor * pipeline) != 0) job["workers"] = tensor * pipeline;
            layout["schedule"] =
                one_of({"gpipe", "one_forward_one_backward", "interleaved", "zero_bubble"});
            if (layout["schedule"] == "interleaved") layout["chunks"] = random_.integer(1, 3);
            if (random_.chance(0.3)) layout["recompute"] = true;
            if (random_.chance(0.4)) {
                layout["shard"] = one_of({"optimiser", "gradients", "parameters"});
                if (layout["shard"] == "parameters") layout["prefetch"] = random_.integer(0, 3);
            }
            job["layout"] = layout;
        }
        common(job);
        if (job.contains("layout") && job["layout"].contains("shard")) job["collective"] = "ring";
        scenario["job"] = job;
        add_events(scenario);
        return scenario;
    }

    json data_parallel() {
        json scenario =
            begun({"p3.2xlarge", "p3.8xlarge", "dgx1_v100", "dgx_h100", "g4dn.12xlarge", "NC24",
                   "NC12s_v3", "ibm_s822lc", "six_gpu_box", "hgx_a100_4", "p2.8xlarge"});
        const bool two = random_.chance(0.2);
        std::vector<json> jobs;
        for (int i = 0; i < (two ? 2 : 1); ++i) {
            json job = {{"name", fmt::format("job{}", i)},
                        {"model", one_of({"lenet5", "resnet32", "resnet56", "resnet50", "resnet101",
                                          "vgg16", "inception_v3", "bert_base"})},
                        {"batch", random_.integer(1, 48)},
                        {"accumulation", random_.chance(0.7) ? 1 : 3}};
            if (two) job["workers"] = random_.integer(1, 2);
            if (random_.chance(0.2)) job["batch_norm"] = "synchronised";
            if (random_.chance(0.25)) add_servers(job);
            if (random_.chance(0.15)) {
                job["codec"] = one_of({"fp16", "qsgd", "terngrad", "sign", "top_k", "random_k",
                                       "power_sgd", "qsgd_shared", "sign_reduced"});
            }
            if (random_.chance(0.1)) job["monitor"] = "gradient_variance";
            if (random_.chance(0.2)) {
                job["validation"] = {{"every", random_.integer(1, 3)},
                                     {"samples", random_.integer(1, 5000)},
                                     {"distributed", random_.chance(0.5)}};
            }
            common(job);
            jobs.push_back(job);
        }
        if (two) {
            scenario["jobs"] = jobs;
        } else {
            scenario["job"] = jobs.front();
        }
        add_events(scenario);
        return scenario;
    }

private:
    std::string one_of(std::vector<std::string_view> names) {
        const auto last = static_cast<std::int64_t>(names.size()) - 1;
        return std::string(names[static_cast<std::size_t>(random_.integer(0, last))]);
    }
    std::string milliseconds_up_to(std::int64_t most) {
        return fmt::format("{} ms", random_.integer(0, most));
    }

    json begun(std::vector<std::string_view> machines) {
        const std::int64_t count = random_.integer(1, 4);
        json cluster = {{"machine", one_of(std::move(machines))}, {"count", count}};
        if (random_.chance(0.4)) {
            json network = {{"kind", one_of({"single_switch", "leaf_spine", "fat_tree", "ring",
                                             "torus", "rails"})}};
            if (network["kind"] == "leaf_spine" || network["kind"] == "rails") {
                network["machines_per_leaf"] = random_.integer(1, 3);
                network["spines"] = random_.integer(1, 2);
                network["oversubscription"] = 1 + 3 * random_.uniform();
            }
            if (network["kind"] == "torus") network["x"] = count;
            if (random_.chance(0.3)) network["bandwidth"] = "10 Gbit/s";
            if (random_.chance(0.3)) network["latency"] = one_of({"0 s", "1 us", "50 us"});
            cluster["network"] = network;
        }
        json scenario = {
            {"name", "drawn"}, {"seed", random_.integer(0, 1000)}, {"cluster", std::move(cluster)}};
        if (random_.chance(0.2))
            scenario["efficiency"] = {{"network", 0.3 + random_.uniform() / 2}};
        if (count > 1 && random_.chance(0.2)) {
            scenario["cross_traffic"] = {
                {{"from", 0}, {"to", count - 1}, {"flows", random_.integer(1, 3)}}};
        }
        return scenario;
    }

    void common(json& job) {
        job["steps"] = random_.integer(1, 3);
        if (random_.chance(0.6)) {
            job["collective"] = one_of(
                {"ring", "binary_tree", "double_binary_tree", "clique", "halving_doubling", "star",
                 "binary_tree_star", "multi_binary_tree_star", "hierarchical", "parameter_server"});
        }
        if (random_.chance(0.4)) {
            job["buckets"] = {{"rule", one_of({"one", "tensors", "filled", "chunks"})}};
            if (job["buckets"]["rule"] == "chunks") job["buckets"]["size"] = "8 MiB";
        }
        if (random_.chance(0.3)) {
            job["launch"] = {{"rule", one_of({"in_order", "by_name", "coordinated"})}};
        }
        if (random_.chance(0.3)) job["stragglers"] = {{"independent", random_.uniform()}};
        if (random_.chance(0.2)) job["stragglers"] = {{"machine", 0.1}, {"persistent", 0.2}};
        if (random_.chance(0.1)) job["input"] = {{"rate", "500 samples/s"}};
        if (random_.chance(0.5)) {  // where gradients wait for nothing, many things coincide
            job["compute"] = {{"fixed", one_of({"1 us", "1 ms", "10 ms"})}};
        }
    }

    void add_servers(json& job) {
        job["variable_update"] =
            one_of({"parameter_server", "replicated", "distributed_replicated", "independent",
                    "distributed_all_reduce", "collective_all_reduce", "horovod"});
        if (job["variable_update"] == "parameter_server" && random_.chance(0.6)) {
            job["servers"] = {{"asynchronous", random_.chance(0.5)}};
            if (random_.chance(0.3)) {
                job["servers"]["separate"] = true;
                job["servers"]["count"] = 1;
            }
            if (random_.chance(0.3)) job["transport"] = "host";
        }
    }

    void add_events(json& scenario) {
        const auto machines = scenario["cluster"]["count"].get<std::int64_t>();
        json events = json::array();
        if (random_.chance(0.4)) {
            events.push_back({{"kind", "links"},
                              {"at", milliseconds_up_to(200)},
                              {"machine", random_.integer(0, machines - 1)},
                              {"share", random_.chance(0.2) ? 0.0 : random_.uniform()},
                              {"until", fmt::format("{} ms", random_.integer(201, 900))}});
        }
        if (machines > 1 && random_.chance(0.4)) {
            json leaving = {{"kind", "leave"},
                            {"at", milliseconds_up_to(300)},
                            {"delay", milliseconds_up_to(50)}};
            if (scenario.contains("jobs")) leaving["job"] = "job0";
            leaving[random_.chance(0.5) ? "machine" : "worker"] = random_.integer(0, 1);
            events.push_back(leaving);
        }
        if (!events.empty()) scenario["events"] = events;
    }

    RandomStream random_;
};

std::vector<sim::JobSteps> run(const scenarios::StepScenario& scenario) {
    std::vector<sim::StepJob> jobs;
    for (const scenarios::StepJobEntry& entry : scenario.jobs) jobs.push_back(entry.job);
    return sim::run_steps(scenario.topology, jobs, scenario.cross_traffic, {scenario.seed, 0},
                          scenario.events);
}

// What no run may break, or empty.
std::string broken_rule(const scenarios::StepScenario& scenario,
                        std::span<const sim::JobSteps> results) {
    for (std::size_t j = 0; j < results.size(); ++j) {
        const sim::StepJob& job = scenario.jobs[j].job;
        if (std::ssize(results[j].steps) != job.steps) return job.name + ": steps are missing";
        Instant last;
        for (const sim::StepRecord& step : results[j].steps) {
            // Steps of workers that do not wait for each other overlap.
            if (!job.asynchronous && step.begin != last) return job.name + ": a gap of steps";
            if (step.end < step.begin) return job.name + ": a step ends before it begins";
            if (step.parts.total() != step.end - step.begin) {
                return job.name + ": parts do not add up";
            }
            for (const sim::StepPart& part : sim::step_parts) {
                if (step.parts.*part.value < Duration{}) {
                    return fmt::format("{}: {} is negative", job.name, part.words);
                }
            }
            last = step.end;
        }
    }
    return {};
}

struct Tried {
    std::int64_t ran = 0;
    std::int64_t refused = 0;
};

// As many as `least` that run, more while there is time.
Tried try_scenarios(SwarmSeeds& seeds, std::string_view stream, std::int64_t least,
                    json (ScenarioDraw::*draw)()) {
    Tried tried;
    while (seeds.more(tried.ran >= least)) {
        const std::uint64_t seed = seeds.now();
        ScenarioDraw scenarios(RandomStream(seed, stream));
        const std::string text = (scenarios.*draw)().dump();
        CAPTURE(seed, text);
        try {
            const scenarios::StepScenario scenario =
                scenarios::step_scenario_from_text(text, "drawn.json");
            const std::vector<sim::JobSteps> results = run(scenario);
            REQUIRE(broken_rule(scenario, results) == "");
            ++tried.ran;
        } catch (const InputError&) {
            ++tried.refused;
        }
        REQUIRE(tried.refused < 10 * (tried.ran + 10));  // else it tests nothing
    }
    return tried;
}

}  // namespace

TEST_CASE("step swarm: random scenarios of steps are read and run to their end",
          "[scenario][swarm][property]") {
    SwarmSeeds seeds("test_scenarios [swarm]", 0, 1);
    const Tried tried = try_scenarios(seeds, "test/step_swarm", 200, &ScenarioDraw::data_parallel);
    fmt::print("step swarm: {} scenarios ran, {} were refused\n", tried.ran, tried.refused);
}

TEST_CASE("step swarm: random layouts are read and run to their end",
          "[scenario][swarm][property]") {
    SwarmSeeds seeds("test_scenarios [swarm]", 0, 1);
    const Tried tried = try_scenarios(seeds, "test/layout_swarm", 150, &ScenarioDraw::with_layout);
    fmt::print("step swarm: {} layouts ran, {} were refused\n", tried.ran, tried.refused);
}

TEST_CASE("step swarm: edges of a ring that end at one tick end as usual", "[scenario]") {
    const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(
        R"({"name": "x", "seed": 1, "cluster": {"machine": "dgx_h100", "count": 2},
            "job": {"model": "resnet50", "batch": 32, "batch_norm": "synchronised", "steps": 2}})",
        "x.json");
    CHECK(broken_rule(scenario, run(scenario)) == "");
}

}  // namespace ukemi
