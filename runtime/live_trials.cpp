#include "runtime/live_trials.hpp"

#include <fmt/format.h>

#include <numeric>

#include "base/invariant.hpp"
#include "kernels/checkpoint_file.hpp"
#include "kernels/replica.hpp"

namespace ukemi::runtime {

namespace fs = std::filesystem;

namespace {

// The share of the samples from `first` on that a checkpoint's model puts into their classes.
double share_right(const kernels::TrainingSpec& training, const kernels::DataSpec& all_data,
                   std::int64_t first, const fs::path& file) {
    const kernels::DataSet data = kernels::load_data(all_data);
    const auto model = kernels::make_model(training.model, data);
    kernels::Replica replica(std::vector<float>(model->parameter_count()), training.optimiser);
    replica.restore(kernels::read_checkpoint(file).state);
    std::vector<std::uint32_t> test(static_cast<std::size_t>(data.count - first));
    std::iota(test.begin(), test.end(), static_cast<std::uint32_t>(first));
    const auto workspace = model->make_workspace();
    const kernels::BatchResult result = model->evaluate(replica.weights(), data, test, *workspace);
    return result.correct / static_cast<double>(test.size());
}

}  // namespace

LiveTrials::LiveTrials(TrialOf trial_of, fs::path folder, LiveJobsOptions options)
    : trial_of_(std::move(trial_of)),
      folder_(std::move(folder)),
      jobs_([this](std::size_t job, const sim::SharingJob&) { return pieces_.at(job).spec; },
            std::move(options)) {}

void LiveTrials::expect(std::size_t job, const sim::PieceOrder& piece) {
    Piece& one = pieces_[job];
    one.trial = piece.trial;
    LiveJobSpec& spec = one.spec;
    scenarios::LiveTrial trial = trial_of_(piece.settings);
    one.all_data = trial.all_data;
    spec.scenario = std::move(trial.scenario);
    spec.scenario.job.samples_total = piece.samples_until;
    spec.policies = scenarios::first_policies(spec.scenario);
    spec.seed = piece.seed;
    spec.folder = folder_ / fmt::format("trial-{}", piece.trial);
    fs::create_directories(spec.folder);
    spec.samples_before = piece.samples_from;
    if (piece.copies) {
        spec.resume_from = taken_over(*piece.copies, spec);
    } else if (piece.samples_from > 0) {
        spec.resume_from = last_saved(piece.trial, spec.folder);
    }
}

fs::path LiveTrials::last_saved(std::size_t trial, const fs::path& folder) const {
    const auto saved = checkpoints_.find(trial);
    // Of a piece that failed there is none: then the next one fails, too, and says which it misses.
    return saved != checkpoints_.end() ? saved->second : folder / "checkpoint-of-a-failed-piece";
}

fs::path LiveTrials::taken_over(std::size_t other, const LiveJobSpec& spec) const {
    const fs::path from = last_saved(other, spec.folder);
    if (!fs::exists(from)) return from;
    kernels::Checkpoint checkpoint = kernels::read_checkpoint(from);
    checkpoint.job = live_job_identity(spec.scenario, spec.seed);
    const fs::path file =
        spec.folder / fmt::format("of-trial-{}-at-{}.ukemi", other, checkpoint.position);
    kernels::write_checkpoint(file, checkpoint);
    return file;
}

std::optional<double> LiveTrials::metric(std::size_t job) {
    const LiveJobRecord& record = jobs_.record(job);
    const Piece& piece = pieces_.at(job);
    if (!record.failure.empty()) return std::nullopt;
    INVARIANT(!record.checkpoint.empty());
    const fs::path& file = record.checkpoint;
    checkpoints_[piece.trial] = file;
    const kernels::TrainingSpec& training = *piece.spec.scenario.training;
    return share_right(training, piece.all_data, training.data.samples, file);
}

}  // namespace ukemi::runtime
