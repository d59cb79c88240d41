// live_jobs.cpp — carries a scheduler's allocations out on live runs, and tells it how they get on.
#include "runtime/live_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::runtime {

using Wall = LiveClock::Wall;

// One live run and its thread. All but live() is called by the scheduler's thread.
class LiveJobs::Job {
public:
    Job(const sim::SharingJob& job, LiveJobSpec spec, LiveOptions options, LiveJobs& owner)
        : model(sim::make_service_work(job)),
          whole_work(model->work_left({})),
          spec_(std::move(spec)),
          options_(std::move(options)),
          owner_(owner),
          share_(owner.news_) {
        record_.name = job.name;
        record_.samples_before = spec_.samples_before;
        record_.samples_total = spec_.scenario.job.samples_total;
        record_.samples_done = spec_.samples_before;
        record_.checkpoint = spec_.resume_from;
        saved_samples_ = spec_.samples_before;
        options_.folder = spec_.folder;
        options_.share = &share_;
        options_.on_progress = [this](const LiveRecord& record) { note(record); };
        if (owner.options_.paced) ordered_.samples_until = spec_.samples_before;
    }
    ~Job() {
        if (thread_.joinable()) thread_.join();
    }

    // What the scheduler gives it. It is ordered once the cores are free.
    void want(Instant now, std::int32_t places) {
        close_stint(now);
        wanted_ = places;
        if (places == 0) return;
        record_.stints.push_back({now, now, places, -samples()});
        in_stint_ = true;
    }
    void close_stint(Instant now) {
        if (!std::exchange(in_stint_, false)) return;
        record_.stints.back().end = now;
        record_.stints.back().samples += samples();
    }
    std::int32_t wanted() const { return wanted_; }
    bool wants_more() const { return !is_over() && wanted_ > ordered_.places; }
    bool wants_less() const { return !is_over() && wanted_ < ordered_.places; }
    std::int32_t cores() const {  // that it may be using
        if (is_over() || !thread_.joinable()) return 0;
        return std::max(ordered_.places, share_.last_report().processes);
    }
    void order_places() {
        ordered_.places = wanted_;
        order();
    }
    // As far as its simulated work is then.
    void allow_until(Instant moment) {
        const Int128 done = whole_work - model->work_left(moment);
        const std::int64_t samples = record_.samples_total - record_.samples_before;
        ordered_.samples_until =
            record_.samples_before + static_cast<std::int64_t>(done * samples / whole_work);
        order();
    }

    // It has what it was given, and has made the steps that it may make.
    bool stands() const {
        if (is_over() || (!thread_.joinable() && wanted_ == 0)) return true;
        const ShareReport report = share_.last_report();
        return wanted_ == ordered_.places && report.order == ordered_ && report.stands &&
               report.workers == report.processes;
    }
    std::int64_t samples() const {
        if (is_over()) return record_.samples_done;
        return std::max(spec_.samples_before, share_.last_report().samples);
    }
    std::int64_t samples_left() const { return record_.samples_total - samples(); }

    bool has_ended() const {  // its thread has; it may not be collected yet
        const std::lock_guard lock(owner_.news_.mutex);
        return ended_at_.has_value();
    }
    void collect(Instant now) {
        if (is_over() || !thread_.joinable() || !has_ended()) return;
        thread_.join();
        over_ = owner_.options_.paced ? now : std::max(now, *ended_at_);
    }
    bool runs() const { return thread_.joinable(); }
    bool is_over() const { return over_ < Instant::never(); }
    void await_step() {
        const std::lock_guard lock(owner_.news_.mutex);
        stepped_at_.reset();
    }
    // The first step that was committed since then.
    std::optional<Instant> stepped_at() const {
        const std::lock_guard lock(owner_.news_.mutex);
        return stepped_at_;
    }
    bool failed() const { return is_over() && !record_.failure.empty(); }
    Instant over() const { return over_; }

    LiveJobRecord& record() { return record_; }

