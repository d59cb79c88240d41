// lived_rows.cpp — follows a timeline from its first step.
#include "analysis/reproduction/lived_rows.hpp"

#include <algorithm>

namespace ukemi::analysis {

namespace {

using records::TimelineRow;

double seconds_at(const TimelineRow& row) { return to_seconds(row.at.since_start()); }

bool is_training(const TimelineRow& row) { return row.phase == policies::JobPhase::running; }

}  // namespace

void add_lived(FigureRow& run, const records::Timeline& timeline) {
    const auto first = std::ranges::find_if(timeline, is_training);
    if (first == timeline.end()) return;
    const double began = seconds_at(*first);
    double worker_s = 0;
    double settled = 0;
    std::int32_t size = first->workers;
    for (auto row = first; row != timeline.end(); ++row) {
        if (row != first) {
            worker_s += std::prev(row)->workers * (seconds_at(*row) - seconds_at(*std::prev(row)));
        }
        if (!is_training(*row) || row->workers == size) continue;
        size = row->workers;
        settled = seconds_at(*row) - began;
    }
    run.numbers["first_step_s"] = began;
    run.numbers["trained_s"] = seconds_at(timeline.back()) - began;
    run.numbers["trained_worker_s"] = worker_s;
    run.numbers["settled_s"] = settled;
}

std::vector<FigureRow> change_rows(const FigureRow& run, const records::Timeline& timeline) {
    std::vector<FigureRow> rows;
    const auto first = std::ranges::find_if(timeline, is_training);
    const auto add = [&](const TimelineRow& row, double workers) {
        FigureRow& change = rows.emplace_back(run);
        change.numbers["t_s"] = seconds_at(row) - seconds_at(*first);
        change.numbers["workers"] = workers;
    };
    for (auto row = first; row != timeline.end(); ++row) {
        if (!is_training(*row)) continue;
        if (rows.empty() || rows.back().numbers["workers"] != row->workers) add(*row, row->workers);
    }
    if (!rows.empty()) {
        const double last = rows.back().numbers["workers"];
        add(timeline.back(), last);
        // A run that ends as it changes has one row of that moment.
        if (rows.back().numbers["t_s"] == rows[rows.size() - 2].numbers["t_s"]) rows.pop_back();
    }
    return rows;
}

std::vector<FigureRow> step_rows(const FigureRow& run, const records::Timeline& timeline) {
    std::vector<FigureRow> rows;
    const auto first = std::ranges::find_if(timeline, is_training);
    if (first == timeline.end()) return rows;
    double before = seconds_at(*first);
    for (auto row = first; row != timeline.end(); ++row) {
        const double now = seconds_at(*row);
        if (now == before) continue;
        const auto number = static_cast<double>(rows.size());
        FigureRow& step = rows.emplace_back(run);
        step.numbers["step"] = number;
        step.numbers["own_step_s"] = now - before;
        step.numbers["steps_per_s"] = 1 / (now - before);
        before = now;
    }
    return rows;
}

}  // namespace ukemi::analysis
