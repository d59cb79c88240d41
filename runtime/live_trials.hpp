// live_trials.hpp — the trials of a search, really trained: each piece of training is a live job.
//
// Between two pieces a trial is a checkpoint and nothing else; the next one goes on from it. What a
// piece is worth is what the model of its last checkpoint makes of the samples that it is not
// trained with. A trial that takes over another's weights begins with that one's checkpoint.
#pragma once

#include <functional>
#include <map>

#include "runtime/live_jobs.hpp"
#include "scenarios/reader/search_scenario.hpp"
#include "sim/search/trial_world.hpp"

namespace ukemi::runtime {

class LiveTrials final : public sim::TrialWorld {
public:
    using TrialOf = std::function<scenarios::LiveTrial(const sim::TrialSettings& settings)>;
    // Checkpoints go to a folder a trial in `folder`.
    LiveTrials(TrialOf trial_of, std::filesystem::path folder, LiveJobsOptions options);

    sim::JobWorld& jobs() override { return jobs_; }
    void expect(std::size_t job, const sim::PieceOrder& piece) override;
    std::optional<double> metric(std::size_t job) override;
    std::vector<LiveJobRecord> take_records() { return jobs_.take_records(); }

private:
    struct Piece {
        std::size_t trial = 0;
        LiveJobSpec spec;
        kernels::DataSpec all_data;
    };

    std::filesystem::path last_saved(std::size_t trial, const std::filesystem::path& folder) const;
    // What that trial saved last, as a checkpoint of the job of `spec`.
    std::filesystem::path taken_over(std::size_t other, const LiveJobSpec& spec) const;

    TrialOf trial_of_;
    std::filesystem::path folder_;
    std::map<std::size_t, Piece> pieces_;                       // by job
    std::map<std::size_t, std::filesystem::path> checkpoints_;  // by trial
    LiveJobs jobs_;
};

}  // namespace ukemi::runtime