    const std::unique_ptr<sim::JobWork> model;  // its simulated work
    const Int128 whole_work;
    bool noticed = false;  // by the scheduler, that it is over

private:
    void order() {
        if (is_over()) return;
        if (!thread_.joinable()) {
            if (ordered_.places == 0) return;
            thread_ = std::thread([this] { live(); });
        }
        share_.order(ordered_);
    }
    // The whole life of its runs: the workers die with this thread.
    void live() {
        try {
            while (share_.wait_for_places(record_.samples_done, owner_.stop_) && run_on()) {
            }
            const bool done = record_.samples_done >= record_.samples_total;
            if (!done && record_.failure.empty()) record_.failure = "told to stop";
        } catch (const std::exception& error) {
            record_.failure = error.what();
        }
        {
            const std::lock_guard lock(owner_.news_.mutex);
            ended_at_ = owner_.clock_.now();
        }
        owner_.news_.tell();
    }
    // Until it is done, fails or is paused; only then there is more to come.
    bool run_on() {
        options_.resume_from = record_.checkpoint;
        told_ = steps_seen_ = 0;
        record_.runs.push_back(run_live(spec_.scenario,
                                        scenarios::told_market(spec_.scenario, "share"),
                                        spec_.policies, spec_.seed, options_));
        const LiveRun& run = record_.runs.back();
        record_.samples_done = run.run.result.samples_done;
        record_.checkpoint = run.record.last_checkpoint;
        if (!run.record.saved_samples.empty()) saved_samples_ = run.record.saved_samples.back();
        const bool is_paused = run.record.stopped == paused_run && !run.failure;
        if (!run.run.result.finished && !is_paused) {
            record_.failure = run.run.result.unfinished_because;
            return false;
        }
        return saved_samples_ < record_.samples_done ? goes_on_from_saved() : is_paused;
    }
    // The last steps were not saved, as their workers had died: they are trained again.
    bool goes_on_from_saved() {
        if (++ends_unsaved_ > ends_unsaved_most) {
            record_.failure = "its model could not be saved";
            return false;
        }
        const std::int64_t lost = record_.samples_done - saved_samples_;
        record_.samples_done = saved_samples_;
        const std::lock_guard lock(owner_.news_.mutex);
        owner_.lines_.push_back(
            fmt::format("{}: {} samples are trained again: the model that had them was not saved",
                        record_.name, lost));
        return true;
    }
    void note(const LiveRecord& record) {
        for (; told_ < record.incidents.size(); ++told_) {
            const std::lock_guard lock(owner_.news_.mutex);
            owner_.lines_.push_back(fmt::format("{}: {}", record_.name, record.incidents[told_]));
        }
        if (record.steps.size() == std::exchange(steps_seen_, record.steps.size())) return;
        const std::lock_guard lock(owner_.news_.mutex);
        if (!stepped_at_) stepped_at_ = owner_.clock_.now();
    }

    LiveJobSpec spec_;
    LiveOptions options_;
    LiveJobs& owner_;
    JobShare share_;
    LiveJobRecord record_;
    std::int32_t wanted_ = 0;
    ShareOrder ordered_;
    bool in_stint_ = false;
    Instant over_ = Instant::never();
    std::size_t told_ = 0;  // of the run's incidents
    std::size_t steps_seen_ = 0;
    std::optional<Instant> stepped_at_;  // under the mutex of news
    std::int64_t saved_samples_ = 0;     // that the checkpoint holds
    int ends_unsaved_ = 0;
    static constexpr int ends_unsaved_most = 10;
    std::optional<Instant> ended_at_;
    std::thread thread_;
};

// As its simulated work says; what is real follows it.
class LiveJobs::PacedWork : public sim::JobWork {
public:
    explicit PacedWork(Job& job) : job_(job), model_(job.model.get()) {}

