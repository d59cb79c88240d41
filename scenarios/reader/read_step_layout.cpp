// read_step_layout.cpp — degrees, the pipeline's schedule, what is computed again or split.
#include "scenarios/reader/read_step_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ukemi::scenarios {

sim::LayoutRequest read_step_layout(ConfigReader& job, std::int64_t workers) {
    sim::LayoutRequest request;
    request.degrees.data = static_cast<std::int32_t>(workers);
    static constexpr std::array<std::string_view, 2> norms{"local", "synchronised"};
    request.synchronised_norm = job.one_of("batch_norm", norms, "local") == "synchronised";
    auto config = job.object_if_present("layout");
    if (!config) return request;
    const std::int64_t tensor = config->integer("tensor", 1, 1024, 1);
    const std::int64_t pipeline = config->integer("pipeline", 1, 1024, 1);
    const std::int64_t context = config->integer("context", 1, 1024, 1);
    const std::int64_t data = config->integer(
        "data", 1, 1 << 20, std::max<std::int64_t>(workers / (tensor * context * pipeline), 1));
    if (context > 1 && tensor * context * pipeline * data != workers) {
        config->fail("data", fmt::format("expected tensor x context x pipeline x data to be the {} "
                                         "workers, found {} x {} x {} x {}",
                                         workers, tensor, context, pipeline, data));
    }
    if (tensor * context * pipeline * data != workers) {
        config->fail("data", fmt::format("expected tensor x pipeline x data to be the {} workers, "
                                         "found {} x {} x {}",
                                         workers, tensor, pipeline, data));
    }
    request.degrees = {static_cast<std::int32_t>(data), static_cast<std::int32_t>(pipeline),
                       static_cast<std::int32_t>(tensor)};
    request.context = static_cast<std::int32_t>(context);
    const std::string schedule =
        config->one_of("schedule", sim::pipeline_kind_names, "one_forward_one_backward");
    request.schedule = static_cast<sim::PipelineKind>(
        std::ranges::find(sim::pipeline_kind_names, schedule) - sim::pipeline_kind_names.begin());
    request.chunks = static_cast<std::int32_t>(config->integer("chunks", 1, 1024, 1));
    request.recompute = config->flag("recompute", false);
    request.recompute_blocks = config->integer("recompute_blocks", 0, 10'000, 0);
    if (request.recompute_blocks > 0 && !request.recompute) {
        config->fail("recompute_blocks", "goes with \"recompute\": true");
    }
    request.recompute_scores = config->flag("recompute_scores", false);
    request.sequence_parallel = config->flag("sequence_parallel", false);
    request.overlap_tensor = config->flag("overlap_tensor", false);
    request.split_dense = config->flag("split_dense", false);
    request.shard = config->choice<sim::Shard>("shard", sim::shard_names, "none");
    if (request.shard == sim::Shard::parameters) {
        request.prefetch = static_cast<std::int32_t>(config->integer("prefetch", 0, 1000, 1));
    } else if (config->has("prefetch")) {
        config->fail("prefetch", "goes with \"shard\": \"parameters\"");
    }
    request.expert = static_cast<std::int32_t>(config->integer("expert", 1, 1 << 20, 1));
    config->finish();
    return request;
}

std::string layout_text(const sim::LayoutRequest& request) {
    const policies::Layout& degrees = request.degrees;
    std::string text = fmt::format(
        R"({{"tensor": {}, "context": {}, "pipeline": {}, "data": {})"
        R"(, "schedule": "{}", "chunks": {})",
        degrees.tensor, request.context, degrees.pipeline, degrees.data,
        sim::pipeline_kind_names[static_cast<std::size_t>(request.schedule)], request.chunks);
    text += fmt::format(R"(, "recompute": {}, "recompute_blocks": {}, "recompute_scores": {})",
                        request.recompute, request.recompute ? request.recompute_blocks : 0,
                        request.recompute_scores);
    text += fmt::format(R"(, "sequence_parallel": {}, "split_dense": {}, "shard": "{}")",
                        request.sequence_parallel, request.split_dense,
                        sim::shard_names[static_cast<std::size_t>(request.shard)]);
    if (request.shard == sim::Shard::parameters) {
        text += fmt::format(R"(, "prefetch": {})", request.prefetch);
    }
    if (request.overlap_tensor) text += R"(, "overlap_tensor": true)";
    if (request.expert > 1) text += fmt::format(R"(, "expert": {})", request.expert);
    return text + "}";
}

}  // namespace ukemi::scenarios
