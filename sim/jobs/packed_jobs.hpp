// packed_jobs.hpp — the jobs of a workload in the order of arrival, in little room.
//
// A SharingJob takes 312 bytes and its strings. Here each of its members is a column, in which
// what all jobs have alike stands once: a job of a recorded workload takes its name and some 24
// bytes. A job is made from its row when it is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/invariant.hpp"
#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

// A value a job; a single one while all are alike.
template <class Value>
class JobColumn {
public:
    void add(const Value& value) {
        if (count_++ == 0) common_ = value;
        if (own_.empty() && value != common_) own_.assign(count_ - 1, common_);
        if (!own_.empty()) own_.push_back(value);
    }
    const Value& operator[](std::size_t job) const { return own_.empty() ? common_ : own_[job]; }
    template <class Change>
    void change(Change change) {
        change(common_);
        for (Value& value : own_) change(value);
    }
    // None but this one; of no job, its default.
    const Value* of_all() const { return own_.empty() ? &common_ : nullptr; }

private:
    Value common_{};
    std::vector<Value> own_;
    std::size_t count_ = 0;
};

// Values of which several jobs have the same, each kept once.
template <class Value>
class SharedColumn {
public:
    void add(const Value& value) {
        if (last_ == nullptr || *last_ != value) last_ = &*values_.insert(value).first;
        which_.add(last_);
    }
    const Value& operator[](std::size_t job) const { return *which_[job]; }

private:
    std::set<Value> values_;
    const Value* last_ = nullptr;
    JobColumn<const Value*> which_;
};

// Neighbours in one text.
class TextColumn {
public:
    void add(std::string_view text);
    std::string_view operator[](std::size_t job) const {
        const std::size_t begin = job == 0 ? 0 : ends_[job - 1];
        return std::string_view(text_).substr(begin, ends_[job] - begin);
    }

private:
    std::string text_;
    std::vector<std::uint32_t> ends_;
};

class PackedJobs {
public:
    PackedJobs() = default;
    PackedJobs(PackedJobs&&) = default;
    PackedJobs& operator=(PackedJobs&&) = default;

    std::size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }
    SharingJob operator[](std::size_t job) const;
    void read(std::size_t job, SharingJob& into) const;
    SharingJob front() const { return (*this)[0]; }
    std::vector<SharingJob> all() const;
    std::string_view name(std::size_t job) const { return name_[job]; }
    Instant arrival(std::size_t job) const { return arrival_[job]; }
    std::int32_t gpus(std::size_t job) const { return gpus_[job]; }
    bool have_budgets() const;       // some of them
    bool have_applications() const;  // some of them

    void add(const SharingJob& job);
    // All of them, made anew one after the other.
    void change(const std::function<void(SharingJob&)>& change);
    // Of one instant they stay in the order in which they were added.
    void sort_by_arrival();
    // The clock of arrivals and deadlines is set back by so much.
    void set_clock_back(Duration by);

    // Each as it is asked for.
    class Iterator {
    public:
        using value_type = SharingJob;
        using difference_type = std::ptrdiff_t;
        Iterator() = default;
        Iterator(const PackedJobs& jobs, std::size_t at) : jobs_(&jobs), at_(at) {}
        SharingJob operator*() const { return (*jobs_)[at_]; }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        void operator++(int) { ++at_; }
        friend bool operator==(const Iterator&, const Iterator&) = default;

    private:
        const PackedJobs* jobs_ = nullptr;
        std::size_t at_ = 0;
    };
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, count_}; }

private:
    std::size_t count_ = 0;
    TextColumn name_;
    JobColumn<Instant> arrival_;
    JobColumn<std::int32_t> gpus_;
    JobColumn<Duration> restart_;
    JobColumn<std::shared_ptr<const TransitionCosts>> transition_;
    JobColumn<Instant> deadline_;
    JobColumn<Duration> service_;
    SharedColumn<std::vector<std::int64_t>> speeds_;
    SharedColumn<std::vector<std::int64_t>> speed_of_group_;
    JobColumn<const traces::Application*> application_;
    JobColumn<std::int64_t> batch_;
    JobColumn<JobPredictor> predictor_;
    JobColumn<const traces::RecordedBatch*> recorded_;
    JobColumn<std::size_t> recorded_count_;
    JobColumn<SaveRule> saves_;
    JobColumn<std::optional<LinkedStep>> step_;
    JobColumn<std::size_t> trains_;
    JobColumn<std::int64_t> samples_;
    JobColumn<std::shared_ptr<const ControlledJob>> controlled_;
    SharedColumn<std::string> user_;
    JobColumn<std::int64_t> priority_;
    JobColumn<std::optional<Dollars>> budget_;
};

}  // namespace ukemi::sim
