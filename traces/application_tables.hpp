// application_tables.hpp — what was measured of training applications: step times by GPU type,
// placement and batch, gradient statistics by batch and epoch, and the progress that ends each
// epoch.
//
// A folder holds throughput.csv, grad_stats.csv and progress.csv; apps.csv there or in the folder
// above; for schedulers that ask for iterations left, iterations.csv. What a run asks for and no
// row has is an InputError that names the table and the row: nothing is guessed, unless the tables
// are to be interpolated (step_times.hpp; gradients and iterations straight between batches).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.hpp"
#include "traces/step_times.hpp"

namespace ukemi::traces {

class CsvScanner;

struct MeasuredGradient {
    double squared_norm = 0;  // 0: no row
    double variance = 0;
};

// What a job's batch was from one slice of its work on (a slice ends with a round or an epoch).
struct RecordedBatch {
    std::int64_t slice = 0;
    std::int64_t local = 0;
    std::int64_t accumulated = 0;
};
// By job. Columns: job, slice, local_bsz, accumulation.
std::map<std::string, std::vector<RecordedBatch>> read_recorded_batches(
    const std::filesystem::path& file);

class Application {
public:
    std::string name;
    std::int64_t first_batch = 0;  // of one GPU, to which the gain of others is related
    std::int64_t batch_max = 0;
    std::int64_t local_min = 0;
    std::int64_t epochs = 0;
    std::int32_t gpus_max = 0;  // 0: batch / local_min
    Duration restart;
    double slowdown = 1;  // of every step, which sharing machines costs

    // Where a type stands among those of the tables; the only one where they name none.
    std::size_t type_called(std::string_view gpu_type) const;
    std::int64_t local_max(std::size_t type) const { return types_[type].local_max; }
    // GPUs on one machine after another; any rotation of them is the same.
    ApplicationStep step(std::size_t type, std::span<const std::int32_t> gpus_by_machine,
                         std::int64_t batch_per_gpu) const;
    MeasuredGradient gradient(std::int64_t batch, std::int64_t epoch) const;
    bool runs_on(std::size_t type) const { return !types_[type].steps.empty(); }
    double progress(std::int64_t epoch) const;  // that ends this many epochs
    double iterations(std::int64_t batch, std::int64_t epoch) const;
    std::int64_t last_epoch() const { return epochs - 1; }

private:
    friend class ApplicationTables;
    [[noreturn]] void fail(std::string_view table, const std::string& row) const;
    std::optional<MeasuredGradient> between_batches(std::int64_t batch, std::int64_t epoch) const;

    struct OnType {
        std::string gpu_type;
        std::int64_t local_max = 0;
        StepTimes steps;
    };
    std::string folder_;
    bool interpolates_ = false;
    std::vector<OnType> types_;
    std::map<std::int64_t, std::vector<MeasuredGradient>> gradients_;
    std::vector<double> progress_;  // NaN: no row
    std::map<std::pair<std::int64_t, std::int64_t>, double> iterations_;
};

// A folder of what was measured on GPUs of a type ("" where tables name none): below it a folder an
// application with placements-TYPE.csv and scalability-TYPE.csv, or without -TYPE, and
// validation-BATCH.csv. What the tables have goes before it.
struct MeasuredFolder {
    std::string gpu_type;
    std::filesystem::path folder;
};

class ApplicationTables {
public:
    explicit ApplicationTables(const std::filesystem::path& folder, bool interpolates = false,
                               std::span<const MeasuredFolder> measured = {});
    const Application* find(std::string_view name) const;  // null: there is none
    std::string names() const;                             // for complaints

private:
    Application& at(const CsvScanner& csv, std::size_t column);
    static Application::OnType& on_type(Application& application, const CsvScanner& csv,
                                        std::size_t column);
    void read_applications(const std::filesystem::path& file);
    void read_steps(const std::filesystem::path& file);
    static void read_measured(const MeasuredFolder& measured, Application& application);
    void read_gradients(const std::filesystem::path& file);
    void read_progress(const std::filesystem::path& file);
    void read_iterations(const std::filesystem::path& file);

    std::vector<Application> applications_;
};

}  // namespace ukemi::traces
