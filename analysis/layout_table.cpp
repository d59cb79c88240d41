// layout_table.cpp — the layouts of a search, for people and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/layout_search.hpp"
#include "base/plain_text.hpp"
#include "scenarios/reader/read_step_layout.hpp"

namespace ukemi::analysis {

using nlohmann::json;

namespace {

constexpr std::size_t too_large_shown = 3;

std::string gigabytes(Bytes bytes) {
    return fmt::format("{:>8.2f}", static_cast<double>(bytes.raw()) / 1e9);
}

std::string name_of(const sim::LayoutRequest& request) {
    return fmt::format("{}, batch {} x {}", words_of(request), request.batch,
                       request.micro_batches);
}

std::string row(const TriedLayout& layout, const std::string& first) {
    const sim::MemoryNeed& need = layout.need;
    return fmt::format("{}{}{}{}{}{}  {}\n", first, gigabytes(need.weights),
                       gigabytes(need.gradients), gigabytes(need.states), gigabytes(need.kept),
                       gigabytes(need.total()), name_of(layout.request));
}

json layout_json(const TriedLayout& layout) {
    const sim::LayoutRequest& request = layout.request;
    json object = {{"layout", json::parse(scenarios::layout_text(request))},
                   {"batch", request.batch},
                   {"accumulation", request.micro_batches},
                   {"bytes_per_gpu",
                    {{"total", layout.need.total().raw()},
                     {"weights", layout.need.weights.raw()},
                     {"gradients", layout.need.gradients.raw()},
                     {"optimiser_states", layout.need.states.raw()},
                     {"exchange", layout.need.exchange.raw()},
                     {"kept", layout.need.kept.raw()},
                     {"reserved", layout.need.reserve.raw()}}}};
    if (layout.step_s) object["step_s"] = *layout.step_s;
    if (layout.least_s > 0) object["step_s_at_least"] = layout.least_s;
    if (is_too_large(layout)) object["bytes_missing"] = layout.over.raw();
    if (!layout.refusal.empty()) object["refused"] = one_line(layout.refusal);
    return object;
}

}  // namespace

std::string layouts_table(const LayoutSearch& search, std::size_t kept) {
    const std::size_t simulated = search.count(was_simulated);
    const std::size_t slower = search.count(was_passed_over);
    const std::size_t too_large = search.count(is_too_large);
    const std::size_t refused = search.layouts.size() - simulated - slower - too_large;
    std::string text = fmt::format(
        "{} layouts of {} workers, {} samples a step: {} fit in a GPU's memory, {} "
        "simulated{}\n",
        search.layouts.size(), search.workers, search.samples, simulated + slower, simulated,
        refused == 0 ? ""
                     : fmt::format("; {} are refused, such as: {}", refused,
                                   one_line(search.layouts.back().refusal)));
    text += fmt::format("{:>14}{:>40}\n", "", "GB a GPU");
    text += fmt::format("{:>14}{:>8}{:>8}{:>8}{:>8}{:>8}  layout\n", "step (ms)", "weights",
                        "grads", "states", "kept", "total");
    for (std::size_t i = 0; i < std::min(kept, simulated); ++i) {
        const TriedLayout& layout = search.layouts[i];
        text += row(layout, fmt::format("{:>14.3f}", *layout.step_s * 1e3));
    }
    // Simulated or not: those were not whose least time is above all that are shown.
    const std::size_t shown = std::min(kept, simulated);
    const std::size_t more = simulated - shown + slower;
    if (more > 0) {
        double least_s = std::numeric_limits<double>::infinity();
        if (shown < simulated) least_s = *search.layouts[shown].step_s;
        if (slower > 0) least_s = std::min(least_s, search.layouts[simulated].least_s);
        text += fmt::format("{:>14}  {} more that fit take {:.3f} ms or more\n", "", more,
                            least_s * 1e3);
    }
    if (too_large == 0) return text;
    text += fmt::format("{} need more than the {:.2f} GB of {}, the nearest of them\n", too_large,
                        static_cast<double>(search.gpu_memory.raw()) / 1e9, search.gpus);
    text += fmt::format("{:>14}\n", "bytes more");
    for (std::size_t i = 0; i < std::min(too_large_shown, too_large); ++i) {
        const TriedLayout& layout = search.layouts[simulated + slower + i];
        text += row(layout, fmt::format("{:>14}", layout.over.raw()));
    }
    return text;
}

std::string layouts_json(const LayoutSearch& search) {
    json all = json::array();
    for (const TriedLayout& layout : search.layouts) all.push_back(layout_json(layout));
    return all.dump(2);
}

}  // namespace ukemi::analysis
