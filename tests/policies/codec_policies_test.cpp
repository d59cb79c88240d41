// codec_policies_test.cpp — which codec: by critical regimes, and by what was measured.
#include "policies/capabilities.hpp"
#include "tests/policies/batch_situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;
using Catch::Matchers::Contains;

namespace {

// What each codec makes of a step of 100 ms whose communication nothing hides.
struct Link {
    int none_ms = 80;
    int fp16_ms = 40;
    int power_sgd_ms = 5;
    int encoding_ms = 10;  // of PowerSGD
    int hidden_ms = 0;
    double error = 0.3;  // of PowerSGD

    ExchangeView of(const Plan& plan) const {
        ExchangeView view;
        const int communication_ms = plan.codec == Codec::none   ? none_ms
                                     : plan.codec == Codec::fp16 ? fp16_ms
                                                                 : power_sgd_ms;
        view.compute = milliseconds(100);
        view.communication = milliseconds(communication_ms);
        if (plan.codec == Codec::power_sgd) {
            view.encoding = milliseconds(encoding_ms);
            view.relative_error = error;
        }
        view.exposed = view.encoding + milliseconds(std::max(communication_ms - hidden_ms, 0));
        view.bytes = communication_ms * 1000;
        return view;
    }
};

// Steps until the policy has made up its mind; the last decision.
Decision decided(Policy& policy, BatchSituation& job, const Link& link, int steps = 60) {
    Decision last;
    for (int i = 0; i < steps; ++i) {
        job.seen.exchange = link.of(job.plan);
        last = job.carry_out(policy, Hook::after_step);
    }
    return last;
}

}  // namespace

TEST_CASE("accordion: little compression while the gradient's norm changes", "[codec_policies]") {
    BatchSituation job;
    const auto policy = policy_named("accordion");
    CHECK(job.carry_out(*policy, Hook::before_train).codec == Codec::power_sgd);
    CHECK(job.plan.codec_level == 2);
    std::int64_t epoch = 0;
    const auto ten_epochs = [&](double norm) {
        for (int i = 0; i < 10; ++i) {
            job.epoch(++epoch).seen.gradient.applied_squared_norm = norm * norm;
            job.carry_out(*policy, Hook::after_step);
            job.carry_out(*policy, Hook::after_epoch);
        }
        return job.plan.codec_level;
    };
    CHECK(ten_epochs(4) == 2);    // nothing to compare with
    CHECK(ten_epochs(3) == 1);    // |4 − 3| ÷ 4 = 0.25
    CHECK(ten_epochs(1.4) == 2);  // |3 − 1.4| ÷ 3 = 0.53
    CHECK(ten_epochs(1.3) == 1);
    CHECK(ten_epochs(2) == 2);  // upwards, too
}

TEST_CASE("accordion: reads |G|² where no applied norm is shown, and its own codecs",
          "[codec_policies]") {
    BatchSituation job;
    const auto policy = policy_named(
        "accordion",
        R"({"critical_codec": "top_k:0.1", "codec": "top_k:0.01", "every_epochs": 1})");
    job.carry_out(*policy, Hook::before_train);
    CHECK(job.plan.codec == Codec::top_k);
    for (int i = 1; i <= 2; ++i) {
        job.epoch(i).seen.gradient.squared_norm = 2;
        job.carry_out(*policy, Hook::after_step);
        job.carry_out(*policy, Hook::after_epoch);
    }
    CHECK(job.plan.codec_level == 0.01);
    // An epoch without a measurement says nothing.
    job.epoch(3).seen.gradient = {};
    job.carry_out(*policy, Hook::after_step);
    CHECK(job.carry_out(*policy, Hook::after_epoch) == Decision{});
}

TEST_CASE("adaptive_codec: takes what makes the step shortest within the error bound",
          "[codec_policies]") {
    BatchSituation job;
    const auto policy = policy_named("adaptive_codec", R"({"options": "fp16,power_sgd:2"})");
    CHECK(job.carry_out(*policy, Hook::before_train).codec == Codec::none);
    CHECK(decided(*policy, job, {}).reason == "compression pays");
    CHECK(job.plan.codec == Codec::power_sgd);  // 115 ms, where fp16 has 140 and none 180
    SECTION("and stays with it") {
        CHECK(decided(*policy, job, {.power_sgd_ms = 500}).codec == Codec::power_sgd);
    }
    SECTION("another group is measured anew") {
        job.seen.workers = 2;
        CHECK(job.carry_out(*policy, Hook::after_step).codec == Codec::none);
        CHECK(decided(*policy, job, {.encoding_ms = 90}).codec == Codec::fp16);
    }
    SECTION("a worker alone sends nothing") {
        job.seen.workers = 1;
        CHECK(decided(*policy, job, {}).codec == Codec::none);
    }
}

