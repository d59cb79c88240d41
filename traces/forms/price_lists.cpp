// price_lists.cpp — what instances cost by list, without any history.
//
// price_list_csv: columns region, instance_type and on_demand_usd_per_h or spot_usd_per_h (others
// are not read). price_list_json: {"p3.2xlarge": {"us-east-1": 3.06, …}, …}, on-demand.
// gcp_list_price_json: {"region": …, "machine_type": …, "price": spot, "on_demand_price": …} for a
// whole machine and an hour, as SkyNomad keeps answers of Google's price catalogue.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/json_documents.hpp"
#include "traces/limits.hpp"

namespace ukemi::traces {

namespace {

constexpr std::size_t entries_max = 1'000'000;

std::optional<Price> price_if_there(const CsvScanner& csv, std::size_t column) {
    if (column == CsvScanner::no_column || csv.field(column).empty()) return std::nullopt;
    return csv.price(column);
}

std::size_t any_column(CsvScanner& csv, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        const std::size_t column = csv.column_if_present(name);
        if (column != CsvScanner::no_column) return column;
    }
    return CsvScanner::no_column;
}

void note_size(Trace& trace) {
    std::set<std::string_view> regions;
    std::set<std::string_view> types;
    for (const ListedPrice& price : trace.listed_prices) {
        regions.insert(price.region);
        types.insert(price.instance_type);
    }
    trace.report.notes.push_back(fmt::format("a price list of {} instance types in {} regions",
                                             types.size(), regions.size()));
}

// In order of names. A list that names something twice must say the same.
void sort_prices(Trace& trace, const std::string& file) {
    auto& prices = trace.listed_prices;
    std::ranges::stable_sort(prices, {}, [](const ListedPrice& price) {
        return std::tie(price.region, price.instance_type);
    });
    const auto same_names = [](const ListedPrice& a, const ListedPrice& b) {
        return a.region == b.region && a.instance_type == b.instance_type;
    };
    for (auto at = prices.begin();
         (at = std::adjacent_find(at, prices.end(), same_names)) != prices.end(); ++at) {
        if (*at == *std::next(at)) continue;
        throw InputError(file, "",
                         fmt::format("expected one price of {} in {}, found two",
                                     ukemi::quoted(at->instance_type), ukemi::quoted(at->region)));
    }
    const auto repeated = std::ranges::unique(prices);
    if (repeated.empty()) return;
    trace.report.repairs.push_back(fmt::format("{} exact duplicates dropped", repeated.size()));
    prices.erase(repeated.begin(), repeated.end());
}

Trace read_price_list(std::string_view text, const std::filesystem::path& file,
                      const ReadOptions&) {
    const std::string name = file.string();
    CsvScanner csv(text, name);
    csv.read_header();
    const std::size_t region = any_column(csv, {"region", "zone"});
    const std::size_t type = csv.column("instance_type");
    const std::size_t on_demand = any_column(csv, {"on_demand_usd_per_h", "on_demand_price"});
    const std::size_t spot = any_column(csv, {"spot_usd_per_h", "spot_price"});
    if (region == CsvScanner::no_column) csv.fail_here("expected a column \"region\"");
    if (on_demand == CsvScanner::no_column && spot == CsvScanner::no_column) {
        csv.fail_here("expected a column \"on_demand_usd_per_h\" or \"spot_usd_per_h\"");
    }
    Trace trace;
    while (csv.next_row()) {
        ListedPrice& entry = trace.listed_prices.emplace_back();
        entry.region = csv.field(region);
        entry.instance_type = csv.field(type);
        entry.on_demand = price_if_there(csv, on_demand);
        entry.spot = price_if_there(csv, spot);
        if (trace.listed_prices.size() > entries_max) csv.fail_here("expected fewer prices");
    }
    if (trace.listed_prices.empty()) csv.fail_here("expected at least one price, found none");
    sort_prices(trace, name);
    csv.add_to(trace.report);
    note_size(trace);
    return trace;
}

Trace read_price_document(std::string_view text, const std::filesystem::path& file,
                          const ReadOptions&) {
    const std::string name = file.string();
    JsonScanner json(text, name);
    Trace trace;
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        const std::string type(key);
        json.begin_object();
        while (json.next_key(key)) {
            ListedPrice& entry = trace.listed_prices.emplace_back();
            entry.region = key;
            entry.instance_type = type;
            entry.on_demand = Price::of(json.decimal(9, 0, trace_price_max.raw(), expected_price));
            if (trace.listed_prices.size() > entries_max) json.fail("expected fewer prices");
        }
    }
    json.finish();
    if (trace.listed_prices.empty()) json.fail_at(0, "expected at least one price, found none");
    sort_prices(trace, name);
    trace.report.rows = std::ssize(trace.listed_prices);
    note_size(trace);
    return trace;
}

