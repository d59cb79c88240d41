// critical_regimes_test.cpp — a share of the critical samples, counted the same however it is
// asked.
#include "sim/learning/critical_regimes.hpp"

#include <catch2/catch.hpp>

using namespace ukemi;
using namespace ukemi::sim;

namespace {

CriticalRegimes thousand_samples() {
    CriticalRegimes all;
    all.samples = 1000;
    all.critical = {{0, 100}, {500, 600}};
    all.careful_batch = 8;
    all.careful = 0.9;
    all.careless = 0.8;
    all.squared_norm = {{100, 4}, {200, 2}};
    return all;
}

LearningStep step_of(std::int64_t batch) {
    LearningStep step;
    step.batch = batch;
    return step;
}

}  // namespace

TEST_CASE("critical regimes: what is lost is the careless share of the critical samples",
          "[learning]") {
    const auto model = make_critical_regimes(thousand_samples());
    const LearningState careful = model->after(model->start(), 125, step_of(8));
    CHECK(careful.progress == 1000);
    CHECK(model->metric(careful) == 0.9);
    const LearningState careless = model->after(model->start(), 63, step_of(16));
    CHECK(careless.progress == 1000);  // the last step has fewer
    CHECK(*model->metric(careless) == Approx(0.8));
    // Careful in the first stretch, careless from the middle of the second one on.
    LearningState mixed = model->after(model->start(), 69, step_of(8));
    CHECK_FALSE(model->metric(mixed).has_value());
    CHECK(mixed.progress == 552);
    mixed = model->after(mixed, 28, step_of(16));
    CHECK(*model->metric(mixed) == Approx(0.9 - 0.1 * 48 / 200));
}

TEST_CASE("critical regimes: steps made at once or one by one lead to the same", "[learning]") {
    const auto model = make_critical_regimes(thousand_samples());
    const LearningState at_once = model->after(model->start(), 60, step_of(12));
    LearningState apart = model->start();
    for (int i = 0; i < 60; ++i) apart = model->after(apart, 1, step_of(12));
    CHECK(apart.progress == at_once.progress);
    CHECK(model->digest(apart) == model->digest(at_once));
    CHECK(model->digest(at_once) == 200);
    const LookAhead ahead = model->look_ahead(at_once, step_of(12), 1000);
    CHECK(ahead.done);
    CHECK(ahead.steps == 24);  // 280 samples
    CHECK(model->look_ahead(at_once, step_of(12), 23).steps == 23);
    CHECK_FALSE(model->look_ahead(at_once, step_of(12), 23).done);
    CHECK(model->samples_left(at_once, step_of(12)) == 280);
}

TEST_CASE("critical regimes: codecs are careful or not, and none always is", "[learning]") {
    CriticalRegimes all = thousand_samples();
    all.careful_batch = 0;
    all.careful_codec = {policies::Codec::power_sgd, 2};
    const auto model = make_critical_regimes(all);
    const auto end_of = [&](policies::Codec codec, double level) {
        LearningStep step = step_of(500);
        step.codec = codec;
        step.codec_level = level;
        return *model->metric(model->after(model->start(), 2, step));
    };
    CHECK(end_of(policies::Codec::none, 0) == 0.9);
    CHECK(end_of(policies::Codec::power_sgd, 2) == 0.9);
    CHECK(end_of(policies::Codec::power_sgd, 1) == Approx(0.8));
    CHECK(end_of(policies::Codec::top_k, 2) == Approx(0.8));
}

TEST_CASE("critical regimes: a monitor sees the norm of the gradient", "[learning]") {
    const auto model = make_critical_regimes(thousand_samples());
    const auto norm_after = [&](std::int64_t steps) {
        return model->gradient(model->after(model->start(), steps, step_of(10)), step_of(10))
            .squared_norm;
    };
    CHECK(model->gradient(model->start(), step_of(10)).squared_norm == 4);
    CHECK(norm_after(15) == 3);
    CHECK(norm_after(90) == 2);
    CHECK(model->drawn(7)->target() == 1000);
}
