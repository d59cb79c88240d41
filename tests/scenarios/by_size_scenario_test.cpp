// by_size_scenario_test.cpp — clusters that grow, and what policies turn at each of their sizes.
#include <catch2/catch.hpp>
#include <map>

#include "records/decision_log.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "sim/job/world.hpp"
#include "sim/learning/real/real_gradients.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/sim/learning/watched_model.hpp"

namespace ukemi {

namespace {

// Every question, with the Plan that was in force when it was asked.
class Questions final : public policies::ControllerLog {
public:
    struct Question {
        policies::ControlEvent event;
        policies::Observation seen;
        policies::Plan plan;
    };
    explicit Questions(policies::Plan first) : plan_(std::move(first)) {}

    void question(const policies::QuestionRecord& record) override {
        asked.push_back({record.event, record.seen, plan_});
        if (record.proposed != nullptr) proposed_ = *record.proposed;
    }
    void committed(PlanVersion) override { plan_ = proposed_; }
    void discarded(PlanVersion, std::string_view) override {}

    std::vector<Question> asked;

private:
    policies::Plan plan_;
    policies::Plan proposed_;
};

struct Asked {
    records::RunResult result;
    std::vector<Questions::Question> questions;
};

Asked ask(const scenarios::Scenario& scenario, std::string_view policies) {
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    const sim::JobSpec job = scenarios::job_on(scenario, market.data);
    Questions log(job.plan);
    sim::WorldSetup setup;
    setup.market = &market.data;
    setup.job = &job;
    setup.policies =
        scenarios::make_policies(scenarios::parse_policies(policies, scenario, "test").front());
    setup.seed = scenario.seed;
    setup.keep_timeline = true;
    setup.log = &log;
    records::RunResult result = sim::World(std::move(setup)).run();
    REQUIRE(result.finished);
    return {std::move(result), std::move(log.asked)};
}

double time_s(const Asked& run) { return to_seconds(run.result.duration); }

// What groups of one size waited for.
struct Waited {
    std::int64_t steps = 0;
    Duration time;
    std::map<policies::Collective, std::int64_t> under;  // steps
};
std::map<std::int32_t, Waited> waited_by_size(const Asked& run) {
    std::map<std::int32_t, Waited> waited;
    for (const Questions::Question& one : run.questions) {
        if (one.event.hook != policies::Hook::after_step || one.seen.workers == 0) continue;
        REQUIRE(std::ssize(one.seen.worker_views) == one.seen.workers);
        Waited& size = waited[one.seen.workers];
        ++size.steps;
        size.time = size.time + one.seen.worker_views.front().exposed_communication;
        ++size.under[one.plan.collective];
    }
    return waited;
}

Duration exposed(const scenarios::Scenario& scenario, std::int32_t workers,
                 policies::Collective collective) {
    policies::Plan plan;
    plan.collective = collective;
    return policies::exposed_communication(scenario.job.profile, plan, workers);
}

struct Group {  // a state of real gradients, as far as it is looked at
    std::uint64_t digest = 0;
    policies::Synchronisation synchronisation = policies::Synchronisation::s_sgd;
    std::int32_t learners = 0;
    std::size_t replicas = 0;  // 0: all have the one model
    bool part = false;         // of the replicas no two are equal
};

Group seen(const sim::GroupState& state) {
    Group group{sim::digest_of(state), state.synchronisation, state.group, state.learners.size(),
                true};
    for (std::size_t a = 0; a < state.learners.size(); ++a) {
        for (std::size_t b = a + 1; b < state.learners.size(); ++b) {
            group.part = group.part && state.learners[a].weights != state.learners[b].weights;
        }
    }
    return group;
}

}  // namespace

TEST_CASE("by size: in collectives_by_size the best collective is another at each size",
          "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "exchange/collectives_by_size.json");
    const std::map<std::int32_t, policies::Collective> best = {
        {4, policies::Collective::clique},
        {8, policies::Collective::ring},
        {16, policies::Collective::double_binary_tree}};
    CHECK(scenario.job.plan.collective == best.at(4));  // the first Plan has it
    const Asked stays = ask(scenario, "scheduled_resize+on_demand");
    const Asked knows = ask(scenario, "topology_by_size+scheduled_resize+on_demand");
    const Asked tries = ask(scenario, "measured_collective+scheduled_resize+on_demand");

    // With the first step of a size its collective is there.
    const auto known = waited_by_size(knows);
    REQUIRE(known.size() == 3);
    CHECK(knows.result.plans == stays.result.plans + 2);
    double step_times_s = 0;
    for (const auto& [size, waited] : known) {
        CAPTURE(size);
        for (const policies::ExposedCommunication& other : scenario.job.profile.communication) {
            CHECK(exposed(scenario, size, best.at(size)) <=
                  policies::time_for_size(other.times, size));
        }
        CHECK(waited.under == std::map{std::pair{best.at(size), waited.steps}});
        CHECK(waited.time == waited.steps * exposed(scenario, size, best.at(size)));
        policies::JobProfile quiet = scenario.job.profile;
        quiet.communication.clear();
        const Duration compute =
            policies::time_for(policies::rate_of(quiet, scenario.job.plan, size), 1);
        step_times_s += to_seconds(waited.steps * compute + waited.time);
    }
    // Machines come in a minute, then a start and two changes; and the last step, after which
    // nobody is asked.
    CHECK(time_s(knows) == Approx(60 + 8 + 2 * 3 + step_times_s + 0.05611).margin(1e-3));

    // Four collectives are tried at each size: ten steps each and one in between.
    for (const auto& [size, waited] : waited_by_size(tries)) {
        CAPTURE(size);
        CHECK(waited.under.at(best.at(size)) >= waited.steps - 40);
        CHECK(waited.under.size() == 4);
    }
    for (const auto& [size, waited] : waited_by_size(stays)) {
        CHECK(waited.time == waited.steps * exposed(scenario, size, best.at(4)));
    }
    CHECK(time_s(knows) < time_s(tries));
    CHECK(time_s(tries) < time_s(knows) + 0.5);
    CHECK(time_s(stays) > time_s(knows) + 50);

    // Neither is any one of them, held on to at all sizes, as good.
    for (const policies::ExposedCommunication& one : scenario.job.profile.communication) {
        const auto name = policies::collective_names()[static_cast<std::size_t>(one.collective)];
        const std::vector<ConfigOverride> always{
            {"/policy_parameters/topology_by_size/sizes", fmt::format(R"({{"1": "{}"}})", name)}};
        const scenarios::Scenario held =
            scenarios::read_scenario(scenario_folder / "exchange/collectives_by_size.json", always);
        CAPTURE(name);
        CHECK(time_s(ask(held, "topology_by_size+scheduled_resize+on_demand")) >
              time_s(tries) + 10);
    }
}

TEST_CASE("by size: a log with times by size is answered again as it was", "[scenario]") {
    const std::vector<ConfigOverride> shorter{
        {"/job/samples", "300000"},
        {"/policy_parameters/scheduled_resize/schedule", "4:200,8:200,16:1"}};
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "exchange/collectives_by_size.json", shorter);
    scenarios::RunOptions options;
    options.decisions = true;
    options.all_questions = true;
    const scenarios::PolicyList list =
        scenarios::parse_policies("measured_collective+scheduled_resize+on_demand", scenario,
                                  "test")
            .front();
    const scenarios::FinishedRun run = scenarios::run_one(
        scenario, scenarios::make_market(scenario, scenario.seed), list, scenario.seed, options);
    CHECK_THAT(run.decisions, Catch::Contains(R"({"time_ns":4082000,"workers":4})"));
    const records::LogReplay again = records::replay_decisions(run.decisions, "decisions.jsonl");
    CHECK(again.decisions == run.result.plans);
    CHECK(again.difference_count == 0);
}

