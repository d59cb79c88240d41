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
    const std::int64_t data = config->integer(
        "data", 1, 1 << 20, std::max<std::int64_t>(workers / (tensor * pipeline), 1));
    if (tensor * pipeline * data != workers) {
        config->fail("data", fmt::format("expected tensor x pipeline x data to be the {} workers, "
                                         "found {} x {} x {}",
                                         workers, tensor, pipeline, data));
    }
    request.degrees = {static_cast<std::int32_t>(data), static_cast<std::int32_t>(pipeline),
                       static_cast<std::int32_t>(tensor)};
    const std::string schedule =
        config->one_of("schedule", sim::pipeline_kind_names, "one_forward_one_backward");
    request.schedule = static_cast<sim::PipelineKind>(
        std::ranges::find(sim::pipeline_kind_names, schedule) - sim::pipeline_kind_names.begin());
    request.chunks = static_cast<std::int32_t>(config->integer("chunks", 1, 1024, 1));
    request.recompute = config->flag("recompute", false);
    request.split_dense = config->flag("split_dense", false);
    config->finish();
    return request;
}

}  // namespace ukemi::scenarios
