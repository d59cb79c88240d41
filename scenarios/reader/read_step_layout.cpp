// read_step_layout.cpp — degrees, the pipeline's schedule, what is computed again or split.
#include "scenarios/reader/read_step_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace ukemi::scenarios {

namespace {

constexpr std::int64_t blocks_most = 10'000;

// Of blocks: all, or so many of each stage, or a number for each of them; and of the others,
// scores.
void read_recompute(ConfigReader& config, sim::LayoutRequest& request) {
    request.recompute = config.flag("recompute", false);
    request.recompute_blocks = config.integer("recompute_blocks", 0, blocks_most, 0);
    if (request.recompute_blocks > 0 && !request.recompute) {
        config.fail("recompute_blocks", "goes with \"recompute\": true");
    }
    request.recompute_scores = config.flag("recompute_scores", false);
    if (!config.has("recompute_by_stage")) return;
    for (const double count : config.numbers("recompute_by_stage", 0, blocks_most)) {
        request.recompute_by_stage.push_back(static_cast<std::int64_t>(count));
        if (static_cast<double>(request.recompute_by_stage.back()) == count) continue;
        config.fail("recompute_by_stage", fmt::format("expected whole blocks, found {}", count));
    }
    const auto stages = static_cast<std::size_t>(request.degrees.pipeline) *
                        static_cast<std::size_t>(request.chunks);
    if (request.recompute_by_stage.size() != stages) {
        config.fail("recompute_by_stage",
                    fmt::format("expected a number for each of the {} stages, found {}", stages,
                                request.recompute_by_stage.size()));
    }
    if (!request.recompute || request.recompute_blocks > 0) {
        config.fail("recompute_by_stage",
                    "goes with \"recompute\": true, and in place of \"recompute_blocks\"");
    }
}

void expect_all_workers(const ConfigReader& config, const sim::LayoutRequest& request,
                        std::int64_t workers) {
    const policies::Layout& degrees = request.degrees;
    if (std::int64_t{degrees.tensor} * request.context * degrees.pipeline * degrees.data ==
        workers) {
        return;
    }
    if (request.context > 1) {
        config.fail("data", fmt::format("expected tensor x context x pipeline x data to be the {} "
                                        "workers, found {} x {} x {} x {}",
                                        workers, degrees.tensor, request.context, degrees.pipeline,
                                        degrees.data));
    }
    config.fail("data", fmt::format("expected tensor x pipeline x data to be the {} workers, "
                                    "found {} x {} x {}",
                                    workers, degrees.tensor, degrees.pipeline, degrees.data));
}

}  // namespace

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
    request.degrees = {static_cast<std::int32_t>(data), static_cast<std::int32_t>(pipeline),
                       static_cast<std::int32_t>(tensor)};
    request.context = static_cast<std::int32_t>(context);
    request.context_exchange = config->choice<sim::ContextExchange>(
        "context_exchange", sim::context_exchange_names, "ring");
    const std::string schedule =
        config->one_of("schedule", sim::pipeline_kind_names, "one_forward_one_backward");
    request.schedule = static_cast<sim::PipelineKind>(
        std::ranges::find(sim::pipeline_kind_names, schedule) - sim::pipeline_kind_names.begin());
    request.chunks = static_cast<std::int32_t>(config->integer("chunks", 1, 1024, 1));
    read_recompute(*config, request);
    request.sequence_parallel = config->flag("sequence_parallel", false);
    request.overlap_tensor = config->flag("overlap_tensor", false);
    request.split_dense = config->flag("split_dense", false);
    request.shard = config->choice<sim::Shard>("shard", sim::shard_names, "none");
    if (request.shard == sim::Shard::parameters) {
        request.prefetch = static_cast<std::int32_t>(config->integer("prefetch", 0, 1000, 1));
    } else if (config->has("prefetch")) {
        config->fail("prefetch", "goes with \"shard\": \"parameters\"");
    }
    request.slowed_by_sending = config->number("slowed_by_sending", 0, 1, 0);
    request.expert = static_cast<std::int32_t>(config->integer("expert", 1, 1 << 20, 1));
    const std::int64_t whole = config->integer("expert_tensor", 1, 1024, tensor);
    if (whole != tensor && whole != 1) {
        config->fail("expert_tensor",
                     fmt::format("experts are cut as all else is, or whole: expected tensor, {}, "
                                 "or 1, found {}",
                                 tensor, whole));
    }
    request.whole_experts = whole < tensor;
    config->finish();  // a misspelt degree is what is wrong, not the number of workers
    expect_all_workers(*config, request, workers);
    return request;
}

void refuse_beside(const sim::LayoutRequest& layout, const ConfigReader& job,
                   const std::string& key, const std::string& why) {
    job.fail(key, layout.is_plain_but_slowed()
                      ? "does not go with \"slowed_by_sending\" of \"layout\""
                      : why);
}

std::string layout_text(const sim::LayoutRequest& request) {
    const policies::Layout& degrees = request.degrees;
    std::string text = fmt::format(
        R"({{"tensor": {}, "context": {}, "pipeline": {}, "data": {})"
        R"(, "schedule": "{}", "chunks": {})",
        degrees.tensor, request.context, degrees.pipeline, degrees.data,
        sim::pipeline_kind_names[static_cast<std::size_t>(request.played())], request.chunks);
    text += fmt::format(R"(, "recompute": {}, "recompute_blocks": {}, "recompute_scores": {})",
                        request.recompute, request.recompute ? request.recompute_blocks : 0,
                        request.recompute_scores);
    text += fmt::format(R"(, "sequence_parallel": {}, "split_dense": {}, "shard": "{}")",
                        request.sequence_parallel, request.split_dense,
                        sim::shard_names[static_cast<std::size_t>(request.shard)]);
    if (request.shard == sim::Shard::parameters) {
        text += fmt::format(R"(, "prefetch": {})", request.prefetch);
    }
    if (request.context > 1 && request.context_exchange != sim::ContextExchange::ring) {
        text += fmt::format(
            R"(, "context_exchange": "{}")",
            sim::context_exchange_names[static_cast<std::size_t>(request.context_exchange)]);
    }
    if (request.overlap_tensor) text += R"(, "overlap_tensor": true)";
    if (request.slowed_by_sending > 0) {
        text += fmt::format(R"(, "slowed_by_sending": {})", request.slowed_by_sending);
    }
    if (request.expert > 1) text += fmt::format(R"(, "expert": {})", request.expert);
    if (request.recompute && !request.recompute_by_stage.empty()) {
        text += fmt::format(R"(, "recompute_by_stage": [{}])",
                            fmt::join(request.recompute_by_stage, ", "));
    }
    if (request.whole_experts) text += R"(, "expert_tensor": 1)";
    return text + "}";
}

}  // namespace ukemi::scenarios
