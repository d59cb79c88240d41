// logged_run.hpp — a run driven by hand with its decision log, in a market that flaps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "policies/registry.hpp"
#include "records/decision_log.hpp"
#include "tests/support/profile_predictor.hpp"

namespace ukemi {

struct LoggedRun {
    std::string text;  // the log
    std::int64_t questions = 0;
    std::int64_t decisions = 0;
    std::int64_t discarded = 0;
};

struct RunOptions {
    std::vector<records::LoggedPolicy> policies = {{"greedy", "{}"}, {"daly_checkpoint", "{}"}};
    std::uint64_t seed = 1;
    int questions = 100;
    bool all_questions = true;
    bool oracle = false;
};

inline records::DecisionLogHeader header_of(const RunOptions& options) {
    records::DecisionLogHeader header;
    header.world = "test world";
    header.scenario = "by hand";
    header.trace = "flapping";
    header.seed = options.seed;
    header.all_questions = options.all_questions;
    header.oracle = options.oracle;
    header.samples_total = hours(48).raw();
    header.plan.fleet = {{ZoneId{0}, 0, policies::Market::none, 1, {}}};
    header.plan.checkpoint_interval = hours(1);
    header.capabilities = {
        "test world",
        {policies::Knob::market, policies::Knob::zone, policies::Knob::count,
         policies::Knob::checkpoint_interval, policies::Knob::checkpoint_on_notice},
        2,
        1,
        4,
        1};
    header.profile.throughput = {{1, {1, nanoseconds(1)}}};
    header.profile.restart = minutes(6);
    header.profile.checkpoint = minutes(1);
    header.profile.lossless = false;
    header.policies = options.policies;
    return header;
}

// A question every twenty minutes. Spot comes and goes, what is trained on is saved at once, and
// one Plan in ten is discarded.
inline LoggedRun logged_run(const RunOptions& options = {}) {
    const records::DecisionLogHeader header = header_of(options);
    records::DecisionLog log(header);
    policies::ControllerSetup setup;
    setup.plan = header.plan;
    setup.capabilities = header.capabilities;
    for (const records::LoggedPolicy& policy : header.policies) {
        ConfigReader parameters = ConfigReader::from_text(policy.parameters, "test.json");
        setup.policies.push_back(
            policies::make_policy(*policies::find_policy(policy.name), parameters));
    }
    setup.predictor = test::make_profile_predictor(header.profile);
    setup.seed = header.seed;
    setup.samples_total = header.samples_total;
    setup.log = &log;
    policies::Controller controller(std::move(setup));

    RandomStream random(options.seed, "test/market");
    LoggedRun run;
    policies::Observation seen;
    seen.deadline = Instant::at(hours(75));
    seen.zones.resize(1);
    for (int question = 0; question < options.questions; ++question) {
        seen.now = Instant::at(minutes(20 * question));
        if (random.chance(0.4)) seen.spot_capacity = seen.spot_capacity == 0 ? 1 : 0;
        seen.zones[0].spot_capacity = seen.spot_capacity;
        seen.spot_losses += seen.spot_held > seen.spot_capacity;
        seen.spot_loss_events = seen.spot_losses;
        const policies::Market market = policies::fleet_market(controller.plan());
        seen.spot_held = market == policies::Market::spot && seen.spot_capacity > 0 ? 1 : 0;
        seen.on_demand_held = market == policies::Market::on_demand ? 1 : 0;
        seen.workers = seen.spot_held + seen.on_demand_held;
        if (seen.workers > 0) controller.steps_finished(minutes(20).raw(), 1);
        if (seen.spot_held > 0) seen.spot_time += minutes(20);
        seen.samples_safe = controller.samples_done();
        const policies::Hook hook =
            question == 0 ? policies::Hook::before_train : policies::Hook::on_event;
        const auto plan = controller.propose({hook, policies::EventKind::clock}, seen);
        if (!plan) continue;
        ++run.decisions;
        if (random.chance(0.1)) {
            controller.discarded(plan->version, "a worker died");
            ++run.discarded;
        } else {
            controller.committed(plan->version);
        }
    }
    run.text = log.text();
    run.questions = options.questions;
    run.decisions += controller.refused_count();
    return run;
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

inline std::string text_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

}  // namespace ukemi