TEST_CASE("adaptive_codec: says why it does not compress", "[codec_policies]") {
    BatchSituation job;
    const auto policy = policy_named("adaptive_codec", R"({"options": "power_sgd:2"})");
    job.carry_out(*policy, Hook::before_train);
    Link link;
    std::string expected;
    SECTION("encoding takes longer than it saves") {
        link.encoding_ms = 90;
        expected = "compression hurts here";
    }
    SECTION("backward passes hide it") {
        link.hidden_ms = 80;
        expected = "communication hides behind computing";
    }
    SECTION("the error is beyond the bound") {
        link.error = 0.9;
        expected = "what would help loses too much";
    }
    const Decision decision = decided(*policy, job, link);
    CHECK(decision.reason == expected);
    CHECK(job.plan.codec == Codec::none);
}

TEST_CASE("adaptive_codec: an option that the world does not commit is left out",
          "[codec_policies]") {
    BatchSituation job;
    const auto policy = policy_named(
        "adaptive_codec", R"({"options": "top_k:0.5,fp16", "trial_steps": 2, "again_every": 20})");
    job.carry_out(*policy, Hook::before_train);
    Decision last;
    bool tried_again = false;
    for (int i = 0; i < 60; ++i) {
        job.seen.exchange = Link{}.of(job.plan);
        const Plan before = job.plan;
        last = job.carry_out(*policy, Hook::after_step);
        if (last.codec == Codec::top_k) job.plan = before;  // discarded
        tried_again = tried_again || (i > 25 && last.codec == Codec::none);
    }
    CHECK(tried_again);
    CHECK(job.plan.codec == Codec::fp16);
}

TEST_CASE("adaptive_codec: silent where nothing is measured", "[codec_policies]") {
    BatchSituation job;
    const auto policy = policy_named("adaptive_codec");
    job.carry_out(*policy, Hook::before_train);
    for (int i = 0; i < 100; ++i) {
        CHECK(job.carry_out(*policy, Hook::after_step).codec == Codec::none);
    }
}

TEST_CASE("ada_sgd: averages models until its step, then gradients", "[codec_policies]") {
    BatchSituation job;
    const auto policy = policy_named("ada_sgd", R"({"change_step": 100})");
    CHECK(policy->every_steps() == 100);
    job.carry_out(*policy, Hook::before_train);
    CHECK(job.plan.synchronisation == Synchronisation::synchronous_averaging);
    job.seen.steps_done = 100;
    CHECK(job.carry_out(*policy, Hook::after_step).synchronisation == Synchronisation::s_sgd);
    job.seen.steps_done = 50;  // set back by a loss
    job.carry_out(*policy, Hook::after_step);
    CHECK(job.plan.synchronisation == Synchronisation::synchronous_averaging);
}

TEST_CASE("codec policies: what is no codec is refused by path", "[codec_policies]") {
    const auto complaint = [](std::string_view name, std::string_view parameters) {
        try {
            policy_named(name, parameters);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    CHECK_THAT(complaint("accordion", R"({"codec": "power_sdg:1"})"),
               Contains("found \"power_sdg\" (did you mean \"power_sgd\"?)"));
    CHECK_THAT(complaint("accordion", R"({"codec": "top_k:x"})"),
               Contains("expected a level above 0 after \"top_k:\", found \"x\""));
    CHECK_THAT(complaint("adaptive_codec", R"({"options": ""})"), Contains("found \"\""));
    CHECK(complaint("adaptive_codec", R"({"options": "fp16/top_k:0.1"})") == "accepted");
}

TEST_CASE("controller: a codec outside a world's ranges is refused as a whole",
          "[codec_policies]") {
    Capabilities world;
    world.world = "test world";
    world.knobs = {Knob::codec};
    world.codecs = {{Codec::fp16, 0, 0, false, true}, {Codec::power_sgd, 1, 4, true, false}};
    Plan plan;
    CHECK(refusal(world, plan).empty());
    plan.codec = Codec::power_sgd;
    plan.codec_level = 2;
    CHECK(refusal(world, plan).empty());
    for (const double level : {0.0, 1.5, 5.0}) {
        plan.codec_level = level;
        CHECK_THAT(refusal(world, plan), Contains("codec power_sgd with level"));
    }
    plan.codec = Codec::top_k;
    CHECK(refusal(world, plan) == "codec top_k, which the test world does not have");
    plan.codec = Codec::fp16;
    plan.codec_level = 0;
    plan.synchronisation = Synchronisation::pair_averaging;
    CHECK_THAT(refusal(world, plan), Contains("no gradients that are exchanged"));
    world.knobs = {};
    CHECK(refusal(world, plan).empty());  // as the first Plan has it
}
