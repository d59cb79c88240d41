#include "scenarios/reader/step_law.hpp"

#include <catch2/catch.hpp>

using namespace ukemi;
using namespace ukemi::policies;
using namespace ukemi::scenarios;

namespace {

// One group of n workers whose steps follow the law exactly, in seconds.
double law_s(const StepSetting& setting) {
    const double samples = static_cast<double>(setting.batch) * setting.micro_steps;
    double s = 0.001 * setting.workers + 1e-5 * samples + 0.0004 * (setting.micro_steps - 1);
    if (setting.synchronisation == Synchronisation::pair_averaging) s -= 0.0003;
    if (setting.codec == Codec::top_k) s += 0.002;
    return s;
}

std::vector<MeasuredStep> grid() {
    std::vector<StepSetting> settings;
    for (const int workers : {1, 2}) {
        for (const int batch : {32, 64, 128}) {
            settings.push_back({.workers = workers, .batch = batch});
        }
        settings.push_back({.workers = workers, .batch = 32, .micro_steps = 2});
        settings.push_back(
            {.workers = workers, .batch = 64, .synchronisation = Synchronisation::pair_averaging});
    }
    settings.push_back({.workers = 2, .batch = 64, .codec = Codec::top_k, .codec_level = 0.01});
    std::vector<MeasuredStep> measured;
    for (const StepSetting& setting : settings) measured.push_back({setting, law_s(setting)});
    return measured;
}

}  // namespace

TEST_CASE("step law: finds the parts that steps were made of", "[step_law]") {
    const StepLaw law(grid());
    const std::vector<StepSetting> unmeasured{
        {.workers = 1, .batch = 96},
        {.workers = 2, .batch = 48},
        {.workers = 2, .batch = 32, .micro_steps = 4},
        {.workers = 1, .batch = 100, .synchronisation = Synchronisation::pair_averaging},
        {.workers = 2, .batch = 100, .codec = Codec::top_k, .codec_level = 0.01},
        {.workers = 2, .batch = 16, .micro_steps = 3, .codec = Codec::top_k, .codec_level = 0.01},
    };
    for (const StepSetting& setting : unmeasured) {
        CAPTURE(setting_text(setting));
        REQUIRE(law.refusal(setting).empty());
        CHECK(law.step_s(setting) == Approx(law_s(setting)).epsilon(1e-9));
        // Nothing else was measured with four micro-steps, or at two batches of another kind.
        const bool plain =
            setting.synchronisation == Synchronisation::s_sgd && setting.codec == Codec::none;
        CHECK(law.covers(setting) == (plain && setting.micro_steps <= 2));
    }
    for (const StepLaw::Residual& residual : law.residuals()) {
        CHECK(residual.law_s == Approx(residual.measured_s).epsilon(1e-9));
    }
    REQUIRE(law.lines().size() == 2);
    CHECK(law.lines()[1].fit.fixed == Approx(0.002));
    CHECK(law.lines()[1].fit.per_unit == Approx(1e-5));
    CHECK(law.lines()[1].micro_s == Approx(0.0004));
    CHECK_FALSE(law.covers({.workers = 2, .batch = 31}));
    CHECK_FALSE(law.covers({.workers = 2, .batch = 129}));
}

TEST_CASE("step law: an exchange that hides behind computing has a line of its own", "[step_law]") {
    // Plain: 2 ms + 10 us a sample. Pairs wait for 3.5 ms whatever is computed meanwhile.
    std::vector<MeasuredStep> measured;
    for (const int batch : {64, 128, 256}) {
        measured.push_back({{.workers = 2, .batch = batch}, 0.002 + 1e-5 * batch});
        measured.push_back(
            {{.workers = 2, .batch = batch, .synchronisation = Synchronisation::pair_averaging},
             0.0035 + 1e-6 * batch});
    }
    StepSetting pairs{
        .workers = 2, .batch = 192, .synchronisation = Synchronisation::pair_averaging};
    CHECK(StepLaw(measured).step_s(pairs) == Approx(0.0035 + 192e-6));
    CHECK(StepLaw(measured).covers(pairs));  // its own line's
    measured.push_back({{.workers = 2, .batch = 512}, 0.00712});
    CHECK_FALSE(StepLaw(measured).covers(
        {.workers = 2, .batch = 384, .synchronisation = Synchronisation::pair_averaging}));
    CHECK(StepLaw(measured).step_s({.workers = 2, .batch = 192}) == Approx(0.00392));
    pairs.micro_steps = 2;
    CHECK(StepLaw(measured).step_s(pairs) == Approx(0.0035 + 384e-6));
    // At one batch alone nobody can know: it is a number on top of the plain line.
    std::erase_if(measured, [](const MeasuredStep& one) {
        return one.setting.synchronisation == Synchronisation::pair_averaging &&
               one.setting.batch != 128;
    });
    pairs.micro_steps = 1;
    CHECK(StepLaw(measured).step_s(pairs) == Approx(0.00392 + 0.003628 - 0.00328));
}

TEST_CASE("step law: says nothing about what nobody measured", "[step_law]") {
    const StepLaw law(grid());
    CHECK(law.refusal({.workers = 3, .batch = 64}) ==
          "no steps of plain s_sgd were measured with 3 workers");
    CHECK(law.refusal({.workers = 1, .batch = 64, .codec = Codec::top_k, .codec_level = 0.01}) ==
          "nothing of this kind was measured with so many workers (1 worker, batch 64, s_sgd, "
          "top_k:0.01)");
    CHECK_FALSE(law.refusal({.workers = 2, .batch = 64, .collective = Collective::ring}).empty());
    const std::vector<MeasuredStep> one{{{.workers = 1, .batch = 8}, 0.5}};
    CHECK(StepLaw(one).refusal({.workers = 1, .batch = 8}).empty());
    CHECK(StepLaw(one).refusal({.workers = 1, .batch = 9}) ==
          "only one batch was measured with 1 workers");
    const std::vector<MeasuredStep> averaged{
        {{.workers = 1, .batch = 8, .synchronisation = Synchronisation::pair_averaging}, 0.5}};
    CHECK(StepLaw(averaged).lines().empty());
}

TEST_CASE("step law: a setting is what a Plan does in a step, and makes one again", "[step_law]") {
    Plan plan;
    plan.global_batch = 100;
    plan.accumulation = 3;
    const StepSetting setting = setting_of(plan, 3);  // 34 samples in 3 parts: 12 at most
    CHECK(setting.batch == 12);
    CHECK(setting.micro_steps == 3);
    const Plan again = plan_with(plan, setting);
    CHECK(setting_of(again, 3) == setting);
    CHECK(again.global_batch == 0);
    StepSetting averaging = setting;
    averaging.synchronisation = Synchronisation::synchronous_averaging;
    CHECK(plan_with(plan, averaging).learners_per_gpu == 1);
    CHECK(setting_of(plan_with(plan, averaging), 3) == averaging);
    CHECK(setting_text(averaging) == "3 workers, batch 12, 3 micro-steps, synchronous_averaging");
}