TEST_CASE("by size: in average_when_large replicas are one model until the group has grown",
          "[scenario][learning]") {
    scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "learners/average_when_large.json");
    constexpr std::int64_t at_two = 1000;  // steps, as scheduled
    const auto model = scenario.job.learning;
    const auto run = [&](std::string_view policies, std::map<std::int64_t, Group>& groups) {
        scenario.job.learning =
            std::make_shared<WatchedModel>(model, nullptr, [&](const sim::LearningState& at) {
                const sim::GroupState& state = sim::group_of(at);
                groups.insert_or_assign(state.steps, seen(state));
            });
        return ask(scenario, policies);
    };
    std::map<std::int64_t, Group> never;
    std::map<std::int64_t, Group> turned;
    const Asked s_sgd = run("scheduled_resize+on_demand", never);
    const Asked averaged = run("synchronisation_by_size+scheduled_resize+on_demand", turned);

    // Two make steps until the resize is committed; its group makes none of theirs.
    std::int32_t commits_seen = 0;
    for (const Questions::Question& one : averaged.questions) {
        if (one.event.hook != policies::Hook::after_step || one.seen.workers == 0) continue;
        CAPTURE(one.seen.steps_done);
        const bool grown = one.seen.steps_done > at_two;
        if (one.seen.workers != (grown ? 4 : 2)) FAIL("another number of workers");
        const policies::Synchronisation expected =
            grown ? policies::Synchronisation::synchronous_averaging
                  : policies::Synchronisation::s_sgd;
        if (one.plan.synchronisation != expected) FAIL("another synchronisation");
        commits_seen += one.seen.steps_done == at_two ? 1 : 0;
    }
    CHECK(commits_seen == 1);
    CHECK(averaged.result.plans == s_sgd.result.plans + 1);
    CHECK(averaged.result.refused == 0);

    // The same bits until then, and the same replicas; four that part from then on.
    REQUIRE(turned.size() > 2 * at_two);
    for (const auto& [steps, group] : turned) {
        CAPTURE(steps);
        if (steps > at_two) {
            REQUIRE(group.synchronisation == policies::Synchronisation::synchronous_averaging);
            REQUIRE(group.learners == 4);
            REQUIRE(group.replicas == 4);
            REQUIRE(group.part);
        } else {
            REQUIRE(group.synchronisation == policies::Synchronisation::s_sgd);
            REQUIRE(group.replicas == 0);
            REQUIRE(group.digest == never.at(steps).digest);
        }
    }
    CHECK(turned.at(at_two + 1).digest != never.at(at_two + 1).digest);
    CHECK(never.at(at_two + 1).replicas == 0);

    // Learning went on: the target is reached by the averaged models, and was not before.
    double before = 0;
    for (const records::TimelineRow& row : averaged.result.timeline) {
        if (row.workers == 2 && row.accuracy) before = *row.accuracy;
    }
    CHECK(before > 0.5);
    CHECK(before < 0.75);
    CHECK(averaged.result.accuracy.value() >= 0.76);
    CHECK(s_sgd.result.accuracy.value() >= 0.76);
}

}  // namespace ukemi
