// rules_test.cpp — synchronisation rules by hand, and what their exchanges cost.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/sim/learning/small_tasks.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::sim;

namespace {

SynchronisationSettings by_rule(std::string_view rule) {
    SynchronisationSettings settings;
    settings.rule = rule;
    return settings;
}

}  // namespace

TEST_CASE("rules: the table is sorted by name, and every line says what it sends", "[learning]") {
    const auto rules = synchronisation_rules();
    CHECK(rules.size() == 9);
    CHECK(std::ranges::is_sorted(rules, {}, &SynchronisationRule::name));
    for (const SynchronisationRule& rule : rules) {
        CAPTURE(rule.name);
        CHECK_FALSE(rule.sends.empty());
        CHECK_FALSE(rule.source.empty());
        CHECK(rule.step != nullptr);
        CHECK(find_synchronisation_rule(rule.name) == &rule);
    }
    CHECK(find_synchronisation_rule("s-sgd") == nullptr);
}

// Replicas with one exchange of everything are one model: k learners that all take the mean after
// each step do what S-SGD does without momentum, and so does a server in step.
TEST_CASE("rules: local SGD with an exchange a step is S-SGD", "[learning]") {
    const DataSet data = synthetic_data();
    const LearningStep step{32, 0.2, 4, 1};
    const auto whole = trained(*task_of(data, {.model = {"mlp", {8}}}), step, 2, 4).state.common;
    const auto local =
        trained(*task_of(data, {.model = {"mlp", {8}}, .synchronisation = by_rule("local_sgd")}),
                step, 2, 4);
    SynchronisationSettings in_step = by_rule("parameter_server");
    in_step.clock_lead_max = 0;
    const auto server = trained(*task_of(data, {.model = {"mlp", {8}}, .synchronisation = in_step}),
                                {32, 0.05, 4, 1}, 2, 4);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        REQUIRE(local.state.common[i] == Approx(whole[i]).margin(1e-4));
        REQUIRE(server.state.common[i] == Approx(whole[i]).margin(1e-4));
    }
}

TEST_CASE("rules: AdaSGD averages, then takes rank 0's model and goes on as S-SGD", "[learning]") {
    SynchronisationSettings settings = by_rule("ada_sgd");
    settings.change_step = 10;
    const auto task =
        task_of(synthetic_data(), {.model = {"mlp", {8}}, .synchronisation = settings});
    GroupStep group(*task, 1);
    GroupState state = first_state(*task, 1);
    for (int i = 0; i < 10; ++i) step_on(state, group, {32, 0.2, 4, 1});
    REQUIRE(state.learners.size() == 4);
    const std::vector<float> rank_0 = state.learners[0].weights;
    CHECK(rank_0 != state.learners[1].weights);
    step_on(state, group, {32, 0.0, 4, 1});  // a step that moves nothing
    CHECK(state.learners.empty());
    CHECK(state.common == rank_0);
}

TEST_CASE("rules: a lower learning rate restarts Crossbow's learners from the centre",
          "[learning]") {
    const auto task =
        task_of(synthetic_data(),
                {.model = {"mlp", {8}}, .synchronisation = by_rule("synchronous_averaging")});
    GroupStep group(*task, 1);
    GroupState state = first_state(*task, 1);
    for (int i = 0; i < 10; ++i) step_on(state, group, {32, 0.2, 2, 2});
    REQUIRE(state.learners.size() == 4);  // two on each worker
    const std::vector<float> centre = state.common;
    CHECK(state.learners[0].weights != centre);
    step_on(state, group, {32, 0.0, 2, 2});
    CHECK(state.common == centre);
    for (const GroupState::Learner& one : state.learners) CHECK(one.weights == centre);
}

