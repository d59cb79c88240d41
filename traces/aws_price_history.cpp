// aws_price_history.cpp — what `aws ec2 describe-spot-price-history` prints, as JSON or as CSV.
//
// Newest first, several zones and types mixed, an unchanged price repeated daily: each (zone, type)
// becomes a series from its first price to its last. A row that says again what another said is
// dropped and counted; two prices for one moment are refused. Where there are several products,
// Linux/UNIX is kept, because that is what trains.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json_scanner.hpp"
#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi {

namespace {

constexpr std::string_view csv_header =
    "Timestamp,AvailabilityZone,InstanceType,ProductDescription,SpotPrice";
constexpr std::string_view kept_product = "Linux/UNIX";
constexpr std::string_view expected_stamp =
    "a time such as 2020-02-27T13:48:57.000Z (years 1970 to 2199)";

struct Row {
    std::int64_t stamp_ns = 0;
    Price price;
    std::size_t offset = 0;  // of its beginning, for complaints
};

// One (zone, type, product): the names are few, the rows many.
struct Names {
    std::string zone;
    std::string instance_type;
    std::string product;
    friend auto operator<=>(const Names&, const Names&) = default;
};
using RowsByNames = std::map<Names, std::vector<Row>>;

struct History {
    RowsByNames rows;
    std::int64_t count = 0;
    std::int64_t newest_so_far = 0;  // the stamp of the row before
    std::size_t ascending = 0;       // rows newer than the row before
    bool truncated = false;          // more pages were to be had

    void add(Names&& names, const Row& row) {
        if (count > 0 && row.stamp_ns > newest_so_far) ++ascending;
        newest_so_far = row.stamp_ns;
        ++count;
        rows[std::move(names)].push_back(row);
    }
};

void keep_one_product(History& history, ImportReport& report) {
    std::set<std::string> products;
    for (const auto& [names, rows] : history.rows) products.insert(names.product);
    if (products.size() < 2 || !products.contains(std::string(kept_product))) return;
    std::size_t dropped = 0;
    std::erase_if(history.rows, [&](const auto& entry) {
        if (entry.first.product == kept_product) return false;
        dropped += entry.second.size();
        return true;
    });
    report.repairs.push_back(
        fmt::format("{} rows of other products than {} left out", dropped, kept_product));
}

// In order of time and without repetitions; complains through `fail_at(offset, problem)`.
template <class FailAt>
std::vector<StampedSample<Price>> tidied(std::vector<Row> rows, std::size_t& dropped,
                                         FailAt fail_at) {
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return std::tie(a.stamp_ns, a.offset) < std::tie(b.stamp_ns, b.offset);
    });
    std::vector<StampedSample<Price>> samples;
    for (const Row& row : rows) {
        if (!samples.empty() && samples.back().stamp_ns == row.stamp_ns) {
            if (samples.back().value != row.price) {
                fail_at(row.offset, fmt::format("expected one price at {}, found {:g} and {:g}",
                                                format_timestamp(row.stamp_ns),
                                                to_dollars_per_hour(samples.back().value),
                                                to_dollars_per_hour(row.price)));
            }
            ++dropped;
            continue;
        }
        if (!samples.empty() && row.stamp_ns - samples.front().stamp_ns > trace_length_max.raw()) {
            fail_at(row.offset, "expected times within 100 years of each other");
        }
        samples.push_back({row.stamp_ns, row.price});
    }
    return samples;
}

template <class FailAt>
Trace trace_of(History&& history, FailAt fail_at) {
    Trace trace;
    ImportReport& report = trace.report;
    report.rows = history.count;
    if (history.count == 0) fail_at(0, "expected at least one price, found none");
    if (history.truncated) {
        report.notes.emplace_back("truncated page: NextToken is set, older prices are missing");
    }
    if (history.ascending > 0) {
        report.repairs.push_back(
            fmt::format("{} rows not newest first: sorted", history.ascending));
    }
    keep_one_product(history, report);
    std::size_t dropped = 0;
    for (auto& [names, rows] : history.rows) {
        if (!trace.series.empty() && trace.series.back().zone == names.zone &&
            trace.series.back().instance_type == names.instance_type) {
            fail_at(rows.front().offset,
                    fmt::format("expected one product, or {} among them", kept_product));
        }
        const auto samples = tidied(std::move(rows), dropped, fail_at);
        TraceSeries& series = trace.series.emplace_back();
        series.zone = names.zone;
        series.instance_type = names.instance_type;
        series.start = format_timestamp(samples.front().stamp_ns);
        series.price = series_of(samples, Duration{});
    }
    if (dropped > 0) report.repairs.push_back(fmt::format("{} exact duplicates dropped", dropped));
    return trace;
}

