// price_history.cpp — sorts rows into series, keeps one product, and says what is missing.
#include "traces/forms/price_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/plain_text.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/price_columns.hpp"
#include "traces/limits.hpp"

namespace ukemi::traces {

namespace {

constexpr std::string_view kept_product = "Linux/UNIX";
// AWS repeats an unchanged price every day: a longer silence is a hole in the record.
constexpr Duration silence_expected = hours(36);

// "Linux/UNIX" of "Linux/UNIX (Amazon VPC)": one market under two names.
std::string market_of(const std::string& product) {
    constexpr std::string_view network = " (Amazon VPC)";
    if (!product.ends_with(network)) return product;
    return product.substr(0, product.size() - network.size());
}

// Rows of "Linux/UNIX" and of "Linux/UNIX (Amazon VPC)" are not mixed: the plain one goes first.
bool is_kept(const std::string& product, bool has_plain) {
    return has_plain ? product == kept_product : market_of(product) == kept_product;
}

}  // namespace

void PriceHistory::add(Names&& names, const PlacedSample<Price>& row) {
    ++rows_;
    rows_by_names_[std::move(names)].push_back(row);
}

void PriceHistory::page_ends(bool more_to_come) {
    ++ended_pages_;
    if (more_to_come) ++pages_with_more_;
}

void PriceHistory::keep_one_product(ImportReport& report) {
    std::set<std::string> products;
    for (const auto& [names, rows] : rows_by_names_) products.insert(names.product);
    const bool has_plain = products.contains(std::string(kept_product));
    bool has_kept = false;
    for (const std::string& product : products) has_kept |= is_kept(product, has_plain);
    if (products.size() < 2 || !has_kept) return;
    std::size_t dropped = 0;
    std::erase_if(rows_by_names_, [&](const auto& entry) {
        if (is_kept(entry.first.product, has_plain)) return false;
        dropped += entry.second.size();
        return true;
    });
    report.repairs.push_back(
        fmt::format("{} rows of other products than {} left out", dropped, kept_product));
}

Trace PriceHistory::finish(ImportReport report) && {
    const auto fail_at = [&](std::size_t page, std::size_t offset, std::string_view problem) {
        fail_in(pages_[page], offset, problem);
    };
    Trace trace;
    report.rows = rows_;
    if (rows_ == 0) fail_at(0, 0, "expected at least one price, found none");
    if (pages_with_more_ > 0 && pages_with_more_ == ended_pages_) {
        report.notes.emplace_back("truncated page: NextToken is set, older prices are missing");
        report.doubts.push_back(report.notes.back());
    }
    keep_one_product(report);
    const std::string& product = rows_by_names_.begin()->first.product;
    if (!product.empty() && market_of(product) != kept_product && product != "Linux") {
        report.notes.push_back(
            fmt::format("prices of {}, not of {}", ukemi::quoted(product), kept_product));
    }
    OrderRepairs repairs;
    std::size_t silent = 0;
    Spacing longest;
    for (auto& [names, rows] : rows_by_names_) {
        if (!trace.series.empty() && trace.series.back().zone == names.zone &&
            trace.series.back().instance_type == names.instance_type) {
            fail_at(rows.front().page, rows.front().offset,
                    fmt::format("expected one product, or {0} among them (--product-descriptions "
                                "{0})",
                                kept_product));
        }
        const auto samples = in_order(std::move(rows), "price", repairs, fail_at);
        const Spacing spacing = spacing_of(samples);
        if (spacing.longest > silence_expected) ++silent;
        if (spacing.longest > longest.longest) longest = spacing;
        TraceSeries& series = trace.series.emplace_back();
        series.zone = names.zone;
        series.instance_type = names.instance_type;
        series.start = format_timestamp(samples.front().stamp_ns);
        series.price = series_of(samples, Duration{});
    }
    if (silent > 0) {
        report.notes.push_back(fmt::format(
            "{} series without a row for more than {:g} h, the longest for {:.1f} d after {}: the "
            "price before it is held",
            silent, to_hours(silence_expected), to_hours(longest.longest) / 24,
            format_timestamp(longest.longest_at)));
    }
    repairs.add_to(report.repairs);
    trace.report = std::move(report);
    return trace;
}

std::size_t HistoryRecord::index_of(std::string_view key) {
    return static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
}

std::string_view HistoryRecord::missing() const {
    for (std::size_t key = 0; key < keys.size(); ++key) {
        if (!seen_[key] && keys[key] != "ProductDescription") return keys[key];
    }
    return {};
}

void HistoryRecord::set_price(Price price) {
    seen_[price_key] = true;
    row.value = price;
}

std::string_view HistoryRecord::set(std::size_t key, std::string_view text) {
    seen_[key] = true;
    if (keys[key] == "SpotPrice") {
        const auto price = listed_price_of(text);
        if (!price) return expected_price;
        row.value = *price;
    } else if (keys[key] == "Timestamp") {
        const auto stamp = parse_timestamp(text);
        if (!stamp) return "a time such as 2020-02-27T13:48:57.000Z (years 1970 to 2199)";
        row.stamp_ns = *stamp;
    } else if (keys[key] == "AvailabilityZone") {
        names.zone = text;
    } else if (keys[key] == "InstanceType") {
        names.instance_type = text;
    } else {
        names.product = text;
    }
    return {};
}

}  // namespace ukemi::traces