    void hold(Instant now, const sim::HeldShare& held, bool starts) override {
        model_->hold(now, held, starts);
        job_.want(now, gpus_in(held));
    }
    Instant advance(Instant now) override {
        return noticed(job_.failed() ? now : model_->advance(now), now);
    }
    Instant completion() const override { return model_->completion(); }
    void step_takes(Instant, Duration, Duration) override { INVARIANT(false); }
    void lose(Instant, bool) override { INVARIANT(false); }
    bool failed() const override { return job_.failed(); }
    const sim::SpentTimes* spent(Instant now) override { return model_->spent(now); }
    Duration remaining(Instant now) const override { return model_->remaining(now); }
    Int128 work_left(Instant now) const override { return model_->work_left(now); }
    Int128 work_in(std::int32_t gpus, Duration time) const override {
        return model_->work_in(gpus, time);
    }
    std::int32_t gpus_max() const override { return model_->gpus_max(); }
    double step_s(std::int32_t gpus) const override { return model_->step_s(gpus); }
    double steps_left(Instant now) const override { return model_->steps_left(now); }
    double pace(std::int32_t group, std::int32_t gpus, std::int32_t machines) const override {
        return model_->pace(group, gpus, machines);
    }
    double pace_left(Instant now) const override { return model_->pace_left(now); }
    bool starting(Instant now) const override { return model_->starting(now); }

protected:
    static std::int32_t gpus_in(const sim::HeldShare& held) {
        INVARIANT(held.share.of == 1);
        return static_cast<std::int32_t>(held.share.parts);
    }
    Instant noticed(Instant end, Instant now) {
        if (end > now) return Instant::never();
        job_.close_stint(end);
        job_.noticed = true;
        return end;
    }
    Job& job_;
    sim::JobWork* model_;
};

// As it gets on by the clock. Its simulated work says what it would do under another allocation.
class LiveJobs::TimedWork final : public LiveJobs::PacedWork {
public:
    using PacedWork::PacedWork;

    void hold(Instant now, const sim::HeldShare& held, bool) override {
        settle(now);
        gpus_ = gpus_in(held);
        spent_ = {};
        job_.await_step();
        job_.want(now, gpus_);
    }
    Instant advance(Instant now) override { return noticed(job_.over(), now); }
    Instant completion() const override { return job_.over(); }
    const sim::SpentTimes* spent(Instant now) override {
        settle(now);
        return &spent_;
    }
    Duration remaining(Instant now) const override {
        return nanoseconds(static_cast<std::int64_t>(left_of(model_->remaining(now).raw())));
    }
    Int128 work_left(Instant) const override { return left_of(job_.whole_work); }
    double steps_left(Instant now) const override { return model_->steps_left(now) * share_left(); }
    double pace_left(Instant now) const override { return model_->pace_left(now) * share_left(); }
    bool starting(Instant) const override { return gpus_ > 0 && !job_.stepped_at(); }

private:
    std::int64_t whole_samples() const {
        return job_.record().samples_total - job_.record().samples_before;
    }
    Int128 left_of(Int128 all) const { return all * job_.samples_left() / whole_samples(); }
    double share_left() const {
        return static_cast<double>(job_.samples_left()) / static_cast<double>(whole_samples());
    }
    // Since it was last asked: a start until it had made a step.
    void settle(Instant now) {
        const Instant since = std::exchange(at_, now);
        if (gpus_ == 0) return;
        const Instant begun = std::clamp(job_.stepped_at().value_or(now), since, now);
        const auto add = [&](Int128& sum, Duration time) {
            sum += static_cast<Int128>(time.raw()) * gpus_;
        };
        const auto of = [&](records::Cause cause) -> Int128& {
            return spent_.by_cause[static_cast<std::size_t>(cause)];
        };
        add(of(records::Cause::transition), begun - since);
        add(spent_.by_phase[0], begun - since);  // a start as a whole
        add(of(records::Cause::useful), now - begun);
    }

    std::int32_t gpus_ = 0;
    Instant at_;
    sim::SpentTimes spent_;
};

LiveJobs::LiveJobs(SpecOf spec_of, LiveJobsOptions options)
    : spec_of_(std::move(spec_of)),
      options_(std::move(options)),
      clock_(options_.live.time_scale, options_.live.wall) {}

LiveJobs::~LiveJobs() { end_all(); }

std::unique_ptr<sim::JobWork> LiveJobs::arrived(std::size_t number, const sim::SharingJob& job) {
    INVARIANT(number == jobs_.size());
    LiveOptions live = options_.live;
    live.stop_requests = &stop_;
    jobs_.push_back(std::make_unique<Job>(job, spec_of_(number, job), std::move(live), *this));
    if (options_.paced) return std::make_unique<PacedWork>(*jobs_.back());
    return std::make_unique<TimedWork>(*jobs_.back());
}

sim::WorldMoment LiveJobs::wait(Instant next) {
    const std::optional<Instant> reached = options_.paced ? wait_paced(next) : wait_for_clock(next);
    if (reached) {
        tell();
        reached_ = *reached;
        return {reached_};
    }
    const Instant stopped = options_.paced ? reached_ : clock_.now();
    end_all();
    for (const auto& job : jobs_) job->close_stint(stopped);
    tell();
    return {stopped, true};
}

