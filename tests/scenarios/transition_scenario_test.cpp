// transition_scenario_test.cpp — "transition" as scenarios say it, and the scenarios that stand on
// phases, slow machines, learners and several policies at once.
#include <catch2/catch.hpp>
#include <chrono>

#include "scenarios/experiment/experiment.hpp"
#include "sim/job/transition_systems.hpp"
#include "tests/recorded.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

scenarios::Scenario with_transition(std::string_view transition) {
    return scenarios::scenario_from_text(fmt::format(R"({{"name": "small", "seed": 1,
        "job": {{"samples": 1000, "batch": 10, "throughput": {{"1": "10 samples/s"}},
                 "model_size": "1.25 GB", "transition": {}}},
        "cluster": {{"count_min": 1, "count_max": 8}},
        "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
        "replay": ["on_demand"]}})",
                                                     transition),
                                         "small.json");
}

records::RunResult run_of(const scenarios::Scenario& scenario, std::string_view policies,
                          const scenarios::RunOptions& options = {}) {
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    const scenarios::PolicyList list =
        scenarios::parse_policies(policies, scenario, "test").front();
    return scenarios::run_one(scenario, market, list, scenario.seed, options).result;
}

}  // namespace

TEST_CASE("transition scenario: a system by name, and what is said beside it", "[scenario]") {
    const sim::JobSpec job = with_transition(R"({"system": "or_et_al", "reattach": "5 s",
        "shrink": {"rendezvous": "1 s"}, "warm_up": {"1": "2 s", "8": "9 s"}})")
                                 .job;
    REQUIRE(job.transition);
    CHECK(job.transition->overlapped_spawn == whole_seconds(30));
    CHECK(job.transition->reattach == whole_seconds(5));
    CHECK(policies::time_for_size(job.transition->of(sim::GroupChange::grow).rendezvous, 3) ==
          seconds(2.7));
    CHECK(policies::time_for_size(job.transition->of(sim::GroupChange::shrink).rendezvous, 3) ==
          whole_seconds(1));
    CHECK(policies::time_for_size(job.transition->of(sim::GroupChange::shrink).warm_up, 3) ==
          whole_seconds(4));
    // What policies expect of it, at the full size.
    CHECK(job.profile.spawn == whole_seconds(30));
    CHECK(job.profile.restart == seconds(2.7 + 9));
}

TEST_CASE("transition scenario: spawning that stops the others, and the model over the network",
          "[scenario]") {
    const sim::JobSpec job = with_transition(R"({"spawn": "20 s", "restarts": "whole_program",
        "saves_first": false, "transfer": {"bandwidth": "10 Gbit/s", "from": "all"}})")
                                 .job;
    REQUIRE(job.transition);
    CHECK(job.transition->whole_program);
    CHECK_FALSE(job.transition->saves_first);
    CHECK(policies::time_for_size(job.transition->of(sim::GroupChange::shrink).spawn, 8) ==
          whole_seconds(20));
    CHECK(to_seconds(sim::state_transfer_time(job.transition->transfer, 4, 4)) == Approx(1));
    const sim::JobSpec overlapping =
        with_transition(R"({"system": "or_et_al", "spawn_overlaps": false})").job;
    CHECK(overlapping.profile.spawn == Duration{});
    CHECK(overlapping.profile.restart == seconds(32.7));
}

TEST_CASE("transition scenario: resize_costs shows what systems make of the same changes",
          "[scenario]") {
    const auto with_system = [](std::string_view system, std::string_view policies) {
        const std::vector<ConfigOverride> overrides{
            {"/job/transition/system", std::string(system)}};
        return run_of(
            scenarios::read_scenario(scenario_folder / "size/resize_costs.json", overrides),
            policies);
    };
    constexpr std::string_view rule = "throughput_resize+on_demand";
    const records::RunResult overlapping = with_system("or_et_al", rule);
    const records::RunResult waiting = with_system("kungfu", rule);
    const records::RunResult saved = with_system("checkpoint_restart", rule);
    const records::RunResult tried = with_system("trial_and_error", rule);
    const records::RunResult fixed = with_system("or_et_al", "on_demand");
    for (const records::RunResult* result : {&overlapping, &waiting, &saved, &tried, &fixed}) {
        CHECK(result->finished);
        REQUIRE(result->phases);
    }
    const auto standstill = [](const records::RunResult& result) {
        Duration sum;
        for (const records::PhaseCost& phase : *result.phases) sum += phase.standstill;
        return sum;
    };
    CHECK(standstill(overlapping) < standstill(waiting));
    CHECK(standstill(waiting) < standstill(saved));
    CHECK(tried.causes.time_of(records::Cause::redone) > Duration{});
    CHECK(saved.causes.time_of(records::Cause::redone) == Duration{});
    CHECK(tried.duration > saved.duration);
    CHECK(fixed.transitions == 1);
}

