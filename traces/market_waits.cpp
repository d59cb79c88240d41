// market_waits.cpp — one walk over the steps, with the clocks of the chain beside it.
#include "traces/market_waits.hpp"

#include <algorithm>

namespace ukemi::traces {

namespace {

// A clock that may be running.
class Clock {
public:
    Clock(Waits& waits, double half_tick_h) : waits_(waits), half_tick_h_(half_tick_h) {}

    void start(Instant at) {
        since_ = at;
        runs_ = true;
    }
    void end(Instant at) { stop(at, waits_.ended_h); }
    void cut(Instant at) { stop(at, waits_.cut_h); }

private:
    void stop(Instant at, std::vector<double>& list) {
        if (!runs_) return;
        list.push_back(std::max(to_hours(at - since_) - half_tick_h_, half_tick_h_ / 2));
        runs_ = false;
    }

    Waits& waits_;
    double half_tick_h_;
    Instant since_;
    bool runs_ = false;
};

void add_series(const AvailabilitySeries& series, std::int32_t capacity, double half_tick_h,
                RecordedChain& chain) {
    Clock quiet(chain.quiet, half_tick_h);
    Clock after_none(chain.after_none, half_tick_h);
    Clock outage(chain.outage, half_tick_h);
    Clock gap(chain.gap, half_tick_h);
    for (std::size_t i = 1; i < series.steps.size(); ++i) {
        const std::int32_t before = series.steps[i - 1].value;
        const std::int32_t now = series.steps[i].value;
        const Instant at = series.steps[i].at;
        if (now < before) {
            ++chain.losses;
            quiet.end(at);
            after_none.end(at);
            outage.cut(at);
            gap.cut(at);
            if (before > 1 && now == 0) ++chain.total_losses_of_many;
            if (now > 0) {
                chain.partial.emplace_back(before, before - now);
                quiet.start(at);
            }
            outage.start(at);
        } else {
            outage.end(at);
            gap.end(at);
            if (before == 0) after_none.start(at);
            chain.refill_step.emplace_back(capacity - before, now - before);
            if (now < capacity) gap.start(at);
        }
    }
    quiet.cut(series.end);
    after_none.cut(series.end);
    outage.cut(series.end);
    gap.cut(series.end);
}

}  // namespace

RecordedChain recorded_chain(std::span<const TraceSeries> series, std::int32_t capacity,
                             Duration sampling) {
    RecordedChain chain;
    for (const TraceSeries& one : series) {
        if (one.availability) {
            add_series(*one.availability, capacity, to_hours(sampling) / 2, chain);
        }
    }
    return chain;
}

}  // namespace ukemi::traces
