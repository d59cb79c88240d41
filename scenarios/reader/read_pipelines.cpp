// read_pipelines.cpp — "pipelines" of the job: how it is cut, how long its steps take, and by which
// rules machines take each other's places.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/reader/sections.hpp"

namespace ukemi::scenarios {

namespace {

// {"1": "1200 ms", "2": "1085 ms"}: a step with so many pipelines, without a gap.
std::vector<Duration> read_steps(ConfigReader& config, const std::string& of,
                                 bool whole_milliseconds) {
    ConfigReader table = config.object(of);
    std::vector<Duration> steps;
    const std::int64_t count = std::min(std::ssize(table.keys()), std::ptrdiff_t{10'000});
    for (const std::string& key : table.keys()) {
        number_of(table, key, count, "numbers of pipelines without a gap,");
    }
    for (std::int64_t number = 1; number <= count; ++number) {
        const std::string key = fmt::format("{}", number);
        steps.push_back(bounded_duration(table, key, nanoseconds(1000), step_longest));
        if (!whole_milliseconds || steps.back().raw() % milliseconds(1).raw() == 0) continue;
        table.fail(key, fmt::format("expected whole milliseconds under the rules of "
                                    "\"bamboo_simulator\", found {}",
                                    format_duration(steps.back())));
    }
    if (steps.empty()) {
        config.fail(of,
                    "expected the time of a step by number of pipelines, such as "
                    "{\"1\": \"1200 ms\", \"2\": \"1085 ms\"}");
    }
    table.finish();
    return steps;
}

constexpr std::int64_t stages_most = 10'000;

void check_stages(const ConfigReader& config, std::string_view key, std::int32_t stages,
                  const sim::JobSpec& job) {
    if (stages <= job.plan.workers_max && stages >= job.workers_min) return;
    config.fail(key, fmt::format("expected a pipeline that fits into the cluster, of {} "
                                 "to {} machines, found {} stages",
                                 job.workers_min, job.plan.workers_max, stages));
}

// "other_stages": {"6": {"1": "8837 ms", "2": "5281 ms"}}, what a policy of layouts may turn to.
void read_other_stages(ConfigReader& config, std::int32_t stages,
                       const std::vector<Duration>& steps, sim::JobSpec& job) {
    auto table = config.object_if_present("other_stages");
    if (!table) return;
    if (job.pipelines->as_simulated) {
        config.fail("other_stages", "the rules of \"bamboo_simulator\" have one number of stages");
    }
    auto& known = job.profile.pipelines;
    known.push_back({stages, steps});
    for (const std::string& key : table->keys()) {
        const auto other =
            static_cast<std::int32_t>(number_of(*table, key, stages_most, "numbers of stages"));
        if (other == stages) table->fail(key, "is what \"stages\" and \"step\" say");
        if (other < 2) table->fail(key, "expected two stages at least");
        check_stages(*table, key, other, job);
        known.push_back({other, read_steps(*table, key, false)});
    }
    table->finish();
    std::ranges::sort(known, {}, &policies::PipelineSteps::stages);
}

}  // namespace

bool read_pipelines(ConfigReader& job_config, bool by_time, sim::JobSpec& job) {
    auto config = job_config.object_if_present("pipelines");
    if (!config) return false;
    if (by_time) job_config.fail("pipelines", "goes with \"samples\", and this job has \"work\"");
    for (const std::string_view key :
         {"throughput", "step_time", "costs", "communication", "links", "batch_per_worker"}) {
        if (!job_config.has(key)) continue;
        job_config.fail(key,
                        "stands beside \"pipelines\", whose steps are of one \"batch\" and "
                        "take what \"step\" says");
    }
    static constexpr std::array<std::string_view, 3> rules{"bamboo", "bamboo_simulator",
                                                           "checkpoints"};
    sim::PipelineRules& rule = job.pipelines.emplace();
    const std::string chosen = config->one_of("rules", rules, rules[0]);
    rule.as_simulated = chosen == rules[1];
    rule.takes_over = chosen != rules[2];
    const auto stages = static_cast<std::int32_t>(config->integer("stages", 2, stages_most));
    check_stages(*config, "stages", stages, job);
    const std::vector<Duration> steps = read_steps(*config, "step", rule.as_simulated);
    read_other_stages(*config, stages, steps, job);
    constexpr double slowest = 1000;
    rule.takeover_per_mille = static_cast<std::int32_t>(
        round_nearest(config->number("takeover_slowdown", 1, slowest, 1.5) * 1000));
    rule.overloaded_max = config->number("overloaded_max", 0, 2, rule.overloaded_max);
    config->finish();
    for (std::size_t number = 0; number < steps.size(); ++number) {
        const auto machines = stages * (static_cast<std::int32_t>(number) + 1);
        job.profile.throughput.push_back({machines, {1, steps[number]}});
        // As fast until there is one machine less than another pipeline needs.
        if (number + 1 == steps.size()) break;
        job.profile.throughput.push_back({machines + stages - 1, {1, steps[number]}});
    }
    job.plan.layout = {static_cast<std::int32_t>(steps.size()), stages, 1};
    return true;
}

void check_pipelines(const ConfigReader& job_config, const sim::JobSpec& job) {
    if (!job.pipelines) return;
    const sim::TransitionCosts costs = job.change_costs();
    if (costs.whole_program || costs.reattach > Duration{}) {
        job_config.fail("pipelines",
                        "goes with changes that concern members only, and \"transition\" "
                        "says \"whole_program\" or \"reattach\"");
    }
    if (job.profile.sharded) {
        job_config.fail("pipelines",
                        "says what a loss takes with it: \"state\" at checkpoint goes "
                        "without");
    }
    if (job.pipelines->as_simulated && !job.profile.lossless) {
        job_config.fail("pipelines",
                        "has the rules of \"bamboo_simulator\", which loses no work: "
                        "expected {\"kind\": \"lossless\"} or nothing at checkpoint");
    }
}

}  // namespace ukemi::scenarios