TEST_CASE("transition scenario: the published autoscaling runs are scenarios",
          "[scenario][golden]") {
    // Or et al., MLSys'20, read off the authors' figures; all but the run from 40 workers on
    // ImageNet, which dips once for noise. Times and completion: tests/sim, and the benchmark.
    using Sizes = std::vector<std::int32_t>;
    const auto sizes_from = [](const char* name, std::int32_t start) {
        const std::vector<ConfigOverride> overrides{
            {"/cluster/count_start", fmt::format("{}", start)}};
        const scenarios::Scenario scenario =
            scenarios::read_scenario(scenario_folder / name, overrides);
        const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
        scenarios::RunOptions options;
        options.timeline = true;
        const records::RunResult result =
            scenarios::run_one(scenario, market, scenario.policies.front(), 1, options).result;
        Sizes sizes;
        for (const records::TimelineRow& row : result.timeline) {
            if (row.phase != policies::JobPhase::running) continue;
            if (sizes.empty() || sizes.back() != row.workers) sizes.push_back(row.workers);
        }
        return sizes;
    };
    const auto cifar = [&](std::int32_t start) {
        return sizes_from("size/autoscaling_cifar10.json", start);
    };
    CHECK(cifar(4) == Sizes{4, 8, 4});
    CHECK(cifar(8) == Sizes{8, 12, 4});
    CHECK(cifar(12) == Sizes{12, 16, 8, 4, 8, 4});
    CHECK(cifar(16) == Sizes{16, 20, 12, 8, 4, 8, 4});
    CHECK(cifar(20) == Sizes{20, 24, 16, 12, 8, 4, 8, 4});
    CHECK(cifar(24) == Sizes{24, 20, 16, 12, 8, 4, 8, 4});
    const auto imagenet = [&](std::int32_t start) {
        return sizes_from("size/autoscaling_imagenet.json", start);
    };
    CHECK(imagenet(32) == Sizes{32, 40, 48, 56, 64});
    CHECK(imagenet(48) == Sizes{48, 56, 64});
    CHECK(imagenet(56) == Sizes{56, 64});
    CHECK(imagenet(64) == Sizes{64, 56, 64});
}

TEST_CASE("transition scenario: stragglers are replaced, and learners tuned", "[scenario]") {
    const scenarios::Scenario stragglers =
        scenarios::read_scenario(scenario_folder / "size/stragglers.json");
    const records::RunResult slow = run_of(stragglers, "on_demand");
    const records::RunResult replaced = run_of(stragglers, "replace_stragglers+on_demand");
    CHECK(replaced.finished);
    CHECK(replaced.launches > slow.launches);
    CHECK(replaced.duration < slow.duration);
    CHECK(replaced.cost < slow.cost);
    const scenarios::Scenario learners =
        scenarios::read_scenario(scenario_folder / "learners/learners.json");
    const records::RunResult one = run_of(learners, "on_demand");
    const records::RunResult tuned = run_of(learners, "tune_learners+on_demand");
    CHECK(to_seconds(one.duration) / to_seconds(tuned.duration) == Approx(1.9).epsilon(0.03));
}

TEST_CASE("transition scenario: collectives are tried, or chosen by size", "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "exchange/collectives.json");
    CHECK(scenario.job.plan.collective ==
          policies::Collective::hierarchical);  // the first has the best
    const records::RunResult best = run_of(scenario, "on_demand");
    const records::RunResult tried = run_of(scenario, "measured_collective+on_demand");
    const records::RunResult by_size = run_of(scenario, "topology_by_size+on_demand");
    CHECK(tried.finished);
    // Ten steps and one under each of two others: 11 x 33.0 ms and 11 x 179.4 ms, about.
    const double price = to_seconds(tried.duration) - to_seconds(best.duration);
    CHECK(price == Approx(11 * 0.0330 + 11 * 0.1794).epsilon(0.15));
    CHECK(to_seconds(by_size.duration) > 2 * to_seconds(best.duration));
}

TEST_CASE("transition scenario: in bamboo.json redundancy does more than the checkpoint strawman",
          "[scenario]") {
    const auto with_rules = [](std::string_view rules, int seed) {
        const std::vector<ConfigOverride> overrides{{"/job/pipelines/rules", std::string(rules)},
                                                    {"/seed", std::to_string(seed)}};
        return run_of(scenarios::read_scenario(scenario_folder / "size/bamboo.json", overrides),
                      "spread_zones+spot_only+daly_checkpoint");
    };
    // A run may end a step after the last machines came back, whatever was lost before.
    Duration redundant_took;
    Duration strawman_took;
    for (const int seed : {1, 2, 3, 4}) {
        CAPTURE(seed);
        const records::RunResult redundant = with_rules("bamboo", seed);
        const records::RunResult strawman = with_rules("checkpoints", seed);
        CHECK(redundant.finished);
        CHECK(strawman.finished);
        CHECK(redundant.revocations > 0);
        CHECK(redundant.duration <= strawman.duration);
        CHECK(redundant.causes.time_of(records::Cause::redone) <
              strawman.causes.time_of(records::Cause::redone));
        redundant_took += redundant.duration;
        strawman_took += strawman.duration;
    }
    CHECK(redundant_took < strawman_took);
}

