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
#include "analysis/database/run_writer.hpp"
#include "base/input_error.hpp"

namespace ukemi::analysis {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::int64_t> scenario_rows(RunDatabase& database, const RunMaker& maker) {
    std::vector<std::int64_t> rows;
    database.begin();
    for (const SweptScenario& one : maker.scenarios()) rows.push_back(database.scenario_row(one));
    database.commit();
    return rows;
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
    Sweep(RunMaker& maker, const SweepSetup& sweep, RankGroup& ranks)
        : maker_(maker),
          sweep_(sweep),
          ranks_(ranks),
          database_(sweep.database, maker.kind()),
          known_(database_.keys()) {
        if (known_.empty() || sweep.resume) return;
        throw InputError(
            sweep.database.string(), "",
            fmt::format("holds {} runs already: --resume adds what is missing", known_.size()));
    }

    SweepEnd run() {
        rows_ = scenario_rows(database_, maker_);
        writer_.emplace(database_);
        const Clock::time_point begun = Clock::now();
        guarded([&] { maker_.make(taker()); });
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

    SweepTaker taker() {
        SweepTaker taker;
        taker.wanted = [&](std::int64_t key, std::size_t group) {
            if (group % sweep_.shards != sweep_.shard - 1) return false;
            const bool there = is_there(key);
            end_.there += there;
            if (!there) work_.add(group);
            return !there;
        };
        taker.begin = [&](std::size_t wanted) {
            end_.wanted = wanted;
            if (ranks_.size() == 1) return;
            server_ = std::jthread([&] { guarded([&] { ranks_.serve(server()); }); });
        };
        taker.next_group = [&] { return work_.take_one(is_stopped()); };
        taker.take = [&](SweptRun run) { add(std::move(run)); };
        taker.stopped = [&] { return is_stopped(); };
        return taker;
    }

    RankGroup::Server server() {
        return {[&](std::size_t rank, std::uint64_t digest) {
                    if (digest != maker_.digest()) {
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
        if (!sweep_.progress) return;
        const std::scoped_lock lock(mutex_);
        sweep_.progress(++done_, end_.wanted);
    }

    RunMaker& maker_;
    const SweepSetup& sweep_;
    RankGroup& ranks_;
    RunDatabase database_;
    std::vector<std::int64_t> known_;
    std::vector<std::int64_t> rows_;  // of the cases
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
    Helper(std::uint64_t digest, RankGroup& ranks) : digest_(digest), ranks_(ranks) {}

    std::optional<std::size_t> next() {
        const std::scoped_lock lock(mutex_);
        if (handed_.empty() && !ended_) {
            send();
            handed_ = ranks_.ask(digest_);
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

    std::uint64_t digest_;  // of what is made
    RankGroup& ranks_;
    std::mutex mutex_;
    std::vector<std::size_t> handed_;  // the next one last
    std::vector<SweptRun> made_;
    Clock::time_point sent_at_ = Clock::now();
    bool ended_ = false;
};

}  // namespace

SweepEnd sweep_runs(RunMaker& maker, const SweepSetup& sweep, RankGroup& ranks) {
    return Sweep(maker, sweep, ranks).run();
}

void help_sweep(RunMaker& maker, const std::function<bool()>& stopped, RankGroup& ranks) {
    Helper helper(maker.digest(), ranks);
    SweepTaker taker;
    taker.next_group = [&] { return helper.next(); };
    taker.take = [&](SweptRun run) { helper.add(std::move(run)); };
    taker.stopped = stopped;
    maker.make(taker);
    helper.finish();
}

}  // namespace ukemi::analysis
