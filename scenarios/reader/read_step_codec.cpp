// read_step_codec.cpp — codecs by name, their levels and rates, and where they cannot run.
#include "scenarios/reader/read_step_codec.hpp"

#include <fmt/format.h>

#include "scenarios/reader/read_codec.hpp"
#include "scenarios/reader/read_step_layout.hpp"

namespace ukemi::scenarios {

sim::StepCodec read_step_codec(ConfigReader& config) {
    const policies::CodecChoice said = read_codec(config);
    sim::StepCodec choice;
    choice.name = kernels::entry_of(said.codec).name;
    choice.level = said.level;
    if (choice.name == "none") {
        if (config.has("codec_rates")) {
            config.fail("codec_rates", "has no effect where \"codec\" is none: leave it out");
        }
        return choice;
    }
    if (auto rates = config.object_if_present("codec_rates")) {
        choice.encode_rate = rates->rate("encode", "operations/s");
        choice.decode_rate = rates->rate("decode", "operations/s");
        constexpr double least = 1e6;  // slower, a step would take years
        if (choice.encode_rate < least || choice.decode_rate < least) {
            rates->fail("", "expected at least 1e6 operations/s");
        }
        rates->finish();
    }
    return choice;
}

void expect_codec_fits_layout(const ConfigReader& config, const StepJobEntry& entry) {
    const sim::LayoutRequest& request = entry.request;
    if (entry.codec.name == "none" || request.is_plain()) return;
    if (request.shard != sim::Shard::none) {
        config.fail("codec", "expected none where replicas divide what they hold (\"shard\")");
    }
    sim::LayoutRequest nothing_again = request;
    nothing_again.recompute = false;
    nothing_again.recompute_scores = false;
    const char* jobs = "gradients of whole models on every worker";
    if (request.synchronised_norm) jobs = "jobs whose \"batch_norm\" is local";
    if (nothing_again.is_plain()) jobs = "jobs that compute nothing again (\"recompute\")";
    refuse_beside(request, config, "codec", fmt::format("{} is for {}", entry.codec.name, jobs));
}

void encode_gradients(const ConfigReader& config, const sim::ModelProfile& model,
                      StepJobEntry& entry) {
    sim::StepJob& job = entry.job;
    sim::StepCodec& choice = entry.codec;
    if (choice.name == "none") return;
    if (!job.servers.empty()) {
        config.fail(
            "codec",
            fmt::format("{} rides all-reduces and all-gathers, and {} has neither", choice.name,
                        sim::variable_update_names[static_cast<std::size_t>(entry.update)]));
    }
    if (job.pair_model > Bytes{}) {
        config.fail("codec", fmt::format("{} takes gradients, and pair_averaging sends models",
                                         choice.name));
    }
    if (job.buckets.empty()) config.fail("codec", "there is nothing to encode: nothing is sent");
    if (static_cast<std::int64_t>(job.workers.size()) > kernels::codec_ranks_max) {
        config.fail("codec",
                    fmt::format("codecs are for at most {} workers", kernels::codec_ranks_max));
    }
    choice.gpu = entry.least_gpu;
    const std::string where = config.place_of("codec");
    entry.coded =
        sim::encode_buckets(job.buckets, model, entry.request.buckets, entry.request.value_bytes,
                            choice, static_cast<int>(job.workers.size()), where);
}

std::vector<sim::GradientBucket> parts_on(const sim::StepJob& job, std::uint32_t lane) {
    std::vector<sim::GradientBucket> parts;
    for (const sim::GradientBucket& bucket : job.buckets) {
        if (bucket.legs.empty() && lane == sim::all_reduce_lane) {
            parts.push_back({bucket.name, bucket.bytes});
        }
        for (const sim::BucketLeg& leg : bucket.legs) {
            if (leg.lane == lane) parts.push_back({bucket.name, leg.bytes});
        }
    }
    return parts;
}

}  // namespace ukemi::scenarios
