// by_size_scenario_test.cpp — clusters that grow, and what policies turn at each of their sizes.
#include <catch2/catch.hpp>
#include <map>

#include "records/decision_log.hpp"
#include "scenarios/scenario.hpp"
#include "sim/learning/real/real_gradients.hpp"
#include "sim/world.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/sim/learning/watched_model.hpp"

namespace ukemi {

namespace {

const std::filesystem::path folder = std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios";

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
    setup.log = &log;
    RunResult result = World(std::move(setup)).run();
    REQUIRE(result.finished);
    return {std::move(result), std::move(log.asked)};
}

// Of steps that were looked at: how many by so many workers under each collective.
std::map<std::pair<std::int32_t, Collective>, std::int64_t> steps_by_size(const Asked& run) {
    std::map<std::pair<std::int32_t, Collective>, std::int64_t> steps;
    for (const Questions::Question& one : run.questions) {
        if (one.event.hook != Hook::after_step) continue;
        ++steps[{one.seen.workers, one.plan.collective}];
    }
    return steps;
}

}  // namespace

TEST_CASE("by size: in collectives_by_size the best collective is another at each size",
          "[scenario]") {
    const Scenario scenario = read_scenario(folder / "collectives_by_size.json");
    const Asked known = ask(scenario, "topology_by_size+scheduled_resize+on_demand");
    for (const auto& [what, count] : steps_by_size(known)) {
        WARN(what.first << " " << collective_names()[static_cast<std::size_t>(what.second)] << " "
                        << count);
    }
    WARN(known.result.plans << " " << to_seconds(known.result.duration));
}

}  // namespace ukemi
