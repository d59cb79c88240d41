#include "runtime/live_trials.hpp"

#include <fmt/format.h>

#include <numeric>

#include "base/invariant.hpp"
#include "kernels/checkpoint_file.hpp"
#include "kernels/replica.hpp"

namespace ukemi::runtime {

namespace {

// The share of the samples from `first` on that a checkpoint's model puts into their classes.
double share_right(const kernels::TrainingSpec& training, const kernels::DataSpec& all_data,
                   std::int64_t first, const std::filesystem::path& file) {
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

LiveTrials::LiveTrials(TrialOf trial_of, std::filesystem::path folder, LiveJobsOptions options)
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
    std::filesystem::create_directories(spec.folder);
    spec.samples_before = piece.samples_from;
    if (piece.samples_from == 0) return;
    const auto saved = checkpoints_.find(piece.trial);
    // Of a piece that failed there is none: then this one fails, too, and says which it misses.
    spec.resume_from =
        saved != checkpoints_.end() ? saved->second : spec.folder / "checkpoint-of-a-failed-piece";
}

std::optional<double> LiveTrials::metric(std::size_t job) {
    const LiveJobRecord& record = jobs_.record(job);
    const Piece& piece = pieces_.at(job);
    if (!record.failure.empty()) return std::nullopt;
    INVARIANT(!record.checkpoint.empty());
    const std::filesystem::path& file = record.checkpoint;
    checkpoints_[piece.trial] = file;
    const kernels::TrainingSpec& training = *piece.spec.scenario.training;
    return share_right(training, piece.all_data, training.data.samples, file);
}

}  // namespace ukemi::runtime
