// holdings.cpp — gives and takes GPUs, and keeps account of who had which until when.
#include "sim/jobs/holdings.hpp"

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::sim {

Holdings::Holdings(const ScheduledWorkload& workload, ScheduleSink& sink)
    : cluster_(workload.cluster),
      keeps_spans_(workload.keeps_spans),
      sink_(sink),
      free_(workload.cluster),
      bills_(workload.cluster, workload.jobs.size()),
      gpus_used_(static_cast<std::size_t>(workload.cluster.machines())) {}

std::int32_t Holdings::group_with(std::int32_t machine) const {
    std::int32_t group = 0;
    for (; machine >= cluster_.groups[static_cast<std::size_t>(group)].machines; ++group) {
        machine -= cluster_.groups[static_cast<std::size_t>(group)].machines;
    }
    return group;
}

// What it held, until when, and what that costs; not what it did.
void Holdings::close_span(JobId job, LiveJob& one, const HeldSpan& span) {
    JobOutcome& outcome = one.outcome;
    const schedulers::GpuShare& share = span.held.share;
    const Duration time = span.end - span.begin;
    // Those of machines that leave overlap with others.
    outcome.held += span.end - std::max(span.begin, std::min(one.held_until, span.end));
    one.held_until = std::max(one.held_until, span.end);
    outcome.gpu_s +=
        to_seconds(time) * static_cast<double>(share.parts) / static_cast<double>(share.of);
    one.held_time += static_cast<Int128>(time.raw()) * share.parts;
    if (bills_.costs_something()) {
        for (const GpusOnMachine& some : span.held.machines) {
            bills_.use(number_of(job), some, span.begin, span.end);
            one.spent += bills_.cost_of(some, span.begin, span.end);
        }
    }
    if (keeps_spans_ && time > Duration{}) sink_.held(span);
}

void Holdings::close_span(JobId job, LiveJob& one, Instant end) {
    close_span(job, one, {number_of(job), one.held_since, end, one.held});
    const SpentTimes* const spent = one.work->spent(end);
    if (spent == nullptr) return;
    add_spent(*spent, std::exchange(one.held_time, 0), one.held.share.of, one);
}

Instant Holdings::spent_at(const LiveJob& one, Dollars budget, Instant now) const {
    Dollars left = budget - one.spent;
    Dollars an_hour;
    const auto add = [&](const GpusOnMachine& some, Instant since) {
        left -= bills_.cost_of(some, since, now);
        an_hour += bills_.cost_an_hour(some, now);
    };
    for (const GpusOnMachine& some : one.held.machines) add(some, one.held_since);
    for (const LeavingGpus& some : one.leaving) add(some.gpus, some.since);
    if (an_hour <= Dollars{}) return Instant::never();
    if (left <= Dollars{}) return now;
    const Int128 time = static_cast<Int128>(left.raw()) * hours(1).raw() / an_hour.raw();
    constexpr Duration longest = days(100 * 366);
    if (time > longest.raw()) return Instant::never();
    return now + nanoseconds(static_cast<std::int64_t>(time));
}

// Counted by what it did, and by what it held.
void Holdings::add_spent(const SpentTimes& spent, Int128 held, std::int64_t of, LiveJob& one) {
    JobOutcome& outcome = one.outcome;
    Int128 sum = 0;
    for (std::size_t cause = 0; cause < spent.by_cause.size(); ++cause) {
        sum += spent.by_cause[cause];
        outcome.gpu_time[cause] += spent.by_cause[cause] / of;
    }
    for (std::size_t phase = 0; phase < spent.by_phase.size(); ++phase) {
        outcome.phase_time[phase] += spent.by_phase[phase] / of;
    }
    INVARIANT(sum == held);
}

void Holdings::account(LiveJob& one) {
    SpentTimes spent;
    one.outcome.controlled = one.controlled->end(one.held_time, spent);
    add_spent(spent, one.held_time, 1, one);
}

void Holdings::free(const GpusOnMachine& some, Instant now) {
    if ((gpus_used(some.machine) -= some.gpus) > 0 || !is_billed_in_use(some.machine)) return;
    bills_.close(some.machine, now);
}

void Holdings::take_away(JobId job, LiveJob& one, Instant end, Instant now) {
    if (one.held.share.parts == 0) return;
    close_span(job, one, end);
    free_.give_back(one.held.share.group, one.held.machines);
    for (const GpusOnMachine& some : one.held.machines) free(some, now);
    one.held = {};
}

void Holdings::leave(JobId job, LiveJob& one, std::int32_t machine, Instant now) {
    const auto some = std::ranges::find(one.held.machines, machine, &GpusOnMachine::machine);
    if (some == one.held.machines.end()) return;
    close_span(job, one, now);
    one.held_since = now;
    one.leaving.push_back({*some, one.held.share.group, now});
    one.held.share.parts -= some->gpus;
    one.held.machines.erase(some);
    if (one.held.share.parts == 0) one.held = {};
}

void Holdings::gone_from(JobId job, LiveJob& one, std::int32_t machine, Instant end, Instant now) {
    const auto left = std::ranges::find_if(
        one.leaving, [&](const LeavingGpus& each) { return each.gpus.machine == machine; });
    if (left == one.leaving.end()) return;
    HeldSpan span{number_of(job), left->since, end, {}};
    span.held.share = {job, left->gpus.gpus, 1, left->group};
    span.held.machines = {left->gpus};
    close_span(job, one, span);
    free(left->gpus, now);
    one.leaving.erase(left);
}

void Holdings::keep(LiveJob& one, const schedulers::GpuShare& share,
                    const SharedMachines& machines) {
    if (share.of != 1 || share.group != one.held_before.share.group) return;
    std::vector<GpusOnMachine> before = one.held_before.machines;
    std::ranges::stable_sort(before, std::ranges::greater{}, &GpusOnMachine::gpus);
    auto left = static_cast<std::int32_t>(share.parts);
    for (const GpusOnMachine& some : before) {
        const std::int32_t gpus = std::min(left, some.gpus);
        if (gpus == 0 || !machines.stays(some.machine)) continue;
        one.kept.push_back({some.machine, gpus});
        left -= gpus;
    }
    free_.take(share.group, one.kept);
}

bool Holdings::give(LiveJob& one, const schedulers::GpuShare& share,
                    std::vector<GpusOnMachine>* chosen, Instant now) {
    one.held.share = share;
    bool starts = true;
    if (chosen != nullptr) {
        one.held.machines = std::move(*chosen);
        free_.take(share.group, one.held.machines);
        starts = one.held_before.share.group != share.group ||
                 !std::ranges::equal(one.held.machines, one.held_before.machines, {},
                                     &GpusOnMachine::gpus, &GpusOnMachine::gpus);
    } else if (share.of == 1) {
        auto left = static_cast<std::int32_t>(share.parts);
        for (const GpusOnMachine& some : one.kept) left -= some.gpus;
        one.held.machines = std::exchange(one.kept, {});
        for (const GpusOnMachine& some : free_.take(share.group, left)) {
            const auto same =
                std::ranges::find(one.held.machines, some.machine, &GpusOnMachine::machine);
            if (same != one.held.machines.end()) {
                same->gpus += some.gpus;
            } else {
                one.held.machines.push_back(some);
            }
        }
    }
    for (const auto& [machine, gpus] : one.held.machines) {
        const bool was_used = gpus_used(machine) > 0;
        gpus_used(machine) += gpus;
        if (!was_used && is_billed_in_use(machine)) bills_.open(machine, now);
    }
    one.held_since = now;
    one.outcome.starts += starts ? 1 : 0;
    return starts;
}

void Holdings::begin(const SharedMachines& machines, Instant now) {
    for (std::int32_t i = 0; i < cluster_.machines(); ++i) {
        if (machines.is_gone(i)) {
            close(i);
        } else if (is_billed_always(i)) {
            bills_.open(i, now);
        }
    }
}

void Holdings::open(std::int32_t machine, Instant now) {
    free_.open(group_with(machine), machine);
    if (is_billed_always(machine)) bills_.open(machine, now);
}

void Holdings::end(Instant now) {
    for (std::int32_t i = 0; i < cluster_.machines(); ++i) gone(i, now);
}

}  // namespace ukemi::sim
