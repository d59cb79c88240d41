// step_player.cpp — from one step to the next.
#include "sim/step/step_player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {

Instant InputFeed::next(const StepJob& job, Instant now) {
    const InputSupply& input = job.input;
    if (input.samples_per_second <= 0) return now;
    const auto samples = static_cast<double>(job.samples_per_step());
    const Duration each = seconds(samples / input.samples_per_second);
    Instant room;  // since when there has been a place for it
    if (static_cast<std::int64_t>(taken_.size()) == input.ahead) {
        room = taken_.front();
        taken_.pop_front();
    }
    ready_ = std::max(ready_, room) + each;
    const Instant there = std::max(now, ready_);
    taken_.push_back(there);
    return there;
}

void StepPlayer::note_links(std::span<const LinkId> links) {
    std::vector<LinkId>& all = result_.links;
    all.insert(all.end(), links.begin(), links.end());
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
}

void StepPlayer::begin_again(Instant since, Instant now, Instant at) {
    input_ = InputFeed(now);
    record_.begin = since;  // it may be torn once more before it has begun
    torn_since_ = since;
    host_.wake(*this, at, again_token);
}

void StepPlayer::wake_up(std::uint64_t token, Instant now) {
    switch (token) {
        case again_token: return next_step(now);
        case validated_token: return close_step();
        default: woken(token, now);
    }
}

void StepPlayer::next_step(Instant now) {
    record_ = {};
    record_.begin = torn_since_.value_or(now);
    torn_since_.reset();
    record_.parts.torn = now - record_.begin;
    record_.samples = job_.samples_per_step();
    record_.workers = static_cast<std::int64_t>(job_.workers.size());
    record_.detailed = static_cast<std::int64_t>(steps_done()) < options_.detailed_steps;
    if (record_.detailed) record_.first_ranks = job_.first_ranks;
    computed_at_ = Instant::never();
    exposed_ = {};
    record_.compute_begin = input_.next(job_, now);
    record_.parts.input = record_.compute_begin - now;
    play_step(record_.compute_begin);
}

void StepPlayer::messages_changed(Instant now, int on_the_network, int coded) {
    const Instant from = std::max(changed_at_, computed_at_);
    if (now > from) {
        Duration& part = on_the_network_ > 0 ? exposed_.sending
                         : coded_ > 0        ? exposed_.coding
                                             : exposed_.agreeing;
        part += now - from;
    }
    changed_at_ = now;
    on_the_network_ += on_the_network;
    coded_ += coded;
    INVARIANT(on_the_network_ >= 0 && coded_ >= 0);
}

StepParts StepPlayer::exposed(Instant now) {
    messages_changed(now, 0, 0);
    return exposed_;
}

void StepPlayer::note_message(SentMessage message) {
    if (record_.detailed) record_.sent.push_back(std::move(message));
}

void StepPlayer::finish_step(Instant now) {
    INVARIANT(on_the_network_ == 0 && coded_ == 0);
    record_.end = now;
    INVARIANT(record_.parts.total() == now - record_.begin);
    const std::int64_t every = job_.validation.every;
    const std::int64_t number = job_.steps_before + static_cast<std::int64_t>(steps_done()) + 1;
    if (every > 0 && number % every == 0) return validate(now);
    close_step();
}

void StepPlayer::validate(Instant now) {
    record_.parts.validation = job_.validation_time();
    record_.end = now + record_.parts.validation;
    if (record_.detailed) {
        const auto ranks = static_cast<std::int32_t>(job_.workers.size());
        const std::int32_t busy = job_.validation.distributed ? ranks : 1;
        record_.spans.push_back({0, busy, "validate", now, record_.end});
        if (busy < ranks) {
            record_.spans.push_back({busy, ranks - busy, "wait for validation", now, record_.end});
        }
    }
    host_.wake(*this, record_.end, validated_token);
}

void StepPlayer::close_step() {
    const Instant end = record_.end;
    result_.steps.push_back(std::move(record_));
    over_ = static_cast<std::int64_t>(steps_done()) >= job_.steps;
    constexpr std::int64_t further_most = 100'000;  // some ten megabytes of records
    if (static_cast<std::int64_t>(steps_done()) - job_.steps >= further_most) {
        throw InputError(fmt::format("job {}", job_.name), "",
                         fmt::format("does {} steps more than it has to until the other jobs have "
                                     "done theirs: expected fewer steps of the slower jobs",
                                     further_most));
    }
    if (goes_on()) next_step(end);
}

}  // namespace ukemi::sim
