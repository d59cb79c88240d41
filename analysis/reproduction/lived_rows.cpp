// lived_rows.cpp — follows a timeline from its first step.
#include "analysis/reproduction/lived_rows.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace ukemi::analysis {

namespace {

using records::TimelineRow;

double seconds_at(const TimelineRow& row) { return to_seconds(row.at.since_start()); }

bool is_training(const TimelineRow& row) { return row.phase == policies::JobPhase::running; }

double between(double before, double after, double share) {
    return before + share * (after - before);
}

// `share` of the way from one row to the next.
void add_moment(FigureRow& row, const TimelineRow& before, const TimelineRow& after, double share) {
    const auto set = [&](const char* name, double from, double to) {
        row.numbers[name] = between(from, to, share);
    };
    set("t_s", seconds_at(before), seconds_at(after));
    set("samples", static_cast<double>(before.samples_done),
        static_cast<double>(after.samples_done));
    set("spent_usd", to_dollars(before.spent), to_dollars(after.spent));
    set("spot_losses", static_cast<double>(before.spot_losses),
        static_cast<double>(share < 1 ? before.spot_losses : after.spot_losses));
    row.numbers["workers"] = before.workers;
    if (before.batch) row.numbers["batch"] = static_cast<double>(*before.batch);
    const auto set_known = [&](const char* name, const std::optional<double>& from,
                               const std::optional<double>& to) {
        if (to) set(name, from.value_or(*to), *to);
    };
    set_known("accuracy", before.accuracy, after.accuracy);
    set_known("learned", before.learned, after.learned);
    set_known("noise_scale", before.noise_scale, after.noise_scale);
}

// When so many steps were done, of those that the timeline tells apart.
double seconds_after(const records::Timeline& timeline, records::Timeline::const_iterator first,
                     std::int64_t steps) {
    double at = seconds_at(*first);
    for (auto row = first; row != timeline.end() && steps > 0; ++row) {
        if (seconds_at(*row) == at) continue;
        at = seconds_at(*row);
        --steps;
    }
    return at;
}

}  // namespace

void add_lived(FigureRow& run, const records::Timeline& timeline, std::int64_t from_step) {
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
        settled = seconds_at(*row) - seconds_after(timeline, first, from_step);
    }
    run.numbers["first_step_s"] = began;
    run.numbers["trained_s"] = seconds_at(timeline.back()) - began;
    run.numbers["trained_worker_s"] = worker_s;
    run.numbers["settled_s"] = settled;
}

std::vector<FigureRow> change_rows(const FigureRow& run, const records::Timeline& timeline,
                                   std::int64_t from_step) {
    std::vector<FigureRow> rows;
    const auto first = std::ranges::find_if(timeline, is_training);
    if (first == timeline.end()) return rows;
    const double began = seconds_after(timeline, first, from_step);
    const auto add = [&](const TimelineRow& row, double workers) {
        FigureRow& change = rows.emplace_back(run);
        change.numbers["t_s"] = std::max(0.0, seconds_at(row) - began);
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

std::vector<FigureRow> course_rows(const FigureRow& run, const records::Timeline& timeline,
                                   const CoursePlaces& places) {
    std::vector<FigureRow> rows;
    const auto first = std::ranges::find_if(timeline, is_training);
    if (first == timeline.end()) return rows;
    const bool by_samples = places.every_samples > 0;
    const double apart =
        by_samples ? static_cast<double>(places.every_samples) : to_seconds(places.every);
    const auto place_of = [&](const TimelineRow& row) {
        return by_samples ? static_cast<double>(row.samples_done)
                          : seconds_at(row) - seconds_at(*first);
    };
    double next = 0;
    for (auto row = first; row != timeline.end(); ++row) {
        const TimelineRow& before = row == first ? *row : *std::prev(row);
        for (; place_of(*row) >= next; next += apart) {
            const double span = place_of(*row) - place_of(before);
            const double share = span > 0 ? (next - place_of(before)) / span : 1;
            FigureRow& one = rows.emplace_back(run);
            add_moment(one, before, *row, share);
            one.numbers["t_s"] -= seconds_at(*first);
            one.numbers[by_samples ? "samples" : "t_s"] = next;
        }
    }
    return rows;
}

std::vector<FigureRow> mean_rows(const std::vector<FigureRow>& rows, const std::string& place) {
    std::map<std::pair<std::string, double>, std::vector<const FigureRow*>> alike;
    std::size_t runs = 0;
    for (const FigureRow& row : rows) {
        auto& same = alike[{row.texts.at("policy"), row.numbers.at(place)}];
        same.push_back(&row);
        runs = std::max(runs, same.size());
    }
    std::vector<FigureRow> means;
    for (const auto& [_, same] : alike) {
        if (same.size() < runs) continue;
        FigureRow& mean = means.emplace_back();
        mean.texts = same.front()->texts;
        for (const auto& [name, value] : same.front()->numbers) {
            double sum = 0;
            const bool all = std::ranges::all_of(same, [&, &key = name](const FigureRow* row) {
                const auto found = row->numbers.find(key);
                if (found != row->numbers.end()) sum += found->second;
                return found != row->numbers.end();
            });
            if (all) mean.numbers[name] = sum / static_cast<double>(same.size());
        }
    }
    return means;
}

}  // namespace ukemi::analysis
