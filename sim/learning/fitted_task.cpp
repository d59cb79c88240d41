#include "sim/learning/fitted_task.hpp"

#include "sim/learning/fit.hpp"
#include "sim/learning/recorded_runs.hpp"

namespace ukemi::sim {

std::vector<FittedTask> fitted_tasks(const std::filesystem::path& folder) {
    std::vector<FittedTask> tasks;
    for (const std::filesystem::path& model : sorted_entries(folder)) {
        const RecordedRuns runs = recorded_runs(model);
        const std::filesystem::path times = model / "scalability.csv";
        if (runs.size() < 2 || !std::filesystem::exists(times)) continue;
        const std::map<double, double> medians = compute_medians(times);
        if (medians.size() < 2) continue;
        FittedTask task;
        task.name = model.filename().string();
        task.law = law_of_runs(runs);
        task.law.rule = RateRule::plan;
        constexpr double any_rate = 0.1;  // recorded is only what AdaScale makes of it
        task.law.reference_rate = any_rate;
        for (const auto& [batch, _] : runs) task.batches.push_back(batch);
        task.epochs = static_cast<std::int64_t>(runs.begin()->second.rows.size());
        const BatchLine line = relative_line(medians);
        task.per_sample_s = std::max(line.slope, 1e-9);
        task.fixed_s = std::max(line.at_zero, 0.0);
        task.gpu_batch_most = round_nearest(medians.rbegin()->first);
        tasks.push_back(std::move(task));
    }
    return tasks;
}

}  // namespace ukemi::sim
