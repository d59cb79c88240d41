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
class Questions final : public ControllerLog {
public:
    struct Question {
        ControlEvent event;
        Observation seen;
        Plan plan;
    };
    explicit Questions(Plan first) : plan_(std::move(first)) {}

    void question(const QuestionRecord& record) override {
        asked.push_back({record.event, record.seen, plan_});
        if (record.proposed != nullptr) proposed_ = *record.proposed;
    }
    void committed(PlanVersion) override { plan_ = proposed_; }
    void discarded(PlanVersion, std::string_view) override {}

    std::vector<Question> asked;

private:
    Plan plan_;
    Plan proposed_;
};

struct Asked {
    RunResult result;
    std::vector<Questions::Question> questions;
};

Asked ask(const Scenario& scenario, std::string_view policies) {
    const NamedMarket market = make_market(scenario, scenario.seed);
    const JobSpec job = job_on(scenario, market.data);
    Questions log(job.plan);
    WorldSetup setup;
    setup.market = &market.data;
    setup.job = &job;
    setup.policies = make_policies(parse_policies(policies, scenario, "test").front());
    setup.seed = scenario.seed;
    setup.keep_timeline = true;
    setup.log = &log;
    RunResult result = World(std::move(setup)).run();
    REQUIRE(result.finished);
    return {std::move(result), std::move(log.asked)};
}

double time_s(const Asked& run) { return to_seconds(run.result.duration); }

// What groups of one size waited for.
struct Waited {
    std::int64_t steps = 0;
    Duration time;
    std::map<Collective, std::int64_t> under;  // steps
};
std::map<std::int32_t, Waited> waited_by_size(const Asked& run) {
    std::map<std::int32_t, Waited> waited;
    for (const Questions::Question& one : run.questions) {
        if (one.event.hook != Hook::after_step || one.seen.workers == 0) continue;
        REQUIRE(std::ssize(one.seen.worker_views) == one.seen.workers);
        Waited& size = waited[one.seen.workers];
        ++size.steps;
        size.time = size.time + one.seen.worker_views.front().exposed_communication;
        ++size.under[one.plan.collective];
    }
    return waited;
}

Duration exposed(const Scenario& scenario, std::int32_t workers, Collective collective) {
    Plan plan;
    plan.collective = collective;
    return exposed_communication(scenario.job.profile, plan, workers);
}

struct Group {  // a state of real gradients, as far as it is looked at
    std::uint64_t digest = 0;
    Synchronisation synchronisation = Synchronisation::s_sgd;
    std::int32_t learners = 0;
    std::size_t replicas = 0;  // 0: all have the one model
    bool part = false;         // of the replicas no two are equal
};

Group seen(const GroupState& state) {
    Group group{digest_of(state), state.synchronisation, state.group, state.learners.size(), true};
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
    const Scenario scenario = read_scenario(scenario_folder / "exchange/collectives_by_size.json");
    const std::map<std::int32_t, Collective> best = {
        {4, Collective::clique}, {8, Collective::ring}, {16, Collective::double_binary_tree}};
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
        for (const ExposedCommunication& other : scenario.job.profile.communication) {
            CHECK(exposed(scenario, size, best.at(size)) <= time_for_size(other.times, size));
        }
        CHECK(waited.under == std::map{std::pair{best.at(size), waited.steps}});
        CHECK(waited.time == waited.steps * exposed(scenario, size, best.at(size)));
        const Duration compute = time_for(rate_of(scenario.job.profile, size), 1);
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
    for (const ExposedCommunication& one : scenario.job.profile.communication) {
        const auto name = collective_names()[static_cast<std::size_t>(one.collective)];
        const std::vector<ConfigOverride> always{
            {"/policy_parameters/topology_by_size/sizes", fmt::format(R"({{"1": "{}"}})", name)}};
        const Scenario held =
            read_scenario(scenario_folder / "exchange/collectives_by_size.json", always);
        CAPTURE(name);
        CHECK(time_s(ask(held, "topology_by_size+scheduled_resize+on_demand")) >
              time_s(tries) + 10);
    }
}

TEST_CASE("by size: a log with times by size is answered again as it was", "[scenario]") {
    const std::vector<ConfigOverride> shorter{
        {"/job/samples", "300000"},
        {"/policy_parameters/scheduled_resize/schedule", "4:200,8:200,16:1"}};
    const Scenario scenario =
        read_scenario(scenario_folder / "exchange/collectives_by_size.json", shorter);
    RunOptions options;
    options.decisions = true;
    options.all_questions = true;
    const PolicyList list =
        parse_policies("measured_collective+scheduled_resize+on_demand", scenario, "test").front();
    const FinishedRun run =
        run_one(scenario, make_market(scenario, scenario.seed), list, scenario.seed, options);
    CHECK_THAT(run.decisions, Catch::Contains(R"({"time_ns":4082000,"workers":4})"));
    const LogReplay again = replay_decisions(run.decisions, "decisions.jsonl");
    CHECK(again.decisions == run.result.plans);
    CHECK(again.difference_count == 0);
}

TEST_CASE("by size: in average_when_large replicas are one model until the group has grown",
          "[scenario][learning]") {
    Scenario scenario = read_scenario(scenario_folder / "learners/average_when_large.json");
    constexpr std::int64_t at_two = 1000;  // steps, as scheduled
    const auto model = scenario.job.learning;
    const auto run = [&](std::string_view policies, std::map<std::int64_t, Group>& groups) {
        scenario.job.learning =
            std::make_shared<WatchedModel>(model, nullptr, [&](const LearningState& at) {
                const GroupState& state = group_of(at);
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
        if (one.event.hook != Hook::after_step || one.seen.workers == 0) continue;
        CAPTURE(one.seen.steps_done);
        const bool grown = one.seen.steps_done > at_two;
        if (one.seen.workers != (grown ? 4 : 2)) FAIL("another number of workers");
        const Synchronisation expected =
            grown ? Synchronisation::synchronous_averaging : Synchronisation::s_sgd;
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
            REQUIRE(group.synchronisation == Synchronisation::synchronous_averaging);
            REQUIRE(group.learners == 4);
            REQUIRE(group.replicas == 4);
            REQUIRE(group.part);
        } else {
            REQUIRE(group.synchronisation == Synchronisation::s_sgd);
            REQUIRE(group.replicas == 0);
            REQUIRE(group.digest == never.at(steps).digest);
        }
    }
    CHECK(turned.at(at_two + 1).digest != never.at(at_two + 1).digest);
    CHECK(never.at(at_two + 1).replicas == 0);

    // Learning went on: the target is reached by the averaged models, and was not before.
    double before = 0;
    for (const TimelineRow& row : averaged.result.timeline) {
        if (row.workers == 2 && row.accuracy) before = *row.accuracy;
    }
    CHECK(before > 0.5);
    CHECK(before < 0.75);
    CHECK(averaged.result.accuracy.value() >= 0.76);
    CHECK(s_sgd.result.accuracy.value() >= 0.76);
}

}  // namespace ukemi