TEST_CASE("transition scenario: the arithmetic of KungFu's Megatron epoch", "[scenario][golden]") {
    // Mai et al., OSDI'20 talk: 2.10 days on 512 GPUs, 92,613 USD on demand, 15,152 USD on spot.
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "size/megatron_epoch.json");
    const std::vector<ConfigOverride> overrides{{"/job/transition", R"({"rendezvous": "0 s"})"}};
    const scenarios::Scenario free_start =
        scenarios::read_scenario(scenario_folder / "size/megatron_epoch.json", overrides);
    const records::RunResult on_demand = run_of(free_start, "on_demand");
    const records::RunResult spot = run_of(free_start, "spot_only");
    CHECK(on_demand.steps == 68'507);
    CHECK(8 * to_hours(on_demand.held) == Approx(25'804.8).epsilon(1e-6));
    CHECK(to_dollars(on_demand.cost) == Approx(92'613).epsilon(1e-5));
    CHECK(to_dollars(spot.cost) == Approx(15'152).epsilon(1e-5));
    CHECK(to_seconds(on_demand.step_mean.value()) == Approx(2.6485).epsilon(1e-4));
    CHECK(run_of(scenario, "on_demand").finished);
}

TEST_CASE("transition scenario: the Megatron epoch on recorded availability",
          "[scenario][recorded]") {
    const auto data = recorded_data();
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "size/megatron_epoch.json");
    scenarios::ExperimentSetup setup;
    for (const std::string_view name :
         {"gcp-bamboo-v100x1-east1c.csv", "aws-bamboo-p3.csv", "aws-v100-16node-us-east-2b.csv"}) {
        setup.traces.push_back(*data / "normalized" / "avail" / name);
    }
    setup.policies = scenario.policies;
    setup.seeds = {1};
    for (const auto& trace : setup.traces) {
        const scenarios::NamedMarket market = scenarios::make_market(scenario, 1, trace);
        for (const scenarios::PolicyList& list : setup.policies) {
            const auto begun = std::chrono::steady_clock::now();
            const records::RunResult result = scenarios::run_one(scenario, market, list, 1).result;
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
            CAPTURE(result.trace, result.policy);
            CHECK(result.causes.time_sum() == result.held);
            const bool meets_deadlines = result.policy.find("spot_only") == std::string::npos;
            if (meets_deadlines) CHECK(result.deadline_met);
            if (result.finished) CHECK(result.samples_done == result.samples_total);
            fmt::print(
                "megatron epoch, {} on {}: {:.0f} USD, {:.2f} d{}, {:.0f} machine-h redone, "
                "{} losses, {} events in {:.3f} s\n",
                result.policy, result.trace, to_dollars(result.cost),
                to_hours(result.duration) / 24, result.finished ? "" : " (unfinished)",
                to_hours(result.causes.time_of(records::Cause::redone)), result.revocations,
                result.events, took.count());
        }
    }
}

TEST_CASE("transition scenario: a spot, a batch, a topology and a checkpoint policy together",
          "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "market/all_together.json");
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    scenarios::RunOptions options;
    options.timeline = true;
    options.decisions = true;
    const scenarios::FinishedRun all =
        scenarios::run_one(scenario, market, scenario.policies.front(), scenario.seed, options);
    const records::RunResult& result = all.result;
    CHECK(result.finished);
    CHECK(result.refused == 0);
    CHECK(result.checkpoints > 0);
    CHECK(result.revocations > 0);
    CHECK(result.causes.time_sum() == result.held);
    // Each of them had its say.
    for (const std::string_view knob : {"\"global_batch\":", "\"collective\":", "\"zone_counts\":",
                                        "\"learning_rate\":", "\"checkpoint_interval_ns\":"}) {
        CAPTURE(knob);
        CHECK(all.decisions.find(knob) != std::string::npos);
    }
    const records::RunResult repeated =
        scenarios::run_one(scenario, market, scenario.policies.front(), scenario.seed).result;
    CHECK(repeated.event_hash == result.event_hash);
    // Without the collective's policy the other traffic costs time; without a batch policy, more.
    const records::RunResult no_switch =
        scenarios::run_one(scenario, market, scenario.policies[1], scenario.seed).result;
    const records::RunResult no_batch =
        scenarios::run_one(scenario, market, scenario.policies[2], scenario.seed).result;
    CHECK(result.duration < no_switch.duration);
    CHECK(result.duration < no_batch.duration);
}

}  // namespace ukemi