void read_record(JsonScanner& json, History& history) {
    static constexpr std::array<std::string_view, 5> keys{
        "AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice", "Timestamp"};
    std::array<bool, keys.size()> seen{};
    Names names;
    Row row;
    std::string_view key;
    json.begin_object();
    row.offset = json.offset();
    while (json.next_key(key)) {
        const auto index =
            static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
        if (index == keys.size()) {
            json.skip_value();
            continue;
        }
        if (std::exchange(seen[index], true)) {
            json.fail(fmt::format("expected \"{}\" once, found it again", keys[index]));
        }
        const std::string_view value = json.text();
        if (index == 0) names.zone = value;
        if (index == 1) names.instance_type = value;
        if (index == 2) names.product = value;
        if (index == 3) {
            const auto price = parse_decimal(value, 9, DecimalGrammar::relaxed);
            if (!price || *price < 0 || *price > trace_price_max.raw()) {
                json.fail(fmt::format("expected {}, found {}", expected_price, quoted(value)));
            }
            row.price = Price::of(*price);
        }
        if (index == 4) {
            const auto stamp = parse_timestamp(value);
            if (!stamp) {
                json.fail(fmt::format("expected {}, found {}", expected_stamp, quoted(value)));
            }
            row.stamp_ns = *stamp;
        }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!seen[i]) json.fail_at(row.offset, fmt::format("expected the key \"{}\"", keys[i]));
    }
    history.add(std::move(names), row);
}

Trace read_json(std::string_view text, const std::filesystem::path& file, const ReadOptions&) {
    const std::string name = file.string();
    JsonScanner json(text, name);
    History history;
    bool seen = false;
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        if (key == "NextToken") {
            if (json.peek() == JsonScanner::Kind::null) {
                json.null();
            } else {
                history.truncated = !json.text().empty();
            }
        } else if (key == "SpotPriceHistory") {
            if (std::exchange(seen, true)) {
                json.fail("expected \"SpotPriceHistory\" once, found it again");
            }
            json.begin_array();
            while (json.next_element()) {
                read_record(json, history);
                if (history.count > trace_rows_max) {
                    json.fail(fmt::format("expected at most {} prices", trace_rows_max));
                }
            }
        } else {
            json.skip_value();
        }
    }
    json.finish();
    return trace_of(std::move(history), [&](std::size_t offset, std::string_view problem) {
        json.fail_at(offset, problem);
    });
}

Trace read_csv(std::string_view text, const std::filesystem::path& file, const ReadOptions&) {
    const std::string name = file.string();
    CsvScanner csv(text, name);
    csv.expect_header(csv_header);
    History history;
    while (csv.next_row(5)) {
        history.add(
            {std::string(csv.field(1)), std::string(csv.field(2)), std::string(csv.field(3))},
            {csv.timestamp(0), csv.price(4), csv.row_offset()});
    }
    return trace_of(std::move(history), [&](std::size_t offset, std::string_view problem) {
        csv.fail_at(offset, problem);
    });
}

}  // namespace

TraceForm aws_price_history_json_form() {
    return {"aws_price_history_json", "JSON of `aws ec2 describe-spot-price-history`",
            [](std::string_view head, const std::filesystem::path&) {
                const FirstKey first = first_key(head);
                return first.key == "NextToken" || first.key == "SpotPriceHistory";
            },
            read_json};
}

TraceForm aws_price_history_csv_form() {
    return {"aws_price_history_csv", "the same as CSV: Timestamp,AvailabilityZone,…,SpotPrice",
            [](std::string_view head, const std::filesystem::path&) {
                return first_row(head) == csv_header;
            },
            read_csv};
}

}  // namespace ukemi
