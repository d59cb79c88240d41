// series_builder.cpp — how stamps are spaced, and what to tell the user about it.
#include "traces/series_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

Spacing spacing_of(const std::vector<std::int64_t>& stamps) {
    Spacing spacing;
    if (stamps.size() < 2) return spacing;
    std::vector<std::int64_t> gaps(stamps.size() - 1);
    for (std::size_t i = 0; i < gaps.size(); ++i) {
        gaps[i] = stamps[i + 1] - stamps[i];
        INVARIANT(gaps[i] > 0);
        if (nanoseconds(gaps[i]) > spacing.longest) {
            spacing.longest = nanoseconds(gaps[i]);
            spacing.longest_at = stamps[i];
        }
    }
    const std::int64_t usual = lower_median(gaps);
    spacing.usual = nanoseconds(usual);
    spacing.shortest = nanoseconds(std::ranges::min(gaps));
    spacing.holes = static_cast<std::size_t>(
        std::ranges::count_if(gaps, [&](std::int64_t gap) { return gap - usual > usual / 2; }));
    return spacing;
}

std::vector<std::string> notes_on(const Spacing& spacing) {
    std::vector<std::string> notes;
    if (spacing.shortest != spacing.longest) {
        notes.push_back(fmt::format("sampled every {:g} s to {:g} s, usually {:g} s",
                                    to_seconds(spacing.shortest), to_seconds(spacing.longest),
                                    to_seconds(spacing.usual)));
    }
    if (spacing.holes > 0) {
        notes.push_back(
            fmt::format("{} hole{}, the longest of {:g} min after {}: the value before it is held",
                        spacing.holes, spacing.holes == 1 ? "" : "s",
                        to_seconds(spacing.longest) / 60, format_timestamp(spacing.longest_at)));
    }
    return notes;
}

void add_notes(std::vector<std::string>& notes, const std::vector<std::string>& more) {
    for (const std::string& note : more) {
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
}

void note_spacing(ImportReport& report, const Spacing& spacing) {
    add_notes(report.notes, notes_on(spacing));
    if (spacing.holes == 0) return;
    add_notes(report.doubts, {"samples are missing, and the value before each hole is held (ukemi "
                              "import says where)"});
}

}  // namespace ukemi::traces