Trace read_gcp(std::string_view text, const std::filesystem::path& file, const ReadOptions&) {
    const std::string name = file.string();
    JsonScanner json(text, name);
    ListedPrice entry;
    std::string_view key;
    json.begin_object();
    const auto price = [&] {
        return Price::of(json.decimal(9, 0, trace_price_max.raw(), expected_price));
    };
    while (json.next_key(key)) {
        if (key == "region") {
            entry.region = json.text();
        } else if (key == "machine_type") {
            entry.instance_type = json.text();
        } else if (key == "price") {
            entry.spot = price();
        } else if (key == "on_demand_price") {
            entry.on_demand = price();
        } else if (key == "currency") {
            if (json.text() != "USD") json.fail("expected the currency \"USD\"");
        } else if (key == "price_unit" || key == "on_demand_price_unit") {
            if (json.text() != "h") json.fail("expected the unit \"h\"");
        } else {
            json.skip_value();
        }
    }
    json.finish();
    if (entry.region.empty() || entry.instance_type.empty() || !entry.spot) {
        json.fail_at(0, "expected \"region\", \"machine_type\" and \"price\"");
    }
    Trace trace;
    trace.report.rows = 1;
    trace.report.notes.emplace_back("list prices of a whole machine, spot and on-demand");
    trace.listed_prices.push_back(std::move(entry));
    return trace;
}

// {"p3.2xlarge": {"us-east-1": 3.06
bool recognises_json(std::string_view head, const std::filesystem::path&) {
    const FirstKey outer = first_key(head);
    if (outer.after != '{' || outer.key.find('.') == std::string_view::npos) return false;
    const std::size_t inner = head.find('{', head.find(outer.key) + outer.key.size());
    if (inner == std::string_view::npos) return false;
    const char after = first_key(head.substr(inner)).after;
    return after >= '0' && after <= '9';
}

std::string price_text(const std::optional<Price>& price) {
    return price ? fmt::format("{}", to_dollars_per_hour(*price)) : "";
}

}  // namespace

TraceForm price_list_csv_form() {
    return {"price_list_csv", "list prices: region,instance_type,on_demand_usd_per_h,…",
            [](std::string_view head, const std::filesystem::path&) {
                return has_columns(head, {"region", "instance_type"}) &&
                       (has_columns(head, {"on_demand_usd_per_h"}) ||
                        has_columns(head, {"spot_usd_per_h"}));
            },
            read_price_list};
}

TraceForm price_list_json_form() {
    return {"price_list_json", "on-demand list prices: {\"type\": {\"region\": USD/h, …}, …}",
            recognises_json, read_price_document};
}

TraceForm gcp_list_price_form() {
    return {"gcp_list_price_json", "one machine's list prices: region, machine_type, price, …",
            [](std::string_view head, const std::filesystem::path&) {
                return begins_json(head) && has_json_key(head, "machine_type") &&
                       has_json_key(head, "region") && has_json_key(head, "price");
            },
            read_gcp};
}

std::string to_plain_csv(std::span<const ListedPrice> prices) {
    CsvWriter csv({"region", "instance_type", "on_demand_usd_per_h", "spot_usd_per_h"});
    for (const ListedPrice& price : prices) {
        csv.add(one_line(price.region)).add(one_line(price.instance_type));
        csv.add(price_text(price.on_demand)).add(price_text(price.spot)).end_row();
    }
    return csv.text();
}

}  // namespace ukemi::traces