TEST_CASE("rules: a backup worker's gradient is left out, and its time is not waited for",
          "[learning]") {
    SynchronisationSettings settings = by_rule("backup_workers");
    settings.straggling = 0.5;
    const SynchronisationRule& rule = *find_synchronisation_rule("backup_workers");
    // Lognormal with mean 1 and CV 0.5: the slowest of 8 takes 1.830 (by quadrature); leaving one
    // out, less.
    CHECK(straggling_per_mille(rule, settings, 8) == Approx(1830).margin(25));
    settings.backups = 1;
    const std::int64_t with_one = straggling_per_mille(rule, settings, 8);
    CHECK(with_one < 1600);
    settings.backups = 7;
    CHECK(straggling_per_mille(rule, settings, 8) < 700);
    CHECK(straggling_per_mille(*find_synchronisation_rule("pair_averaging"), settings, 8) == 1000);
    // Who meets once in 8 steps waits for the slowest sum of 8: its CV is 0.5/√8, and the greatest
    // of 8 nearly normal ones lies 1.42 of that above the mean.
    const SynchronisationRule& local = *find_synchronisation_rule("local_sgd");
    CHECK(straggling_per_mille(local, settings, 8) == Approx(1830).margin(25));
    settings.period = 8;
    CHECK(straggling_per_mille(local, settings, 8) ==
          Approx(1000 + 1424 * 0.5 / std::sqrt(8.0)).margin(25));
    settings.period = 1'000'000;
    CHECK(straggling_per_mille(local, settings, 8) == Approx(1000).margin(20));
    // A server that lets nobody lead keeps all in step; the more lead, the less is waited for.
    const SynchronisationRule& server = *find_synchronisation_rule("parameter_server");
    CHECK(straggling_per_mille(server, settings, 8) == 1000);
    settings.clock_lead_max = 0;
    CHECK(straggling_per_mille(server, settings, 8) == Approx(1830).margin(25));
    settings.clock_lead_max = 1;
    const std::int64_t one_ahead = straggling_per_mille(server, settings, 8);
    settings.clock_lead_max = 4;
    const std::int64_t four_ahead = straggling_per_mille(server, settings, 8);
    CHECK(one_ahead < 1700);
    CHECK(four_ahead < one_ahead);
    CHECK(four_ahead > 1000);

    // With seven of eight left out a step is one learner's: its noise cannot be told.
    const auto task =
        task_of(synthetic_data(), {.model = {"mlp", {8}}, .synchronisation = settings});
    CHECK(trained(*task, {64, 0.1, 8, 1}, 1, 1).state.noise.samples == 0);
    settings.backups = 2;
    const auto two =
        task_of(synthetic_data(), {.model = {"mlp", {8}}, .synchronisation = settings});
    CHECK(trained(*two, {64, 0.1, 8, 1}, 1, 1).state.noise.samples == 16);
}

TEST_CASE("rules: what an exchange sends", "[learning]") {
    const auto cost = [](std::string_view rule, int workers, std::int64_t codec = 0,
                         bool gathers = false) {
        SynchronisationSettings settings = by_rule(rule);
        settings.period = 4;
        return exchange_cost(*find_synchronisation_rule(rule), settings, workers, 1000, codec,
                             gathers);
    };
    CHECK(cost("s_sgd", 1).bytes == 0);
    CHECK(cost("s_sgd", 1).messages == 0);
    CHECK(cost("s_sgd", 4).bytes == 1500);  // 2·3/4
    CHECK(cost("s_sgd", 4).messages == 6);
    CHECK(cost("s_sgd", 4).every_steps == 1);
    CHECK(cost("s_sgd", 4, 100).bytes == 150);
    CHECK(cost("s_sgd", 4, 100, true).bytes == 300);  // to each of the others
    CHECK(cost("s_sgd", 4, 100, true).messages == 3);
    CHECK(cost("elastic_averaging", 4).every_steps == 4);
    CHECK(cost("pair_averaging", 4).bytes == 1000);
    CHECK(cost("parameter_server", 4).bytes == 1500);
    CHECK(cost("parameter_server", 4).messages == 2);
    CHECK(exchange_time({6, 1500, 1}, milliseconds(1), 1e6) == nanoseconds(7'500'000));
    CHECK(exchange_time({6, 1500, 4}, milliseconds(1), 1e6) == nanoseconds(1'875'000));
}
