#include "sim/search/search_run.hpp"

#include <algorithm>
#include <limits>

#include "base/invariant.hpp"

namespace ukemi::sim {

namespace {

constexpr std::int64_t millionths = 1'000'000;

// Speeds by number of GPUs, of one GPU's.
std::vector<std::int64_t> speeds_of(const TrialJob& job) {
    std::vector<std::int64_t> speeds = {0};
    const double one = to_seconds(job.step_time.at(1));
    for (std::size_t gpus = 1; gpus < job.step_time.size(); ++gpus) {
        const double speed = one / to_seconds(job.step_time[gpus]);
        speeds.push_back(std::max<std::int64_t>(1, round_nearest(speed * millionths)));
    }
    return speeds;
}

class SearchSource final : public JobSource {
public:
    SearchSource(const SearchCluster& where, LearnedTrials& learned, Searcher& searcher,
                 bool on_grid)
        : where_(where), learned_(learned), searcher_(searcher), on_grid_(on_grid) {
        trials_.resize(searcher.trials());
        outcome_.trials.resize(searcher.trials());
    }

    std::size_t jobs_max() const override { return searcher_.pieces_max(); }

    std::vector<SharingJob> next(Instant now, std::span<const std::size_t> ended,
                                 std::size_t live) override {
        for (const std::size_t piece : ended) end(piece);
        std::vector<SharingJob> jobs;
        while (const auto piece = searcher_.next(is_room(live + jobs.size()))) {
            jobs.push_back(begin(now, *piece));
        }
        return jobs;
    }

    SearchOutcome take() { return std::move(outcome_); }

private:
    struct Trial {
        LearnedTrial* learned = nullptr;
        std::unique_ptr<LearnedTrial> own;  // once it took over another's weights
        std::int64_t units = 0;
        std::int64_t samples = 0;        // there
        std::int64_t samples_until = 0;  // at the end of its piece
    };

    bool is_room(std::size_t live) const {
        const std::int32_t of_one = learned_at(0).job().gpus;
        return static_cast<std::int64_t>(live + 1) * of_one <= where_.cluster.gpus();
    }
    LearnedTrial& learned_at(std::size_t trial) const {
        return on_grid_ ? learned_.on_grid(trial) : learned_.drawn(trial);
    }

    SharingJob begin(Instant now, const TrialPiece& piece) {
        Trial& trial = trials_.at(piece.trial);
        if (trial.learned == nullptr) trial.learned = &learned_at(piece.trial);
        if (piece.copies) {
            const Trial& other = trials_.at(*piece.copies);
            INVARIANT(*piece.copies != piece.trial);
            trial.units = other.units;
            trial.samples = other.samples;
            trial.own = learned_.explored(*other.learned, piece.trial, trial.units);
            trial.learned = trial.own.get();
        }
        INVARIANT(piece.until > trial.units);
        outcome_.pieces.push_back({piece, trial.units, now, 0, true});
        const TrialJob& job = trial.learned->job();
        const std::int64_t steps = trial.learned->steps(trial.units, piece.until);
        trial.samples_until = std::min(trial.samples + steps * job.step.batch, job.samples);
        SharingJob asked;
        asked.name = piece_name(piece);
        asked.gpus = job.gpus;
        asked.restart = where_.restart;
        asked.service = std::max(nanoseconds(1), steps * job.step_time.at(1));
        asked.speeds = speeds_of(job);
        if (where_.world != nullptr) {
            where_.world->expect(
                outcome_.pieces.size() - 1,
                {piece.trial, piece.copies, trial.learned->settings(),
                 learned_.seed_of(piece.trial), trial.samples, trial.samples_until});
        }
        return asked;
    }

    void end(std::size_t number) {
        TrainedPiece& piece = outcome_.pieces.at(number);
        Trial& trial = trials_.at(piece.asked.trial);
        trial.units = piece.asked.until;
        trial.samples = trial.samples_until;
        if (!see_metric(number, *trial.learned, piece)) return;
        SearchedTrial& seen = outcome_.trials.at(piece.asked.trial);
        seen.settings = trial.learned->settings();
        seen.units = trial.units;
        seen.metric = piece.metric;
        const double score = trial.learned->job().larger_is_better ? piece.metric : -piece.metric;
        searcher_.reached({piece.asked.trial, trial.units, score});
    }

