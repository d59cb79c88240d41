// application_tables.hpp — what was measured of training applications: step times by placement and
// batch, gradient statistics by batch and epoch, and the progress that ends each epoch.
//
// A folder holds apps.csv, throughput.csv, grad_stats.csv and progress.csv, and for schedulers that
// ask for iterations left, iterations.csv. What a run asks for and no row has is an InputError that
// names the table and the row: nothing is guessed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::traces {

class CsvScanner;

struct ApplicationStep {
    double step_s = 0;
    double sync_s = 0;  // of it, without overlap
};
struct MeasuredGradient {
    double squared_norm = 0;  // 0: no row
    double variance = 0;
};

class Application {
public:
    std::string name;
    std::int64_t first_batch = 0;  // of one GPU, to which the gain of others is related
    std::int64_t batch_max = 0;
    std::int64_t local_min = 0;
    std::int64_t local_max = 0;
    std::int64_t epochs = 0;
    std::int32_t gpus_max = 0;  // 0: batch / local_min
    Duration restart;

    // GPUs on one machine after another; any rotation of them is the same.
    const ApplicationStep& step(std::span<const std::int32_t> gpus_by_machine,
                                std::int64_t batch_per_gpu) const;
    // By epoch; a missing row has a squared norm of zero.
    std::span<const MeasuredGradient> gradients(std::int64_t batch) const;
    [[noreturn]] void no_gradient(std::int64_t batch, std::int64_t epoch) const;
    double progress(std::int64_t epoch) const;  // that ends this many epochs
    double iterations(std::int64_t batch, std::int64_t epoch) const;
    std::int64_t last_epoch() const { return epochs - 1; }

private:
    friend class ApplicationTables;
    [[noreturn]] void fail(std::string_view table, const std::string& row) const;

    std::string folder_;
    std::map<std::pair<std::string, std::int64_t>, ApplicationStep> steps_;
    std::map<std::int64_t, std::vector<MeasuredGradient>> gradients_;
    std::vector<double> progress_;  // NaN: no row
    std::map<std::pair<std::int64_t, std::int64_t>, double> iterations_;
};

class ApplicationTables {
public:
    explicit ApplicationTables(const std::filesystem::path& folder);
    const Application* find(std::string_view name) const;  // null: there is none
    std::string names() const;                             // for complaints

private:
    Application& at(const CsvScanner& csv, std::size_t column);
    void read_applications(const std::filesystem::path& file);
    void read_steps(const std::filesystem::path& file);
    void read_gradients(const std::filesystem::path& file);
    void read_progress(const std::filesystem::path& file);
    void read_iterations(const std::filesystem::path& file);

    std::vector<Application> applications_;
};

}  // namespace ukemi::traces
