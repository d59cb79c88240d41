// run_timeline.hpp — the rows of a run's timeline: after each event, and where learning bends
// between two of them.
#pragma once

#include <utility>

#include "records/run_result.hpp"
#include "sim/job/run_parts.hpp"

namespace ukemi::sim {

// What its rows say besides what the parts know.
struct RowContext {
    policies::TransitionPhase phase = policies::TransitionPhase::none;
    Dollars egress;  // paid so far
};

class RunTimeline {
public:
    explicit RunTimeline(const RunParts& parts) : parts_(parts) {}

    // How it is now, in place of a row of the same instant. After Trainer::report.
    void record(Instant now, const RowContext& context);
    // Between events only training goes on, and what it learns need not do so in straight lines.
    void record_way(Instant next, const RowContext& context);

    const records::Timeline& rows() const { return rows_; }
    records::Timeline take_rows() { return std::move(rows_); }

private:
    records::TimelineRow row_at(Instant now, const RowContext& context) const;
    void show(records::TimelineRow& row, const Learned& learned) const;

    RunParts parts_;
    records::Timeline rows_;
};

}  // namespace ukemi::sim