    // One that failed is the worst of all.
    bool see_metric(std::size_t number, LearnedTrial& trial, TrainedPiece& piece) {
        if (where_.world == nullptr) {
            piece.metric = trial.metric(piece.asked.until);
            piece.failed = false;
            return true;
        }
        const std::optional<double> metric = where_.world->metric(number);
        piece.metric = metric.value_or(0);
        piece.failed = !metric;
        if (metric) return true;
        constexpr double worst = -std::numeric_limits<double>::infinity();
        searcher_.reached({piece.asked.trial, piece.asked.until, worst});
        return false;
    }

    const SearchCluster& where_;
    LearnedTrials& learned_;
    Searcher& searcher_;
    bool on_grid_;
    std::vector<Trial> trials_;
    SearchOutcome outcome_;
};

// Of one trial, from its beginning to its end on the GPUs that it asks for.
double full_gpu_s(LearnedTrial& trial, std::int64_t units, Duration restart) {
    const TrialJob& job = trial.job();
    const Duration step = job.step_time.at(static_cast<std::size_t>(job.gpus));
    return job.gpus * to_seconds(trial.steps(0, units) * step + restart);
}

bool is_better(const TrialJob& job, double metric, double than) {
    return job.larger_is_better ? metric > than : metric < than;
}

LearnedTrial& learned_first(LearnedTrials& learned, bool on_grid) {
    return on_grid ? learned.on_grid(0) : learned.drawn(0);
}

}  // namespace

SearchOutcome run_search(const SearchCluster& where, LearnedTrials& learned, Searcher& searcher,
                         const SearchTerms& terms, bool on_grid, schedulers::Scheduler& scheduler) {
    searcher.begin(terms);
    SearchSource source(where, learned, searcher, on_grid);
    ScheduledWorkload workload;
    workload.cluster = where.cluster;
    workload.round = where.round;
    workload.keeps_spans = where.keeps_spans;
    workload.source = &source;
    if (where.world != nullptr) {
        workload.world = &where.world->jobs();
        workload.keeps_decisions = true;
    }
    ScheduleOutcome schedule = run_schedule(workload, scheduler);
    SearchOutcome outcome = source.take();
    outcome.schedule = std::move(schedule);
    for (std::size_t i = 0; i < outcome.pieces.size(); ++i) {
        const JobOutcome& job = outcome.schedule.jobs[i];
        outcome.trials[outcome.pieces[i].asked.trial].gpu_s += job.gpu_s;
        outcome.gpu_s += job.gpu_s;
        outcome.restarts += job.starts;
    }
    outcome.restarts -= static_cast<std::int64_t>(outcome.trials.size());
    for (std::size_t i = 0; i < outcome.trials.size(); ++i) {
        LearnedTrial& trial = on_grid ? learned.on_grid(i) : learned.drawn(i);
        if (where.world == nullptr) {
            outcome.full_gpu_s =
                outcome.full_gpu_s.value_or(0) + full_gpu_s(trial, terms.units, where.restart);
        }
        const SearchedTrial& one = outcome.trials[i];
        const SearchedTrial& best = outcome.trials[outcome.winner];
        const bool farther = one.units > best.units;
        const bool better =
            one.units == best.units && is_better(trial.job(), one.metric, best.metric);
        if (farther || better) outcome.winner = i;
    }
    return outcome;
}

FullComparison compared_with_full(const SearchOutcome& outcome, LearnedTrials& learned,
                                  bool on_grid) {
    FullComparison result;
    for (std::size_t i = 0; i < outcome.trials.size(); ++i) {
        LearnedTrial& trial = on_grid ? learned.on_grid(i) : learned.drawn(i);
        const double metric = trial.metric(learned.units());
        if (i == 0 || is_better(trial.job(), metric, result.metric)) {
            result.winner = i;
            result.metric = metric;
        }
    }
    result.found = outcome.trials[outcome.winner].metric;
    result.same_winner = outcome.winner == result.winner;
    const TrialJob& job = learned_first(learned, on_grid).job();
    result.as_good = result.same_winner || !is_better(job, result.metric, result.found);
    return result;
}

}  // namespace ukemi::sim
