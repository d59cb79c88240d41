// queue_over_time.cpp — jobs that wait, and GPUs in use, over time: a line a scheduler.
#include "plots/varied_lines.hpp"

namespace ukemi::plots {

FigureResult draw_queue_over_time(const FigureInput& input, const std::filesystem::path& folder,
                                  const FigureOptions& options) {
    return draw_varied_lines("queue_over_time", input.queues, folder, options);
}

}  // namespace ukemi::plots
