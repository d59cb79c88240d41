#include "analysis/database/sweep_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/database/run_database.hpp"
#include "analysis/database/run_keys.hpp"
#include "analysis/database/run_writer.hpp"
#include "analysis/database/schema.hpp"
#include "base/input_error.hpp"

namespace ukemi::analysis {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::int64_t> scenario_rows(RunDatabase& database, const RunKeys& keys,
                                        std::span<const scenarios::ExperimentCase> cases) {
    std::vector<std::int64_t> rows;
    database.begin();
    for (const scenarios::ExperimentCase& one : cases) {
        rows.push_back(database.scenario_row(*one.scenario, keys.scenario_digest(rows.size())));
    }
    database.commit();
    return rows;
}

SweptRun swept(const RunKeys& keys, const scenarios::PlannedRun& run,
               scenarios::FinishedRun finished) {
    static const std::vector<const records::RunColumn*> columns = stored_columns();
    SweptRun swept{keys.key_of(run),
                   static_cast<std::int64_t>(run.case_number),
                   keys.trace_digest(run.trace),
                   std::move(finished.result.trace),
                   std::move(finished.result.policy),
                   {},
                   std::move(finished.result.doubts),
                   finished.wall_s};
    swept.values.reserve(columns.size());
    for (const records::RunColumn* column : columns) {
        swept.values.push_back(column->of(finished.result));
    }
    return swept;
}

// The groups that are to be made, each by the first who has time for it.
class Work {
public:
    void add(std::size_t group) {
        if (groups_.empty() || groups_.back() != group) groups_.push_back(group);
    }
    // Several while many are left; none once somebody has stopped it.
    std::vector<std::size_t> take(std::size_t workers, bool stopped) {
        constexpr std::size_t together_most = 16;
        const std::scoped_lock lock(mutex_);
        const std::size_t left = stopped ? 0 : groups_.size() - taken_;
        const std::size_t count =
            std::min(left, std::clamp<std::size_t>(left / (8 * workers), 1, together_most));
        const auto begin = groups_.begin() + static_cast<std::ptrdiff_t>(taken_);
        taken_ += count;
        return {begin, begin + static_cast<std::ptrdiff_t>(count)};
    }
    std::optional<std::size_t> take_one(bool stopped) {
        const std::scoped_lock lock(mutex_);
        if (stopped || taken_ == groups_.size()) return std::nullopt;
        return groups_[taken_++];
    }

private:
    std::mutex mutex_;
    std::vector<std::size_t> groups_;
    std::size_t taken_ = 0;
};

// The sweep as its first rank sees it.
class Sweep {
public:
    Sweep(std::span<const scenarios::ExperimentCase> cases, const scenarios::ExperimentSetup& setup,
          const SweepSetup& sweep, RankGroup& ranks)
        : cases_(cases),
          setup_(setup),
          sweep_(sweep),
          ranks_(ranks),
          keys_(cases, setup),
          database_(sweep.database),
          known_(database_.keys()) {
        progress_.swap(setup_.progress);
        if (known_.empty() || sweep.resume) return;
        throw InputError(
            sweep.database.string(), "",
            fmt::format("holds {} runs already: --resume adds what is missing", known_.size()));
    }

    SweepEnd run() {
        rows_ = scenario_rows(database_, keys_, cases_);
        writer_.emplace(database_);
        const Clock::time_point begun = Clock::now();
        guarded([&] { scenarios::run_experiment(cases_, setup_, taker()); });
        if (server_.joinable()) server_.join();
        guarded([&] { writer_->finish(); });
        end_.made = static_cast<std::size_t>(writer_->committed());
        end_.wall_s = std::chrono::duration<double>(Clock::now() - begun).count();
        return std::move(end_);
    }

private:
    template <class Action>
    void guarded(Action action) {
        try {
            action();
        } catch (...) {
            const std::scoped_lock lock(mutex_);
            end_.failure = std::current_exception();
            failed_ = true;
        }
    }

    bool is_stopped() const {
        return failed_ || writer_->has_failed() || (sweep_.stopped && sweep_.stopped());
    }
    bool is_there(std::int64_t key) const { return std::ranges::binary_search(known_, key); }

    scenarios::RunTaker taker() {
        scenarios::RunTaker taker;
        taker.wanted = [&](const scenarios::PlannedRun& run) {
            if (run.group % sweep_.shards != sweep_.shard - 1) return false;
            const bool there = is_there(keys_.key_of(run));
            end_.there += there;
            if (!there) work_.add(run.group);
            return !there;
        };
        taker.begin = [&](std::size_t, std::size_t wanted) {
            end_.wanted = wanted;
            if (ranks_.size() == 1) return;
            server_ = std::jthread([&] { guarded([&] { ranks_.serve(server()); }); });
        };
        taker.next_group = [&] { return work_.take_one(is_stopped()); };
        taker.take = [&](const scenarios::PlannedRun& run, scenarios::FinishedRun finished) {
            add(swept(keys_, run, std::move(finished)));
        };
        taker.stopped = [&] { return is_stopped(); };
        return taker;
    }

