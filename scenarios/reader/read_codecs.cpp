// read_codecs.cpp — the codec of the first Plan, and what codecs cost a simulated step.
//
// Where a codec's exchange has not been measured, it follows from its bytes and the link: an
// all-reduce over a ring takes 2(n − 1)·latency + 2(n − 1)/n · bytes/bandwidth, what only an
// all-gather carries (n − 1)·(latency + bytes/bandwidth). (The costs of the ring algorithms:
// Thakur et al., IJHPCA 2005, §4; Patarasuk and Yuan, JPDC 2009.)
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/link_spec.hpp"
#include "kernels/codec.hpp"
#include "scenarios/reader/read_codec.hpp"
#include "scenarios/reader/read_synchronisation.hpp"
#include "scenarios/reader/sections.hpp"

namespace ukemi::scenarios {
namespace {

policies::TimeBySize times_of(const LinkSpec& link, std::int64_t bytes, bool reduces) {
    const double pass_s = static_cast<double>(bytes) / link.bandwidth.raw();
    policies::TimeBySize times;
    for (std::int32_t n = 1; n <= instances_most; n = n < 64 ? n + 1 : n + n / 4) {
        const double others = n - 1;
        const double time_s = reduces ? others * (2 * to_seconds(link.latency) + 2 * pass_s / n)
                                      : others * (to_seconds(link.latency) + pass_s);
        times.push_back({n, seconds(std::min(time_s, 86'400.0))});
    }
    return times;
}

policies::CodecChoice read_sent_codec(ConfigReader& config) {
    const policies::CodecChoice choice = read_codec(config);
    if (choice.codec == policies::Codec::none) {
        config.fail("codec", "expected a codec other than none");
    }
    return choice;
}

policies::CodecTime read_row(ConfigReader& config, const std::optional<LinkSpec>& link) {
    policies::CodecTime row;
    const policies::CodecChoice choice = read_sent_codec(config);
    row.codec = choice.codec;
    row.level = kernels::level_meant(choice.codec, choice.level);
    row.usual_level = row.level == kernels::level_meant(row.codec, 0);
    row.encoding = {
        {1, bounded_duration(config, "encoding", Duration{}, step_longest, Duration{})}};
    row.relative_error = config.number("relative_error", 0, 1e6, 0);
    if (config.has("bytes")) row.bytes = config.bytes("bytes").raw();
    refuse_times_at_synchronisation(config);
    if (config.has("exchange")) {
        row.synchronisation = read_time_table(config, "exchange", step_longest);
    } else if (link && row.bytes > 0) {
        const kernels::TensorShape any{1024, 1024};
        const kernels::CodecLayout layout =
            kernels::codec_layout(kernels::entry_of(row.codec).name, row.level, any, 2);
        row.synchronisation = times_of(*link, row.bytes, layout.reduces());
    } else {
        config.fail("exchange",
                    "missing: expected times by the number of workers, or \"bytes\" and a \"link\" "
                    "at step_time");
    }
    config.finish();
    return row;
}

// Of each in the list "codecs", if there is one.
void read_rows(ConfigReader& config, policies::StepTime& time,
               const std::function<policies::CodecTime(ConfigReader& one)>& read) {
    if (!config.has("codecs")) return;
    for (ConfigReader& one : config.objects("codecs")) {
        policies::CodecTime row = read(one);
        for (const policies::CodecTime& before : time.codecs) {
            if (before.codec == row.codec && before.level == row.level) {
                one.fail("codec", "stands in the list twice with this level");
            }
        }
        time.codecs.push_back(std::move(row));
    }
}

}  // namespace

void read_plan_codec(ConfigReader& training, policies::Plan& plan, bool& error_feedback) {
    const policies::CodecChoice choice = read_codec(training);
    plan.codec = choice.codec;
    plan.codec_level = choice.level;
    error_feedback = read_error_feedback(training, plan.codec, error_feedback);
    if (plan.codec != policies::Codec::none &&
        plan.synchronisation != policies::Synchronisation::s_sgd) {
        training.fail("codec",
                      "goes with \"synchronisation\": \"s_sgd\": averaging exchanges "
                      "models and no gradients");
    }
}

void read_codec_times(ConfigReader& config, policies::StepTime& time) {
    std::optional<LinkSpec> link;
    if (config.has("gradient")) time.bytes = config.bytes("gradient").raw();
    if (auto given = config.object_if_present("link")) {
        link = read_link(*given);
        given->finish();
        if (time.bytes <= 0) config.fail("link", "goes with \"gradient\", its bytes");
        if (!time.synchronisation.empty()) {
            config.fail("link", "stands beside \"exchange\": expected one of them");
        }
        time.synchronisation = times_of(*link, time.bytes, true);
    }
    read_rows(config, time, [&](ConfigReader& one) { return read_row(one, link); });
}

void read_simulated_codecs(ConfigReader& config, policies::StepTime& time,
                           const SimulatedCodec& simulate) {
    read_rows(config, time, [&](ConfigReader& one) {
        const policies::CodecChoice choice = read_sent_codec(one);
        for (const std::string_view key : {"bytes", "encoding", "exchange"}) {
            if (one.has(key)) one.fail(key, "comes out of the simulated steps: leave it out");
        }
        const double error = one.number("relative_error", 0, 1e6, 0);
        one.finish();
        // With its rest on the GPU, the largest batch may not fit.
        policies::CodecTime row = one.of_file("codec", [&] { return simulate(choice); });
        row.relative_error = error;
        return row;
    });
}

}  // namespace ukemi::scenarios
