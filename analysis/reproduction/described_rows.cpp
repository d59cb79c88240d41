// described_rows.cpp — reads the curves of a market at whole hours.
#include "analysis/reproduction/described_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace ukemi::analysis {

namespace {

FigureRow& add_hour(std::vector<FigureRow>& rows, const char* from, double hour) {
    FigureRow& row = rows.emplace_back();
    row.texts["from"] = from;
    row.numbers["hours"] = hour;
    return row;
}

// How a curve that begins at one stands at that time.
double alive_at(const plots::SurvivalCurve& curve, double hours) {
    const auto after =
        std::ranges::upper_bound(curve.alive, hours, {}, &plots::PlotPoints::value_type::first);
    return after == curve.alive.begin() ? 1 : std::prev(after)->second;
}

// The rate of losses that leaves as much altogether, up to the end of the curve: the area under
// exp(-rate t) is that under the curve.
double constant_rate(const plots::SurvivalCurve& curve) {
    const double end = curve.alive.back().first;
    double area = 0;
    double from = 0;
    double alive = 1;
    for (const auto& [hours, share] : curve.alive) {
        area += alive * (hours - from);
        from = hours;
        alive = share;
    }
    double low = 0;
    double high = 1e6;
    for (int i = 0; i < 200; ++i) {
        const double rate = (low + high) / 2;
        const double left = rate > 0 ? (1 - std::exp(-rate * end)) / rate : end;
        (left > area ? low : high) = rate;
    }
    return (low + high) / 2;
}

std::vector<FigureRow> surviving_rows(const plots::SurvivalInput& shown) {
    std::vector<FigureRow> rows;
    const double end = shown.curves.front().alive.back().first;
    const double rate = constant_rate(shown.curves.front());
    for (double hours = 0; hours <= end; ++hours) {
        for (const plots::SurvivalCurve& curve : shown.curves) {
            const char* from = curve.generated ? "generated" : "recorded";
            add_hour(rows, from, hours).numbers["alive"] = alive_at(curve, hours);
        }
        add_hour(rows, "exponential", hours).numbers["alive"] = std::exp(-rate * hours);
    }
    return rows;
}

}  // namespace

std::vector<FigureRow> hourly_rows(const plots::FigureInput& market, std::string_view kind) {
    std::vector<FigureRow> rows;
    if (kind == "hours") {
        for (const plots::HourlyLosses& losses : market.hourly_losses) {
            for (std::size_t hour = 0; hour < losses.share_of_days.size(); ++hour) {
                const char* from = losses.generated ? "generated" : "recorded";
                add_hour(rows, from, static_cast<double>(hour)).numbers["loss_days"] =
                    losses.share_of_days[hour];
            }
        }
        return rows;
    }
    for (const plots::SurvivalInput& shown : market.survivals) {
        if (shown.file_stem == kind) return surviving_rows(shown);
    }
    return rows;
}

}  // namespace ukemi::analysis