    RankGroup::Server server() {
        return {[&](std::size_t rank, std::uint64_t digest) {
                    if (digest != keys_.digest()) {
                        fail(rank, {true, "reads other files than rank 0, or is another build"});
                    }
                    return work_.take(ranks_.size(), is_stopped());
                },
                [&](std::span<const std::uint8_t> bytes) {
                    for (SweptRun& run : unpacked(bytes)) {
                        if (!is_there(run.key)) add(std::move(run));  // the rest of a group
                    }
                },
                [&](std::size_t rank, const RankFailure& failure) { fail(rank, failure); }};
    }
    [[noreturn]] void fail(std::size_t rank, const RankFailure& failure) {
        failed_ = true;  // nothing more is begun
        const std::string name = fmt::format("rank {}", rank);
        if (failure.input) throw InputError(name, "", failure.text);
        throw std::runtime_error(fmt::format("{}: {}", name, failure.text));
    }

    void add(SweptRun run) {
        run.scenario = rows_[static_cast<std::size_t>(run.scenario)];
        writer_->add(std::move(run));
        if (!progress_) return;
        const std::scoped_lock lock(mutex_);
        progress_(++done_, end_.wanted);
    }

    std::span<const scenarios::ExperimentCase> cases_;
    scenarios::ExperimentSetup setup_;
    const SweepSetup& sweep_;
    RankGroup& ranks_;
    RunKeys keys_;
    RunDatabase database_;
    std::vector<std::int64_t> known_;
    std::vector<std::int64_t> rows_;  // of the cases
    std::function<void(std::size_t, std::size_t)> progress_;
    std::optional<RunWriter> writer_;
    Work work_;
    std::mutex mutex_;
    std::size_t done_ = 0;
    std::atomic<bool> failed_ = false;
    SweepEnd end_;
    std::jthread server_;
};

// What another rank has been handed, and what it has made of it and not sent yet.
class Helper {
public:
    Helper(const RunKeys& keys, RankGroup& ranks) : keys_(keys), ranks_(ranks) {}

    std::optional<std::size_t> next() {
        const std::scoped_lock lock(mutex_);
        if (handed_.empty() && !ended_) {
            send();
            handed_ = ranks_.ask(keys_.digest());
            ended_ = handed_.empty();
            std::ranges::reverse(handed_);
        }
        if (handed_.empty()) return std::nullopt;
        const std::size_t group = handed_.back();
        handed_.pop_back();
        return group;
    }
    void add(SweptRun run) {
        const std::scoped_lock lock(mutex_);
        made_.push_back(std::move(run));
        if (Clock::now() - sent_at_ > send_after) send();
    }
    void finish() {
        const std::scoped_lock lock(mutex_);
        send();
    }

private:
    static constexpr auto send_after = std::chrono::milliseconds(200);

    void send() {
        if (!made_.empty()) ranks_.send(packed(made_));
        made_.clear();
        sent_at_ = Clock::now();
    }

    const RunKeys& keys_;
    RankGroup& ranks_;
    std::mutex mutex_;
    std::vector<std::size_t> handed_;  // the next one last
    std::vector<SweptRun> made_;
    Clock::time_point sent_at_ = Clock::now();
    bool ended_ = false;
};

}  // namespace

SweepEnd sweep_runs(std::span<const scenarios::ExperimentCase> cases,
                    const scenarios::ExperimentSetup& setup, const SweepSetup& sweep,
                    RankGroup& ranks) {
    return Sweep(cases, setup, sweep, ranks).run();
}

void help_sweep(std::span<const scenarios::ExperimentCase> cases,
                const scenarios::ExperimentSetup& setup, const std::function<bool()>& stopped,
                RankGroup& ranks) {
    const RunKeys keys(cases, setup);
    Helper helper(keys, ranks);
    scenarios::RunTaker taker;
    taker.next_group = [&] { return helper.next(); };
    taker.take = [&](const scenarios::PlannedRun& run, scenarios::FinishedRun finished) {
        helper.add(swept(keys, run, std::move(finished)));
    };
    taker.stopped = stopped;
    scenarios::run_experiment(cases, setup, taker);
    helper.finish();
}

}  // namespace ukemi::analysis
