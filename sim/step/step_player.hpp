// step_player.hpp — plays the steps of one job: what all kinds of jobs have in common.
//
// Input, the beginning and the end of a step, and which time counts as exposed communication. What
// happens within a step is for those who derive from it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "sim/step/step_host.hpp"
#include "sim/step/step_job.hpp"
#include "sim/step/step_record.hpp"

namespace ukemi::sim {

// When the batch of the next step is there.
class InputFeed {
public:
    explicit InputFeed(Instant since = {}) : ready_(since) {}  // nothing is prepared before
    // Of a step that would begin now; the batch that replaces its batch is then begun.
    Instant next(const StepJob& job, Instant now);

private:
    std::deque<Instant> taken_;  // when the last batches were taken, oldest first
    Instant ready_;              // the newest batch that was prepared
};

class StepPlayer {
public:
    StepPlayer(StepHost& host, const StepJob& job, const StepOptions& options)
        : host_(host), job_(job), options_(options) {}
    StepPlayer(const StepPlayer&) = delete;
    StepPlayer& operator=(const StepPlayer&) = delete;
    virtual ~StepPlayer() = default;

    void begin(Instant now) { next_step(now); }
    // In the place of one whose step, begun at `since`, was torn: the first step is counted from
    // then on.
    void begin_again(Instant since, Instant now, Instant at);
    void wake_up(std::uint64_t token, Instant now);  // what the host calls
    virtual void woken(std::uint64_t token, Instant now) = 0;
    virtual void arrived(std::uint64_t token, Instant now) = 0;
    bool is_over() const { return over_; }  // has done its steps
    const std::string& name() const { return job_.name; }
    JobSteps take_result() { return std::move(result_); }
    Instant step_begin() const { return record_.begin; }  // of the step under way

    // How many messages of gradients are on the network, and how many are encoded or decoded: from
    // now on so many more.
    void messages_changed(Instant now, int on_the_network, int coded);
    // What it sent.
    void note_played(bool exact) { ++(exact ? result_.exact : result_.fluid); }
    void note_nccl() { ++result_.nccl; }
    void note_message(SentMessage message);               // that has arrived, if details are kept
    Instant computed_at() const { return computed_at_; }  // when all have, in this step

protected:
    // Begins to compute at `begin`, when the input is there.
    virtual void play_step(Instant begin) = 0;

    StepHost& host() { return host_; }
    const StepJob& job() const { return job_; }
    StepRecord& record() { return record_; }
    JobSteps& result() { return result_; }
    // Has steps to do, or goes on for the sake of others that have.
    bool goes_on() const { return !over_ || options_.until_all_are_done; }
    std::size_t steps_done() const { return result_.steps.size(); }
    void note_links(std::span<const LinkId> links);  // that gradients cross
    // From then on time counts as sending, coding or agreeing.
    void set_computed_at(Instant at) { computed_at_ = at; }
    StepParts exposed(Instant now);  // these three since then
    // Adds the record, whose parts must be complete, and begins the next step if there is one.
    void finish_step(Instant now);

private:
    // Tokens of its own.
    static constexpr std::uint64_t again_token = UINT64_MAX;
    static constexpr std::uint64_t validated_token = UINT64_MAX - 1;

    void next_step(Instant now);
    void validate(Instant now);
    void close_step();

    StepHost& host_;
    const StepJob& job_;
    StepOptions options_;
    JobSteps result_;
    StepRecord record_;
    InputFeed input_;
    Instant computed_at_ = Instant::never();
    int on_the_network_ = 0;
    int coded_ = 0;
    Instant changed_at_;  // of these two
    StepParts exposed_;
    bool over_ = false;
    std::optional<Instant> torn_since_;
};

}  // namespace ukemi::sim
