// read_critical_regimes.cpp — "learning" by Accordion's account: what is lost while the gradient
// changes fast.
#include <fmt/format.h>

#include <utility>

#include "policies/batch/batch_view.hpp"
#include "scenarios/reader/read_codec.hpp"
#include "scenarios/reader/sections.hpp"
#include "sim/learning/critical_regimes.hpp"

namespace ukemi::scenarios {

namespace {

constexpr std::int64_t samples_most = 1'000'000'000'000;

// [{"from": 0, "until": 1000000}, …], the first from the samples that the job has.
void read_stretches(ConfigReader& config, sim::CriticalRegimes& all) {
    std::int64_t before = 0;
    for (ConfigReader& one : config.objects("critical")) {
        sim::CriticalStretch stretch;
        stretch.from = one.integer("from", 0, samples_most);
        stretch.until = one.integer("until", 1, samples_most);
        one.finish();
        if (stretch.from < before) one.fail("from", "begins before the last one has ended");
        if (stretch.until <= stretch.from) one.fail("until", "expected more than in \"from\"");
        before = stretch.until;
        all.critical.push_back(stretch);
    }
    if (all.critical.empty() || all.critical.front().from >= all.samples) {
        config.fail("critical", "expected at least one stretch within the job's samples");
    }
}

// {"batch": 512}, or {"codec": "power_sgd:2"}
void read_careful(ConfigReader& config, sim::CriticalRegimes& all) {
    ConfigReader careful = config.object("careful");
    if (careful.has("batch") == careful.has("codec")) {
        careful.fail("", "expected \"batch\" or \"codec\"");
    }
    if (careful.has("batch")) {
        all.careful_batch = careful.integer("batch", 1, policies::batch_most);
    } else {
        all.careful_codec = read_codec(careful);
    }
    careful.finish();
}

void read_norms(ConfigReader& config, sim::CriticalRegimes& all) {
    if (!config.has("squared_norm")) return;
    for (ConfigReader& point : config.objects("squared_norm")) {
        const sim::MetricPoint norm{point.integer("samples", 0, samples_most),
                                    point.number("value", 0, 1e30)};
        point.finish();
        if (!all.squared_norm.empty() && norm.samples <= all.squared_norm.back().samples) {
            point.fail("samples", "expected more than in the point before");
        }
        all.squared_norm.push_back(norm);
    }
}

}  // namespace

std::shared_ptr<const sim::LearningModel> read_critical_regimes(ConfigReader& config,
                                                                const sim::JobSpec& job) {
    sim::CriticalRegimes all;
    all.samples = job.samples_total;
    if (all.samples > samples_most) {
        config.fail("", fmt::format("expected at most {} samples to learn from, found {}",
                                    samples_most, all.samples));
    }
    read_stretches(config, all);
    read_careful(config, all);
    read_norms(config, all);
    ConfigReader accuracy = config.object("accuracy");
    all.careful = accuracy.number("careful", 0, 1);
    all.careless = accuracy.number("careless", 0, 1);
    accuracy.finish();
    return sim::make_critical_regimes(std::move(all));
}

}  // namespace ukemi::scenarios
