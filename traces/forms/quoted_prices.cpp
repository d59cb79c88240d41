// quoted_prices.cpp — lists and series of what catalogues said.
#include "traces/forms/quoted_prices.hpp"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"

namespace ukemi::traces {

void QuotedPrices::add(const QuotedName& name, bool is_spot, const PlacedSample<Price>& row) {
    if (++count_ > trace_rows_max) {
        fail_in(pages_[row.page], row.offset,
                fmt::format("expected at most {} prices", trace_rows_max));
    }
    Rows& rows = rows_[name];
    (is_spot ? rows.spot : rows.on_demand).push_back(row);
}

void QuotedPrices::page_ends(bool more_to_come) {
    ++ended_pages_;
    if (more_to_come) ++pages_with_more_;
}

Trace QuotedPrices::finish(ImportReport report, std::string_view what) && {
    const auto fail_at = [&](std::size_t page, std::size_t offset, std::string_view problem) {
        fail_in(pages_[page], offset, problem);
    };
    report.rows = count_ + left_out_;
    if (rows_.empty()) {
        fail_at(0, 0,
                fmt::format("expected at least one price an hour, found none{}",
                            left_out_ > 0 ? fmt::format(" but {}", what) : ""));
    }
    Trace trace;
    OrderRepairs repairs;
    std::set<std::string_view> regions;
    std::set<std::string_view> types;
    for (auto& [name, rows] : rows_) {
        regions.insert(name.region);
        types.insert(name.instance_type);
        ListedPrice& listed = trace.listed_prices.emplace_back();
        listed.region = name.region;
        listed.instance_type = name.instance_type;
        const auto last = [&](std::vector<PlacedSample<Price>>& all, std::optional<Price>& price) {
            auto samples = in_order(std::move(all), "price", repairs, fail_at);
            if (!samples.empty()) price = samples.back().value;
            return samples;
        };
        last(rows.on_demand, listed.on_demand);
        const auto spot = last(rows.spot, listed.spot);
        if (spot.size() < 2) continue;
        TraceSeries& series = trace.series.emplace_back();
        series.zone = name.region;
        series.instance_type = name.instance_type;
        series.start = format_timestamp(spot.front().stamp_ns);
        series.price = series_of(spot, Duration{});
    }
    report.notes.push_back(fmt::format(
        "prices of {} instance types in {} regions, {}", types.size(), regions.size(),
        trace.series.empty()
            ? "each of one moment: a list, no series"
            : fmt::format("of {} a spot price of several moments", trace.series.size())));
    if (pages_with_more_ > 0 && pages_with_more_ == ended_pages_) {
        report.notes.emplace_back("truncated page: it names a next one, other prices are missing");
    }
    if (left_out_ > 0) {
        report.repairs.push_back(fmt::format("{} prices left out: {}", left_out_, what));
    }
    repairs.add_to(report.repairs);
    trace.report = std::move(report);
    return trace;
}

}  // namespace ukemi::traces