// Until it is so; false if the run is told to end.
template <class Reached>
bool LiveJobs::wait_until(Instant next, Reached reached) {
    for (;;) {
        const std::uint64_t told = news_.told();
        if (told_to_stop()) return false;
        collect_ends();
        order_what_fits();
        tell();
        if (reached()) return true;
        expect_something(next);
        const auto now = Wall::now();
        auto until = now + std::chrono::milliseconds(100);  // signals wake nobody
        if (!options_.paced && next < Instant::never()) {
            until = std::min(until, now + clock_.wall(next - clock_.now()));
        }
        news_.wait(told, until);
    }
}

std::optional<Instant> LiveJobs::wait_for_clock(Instant next) {
    std::optional<Instant> first;
    const bool goes_on = wait_until(next, [&] {
        if (clock_.now() >= next) first = next;
        for (const auto& job : jobs_) {
            if (!job->is_over() || job->noticed) continue;
            first = std::min(first.value_or(next), job->over());
        }
        return first.has_value();
    });
    return goes_on ? first : std::nullopt;
}

// First all have what they were given, and then they make the steps until `next`.
std::optional<Instant> LiveJobs::wait_paced(Instant next) {
    const auto all_stand = [&] {
        return std::ranges::all_of(jobs_, [](const auto& job) { return job->stands(); });
    };
    if (!wait_until(next, all_stand)) return std::nullopt;
    for (const auto& job : jobs_) job->allow_until(next);
    if (!wait_until(next, all_stand)) return std::nullopt;
    return next;
}

// Who gives up cores is told at once; who gets some, when they are free.
void LiveJobs::order_what_fits() {
    std::int32_t used = 0;
    for (const auto& job : jobs_) {
        if (job->wants_less()) job->order_places();
        used += job->cores();
    }
    for (const auto& job : jobs_) {
        if (!job->wants_more()) continue;
        const std::int32_t with_it = used - job->cores() + job->wanted();
        if (with_it > options_.cores) continue;
        job->order_places();
        used = with_it;
    }
}

void LiveJobs::collect_ends() {
    for (const auto& job : jobs_) job->collect(reached_);
}

void LiveJobs::tell() {
    std::vector<std::string> lines;
    {
        const std::lock_guard lock(news_.mutex);
        lines.swap(lines_);
    }
    if (!options_.say) return;
    for (const std::string& line : lines) options_.say(line);
}

bool LiveJobs::told_to_stop() const {
    return options_.live.stop_requests != nullptr && options_.live.stop_requests->load() > 0;
}

// With nothing to come, somebody has to train.
void LiveJobs::expect_something(Instant next) const {
    const bool waits = std::ranges::none_of(
        jobs_, [](const auto& job) { return !job->is_over() && job->wanted() > 0; });
    if (next < Instant::never() || !waits) return;
    throw std::runtime_error("the scheduler gives nobody anything, and nothing is to come");
}

void LiveJobs::end_all() {
    for (;;) {
        const std::uint64_t told = news_.told();
        const auto* requests = options_.live.stop_requests;
        stop_ = std::max(1, requests != nullptr ? requests->load() : 1);
        collect_ends();
        const bool all_ended =
            std::ranges::none_of(jobs_, [](const auto& job) { return job->runs(); });
        if (all_ended) break;
        news_.wait(told, Wall::now() + std::chrono::milliseconds(100));
    }
    tell();
}

const LiveJobRecord& LiveJobs::record(std::size_t number) const {
    INVARIANT(jobs_.at(number)->is_over());
    return jobs_[number]->record();
}

std::vector<LiveJobRecord> LiveJobs::take_records() {
    end_all();
    std::vector<LiveJobRecord> records;
    for (const auto& job : jobs_) {
        LiveJobRecord& record = job->record();
        // Who was never given a place has no thread that could say so.
        if (told_to_stop() && record.failure.empty() &&
            record.samples_done < record.samples_total) {
            record.failure = "told to stop";
        }
        records.push_back(std::move(record));
    }
    return records;
}

}  // namespace ukemi::runtime
